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
