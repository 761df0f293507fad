//! What the tools for todos say: `TodoWrite` and its like, `{todos: [{content, status, priority}]}`, always the whole list.

use serde_json::Value;

use super::given;
use crate::{
    deps::{Todo, TodoPriority, TodoStatus},
    protocol::JsonObject,
};

/// How many of a list are read.
const MOST: usize = 1000;

/// The list that a call writes, if it is one that writes it.
pub(super) fn called(tool: &str, input: &Value) -> Option<Vec<Todo>> {
    if !is_for_todos(tool) {
        return None;
    }
    let input = given::object(input)?;
    input
        .get("todos")
        .filter(|todos| todos.is_array())
        .map(of_entries)
}

fn is_for_todos(tool: &str) -> bool {
    const NAME: &str = "todowrite";

    let letters = tool.bytes().filter(|byte| *byte != b'_');
    letters
        .map(|letter| letter.to_ascii_lowercase())
        .eq(NAME.bytes())
}

/// The todos in a list of `{content, status, priority}` (also ACP `plan`, the entries). Those that say nothing are left
/// out, and those that were given up, for which a [`Todo`] has no word.
pub(in crate::cores) fn of_entries(entries: &Value) -> Vec<Todo> {
    let entries = entries.as_array().into_iter().flatten();
    let objects = entries.take(MOST).filter_map(Value::as_object);
    objects.filter_map(of_entry).collect()
}

fn of_entry(entry: &JsonObject) -> Option<Todo> {
    let content = given::text(entry, "content")?.to_owned();
    let status = given::text(entry, "status").unwrap_or_default();
    if matches!(status, "cancelled" | "canceled") {
        return None;
    }
    let priority = given::text(entry, "priority").and_then(TodoPriority::of);
    Some(Todo {
        content,
        status: TodoStatus::of(status).unwrap_or_default(),
        priority: priority.unwrap_or_default(),
    })
}

/// How much memory a list takes, in bytes, nearly.
pub(super) fn size(todos: &[Todo]) -> usize {
    let contents = todos.iter().map(|todo| todo.content.len());
    size_of_val(todos) + contents.sum::<usize>()
}
