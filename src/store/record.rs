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

impl Thread {
    /// What a person said, the last of it first.
    pub fn prompts(&self) -> impl Iterator<Item = &MessageId> {
        let messages = self.transcript.lines.iter().map(|line| &line.message);
        let said = messages.rev().filter(|message| message.is_users());
        said.map(|message| &message.id)
    }
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Not yet; or, of a run that is not live, never: the daemon ended before it.
    Running,
    /// By itself.
    Success {
        /// Why, in ACP's words; none if the agent was done.
        stop_reason: Option<String>,
    },
    /// It stopped to ask a person; a later run brings the answer.
    Interrupted,
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

impl Outcome {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Success { .. } => "success",
            Self::Interrupted => "interrupt",
            Self::Cancelled => "cancelled",
            Self::Failed { .. } => "failed",
        }
    }

    /// The word for it of a run that is not live: one that has no end was lost with the daemon that ran it.
    pub fn at_rest(&self) -> &'static str {
        match self {
            Self::Running => "lost",
            ended => ended.as_str(),
        }
    }
}

/// Something that a run asked for, of the page or of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What an answer names it by.
    pub id: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of something that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Nothing yet; or, of a turn that is not live, nothing ever: the daemon ended before it.
    Open,
    /// It was answered.
    Answered {
        /// The run that brought the answer.
        run: RunId,
        /// The digest of the answer, by which the same one is known again.
        digest: String,
    },
    /// Its time was over, or it was called off; nobody answered.
    Closed {
        /// The run that noted it.
        run: RunId,
    },
}

/// What is written when a run begins. `L` is how its lines are written.
#[derive(Debug, Clone)]
pub struct Begin<L = Line> {
    /// The run.
    pub run: RunId,
    /// The folder that the agent works in.
    pub workdir: Option<String>,
    /// What the thread is called if it has no title yet.
    pub title: Option<String>,
    /// What is taken back of the transcript.
    pub cut: Option<Cut>,
    /// What the request adds to the transcript.
    pub lines: Vec<L>,
}

/// A conversation that is cut back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The message behind which all goes; `None`: the whole transcript goes.
    pub behind: Option<MessageId>,
    /// What becomes of the session.
    pub session: Remembers,
}

/// Whether a session remembers what is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembers {
    /// It never heard it, and stays bound.
    Nothing,
    /// It would go on from what was taken back, so it is no longer bound.
    TooMuch,
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
