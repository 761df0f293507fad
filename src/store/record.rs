//! What is kept of a thread, as plain data.

use std::sync::Arc;

use crate::protocol::{Message, MessageId, RunId, ThreadId};

/// What a thread is known by. Of another principal's thread nobody can tell that it is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Whose it is.
    pub principal: Arc<str>,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The client's id of it.
    pub thread: ThreadId,
}

/// What is kept of a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Thread {
    /// The core's own name for the conversation.
    pub session: Option<String>,
    /// The folder that the session works in.
    pub workdir: Option<String>,
    /// What it is called.
    pub title: Option<String>,
    /// When it began, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// When it was last written to.
    pub updated_ms: i64,
    /// What was said.
    pub transcript: Transcript,
    /// The run that was started last.
    pub last_run: Option<Run>,
}

/// What was said in a thread, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// The messages.
    pub lines: Vec<Line>,
    /// Whether something had to be left out, so that this is not the whole of it.
    pub is_partial: bool,
}

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The message, with the id that clients know.
    pub message: Message,
    /// The message that stood before it in the history that brought it; none for what an agent said.
    pub after: Option<MessageId>,
}

impl From<Message> for Line {
    fn from(message: Message) -> Self {
        Self {
            message,
            after: None,
        }
    }
}

/// A run of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The client's id of it.
    pub id: RunId,
    /// How it ended.
    pub outcome: Outcome,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Not yet; or, of a run that is not live, never: the daemon ended before it.
    Running,
    /// By itself.
    Success,
    /// It was stopped on purpose.
    Cancelled,
    /// It failed.
    Failed {
        /// The code that clients were told.
        code: String,
        /// The sentence that clients were told.
        message: String,
    },
}

/// What is written when a run begins.
#[derive(Debug, Clone)]
pub struct Begin {
    /// The run.
    pub run: RunId,
    /// The folder that the agent works in.
    pub workdir: Option<String>,
    /// What the thread is called if it has no title yet.
    pub title: Option<String>,
    /// How many lines of the transcript stay; what stands behind them is dropped. `None`: all.
    pub keep: Option<usize>,
    /// What the request adds to the transcript.
    pub lines: Vec<Line>,
}

/// What a list of threads shows of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The client's id of it.
    pub thread: ThreadId,
    /// What it is called.
    pub title: Option<String>,
    /// When it began, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// When it was last written to.
    pub updated_ms: i64,
    /// The run that was started last.
    pub last_run: Option<Run>,
}

/// A place in a list of threads, the one that was written to last standing first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// When the thread at that place was written to.
    pub updated_ms: i64,
    /// Tells those of the same time apart.
    pub id: i64,
}

/// A part of a list of threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The threads.
    pub threads: Vec<Summary>,
    /// Where the next part begins; none at the end.
    pub next: Option<Place>,
}
