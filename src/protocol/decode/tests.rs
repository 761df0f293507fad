//! The odd inputs of AG-UI 1.0 (run input, processing) and of the field reports, case by case.

mod content;
mod properties;
mod refused;

use serde_json::{Value, json};

use super::{DecodeError, Decoded, run_input};
use crate::protocol::{FunctionType, MessageBody, ResumeStatus};

/// A small valid request with some members added or replaced.
fn base(members: Value) -> Value {
    let mut request = json!({
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "m", "role": "user", "content": "hi"}],
    });
    let Value::Object(members) = members else {
        panic!("not an object: {members}")
    };
    request.as_object_mut().unwrap().extend(members);
    request
}

fn decode(request: &Value) -> Result<Decoded, DecodeError> {
    run_input(request.to_string().as_bytes())
}

#[track_caller]
fn accepted(members: Value) -> Decoded {
    let request = base(members);
    decode(&request).unwrap_or_else(|error| panic!("{error}: {request}"))
}

fn warnings(decoded: &Decoded) -> Vec<(&str, &str)> {
    decoded
        .warnings
        .iter()
        .map(|warning| (warning.pointer.as_str(), warning.message.as_str()))
        .collect()
}

#[test]
fn the_smallest_input_needs_three_members() {
    let input = accepted(json!({})).input;
    assert_eq!(
        serde_json::to_value(&input).unwrap(),
        json!({
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "m", "role": "user", "content": "hi"}],
            "tools": [],
            "context": [],
        })
    );
}

#[test]
fn r44_lineage_and_forwarded_properties_are_kept_as_they_came() {
    let input = accepted(json!({
        "parentRunId": "before",
        "forwardedProps": {"thread_id": null, "futureProp": [1, null]},
    }))
    .input;
    assert_eq!(input.parent_run_id.unwrap().as_str(), "before");
    assert_eq!(
        input.forwarded_props.unwrap(),
        json!({"thread_id": null, "futureProp": [1, null]})
    );
}

#[test]
fn report_r03_a_null_in_place_of_a_whole_optional_member_is_absence() {
    let decoded = accepted(json!({
        "protocolVersion": null, "parentRunId": null, "state": null, "tools": null,
        "context": null, "forwardedProps": null, "resume": null,
    }));
    assert_eq!(decoded.input, accepted(json!({})).input);
    assert_eq!(warnings(&decoded), []);

    let with_nulls = json!({
        "messages": [
            {"id": "s", "role": "system", "content": "", "name": null, "metadata": null,
             "encryptedValue": null, "subagentRunId": null},
            {"id": "u", "role": "user", "name": null, "content": [
                {"type": "text", "text": "", "id": null, "metadata": null},
                {"type": "image", "metadata": null,
                 "source": {"type": "file", "value": "h", "provider": null, "mimeType": null}},
            ]},
            {"id": "a", "role": "assistant", "content": null, "toolCalls": null},
            {"id": "b", "role": "assistant", "toolCalls": [{"id": "c", "type": null,
              "function": {"name": "f", "arguments": ""}, "metadata": null, "encryptedValue": null}]},
            {"id": "t", "role": "tool", "toolCallId": "c", "content": "", "error": null},
        ],
        "tools": [{"name": "n", "description": "d", "parameters": null, "metadata": null}],
        "resume": [{"interruptId": "i", "status": "cancelled", "payload": null, "metadata": null}],
    });
    let decoded = accepted(with_nulls);
    assert_eq!(warnings(&decoded), []);
    let written = serde_json::to_string(&decoded.input).unwrap();
    assert!(!written.contains("null"), "{written}");
}

#[test]
fn report_r03_a_null_inside_free_data_survives() {
    let input = accepted(json!({
        "state": {"a": null},
        "forwardedProps": [null],
        "tools": [{"name": "n", "description": "d", "parameters": {"default": null}}],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": null}}],
    }))
    .input;
    assert_eq!(input.state.unwrap(), json!({"a": null}));
    assert_eq!(input.forwarded_props.unwrap(), json!([null]));
    assert_eq!(
        input.tools[0].parameters.as_ref().unwrap(),
        &json!({"default": null})
    );
    assert_eq!(
        input.resume[0].payload.as_ref().unwrap(),
        &json!({"approved": null})
    );
}

