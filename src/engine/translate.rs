//! From what a core says to what a run streams. One way, and no event of a core can fail a run.

use std::{mem, num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use serde_json::{Value, json};

use super::{
    bounds,
    frames::Speaker,
    sub_agents::SubAgents,
    writer::{ClosedCall, OpenCall, Writer},
};
use crate::{
    deps::{CoreEvent, MAX_CALLS},
    protocol::{Content, JsonObject, MessageId, Patch, ToolCallId},
    state::{Document, SubAgentUpdate, TooLarge},
};

/// How many diffs of a turn can be replaced by later ones. Of more, the oldest stay as they are.
const DIFFS: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// Where a call stands.
#[derive(Debug)]
enum Call {
    Open(OpenCall),
    Closed(ClosedCall),
    Answered(ToolCallId, Speaker),
}

impl Call {
    fn id(&self) -> &ToolCallId {
        match self {
            Self::Open(open) => open.id(),
            Self::Closed(closed) => closed.id(),
            Self::Answered(id, _) => id,
        }
    }

    fn speaker(&self) -> &Speaker {
        match self {
            Self::Open(open) => open.speaker(),
            Self::Closed(closed) => closed.speaker(),
            Self::Answered(_, speaker) => speaker,
        }
    }

    fn answered(&self) -> Self {
        Self::Answered(self.id().clone(), self.speaker().clone())
    }
}

/// What a turn's translation remembers: the calls, by the core's own ids. A call that is forgotten is
/// closed and answered, and its later events are dropped or begin a call of their own.
#[derive(Debug)]
pub(super) struct Translator {
    calls: LruCache<Arc<str>, Call>,
    sub_agents: SubAgents,
    /// What the diffs are called on the wire, by call and file.
    diffs: LruCache<(Arc<str>, String), MessageId>,
    /// The parts of the document that were too large; each is told once a turn.
    refused: Vec<&'static str>,
}

impl Translator {
    pub(super) fn new() -> Self {
        Self {
            calls: LruCache::new(MAX_CALLS),
            sub_agents: SubAgents::new(),
            diffs: LruCache::new(DIFFS),
            refused: Vec::new(),
        }
    }

    /// Writes what an event means.
    pub(super) fn apply(&mut self, event: CoreEvent, writer: &mut Writer, state: &mut Document) {
        match event {
            CoreEvent::Text(_)
            | CoreEvent::Reasoning(_)
            | CoreEvent::MessageEnd
            | CoreEvent::ToolCallOpened { .. }
            | CoreEvent::ToolCallArguments { .. }
            | CoreEvent::ToolCallClosed { .. }
            | CoreEvent::ToolCallResult { .. } => self.say(event, writer),
            CoreEvent::Within { sub_agent, event } => {
                if self.sub_agents.hand_over(&sub_agent, writer) {
                    self.say(*event, writer);
                    writer.hand_back();
                }
            }
            CoreEvent::Model(model) => publish(state.set_model(*model), writer),
            CoreEvent::Usage(spent) => writer.usage(&spent),
            CoreEvent::Settings(settings) => publish(state.set_settings(*settings), writer),
            CoreEvent::Todos(todos) => self.change(state.set_todos(todos), writer),
            CoreEvent::Context(update) => publish(state.update_usage(&update), writer),
            CoreEvent::Files(files) => self.change(state.touch(files), writer),
            CoreEvent::Diff {
                call,
                path,
                content,
            } => self.diff(call, path, content, writer),
            CoreEvent::SubAgent(update) => self.sub_agent(&update, writer, state),
            CoreEvent::Notice { name, call, value } => {
                let value = match call.and_then(|call| self.id(&call)) {
                    Some(id) => about(&id, value),
                    None => value,
                };
                writer.notice(&name, value);
            }
        }
    }

    /// Writes what whoever is speaking says or calls; nothing else that happens is anybody's own.
    fn say(&mut self, event: CoreEvent, writer: &mut Writer) {
        match event {
            CoreEvent::Text(text) => writer.text(&text),
            CoreEvent::Reasoning(text) => writer.reasoning(&text),
            CoreEvent::MessageEnd => writer.close_message(),
            CoreEvent::ToolCallOpened { call, name } if !self.calls.contains(&call) => {
                let open = writer.open_call(&name);
                self.remember(call, Call::Open(open), writer);
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
            _ => {}
        }
    }

    /// Shows a change of a file.
    fn diff(&mut self, call: Arc<str>, path: String, content: JsonObject, writer: &mut Writer) {
        let Some(known) = self.calls.peek(&call) else {
            return;
        };
        let mut shown = JsonObject::new();
        shown.insert("toolCallId".into(), known.id().as_str().into());
        if json!(content).to_string().len() > bounds::TEXT {
            shown.insert("path".into(), bounds::clip(&path, bounds::NAME).into());
            shown.insert("truncated".into(), true.into());
        } else {
            shown.extend(content);
        }
        let new = || writer.message_id();
        let id = self.diffs.get_or_insert((call, path), new).clone();
        writer.diff(id, known.speaker(), shown);
    }

    /// Notes what became known of a sub-agent, and has the run tell of it.
    fn sub_agent(&mut self, update: &SubAgentUpdate, writer: &mut Writer, state: &mut Document) {
        let before = state.sub_agent(&update.id).map(|known| known.status);
        let change = state.update_sub_agent(update);
        if let Some(now) = state.sub_agent(&update.id) {
            let call = update.call.as_deref().and_then(|call| self.id(call));
            self.sub_agents.follow(update, before, now, call, writer);
        }
        self.change(change, writer);
    }

    /// Notes that the turn was stopped, or has failed: what it has sent out goes with it, unless it outlives it.
    pub(super) fn stop(&mut self, writer: &mut Writer, state: &mut Document) {
        self.sub_agents.stop(writer, state);
    }

    /// Publishes a change of the document; of a part that has become too large it says so, once.
    fn change(&mut self, change: Result<Option<Patch>, TooLarge>, writer: &mut Writer) {
        match change {
            Ok(change) => publish(change, writer),
            Err(TooLarge { part, .. }) => {
                if !self.refused.contains(&part) {
                    self.refused.push(part);
                    writer.too_large(part);
                }
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
            Some(Call::Answered(..)) | None => {
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
        let answered = place.answered();
        match mem::replace(place, answered) {
            Call::Open(open) => Some(writer.close_call(open)),
            Call::Closed(closed) => Some(closed),
            Call::Answered(..) => None,
        }
    }

    /// Closes the calls that are open: their run ends.
    pub(super) fn close_all(&mut self, writer: &mut Writer) {
        for (_, call) in &mut self.calls {
            let answered = call.answered();
            let closed = match mem::replace(call, answered) {
                Call::Open(open) => writer.close_call(open),
                Call::Closed(closed) => closed,
                Call::Answered(..) => continue,
            };
            *call = Call::Closed(closed);
        }
    }

    /// What a call is called on the wire.
    pub(super) fn id(&self, call: &str) -> Option<ToolCallId> {
        self.calls.peek(call).map(|call| call.id().clone())
    }

    /// Whose call it is.
    pub(super) fn speaker(&self, call: &str) -> Speaker {
        self.calls.peek(call)?.speaker().clone()
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
        let answered = Call::Answered(closed.id().clone(), closed.speaker().clone());
        writer.result(closed, content, failed);
        self.remember(call, answered, writer);
    }

    /// Notes where a call stands. What is forgotten for it is settled, so that nothing piles up.
    fn remember(&mut self, key: Arc<str>, call: Call, writer: &mut Writer) {
        let closed = match self.calls.push(key, call) {
            Some((_, Call::Open(open))) => writer.close_call(open),
            Some((_, Call::Closed(closed))) => closed,
            Some((_, Call::Answered(..))) | None => return,
        };
        writer.result(
            closed,
            Content::Text("The agent left this call behind.".into()),
            true,
        );
    }
}

fn publish(change: Option<Patch>, writer: &mut Writer) {
    if let Some(change) = change {
        writer.state_delta(change);
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

#[cfg(test)]
mod tests;
