//! What the daemon may write.

use serde_json::{Value, json};

use super::{
    Grammar, call, call_end, call_start, delta, event, failed, finished, follow, history, message,
    of, reasoning, reasoning_start, result, run, started, state, subagent, text,
};
use crate::protocol::{
    Event,
    downgrade::{self, Legacy},
};

/// Legal as it is, and in the form in which a client from before 1.0 gets it.
#[track_caller]
fn legal(events: &[Value]) {
    if let Err(violation) = follow(Grammar::default(), events) {
        panic!("{violation}: {events:#?}");
    }
    let older: Vec<Value> = events.iter().filter_map(older).collect();
    legal_for_older(&older);
}

fn older(event: &Value) -> Option<Value> {
    let read: Event = serde_json::from_value(event.clone()).unwrap();
    match downgrade::legacy(&read) {
        Legacy::Same => Some(event.clone()),
        Legacy::Omitted => None,
        Legacy::Instead(other) => Some(serde_json::to_value(other).unwrap()),
    }
}

#[track_caller]
fn legal_for_older(events: &[Value]) {
    if let Err(violation) = follow(Grammar::legacy(), events) {
        panic!("{violation}: {events:#?}");
    }
}

#[test]
fn a_run_of_nothing_ends_in_every_way() {
    for end in [
        finished(Value::Null),
        finished(json!({"type": "success"})),
        finished(json!({"type": "cancelled"})),
        finished(json!({"type": "interrupt", "interrupts": [
            {"id": "1", "reason": "x"}, {"id": "2", "reason": "x"}]})),
        failed(),
    ] {
        legal(&run([], end));
    }
    legal(&[failed()]);
}

/// Requirements 66, 67 and 68.
#[test]
fn thoughts_text_calls_and_results_follow_each_other() {
    let middle = [
        reasoning("m1"),
        text("m2"),
        call("c1"),
        vec![result("m3", "c1")],
        text("m4"),
    ]
    .concat();
    legal(&run(middle.clone(), finished(Value::Null)));
    legal_for_older(&run(middle, failed()));
}

#[test]
fn parallel_calls_share_a_parent_that_a_text_may_have_been_or_may_become() {
    let start = |id: &str| {
        event(
            "TOOL_CALL_START",
            json!({"toolCallId": id, "toolCallName": "n", "parentMessageId": "m"}),
        )
    };
    let calls = vec![start("c1"), start("c2"), call_end("c2"), call_end("c1")];
    let results = vec![result("r1", "c1"), result("r2", "c2")];
    let end = finished(Value::Null);
    legal(&run([calls.clone(), results.clone()].concat(), end.clone()));
    legal(&run(
        [text("m"), calls.clone(), results.clone()].concat(),
        end.clone(),
    ));
    legal(&run([calls, text("m"), results].concat(), end));
}

#[test]
fn unanswered_calls_are_named_to_a_client_of_1_0_and_not_to_an_older_one() {
    let middle = [call("c1"), call("c2"), call("c3"), vec![result("m", "c2")]].concat();
    legal(&run(
        middle.clone(),
        finished(json!({"type": "success", "pendingToolCallIds": ["c1", "c3"]})),
    ));
    for end in [Value::Null, json!({"type": "success"})] {
        legal_for_older(&run(middle.clone(), finished(end)));
    }
    // Who is asked, or stopped the run, is told nothing of calls.
    legal(&run(middle.clone(), finished(json!({"type": "cancelled"}))));
    legal(&run(
        middle,
        finished(json!({"type": "interrupt", "interrupts": [{"id": "1", "reason": "x"}]})),
    ));
}

#[test]
fn a_resumed_run_answers_a_call_of_the_run_before() {
    legal(&run([result("m", "earlier")], finished(Value::Null)));
}

#[test]
fn a_restated_history_may_hold_calls_that_are_pending() {
    let messages = history(json!([
        {"id": "u", "role": "user", "content": "hi"},
        {"id": "a", "role": "assistant", "toolCalls": [
            {"id": "c0", "type": "function", "function": {"name": "f", "arguments": ""}},
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"id": "t", "role": "tool", "toolCallId": "c0", "content": ""},
    ]));
    for end in [
        Value::Null,
        json!({"type": "success", "pendingToolCallIds": ["c1"]}),
    ] {
        legal(&run([messages.clone()], finished(end)));
    }
    let answered = [vec![messages], vec![result("m", "c1")]].concat();
    legal(&run(answered, finished(Value::Null)));
}

#[test]
fn who_comes_into_a_run_is_shown_its_messages_and_what_is_open_is_opened_again() {
    let messages = history(json!([
        {"id": "u", "role": "user", "content": "hi"},
        {"id": "r", "role": "reasoning", "content": "d"},
        {"id": "a", "role": "assistant", "content": "d", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "n", "arguments": ""}},
            {"id": "closed", "type": "function", "function": {"name": "n", "arguments": ""}}]},
        {"id": "m", "role": "assistant", "content": "d"},
    ]));
    let begin = [messages, call_start("c")];
    let end = [vec![call_end("c"), result("t", "c"), result("s", "closed")]].concat();
    for item in [text("m"), reasoning("r")] {
        let middle = [begin.to_vec(), item, end.clone()].concat();
        legal(&run(middle, finished(Value::Null)));
    }
}

