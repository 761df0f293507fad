//! The translator on scripts of updates.

mod bounded;
mod calls;
mod kinds;
mod messages;
mod pando;
mod permissions;
mod results;
mod state;
mod sub_agents;
mod transcripts;

use super::*;
use crate::{
    deps::{PermissionRequest, SubAgentUpdate, Todo, TodoPriority, TodoStatus},
    protocol::Content,
};

/// Something that an agent says.
enum Said {
    /// Parameters of `session/update`.
    Update(Value),
    /// Parameters of `session/request_permission`.
    Asked(Value),
}

impl Translator {
    fn hear(&mut self, said: Said) -> Vec<CoreEvent> {
        match said {
            Said::Update(params) => self.translate(params),
            Said::Asked(params) => self.ask(&params).0,
        }
    }
}

fn translator() -> Translator {
    translator_of(Vendor::default())
}

fn translator_of(vendor: Vendor) -> Translator {
    Translator::new("s", "/srv/project", vendor)
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn update(value: Value) -> Said {
    Said::Update(json!({"sessionId": "s", "update": value}))
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn asked(call: Value) -> Said {
    Said::Asked(json!({"sessionId": "s", "toolCall": call, "options": []}))
}

/// The events of a whole turn.
fn play(script: impl IntoIterator<Item = Said>) -> Vec<CoreEvent> {
    play_with(translator(), script)
}

fn play_with(mut translator: Translator, script: impl IntoIterator<Item = Said>) -> Vec<CoreEvent> {
    let mut events: Vec<_> = script
        .into_iter()
        .flat_map(|said| translator.hear(said))
        .collect();
    events.extend(translator.finish());
    events
}

/// The events without what is said about calls besides, and the files that they touch.
fn spine(events: Vec<CoreEvent>) -> Vec<CoreEvent> {
    let is_about_call = |event: &CoreEvent| {
        matches!(
            event,
            CoreEvent::Notice { call: Some(_), .. } | CoreEvent::Diff { .. } | CoreEvent::Files(_)
        )
    };
    let mut events = events;
    events.retain(|event| !is_about_call(event));
    events
}

/// What is shown of the changes that calls make.
fn diffs(events: &[CoreEvent]) -> Vec<Value> {
    let content = |event: &CoreEvent| match event {
        CoreEvent::Diff { path, content, .. } => {
            assert_eq!(content["path"], **path);
            Some(json!(content))
        }
        _ => None,
    };
    events.iter().filter_map(content).collect()
}

/// The files that are told of, in one piece for each event: `ACTION PATH`, with commas.
fn files(events: &[CoreEvent]) -> Vec<String> {
    let told = |event: &CoreEvent| match event {
        CoreEvent::Files(files) => {
            let files = files.iter();
            let files = files.map(|file| format!("{:?} {}", file.action(), file.path()));
            Some(files.collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

/// What is told of sub-agents.
fn sub_agents(events: &[CoreEvent]) -> Vec<SubAgentUpdate> {
    let told = |event: &CoreEvent| match event {
        CoreEvent::SubAgent(update) => Some(SubAgentUpdate::clone(update)),
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

fn todo(content: &str, status: TodoStatus, priority: TodoPriority) -> Todo {
    Todo {
        content: content.into(),
        status,
        priority,
    }
}

/// The values of the notices of one name.
fn said(events: &[CoreEvent], wanted: &str) -> Vec<Value> {
    let value = |event: &CoreEvent| match event {
        CoreEvent::Notice { name, value, .. } if name == wanted => Some(value.clone()),
        _ => None,
    };
    events.iter().filter_map(value).collect()
}

fn say(text: &str, message: Option<&str>) -> Said {
    let mut value =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    if let Some(message) = message {
        value["messageId"] = json!(message);
    }
    update(value)
}

fn call(mut value: Value) -> Said {
    value["sessionUpdate"] = json!("tool_call");
    update(value)
}

fn progress(mut value: Value) -> Said {
    value["sessionUpdate"] = json!("tool_call_update");
    update(value)
}

/// An item of a call's content that is a text.
fn shown(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

fn text(text: &str) -> CoreEvent {
    CoreEvent::Text(text.into())
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
    CoreEvent::ToolCallResult {
        call: id.into(),
        content: Content::Text(text.into()),
        failed,
    }
}