/// Requirement 32; field report R04.
#[test]
fn what_the_protocol_does_not_know_is_left_out_with_a_warning() {
    let decoded = accepted(json!({
        "protocolVersion": "1.7",
        "futureField": {"x": 1},
        "messages": [
            {"id": "0", "role": "narrator", "content": 7},
            {"id": "m", "role": "user", "futureProp": 1, "content": [
                {"type": "text", "text": "look"},
                {"type": "hologram", "source": {"type": "data", "value": "AA==", "mimeType": "x/y"}},
                {"type": "image", "source": {"type": "telepathy", "value": "?"}},
            ]},
            {"id": "a", "role": "assistant", "toolCalls": [{"id": "c", "type": "custom"}]},
            {"id": "v", "role": "activity", "activityType": "x", "content": {}, "encryptedValue": "e"},
        ],
    }));
    assert_eq!(
        warnings(&decoded),
        [
            ("/protocolVersion", "newer than 1.0, answered with 1.0"),
            ("/messages/0", "message of an unknown role left out"),
            ("/messages/1/content/1", "part of an unknown type left out"),
            (
                "/messages/1/content/2/source",
                "part with a source of an unknown type left out"
            ),
            ("/messages/1", "unknown member `futureProp` left out"),
            (
                "/messages/2/toolCalls/0",
                "tool call of an unknown type left out"
            ),
            ("/messages/3", "unknown member `encryptedValue` left out"),
            ("", "unknown member `futureField` left out"),
        ]
    );
    assert_eq!(
        serde_json::to_value(&decoded.input.messages).unwrap(),
        json!([
            {"id": "m", "role": "user", "content": [{"type": "text", "text": "look"}]},
            {"id": "a", "role": "assistant"},
            {"id": "v", "role": "activity", "activityType": "x", "content": {}},
        ])
    );
}

#[test]
fn warnings_are_few_and_short_and_repeat_no_content() {
    let mut request = base(json!({}));
    let members = request.as_object_mut().unwrap();
    let hostile = format!("evil\n\u{1b}[31m\u{202e}{}", "x".repeat(100_000));
    members.insert(hostile, "secret".into());
    for index in 0..10_000 {
        members.insert(format!("extra{index}"), "secret".into());
    }
    let decoded = decode(&request).unwrap();
    assert_eq!(decoded.warnings.len(), 33);
    assert_eq!(
        decoded.warnings.last().unwrap().message,
        "9969 further warnings left out"
    );
    for warning in &decoded.warnings {
        let message = &warning.message;
        assert!(message.len() < 100, "{message}");
        assert!(!message.contains("secret"), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
        assert!(!message.contains('\u{202e}'), "{message}");
    }
}

#[test]
fn snake_case_names_are_understood_in_every_known_member() {
    let snake = json!({
        "thread_id": "t", "run_id": "r", "protocol_version": "1.0", "parent_run_id": "p",
        "forwarded_props": {"keep_me": 1},
        "messages": [
            {"id": "a", "role": "assistant", "subagent_run_id": "s", "tool_calls": [
                {"id": "c", "type": "function", "encrypted_value": "e",
                 "function": {"name": "f", "arguments": "{}"}}]},
            {"id": "t", "role": "tool", "tool_call_id": "c", "content": [
                {"type": "image", "source": {"type": "url", "value": "u", "mime_type": "image/png"}}]},
            {"id": "v", "role": "activity", "activity_type": "x", "content": {"snake_case": 1}},
        ],
        "resume": [{"interrupt_id": "i", "status": "resolved"}],
    });
    let camel = json!({
        "threadId": "t", "runId": "r", "protocolVersion": "1.0", "parentRunId": "p",
        "forwardedProps": {"keep_me": 1},
        "messages": [
            {"id": "a", "role": "assistant", "subagentRunId": "s", "toolCalls": [
                {"id": "c", "type": "function", "encryptedValue": "e",
                 "function": {"name": "f", "arguments": "{}"}}]},
            {"id": "t", "role": "tool", "toolCallId": "c", "content": [
                {"type": "image", "source": {"type": "url", "value": "u", "mimeType": "image/png"}}]},
            {"id": "v", "role": "activity", "activityType": "x", "content": {"snake_case": 1}},
        ],
        "resume": [{"interruptId": "i", "status": "resolved"}],
    });
    let decoded = decode(&snake).unwrap();
    assert_eq!(decoded.input, decode(&camel).unwrap().input);
    assert_eq!(
        warnings(&decoded),
        [(
            "",
            "snake_case member names read as camelCase, first `protocolVersion`"
        )]
    );
}

#[test]
fn the_wire_name_wins_over_its_snake_case_form_unless_it_is_null() {
    let decoded = accepted(json!({"thread_id": "other"}));
    assert_eq!(decoded.input.thread_id.as_str(), "t");
    assert_eq!(
        warnings(&decoded),
        [(
            "",
            "`threadId` is given twice, its snake_case form left out"
        )]
    );
    let decoded = accepted(json!({"threadId": null, "thread_id": "other"}));
    assert_eq!(decoded.input.thread_id.as_str(), "other");
}

#[test]
fn numbers_keep_their_digits() {
    let body = r#"{"threadId":"t","runId":"r","messages":[],
        "state":[9007199254740993,1.10,1e400,-0.0,123456789012345678901234567890]}"#;
    let decoded = run_input(body.as_bytes()).unwrap();
    let written = serde_json::to_string(&decoded.input.state).unwrap();
    let digits: String = written.to_lowercase().replace("e+", "e");
    assert_eq!(
        digits,
        "[9007199254740993,1.10,1e400,-0.0,123456789012345678901234567890]"
    );
}

