//! A run's events as the messages that a client makes of them (AG-UI 1.0, the reducer of the stock client): what
//! the transcript gets, and what somebody is shown who comes later.
//!
//! It folds what the writer says and nothing else: no chunks, no activities, no encrypted values. What sub-agents say
//! stands among the rest and says whose it is. A message
//! goes to the transcript once nothing can be put before it any more: results move up to the call that they
//! answer, so what is said behind a call waits for its result, and the transcript is in the order that
//! clients have.

#[cfg(test)]
mod tests;

use std::{collections::HashSet, mem, sync::Arc};

use super::frames::Speaker;
use crate::protocol::{
    Body, FunctionCall, FunctionType, JsonObject, Message, MessageBody, MessageId, ToolCall,
    ToolCallId,
};

/// What a message or a call costs beside its texts, in bytes.
const OVERHEAD: usize = 128;

/// The messages of one run.
#[derive(Debug)]
pub(super) struct Recorder {
    entries: Vec<Entry>,
    /// How many entries from the first on were handed out as done.
    done: usize,
    /// The sub-agents that are active, in order, each with the event that began it.
    active: Vec<(Speaker, Body)>,
    /// The sub-agents that say nothing more.
    gone: HashSet<Arc<str>>,
    /// The messages that are open, at most one of each speaker.
    messages: Vec<Opened>,
    /// The reasoning spans that are open, likewise.
    spans: Vec<(Speaker, Body)>,
    /// The calls that are open, in order.
    calls: Vec<(ToolCallId, Opened)>,
    has_ended: bool,
    /// How many bytes may still be kept.
    room: usize,
    is_partial: bool,
}

#[derive(Debug)]
struct Entry {
    message: Message,
    /// How many of its calls have no result.
    unanswered: usize,
    /// Whether it was handed out as it is.
    is_out: bool,
}

/// Something that is open.
#[derive(Debug)]
struct Opened {
    speaker: Speaker,
    /// The event that opened it.
    start: Body,
    /// The entry that it belongs to, unless there was no room for one.
    at: Option<usize>,
}

impl Recorder {
    /// A recorder that keeps at most so many bytes.
    pub(super) fn new(limit_bytes: usize) -> Self {
        Self {
            entries: Vec::new(),
            done: 0,
            active: Vec::new(),
            gone: HashSet::new(),
            messages: Vec::new(),
            spans: Vec::new(),
            calls: Vec::new(),
            has_ended: false,
            room: limit_bytes,
            is_partial: false,
        }
    }

    /// Takes an event; more of the open message comes in [`Recorder::delta`].
    pub(super) fn event(&mut self, speaker: &Speaker, body: &Body, metadata: Option<&JsonObject>) {
        match body {
            Body::SubagentStarted { .. } => self.active.push((speaker.clone(), body.clone())),
            Body::SubagentFinished { .. } | Body::SubagentError { .. } => {
                self.active.retain(|(active, _)| active != speaker);
                self.gone.extend(speaker.clone());
            }
            Body::TextMessageStart {
                message_id, name, ..
            } => {
                let message = MessageBody::Assistant {
                    content: Some(String::new()),
                    name: name.clone(),
                    tool_calls: Vec::new(),
                };
                self.open_message(speaker, body, message_id, message);
                self.mark_message(speaker, metadata);
            }
            Body::ReasoningStart { .. } => self.spans.push((speaker.clone(), body.clone())),
            Body::ReasoningMessageStart { message_id, .. } => {
                let content = String::new();
                self.open_message(
                    speaker,
                    body,
                    message_id,
                    MessageBody::Reasoning { content },
                );
                self.mark_message(speaker, metadata);
            }
            Body::TextMessageEnd { .. } | Body::ReasoningMessageEnd { .. } => {
                self.mark_message(speaker, metadata);
                self.messages.retain(|open| open.speaker != *speaker);
            }
            Body::ReasoningEnd { .. } => self.spans.retain(|(whose, _)| whose != speaker),
            Body::ToolCallStart {
                tool_call_id,
                tool_call_name,
                parent_message_id,
            } => {
                let parent = parent_message_id.as_ref();
                let at = self.caller(speaker, parent, tool_call_id, tool_call_name);
                let opened = Opened {
                    speaker: speaker.clone(),
                    start: body.clone(),
                    at,
                };
                self.calls.push((tool_call_id.clone(), opened));
                self.mark_call(tool_call_id, metadata);
            }
            Body::ToolCallArgs {
                tool_call_id,
                delta,
            } => {
                if self.has_room(delta.len())
                    && let Some(call) = self.open_call(tool_call_id)
                {
                    call.function.arguments.push_str(delta);
                }
                self.mark_call(tool_call_id, metadata);
            }
            Body::ToolCallEnd { tool_call_id } => {
                self.mark_call(tool_call_id, metadata);
                self.calls.retain(|(id, _)| id != tool_call_id);
            }
            Body::ToolCallResult {
                message_id,
                tool_call_id,
                content,
                ..
            } => {
                let result = MessageBody::Tool {
                    content: content.clone(),
                    tool_call_id: tool_call_id.clone(),
                    error: None,
                };
                let mut message = spoken(speaker, message_id, result);
                merge(&mut message.metadata, metadata);
                self.answer(tool_call_id, message);
            }
            _ => {}
        }
    }

