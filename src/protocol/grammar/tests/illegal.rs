//! What no client ever gets from the daemon, with the rule in the words of the violation.

use serde_json::{Value, json};

use super::{
    Grammar, call, call_args, call_end, call_start, delta, event, failed, finished, follow,
    history, message, of, reasoning, reasoning_start, result, run, started, state, subagent, text,
};

fn notice() -> Value {
    event("CUSTOM", json!({"name": "a.b", "value": null}))
}

#[track_caller]
fn breaks(rule: &str, events: &[Value]) {
    match follow(Grammar::default(), events) {
        Err(violation) => assert_eq!(violation.to_string(), rule, "{events:#?}"),
        Ok(()) => panic!("legal, but should break \"{rule}\": {events:#?}"),
    }
}

/// The middle of a run that would end well.
#[track_caller]
fn middle_breaks(rule: &str, middle: impl IntoIterator<Item = Value>) {
    breaks(rule, &run(middle, finished(Value::Null)));
}

/// Requirements 56 and 57.
#[test]
fn the_frame_of_a_run() {
    let ok = || finished(Value::Null);
    let unversioned = event("RUN_STARTED", json!({"threadId": "t", "runId": "r"}));
    let newer = event(
        "RUN_STARTED",
        json!({"threadId": "t", "runId": "r", "protocolVersion": "1.1"}),
    );
    let foreign = event("RUN_FINISHED", json!({"threadId": "t", "runId": "other"}));
    for (rule, events) in [
        ("a stream ends with a terminal event", vec![]),
        (
            "a stream ends with a terminal event",
            vec![started(), state()],
        ),
        (
            "a stream begins with RUN_STARTED or RUN_ERROR",
            vec![state()],
        ),
        ("a stream begins with RUN_STARTED or RUN_ERROR", vec![ok()]),
        (
            "RUN_STARTED declares the version that is spoken",
            vec![unversioned],
        ),
        (
            "RUN_STARTED declares the version that is spoken",
            vec![newer],
        ),
        (
            "STATE_SNAPSHOT follows RUN_STARTED at once",
            vec![started(), ok()],
        ),
        (
            "STATE_SNAPSHOT follows RUN_STARTED at once",
            vec![started(), failed()],
        ),
        (
            "a stream holds one run",
            vec![started(), state(), started()],
        ),
        (
            "nothing follows a terminal event",
            vec![started(), state(), ok(), ok()],
        ),
        (
            "nothing follows a terminal event",
            vec![started(), state(), ok(), failed()],
        ),
        (
            "nothing follows a terminal event",
            vec![started(), state(), ok(), started()],
        ),
        (
            "nothing follows a terminal event",
            vec![started(), state(), failed(), started()],
        ),
        ("nothing follows a terminal event", vec![failed(), failed()]),
        (
            "RUN_FINISHED carries the ids of RUN_STARTED",
            vec![started(), state(), foreign],
        ),
    ] {
        breaks(rule, &events);
    }
}

#[test]
fn r60_everything_is_closed_before_the_end_of_either_kind() {
    let cases: [(&str, Vec<Value>); 6] = [
        (
            "Text `m` is still open",
            vec![message("TEXT_MESSAGE_START", "m")],
        ),
        (
            "Span `m` is still open",
            vec![message("REASONING_START", "m")],
        ),
        (
            "Span `m` is still open",
            vec![message("REASONING_START", "m"), reasoning_start("m")],
        ),
        ("tool call `c` is still open", vec![call_start("c")]),
        (
            "step `s` is still open",
            vec![event("STEP_STARTED", json!({"stepName": "s"}))],
        ),
        (
            "sub-agent `s` is still active",
            vec![subagent("SUBAGENT_STARTED", "s")],
        ),
    ];
    for (rule, middle) in cases {
        for end in [
            finished(Value::Null),
            finished(json!({"type": "cancelled"})),
            finished(json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}]})),
            failed(),
        ] {
            breaks(rule, &run(middle.clone(), end));
        }
    }
}