#[test]
fn report_r05_state_may_be_any_json() {
    for state in [json!("nope"), json!(0), json!(false), json!([]), json!("")] {
        let input = accepted(json!({"state": state})).input;
        assert_eq!(input.state, Some(state));
    }
}

#[test]
fn r38_every_role_is_accepted_and_a_tool_call_needs_no_type() {
    let input = accepted(json!({"messages": [
        {"id": "1", "role": "developer", "content": "d", "name": "n"},
        {"id": "2", "role": "system", "content": "s"},
        {"id": "3", "role": "user", "content": []},
        {"id": "4", "role": "assistant", "toolCalls": [
            {"id": "c", "function": {"name": "f", "arguments": "{broken"}}]},
        {"id": "5", "role": "tool", "toolCallId": "c", "content": "r", "error": "e"},
        {"id": "6", "role": "activity", "activityType": "x", "content": {}},
        {"id": "7", "role": "reasoning", "content": "t", "encryptedValue": "e"},
    ]}))
    .input;
    let roles = input.messages.iter().map(|message| {
        let message = serde_json::to_value(message).unwrap();
        message["role"].as_str().unwrap().to_owned()
    });
    let expected = "developer system user assistant tool activity reasoning";
    assert_eq!(roles.collect::<Vec<_>>().join(" "), expected);
    let MessageBody::Assistant { tool_calls, .. } = &input.messages[3].body else {
        panic!("{:?}", input.messages[3])
    };
    assert_eq!(tool_calls[0].kind, FunctionType::Function);
    assert_eq!(tool_calls[0].function.arguments, "{broken");
}

#[test]
fn falsy_answers_are_answers() {
    for payload in [json!(false), json!(0), json!(""), json!([]), json!({})] {
        let input = accepted(
            json!({"resume": [{"interruptId": "i", "status": "resolved", "payload": payload}]}),
        )
        .input;
        assert_eq!(input.resume[0].payload, Some(payload));
        assert_eq!(input.resume[0].status, ResumeStatus::Resolved);
    }
}

#[test]
fn the_same_answer_twice_counts_once_and_repeated_messages_are_kept() {
    let answer = json!({"interruptId": "i", "status": "resolved", "payload": {"approved": true}});
    let message = json!({"id": "m", "role": "user", "content": "hi"});
    let decoded = accepted(json!({
        "resume": [answer, answer],
        "messages": [message, message],
    }));
    assert_eq!(decoded.input.resume.len(), 1);
    assert_eq!(decoded.input.messages.len(), 2);
    assert_eq!(
        warnings(&decoded),
        [("/resume", "the same answer is given twice")]
    );
}

#[test]
fn of_a_member_given_twice_the_last_counts() {
    let body = r#"{"threadId":"a","threadId":"b","runId":"r","messages":[]}"#;
    let decoded = run_input(body.as_bytes()).unwrap();
    assert_eq!(decoded.input.thread_id.as_str(), "b");
}

#[test]
fn versions_that_may_not_be_refused_are_served() {
    for (version, warning) in [
        ("1.0", None),
        ("1.1", Some("newer than 1.0, answered with 1.0")),
        (
            "1.99999999999999999999",
            Some("newer than 1.0, answered with 1.0"),
        ),
        ("0.9", Some("from before 1.0, answered as such")),
        (
            "soon",
            Some("no version of the form 1.0, taken for a newer one"),
        ),
        (
            "",
            Some("no version of the form 1.0, taken for a newer one"),
        ),
        (
            "1.0.0",
            Some("no version of the form 1.0, taken for a newer one"),
        ),
    ] {
        let decoded = accepted(json!({"protocolVersion": version}));
        let expected: Vec<_> = warning
            .map(|text| ("/protocolVersion", text))
            .into_iter()
            .collect();
        assert_eq!(warnings(&decoded), expected, "{version}");
        assert_eq!(decoded.input.protocol_version.as_deref(), Some(version));
    }
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let body = format!("\u{feff}{}", base(json!({})));
    assert!(run_input(body.as_bytes()).is_ok());
}

#[test]
fn half_a_character_does_not_lock_the_thread() {
    let body = r#"{"threadId":"t","runId":"r","messages":[
        {"id":"m","role":"user","content":"cut \ud83d, whole \ud83d\ude00"}]}"#;
    let decoded = run_input(body.as_bytes()).unwrap();
    assert_eq!(warnings(&decoded), [("", "halves of characters replaced")]);
    let MessageBody::User { content, .. } = &decoded.input.messages[0].body else {
        panic!("{:?}", decoded.input)
    };
    assert_eq!(content.text(), "cut \u{fffd}, whole 😀");
}
