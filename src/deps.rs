//! The seam: everything the adapter asks of a core, and everything a core may ask of the adapter.
//!
//! Nothing above this file knows what an agent is; nothing below it makes an AG-UI event. A core
//! describes its agents and runs turns; while a turn runs it holds a [`TurnIo`] and says what happens
//! as [`CoreEvent`]s. Translation goes one way: a core event that the adapter does not know cannot exist.

mod failure;
mod io;
mod prompt;

use std::{fmt, num::NonZeroUsize, path::PathBuf, sync::Arc};

use futures_util::future::ready;

pub use self::{
    failure::{Code, TurnError},
    io::{Gone, Signal, TurnIo},
    prompt::{
        ASK_USER, Ask, Denial, Form, OptionKind, Permission, PermissionOption, PermissionRequest,
        Question, Reply, TOOL_KINDS, ToolAnswer, ToolCall, Unanswered,
    },
};
/// What a core's turn is, see [`Deps::turn`].
pub use futures_util::future::BoxFuture;

use crate::protocol::{
    AgentCapabilities, Content, JsonObject, Message, RunAgentInput, ThreadId, TokenUsage,
};
pub use crate::state::{
    About, Choice, Conclusion, ContextUpdate, File, FileAction, Model, PerSetting, Role, Setting,
    SettingKind, Settings, SubAgentStatus, SubAgentUpdate, Todo, TodoPriority, TodoStatus, Tokens,
};

/// What the adapter needs of the agents behind it.
pub trait Deps: Send + Sync + 'static {
    /// The agents that can be posted to, the default one first. Starts nothing.
    fn agents(&self) -> &[Agent];

    /// What was last heard of what can be chosen in a session that an agent has for a principal, and is chosen
    /// unless a client says otherwise. Starts nothing; empty until a session has told.
    fn settings(&self, agent: &AgentName, principal: &Principal) -> Settings {
        let _ = (agent, principal);
        Settings::default()
    }

    /// Runs one turn of a session to its end.
    ///
    /// The future must end soon after [`TurnIo::stopped`] does. Dropping it must leave nothing of the turn
    /// behind; what a core keeps between turns ends with [`Deps::close`]. It may panic; that ends this run
    /// only.
    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>>;

    /// Lets go of a session that will not be asked for again, and of what is kept for it. It may be gone, and
    /// no turn of it is live.
    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        let _ = forgotten;
        Box::pin(ready(()))
    }

    /// Ends what is kept between turns. Called once no turn is live; no turn is asked for afterwards.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
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
        if is_plain_word(name) && !Self::RESERVED.contains(&name) {
            Ok(Self(name.into()))
        } else {
            Err(BadAgentName)
        }
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

/// Whether a name is 1 to 64 letters, digits, dots, dashes or underscores.
fn is_plain_word(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
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
    /// What it declares of AG-UI 1.0, whatever is switched off for it.
    pub capabilities: AgentCapabilities,
    /// The folder that it works in, if it works in one. A session of another folder is not returned to.
    /// Never told to clients.
    pub workdir: Option<PathBuf>,
    /// The values that a client may wish for. Whatever is not listed is refused before a turn begins.
    pub choices: PerSetting<Vec<String>>,
}

impl Agent {
    /// An agent of which only the name is known.
    pub fn new(name: AgentName) -> Self {
        Self {
            name,
            description: None,
            model: None,
            capabilities: AgentCapabilities::default(),
            workdir: None,
            choices: PerSetting::default(),
        }
    }
}

/// Who called. Threads of another principal do not exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

/// Why a text cannot name a principal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a principal's name is 1 to 64 letters, digits, dots, dashes or underscores, and not `local`"
)]
pub struct BadPrincipal;

impl Principal {
    const LOCAL: &str = "local";

    /// The one principal of a daemon that has one token.
    pub fn local() -> Self {
        Self(Self::LOCAL.into())
    }