#[test]
fn the_outcome_says_what_happened() {
    let interrupts = |ids: &[&str]| {
        let list: Vec<Value> = ids
            .iter()
            .map(|id| json!({"id": id, "reason": "x"}))
            .collect();
        finished(json!({"type": "interrupt", "interrupts": list}))
    };
    breaks(
        "an interrupted run has an interrupt",
        &run([], interrupts(&[])),
    );
    breaks(
        "interrupt `a` is there twice",
        &run([], interrupts(&["a", "b", "a"])),
    );
    let mut cancelled = finished(json!({"type": "cancelled"}));
    cancelled["result"] = json!(1);
    breaks("a cancelled run has no result", &run([], cancelled));

    let calls = [call("c1"), call("c2"), call("c3"), vec![result("m", "c2")]].concat();
    let lack = "pendingToolCallIds lack `c1` in its order";
    let name = |id: &str| format!("pendingToolCallIds name `{id}`, which is not pending there");
    for (rule, ids) in [
        (lack.to_owned(), vec![]),
        (lack.to_owned(), vec!["c3", "c1"]),
        (
            "pendingToolCallIds lack `c3` in its order".to_owned(),
            vec!["c1"],
        ),
        (
            "pendingToolCallIds lack `c3` in its order".to_owned(),
            vec!["c1", "c2", "c3"],
        ),
        (name("c3"), vec!["c1", "c3", "c3"]),
        (name("earlier"), vec!["c1", "c3", "earlier"]),
    ] {
        let outcome = match ids.as_slice() {
            [] => json!({"type": "success"}),
            ids => json!({"type": "success", "pendingToolCallIds": ids}),
        };
        breaks(&rule, &run(calls.clone(), finished(outcome)));
    }
    breaks(lack, &run(calls, finished(Value::Null)));
}

#[test]
fn messages_open_once_and_close_once() {
    let start = || message("TEXT_MESSAGE_START", "m");
    let end = || message("TEXT_MESSAGE_END", "m");
    let before = "message `m` was there before";
    middle_breaks(before, [start(), start()]);
    middle_breaks(before, [start(), end(), start()]);
    middle_breaks(before, [reasoning("m"), text("m")].concat());
    middle_breaks(before, [text("m"), vec![result("m", "c")]].concat());
    middle_breaks(before, [vec![result("m", "c")], text("m")].concat());
    let shown = || history(json!([{"id": "m", "role": "assistant"}]));
    middle_breaks(before, [notice(), shown(), start()]);
    middle_breaks(before, [shown(), notice(), start()]);
    middle_breaks(before, [shown(), start(), end(), start()]);
    middle_breaks(
        before,
        [
            history(json!([{"id": "m", "role": "user", "content": ""}])),
            start(),
        ],
    );
    middle_breaks(
        "reasoning `m` was there before",
        [reasoning("m"), reasoning("m")].concat(),
    );
    middle_breaks("Text `m` is not open", [end()]);
    middle_breaks("Text `m` is not open", [delta("TEXT_MESSAGE_CONTENT", "m")]);
    middle_breaks("Text `m` is not open", [start(), end(), end()]);
    middle_breaks(
        "Text `m` is not open",
        [
            message("REASONING_START", "s"),
            reasoning_start("m"),
            delta("TEXT_MESSAGE_CONTENT", "m"),
        ],
    );
    middle_breaks(
        "Reasoning `m` is not open",
        [delta("REASONING_MESSAGE_CONTENT", "m")],
    );
    middle_breaks(
        "Reasoning `s` is not open",
        [
            message("REASONING_START", "s"),
            reasoning_start("m"),
            delta("REASONING_MESSAGE_CONTENT", "s"),
        ],
    );
    middle_breaks("Span `m` is not open", [message("REASONING_END", "m")]);
}

#[test]
fn r67_one_owner_does_one_thing_after_the_other() {
    let thinking = |then: Value| [message("REASONING_START", "m"), then];
    let closed = "reasoning is closed before anything else of its owner opens";
    middle_breaks(closed, thinking(message("TEXT_MESSAGE_START", "n")));
    middle_breaks(closed, thinking(call_start("c")));
    middle_breaks(closed, thinking(message("REASONING_START", "n")));
    middle_breaks(
        "a reasoning message is closed before its span, text or tools",
        [
            message("REASONING_START", "m"),
            reasoning_start("m"),
            message("REASONING_END", "m"),
        ],
    );
    middle_breaks(
        "a reasoning message stands in a span of its owner",
        [reasoning_start("m")],
    );
    middle_breaks(
        "a text is closed before a tool call opens",
        [message("TEXT_MESSAGE_START", "m"), call_start("c")],
    );
}

