//! A turn as Pando's sessions tell it: what is documented of its updates and requests.

use super::*;
use crate::deps::{ContextUpdate, Tokens};

fn pando_call(id: &str, tool: &str, title: &str, input: &Value) -> Said {
    call(
        json!({"toolCallId": id, "title": title, "kind": "execute", "status": "pending",
        "rawInput": input, "_meta": {"pando": {"toolName": tool}}}),
    )
}

fn request(tool: &str, description: &str, params: &Value) -> Said {
    asked(
        json!({"toolCallId": format!("s-{tool}-1764512345678901234"), "title": description,
        "status": "pending", "rawInput": params, "locations": [{"path": "/srv/project"}]}),
    )
}

#[test]
fn a_whole_turn_of_pando_is_understood() {
    let info = json!({"terminal_info": {"terminal_id": "c1", "cwd": "/srv/project"}});
    let ran = json!({"terminal_output": {"terminal_id": "c1", "data": "a.rs\n"},
        "terminal_exit": {"terminal_id": "c1", "exit_code": 0, "signal": null}, "pando": {"toolName": "bash"}});
    let events = play([
        update(json!({"sessionUpdate": "session_info_update", "title": "Look"})),
        update(
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "bash"}]}),
        ),
        update(
            json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Hm."}}),
        ),
        say("First a plan.", None),
        update(
            json!({"sessionUpdate": "plan", "entries": [{"content": "look", "priority": "high", "status": "pending"}]}),
        ),
        say("Then a look.", None),
        pando_call("c1", "bash", "List files", &json!({"command": "ls"})),
        progress(json!({"toolCallId": "c1", "_meta": info})),
        request("bash", "Execute command: ls", &json!({"command": "ls"})),
        progress(
            json!({"toolCallId": "c1", "status": "completed", "rawOutput":
            {"output": "a.rs\n", "metadata": {"exit": 0}}, "_meta": ran}),
        ),
        update(
            json!({"sessionUpdate": "session_info_update", "_meta": {"pando:notification": {"type": "compaction"}}}),
        ),
        say("Done.", None),
        update(json!({"sessionUpdate": "usage_update", "used": 5, "size": 10})),
    ]);
    let notice = |name: &str, value: Value| CoreEvent::notice(name, value);
    let context = ContextUpdate {
        prompt: Some(Tokens::Counted(5)),
        context_window: Some(10),
        ..ContextUpdate::default()
    };
    assert_eq!(
        spine(events.clone()),
        [
            notice("acp.session_info_update", json!({"title": "Look"})),
            notice(
                "acp.available_commands_update",
                json!({"availableCommands": [{"name": "bash"}]})
            ),
            CoreEvent::Reasoning("Hm.".into()),
            text("First a plan."),
            CoreEvent::MessageEnd,
            CoreEvent::Todos(vec![todo("look", TodoStatus::Pending, TodoPriority::High)]),
            text("Then a look."),
            opened("c1", "bash"),
            arguments("c1", r#"{"command":"ls"}"#),
            closed("c1"),
            gave("c1", "a.rs\n", false),
            notice(
                "acp.session_info_update",
                json!({"notification": {"type": "compaction"}})
            ),
            text("Done."),
            CoreEvent::Context(context.into()),
        ]
    );
    assert_eq!(
        said(&events, "acp.tool_call"),
        [
            json!({"title": "List files", "kind": "execute", "status": "pending"}),
            json!({"title": "Execute command: ls", "kind": "execute", "status": "pending"}),
            json!({"title": "Execute command: ls", "kind": "execute", "status": "completed"}),
        ]
    );
    assert_eq!(
        said(&events, "acp.terminal"),
        [
            json!({"terminalId": "c1", "command": "ls", "cwd": "."}),
            json!({"terminalId": "c1", "output": "a.rs\n", "exitCode": 0}),
        ]
    );
}

