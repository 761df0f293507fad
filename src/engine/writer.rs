//! The write side of one run: what may follow what.
//!
//! A writer cannot exist without `RUN_STARTED` and the snapshot after it; it closes what must be closed
//! before something else may open; [`Writer::finish`] takes it away and ends the run with exactly one
//! terminal event, everything closed before it. Dropped unfinished, on a panic say, it ends the run
//! with `RUN_ERROR`. The log is closed in every case, so the body of a response always ends cleanly.

#[cfg(test)]
mod tests;

use std::{mem, sync::Arc};

use serde_json::Value;

use super::{
    Namespace, bounds,
    ending::Ending,
    ends::{self, RunIds},
    frames::Frames,
    log::Log,
    recorder::Recorder,
    restate::Visit,
};

use crate::{
    env::Env,
    protocol::{
        Body, Content, JsonObject, Message, MessageBody, MessageId, Patch, Peer, ReasoningRole,
        TextRole, TokenUsage, ToolCallId, ToolRole,
    },
};

/// The open call that [`Writer::open_call`] returns. Closing takes it away.
#[derive(Debug)]
#[must_use = "an open call is to be closed"]
pub(super) struct OpenCall {
    id: ToolCallId,
    /// Whether it has no arguments yet.
    bare: bool,
}

/// A call whose arguments are complete. Answering takes it away.
#[derive(Debug)]
#[must_use = "a closed call is to be answered"]
pub(super) struct ClosedCall {
    id: ToolCallId,
}

impl OpenCall {
    /// What the call is called on the wire.
    pub(super) fn id(&self) -> &ToolCallId {
        &self.id
    }
}

impl ClosedCall {
    /// What the call is called on the wire.
    pub(super) fn id(&self) -> &ToolCallId {
        &self.id
    }
}

/// What the writer knows of a call that was not answered yet.
#[derive(Debug)]
struct Unanswered {
    id: ToolCallId,
    progress: Progress,
    /// Whether another run has opened it.
    is_earlier: bool,
}

/// What a run leaves to the one that goes on with its turn.
pub(super) struct Carried {
    recorder: Recorder,
    unanswered: Vec<Unanswered>,
}

/// How far a call without an answer is.
#[derive(Debug, Clone, Copy)]
enum Progress {
    Open { bare: bool },
    Closed,
}

/// The message that is open. At most one is.
#[derive(Debug)]
enum Open {
    Nothing,
    Text(MessageId),
    Reasoning(MessageId),
}

/// The write side of one run.
pub(super) struct Writer {
    frames: Frames,
    namespace: Namespace,
    ids: RunIds,
    open: Open,
    /// The message that calls belong to until something else is said or a call is answered.
    parent: Option<MessageId>,
    unanswered: Vec<Unanswered>,
    usage: Vec<TokenUsage>,
    ended: bool,
}

impl Writer {
    /// Begins the run: `RUN_STARTED`, then the state document.
    pub(super) fn begin(
        log: Arc<Log>,
        env: Env,
        namespace: Namespace,
        ids: RunIds,
        state: Value,
    ) -> Self {
        let nothing = Carried {
            recorder: Recorder::new(bounds::RECORD),
            unanswered: Vec::new(),
        };
        Self::go_on(log, env, namespace, ids, state, nothing)
    }

    /// The same for a run that goes on with a turn.
    pub(super) fn go_on(
        log: Arc<Log>,
        env: Env,
        namespace: Namespace,
        ids: RunIds,
        state: Value,
        carried: Carried,
    ) -> Self {
        let Carried {
            recorder,
            unanswered,
        } = carried;
        let mut writer = Self {
            frames: Frames::new(log, env, recorder),
            namespace,
            ids,
            open: Open::Nothing,
            parent: None,
            unanswered,
            usage: Vec::new(),
            ended: false,
        };
        let started = ends::started(&writer.ids);
        writer.frames.event(started);
        writer.frames.event(Body::StateSnapshot { snapshot: state });
        writer.flush();
        writer
    }

