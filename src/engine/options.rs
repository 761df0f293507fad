//! The engine's settings: policies of each agent, and bounds of the whole.

use std::{collections::BTreeMap, time::Duration};

use crate::deps::AgentName;

/// All settings of the engine.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Policies of agents that differ from [`Options::policy`].
    pub agents: BTreeMap<AgentName, Policy>,
    /// The policy of every other agent.
    pub policy: Policy,
    /// What bounds the whole.
    pub limits: Limits,
    /// What our names start with, such as `pando` in `pando.notice`.
    pub namespace: Namespace,
}

impl Options {
    /// The policy that holds for an agent.
    pub fn policy(&self, agent: &AgentName) -> &Policy {
        self.agents.get(agent).unwrap_or(&self.policy)
    }
}

/// The policies of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How long a turn goes on once the reader of its POST is gone.
    pub linger: Linger,
    /// The longest a turn may take.
    pub turn_timeout: Option<Duration>,
    /// The longest a core may give no sign of life.
    pub silence_timeout: Option<Duration>,
    /// How long a core may take to end in order once it is told to stop.
    pub stop_grace: Duration,
    /// Whether a failure is also said in a text message, for pages that show no `RUN_ERROR`.
    pub explain_errors: bool,
    /// What becomes of a run that is asked for while another is live on the thread.
    pub busy: Busy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            linger: Linger::For(Duration::ZERO),
            turn_timeout: Some(Duration::from_hours(1)),
            silence_timeout: Some(Duration::from_mins(10)),
            stop_grace: Duration::from_secs(10),
            explain_errors: false,
            busy: Busy::Reject,
        }
    }
}

/// How long a turn goes on without the reader of its POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linger {
    /// For so long; zero means that a closed connection is the Stop button.
    For(Duration),
    /// To its end.
    Forever,
}

/// What becomes of a run that is asked for while another is live on the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Busy {
    /// It is refused, and may be asked for again.
    #[default]
    Reject,
    /// It waits for the other to end, behind those that wait already.
    Queue,
    /// The other one is stopped.
    Replace,
}

/// What bounds the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many turns may be live at once.
    pub max_turns: usize,
    /// How many bytes of one run are kept for readers that are behind.
    pub run_bytes: usize,
    /// How many bytes of all runs are kept for readers that are behind.
    pub total_bytes: usize,
    /// How many runs may wait for their turn on one thread.
    pub max_waiting: usize,
    /// How many state documents are kept between runs. The least recently used goes first.
    pub max_states: usize,
    /// How long the log of a run is kept after its end, for readers that come back.
    pub log_ttl: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 256,
            run_bytes: 32 * 1024 * 1024,
            total_bytes: 256 * 1024 * 1024,
            max_waiting: 16,
            max_states: 256,
            log_ttl: Duration::from_mins(1),
        }
    }
}

/// What names of ours start with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace(String);

/// Why a text cannot be a namespace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a namespace is 1 to 32 letters, digits, dashes or underscores")]
pub struct BadNamespace;

impl Default for Namespace {
    fn default() -> Self {
        Self("pando".into())
    }
}

impl Namespace {
    /// Takes over a namespace after checking it.
    ///
    /// # Errors
    /// The text would not do as the start of a name.
    pub fn new(text: &str) -> Result<Self, BadNamespace> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if text.is_empty() || text.len() > 32 || !text.chars().all(plain) {
            return Err(BadNamespace);
        }
        Ok(Self(text.into()))
    }

    /// The namespace as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A name of ours: `pando.notice`.
    pub fn name(&self, name: &str) -> String {
        format!("{}.{name}", self.0)
    }
}
