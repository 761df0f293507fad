//! The matrix of AG-UI 1.0 against the clients before it, row by row.

use serde_json::{Value, json};

use super::{Legacy, legacy, lost};
use crate::protocol::Event;

/// An event, what a client from before 1.0 gets of it, and what is lost.
type Row = (Value, Option<Value>, Option<&'static str>);

fn same(event: Value) -> Row {
    (event.clone(), Some(event), None)
}

fn matrix() -> Vec<Row> {
    [lifecycle(), content()].concat()
}

fn lifecycle() -> Vec<Row> {
    let finished = |outcome: Value| {
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome,
            "usage": [{"inputTokens": 1}], "timestamp": 5, "metadata": {"k": null}})
    };
    let without_outcome = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
        "usage": [{"inputTokens": 1}], "timestamp": 5, "metadata": {"k": null}});
    vec![
        same(without_outcome.clone()),
        same(finished(json!({"type": "success"}))),
        same(finished(json!({"type": "interrupt", "interrupts": [
            {"id": "i", "reason": "r", "toolCallId": "c", "subagentRunId": "s"}]}))),
        (
            finished(json!({"type": "success", "pendingToolCallIds": ["c"]})),
            Some(without_outcome),
            None,
        ),
        (
            finished(json!({"type": "cancelled"})),
            Some(
                json!({"type": "RUN_ERROR", "message": "the run was cancelled", "code": "cancelled",
                "usage": [{"inputTokens": 1}], "timestamp": 5, "metadata": {"k": null}}),
            ),
            Some("the outcome `cancelled`"),
        ),
        same(
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}),
        ),
        (
            json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}),
            None,
            Some("the course of a sub-agent"),
        ),
        (
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}),
            None,
            Some("the course of a sub-agent"),
        ),
        (
            json!({"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "m"}),
            None,
            Some("the course of a sub-agent"),
        ),
    ]
}

fn content() -> Vec<Row> {
    let result = |content: Value| {
        json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": content,
            "role": "tool"})
    };
    let history = |tool: Value, user: Value| {
        json!({"type": "MESSAGES_SNAPSHOT", "messages": [
            {"id": "1", "role": "user", "content": user},
            {"id": "2", "role": "assistant", "content": "", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"id": "3", "role": "tool", "toolCallId": "c", "content": tool},
        ]})
    };
    let text = json!({"type": "text", "text": "see"});
    let image = json!({"type": "image", "source": {"type": "url", "value": "u"}});
    let file = json!({"type": "image", "source": {"type": "file", "value": "h"}});
    vec![
        (
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s"}),
            None,
            Some("the course of a sub-agent"),
        ),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                {"id": "1", "role": "assistant", "content": "a"},
                {"id": "2", "role": "assistant", "content": "b", "subagentRunId": "s"}]}),
            Some(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                {"id": "1", "role": "assistant", "content": "a"}]})),
            None,
        ),
        same(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "d"})),
        same(result(json!("text"))),
        (
            result(json!([text, text])),
            Some(result(json!("see\nsee"))),
            None,
        ),
        (result(json!([])), Some(result(json!(""))), None),
        (
            result(json!([image])),
            Some(result(json!(""))),
            Some("the media of a tool result"),
        ),
        same(history(json!("r"), json!("u"))),
        same(history(json!("r"), json!([text, image]))),
        (
            history(json!([text]), json!("u")),
            Some(history(json!("see"), json!("u"))),
            None,
        ),
        (
            history(json!([text, image]), json!([file, text])),
            Some(history(json!("see"), json!([text]))),
            Some("media of the history"),
        ),
        (
            history(json!("r"), json!([file])),
            Some(history(json!("r"), json!([]))),
            Some("media of the history"),
        ),
        same(json!({"type": "STATE_SNAPSHOT", "snapshot": null})),
        same(json!({"type": "REASONING_START", "messageId": "m"})),
        same(json!({"type": "CUSTOM", "name": "a.b", "value": null})),
    ]
}

fn event(value: &Value) -> Event {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

#[test]
fn every_shape_that_is_new_in_1_0_has_its_older_form() {
    for (current, expected, what) in matrix() {
        let event = event(&current);
        let got = match legacy(&event) {
            Legacy::Same => Some(current.clone()),
            Legacy::Omitted => None,
            Legacy::Instead(other) => {
                assert_ne!(*other, event, "{current}");
                Some(serde_json::to_value(other).unwrap())
            }
        };
        assert_eq!(got, expected, "{current}");
        assert_eq!(lost(&event), what, "{current}");
    }
}

#[test]
fn an_older_form_is_not_changed_again_and_loses_nothing_more() {
    for (_, older, _) in matrix() {
        let Some(older) = older else { continue };
        assert_eq!(legacy(&event(&older)), Legacy::Same, "{older}");
        assert_eq!(lost(&event(&older)), None, "{older}");
    }
}
