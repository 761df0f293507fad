use serde_json::json;

use super::*;

fn translator() -> Translator {
    Translator::new("s", "/srv/project")
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn update(value: Value) -> Incoming {
    Incoming::Update(json!({"sessionId": "s", "update": value}))
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn asked(call: Value) -> Incoming {
    Incoming::Asked(json!({"sessionId": "s", "toolCall": call, "options": []}))
}

/// The events of a whole turn.
fn play(script: impl IntoIterator<Item = Incoming>) -> Vec<CoreEvent> {
    let mut translator = translator();
    let mut events: Vec<_> = script
        .into_iter()
        .flat_map(|incoming| translator.translate(incoming))
        .collect();
    events.extend(translator.finish());
    events
}

fn say(text: &str, message: Option<&str>) -> Incoming {
    let mut value =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    if let Some(message) = message {
        value["messageId"] = json!(message);
    }
    update(value)
}

fn call(value: Value) -> Incoming {
    let mut value = value;
    value["sessionUpdate"] = json!("tool_call");
    update(value)
}

fn progress(value: Value) -> Incoming {
    let mut value = value;
    value["sessionUpdate"] = json!("tool_call_update");
    update(value)
}

fn opened(id: &str, name: &str) -> CoreEvent {
    let (call, name) = (id.into(), name.into());
    CoreEvent::ToolCallOpened { call, name }
}

fn arguments(id: &str, fragment: &str) -> CoreEvent {
    let (call, fragment) = (id.into(), fragment.into());
    CoreEvent::ToolCallArguments { call, fragment }
}

fn closed(id: &str) -> CoreEvent {
    CoreEvent::ToolCallClosed { call: id.into() }
}

fn gave(id: &str, text: &str, failed: bool) -> CoreEvent {
    result(&id.into(), text.into(), failed)
}

#[test]
fn another_message_id_ends_the_message_and_empty_chunks_do_not_count() {
    let events = play([
        say("a", None),
        say("b", Some("1")),
        say("", Some("2")),
        say("c", Some("1")),
        say("d", Some("2")),
    ]);
    let text = |text: &str| CoreEvent::Text(text.into());
    let end = CoreEvent::MessageEnd;
    assert_eq!(
        events,
        [text("a"), end.clone(), text("b"), text("c"), end, text("d")]
    );
}

#[test]
fn r68_growing_arguments_go_out_once_when_they_are_final() {
    let events = play([
        call(
            json!({"toolCallId": "1", "title": "Read a file", "name": "read", "status": "pending", "rawInput": {}}),
        ),
        progress(json!({"toolCallId": "1", "rawInput": {"path": "a"}})),
        progress(json!({"toolCallId": "1", "rawInput": {"path": "a.txt", "lines": 1.50}})),
        progress(json!({"toolCallId": "1", "status": "in_progress"})),
        progress(json!({"toolCallId": "1", "status": "in_progress", "rawInput": {"late": true}})),
        progress(json!({"toolCallId": "1", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "hello"}}]})),
    ]);
    assert_eq!(
        events,
        [
            opened("1", "read"),
            arguments("1", r#"{"path":"a.txt","lines":1.5}"#),
            closed("1"),
            gave("1", "hello", false),
        ]
    );
}

