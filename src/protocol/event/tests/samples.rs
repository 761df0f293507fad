//! The members of each event: those it must have, and those it may have besides.

use serde_json::{Value, json};

type Sample = (&'static str, Value, Value);

pub(super) fn all() -> Vec<Sample> {
    [runs(), texts(), calls(), state(), reasoning(), subagents()].concat()
}

fn usage() -> Value {
    json!([
        {},
        {
            "provider": "p", "model": "m", "inputTokens": 0, "outputTokens": 1, "totalTokens": 1,
            "reasoningTokens": 1, "cachedInputTokens": 0,
            "cacheWriteInputTokens": 9_007_199_254_740_991_u64,
        },
    ])
}

fn parts() -> Value {
    json!([
        {"type": "text", "text": ""},
        {"type": "text", "text": "t", "id": "p", "metadata": 1.5},
        {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
        {"type": "audio", "source": {"type": "url", "value": "u"}, "id": "q"},
        {"type": "video", "source": {"type": "url", "value": "u", "mimeType": "video/mp4"}},
        {"type": "document", "source": {"type": "file", "value": "h"}, "metadata": {"k": null}},
        {"type": "image", "source": {
            "type": "file", "value": "h", "provider": "acme", "mimeType": "image/png"}},
    ])
}

fn runs() -> Vec<Sample> {
    let ids = || json!({"threadId": "t", "runId": "r"});
    vec![
        (
            "RUN_STARTED",
            ids(),
            json!({
                "protocolVersion": "1.0",
                "parentRunId": "p",
                "input": {
                    "threadId": "t", "runId": "r", "state": {"a": null}, "tools": [], "context": [],
                    "messages": [{"id": "m", "role": "user", "content": parts()}],
                },
            }),
        ),
        (
            "RUN_FINISHED",
            ids(),
            json!({
                "result": 1e300,
                "outcome": {"type": "interrupt", "interrupts": [
                    {"id": "1", "reason": "x"},
                    {
                        "id": "2", "reason": "a:b", "message": "m", "toolCallId": "c",
                        "responseSchema": {"const": null}, "expiresAt": "2030-01-01T00:00:00Z",
                        "metadata": {"k": null}, "subagentRunId": "s",
                    },
                ]},
                "usage": usage(),
            }),
        ),
        (
            "RUN_ERROR",
            json!({"message": "m"}),
            json!({"code": "c", "usage": usage()}),
        ),
        ("STEP_STARTED", json!({"stepName": "s"}), json!({})),
        ("STEP_FINISHED", json!({"stepName": "s"}), json!({})),
    ]
}

fn texts() -> Vec<Sample> {
    let id = || json!({"messageId": "m"});
    vec![
        (
            "TEXT_MESSAGE_START",
            id(),
            json!({"role": "developer", "name": "n"}),
        ),
        (
            "TEXT_MESSAGE_CONTENT",
            json!({"messageId": "m", "delta": "d"}),
            json!({}),
        ),
        ("TEXT_MESSAGE_END", id(), json!({})),
        (
            "TEXT_MESSAGE_CHUNK",
            json!({}),
            json!({"messageId": "m", "role": "user", "name": "n", "delta": "d"}),
        ),
    ]
}

fn calls() -> Vec<Sample> {
    vec![
        (
            "TOOL_CALL_START",
            json!({"toolCallId": "c", "toolCallName": "n"}),
            json!({"parentMessageId": "m"}),
        ),
        (
            "TOOL_CALL_ARGS",
            json!({"toolCallId": "c", "delta": "{"}),
            json!({}),
        ),
        ("TOOL_CALL_END", json!({"toolCallId": "c"}), json!({})),
        (
            "TOOL_CALL_CHUNK",
            json!({}),
            json!({"toolCallId": "c", "toolCallName": "n", "parentMessageId": "m", "delta": "d"}),
        ),
        (
            "TOOL_CALL_RESULT",
            json!({"messageId": "m", "toolCallId": "c", "content": "text"}),
            json!({"content": parts(), "role": "tool"}),
        ),
    ]
}

fn patch() -> Value {
    json!([
        {"op": "add", "path": "", "value": null},
        {"op": "replace", "path": "/a~1b", "value": 9_007_199_254_740_993_u64},
        {"op": "test", "path": "/x/-", "value": [1.5]},
        {"op": "remove", "path": "/a"},
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "copy", "from": "/a", "path": "/b"},
    ])
}

fn history() -> Value {
    json!([
        {"id": "1", "role": "developer", "content": "c", "name": "n"},
        {"id": "2", "role": "system", "content": "c"},
        {"id": "3", "role": "user", "content": parts(), "metadata": {"k": null}},
        {"id": "4", "role": "assistant", "subagentRunId": "s", "encryptedValue": "e"},
        {"id": "5", "role": "assistant", "content": "", "name": "n", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{"}},
            {"id": "d", "type": "function", "function": {"name": "f", "arguments": ""},
             "encryptedValue": "e", "metadata": {"k": null}},
        ]},
        {"id": "6", "role": "tool", "toolCallId": "c", "content": "r", "error": "e"},
        {"id": "7", "role": "tool", "toolCallId": "d", "content": []},
        {"id": "8", "role": "reasoning", "content": "t", "encryptedValue": "e"},
        {"id": "9", "role": "activity", "activityType": "x", "content": {"k": null}},
    ])
}

fn state() -> Vec<Sample> {
    let activity = || json!({"messageId": "m", "activityType": "x"});
    let and = |mut event: Value, name: &str, value: Value| {
        event[name] = value;
        event
    };
    vec![
        (
            "STATE_SNAPSHOT",
            json!({"snapshot": null}),
            json!({"snapshot": {"a": [null, 0.1]}}),
        ),
        (
            "STATE_DELTA",
            json!({"delta": []}),
            json!({"delta": patch()}),
        ),
        (
            "MESSAGES_SNAPSHOT",
            json!({"messages": []}),
            json!({"messages": history()}),
        ),
        (
            "ACTIVITY_SNAPSHOT",
            and(activity(), "content", json!({"k": null})),
            json!({"replace": false}),
        ),
        (
            "ACTIVITY_DELTA",
            and(activity(), "patch", json!([])),
            json!({"patch": patch()}),
        ),
        (
            "RAW",
            json!({"event": null}),
            json!({"event": [1], "source": "s"}),
        ),
        (
            "CUSTOM",
            json!({"name": "a.b", "value": null}),
            json!({"value": {"v": null}}),
        ),
    ]
}

fn reasoning() -> Vec<Sample> {
    let id = || json!({"messageId": "m"});
    let secret =
        |subtype: &str| json!({"subtype": subtype, "entityId": "m", "encryptedValue": "e"});
    vec![
        ("REASONING_START", id(), json!({})),
        (
            "REASONING_MESSAGE_START",
            json!({"messageId": "m", "role": "reasoning"}),
            json!({}),
        ),
        (
            "REASONING_MESSAGE_CONTENT",
            json!({"messageId": "m", "delta": "d"}),
            json!({}),
        ),
        ("REASONING_MESSAGE_END", id(), json!({})),
        (
            "REASONING_MESSAGE_CHUNK",
            json!({}),
            json!({"messageId": "m", "delta": "d"}),
        ),
        ("REASONING_END", id(), json!({})),
        (
            "REASONING_ENCRYPTED_VALUE",
            secret("message"),
            secret("tool-call"),
        ),
    ]
}

fn subagents() -> Vec<Sample> {
    vec![
        (
            "SUBAGENT_STARTED",
            json!({"name": "n"}),
            json!({
                "description": "d", "parentSubagentRunId": "p", "parentToolCallId": "c",
                "parentMessageId": "m",
            }),
        ),
        (
            "SUBAGENT_FINISHED",
            json!({}),
            json!({"result": false, "outcome": {"type": "suspended", "interruptIds": ["1"]}}),
        ),
        (
            "SUBAGENT_ERROR",
            json!({"message": "m"}),
            json!({"code": "c"}),
        ),
    ]
}
