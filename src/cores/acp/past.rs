//! What a session remembers: the history that `session/load` replays, as messages. It goes through the same
//! translation as what is said in a turn.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{
    preface,
    translate::{NAME, Translator, clip, part},
};
use crate::{
    deps::CoreEvent,
    protocol::{
        Content, FunctionCall, FunctionType, MessageBody, Part, PartKind, ToolCall, ToolCallId,
    },
};

/// How much of a history is kept, in bytes. Of a longer one nothing is: half of it would pass for the whole.
const KEPT: usize = 8 * 1024 * 1024;
/// What a message takes besides what it says.
const MESSAGE: usize = 64;
/// Said of a call that the history has no result of.
const UNANSWERED: &str = "The agent reported no result for this call.";

/// A history that is being replayed.
pub(super) struct Past {
    translator: Translator,
    messages: Vec<MessageBody>,
    /// In which messages the calls are, and their place there.
    calls: HashMap<Arc<str>, Called>,
    /// The agent's id of the message that a person was last heard to say.
    user: Option<String>,
    /// Whether what is said next is another message.
    is_over: bool,
    bytes: usize,
}

/// A call of the history.
struct Called {
    message: usize,
    place: usize,
    has_result: bool,
}

impl Past {
    pub(super) fn new(translator: Translator) -> Self {
        Self {
            translator,
            messages: Vec::new(),
            calls: HashMap::new(),
            user: None,
            is_over: true,
            bytes: 0,
        }
    }

    /// Takes the next update of the history.
    pub(super) fn hear(&mut self, params: Value) {
        if self.bytes > KEPT {
            return;
        }
        let update = &params["update"];
        if update["sessionUpdate"] == "user_message_chunk" {
            if let Some(part) = part(&update["content"]) {
                let id = update["messageId"].as_str().map(str::to_owned);
                self.bytes += update["content"].to_string().len();
                self.heard(part, id);
            }
        } else {
            let events = self.translator.translate(params);
            self.take(events);
        }
        if self.bytes > KEPT {
            self.messages = Vec::new();
            self.calls = HashMap::new();
        }
    }

    /// All of it, in order, if it was not too much. Each call has its result.
    pub(super) fn finish(mut self) -> Option<Vec<MessageBody>> {
        let left = self.translator.close_calls();
        self.take(left);
        if self.bytes > KEPT {
            return None;
        }
        let mut open: HashMap<usize, Vec<ToolCallId>> = HashMap::new();
        for called in self.calls.values().filter(|called| !called.has_result) {
            if let MessageBody::Assistant { tool_calls, .. } = &self.messages[called.message] {
                let id = tool_calls[called.place].id.clone();
                open.entry(called.message).or_default().push(id);
            }
        }
        let mut whole = Vec::with_capacity(self.messages.len());
        for (at, message) in self.messages.into_iter().enumerate() {
            let Some(message) = as_said(message) else {
                continue;
            };
            whole.push(message);
            let unanswered = open.remove(&at).unwrap_or_default();
            whole.extend(unanswered.into_iter().map(|id| MessageBody::Tool {
                content: Content::Text(UNANSWERED.into()),
                tool_call_id: id,
                error: Some(UNANSWERED.into()),
            }));
        }
        Some(whole)
    }

    /// Part of what a person has said. Of agents that do not name messages, each chunk is one.
    fn heard(&mut self, said: Part, id: Option<String>) {
        let goes_on = id.is_some() && id == self.user;
        match self.messages.last_mut() {
            Some(MessageBody::User {
                content: Content::Parts(parts),
                ..
            }) if goes_on => match (parts.last_mut().map(|it| &mut it.kind), &said.kind) {
                (Some(PartKind::Text { text }), PartKind::Text { text: more }) => {
                    text.push_str(more);
                }
                _ => parts.push(said),
            },
            _ => {
                self.user = id;
                self.push(MessageBody::User {
                    content: Content::Parts(vec![said]),
                    name: None,
                });
            }
        }
        self.is_over = true;
    }

    fn push(&mut self, message: MessageBody) {
        self.bytes += MESSAGE;
        self.messages.push(message);
    }

    fn take(&mut self, events: Vec<CoreEvent>) {
        for event in events {
            self.step(event);
        }
    }

