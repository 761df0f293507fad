use serde_json::{Value, json};

use super::{super::of_entries, told};
use crate::deps::{CoreEvent, Todo, TodoPriority, TodoStatus};

fn todo(content: &str, status: TodoStatus, priority: TodoPriority) -> Todo {
    Todo {
        content: content.into(),
        status,
        priority,
    }
}

#[test]
fn r77_a_list_that_was_written_is_told_whole_whatever_the_tool_is_called() {
    let todos = json!({"todos": [
        {"content": "plan", "status": "completed", "priority": "high", "activeForm": "Planning"},
        {"content": "build", "status": "in_progress", "priority": "low", "id": "2"},
        {"content": "rest", "status": "pending", "priority": "medium"},
    ]});
    let expected = vec![
        todo("plan", TodoStatus::Completed, TodoPriority::High),
        todo("build", TodoStatus::InProgress, TodoPriority::Low),
        todo("rest", TodoStatus::Pending, TodoPriority::Medium),
    ];
    for tool in ["TodoWrite", "todowrite", "todo_write", "TODO_WRITE"] {
        let events = told(tool, &todos, "TODO list updated (3 items)", &Value::Null);
        assert_eq!(events, [CoreEvent::Todos(expected.clone())], "{tool}");
    }
    for tool in ["todoread", "TodoWriter", "update_todos", "x_todowrite", ""] {
        assert_eq!(told(tool, &todos, "", &Value::Null), [], "{tool}");
    }
}

#[test]
fn r77_an_empty_list_is_told_and_no_list_is_not() {
    let events = told("TodoWrite", &json!({"todos": []}), "", &Value::Null);
    assert_eq!(events, [CoreEvent::Todos(Vec::new())]);
    for input in [
        json!({}),
        json!({"todos": null}),
        json!({"todos": {}}),
        json!(null),
    ] {
        assert_eq!(told("TodoWrite", &input, "", &Value::Null), [], "{input}");
    }
}

#[test]
fn r77_what_says_nothing_or_was_given_up_is_left_out_and_the_rest_read_leniently() {
    let entries = json!([
        {"content": "  "}, {"status": "pending"}, "text", null, {"content": 7},
        {"content": "dropped", "status": "cancelled"},
        {"content": "bare"},
        {"content": "odd", "status": "later", "priority": "urgent"},
        {"content": "typed", "status": 1, "priority": null},
    ]);
    let plain = |content| todo(content, TodoStatus::Pending, TodoPriority::Medium);
    assert_eq!(of_entries(&entries), ["bare", "odd", "typed"].map(plain));
    for other in [json!(null), json!({"content": "a"}), json!("a")] {
        assert_eq!(of_entries(&other), [], "{other}");
    }
}

#[test]
fn a_list_is_read_as_far_as_anyone_would() {
    let entries = vec![json!({"content": "a"}); 5000];
    assert_eq!(of_entries(&entries.into()).len(), 1000);
}
