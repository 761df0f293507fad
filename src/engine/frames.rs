//! From events to entries of a run's log: the only place that makes frames.
//!
//! Frames gather in a buffer and go to the log with [`Frames::flush`], so that whatever was ready is one
//! entry. A batch that grows large is handed over before it is complete: an entry is the least that a log
//! keeps and a reader gets.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tracing::warn;

use super::{
    log::{Cursor, Entry, Form, Log},
    recorder::Recorder,
};
use crate::{
    deps::Code,
    env::Env,
    protocol::{
        Body, Event, JsonObject, Peer,
        downgrade::{self, Legacy},
        sse::{self, DeltaFrames},
    },
};

/// What a buffer holds before it has to grow, in bytes.
const SMALL: usize = 1024;
/// What a buffer holds once batches are large; several entries share one then.
const BLOCK: usize = 32 * 1024;
/// How large an entry may grow before it is handed over, in bytes.
const LARGE: usize = 64 * 1024;
/// How many entries may gather before they are handed over.
const MANY: usize = 64;

/// Who says something: the agent itself, or a sub-agent, by the id of its invocation.
pub(super) type Speaker = Option<Arc<str>>;

/// The frames of one run.
pub(super) struct Frames {
    log: Arc<Log>,
    env: Env,
    buffer: BytesMut,
    entries: Vec<Entry>,
    /// The time that events of this batch carry.
    now: Option<i64>,
    /// What stands around further deltas of the open message, as long as the batch lasts.
    deltas: Option<DeltaFrames>,
    /// What older clients were found to lose; each is told once a run.
    lost: Vec<&'static str>,
    recorder: Recorder,
    #[cfg(debug_assertions)]
    grammar: crate::protocol::grammar::Grammar,
}

impl Frames {
    /// `recorder`: what the turn has said in earlier runs.
    pub(super) fn new(log: Arc<Log>, env: Env, recorder: Recorder) -> Self {
        Self {
            log,
            env,
            buffer: BytesMut::with_capacity(SMALL),
            entries: Vec::new(),
            now: None,
            deltas: None,
            lost: Vec::new(),
            recorder,
            #[cfg(debug_assertions)]
            grammar: crate::protocol::grammar::Grammar::default(),
        }
    }

    pub(super) fn env(&self) -> &Env {
        &self.env
    }

    /// What was written, as messages.
    pub(super) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    /// Takes out what was written, for the run that goes on with it.
    pub(super) fn take_recorder(&mut self) -> Recorder {
        std::mem::replace(&mut self.recorder, Recorder::new(0))
    }

    /// Writes an event of the run's own.
    pub(super) fn event(&mut self, body: Body) {
        self.event_of(&None, body, JsonObject::new());
    }

    /// Writes an event of a speaker's, with metadata, if there is any.
    pub(super) fn event_of(&mut self, speaker: &Speaker, body: Body, metadata: JsonObject) {
        let known = (!metadata.is_empty()).then_some(&metadata);
        self.recorder.event(speaker, &body, known);
        self.again(speaker, body, metadata);
    }

    /// Writes an event, with metadata if there is any, of what is recorded already.
    pub(super) fn again(&mut self, speaker: &Speaker, body: Body, metadata: JsonObject) {
        let mut event = self.stamped(body);
        event.subagent_run_id = speaker.as_deref().map(Into::into);
        event.metadata = (!metadata.is_empty()).then_some(metadata);
        self.deltas = None;
        self.follow(&event);
        let legacy = match downgrade::legacy(&event) {
            Legacy::Same => {
                sse::encode(&event, &mut self.buffer);
                return self.relieve();
            }
            Legacy::Omitted => Form::Omitted,
            Legacy::Instead(other) => {
                let mut frame = BytesMut::new();
                sse::encode(&other, &mut frame);
                Form::Instead(frame.freeze())
            }
        };
        if let Some(what) = self.news_of_loss(&event) {
            warn!(
                what,
                "a client from before AG-UI 1.0 cannot read this and gets something else or nothing"
            );
        }
        self.cut(Form::Same);
        sse::encode(&event, &mut self.buffer);
        self.cut(legacy);
        self.relieve();
    }

