//! The seam: everything the adapter asks of a core, and everything a core may ask of the adapter.
//!
//! Nothing above this file knows what an agent is; nothing below it makes an AG-UI event. A core
//! describes its agents and runs turns; while a turn runs it holds a [`TurnIo`] and says what happens
//! as [`CoreEvent`]s. Translation goes one way: a core event that the adapter does not know cannot exist.

use std::{fmt, num::NonZeroUsize, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

pub use crate::state::Model;

use crate::protocol::{AgentCapabilities, Content, RunAgentInput, TokenUsage};

/// What the adapter needs of the agents behind it.
pub trait Deps: Send + Sync + 'static {
    /// The agents that can be posted to, the default one first. Starts nothing.
    fn agents(&self) -> &[Agent];

    /// Runs one turn of a session to its end.
    ///
    /// The future must end soon after [`TurnIo::stopped`] does, and dropping it must leave nothing
    /// behind: no task, no process, no socket. It may panic; that ends this run only.
    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>>;
}

/// An agent's name: a segment of its URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(Arc<str>);

/// Why a text cannot name an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an agent's name is 1 to 64 letters, digits, dots, dashes or underscores, and no reserved word"
)]
pub struct BadAgentName;

impl AgentName {
    /// Route words that an agent cannot be called.
    const RESERVED: [&str; 5] = [".", "..", "healthz", "info", "readyz"];

    /// Takes over a name after checking it.
    ///
    /// # Errors
    /// The text would not do as one segment of a URL, or is a route of its own.
    pub fn new(name: &str) -> Result<Self, BadAgentName> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.is_empty()
            || name.len() > 64
            || !name.chars().all(plain)
            || Self::RESERVED.contains(&name)
        {
            return Err(BadAgentName);
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One agent, as `/info` describes it.
#[derive(Debug, Clone)]
pub struct Agent {
    /// What clients post to.
    pub name: AgentName,
    /// A sentence for people.
    pub description: Option<String>,
    /// The model behind it, if known without starting anything.
    pub model: Option<Model>,
    /// What it declares of AG-UI 1.0.
    pub capabilities: AgentCapabilities,
}

/// Who called. Threads of another principal do not exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The one principal of a daemon that has one token.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// The principal's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A core's own name for a conversation. Only the core that made it can read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionRef(Arc<str>);

impl SessionRef {
    /// Wraps what the core calls its session.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// What the core calls it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One piece of work for a core.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// Which agent.
    pub agent: AgentName,
    /// For whom.
    pub principal: Principal,
    /// The session that the thread is bound to; none yet on the first turn.
    pub session: Option<SessionRef>,
    /// What the person said: the trailing user message.
    pub prompt: Content,
    /// The whole request, so that a core can read state, context and forwarded properties. Untrusted.
    pub input: Arc<RunAgentInput>,
}

impl TurnRequest {
    /// The request's `context` as a text block to put before the prompt; empty without context.
    ///
    /// The entries are the page's, so they cannot close the block.
    pub fn context_block(&self) -> String {
        if self.input.context.is_empty() {
            return String::new();
        }
        let mut block = String::from("<context>\n");
        for entry in &self.input.context {
            let text = format!("{}: {}\n", entry.description, entry.value);
            block.push_str(&text.replace("</context", "<\\/context"));
        }
        block.push_str("</context>\n\n");
        block
    }
}

/// How many tool calls of a turn are told apart, on both sides of the seam. Whoever comes across more
/// forgets the oldest.
pub const MAX_CALLS: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

/// What happens in a turn, in the core's words. What is rare and large is boxed: a flood of text moves
/// through the seam in values of this size.
#[derive(Debug, Clone, PartialEq)]
pub enum CoreEvent {
    /// More text of the message that is being said. Empty text is ignored.
    Text(String),
    /// More of what is being thought. Empty text is ignored.
    Reasoning(String),
    /// What is said or thought next is another message.
    MessageEnd,
    /// A tool is called. `call` is the core's own id of the call, unique in the turn.
    ToolCallOpened {
        /// The core's id.
        call: Arc<str>,
        /// The tool.
        name: String,
    },
    /// More of the arguments' text.
    ToolCallArguments {
        /// The core's id.
        call: Arc<str>,
        /// The text that follows what was sent before.
        fragment: String,
    },
    /// The arguments are complete.
    ToolCallClosed {
        /// The core's id.
        call: Arc<str>,
    },
    /// The call was carried out, or refused. One that was never opened becomes a call of a tool without
    /// a name; a core that learns of a call only now says all of it now.
    ToolCallResult {
        /// The core's id.
        call: Arc<str>,
        /// What came of it.
        content: Content,
        /// Whether it failed.
        failed: bool,
    },
    /// The model that answers, once known.
    Model(Box<Model>),
    /// Tokens spent since the last such event, at one provider and model.
    Usage(Box<TokenUsage>),
    /// Something that AG-UI has no event for. It becomes `CUSTOM` under the daemon's namespace.
    Notice {
        /// The name, without the namespace.
        name: String,
        /// Any JSON.
        value: serde_json::Value,
    },
}

/// Why a turn ended that did not fail (ACP `session/prompt`, stop reasons).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The agent was done.
    EndTurn,
    /// The model's answer was cut at its length limit.
    MaxTokens,
    /// The agent gave up after too many model calls.
    MaxTurnRequests,
    /// The agent would not go on.
    Refusal,
    /// The turn was stopped on purpose.
    Cancelled,
}

impl StopReason {
    /// The reason in ACP's words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Makes the codes, so that the list of them all is complete.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What the `code` of a `RUN_ERROR` can be. Clients know them: none is ever renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as it is sent.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The agent cannot be started.
    AgentUnavailable = "agent_unavailable",
    /// The agent does not speak its protocol, or not in time.
    AgentHandshakeFailed = "agent_handshake_failed",
    /// The agent wants its user to log in first.
    AuthRequired = "auth_required",
    /// The agent ended in the middle of a turn.
    AgentCrashed = "agent_crashed",
    /// The agent reported an error.
    AgentError = "agent_error",
    /// The turn took too long.
    TurnTimeout = "turn_timeout",
    /// The core gave no sign of life for too long.
    AgentSilent = "agent_silent",
    /// The turn was stopped on purpose, as a client from before 1.0 is told of it.
    Cancelled = "cancelled",
    /// The client missed events.
    ReaderTooSlow = "reader_too_slow",
    /// The demo was asked to fail.
    DemoFailure = "demo_failure",
    /// A defect of the daemon.
    Internal = "internal",
}

/// Why a turn failed. Clients see [`TurnError::message`], the log [`TurnError::hint`] and, at debug, the whole
/// of it, which is its `Display`.
#[derive(Debug, thiserror::Error)]
#[error("{message}{}{}", if detail.is_some() { ": " } else { "" }, detail.as_deref().unwrap_or_default())]
pub struct TurnError {
    code: Code,
    message: String,
    hint: Option<String>,
    detail: Option<String>,
}

impl TurnError {
    /// A failure with a sentence that is fit for clients: no path, no key, nothing that an upstream said.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            detail: None,
        }
    }

    /// Adds what the log says of it at its usual level. Of something long only the beginning is kept, and no
    /// control character.
    #[must_use]
    pub fn with_hint(self, hint: impl fmt::Display) -> Self {
        const LONGEST: usize = 200;
        let hint = hint.to_string();
        let plain = hint.chars().filter(|c| !c.is_control());
        Self {
            hint: Some(plain.take(LONGEST).collect()),
            ..self
        }
    }

    /// Adds what only the log may know, and it only at debug: what an agent said, say.
    #[must_use]
    pub fn with_detail(self, detail: impl fmt::Display) -> Self {
        Self {
            detail: Some(detail.to_string()),
            ..self
        }
    }

    /// The code of `RUN_ERROR`.
    pub fn code(&self) -> Code {
        self.code
    }

    /// One short line for the log.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The sentence for clients.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Nobody listens to the turn any more; the core should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn is over")]