#[test]
fn a_snapshot_may_come_while_a_message_it_holds_is_open() {
    legal(&run(
        [
            message("TEXT_MESSAGE_START", "m"),
            history(json!([{"id": "m", "role": "assistant", "content": ""}])),
            delta("TEXT_MESSAGE_CONTENT", "m"),
            message("TEXT_MESSAGE_END", "m"),
        ],
        finished(Value::Null),
    ));
}

#[test]
fn subagents_speak_at_the_same_time_as_the_run_and_each_other() {
    let mut middle = vec![
        subagent("SUBAGENT_STARTED", "s1"),
        event(
            "SUBAGENT_STARTED",
            json!({"subagentRunId": "s2", "name": "n", "parentSubagentRunId": "s1"}),
        ),
        message("TEXT_MESSAGE_START", "m0"),
        of("s1", message("TEXT_MESSAGE_START", "m1")),
        of("s2", message("REASONING_START", "m2")),
        of("s2", reasoning_start("m2")),
        delta("TEXT_MESSAGE_CONTENT", "m1"),
        of("s1", delta("TEXT_MESSAGE_CONTENT", "m1")),
        of("s1", event("STEP_STARTED", json!({"stepName": "x"}))),
        event("STEP_STARTED", json!({"stepName": "x"})),
        of("s2", delta("REASONING_MESSAGE_CONTENT", "m2")),
        message("REASONING_MESSAGE_END", "m2"),
        message("REASONING_END", "m2"),
        of("s2", call_start("c")),
        message("TEXT_MESSAGE_END", "m1"),
        message("TEXT_MESSAGE_END", "m0"),
        call_end("c"),
        of("s2", result("m3", "c")),
        event("STEP_FINISHED", json!({"stepName": "x"})),
        of("s1", event("STEP_FINISHED", json!({"stepName": "x"}))),
    ];
    middle.push(subagent("SUBAGENT_ERROR", "s2"));
    middle.push(subagent("SUBAGENT_FINISHED", "s1"));
    // What goes on may leave open whose it is, but an older client could not tell then.
    follow(
        Grammar::default(),
        &run(middle.clone(), finished(Value::Null)),
    )
    .unwrap();
    let told = |event: Value| match event["messageId"].as_str().or(event["toolCallId"].as_str()) {
        Some("m1") => of("s1", event),
        Some("m2" | "c") => of("s2", event),
        _ => event,
    };
    legal(&run(middle.into_iter().map(told), finished(Value::Null)));
}

#[test]
fn attribution_without_announcement_is_legal() {
    let middle = text("m").into_iter().map(|event| of("s", event));
    legal(&run(middle, finished(Value::Null)));
}

#[test]
fn what_stands_alone_may_stand_anywhere_in_a_run() {
    let alone = [
        state(),
        event(
            "STATE_DELTA",
            json!({"delta": [{"op": "add", "path": "/a", "value": null}]}),
        ),
        event("RAW", json!({"event": null})),
        event("CUSTOM", json!({"name": "a.b", "value": null})),
        event(
            "ACTIVITY_SNAPSHOT",
            json!({"messageId": "a", "activityType": "x", "content": {}}),
        ),
        event(
            "ACTIVITY_DELTA",
            json!({"messageId": "a", "activityType": "x",
            "patch": [{"op": "remove", "path": "/k"}]}),
        ),
        event(
            "ACTIVITY_SNAPSHOT",
            json!({"messageId": "a", "activityType": "y", "content": {}}),
        ),
        event(
            "REASONING_ENCRYPTED_VALUE",
            json!({"subtype": "message", "entityId": "m",
            "encryptedValue": "e"}),
        ),
    ];
    let mut middle = vec![message("TEXT_MESSAGE_START", "m")];
    middle.extend(alone);
    middle.push(message("TEXT_MESSAGE_END", "m"));
    legal(&run(middle, finished(Value::Null)));
}

#[test]
fn the_first_breach_is_the_one_that_is_told() {
    let events = [
        started(),
        state(),
        delta("TEXT_MESSAGE_CONTENT", "m"),
        started(),
    ];
    assert_eq!(
        follow(Grammar::default(), &events).unwrap_err().to_string(),
        "Text `m` is not open"
    );
}
