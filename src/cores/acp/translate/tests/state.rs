//! What becomes part of the thread's state: things to do, the context, and files.

use super::*;
use crate::deps::{ContextUpdate, Tokens};

fn todos(events: &[CoreEvent]) -> Vec<Vec<Todo>> {
    let told = |event: &CoreEvent| match event {
        CoreEvent::Todos(todos) => Some(todos.clone()),
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

fn contexts(events: &[CoreEvent]) -> Vec<ContextUpdate> {
    let told = |event: &CoreEvent| match event {
        CoreEvent::Context(update) => Some(ContextUpdate::clone(update)),
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

#[test]
fn r80_a_plan_is_what_is_to_be_done_and_is_told_when_it_changes() {
    let entries = |status: &str| json!([{"content": "look", "priority": "high", "status": status, "_meta": {}}, {"content": "mend"}]);
    let plan = |status: &str| update(json!({"sessionUpdate": "plan", "entries": entries(status)}));
    let by_id = json!({"sessionUpdate": "plan_update",
        "plan": {"type": "items", "id": "p", "entries": entries("completed")}});
    let file = json!({"sessionUpdate": "plan_update", "plan": {"type": "file", "id": "p", "uri": "file:///p"}});
    let events = play([
        plan("pending"),
        plan("pending"),
        plan("in_progress"),
        update(by_id),
        update(file),
    ]);
    let all = |status| {
        vec![
            todo("look", status, TodoPriority::High),
            todo("mend", TodoStatus::Pending, TodoPriority::Medium),
        ]
    };
    let statuses = [
        TodoStatus::Pending,
        TodoStatus::InProgress,
        TodoStatus::Completed,
    ];
    assert_eq!(todos(&events), statuses.map(all));
    assert_eq!(said(&events, "acp.plan_update").len(), 1);
}

#[test]
fn r80_a_todo_tool_says_what_is_to_be_done_too() {
    let wrote = |id: &str, status: &str| {
        call(
            json!({"toolCallId": id, "title": "todowrite", "status": "completed",
            "rawInput": {"todos": [{"content": "look", "status": status, "priority": "high"}]}}),
        )
    };
    let events = play([
        wrote("1", "pending"),
        wrote("2", "pending"),
        wrote("3", "completed"),
    ]);
    let all = |status| vec![todo("look", status, TodoPriority::High)];
    assert_eq!(
        todos(&events),
        [TodoStatus::Pending, TodoStatus::Completed].map(all)
    );
    assert!(
        events.contains(&opened("1", "todowrite")),
        "the call stays a call"
    );
}

#[test]
fn r81_how_full_the_context_is_is_told_as_the_agent_counts_it() {
    let used = json!({"sessionUpdate": "usage_update", "used": 18, "size": 1_000_000,
        "cost": {"amount": 0.000_552, "currency": "USD"}});
    let events = play([say("a", None), update(used), say("b", None)]);
    let context = ContextUpdate {
        prompt: Some(Tokens::Counted(18)),
        context_window: Some(1_000_000),
        cost: Some(0.000_552),
        ..ContextUpdate::default()
    };
    let expected = [text("a"), CoreEvent::Context(context.into()), text("b")];
    assert_eq!(events, expected, "it ends no message");
}

#[test]
fn r81_what_the_turn_has_taken_is_an_estimate_unless_something_was_counted() {
    let answer =
        json!({"_meta": {"quota": {"token_count": {"input_tokens": 30, "output_tokens": 4}}}});
    let spent = usage::of_answer(&answer, None);
    let settled = |translator: &Translator| {
        let Some(CoreEvent::Context(update)) = translator.settle(&spent) else {
            panic!("nothing is told");
        };
        (update.prompt, update.completion_tokens)
    };
    let mut translator = translator();
    assert_eq!(
        settled(&translator),
        (Some(Tokens::Estimated(30)), Some(4)),
        "as Gemini"
    );
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
        "_meta": {"usage": {"inputTokens": 11, "outputTokens": 2, "cachedReadTokens": 5}}});
    let events = translator.hear(update(chunk));
    let [update] = &contexts(&events)[..] else {
        panic!("{events:?}");
    };
    assert_eq!(update.prompt, Some(Tokens::Counted(11)), "as Qwen");
    assert_eq!(update.cache_read_tokens, Some(5));
    assert_eq!(settled(&translator), (None, Some(4)));
}

#[test]
fn r82_files_are_told_once_a_call_has_succeeded_by_what_it_did_to_them() {
    let place = |path: &str| json!([{"path": path, "line": 3}]);
    let diff = |path: &str, old: Value| json!({"type": "diff", "path": path, "oldText": old, "newText": "b"});
    let (a, b) = ("/srv/project/src/a.rs", "/srv/project/src/b.rs");
    for (members, told) in [
        (
            json!({"kind": "read", "locations": place(a)}),
            Some("Read src/a.rs"),
        ),
        (
            json!({"kind": "read", "locations": place("/etc/hosts")}),
            Some("Read /etc/hosts"),
        ),
        (
            json!({"kind": "edit", "locations": place(a), "content": [diff(a, json!("a"))]}),
            Some("Edit src/a.rs"),
        ),
        (
            json!({"kind": "edit", "locations": place(a), "content": [diff(a, Value::Null)]}),
            Some("Write src/a.rs"),
        ),
        (
            json!({"kind": "edit", "content": [diff(a, json!("")), diff(b, json!("x"))]}),
            Some("Write src/a.rs, Edit src/b.rs"),
        ),
        (
            json!({"kind": "delete", "locations": place(a)}),
            Some("Edit src/a.rs"),
        ),
        (
            json!({"kind": "move", "locations": [{"path": a}, {"path": b}]}),
            Some("Edit src/a.rs, Edit src/b.rs"),
        ),
        (
            json!({"kind": "execute", "locations": place(a), "content": [diff(b, json!("x"))]}),
            Some("Edit src/b.rs"),
        ),
        (
            json!({"kind": "read", "locations": place("/srv/project")}),
            None,
        ),
        (json!({"kind": "search", "locations": place(a)}), None),
        (json!({"kind": "execute", "locations": place(a)}), None),
        (json!({"kind": "other", "locations": place(a)}), None),
        (json!({"locations": place(a)}), None),
    ] {
        let ends = |status: &str| {
            let mut said = members.clone();
            said["toolCallId"] = json!("1");
            said["name"] = json!("tool");
            let end = progress(json!({"toolCallId": "1", "status": status}));
            files(&play([call(said), end]))
        };
        assert_eq!(ends("completed"), Vec::from_iter(told), "{members}");
        assert_eq!(ends("failed"), Vec::<String>::new(), "{members}");
        assert_eq!(ends("in_progress"), Vec::<String>::new(), "{members}");
    }
}

#[test]
fn r82_a_patch_besides_the_content_says_which_file_was_changed() {
    // As Claude, which takes the change back out of the content in the end.
    let response = json!({"claudeCode": {"toolName": "Edit", "toolResponse": {"filePath": "/srv/project/a",
        "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}]}}});
    let events = play([
        call(json!({"toolCallId": "1", "name": "Edit", "kind": "edit"})),
        progress(json!({"toolCallId": "1", "_meta": response})),
        progress(json!({"toolCallId": "1", "status": "completed", "content": []})),
    ]);
    assert_eq!(files(&events), ["Edit a"]);
    assert!(
        matches!(events.last(), Some(CoreEvent::Files(_))),
        "after the result"
    );
}
