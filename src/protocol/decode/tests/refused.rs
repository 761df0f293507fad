//! What is refused, and that the place is named and nothing of the value repeated.

use serde_json::{Value, json};

use super::{super::run_input, base, decode};
use crate::protocol::decode::DecodeError;

#[track_caller]
fn refused(request: &Value) -> (String, String) {
    match decode(request) {
        Err(DecodeError::Invalid { pointer, reason }) => (pointer, reason),
        other => panic!("{other:?}: {request}"),
    }
}

fn message(message: Value) -> Value {
    base(json!({"messages": vec![message]}))
}

fn part(part: Value) -> Value {
    message(json!({"id": "m", "role": "user", "content": vec![part]}))
}

fn call(call: Value) -> Value {
    message(json!({"id": "m", "role": "assistant", "toolCalls": vec![call]}))
}

#[track_caller]
fn check<const N: usize>(cases: [(Value, &str, &str); N]) {
    for (request, pointer, reason) in cases {
        let (at, said) = refused(&request);
        assert_eq!((at.as_str(), said.as_str()), (pointer, reason), "{request}");
    }
}

#[test]
fn a_malformed_member_of_the_request_is_refused_at_its_place() {
    check([
        (json!([]), "", "must be an object, not an array"),
        (
            base(json!({"threadId": 7})),
            "/threadId",
            "must be a string, not a number",
        ),
        (base(json!({"runId": null})), "/runId", "must not be null"),
        (
            base(json!({"parentRunId": {}})),
            "/parentRunId",
            "must be a string, not an object",
        ),
        (
            base(json!({"messages": null})),
            "/messages",
            "must not be null",
        ),
        (
            base(json!({"messages": {}})),
            "/messages",
            "must be an array, not an object",
        ),
        (
            base(json!({"messages": [null]})),
            "/messages/0",
            "must be an object, not null",
        ),
        (
            base(json!({"tools": {}})),
            "/tools",
            "must be an array, not an object",
        ),
        (
            base(json!({"tools": [{"description": ""}]})),
            "/tools/0/name",
            "is missing",
        ),
        (
            base(json!({"tools": [{"name": ""}]})),
            "/tools/0/description",
            "is missing",
        ),
        (
            base(json!({"tools": [{"name": "", "description": "", "metadata": 1}]})),
            "/tools/0/metadata",
            "must be an object, not a number",
        ),
        (
            base(json!({"context": [{"description": "d", "value": {"a": 1}}]})),
            "/context/0/value",
            "must be a string, not an object",
        ),
        (
            base(json!({"resume": "yes"})),
            "/resume",
            "must be an array, not a string",
        ),
        (
            base(json!({"resume": [{"interruptId": "i", "status": "approved"}]})),
            "/resume/0/status",
            "must be `resolved` or `cancelled`",
        ),
        (
            base(json!({"resume": [
                {"interruptId": "i", "status": "resolved", "payload": true},
                {"interruptId": "i", "status": "resolved", "payload": false},
            ]})),
            "/resume",
            "answers one interrupt in two ways",
        ),
        (
            base(json!({"protocolVersion": 1.0})),
            "/protocolVersion",
            "must be a string, not a number",
        ),
        (
            base(json!({"protocolVersion": "9.0"})),
            "/protocolVersion",
            "must have the major version of 1.0",
        ),
    ]);
}

#[test]
fn a_malformed_member_of_a_message_is_refused_at_its_place() {
    check([
        (
            message(json!({"id": "m", "content": ""})),
            "/messages/0/role",
            "is missing",
        ),
        (
            message(json!({"id": "m", "role": ["user"], "content": ""})),
            "/messages/0/role",
            "must be a string, not an array",
        ),
        (
            message(json!({"id": "m", "role": "user", "content": null})),
            "/messages/0/content",
            "must not be null",
        ),
        (
            message(json!({"id": "m", "role": "user", "content": {}})),
            "/messages/0/content",
            "must be a string or an array of parts",
        ),
        (
            message(json!({"id": "m", "role": "system", "content": []})),
            "/messages/0/content",
            "must be a string, not an array",
        ),
        (
            message(json!({"id": "m", "role": "tool", "content": ""})),
            "/messages/0/toolCallId",
            "is missing",
        ),
        (
            message(json!({"id": "m", "role": "activity", "activityType": "x", "content": []})),
            "/messages/0/content",
            "must be an object, not an array",
        ),
    ]);
}