    /// Takes more of the message that a speaker has open.
    pub(super) fn delta(&mut self, speaker: &Speaker, text: &str) {
        if !self.has_room(text.len()) {
            return;
        }
        if let Some(at) = self.message(speaker)
            && let MessageBody::Reasoning { content }
            | MessageBody::Assistant {
                content: Some(content),
                ..
            } = &mut self.entries[at].message.body
        {
            content.push_str(text);
        }
    }

    /// Puts the answer of a client behind its call.
    pub(super) fn adopt(&mut self, call: &ToolCallId, result: Message) {
        self.answer(call, result);
    }

    /// Notes that a call gets no answer: nothing waits for it any more.
    pub(super) fn leave(&mut self, call: &ToolCallId) {
        let owns = |entry: &Entry| calls(&entry.message).any(|known| known.id == *call);
        if let Some(owner) = self.entries.iter_mut().rfind(|entry| owns(entry)) {
            owner.unanswered = owner.unanswered.saturating_sub(1);
        }
    }

    /// Takes what a person says in the middle of the run.
    pub(super) fn said(&mut self, message: Message) {
        let size = serde_json::to_string(&message).map_or(0, |json| json.len());
        if self.has_room(size) {
            self.push(message);
        }
    }

    /// Takes the end of the run: all that there is is done.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// The messages that are complete and not yet handed out as they are, in order. One that changes later comes
    /// again.
    pub(super) fn take_done(&mut self) -> Vec<Message> {
        let mut taken = Vec::new();
        while self.done < self.entries.len() && self.is_settled(self.done) {
            let entry = &mut self.entries[self.done];
            if !mem::replace(&mut entry.is_out, true) {
                taken.push(entry.message.clone());
            }
            self.done += 1;
        }
        taken
    }

    /// The messages that were not handed out as done, in order, as far as they go.
    pub(super) fn draft(&self) -> Vec<Message> {
        let messages = self.entries[self.done..].iter();
        messages.map(|entry| entry.message.clone()).collect()
    }

    /// All messages of the run so far; one that is open as far as it goes.
    pub(super) fn messages(&self) -> Vec<Message> {
        let messages = self.entries.iter().map(|entry| &entry.message);
        messages.cloned().collect()
    }

    /// The events that open what is open, in a legal order, and whose they are. What follows in the run closes it.
    pub(super) fn reopen(&self) -> Vec<(Speaker, Body)> {
        let opened = |open: &Opened| (open.speaker.clone(), open.start.clone());
        let calls = self.calls.iter().map(|(_, call)| opened(call));
        let messages = self.messages.iter().map(opened);
        let begun = self.active.iter().cloned().chain(calls);
        begun
            .chain(self.spans.iter().cloned())
            .chain(messages)
            .collect()
    }

    /// Whether nothing is open.
    pub(super) fn is_quiet(&self) -> bool {
        let is_open = self.messages.is_empty() && self.spans.is_empty() && self.calls.is_empty();
        is_open && self.active.is_empty()
    }

    /// Whether there was more than it may keep.
    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Whether the message is as it stays, and nothing can come to stand before the next one.
    fn is_settled(&self, at: usize) -> bool {
        let is_open = self.messages.iter().any(|open| open.at == Some(at));
        self.has_ended || (!is_open && self.entries[at].unanswered == 0 && !self.may_get_calls(at))
    }

    /// The last message of a speaker's may.
    fn may_get_calls(&self, at: usize) -> bool {
        let (entry, later) = (&self.entries[at].message, &self.entries[at + 1..]);
        let speaker = entry.subagent_run_id.as_deref();
        let is_gone = speaker.is_some_and(|speaker| self.gone.contains(speaker));
        let has_gone_on = || {
            later
                .iter()
                .any(|later| later.message.subagent_run_id.as_deref() == speaker)
        };
        !is_gone && !has_gone_on()
    }

    /// Where the message stands that a speaker has open.
    fn message(&self, speaker: &Speaker) -> Option<usize> {
        let open = self.messages.iter().find(|open| open.speaker == *speaker)?;
        open.at
    }

    /// Takes room for so many bytes. Once there is none, nothing more is kept: a part that is missing in the
    /// middle would be worse.
    fn has_room(&mut self, bytes: usize) -> bool {
        match self.room.checked_sub(bytes) {
            Some(left) if !self.is_partial => self.room = left,
            _ => self.is_partial = true,
        }
        !self.is_partial
    }