    /// A principal with a token of its own.
    ///
    /// # Errors
    /// The text is no plain word, or stands for the [local](Self::local) one.
    pub fn new(name: &str) -> Result<Self, BadPrincipal> {
        if is_plain_word(name) && name != Self::LOCAL {
            Ok(Self(name.into()))
        } else {
            Err(BadPrincipal)
        }
    }

    /// The principal's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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

/// Which of its sessions a core is asked to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// None: the thread has no session yet.
    New,
    /// The thread's own, which has heard what the thread's history holds.
    Bound(SessionRef),
    /// The thread's own until now, but the conversation was cut back: it has heard more than the history holds.
    /// The thread is no longer bound to it. A core that can make it forget that binds it again; another one opens
    /// a new session.
    Rewound(SessionRef),
}

impl Session {
    /// The session that the thread is bound to.
    pub fn known(&self) -> Option<&SessionRef> {
        match self {
            Self::New => None,
            Self::Bound(session) | Self::Rewound(session) => Some(session),
        }
    }
}

/// Of a thread that was not cut back.
impl From<Option<SessionRef>> for Session {
    fn from(session: Option<SessionRef>) -> Self {
        session.map_or(Self::New, Self::Bound)
    }
}

/// A session to be let go of, see [`Deps::forget`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// Which agent's.
    pub agent: AgentName,
    /// For whom.
    pub principal: Principal,
    /// The thread that was bound to it.
    pub thread: ThreadId,
    /// The session.
    pub session: SessionRef,
}

/// One piece of work for a core.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// Which agent.
    pub agent: AgentName,
    /// For whom.
    pub principal: Principal,
    /// The session to go on with.
    pub session: Session,
    /// What was said in the thread before the prompt, as the daemon keeps it: for a core without a memory of
    /// its own, and for a session that has not heard it. Without the daemon's own words on why a run failed.
    pub history: Arc<[Message]>,
    /// What the person said: the trailing user message.
    pub prompt: Content,
    /// What the client wishes for this turn. Each is one of the agent's choices.
    pub wishes: PerSetting<Option<String>>,
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
    /// What can be chosen in the session, and is chosen: the whole of it, each time it changes.
    Settings(Box<Settings>),
    /// What is to be done: the whole of it, each time it changes.
    Todos(Vec<Todo>),
    /// What became known of how full the session's context is.
    Context(Box<ContextUpdate>),
    /// Files that were touched by something that did not fail.
    Files(Vec<File>),
    /// A change of a file as a call shows it: a page can draw it. Another one of the same call and path takes its place.
    Diff {
        /// The call that makes it, by the core's id.
        call: Arc<str>,
        /// The file.
        path: String,
        /// `{path, oldText, newText}` and what else is known. Without the call's id, which is put in.
        content: JsonObject,
    },
    /// Something became known of a sub-agent.
    SubAgent(Box<SubAgentUpdate>),
    /// What a sub-agent says, thinks or calls: the events from [`CoreEvent::Text`] to [`CoreEvent::ToolCallResult`], and
    /// no others. Ids of calls are unique in the turn, whoever calls. Nothing of it is the agent's own message.
    Within {
        /// Which one, as in [`SubAgentUpdate::id`]. It was told of before.
        sub_agent: Arc<str>,
        /// What happens there.
        event: Box<CoreEvent>,
    },
    /// Something that AG-UI has no event for. It becomes `CUSTOM` under the daemon's namespace.
    Notice {
        /// The name, without the namespace.
        name: String,
        /// The call that it is about, by the core's id. An object gets the call's id on the wire as its
        /// `toolCallId`, so `value` leaves that out.
        call: Option<Arc<str>>,
        /// Any JSON.
        value: serde_json::Value,
    },
}

impl CoreEvent {
    /// A notice that is about no call.
    pub fn notice(name: impl Into<String>, value: serde_json::Value) -> Self {
        Self::Notice {
            name: name.into(),
            call: None,
            value,
        }
    }
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
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::EndTurn,
        Self::MaxTokens,
        Self::MaxTurnRequests,
        Self::Refusal,
        Self::Cancelled,
    ];

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