#[test]
fn r71_calls_open_close_and_are_answered_once() {
    middle_breaks(
        "tool call `c` was started before",
        [call_start("c"), call_start("c")],
    );
    middle_breaks(
        "tool call `c` was started before",
        [call("c"), call("c")].concat(),
    );
    middle_breaks(
        "tool call `c` was started before",
        [vec![result("m", "c")], call("c")].concat(),
    );
    let caller = json!({"id": "m", "role": "assistant", "toolCalls": [
        {"id": "c", "type": "function", "function": {"name": "n", "arguments": ""}}]});
    let answer = json!({"id": "t", "role": "tool", "toolCallId": "c", "content": ""});
    middle_breaks(
        "tool call `c` was started before",
        [history(json!([caller, answer])), call_start("c")],
    );
    middle_breaks(
        "tool call `c` was started before",
        [history(json!([caller])), notice(), call_start("c")],
    );
    middle_breaks(
        "tool call `c` belongs to another owner",
        [history(json!([caller])), of("s", call_start("c"))],
    );
    middle_breaks("tool call `c` is not open", [call_args("c")]);
    middle_breaks("tool call `c` is not open", [call_end("c")]);
    middle_breaks(
        "tool call `c` is not open",
        [call("c"), vec![call_end("c")]].concat(),
    );
    middle_breaks(
        "tool call `c` is answered while open",
        [call_start("c"), result("m", "c")],
    );
    middle_breaks(
        "tool call `c` is answered twice",
        [call("c"), vec![result("m", "c"), result("n", "c")]].concat(),
    );
    let start = event(
        "TOOL_CALL_START",
        json!({"toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"}),
    );
    middle_breaks(
        "message `m` cannot hold a tool call",
        [reasoning("m"), vec![start]].concat(),
    );
}

#[test]
fn steps_pair_by_owner_and_name() {
    let step = |kind: &str, name: &str| event(kind, json!({"stepName": name}));
    middle_breaks(
        "step `a` is open already",
        [step("STEP_STARTED", "a"), step("STEP_STARTED", "a")],
    );
    middle_breaks(
        "step `a` is not open for this owner",
        [step("STEP_FINISHED", "a")],
    );
    middle_breaks(
        "step `a` is not open for this owner",
        [
            step("STEP_STARTED", "a"),
            of("s", step("STEP_FINISHED", "a")),
        ],
    );
}

#[test]
fn subagents_begin_and_end_once_and_own_what_they_open() {
    let begin = |id: &str| subagent("SUBAGENT_STARTED", id);
    let end = |id: &str| subagent("SUBAGENT_FINISHED", id);
    middle_breaks("sub-agent `s` is announced twice", [begin("s"), begin("s")]);
    middle_breaks(
        "sub-agent `s` is announced twice",
        [begin("s"), end("s"), begin("s")],
    );
    middle_breaks(
        "sub-agent `s` is announced too late",
        [of("s", message("TEXT_MESSAGE_START", "m")), begin("s")],
    );
    middle_breaks("sub-agent `s` is not active", [end("s")]);
    middle_breaks(
        "sub-agent `s` is not active",
        [begin("s"), end("s"), subagent("SUBAGENT_ERROR", "s")],
    );
    let mut child = begin("s");
    child["parentSubagentRunId"] = "unknown".into();
    middle_breaks("parent sub-agent `unknown` was not announced", [child]);

    let start = || message("TEXT_MESSAGE_START", "m");
    middle_breaks(
        "Text `m` belongs to another owner",
        [start(), of("s", delta("TEXT_MESSAGE_CONTENT", "m"))],
    );
    middle_breaks(
        "Text `m` belongs to another owner",
        [of("s", start()), of("z", message("TEXT_MESSAGE_END", "m"))],
    );
    middle_breaks(
        "tool call `c` belongs to another owner",
        [call_start("c"), of("s", call_end("c"))],
    );
    middle_breaks(
        "message `m` and its tool call differ in owner",
        [
            of("s", start()),
            of("s", message("TEXT_MESSAGE_END", "m")),
            event(
                "TOOL_CALL_START",
                json!({"toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"}),
            ),
        ],
    );
    let secret = event(
        "REASONING_ENCRYPTED_VALUE",
        json!({"subtype": "message", "entityId": "m", "encryptedValue": "e"}),
    );
    middle_breaks(
        "`m` belongs to another owner",
        [text("m"), vec![of("s", secret)]].concat(),
    );
}

