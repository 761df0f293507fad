//! From what a core says to what a run streams. One way, and no event of a core can fail a run.

use std::sync::Arc;

use lru::LruCache;
use serde_json::Value;

use super::writer::{ClosedCall, OpenCall, Writer};
use crate::{
    deps::{CoreEvent, MAX_CALLS},
    protocol::{Content, ToolCallId},
    state::Document,
};

/// Where a call stands.
#[derive(Debug)]
enum Call {
    Open(OpenCall),
    Closed(ClosedCall),
    Answered(ToolCallId),
}

/// What a turn's translation remembers: the calls, by the core's own ids. A call that is forgotten is
/// closed and answered, and its later events are dropped or begin a call of their own.
#[derive(Debug)]
pub(super) struct Translator {
    calls: LruCache<Arc<str>, Call>,
}

impl Translator {
    pub(super) fn new() -> Self {
        Self {
            calls: LruCache::new(MAX_CALLS),
        }
    }

    /// Writes what an event means.
    pub(super) fn apply(&mut self, event: CoreEvent, writer: &mut Writer, state: &mut Document) {
        match event {
            CoreEvent::Text(text) => writer.text(&text),
            CoreEvent::Reasoning(text) => writer.reasoning(&text),
            CoreEvent::MessageEnd => writer.close_message(),
            CoreEvent::ToolCallOpened { call, name } => {
                if !self.calls.contains(&call) {
                    let open = writer.open_call(&name);
                    self.remember(call, Call::Open(open), writer);
                }
            }
            CoreEvent::ToolCallArguments { call, fragment } => {
                if let Some(Call::Open(open)) = self.calls.get_mut(&call) {
                    writer.arguments(open, &fragment);
                }
            }
            CoreEvent::ToolCallClosed { call } => match self.calls.pop(&call) {
                Some(Call::Open(open)) => {
                    let closed = writer.close_call(open);
                    self.remember(call, Call::Closed(closed), writer);
                }
                Some(other) => self.remember(call, other, writer),
                None => {}
            },
            CoreEvent::ToolCallResult {
                call,
                content,
                failed,
            } => {
                self.result(call, content, failed, writer);
            }
            CoreEvent::Model(model) => {
                if let Some(delta) = state.set_model(*model) {
                    writer.state_delta(delta);
                }
            }
            CoreEvent::Usage(spent) => writer.usage(&spent),
            CoreEvent::Settings(settings) => {
                if let Some(delta) = state.set_settings(*settings) {
                    writer.state_delta(delta);
                }
            }
            CoreEvent::Notice { name, call, value } => {
                let value = match call.and_then(|call| self.id(&call)) {
                    Some(id) => about(&id, value),
                    None => value,
                };
                writer.notice(&name, value);
            }
        }
    }

    /// What a call is called on the wire.
    fn id(&self, call: &str) -> Option<ToolCallId> {
        let id = match self.calls.peek(call)? {
            Call::Open(open) => open.id(),
            Call::Closed(closed) => closed.id(),
            Call::Answered(id) => id,
        };
        Some(id.clone())
    }

    /// Answers a call once. One that nobody heard of is opened first.
    fn result(&mut self, call: Arc<str>, content: Content, failed: bool, writer: &mut Writer) {
        let closed = match self.calls.pop(&call) {
            Some(Call::Closed(closed)) => closed,
            Some(Call::Open(open)) => writer.close_call(open),
            Some(answered) => return self.remember(call, answered, writer),
            None => {
                let open = writer.open_call("");
                writer.close_call(open)
            }
        };
        let id = closed.id().clone();
        writer.result(closed, content, failed);
        self.remember(call, Call::Answered(id), writer);
    }

    /// Notes where a call stands. What is forgotten for it is settled, so that nothing piles up.
    fn remember(&mut self, key: Arc<str>, call: Call, writer: &mut Writer) {
        let closed = match self.calls.push(key, call) {
            Some((_, Call::Open(open))) => writer.close_call(open),
            Some((_, Call::Closed(closed))) => closed,
            Some((_, Call::Answered(_))) | None => return,
        };
        writer.result(
            closed,
            Content::Text("The agent left this call behind.".into()),
            true,
        );
    }
}

/// What is said of a call, with the call's id. What is no object has no place for it.
fn about(id: &ToolCallId, value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut about = serde_json::Map::new();
            about.insert("toolCallId".into(), id.as_str().into());
            about.extend(members);
            Value::Object(about)
        }
        other => other,
    }
}
