//! Streams that are legal, and streams that are not, each with the rule that it breaks.

mod framing;
mod illegal;
mod legal;

use serde_json::{Value, json};

use super::{Grammar, Violation};
use crate::protocol::Event;

/// Shorthand for an event: its type and its other members.
fn event(kind: &str, members: Value) -> Value {
    let mut event = json!({"type": kind});
    let Value::Object(members) = members else {
        panic!("not an object: {members}")
    };
    event.as_object_mut().unwrap().extend(members);
    event
}

fn started() -> Value {
    event(
        "RUN_STARTED",
        json!({"threadId": "t", "runId": "r", "protocolVersion": "1.0"}),
    )
}

fn state() -> Value {
    event("STATE_SNAPSHOT", json!({"snapshot": {}}))
}

fn finished(outcome: Value) -> Value {
    match outcome {
        Value::Null => event("RUN_FINISHED", json!({"threadId": "t", "runId": "r"})),
        outcome => event(
            "RUN_FINISHED",
            json!({"threadId": "t", "runId": "r", "outcome": outcome}),
        ),
    }
}

fn failed() -> Value {
    event("RUN_ERROR", json!({"message": "m"}))
}

fn message(kind: &str, id: &str) -> Value {
    event(kind, json!({"messageId": id}))
}

fn delta(kind: &str, id: &str) -> Value {
    event(kind, json!({"messageId": id, "delta": "d"}))
}

fn text(id: &str) -> Vec<Value> {
    vec![
        message("TEXT_MESSAGE_START", id),
        delta("TEXT_MESSAGE_CONTENT", id),
        message("TEXT_MESSAGE_END", id),
    ]
}

fn reasoning_start(id: &str) -> Value {
    event(
        "REASONING_MESSAGE_START",
        json!({"messageId": id, "role": "reasoning"}),
    )
}

fn reasoning(id: &str) -> Vec<Value> {
    vec![
        message("REASONING_START", id),
        reasoning_start(id),
        delta("REASONING_MESSAGE_CONTENT", id),
        message("REASONING_MESSAGE_END", id),
        message("REASONING_END", id),
    ]
}

fn call_start(id: &str) -> Value {
    event(
        "TOOL_CALL_START",
        json!({"toolCallId": id, "toolCallName": "n"}),
    )
}

fn call_args(id: &str) -> Value {
    event("TOOL_CALL_ARGS", json!({"toolCallId": id, "delta": "{}"}))
}

fn call_end(id: &str) -> Value {
    event("TOOL_CALL_END", json!({"toolCallId": id}))
}

fn call(id: &str) -> Vec<Value> {
    vec![call_start(id), call_args(id), call_end(id)]
}

fn result(id: &str, of: &str) -> Value {
    event(
        "TOOL_CALL_RESULT",
        json!({"messageId": id, "toolCallId": of, "content": "ok", "role": "tool"}),
    )
}

fn history(messages: Value) -> Value {
    let members = [("messages".to_owned(), messages)];
    event("MESSAGES_SNAPSHOT", members.into_iter().collect())
}

fn subagent(kind: &str, id: &str) -> Value {
    match kind {
        "SUBAGENT_STARTED" => event(kind, json!({"subagentRunId": id, "name": "n"})),
        "SUBAGENT_ERROR" => event(kind, json!({"subagentRunId": id, "message": "m"})),
        _ => event(kind, json!({"subagentRunId": id})),
    }
}

/// The event as one of the sub-agent `id`.
fn of(id: &str, mut event: Value) -> Value {
    event["subagentRunId"] = id.into();
    event
}

/// The events between the state document and the end of a run.
fn run(middle: impl IntoIterator<Item = Value>, end: Value) -> Vec<Value> {
    [started(), state()]
        .into_iter()
        .chain(middle)
        .chain([end])
        .collect()
}

fn follow(mut grammar: Grammar, events: &[Value]) -> Result<(), Violation> {
    for value in events {
        let event: Event =
            serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {value}"));
        assert_eq!(serde_json::to_value(&event).unwrap(), *value);
        grammar.step(&event)?;
    }
    grammar.finish()
}
