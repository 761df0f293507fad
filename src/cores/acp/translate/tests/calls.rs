//! Calls: opened once, closed before their result, with arguments that are exactly what they were.

use super::*;

#[test]
fn r68_growing_arguments_go_out_once_when_they_are_final() {
    let events = play([
        call(
            json!({"toolCallId": "1", "title": "Read a file", "name": "read", "status": "pending", "rawInput": {}}),
        ),
        progress(json!({"toolCallId": "1", "rawInput": {"path": "a"}})),
        progress(json!({"toolCallId": "1", "rawInput": {"path": "a.txt", "lines": 1.50}})),
        progress(json!({"toolCallId": "1", "status": "in_progress"})),
        progress(json!({"toolCallId": "1", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "hello"}}]})),
    ]);
    assert_eq!(
        spine(events),
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
    assert_eq!(spine(events), expected);
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
    assert_eq!(spine(events), expected);
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
    assert_eq!(spine(events), expected);
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
        spine(events),
        [opened("1", "a"), closed("1"), gave("1", "x", false)]
    );
}

#[test]
fn a_call_that_nobody_knows_the_end_of_gets_no_result() {
    let events = play([call(
        json!({"toolCallId": "1", "name": "a", "status": "in_progress"}),
    )]);
    assert_eq!(spine(events), [opened("1", "a")]);
}

#[test]
fn r68_arguments_that_grow_as_text_are_passed_on_as_they_grow() {
    let grows = |text: &str| progress(json!({"toolCallId": "1", "rawInput": text}));
    let events = play([
        call(json!({"toolCallId": "1", "name": "write", "status": "pending", "rawInput": ""})),
        grows("{\"path\": \"a"),
        grows("{\"path\": \"a.txt\", "),
        grows("{\"path\": \"a.txt\", \"n\": 1}"),
        grows("{\"path\": \"a.txt\", \"n\": 1}"),
        progress(
            json!({"toolCallId": "1", "status": "in_progress", "rawInput": {"path": "a.txt", "n": 1}}),
        ),
        progress(json!({"toolCallId": "1", "status": "completed"})),
    ]);
    let expected = [
        opened("1", "write"),
        arguments("1", "{\"path\": \"a"),
        arguments("1", ".txt\", "),
        arguments("1", "\"n\": 1}"),
        closed("1"),
        gave("1", "", false),
    ];
    assert_eq!(spine(events), expected);
}

#[test]
fn arguments_that_come_after_the_last_moment_for_them_are_told_all_the_same() {
    // As OpenCode: it asks before it says all of the arguments.
    let late = json!({"command": "ls", "description": "look", "cwd": "/srv/project"});
    let under_way = || {
        progress(
            json!({"toolCallId": "1", "status": "in_progress", "title": "ls", "rawInput": late}),
        )
    };
    let events = play([
        call(
            json!({"toolCallId": "1", "title": "bash", "kind": "execute", "status": "pending",
            "rawInput": {"cwd": "/srv/project"}}),
        ),
        asked(
            json!({"toolCallId": "1", "title": "ls", "status": "pending", "rawInput": {"command": "ls"}}),
        ),
        under_way(),
        under_way(),
        progress(json!({"toolCallId": "1", "status": "completed", "content": [shown("a")]})),
    ]);
    let facts = said(&events, "acp.tool_call");
    assert_eq!(
        facts,
        [
            json!({"title": "bash", "kind": "execute", "status": "pending"}),
            json!({"title": "ls", "kind": "execute", "status": "pending"}),
            json!({"title": "ls", "kind": "execute", "status": "in_progress"}),
            json!({"rawInput": late}),
            json!({"title": "ls", "kind": "execute", "status": "completed"}),
        ]
    );
    let expected = [
        opened("1", "bash"),
        arguments("1", r#"{"command":"ls"}"#),
        closed("1"),
        gave("1", "a", false),
    ];
    assert_eq!(spine(events), expected);
}

#[test]
fn what_a_page_shows_of_a_call_is_told_when_it_changes() {
    let heartbeat =
        || progress(json!({"toolCallId": "1", "_meta": {"claudeCode": {"toolName": "Bash"}}}));
    let mut translator = translator();
    let mut told = |said| translator.hear(said);
    let events = told(call(
        json!({"toolCallId": "1", "kind": "execute", "title": "Terminal"}),
    ));
    let facts = CoreEvent::Notice {
        name: "acp.tool_call".into(),
        call: Some("1".into()),
        value: json!({"title": "Terminal", "kind": "execute"}),
    };
    assert_eq!(events, [opened("1", "Terminal"), facts]);
    let named = told(heartbeat());
    let facts = json!({"name": "Bash", "title": "Terminal", "kind": "execute"});
    assert_eq!(said(&named, "acp.tool_call"), [facts]);
    assert_eq!(told(heartbeat()), []);
    assert_eq!(
        told(progress(json!({"toolCallId": "1", "title": "Terminal"}))),
        []
    );
}

#[test]
fn a_title_that_looks_like_a_name_later_on_is_none() {
    let events = play([
        call(json!({"toolCallId": "1", "title": "bash"})),
        progress(json!({"toolCallId": "1", "title": "ls"})),
    ]);
    assert_eq!(
        said(&events, "acp.tool_call"),
        [json!({"title": "bash"}), json!({"title": "ls"})]
    );
}

#[test]
fn a_call_is_named_by_its_kind_if_nothing_names_it() {
    for (told, name) in [
        (json!({"title": "ls -l", "kind": "execute"}), "execute"),
        (json!({"title": "ls -l"}), "tool"),
        (
            json!({"title": "mcp.frontend.pick_color", "kind": "other"}),
            "mcp.frontend.pick_color",
        ),
        (json!({"_meta": {"toolName": "a"}, "title": "b"}), "a"),
    ] {
        let mut told = told;
        told["toolCallId"] = json!("1");
        assert_eq!(
            spine(play([call(told.clone())])),
            [opened("1", name)],
            "{told}"
        );
    }
}

#[test]
fn places_are_told_when_they_change_and_as_seen_from_the_folder() {
    let at = |locations: Value| progress(json!({"toolCallId": "1", "locations": locations}));
    let place =
        json!([{"path": "/srv/project/src/a.rs", "line": 3}, {"path": "/etc/hosts", "line": null}]);
    let events = play([
        call(json!({"toolCallId": "1", "name": "read", "locations": []})),
        at(place.clone()),
        at(place),
        at(json!([])),
    ]);
    assert_eq!(
        said(&events, "acp.locations"),
        [
            json!({"locations": [{"path": "src/a.rs", "line": 3}, {"path": "/etc/hosts"}]}),
            json!({"locations": []}),
        ]
    );
}
