//! What is told of a task.

use serde_json::Value;

use crate::{
    cores::traffic::given,
    deps::{About, Conclusion, SubAgentStatus},
    json::integer,
    protocol::JsonObject,
};

/// The longest that a task's id is, in bytes.
const ID: usize = 256;

/// The longest text about one that is kept, in bytes. Less of it is shown.
const TEXT: usize = 4 * 1024;

/// A task's id, if that is one.
pub(super) fn as_id(value: &Value) -> Option<&str> {
    given::said(value).filter(|id| id.len() <= ID)
}

/// The id that a member is.
pub(super) fn id<'a>(object: &'a JsonObject, name: &str) -> Option<&'a str> {
    as_id(object.get(name)?)
}

/// The ids in a list.
pub(super) fn ids<'a>(object: &'a JsonObject, name: &str) -> impl Iterator<Item = &'a str> {
    let items = object.get(name).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(as_id)
}

/// How far it is.
pub(super) fn status(task: &JsonObject) -> Option<SubAgentStatus> {
    given::text(task, "status").and_then(SubAgentStatus::of)
}

/// What else is known of it. A text that is empty says nothing.
pub(super) fn about(task: &JsonObject) -> About {
    let text = |name| given::text(task, name).map(clipped);
    let conclusion = task.get("conclusion").and_then(Value::as_object);
    let concluded = |name| conclusion.and_then(|conclusion| given::text(conclusion, name));
    About {
        role: None,
        prompt: text("prompt"),
        engine: text("engine"),
        model: text("model"),
        persona: text("persona"),
        error: text("error"),
        exit_code: task.get("exit_code").and_then(integer),
        conclusion: concluded("status").and_then(Conclusion::of),
        summary: concluded("summary").map(clipped),
    }
}

/// What the arguments of a call say of a task that is to be.
pub(super) fn asked(arguments: &JsonObject) -> About {
    let About {
        prompt,
        engine,
        model,
        persona,
        ..
    } = about(arguments);
    About {
        prompt,
        engine,
        model,
        persona,
        ..About::default()
    }
}

/// What is told, and where nothing is told, what was asked.
pub(super) fn told_or_asked(told: About, asked: About) -> About {
    About {
        prompt: told.prompt.or(asked.prompt),
        engine: told.engine.or(asked.engine),
        model: told.model.or(asked.model),
        persona: told.persona.or(asked.persona),
        ..told
    }
}

/// How much memory it takes, in bytes, nearly.
pub(super) fn size(about: &About) -> usize {
    let texts = [&about.prompt, &about.engine, &about.model, &about.persona];
    let texts = texts.into_iter().flatten().map(String::len);
    size_of::<About>() + texts.sum::<usize>()
}

fn clipped(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT)].to_owned()
}