#[test]
fn snapshots_and_activities_are_consistent() {
    let activity = |id: &str| {
        event(
            "ACTIVITY_SNAPSHOT",
            json!({"messageId": id, "activityType": "x", "content": {}}),
        )
    };
    let change = event(
        "ACTIVITY_DELTA",
        json!({"messageId": "a", "activityType": "x", "patch": [{"op": "remove", "path": "/k"}]}),
    );
    middle_breaks("activity `a` has no snapshot to change", [change.clone()]);
    middle_breaks(
        "activity `a` belongs to another owner",
        [activity("a"), of("s", change)],
    );
    middle_breaks(
        "message `m` was there before",
        [text("m"), vec![activity("m")]].concat(),
    );
    let user = json!({"id": "u", "role": "user", "content": ""});
    middle_breaks("message `u` is there twice", [history(json!([user, user]))]);
    middle_breaks(
        "the snapshot drops the open message `m`",
        [message("TEXT_MESSAGE_START", "m"), history(json!([user]))],
    );
    middle_breaks(
        "the snapshot drops the open tool call `c`",
        [call_start("c"), history(json!([user]))],
    );
}

#[test]
fn what_holds_for_an_event_anywhere() {
    let mut late = started();
    late["timestamp"] = json!(9_007_199_254_740_992_i64);
    breaks("a timestamp is an integer within 2^53", &[late]);
    let mut reserved = state();
    reserved["metadata"] = json!({"ag-ui": 1});
    middle_breaks("the metadata key `ag-ui` is reserved", [reserved]);
    let mut spent = finished(Value::Null);
    spent["usage"] = json!([{"outputTokens": 9_007_199_254_740_992_u64}]);
    breaks("a token count is an integer within 2^53", &run([], spent));
    let nobody = "this event belongs to no sub-agent";
    breaks(nobody, &[of("s", started())]);
    breaks(nobody, &run([], of("s", finished(Value::Null))));
    breaks(nobody, &run([], of("s", failed())));
    middle_breaks(nobody, [of("s", history(json!([])))]);
    let anonymous = event("SUBAGENT_STARTED", json!({"name": "n"}));
    middle_breaks("a sub-agent's event carries its subagentRunId", [anonymous]);
}

#[test]
fn nothing_is_empty_and_nothing_is_a_chunk() {
    for kind in ["TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"] {
        let empty = event(kind, json!({"messageId": "m", "delta": ""}));
        middle_breaks("no delta is empty", [empty]);
    }
    let empty = event("TOOL_CALL_ARGS", json!({"toolCallId": "c", "delta": ""}));
    middle_breaks("no delta is empty", [empty]);
    middle_breaks(
        "no patch is empty",
        [event("STATE_DELTA", json!({"delta": []}))],
    );
    for kind in [
        "TEXT_MESSAGE_CHUNK",
        "TOOL_CALL_CHUNK",
        "REASONING_MESSAGE_CHUNK",
    ] {
        middle_breaks("chunks are not used", [event(kind, json!({"delta": "d"}))]);
    }
}

#[test]
fn an_older_client_gets_nothing_that_is_new() {
    let new = [
        run([], finished(json!({"type": "cancelled"}))),
        run(
            call("c"),
            finished(json!({"type": "success", "pendingToolCallIds": ["c"]})),
        ),
        run(
            [
                subagent("SUBAGENT_STARTED", "s"),
                subagent("SUBAGENT_FINISHED", "s"),
            ],
            finished(Value::Null),
        ),
    ];
    for events in new {
        assert_eq!(
            follow(Grammar::legacy(), &events).unwrap_err().to_string(),
            "a client from before 1.0 cannot read this event"
        );
        follow(Grammar::default(), &events).unwrap();
    }
}