pub struct Gone;

/// What a core holds for the length of one turn.
#[derive(Debug, Clone)]
pub struct TurnIo {
    signals: mpsc::Sender<Signal>,
    stop: CancellationToken,
}

/// What comes out at the adapter's end of a [`TurnIo`], in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// Something happened.
    Event(CoreEvent),
    /// The thread is bound to this session from now on.
    Bind(SessionRef),
}

impl TurnIo {
    /// A pair of ends. The core waits once `capacity` signals are not yet taken.
    pub fn channel(capacity: usize, stop: CancellationToken) -> (Self, mpsc::Receiver<Signal>) {
        let (signals, inbox) = mpsc::channel(capacity);
        (Self { signals, stop }, inbox)
    }

    /// Says what happened. Waits while the adapter is behind.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn emit(&self, event: CoreEvent) -> Result<(), Gone> {
        // Where there is room, nothing has to wait: a good part of the cost of a flood.
        match self.signals.try_send(Signal::Event(event)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(signal)) => self.signals.send(signal).await.map_err(|_| Gone),
            Err(TrySendError::Closed(_)) => Err(Gone),
        }
    }

    /// Binds the thread to a session of the core, for this turn and later ones.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn bind(&self, session: SessionRef) -> Result<(), Gone> {
        self.signals
            .send(Signal::Bind(session))
            .await
            .map_err(|_| Gone)
    }

    /// Ends when the turn is to stop. The core then has a short time to end in order.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Whether the turn is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }
}
