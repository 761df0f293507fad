//! Requests for permission, which can be the first or all that is heard of a call.

use super::*;

#[test]
fn a_permission_request_can_be_all_that_is_heard_of_a_call() {
    let events = play([asked(
        json!({"toolCallId": "1", "title": "rm -rf x", "kind": "execute",
        "rawInput": {"command": "rm"}}),
    )]);
    assert_eq!(
        spine(events),
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
        spine(events),
        [opened("1", "sh"), closed("1"), gave("1", "declined", true)]
    );
}

#[test]
fn refused_calls_are_answered_in_the_order_in_which_they_were_made() {
    let ids = ["b", "a", "c"];
    let ask = |id: &str| asked(json!({"toolCallId": id, "name": "sh"}));
    let later = progress(json!({"toolCallId": "b", "title": "again"}));
    let events = spine(play(ids.map(ask).into_iter().chain([later])));
    assert_eq!(events[6..], ids.map(|id| gave(id, REFUSED, true)));
}

#[test]
fn the_form_in_which_arguments_are_shown_for_a_decision_is_not_taken_for_them() {
    // As Copilot.
    let events = play([
        call(
            json!({"toolCallId": "1", "title": "Editing a", "kind": "edit", "status": "pending",
            "rawInput": {"path": "a", "old_str": "b"}}),
        ),
        asked(
            json!({"toolCallId": "1", "title": "Edit file", "status": "pending",
            "rawInput": {"fileName": "a", "diff": "@@"}}),
        ),
        progress(json!({"toolCallId": "1", "status": "failed",
            "rawOutput": {"message": "The user rejected this tool call.", "code": "rejected"}})),
    ]);
    let expected = [
        opened("1", "edit"),
        arguments("1", r#"{"path":"a","old_str":"b"}"#),
        closed("1"),
        gave("1", "The user rejected this tool call.", true),
    ];
    assert_eq!(spine(events), expected);
}

#[test]
fn a_request_does_not_turn_a_call_back_and_its_words_are_no_output() {
    let events = play([
        call(
            json!({"toolCallId": "1", "name": "Bash", "status": "in_progress", "rawInput": {"command": "ls"},
            "locations": [{"path": "/srv/project/a"}]}),
        ),
        asked(
            json!({"toolCallId": "1", "status": "pending", "rawInput": {"command": "ls"}, "locations": [],
            "content": [shown("List the files")]}),
        ),
        progress(json!({"toolCallId": "1", "status": "failed"})),
    ]);
    assert_eq!(
        said(&events, "acp.tool_call"),
        [
            json!({"status": "in_progress"}),
            json!({"status": "failed"})
        ]
    );
    assert_eq!(said(&events, "acp.locations").len(), 1);
    assert!(said(&events, "acp.output").is_empty());
    assert_eq!(events.last(), Some(&gave("1", "", true)));
}

#[test]
fn a_request_without_a_title_is_about_the_call_it_names() {
    // As Codex asks for a tool of an MCP server.
    let input = json!({"server": "frontend", "tool": "pick", "arguments": {"n": 1}});
    let events = play([
        call(
            json!({"toolCallId": "1", "kind": "execute", "title": "mcp.frontend.pick", "status": "in_progress",
            "rawInput": input, "_meta": {"is_mcp_tool_call": true}}),
        ),
        asked(json!({"toolCallId": "1", "kind": "execute", "status": "pending"})),
        progress(
            json!({"toolCallId": "1", "status": "completed", "rawOutput":
            {"result": {"content": [{"type": "text", "text": "red"}], "structuredContent": null}, "error": null}}),
        ),
    ]);
    let expected = [
        opened("1", "mcp.frontend.pick"),
        arguments("1", &input.to_string()),
        closed("1"),
        gave("1", "red", false),
    ];
    assert_eq!(spine(events), expected);
}

/// What people are asked after this script, the last of which is a request.
fn request(script: impl IntoIterator<Item = Said>) -> PermissionRequest {
    let mut translator = translator();
    let asked = |said| match said {
        Said::Update(params) => {
            translator.translate(params);
            None
        }
        Said::Asked(params) => translator.ask(&params).1,
    };
    let asked = script.into_iter().filter_map(asked).last();
    asked.expect("people can be asked")
}

#[test]
fn people_see_what_the_request_says_and_what_it_leaves_out_of_the_call() {
    let announced = || {
        call(
            json!({"toolCallId": "1", "title": "mcp.frontend.pick", "kind": "execute", "status": "in_progress",
            "rawInput": {"server": "frontend"}, "locations": [{"path": "/srv/project/a"}]}),
        )
    };
    let bare = request([announced(), asked(json!({"toolCallId": "1"}))]);
    let expected = PermissionRequest {
        call: Some("1".into()),
        tool: "mcp.frontend.pick".into(),
        action: "execute".into(),
        title: "mcp.frontend.pick".into(),
        paths: vec!["/srv/project/a".into()],
        params: Some(json!({"server": "frontend"})),
        options: Vec::new(),
        details: serde_json::Map::new(),
    };
    assert_eq!(bare, expected);
    let full = request([
        announced(),
        asked(
            json!({"toolCallId": "1", "name": "other", "title": "Edit b", "kind": "edit",
            "rawInput": {"diff": "@@"}, "_meta": {"secret": 1}, "content": [
                {"type": "diff", "path": "/srv/project/b", "oldText": null, "newText": "x", "_meta": {"secret": 1}},
            ]}),
        ),
    ]);
    let details = json!({"diffs": [{"path": "/srv/project/b", "newText": "x"}]});
    let expected = PermissionRequest {
        action: "edit".into(),
        title: "Edit b".into(),
        paths: vec!["/srv/project/b".into()],
        params: Some(json!({"diff": "@@"})),
        details: details.as_object().unwrap().clone(),
        ..expected
    };
    assert_eq!(full, expected);
}

#[test]
fn a_request_that_says_little_is_about_something_else() {
    let little = request([asked(json!({"toolCallId": "1", "kind": "unheard_of"}))]);
    assert_eq!((&*little.action, &*little.title), ("other", ""));
    let nothing = request([asked(json!({"toolCallId": "1", "title": "Look around"}))]);
    assert_eq!((&*nothing.tool, &*nothing.title), ("tool", "Look around"));
}

#[test]
fn what_is_shown_with_a_request_is_bounded_and_says_so() {
    let diff = |path: &str, bytes: usize| json!({"type": "diff", "path": path, "oldText": "", "newText": "x".repeat(bytes)});
    let shown = request([asked(
        json!({"toolCallId": "1", "rawInput": {"text": "x".repeat(2 * bounds::NOTICE)},
        "content": [diff("a", 200_000), diff("b", 200_000), diff("c", 1)]}),
    )]);
    assert_eq!(shown.paths.len(), 3, "nothing is hidden from a rule");
    assert_eq!(shown.details["truncated"], true);
    assert_eq!(shown.details["diffs"].as_array().unwrap().len(), 1);
    assert!(bounds::size(&shown.params.unwrap()) <= bounds::NOTICE);
}

#[test]
fn r99_what_nobody_could_look_through_is_not_asked() {
    let many = (0..=asked::PATHS).map(|n| json!({"path": format!("/{n}")}));
    for call in [
        json!({"toolCallId": "1", "locations": many.collect::<Vec<_>>()}),
        json!({"toolCallId": "x".repeat(ID + 1)}),
        json!({"toolCallId": 1}),
        json!(null),
    ] {
        let params = json!({"sessionId": "s", "toolCall": call});
        assert_eq!(translator().ask(&params).1, None);
    }
}

#[test]
fn r98_other_calls_are_closed_as_far_as_their_arguments_are_known() {
    let pending = |id: &str, input: Value| {
        call(json!({"toolCallId": id, "name": "sh", "status": "pending", "rawInput": input}))
    };
    let events = play([
        pending("known", json!({"a": 1})),
        pending("whole", json!(r#"{"a": 1}"#)),
        pending("begun", json!(r#"{"a": "#)),
        pending("unknown", json!({})),
        asked(json!({"toolCallId": "1", "name": "sh"})),
    ]);
    let closed = events.iter().filter_map(|event| match event {
        CoreEvent::ToolCallClosed { call } => Some(&**call),
        _ => None,
    });
    assert_eq!(closed.collect::<Vec<_>>(), ["1", "known", "whole"]);
}

#[test]
fn a_call_that_may_go_on_has_no_other_result_than_the_agents() {
    let mut translator = translator();
    let mut events = translator.hear(asked(json!({"toolCallId": "1", "name": "sh"})));
    translator.allow("1");
    events.extend(translator.finish());
    assert_eq!(spine(events), [opened("1", "sh"), closed("1")]);
}
