//! The write side of one run: what may follow what.
//!
//! A writer cannot exist without `RUN_STARTED` and the snapshot after it; it closes what must be closed
//! before something else may open; [`Writer::finish`] takes it away and ends the run with exactly one
//! terminal event, everything closed before it. Dropped unfinished, on a panic say, it ends the run
//! with `RUN_ERROR`. The log is closed in every case, so the body of a response always ends cleanly.

mod call;
mod lane;
#[cfg(test)]
mod tests;

use std::{mem, sync::Arc};

use serde_json::{Value, json};

pub(super) use self::call::{ClosedCall, OpenCall};
use self::{
    call::{Progress, Unanswered},
    lane::{Lane, Open},
};

use super::{
    Namespace, bounds,
    ending::Ending,
    ends::{self, RunIds},
    frames::{Frames, Speaker},
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

/// What a run leaves to the one that goes on with its turn.
pub(super) struct Carried {
    recorder: Recorder,
    unanswered: Vec<Unanswered>,
}

/// The write side of one run.
pub(super) struct Writer {
    frames: Frames,
    namespace: Namespace,
    ids: RunIds,
    /// The agent's own, then those of the sub-agents that are active.
    lanes: Vec<Lane>,
    /// Who is speaking now.
    at: usize,
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
            lanes: vec![Lane::default()],
            at: 0,
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
            let id = match &self.lanes[self.at].open {
                Open::Text(id) => id.clone(),
                _ => self.open_text(JsonObject::new()),
            };
            let speaker = &self.lanes[self.at].speaker;
            self.frames
                .delta(speaker, delta, |delta| Body::TextMessageContent {
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
        let lane = &mut self.lanes[self.at];
        self.frames.event_of(&lane.speaker, body, metadata);
        lane.open = Open::Text(id.clone());
        id
    }

    /// Thinks more, in the reasoning message that is open or a new one.
    pub(super) fn reasoning(&mut self, text: &str) {
        for delta in bounds::pieces(text) {
            let id = match &self.lanes[self.at].open {
                Open::Reasoning(id) => id.clone(),
                _ => self.open_reasoning(),
            };
            let speaker = &self.lanes[self.at].speaker;
            self.frames
                .delta(speaker, delta, |delta| Body::ReasoningMessageContent {
                    message_id: id.clone(),
                    delta,
                });
        }
    }

    fn open_reasoning(&mut self) -> MessageId {
        self.close_message();
        let id = self.message_id();
        self.say(Body::ReasoningStart {
            message_id: id.clone(),
        });
        self.say(Body::ReasoningMessageStart {
            message_id: id.clone(),
            role: ReasoningRole::Reasoning,
        });
        self.lanes[self.at].open = Open::Reasoning(id.clone());
        id
    }

    /// Writes an event of whoever is speaking.
    fn say(&mut self, body: Body) {
        let speaker = &self.lanes[self.at].speaker;
        self.frames.event_of(speaker, body, JsonObject::new());
    }

    /// Closes the message that is open. Calls that follow a text belong to it.
    pub(super) fn close_message(&mut self) {
        match mem::take(&mut self.lanes[self.at].open) {
            Open::Nothing => {}
            Open::Text(message_id) => {
                self.lanes[self.at].parent = Some(message_id.clone());
                self.say(Body::TextMessageEnd { message_id });
            }
            Open::Reasoning(message_id) => {
                self.lanes[self.at].parent = None;
                self.say(Body::ReasoningMessageEnd {
                    message_id: message_id.clone(),
                });
                self.say(Body::ReasoningEnd { message_id });
            }
        }
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
        self.frames
            .again(&None, body, result.metadata.unwrap_or_default());
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

    /// Shows a change of a file that a call makes. Another one under the same id takes its place.
    pub(super) fn diff(&mut self, message_id: MessageId, speaker: &Speaker, content: JsonObject) {
        let body = Body::ActivitySnapshot {
            message_id,
            activity_type: self.namespace.name("diff"),
            content,
            replace: None,
        };
        self.frames.event_of(speaker, body, JsonObject::new());
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

    /// Says that a part of the state document is larger than what can be shown, and so is not.
    pub(super) fn too_large(&mut self, part: &str) {
        self.notice("notice", json!({"code": "state_too_large", "part": part}));
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
        self.close_messages();
        let mut unanswered = mem::take(&mut self.unanswered);
        for call in &mut unanswered {
            if let Progress::Open { bare } = mem::replace(&mut call.progress, Progress::Closed) {
                self.end_call(&call.id, &call.speaker, bare);
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

    /// Closes the messages that are open, then each call that has no answer: its arguments end, if they have not, and
    /// what the ending says stands in place of its result. Sub-agents end after that.
    pub(super) fn settle(&mut self, ending: &Ending) {
        self.close_messages();
        for call in mem::take(&mut self.unanswered) {
            if let Progress::Open { bare } = call.progress {
                self.end_call(&call.id, &call.speaker, bare);
            }
            // A call without an answer would block the client's history, or be run by the page.
            let content = Content::Text(ending.unanswered().into());
            self.answer(call.id, &call.speaker, content, true);
        }
        self.end_lanes(ending);
    }

    fn close_messages(&mut self) {
        for at in (0..self.lanes.len()).rev() {
            self.at = at;
            self.close_message();
        }
    }

    fn end(&mut self, ending: Ending) {
        self.settle(&ending);
        self.terminate(ending);
    }

    fn terminate(&mut self, ending: Ending) {
        self.end_lanes(&ending);
        let usage = mem::take(&mut self.usage);
        let body = ends::ended(&self.ids, ending, usage);
        self.frames.event(body);
        self.ended = true;
        self.frames.close();
    }

    /// A new id of the wire's.
    pub(super) fn id(&self, prefix: &str) -> String {
        self.frames.env().id(prefix)
    }

    /// A new id of a message.
    pub(super) fn message_id(&self) -> MessageId {
        MessageId::new(self.id("msg")).expect("our own ids are legal")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Ending::internal());
        }
    }
}
