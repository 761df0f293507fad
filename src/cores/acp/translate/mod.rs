//! Turns what an agent says in a turn into the adapter's events. Synchronous, and of plain JSON.

mod call;

use std::sync::Arc;

use lru::LruCache;
use serde_json::Value;
use tracing::debug;

use self::call::{Call, Stage};
use super::{board::Incoming, usage};
use crate::{
    deps::{CoreEvent, MAX_CALLS},
    protocol::Content,
};

/// What the result of a call says that was refused, when the agent itself says nothing.
const REFUSED: &str = "not run: permission was refused";

/// Follows one turn of one session.
pub(super) struct Translator {
    session: String,
    workdir: String,
    /// By the agent's ids, the latest first: a look at a call does not move it.
    calls: LruCache<Arc<str>, Call>,
    /// The kind and message id of the last chunk.
    speaking: Option<(Voice, Option<String>)>,
    events: Vec<CoreEvent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Text,
    Thought,
}

impl Translator {
    /// For a turn of `session`, whose agent works in `workdir`.
    pub(super) fn new(session: &str, workdir: &str) -> Self {
        Self {
            session: session.to_owned(),
            workdir: workdir.to_owned(),
            calls: LruCache::new(MAX_CALLS),
            speaking: None,
            events: Vec::new(),
        }
    }

    /// The events that follow from what the agent said.
    pub(super) fn translate(&mut self, incoming: Incoming) -> Vec<CoreEvent> {
        let (Incoming::Update(params) | Incoming::Asked(params)) = &incoming;
        if params["sessionId"].as_str() != Some(&self.session) {
            debug!("an update of another session is left out");
            return Vec::new();
        }
        match incoming {
            Incoming::Update(mut params) => self.update(params["update"].take()),
            Incoming::Asked(params) => self.asked(&params["toolCall"]),
        }
        std::mem::take(&mut self.events)
    }

    /// What is still owed when the turn is over: results of the calls that were refused. Whatever else
    /// is open, nobody knows the end of.
    pub(super) fn finish(&mut self) -> Vec<CoreEvent> {
        while let Some((_, call)) = self.calls.pop_lru() {
            give_up(call, &mut self.events);
        }
        std::mem::take(&mut self.events)
    }

    fn update(&mut self, update: Value) {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.chunk(Voice::Text, update),
            "agent_thought_chunk" => self.chunk(Voice::Thought, update),
            "tool_call" | "tool_call_update" => self.tool_call(&update),
            // What the person said is known.
            "user_message_chunk" => {}
            _ => self.notice(update),
        }
    }

    fn chunk(&mut self, voice: Voice, update: Value) {
        self.events
            .extend(usage::of_chunk(&update).map(|spent| CoreEvent::Usage(spent.into())));
        let content = &update["content"];
        let Some(text) = content["text"].as_str().filter(|_| is_text(content)) else {
            return self.notice(update);
        };
        if text.is_empty() {
            return;
        }
        let message = update["messageId"].as_str().map(str::to_owned);
        if let Some((last, id)) = &self.speaking
            && *last == voice
            && *id != message
        {
            self.events.push(CoreEvent::MessageEnd);
        }
        self.speaking = Some((voice, message));
        self.events.push(match voice {
            Voice::Text => CoreEvent::Text(text.to_owned()),
            Voice::Thought => CoreEvent::Reasoning(text.to_owned()),
        });
    }

    fn tool_call(&mut self, update: &Value) {
        let Some(call) = call_of(&mut self.calls, update, &mut self.events) else {
            return;
        };
        if call.stage == Stage::Done {
            return;
        }
        call.merge(update);
        open(call, &mut self.events);
        if let Some(failed) = call.ended() {
            close(call, &mut self.events);
            let text = call.result_text(&self.workdir);
            self.events.push(result(&call.id, text, failed));
            call.finish();
        } else if call.is_settled() {
            close(call, &mut self.events);
        }
        self.speaking = None;
    }

    /// A permission request can be the first that is heard of a call, and what it says of it is final.
    fn asked(&mut self, announced: &Value) {
        let Some(call) = call_of(&mut self.calls, announced, &mut self.events) else {
            return;
        };
        if call.stage == Stage::Done {
            return;
        }
        call.merge(announced);
        open(call, &mut self.events);
        close(call, &mut self.events);
        call.refused = true;
        self.speaking = None;
    }

    /// Passes on what AG-UI has no event for, without what vendors add for themselves.
    fn notice(&mut self, mut update: Value) {
        let Some(kind) = update["sessionUpdate"].as_str().map(str::to_owned) else {
            debug!("an update without a kind is left out");
            return;
        };
        let kind: String = kind.chars().take(64).collect();
        strip_meta(&mut update);
        self.events
            .push(CoreEvent::notice(format!("acp.{kind}"), update));
    }
}

/// The call that an update is about, if it names one. For a new one the oldest may be given up.
fn call_of<'a>(
    calls: &'a mut LruCache<Arc<str>, Call>,
    update: &Value,
    events: &mut Vec<CoreEvent>,
) -> Option<&'a mut Call> {
    let id = update["toolCallId"].as_str()?;
    if !calls.contains(id) {
        let id: Arc<str> = id.into();
        let oldest = calls.push(Arc::clone(&id), Call::new(id));
        if let Some((_, oldest)) = oldest {
            give_up(oldest, events);
        }
    }
    calls.peek_mut(id)
}

/// Says what is still owed of a call that is not followed any more: the result of one that was refused.
fn give_up(mut call: Call, events: &mut Vec<CoreEvent>) {
    if call.refused {
        close(&mut call, events);
        events.push(result(&call.id, REFUSED.to_owned(), true));
    }
}

fn open(call: &mut Call, events: &mut Vec<CoreEvent>) {
    if call.stage == Stage::Unknown {
        call.stage = Stage::Open;
        events.push(CoreEvent::ToolCallOpened {
            call: Arc::clone(&call.id),
            name: call.name(),
        });
    }
}

fn close(call: &mut Call, events: &mut Vec<CoreEvent>) {
    if call.stage == Stage::Open {
        call.stage = Stage::Closed;
        events.extend(
            call.arguments()
                .map(|fragment| CoreEvent::ToolCallArguments {
                    call: Arc::clone(&call.id),
                    fragment,
                }),
        );
        events.push(CoreEvent::ToolCallClosed {
            call: Arc::clone(&call.id),
        });
    }
}

fn result(call: &Arc<str>, text: String, failed: bool) -> CoreEvent {
    CoreEvent::ToolCallResult {
        call: Arc::clone(call),
        content: Content::Text(text),
        failed,
    }
}

/// Whether a content block is a text.
fn is_text(block: &Value) -> bool {
    block["type"] == "text"
}

/// Takes vendors' additions out: they carry paths, commands and settings of the machine.
fn strip_meta(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("_meta");
            members.values_mut().for_each(strip_meta);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_meta),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