    /// Says more text, in the message that is open or a new one.
    pub(super) fn text(&mut self, text: &str) {
        for delta in bounds::pieces(text) {
            let id = match &self.open {
                Open::Text(id) => id.clone(),
                _ => self.open_text(JsonObject::new()),
            };
            self.frames.delta(delta, |delta| Body::TextMessageContent {
                message_id: id.clone(),
                delta,
            });
        }
    }

    fn open_text(&mut self, metadata: JsonObject) -> MessageId {
        self.close_message();
        let id = self.message_id();
        let body = Body::TextMessageStart {
            message_id: id.clone(),
            role: Some(TextRole::Assistant),
            name: None,
        };
        self.frames.event_with(body, metadata);
        self.open = Open::Text(id.clone());
        id
    }

    /// Thinks more, in the reasoning message that is open or a new one.
    pub(super) fn reasoning(&mut self, text: &str) {
        for delta in bounds::pieces(text) {
            let id = match &self.open {
                Open::Reasoning(id) => id.clone(),
                _ => self.open_reasoning(),
            };
            self.frames
                .delta(delta, |delta| Body::ReasoningMessageContent {
                    message_id: id.clone(),
                    delta,
                });
        }
    }

    fn open_reasoning(&mut self) -> MessageId {
        self.close_message();
        let id = self.message_id();
        self.frames.event(Body::ReasoningStart {
            message_id: id.clone(),
        });
        self.frames.event(Body::ReasoningMessageStart {
            message_id: id.clone(),
            role: ReasoningRole::Reasoning,
        });
        self.open = Open::Reasoning(id.clone());
        id
    }