    fn push(&mut self, message: Message) -> usize {
        self.entries.push(Entry {
            message,
            unanswered: 0,
            is_out: false,
        });
        self.entries.len() - 1
    }

    fn open_message(&mut self, speaker: &Speaker, start: &Body, id: &MessageId, body: MessageBody) {
        let at = self
            .has_room(OVERHEAD + id.as_str().len())
            .then(|| self.push(spoken(speaker, id, body)));
        self.messages.push(Opened {
            speaker: speaker.clone(),
            start: start.clone(),
            at,
        });
    }

    /// Adds a call to the message that it belongs to, which may be a new one.
    fn caller(
        &mut self,
        speaker: &Speaker,
        parent: Option<&MessageId>,
        id: &ToolCallId,
        name: &str,
    ) -> Option<usize> {
        if !self.has_room(OVERHEAD + id.as_str().len() + name.len()) {
            return None;
        }
        let own = || MessageId::new(id.as_str()).expect("the two kinds of id have one form");
        let parent = parent.cloned().unwrap_or_else(own);
        let known = self.entries.iter().rposition(|entry| {
            entry.message.id == parent
                && matches!(entry.message.body, MessageBody::Assistant { .. })
        });
        let at = known.unwrap_or_else(|| {
            let body = MessageBody::Assistant {
                content: None,
                name: None,
                tool_calls: Vec::new(),
            };
            self.push(spoken(speaker, &parent, body))
        });
        self.change(at);
        let entry = &mut self.entries[at];
        entry.unanswered += 1;
        if let MessageBody::Assistant { tool_calls, .. } = &mut entry.message.body {
            tool_calls.push(ToolCall {
                id: id.clone(),
                kind: FunctionType::Function,
                function: FunctionCall {
                    name: name.to_owned(),
                    arguments: String::new(),
                },
                encrypted_value: None,
                metadata: None,
            });
        }
        Some(at)
    }

    /// Puts a result behind the message of its call and the results that are there already.
    fn answer(&mut self, call: &ToolCallId, result: Message) {
        let MessageBody::Tool { content, .. } = &result.body else {
            return;
        };
        let size = serde_json::to_string(content).map_or(0, |json| json.len());
        if !self.has_room(OVERHEAD + result.id.as_str().len() + size) {
            return;
        }
        let owns = |entry: &Entry| calls(&entry.message).any(|known| known.id == *call);
        let Some(owner) = self.entries.iter().rposition(owns) else {
            self.push(result);
            return;
        };
        self.change(owner);
        let owner_entry = &mut self.entries[owner];
        owner_entry.unanswered = owner_entry.unanswered.saturating_sub(1);
        let is_result = |entry: &&Entry| matches!(entry.message.body, MessageBody::Tool { .. });
        let behind = self.entries[owner + 1..].iter().take_while(is_result);
        let place = owner + 1 + behind.count();
        let entry = Entry {
            message: result,
            unanswered: 0,
            is_out: false,
        };
        self.entries.insert(place, entry);
        let open = self.calls.iter_mut().map(|(_, call)| call);
        for opened in open.chain(&mut self.messages) {
            opened.at = opened.at.map(|at| at + usize::from(at >= place));
        }
    }

    /// Notes that an entry is no longer as it was handed out.
    fn change(&mut self, at: usize) {
        self.entries[at].is_out = false;
        self.done = self.done.min(at);
    }

    fn open_call(&mut self, id: &ToolCallId) -> Option<&mut ToolCall> {
        let (_, opened) = self.calls.iter().find(|(open, _)| open == id)?;
        match &mut self.entries[opened.at?].message.body {
            MessageBody::Assistant { tool_calls, .. } => {
                tool_calls.iter_mut().find(|call| call.id == *id)
            }
            _ => None,
        }
    }

    fn mark_message(&mut self, speaker: &Speaker, metadata: Option<&JsonObject>) {
        if let Some(at) = self.message(speaker) {
            merge(&mut self.entries[at].message.metadata, metadata);
        }
    }

    fn mark_call(&mut self, id: &ToolCallId, metadata: Option<&JsonObject>) {
        if metadata.is_some()
            && let Some(call) = self.open_call(id)
        {
            merge(&mut call.metadata, metadata);
        }
    }
}

fn spoken(speaker: &Speaker, id: &MessageId, body: MessageBody) -> Message {
    Message {
        subagent_run_id: speaker.as_deref().map(Into::into),
        ..Message::new(id.clone(), body)
    }
}

fn calls(message: &Message) -> impl Iterator<Item = &ToolCall> {
    match &message.body {
        MessageBody::Assistant { tool_calls, .. } => tool_calls.iter(),
        _ => [].iter(),
    }
}

/// Adds metadata, key by key; the last one stays.
fn merge(known: &mut Option<JsonObject>, more: Option<&JsonObject>) {
    if let Some(more) = more {
        let known = known.get_or_insert_default();
        known.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}