#[test]
fn a_malformed_part_or_call_is_refused_at_its_place() {
    check([
        (
            part(json!("text")),
            "/messages/0/content/0",
            "must be an object, not a string",
        ),
        (
            part(json!({"text": "x"})),
            "/messages/0/content/0/type",
            "is missing",
        ),
        (
            part(json!({"type": "text"})),
            "/messages/0/content/0/text",
            "is missing",
        ),
        (
            part(json!({"type": "image"})),
            "/messages/0/content/0/source",
            "is missing",
        ),
        (
            part(json!({"type": "image", "data": "AA=="})),
            "/messages/0/content/0/mimeType",
            "is missing",
        ),
        (
            part(json!({"type": "image", "source": {"type": "data", "value": "AA=="}})),
            "/messages/0/content/0/source/mimeType",
            "is missing",
        ),
        (
            part(json!({"type": "binary", "mimeType": 1, "data": ""})),
            "/messages/0/content/0/mimeType",
            "must be a string, not a number",
        ),
        (
            call(json!({"id": "c", "function": {"name": "f", "arguments": {}}})),
            "/messages/0/toolCalls/0/function/arguments",
            "must be a string, not an object",
        ),
        (
            call(json!({"function": {}})),
            "/messages/0/toolCalls/0/id",
            "is missing",
        ),
    ]);
}

#[test]
fn report_r01_the_place_is_named_in_wire_names() {
    let request = message(json!({"role": "user", "content": "hi", "user": {"id": "x"}}));
    assert_eq!(refused(&request).0, "/messages/0/id");
    let request = json!({"thread_id": 7, "run_id": "r", "messages": []});
    assert_eq!(refused(&request).0, "/threadId");
    let request = json!({"runId": "r", "messages": []});
    assert_eq!(
        decode(&request).unwrap_err().to_string(),
        "/threadId is missing"
    );
    assert_eq!(
        decode(&json!(1)).unwrap_err().to_string(),
        "body must be an object, not a number"
    );
}

/// Requirement 33; field report R05.
#[test]
fn blank_endless_and_hostile_ids_are_refused_and_not_repeated() {
    let mebibyte = "a".repeat(1024 * 1024);
    for (bad, reason) in [
        ("", "must not be blank"),
        ("   ", "must not be blank"),
        ("a\nb", "must not contain control characters"),
        (mebibyte.as_str(), "must not be longer than"),
    ] {
        let places = [
            ("/threadId", base(json!({"threadId": bad}))),
            ("/runId", base(json!({"runId": bad}))),
            ("/parentRunId", base(json!({"parentRunId": bad}))),
            (
                "/messages/0/id",
                message(json!({"id": bad, "role": "user", "content": ""})),
            ),
            (
                "/messages/0/toolCallId",
                message(json!({"id": "m", "role": "tool", "toolCallId": bad, "content": ""})),
            ),
            (
                "/messages/0/toolCalls/0/id",
                call(json!({"id": bad, "function": {"name": "f", "arguments": ""}})),
            ),
            (
                "/resume/0/interruptId",
                base(json!({"resume": [{"interruptId": bad, "status": "resolved"}]})),
            ),
        ];
        for (place, request) in places {
            let (pointer, said) = refused(&request);
            assert_eq!(pointer, place);
            assert!(said.starts_with(reason) && said.len() < 100, "{said}");
        }
    }
    assert!(decode(&base(json!({"threadId": "../../etc/passwd"}))).is_ok());
}

#[test]
fn r32_what_is_no_json_is_refused_as_such() {
    let deep_array = "[".repeat(1_000_000);
    let deep_object = r#"{"a":"#.repeat(1_000_000);
    let deep_state = format!(
        r#"{{"threadId":"t","runId":"r","messages":[],"state":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let mut not_utf8 = base(json!({})).to_string().into_bytes();
    not_utf8[2] = 0xff;
    let cases: [&[u8]; 9] = [
        b"",
        b"{",
        b"nonsense",
        b"{\"threadId\":\"t\"} trailing",
        b"{\"$serde_json::private::Number\":\"x\"}",
        deep_array.as_bytes(),
        deep_object.as_bytes(),
        deep_state.as_bytes(),
        &not_utf8,
    ];
    for body in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]);
        match run_input(body) {
            Err(DecodeError::Syntax(text)) => {
                assert!(
                    text.starts_with("body is not valid JSON: "),
                    "{shown}: {text}"
                );
                assert!(text.len() < 200, "{shown}: {text}");
            }
            other => panic!("{shown}: {other:?}"),
        }
    }
}

#[test]
fn nesting_up_to_the_limit_is_accepted() {
    let state = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let body = format!(r#"{{"threadId":"t","runId":"r","messages":[],"state":{state}}}"#);
    let decoded = run_input(body.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&decoded.input.state).unwrap(), state);
}
