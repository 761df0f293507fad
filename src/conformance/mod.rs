//! A kit that tries whether a [`Deps`] keeps the promises that [`deps`](crate::deps) asks for.
//!
//! An author runs it from a test, with prompts that their agent understands:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use agui_serve::{Deps, conformance};
//! # async fn test(deps: Arc<dyn Deps>) {
//! let prompts = conformance::Options::new("Say hello.", "Count from 1 to 10000, in words.");
//! let report = conformance::check(deps, &prompts).await;
//! assert!(report.failures.is_empty(), "{report}");
//! # }
//! ```
//!
//! The turns run in a real [`Runtime`](crate::engine::Runtime), without a socket and in real time. What the core says is
//! watched on its way in, and every stream on its way out goes through the grammar of AG-UI, once as a client of
//! 1.0 reads it and once as an older one does. A turn that is over must have let go of its
//! [`TurnIo`](crate::deps::TurnIo): a clone that outlives it is in the hands of something that was left
//! behind. Processes cannot be seen from here; a core that starts some watches them in tests of its own.
//!
//! The kit is behind no cargo feature: it brings no dependency, and what a program does not call is not in it.

mod bench;
mod calls;
mod checks;
mod tap;

use std::{fmt, sync::Arc, time::Duration};

use crate::deps::{AgentName, Deps};

/// What an agent is asked, and how long it may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which agent; without a name, the first.
    pub agent: Option<AgentName>,
    /// A prompt that is soon answered with some text.
    pub quick: String,
    /// A prompt that keeps the agent busy until it is stopped.
    pub long: String,
    /// Prompts that show whether an agent remembers what was said on a thread.
    pub memory: Option<Memory>,
    /// Makes a prompt that is answered with a word, and with no other that the kit makes up. With it the kit
    /// sees whether what two threads say at once is kept apart.
    pub echo: Option<fn(&str) -> String>,
    /// How threads are bound to sessions.
    pub sessions: Sessions,
    /// How long anything may take that has to come, such as a whole answer to the quick prompt.
    pub patience: Duration,
    /// How long a turn may take to end once it is told to stop.
    pub stop_grace: Duration,
}

impl Options {
    /// These prompts, a minute of patience, ten seconds to stop, and everything that is optional left out.
    pub fn new(quick: impl Into<String>, long: impl Into<String>) -> Self {
        Self {
            agent: None,
            quick: quick.into(),
            long: long.into(),
            memory: None,
            echo: None,
            sessions: Sessions::Same,
            patience: Duration::from_mins(1),
            stop_grace: Duration::from_secs(10),
        }
    }
}

/// How threads are bound to sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// A thread stays with the session of its first turn.
    Same,
    /// Each turn goes on from the session of the turn before, and may bind another that follows from it.
    Following,
    /// Not at all, as where an agent reads the whole history in each turn.
    Unbound,
}

/// Two prompts for one thread, of which the second can be answered only by whoever remembers the first.
#[derive(Debug, Clone)]
pub struct Memory {
    /// What is said first.
    pub tell: String,
    /// What is asked then.
    pub ask: String,
    /// What the answer holds if it is right.
    pub answer: String,
}

/// One promise of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// There is at least one agent, no two have the same name, and describing them starts nothing.
    Agents,
    /// A prompt is answered, in a stream that is right for clients of 1.0 and for older ones. Here and wherever else
    /// a prompt is answered, no tool call is opened twice, and none goes on after its end.
    Answer,
    /// A thread is bound to a session, and a second turn can go on in it.
    Session,
    /// What was said on a thread is remembered; only with [`Options::memory`].
    Memory,
    /// Letting go of a session returns, also of one that is gone, and the thread can begin another one, which remembers
    /// nothing; whether it does is seen only with [`Options::memory`].
    Forget,
    /// A turn that is told to stop ends within its grace period, and its thread can be used at once.
    Stop,
    /// A turn that is dropped in the middle leaves nothing behind.
    Drop,
    /// Two threads are served at once; with [`Options::echo`], what they say does not mix.
    Together,
    /// A prompt with parts of every kind, and a request with everything else in it, do not fail a run.
    Parts,
    /// Closing ends a live turn, returns, and leaves nothing.
    Close,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agents => "agents are described without starting anything",
            Self::Answer => "a prompt is answered",
            Self::Session => "a second turn goes on in the session of its thread",
            Self::Memory => "what was said on a thread is remembered",
            Self::Forget => "a session that is let go of is over",
            Self::Stop => "a turn that is told to stop ends soon",
            Self::Drop => "a turn that is dropped leaves nothing behind",
            Self::Together => "two threads are served at once",
            Self::Parts => "a prompt with parts of every kind is answered",
            Self::Close => "closing ends everything",
        })
    }
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub check: Check,
    /// How, in a sentence.
    pub how: String,
}

/// What the kit found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The promises that were kept, as far as could be seen.
    pub passed: Vec<Check>,
    /// Those that were broken. If it is the first, nothing else was tried.
    pub failures: Vec<Finding>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.passed {
            writeln!(f, "kept: {check}")?;
        }
        for Finding { check, how } in &self.failures {
            writeln!(f, "BROKEN: {check}: {how}")?;
        }
        Ok(())
    }
}

/// Tries everything, and closes `deps` at the end. Never panics, and returns even if nothing of `deps` ever
/// ends, as long as it does not block its thread. It must run within a tokio runtime.
pub async fn check(deps: Arc<dyn Deps>, options: &Options) -> Report {
    checks::all(deps, options).await
}
