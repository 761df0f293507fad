//! Calls on the wire: opened, closed, answered, each once.

use super::{
    Body, Content, JsonObject, Message, Speaker, ToolCallId, ToolRole, Writer, bounds, ends, mem,
};

/// The open call that [`Writer::open_call`] returns. Closing takes it away.
#[derive(Debug)]
#[must_use = "an open call is to be closed"]
pub(in crate::engine) struct OpenCall {
    id: ToolCallId,
    speaker: Speaker,
    /// Whether it has no arguments yet.
    bare: bool,
}

/// A call whose arguments are complete. Answering takes it away.
#[derive(Debug)]
#[must_use = "a closed call is to be answered"]
pub(in crate::engine) struct ClosedCall {
    id: ToolCallId,
    speaker: Speaker,
}

impl OpenCall {
    /// What the call is called on the wire.
    pub(in crate::engine) fn id(&self) -> &ToolCallId {
        &self.id
    }

    /// Whose it is.
    pub(in crate::engine) fn speaker(&self) -> &Speaker {
        &self.speaker
    }
}

impl ClosedCall {
    /// What the call is called on the wire.
    pub(in crate::engine) fn id(&self) -> &ToolCallId {
        &self.id
    }

    /// Whose it is.
    pub(in crate::engine) fn speaker(&self) -> &Speaker {
        &self.speaker
    }
}

/// What the writer knows of a call that was not answered yet.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) id: ToolCallId,
    pub(super) speaker: Speaker,
    pub(super) progress: Progress,
    /// Whether another run has opened it.
    pub(super) is_earlier: bool,
}

/// How far a call without an answer is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Progress {
    Open { bare: bool },
    Closed,
}

impl Writer {
    /// Opens a call. Calls that are open side by side, or follow one another unanswered, share one
    /// parent message: to a client they are the calls of one assistant message.
    pub(in crate::engine) fn open_call(&mut self, name: &str) -> OpenCall {
        self.close_message();
        let parent = match &self.lanes[self.at].parent {
            Some(parent) => parent.clone(),
            None => self.message_id(),
        };
        let speaker = self.lanes[self.at].speaker.clone();
        self.lanes[self.at].parent = Some(parent.clone());
        let id = ToolCallId::new(self.id("call")).expect("our own ids are legal");
        let name = if name.is_empty() { "tool" } else { name };
        self.say(Body::ToolCallStart {
            tool_call_id: id.clone(),
            tool_call_name: bounds::clip(name, bounds::NAME).into(),
            parent_message_id: Some(parent),
        });
        let progress = Progress::Open { bare: true };
        self.unanswered.push(Unanswered {
            id: id.clone(),
            speaker: speaker.clone(),
            progress,
            is_earlier: false,
        });
        OpenCall {
            id,
            speaker,
            bare: true,
        }
    }

    /// More of a call's arguments.
    pub(in crate::engine) fn arguments(&mut self, call: &mut OpenCall, text: &str) {
        for delta in bounds::pieces(text) {
            let body = Body::ToolCallArgs {
                tool_call_id: call.id.clone(),
                delta: delta.into(),
            };
            self.frames.event_of(&call.speaker, body, JsonObject::new());
        }
        if call.bare && !text.trim().is_empty() {
            call.bare = false;
            self.note(&call.id, Progress::Open { bare: false });
        }
    }

    /// Completes a call's arguments; none at all are an empty object.
    pub(in crate::engine) fn close_call(&mut self, call: OpenCall) -> ClosedCall {
        self.note(&call.id, Progress::Closed);
        self.end_call(&call.id, &call.speaker, call.bare);
        ClosedCall {
            id: call.id,
            speaker: call.speaker,
        }
    }

    fn note(&mut self, id: &ToolCallId, progress: Progress) {
        if let Some(known) = self.unanswered.iter_mut().find(|known| known.id == *id) {
            known.progress = progress;
        }
    }

    pub(super) fn end_call(&mut self, id: &ToolCallId, speaker: &Speaker, bare: bool) {
        let mut say = |body| self.frames.event_of(speaker, body, JsonObject::new());
        if bare {
            say(Body::ToolCallArgs {
                tool_call_id: id.clone(),
                delta: "{}".into(),
            });
        }
        say(Body::ToolCallEnd {
            tool_call_id: id.clone(),
        });
    }

    /// Answers a call.
    pub(in crate::engine) fn result(&mut self, call: ClosedCall, content: Content, failed: bool) {
        if let Some(at) = self.lane_of(&call.speaker) {
            let now = mem::replace(&mut self.at, at);
            self.close_message();
            self.at = now;
        }
        self.unanswered.retain(|known| known.id != call.id);
        self.answer(call.id, &call.speaker, content, failed);
    }

    /// Takes the answer of the page to a call. The page has it, so it is not told.
    pub(in crate::engine) fn adopt(&mut self, call: &ClosedCall, result: Message) {
        self.unanswered.retain(|known| known.id != call.id);
        self.frames.recorder().adopt(&call.id, result);
        self.part(&call.speaker);
    }

    /// Leaves a call without an answer.
    pub(in crate::engine) fn leave(&mut self, call: &ClosedCall) {
        self.unanswered.retain(|known| known.id != call.id);
        self.frames.recorder().leave(&call.id);
        self.part(&call.speaker);
    }

    /// What a speaker calls next belongs to another message.
    pub(super) fn part(&mut self, speaker: &Speaker) {
        if let Some(at) = self.lane_of(speaker) {
            self.lanes[at].parent = None;
        }
    }

    pub(super) fn answer(
        &mut self,
        tool_call_id: ToolCallId,
        speaker: &Speaker,
        content: Content,
        failed: bool,
    ) {
        let (content, cut) = bounds::content(content);
        let mut metadata = JsonObject::new();
        if failed {
            metadata.insert(self.namespace.name(ends::IS_ERROR), true.into());
        }
        if cut {
            metadata.insert(self.namespace.name("truncated"), true.into());
        }
        let body = Body::ToolCallResult {
            message_id: self.message_id(),
            tool_call_id,
            content,
            role: Some(ToolRole::Tool),
        };
        self.frames.event_of(speaker, body, metadata);
        self.part(speaker);
    }
}