    fn step(&mut self, event: CoreEvent) {
        match event {
            CoreEvent::Text(more) => {
                self.bytes += more.len();
                if let Some(MessageBody::Assistant {
                    content: Some(text),
                    tool_calls,
                    ..
                }) = self.messages.last_mut().filter(|_| !self.is_over)
                    && tool_calls.is_empty()
                {
                    return text.push_str(&more);
                }
                self.push(MessageBody::Assistant {
                    content: Some(more),
                    name: None,
                    tool_calls: Vec::new(),
                });
                self.is_over = false;
            }
            CoreEvent::Reasoning(more) => {
                self.bytes += more.len();
                if let Some(MessageBody::Reasoning { content }) =
                    self.messages.last_mut().filter(|_| !self.is_over)
                {
                    return content.push_str(&more);
                }
                self.push(MessageBody::Reasoning { content: more });
                self.is_over = false;
            }
            CoreEvent::MessageEnd => self.is_over = true,
            CoreEvent::ToolCallOpened { call, name } => self.open(call, name),
            CoreEvent::ToolCallArguments { call, fragment } => {
                self.bytes += fragment.len();
                if let Some(call) = self.call(&call) {
                    call.function.arguments.push_str(&fragment);
                }
            }
            CoreEvent::ToolCallResult {
                call,
                content,
                failed,
            } => self.result(&call, content, failed),
            // What is no message is not part of a transcript.
            CoreEvent::ToolCallClosed { .. }
            | CoreEvent::Todos(_)
            | CoreEvent::Context(_)
            | CoreEvent::Files(_)
            | CoreEvent::Diff { .. }
            | CoreEvent::SubAgent(_)
            | CoreEvent::Within { .. }
            | CoreEvent::Model(_)
            | CoreEvent::Usage(_)
            | CoreEvent::Settings(_)
            | CoreEvent::Notice { .. } => {}
        }
    }

    /// Puts a call into the message that the agent has just said, or else into one of its own.
    fn open(&mut self, call: Arc<str>, name: String) {
        let Ok(id) = ToolCallId::new(&*call) else {
            return;
        };
        if self.calls.contains_key(&call) {
            return;
        }
        self.bytes += MESSAGE + name.len() + call.len();
        if !matches!(self.messages.last(), Some(MessageBody::Assistant { .. })) {
            self.push(MessageBody::Assistant {
                content: None,
                name: None,
                tool_calls: Vec::new(),
            });
        }
        self.is_over = true;
        let message = self.messages.len() - 1;
        if let Some(MessageBody::Assistant { tool_calls, .. }) = self.messages.last_mut() {
            tool_calls.push(ToolCall {
                id,
                kind: FunctionType::Function,
                function: FunctionCall {
                    name,
                    arguments: String::new(),
                },
                encrypted_value: None,
                metadata: None,
            });
            let called = Called {
                message,
                place: tool_calls.len() - 1,
                has_result: false,
            };
            self.calls.insert(call, called);
        }
    }

    fn call(&mut self, call: &str) -> Option<&mut ToolCall> {
        let called = self.calls.get(call)?;
        match self.messages.get_mut(called.message)? {
            MessageBody::Assistant { tool_calls, .. } => tool_calls.get_mut(called.place),
            _ => None,
        }
    }

    fn result(&mut self, call: &str, content: Content, failed: bool) {
        let Some(called) = self.calls.get_mut(call) else {
            return;
        };
        called.has_result = true;
        let Some(id) = self.call(call).map(|call| call.id.clone()) else {
            return;
        };
        let error = failed.then(|| clip(&content.text(), NAME).to_owned());
        self.bytes += serde_json::to_string(&content).map_or(0, |json| json.len());
        self.push(MessageBody::Tool {
            content,
            tool_call_id: id,
            error,
        });
        self.is_over = true;
    }
}

/// A message as it was said, if that was anything: what a person said without what we have put before it, and as
/// one text where it is all text.
fn as_said(message: MessageBody) -> Option<MessageBody> {
    match message {
        MessageBody::User {
            content: Content::Parts(mut parts),
            name,
        } => {
            if let Some(PartKind::Text { text }) = parts.first_mut().map(|it| &mut it.kind) {
                *text = preface::without(text).to_owned();
            }
            parts.retain(|it| !matches!(&it.kind, PartKind::Text { text } if text.is_empty()));
            let content = match &parts[..] {
                [] => return None,
                [only] if matches!(only.kind, PartKind::Text { .. }) => {
                    Content::Text(Content::Parts(parts).text())
                }
                _ => Content::Parts(parts),
            };
            Some(MessageBody::User { content, name })
        }
        MessageBody::Assistant {
            content,
            name,
            mut tool_calls,
        } => {
            for call in &mut tool_calls {
                if call.function.arguments.trim().is_empty() {
                    call.function.arguments = "{}".into();
                }
            }
            Some(MessageBody::Assistant {
                content,
                name,
                tool_calls,
            })
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
