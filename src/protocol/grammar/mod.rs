//! The legal order of events (AG-UI 1.0, event patterns; the stricter of specification and stock client).
//!
//! Beyond both, the daemon keeps rules of its own, and a breach of one is a breach like any other:
//! one run a stream; the state document right after `RUN_STARTED`; everything closed before a
//! `RUN_ERROR` too; nothing after a terminal event, not even a late `RUN_ERROR`; no chunks and no empty
//! deltas; no id used again once it is closed; one owner's reasoning closed before its text or tools
//! begin, and its text before its tools.
//!
//! Meant for tests and debug builds: it remembers every id of a stream.

mod calls;
mod ending;
mod envelope;
mod items;
mod owners;
#[cfg(test)]
mod tests;
mod transcript;

pub use transcript::{check_legacy_stream, check_stream, check_viewer_stream};

use super::{
    Body, Event, PROTOCOL_VERSION, RunId, ThreadId,
    downgrade::{Legacy, legacy},
};
use calls::Calls;
use items::{Items, Kind};
use owners::Owners;

/// A breach of the grammar, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

type Check = Result<(), Violation>;

fn breach(rule: impl Into<String>) -> Check {
    Err(Violation(rule.into()))
}

/// Whether a continuation may carry this tag: the opener's or none.
fn agrees(tag: Option<&str>, owner: Option<&str>) -> bool {
    tag.is_none() || tag == owner
}

/// Follows one stream. After a violation it follows no further.
#[derive(Debug, Default)]
pub struct Grammar {
    older: bool,
    phase: Phase,
    owners: Owners,
    items: Items,
    calls: Calls,
    reopening: Reopening,
}

/// Whether what a history holds may be opened again: it may where a viewer comes into a run, which is where the
/// history stands right behind the state document, and only before anything else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reopening {
    #[default]
    Ahead,
    Now,
    Over,
}

impl Reopening {
    fn then(self, body: &Body) -> Self {
        match (self, body) {
            (Self::Ahead, Body::MessagesSnapshot { .. })
            | (
                Self::Now,
                Body::SubagentStarted { .. }
                | Body::ToolCallStart { .. }
                | Body::TextMessageStart { .. }
                | Body::ReasoningStart { .. }
                | Body::ReasoningMessageStart { .. },
            ) => Self::Now,
            _ => Self::Over,
        }
    }
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Nothing,
    /// `RUN_STARTED` was, its state document is next.
    Started(ThreadId, RunId),
    Running(ThreadId, RunId),
    Ended,
}

impl Grammar {
    /// Follows a stream as a client from before 1.0 gets it: nothing in it may be new in 1.0.
    pub fn legacy() -> Self {
        Self {
            older: true,
            ..Self::default()
        }
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// The event is not allowed here.
    pub fn step(&mut self, event: &Event) -> Result<(), Violation> {
        if self.older && legacy(event) != Legacy::Same {
            return breach("a client from before 1.0 cannot read this event");
        }
        envelope::check(event)?;
        match (&self.phase, &event.body) {
            (Phase::Nothing, Body::RunError { .. }) => self.phase = Phase::Ended,
            (
                Phase::Nothing,
                Body::RunStarted {
                    thread_id,
                    run_id,
                    protocol_version,
                    ..
                },
            ) => {
                if protocol_version.as_deref() != Some(PROTOCOL_VERSION) {
                    return breach("RUN_STARTED declares the version that is spoken");
                }
                self.phase = Phase::Started(thread_id.clone(), run_id.clone());
            }
            (Phase::Nothing, _) => return breach("a stream begins with RUN_STARTED or RUN_ERROR"),
            (Phase::Started(thread_id, run_id), Body::StateSnapshot { .. }) => {
                self.phase = Phase::Running(thread_id.clone(), run_id.clone());
            }
            (Phase::Started(..), _) => return breach("STATE_SNAPSHOT follows RUN_STARTED at once"),
            (Phase::Running(..), _) => return self.running(event),
            (Phase::Ended, _) => return breach("nothing follows a terminal event"),
        }
        Ok(())
    }

    /// Takes the end of the body.
    ///
    /// # Errors
    /// The stream may not end here.
    pub fn finish(&self) -> Result<(), Violation> {
        match self.phase {
            Phase::Ended => Ok(()),
            _ => breach("a stream ends with a terminal event"),
        }
    }

    /// Whether a reader may come back to this place: it knows the run, and no item is open.
    fn is_place(&self) -> bool {
        let is_quiet = self.items.all_closed().is_ok() && self.calls.all_closed().is_ok();
        matches!(self.phase, Phase::Running(..) | Phase::Ended) && is_quiet
    }

    fn running(&mut self, event: &Event) -> Check {
        let tag = event.subagent_run_id.as_deref();
        self.owners.step(event)?;
        self.reopening = self.reopening.then(&event.body);
        if self.reopening == Reopening::Over {
            self.items.seal();
            self.calls.seal();
        }
        match &event.body {
            Body::RunStarted { .. } => breach("a stream holds one run"),
            Body::RunFinished { .. } | Body::RunError { .. } => self.end(event),
            Body::TextMessageChunk { .. }
            | Body::ToolCallChunk { .. }
            | Body::ReasoningMessageChunk { .. } => breach("chunks are not used"),
            Body::StateSnapshot { .. }
            | Body::StateDelta { .. }
            | Body::Raw { .. }
            | Body::Custom { .. }
            | Body::StepStarted { .. }
            | Body::StepFinished { .. }
            | Body::SubagentStarted { .. }
            | Body::SubagentFinished { .. }
            | Body::SubagentError { .. } => Ok(()),
            Body::ToolCallStart {
                tool_call_id,
                parent_message_id,
                ..
            } => {
                self.items
                    .none_open(tag, &[Kind::Text, Kind::Reasoning, Kind::Span])?;
                if let Some(parent) = parent_message_id {
                    self.items.parent(parent, tag)?;
                }
                self.calls.start(tool_call_id, tag)
            }
            Body::ToolCallArgs { tool_call_id, .. } => self.calls.more(tool_call_id, tag),
            Body::ToolCallEnd { tool_call_id } => self.calls.close(tool_call_id, tag),
            Body::ToolCallResult {
                message_id,
                tool_call_id,
                ..
            } => {
                self.calls.answer(tool_call_id)?;
                self.items.whole(message_id, Kind::Result, tag)
            }
            Body::MessagesSnapshot { messages } => {
                self.items.restate(messages)?;
                self.calls.restate(messages)
            }
            Body::ReasoningEncryptedValue { entity_id, .. } => {
                if self.items.disagree(entity_id, tag) || self.calls.disagree(entity_id, tag) {
                    return breach(format!("`{entity_id}` belongs to another owner"));
                }
                Ok(())
            }
            _ => self.items.step(event),
        }
    }

    /// Everything that was opened is closed, and the two ends of the run agree.
    fn end(&mut self, event: &Event) -> Check {
        self.items.all_closed()?;
        self.calls.all_closed()?;
        self.owners.all_closed()?;
        if let Body::RunFinished {
            thread_id,
            run_id,
            result,
            outcome,
            ..
        } = &event.body
        {
            let same = matches!(&self.phase, Phase::Running(thread, run)
                if thread == thread_id && run == run_id);
            if !same {
                return breach("RUN_FINISHED carries the ids of RUN_STARTED");
            }
            let pending = (!self.older).then_some(&self.calls);
            ending::check(outcome.as_ref(), result.is_some(), pending)?;
        }
        self.phase = Phase::Ended;
        Ok(())
    }
}
