//! From what a core says to what a run streams. One way, and no event of a core can fail a run.

use std::{mem, sync::Arc};

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

impl Call {
    fn id(&self) -> &ToolCallId {
        match self {
            Self::Open(open) => open.id(),
            Self::Closed(closed) => closed.id(),
            Self::Answered(id) => id,
        }
    }
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
            CoreEvent::Todos(_)
            | CoreEvent::Context(_)
            | CoreEvent::Files(_)
            | CoreEvent::Diff { .. }
            | CoreEvent::SubAgent(_)
            | CoreEvent::Within { .. } => {}
            CoreEvent::Notice { name, call, value } => {
                let value = match call.and_then(|call| self.id(&call)) {
                    Some(id) => about(&id, value),
                    None => value,
                };
                writer.notice(&name, value);
            }
        }
    }

    /// Has a call of the page's tool on the wire, with all its arguments, and says what it is called there.
    pub(super) fn page_call(
        &mut self,
        call: &Arc<str>,
        name: &str,
        arguments: &str,
        writer: &mut Writer,
    ) -> ToolCallId {
        let closed = match self.calls.pop(call) {
            Some(Call::Closed(closed)) => closed,
            Some(Call::Open(open)) => writer.close_call(open),
            // One that has its answer is another call, whatever the core calls it.
            Some(Call::Answered(_)) | None => {
                let mut open = writer.open_call(name);
                writer.arguments(&mut open, arguments);
                writer.close_call(open)
            }
        };
        let id = closed.id().clone();
        self.remember(Arc::clone(call), Call::Closed(closed), writer);
        id
    }

    /// Whether a call is on the wire and has no result.
    pub(super) fn is_waiting(&self, call: &str) -> bool {
        matches!(self.calls.peek(call), Some(Call::Open(_) | Call::Closed(_)))
    }

    /// Takes a call out that a client answers: what the core says of it from now on is an echo.
    pub(super) fn settle(&mut self, call: &Arc<str>, writer: &mut Writer) -> Option<ClosedCall> {
        let place = self.calls.get_mut(call)?;
        let id = place.id().clone();
        match mem::replace(place, Call::Answered(id)) {
            Call::Open(open) => Some(writer.close_call(open)),
            Call::Closed(closed) => Some(closed),
            Call::Answered(_) => None,
        }
    }

    /// Closes the calls that are open: their run ends.
    pub(super) fn close_all(&mut self, writer: &mut Writer) {
        for (_, call) in &mut self.calls {
            let id = call.id().clone();
            let closed = match mem::replace(call, Call::Answered(id)) {
                Call::Open(open) => writer.close_call(open),
                Call::Closed(closed) => closed,
                Call::Answered(_) => continue,
            };
            *call = Call::Closed(closed);
        }
    }

    /// What a call is called on the wire.
    pub(super) fn id(&self, call: &str) -> Option<ToolCallId> {
        self.calls.peek(call).map(|call| call.id().clone())
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