    /// Closes the message that is open. Calls that follow a text belong to it.
    pub(super) fn close_message(&mut self) {
        match mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Text(message_id) => {
                self.parent = Some(message_id.clone());
                self.frames.event(Body::TextMessageEnd { message_id });
            }
            Open::Reasoning(message_id) => {
                self.parent = None;
                self.frames.event(Body::ReasoningMessageEnd {
                    message_id: message_id.clone(),
                });
                self.frames.event(Body::ReasoningEnd { message_id });
            }
        }
    }

    /// Opens a call. Calls that are open side by side, or follow one another unanswered, share one
    /// parent message: to a client they are the calls of one assistant message.
    pub(super) fn open_call(&mut self, name: &str) -> OpenCall {
        self.close_message();
        let parent = match &self.parent {
            Some(parent) => parent.clone(),
            None => self.message_id(),
        };
        self.parent = Some(parent.clone());
        let id = ToolCallId::new(self.frames.env().id("call")).expect("our own ids are legal");
        let name = if name.is_empty() { "tool" } else { name };
        self.frames.event(Body::ToolCallStart {
            tool_call_id: id.clone(),
            tool_call_name: bounds::clip(name, bounds::NAME).into(),
            parent_message_id: Some(parent),
        });
        let progress = Progress::Open { bare: true };
        self.unanswered.push(Unanswered {
            id: id.clone(),
            progress,
            is_earlier: false,
        });
        OpenCall { id, bare: true }
    }

    /// More of a call's arguments.
    pub(super) fn arguments(&mut self, call: &mut OpenCall, text: &str) {
        for delta in bounds::pieces(text) {
            self.frames.event(Body::ToolCallArgs {
                tool_call_id: call.id.clone(),
                delta: delta.into(),
            });
        }
        if call.bare && !text.trim().is_empty() {
            call.bare = false;
            self.note(&call.id, Progress::Open { bare: false });
        }
    }

    /// Completes a call's arguments; none at all are an empty object.
    pub(super) fn close_call(&mut self, call: OpenCall) -> ClosedCall {
        self.note(&call.id, Progress::Closed);
        self.end_call(&call.id, call.bare);
        ClosedCall { id: call.id }
    }

    fn note(&mut self, id: &ToolCallId, progress: Progress) {
        if let Some(known) = self.unanswered.iter_mut().find(|known| known.id == *id) {
            known.progress = progress;
        }
    }

    fn end_call(&mut self, id: &ToolCallId, bare: bool) {
        if bare {
            self.frames.event(Body::ToolCallArgs {
                tool_call_id: id.clone(),
                delta: "{}".into(),
            });
        }
        self.frames.event(Body::ToolCallEnd {
            tool_call_id: id.clone(),
        });
    }

    /// Answers a call.
    pub(super) fn result(&mut self, call: ClosedCall, content: Content, failed: bool) {
        self.close_message();
        self.unanswered.retain(|known| known.id != call.id);
        self.answer(call.id, content, failed);
    }

    /// Tells the client of a result that the transcript has and it has not.
    pub(super) fn missed(&mut self, result: Message) {
        let MessageBody::Tool {
            content,
            tool_call_id,
            ..
        } = result.body
        else {
            return;
        };
        let body = Body::ToolCallResult {
            message_id: result.id,
            tool_call_id,
            content: bounds::content(content).0,
            role: Some(ToolRole::Tool),
        };
        self.frames.again(body, result.metadata.unwrap_or_default());
    }

    /// Takes the answer of the page to a call. The page has it, so it is not told.
    pub(super) fn adopt(&mut self, call: &ClosedCall, result: Message) {
        self.unanswered.retain(|known| known.id != call.id);
        self.frames.recorder().adopt(&call.id, result);
        self.parent = None;
    }

    /// Leaves a call without an answer.
    pub(super) fn leave(&mut self, call: &ClosedCall) {
        self.unanswered.retain(|known| known.id != call.id);
        self.frames.recorder().leave(&call.id);
        self.parent = None;
    }

    /// Takes what a person says in the middle of the run.
    pub(super) fn said(&mut self, message: Message) {
        self.frames.recorder().said(message);
    }

    /// The calls of this run that have no answer, in order.
    pub(super) fn pending(&self) -> Vec<ToolCallId> {
        let own = self.unanswered.iter().filter(|call| !call.is_earlier);
        own.map(|call| call.id.clone()).collect()
    }

    fn answer(&mut self, tool_call_id: ToolCallId, content: Content, failed: bool) {
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
        self.frames.event_with(body, metadata);
        self.parent = None;
    }

    /// Publishes the whole state document, where a change cannot say what becomes of it.
    pub(super) fn state_snapshot(&mut self, snapshot: Value) {
        self.frames.event(Body::StateSnapshot { snapshot });
    }

    /// Publishes a change of the state document.
    pub(super) fn state_delta(&mut self, delta: Patch) {
        self.frames.event(Body::StateDelta { delta });
    }

    /// Says something that AG-UI has no event for, under the daemon's namespace.
    pub(super) fn notice(&mut self, name: &str, value: Value) {
        let body = ends::notice(&self.namespace, name, value);
        self.frames.event(body);
    }

    /// Counts tokens; they are told when the run finishes.
    pub(super) fn usage(&mut self, spent: &TokenUsage) {
        let spent = bounds::usage(spent);
        let same = |known: &&mut TokenUsage| {
            known.provider == spent.provider && known.model == spent.model
        };
        if let Some(known) = self.usage.iter_mut().find(same) {
            known.add(&spent);
        } else if self.usage.len() < bounds::USAGES {
            let mut first = TokenUsage {
                provider: spent.provider.clone(),
                model: spent.model.clone(),
                ..TokenUsage::default()
            };
            first.add(&spent);
            self.usage.push(first);
        }
    }

    /// Lets somebody in who was not there from the beginning. `past`: what was said in the thread before this run,
    /// if the whole of it is known.
    pub(super) fn visit(&mut self, snapshot: Value, past: Option<&[Message]>, peer: Peer) -> Visit {
        let cursor = self.frames.tail(peer);
        let messages = self.messages(past);
        Visit {
            ids: self.ids.clone(),
            snapshot,
            messages,
            open: self.frames.recorder().reopen(),
            cursor,
        }
    }

    /// What was said in the thread so far, if the whole of it is known; `past` is what was said before this run.
    pub(super) fn messages(&mut self, past: Option<&[Message]>) -> Option<Vec<Message>> {
        let recorder = self.frames.recorder();
        past.filter(|_| !recorder.is_partial())
            .map(|past| [past, recorder.messages().as_slice()].concat())
    }

    /// Hands what was written to the readers.
    pub(super) fn flush(&mut self) {
        self.frames.flush();
    }

    /// The messages that are complete and that were not taken before as they are, for the transcript.
    pub(super) fn take_done(&mut self) -> Vec<Message> {
        self.frames.recorder().take_done()
    }

    /// The messages that are not complete yet, as far as they go.
    pub(super) fn draft(&mut self) -> Vec<Message> {
        self.frames.recorder().draft()
    }

    /// Whether the run says more than is kept of it.
    pub(super) fn is_partial(&mut self) -> bool {
        self.frames.recorder().is_partial()
    }

    /// Settles what there is ([`Writer::settle`]), then says why the run failed, if it has and `explains` wants it,
    /// in a message of its own ([`ends::is_explanation`]). Nothing but [`Writer::finish`] is left to do, and the last
    /// messages are given: they can be stored before a client reads that the run has ended.
    pub(super) fn wind_up(&mut self, ending: &Ending, explains: bool) -> Vec<Message> {
        self.settle(ending);
        if let Some(why) = ending.explanation().filter(|_| explains) {
            let is_error = (self.namespace.name(ends::IS_ERROR), true.into());
            self.open_text([is_error].into_iter().collect());
            self.text(&why);
            self.close_message();
        }
        self.frames.recorder().end();
        self.take_done()
    }

    /// Ends the run: closes what is open, answers what is unanswered, writes the one terminal event.
    pub(super) fn finish(mut self, ending: Ending) {
        self.end(ending);
    }

    /// Closes what is open and leaves what is unanswered, so that only [`Writer::park`] is left to do, and gives the
    /// messages that are not in the transcript yet.
    pub(super) fn pause(&mut self) -> Vec<Message> {
        self.close_message();
        let mut unanswered = mem::take(&mut self.unanswered);
        for call in &mut unanswered {
            if let Progress::Open { bare } = mem::replace(&mut call.progress, Progress::Closed) {
                self.end_call(&call.id, bare);
            }
        }
        self.unanswered = unanswered;
        self.draft()
    }

    /// Ends the run, but not its turn: what is unanswered stays so.
    pub(super) fn park(mut self, ending: Ending) -> Carried {
        self.pause();
        self.terminate(ending);
        let earlier = |call| Unanswered {
            is_earlier: true,
            ..call
        };
        Carried {
            recorder: self.frames.take_recorder(),
            unanswered: mem::take(&mut self.unanswered)
                .into_iter()
                .map(earlier)
                .collect(),
        }
    }

    /// Closes the message that is open, then each call that has no answer: its arguments end, if they have not, and
    /// what the ending says stands in place of its result.
    pub(super) fn settle(&mut self, ending: &Ending) {
        self.close_message();
        for call in mem::take(&mut self.unanswered) {
            if let Progress::Open { bare } = call.progress {
                self.end_call(&call.id, bare);
            }
            // A call without an answer would block the client's history, or be run by the page.
            self.answer(call.id, Content::Text(ending.unanswered().into()), true);
        }
    }

    fn end(&mut self, ending: Ending) {
        self.settle(&ending);
        self.terminate(ending);
    }

    fn terminate(&mut self, ending: Ending) {
        let usage = mem::take(&mut self.usage);
        let body = ends::ended(&self.ids, ending, usage);
        self.frames.event(body);
        self.ended = true;
        self.frames.close();
    }

    fn message_id(&self) -> MessageId {
        MessageId::new(self.frames.env().id("msg")).expect("our own ids are legal")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Ending::internal());
        }
    }
}