#[test]
fn a_made_up_id_means_the_call_with_these_arguments_else_the_last_of_the_tool() {
    let start = || {
        [
            pando_call("c1", "bash", "List", &json!({"command": "ls"})),
            pando_call("c2", "bash", "Remove", &json!({"command": "rm"})),
            pando_call("c3", "view", "View", &json!({"path": "a"})),
        ]
    };
    let under_way = |id: &str| progress(json!({"toolCallId": id, "status": "in_progress"}));
    for (params, refused) in [
        (json!({"command": "ls"}), "c1"),
        (json!({"command": "rm"}), "c2"),
        (json!({"dir": "/"}), "c2"),
    ] {
        let script = start().into_iter().chain(["c1", "c2"].map(under_way));
        let events = play(script.chain([request("bash", "Execute", &params)]));
        assert_eq!(spine(events).last(), Some(&gave(refused, REFUSED, true)));
    }
}

#[test]
fn a_made_up_id_without_a_call_is_a_call_of_its_own_that_is_refused() {
    let id = "s-edit-1764512345678901234";
    let events = play([
        pando_call("c1", "bash", "List", &json!({})),
        progress(
            json!({"toolCallId": "c1", "status": "completed", "rawOutput": {"output": "", "metadata": {}}}),
        ),
        request("edit", "Edit a file", &json!({"path": "a"})),
    ]);
    let expected = [
        opened(id, "edit"),
        arguments(id, r#"{"path":"a"}"#),
        closed(id),
        gave(id, REFUSED, true),
    ];
    assert_eq!(spine(events)[4..], expected);
}

#[test]
fn r69_a_start_that_pando_makes_up_has_empty_arguments() {
    let events = play([
        pando_call("c1", "view", "view", &json!({})),
        progress(
            json!({"toolCallId": "c1", "status": "completed", "rawOutput": {"output": "x", "metadata": {}}}),
        ),
    ]);
    let expected = [
        opened("c1", "view"),
        arguments("c1", "{}"),
        closed("c1"),
        gave("c1", "x", false),
    ];
    assert_eq!(spine(events), expected);
}

#[test]
fn the_files_of_pando_are_told_by_its_own_tools() {
    let place = json!([{"path": "/srv/project/src/a.rs"}]);
    let diff =
        json!([{"type": "diff", "path": "/srv/project/src/a.rs", "oldText": "a", "newText": "b"}]);
    let ended = |id: &str, metadata: &Value, content: &Value| {
        progress(
            json!({"toolCallId": id, "status": "completed", "kind": "edit", "locations": place,
            "content": content, "rawOutput": {"output": "done", "metadata": metadata}}),
        )
    };
    let file = json!({"file_path": "/srv/project/src/a.rs"});
    let events = play([
        pando_call("1", "view", "View", &file),
        ended("1", &json!({}), &json!([])),
        pando_call("2", "write", "Write", &file),
        ended("2", &json!({"additions": 1}), &diff),
        pando_call(
            "3",
            "patch",
            "Patch",
            &json!({"patch_text": "*** Begin Patch"}),
        ),
        ended("3", &json!({"files_changed": ["src/a.rs", "b.rs"]}), &diff),
    ]);
    assert_eq!(
        files(&events),
        [
            "Read src/a.rs",
            "Write src/a.rs",
            "Patch src/a.rs, Patch b.rs"
        ]
    );
}

#[test]
fn what_pando_sends_out_is_told_after_the_call_and_its_own_agent_tool_sends_out_nobody() {
    let output = json!({"task_id": "task-0a1b2c3d", "status": "running"}).to_string();
    let events = play([
        pando_call(
            "1",
            "mesnada_spawn_agent",
            "Spawn",
            &json!({"prompt": "look"}),
        ),
        progress(json!({"toolCallId": "1", "status": "completed",
            "content": [shown(&format!("```json\n{output}\n```"))],
            "rawOutput": {"output": output, "metadata": {}}})),
        pando_call("2", "agent", "Agent", &json!({"prompt": "look"})),
        progress(
            json!({"toolCallId": "2", "status": "completed", "rawOutput": {"output": "seen", "metadata": {}}}),
        ),
    ]);
    let told: Vec<_> = sub_agents(&events).into_iter().map(|it| it.id).collect();
    assert_eq!(told, ["task-0a1b2c3d".into()]);
    let result = events
        .iter()
        .position(|event| matches!(event, CoreEvent::ToolCallResult { .. }));
    let sent_out = events
        .iter()
        .position(|event| matches!(event, CoreEvent::SubAgent(_)));
    assert!(result < sent_out);
}