#[test]
fn empty_arguments_wait_for_better_ones_until_the_end() {
    let events = play([
        call(json!({"toolCallId": "1", "kind": "edit", "status": "in_progress", "rawInput": {}})),
        progress(json!({"toolCallId": "1", "status": "completed", "rawInput": {"a": 1}})),
    ]);
    let expected = [
        opened("1", "edit"),
        arguments("1", r#"{"a":1}"#),
        closed("1"),
        gave("1", "", false),
    ];
    assert_eq!(events, expected);
}

#[test]
fn r69_a_result_for_a_call_that_was_never_opened_brings_the_call_along() {
    let events = play([progress(
        json!({"toolCallId": "1", "name": "sum", "status": "failed",
        "rawInput": [1], "rawOutput": {"output": "no"}}),
    )]);
    let expected = [
        opened("1", "sum"),
        arguments("1", "[1]"),
        closed("1"),
        gave("1", "no", true),
    ];
    assert_eq!(events, expected);
}

#[test]
fn r70_a_call_that_is_announced_only_at_its_end_loses_nothing() {
    let events = play([call(
        json!({"toolCallId": "1", "title": "sum", "status": "completed",
        "rawInput": {"a": 1}, "rawOutput": {"total": 2}}),
    )]);
    let expected = [
        opened("1", "sum"),
        arguments("1", r#"{"a":1}"#),
        closed("1"),
        gave("1", r#"{"total":2}"#, false),
    ];
    assert_eq!(events, expected);
}

#[test]
fn r71_a_second_result_and_later_updates_of_a_call_are_dropped() {
    let end = || progress(json!({"toolCallId": "1", "status": "completed", "rawOutput": "x"}));
    let events = play([
        call(json!({"toolCallId": "1", "name": "a"})),
        end(),
        end(),
        progress(json!({"toolCallId": "1", "status": "in_progress", "rawInput": {"a": 1}})),
        asked(json!({"toolCallId": "1"})),
    ]);
    assert_eq!(
        events,
        [opened("1", "a"), closed("1"), gave("1", "x", false)]
    );
}

#[test]
fn a_permission_request_can_be_all_that_is_heard_of_a_call() {
    let events = play([asked(
        json!({"toolCallId": "1", "title": "rm -rf x", "kind": "execute",
        "rawInput": {"command": "rm"}}),
    )]);
    assert_eq!(
        events,
        [
            opened("1", "execute"),
            arguments("1", r#"{"command":"rm"}"#),
            closed("1"),
            gave("1", REFUSED, true),
        ]
    );
}

#[test]
fn what_the_agent_says_of_a_refused_call_is_its_only_result() {
    let events = play([
        asked(json!({"toolCallId": "1", "name": "sh"})),
        progress(json!({"toolCallId": "1", "status": "failed",
            "content": [{"type": "content", "content": {"type": "text", "text": "declined"}}]})),
    ]);
    assert_eq!(
        events,
        [opened("1", "sh"), closed("1"), gave("1", "declined", true)]
    );
}

#[test]
fn a_call_that_nobody_knows_the_end_of_gets_no_result() {
    let events = play([call(
        json!({"toolCallId": "1", "name": "a", "status": "in_progress"}),
    )]);
    assert_eq!(events, [opened("1", "a")]);
}

#[test]
fn refused_calls_are_answered_in_the_order_in_which_they_were_made() {
    let ids = ["b", "a", "c"];
    let ask = |id: &str| asked(json!({"toolCallId": id, "name": "sh"}));
    let later = progress(json!({"toolCallId": "b", "title": "again"}));
    let events = play(ids.map(ask).into_iter().chain([later]));
    assert_eq!(events[6..], ids.map(|id| gave(id, REFUSED, true)));
}

#[test]
fn more_calls_than_are_told_apart_cost_only_the_oldest() {
    let more = MAX_CALLS.get() + 1;
    let events = play((0..more).map(|n| asked(json!({"toolCallId": n.to_string()}))));
    let of = |id: &str| {
        events
            .iter()
            .filter(|event| **event == gave(id, REFUSED, true))
            .count()
    };
    for n in [0, 1, more - 1] {
        assert_eq!(of(&n.to_string()), 1, "{n}");
    }
    let first = events
        .iter()
        .position(|event| *event == gave("0", REFUSED, true));
    let last = events
        .iter()
        .position(|event| *event == opened(&(more - 1).to_string(), "tool"));
    assert!(first < last, "it is given up for the last one");
}

#[test]
fn the_name_of_a_tool_is_the_nearest_thing_to_one() {
    for (told, name) in [
        (json!({"name": "a", "title": "b"}), "a"),
        (
            json!({"_meta": {"claudeCode": {"toolName": "a"}}, "title": "b"}),
            "a",
        ),
        (json!({"_meta": {"toolName": "a"}, "title": "b"}), "a"),
        (
            json!({"_meta": {"pando": {"toolName": "a"}}, "title": "b"}),
            "a",
        ),
        (
            json!({"title": "mcp.frontend.pick_color", "kind": "other"}),
            "mcp.frontend.pick_color",
        ),
        (json!({"title": "ls -l", "kind": "execute"}), "execute"),
        (json!({"title": "ls -l"}), "tool"),
    ] {
        let mut told = told;
        told["toolCallId"] = json!("1");
        assert_eq!(play([call(told.clone())]), [opened("1", name)], "{told}");
    }
}

#[test]
fn an_edit_without_words_names_the_file_from_the_working_directory() {
    let diff =
        |path: &str| json!({"type": "diff", "path": path, "oldText": null, "newText": "secret"});
    let content = json!([diff("/srv/project/src/a.rs"), diff("b.rs")]);
    let events = play([call(
        json!({"toolCallId": "1", "status": "completed", "content": content}),
    )]);
    assert_eq!(
        events.last(),
        Some(&gave("1", "edited src/a.rs\nedited b.rs", false))
    );
}

#[test]
fn r72_what_has_no_event_is_a_notice_without_vendors_additions() {
    let plan = json!({"sessionUpdate": "plan", "entries": [{"content": "x", "_meta": {"path": "/p"}}], "_meta": {}});
    let events = play([
        update(plan),
        update(json!({"sessionUpdate": "brand_new", "n": 1e-7})),
    ]);
    let notice = |name: &str, value: Value| CoreEvent::notice(name, value);
    assert_eq!(
        events,
        [
            notice(
                "acp.plan",
                json!({"sessionUpdate": "plan", "entries": [{"content": "x"}]})
            ),
            notice(
                "acp.brand_new",
                json!({"sessionUpdate": "brand_new", "n": 1e-7})
            ),
        ]
    );
}

#[test]
fn another_sessions_updates_and_the_persons_own_words_are_left_out() {
    let foreign = Incoming::Update(json!({"sessionId": "t",
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}}));
    let own = update(
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "x"}}),
    );
    assert_eq!(
        play([
            foreign,
            own,
            update(json!(null)),
            update(json!({"sessionUpdate": 1}))
        ]),
        []
    );
}

#[test]
fn usage_on_an_empty_chunk_is_counted() {
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
        "_meta": {"usage": {"inputTokens": 1, "outputTokens": 2}}});
    assert!(
        matches!(&play([update(chunk)])[..], [CoreEvent::Usage(usage)] if usage.total_tokens == Some(3))
    );
}
