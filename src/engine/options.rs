//! The engine's settings: policies of each agent, and bounds of the whole.

use std::{collections::BTreeMap, time::Duration};

use super::Rule;
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
    /// Whether the agent may call the tools of the page.
    pub frontend_tools: bool,
    /// How long a tool of the page may take.
    pub client_tool_timeout: Duration,
    /// What becomes of it when the agent wants something of a person.
    pub prompts: Prompts,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            linger: Linger::For(Duration::ZERO),
            turn_timeout: Some(Duration::from_hours(1)),
            silence_timeout: Some(Duration::from_mins(10)),
            stop_grace: Duration::from_secs(10),
            explain_errors: true,
            busy: Busy::Reject,
            frontend_tools: true,
            client_tool_timeout: Duration::from_mins(10),
            prompts: Prompts::default(),
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

/// What becomes of it when an agent wants something of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompts {
    /// What is decided before anybody is asked for permission. The first rule that fits holds.
    pub permissions: Vec<Rule>,
    /// What becomes of a request for permission that no rule decides.
    pub approval: Approval,
    /// Whether people are asked what an agent wants to know of them.
    pub questions: bool,
    /// How long a person may take to answer.
    pub timeout: Duration,
    /// Whether clients are told until when a person may answer. Some lock their page for good after that.
    pub tell_expiry: bool,
    /// Why a run says that it stops for permission.
    pub reason: Reason,
}

impl Default for Prompts {
    fn default() -> Self {
        Self {
            permissions: Vec::new(),
            approval: Approval::Asked,
            questions: true,
            timeout: Duration::from_mins(30),
            tell_expiry: false,
            reason: Reason::Namespaced,
        }
    }
}

/// What becomes of a request for permission that no rule decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approval {
    /// People are asked.
    #[default]
    Asked,
    /// It is granted, and nobody is asked.
    Granted,
    /// It is denied, and nobody is asked.
    Denied,
}

/// Why a run says that it stops for permission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reason {
    /// A reason of ours, such as `pando:permission`.
    #[default]
    Namespaced,
    /// `tool_call` (AG-UI 1.0). `CopilotKit` then shows the answer in the place of the tool's result.
    ToolCall,
}

/// What bounds the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many turns may be live at once. Those that wait for an answer are not counted; of them there may be four
    /// times as many.
    pub max_turns: usize,
    /// How many bytes of one run are kept for readers that are behind.
    pub run_bytes: usize,
    /// How many bytes of all runs are kept for readers that are behind.
    pub total_bytes: usize,
    /// How many runs may wait for their turn on one thread.
    pub max_waiting: usize,
    /// How many threads' state documents are kept between runs. The least recently used goes first.
    pub max_state_threads: usize,
    /// How many bytes of memory they may take together. The least recently used goes first.
    pub max_state_bytes: usize,
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
            max_state_threads: 256,
            max_state_bytes: 64 * 1024 * 1024,
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