    /// Writes more of the message that a speaker has open. `content` makes the event of a delta; as long as nothing
    /// else is written it makes the same event but for the delta, and every client can read what is the agent's own.
    pub(super) fn delta(
        &mut self,
        speaker: &Speaker,
        delta: &str,
        content: impl Fn(String) -> Body,
    ) {
        self.recorder.delta(speaker, delta);
        if speaker.is_some() {
            return self.again(speaker, content(delta.to_owned()), JsonObject::new());
        }
        if cfg!(debug_assertions) {
            let event = self.stamped(content(delta.to_owned()));
            self.follow(&event);
        }
        let pattern = match self.deltas.take() {
            Some(pattern) => pattern,
            None => DeltaFrames::of(&self.stamped(content(String::new())))
                .expect("the content of a message has a delta"),
        };
        pattern.encode(delta, &mut self.buffer);
        self.deltas = Some(pattern);
        self.relieve();
    }

    /// Hands what was written to the readers.
    pub(super) fn flush(&mut self) {
        self.cut(Form::Same);
        if let Some(last) = self.entries.last_mut() {
            last.is_quiet = self.recorder.is_quiet();
            self.log.append(self.entries.drain(..));
        }
        self.now = None;
        self.deltas = None;
    }

    /// A reader of what is written from now on.
    pub(super) fn tail(&mut self, peer: Peer) -> Cursor {
        self.flush();
        self.log.tail(peer)
    }

    /// Hands over the last frames and ends the log.
    pub(super) fn close(&mut self) {
        self.flush();
        self.log.close();
    }

    fn stamped(&mut self, body: Body) -> Event {
        Event::at(*self.now.get_or_insert_with(|| self.env.now_ms()), body)
    }

    /// What an older client loses of this event, unless it lost the like before or there is none.
    fn news_of_loss(&mut self, event: &Event) -> Option<&'static str> {
        let what = downgrade::lost(event)?;
        if self.lost.contains(&what) || !self.log.has_older_readers() {
            return None;
        }
        self.lost.push(what);
        Some(what)
    }

    /// Debug builds put every run through the grammar.
    #[cfg_attr(
        not(debug_assertions),
        expect(
            clippy::unused_self,
            clippy::needless_pass_by_ref_mut,
            reason = "in debug builds only"
        )
    )]
    fn follow(&mut self, event: &Event) {
        #[cfg(debug_assertions)]
        if let Err(violation) = self.grammar.step(event) {
            tracing::error!(%violation, "an illegal event was written");
        }
        #[cfg(not(debug_assertions))]
        let _ = event;
    }

    /// Hands over what has become large.
    fn relieve(&mut self) {
        if self.buffer.len() >= LARGE || self.entries.len() >= MANY {
            self.flush();
        }
    }

    /// Makes what is in the buffer an entry.
    fn cut(&mut self, legacy: Form) {
        if !self.buffer.is_empty() {
            let current = self.buffer.split().freeze();
            // What is left of the block would not do for another batch of this size.
            if current.len() >= SMALL && self.buffer.capacity() < current.len() {
                self.buffer.reserve(BLOCK);
            }
            self.entries.push(Entry {
                current,
                legacy,
                is_quiet: false,
            });
        }
    }
}

/// The one frame for a reader that fell out of the log's window. Its stream ends with it.
pub(super) fn too_slow(env: &Env) -> Bytes {
    let body = Body::RunError {
        message: "the client read too slowly and missed events".into(),
        code: Some(Code::ReaderTooSlow.as_str().into()),
        usage: Vec::new(),
    };
    let mut frame = BytesMut::new();
    sse::encode(&Event::at(env.now_ms(), body), &mut frame);
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::log::Budget,
        protocol::{Outcome, RunId, ThreadId},
    };

    #[test]
    fn what_an_older_client_loses_is_news_once_and_only_if_there_is_one() {
        let cancelled = Body::RunFinished {
            thread_id: ThreadId::new("t").unwrap(),
            run_id: RunId::new("r").unwrap(),
            result: None,
            outcome: Some(Outcome::Cancelled),
            usage: Vec::new(),
        };
        let cancelled = Event::at(0, cancelled);
        let log = Log::new("log".into(), 1 << 10, Budget::new(1 << 10));
        let mut frames = Frames::new(Arc::clone(&log), Env::fixed(0), Recorder::new(1024));
        log.cursor(Peer::Current);
        assert_eq!(frames.news_of_loss(&cancelled), None);
        log.cursor(Peer::Legacy);
        assert!(frames.news_of_loss(&cancelled).is_some());
        assert_eq!(frames.news_of_loss(&cancelled), None);
    }
}
