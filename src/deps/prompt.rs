//! What a turn waits for: a tool that runs in the page, a permission, an answer of the person's.
//!
//! Each is asked through [`TurnIo`](super::TurnIo) and is answered with a value that says which of the things that
//! can become of it became of it. There is always an answer: when its time is over, when the turn is stopped, when
//! nobody is there who could give one.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::protocol::{Content, JsonObject};

/// Something that a turn waits for, with the place for what becomes of it.
#[derive(Debug)]
pub enum Ask {
    /// A tool of the page is called.
    Tool(ToolCall, oneshot::Sender<ToolAnswer>),
    /// Somebody has to allow something.
    Permission(Box<PermissionRequest>, oneshot::Sender<Permission>),
    /// Somebody is asked something.
    Question(Question, oneshot::Sender<Reply>),
}

/// Two are the same if the same is asked.
impl PartialEq for Ask {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tool(one, _), Self::Tool(other, _)) => one == other,
            (Self::Permission(one, _), Self::Permission(other, _)) => one == other,
            (Self::Question(one, _), Self::Question(other, _)) => one == other,
            _ => false,
        }
    }
}

impl Ask {
    /// The core's id of the call that it is about.
    pub fn call(&self) -> Option<&Arc<str>> {
        match self {
            Self::Tool(call, _) => Some(&call.call),
            Self::Permission(request, _) => request.call.as_ref(),
            Self::Question(question, _) => question.call.as_ref(),
        }
    }

    /// Whether whoever asked does not wait for an answer any more.
    pub fn is_withdrawn(&self) -> bool {
        match self {
            Self::Tool(_, answer) => answer.is_closed(),
            Self::Permission(_, answer) => answer.is_closed(),
            Self::Question(_, answer) => answer.is_closed(),
        }
    }

    /// Ends once whoever asked does not wait for an answer any more.
    pub async fn withdrawn(&mut self) {
        match self {
            Self::Tool(_, answer) => answer.closed().await,
            Self::Permission(_, answer) => answer.closed().await,
            Self::Question(_, answer) => answer.closed().await,
        }
    }
}

/// A call of a tool that runs in the page.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The core's id of the call, unique in the turn. If the core has not opened it as a call, the adapter does, with the
    /// name and the arguments that stand here.
    pub call: Arc<str>,
    /// The tool's name, as the page declares it.
    pub name: String,
    /// The arguments: a JSON object as text.
    pub arguments: String,
}

/// What became of a call of a tool of the page.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAnswer {
    /// The page has carried it out, or says why it could not.
    Answered {
        /// What came of it.
        content: Content,
        /// Whether the page says that it failed.
        failed: bool,
    },
    /// It was not carried out.
    Unanswered(Unanswered),
}

/// Why something that was asked has no answer of a client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// Nobody could be asked: the page has no such tool now, it is switched off, or no client is there.
    Nobody,
    /// The person went on with something else.
    PassedOver,
    /// Nobody answered in time.
    TimedOut,
    /// The turn is being stopped.
    Stopped,
    /// The client gave it up, or its answer says nothing.
    GivenUp,
    /// Whoever asked does not wait for it any more.
    Withdrawn,
}

impl Unanswered {
    /// The word for it. Clients know it as the reason of a denial.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::PassedOver => "passed_over",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
            Self::GivenUp => "given_up",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// What a model is told of a tool of the page that was not carried out.
    pub fn of_tool(self) -> &'static str {
        match self {
            Self::Nobody => "not executed: the page does not have this tool now",
            Self::PassedOver => "not executed: the person went on without it",
            Self::TimedOut => "not executed: the page did not answer in time",
            Self::Stopped => "not executed: the run was stopped",
            Self::GivenUp => "not executed: the page gave it up",
            Self::Withdrawn => "not executed: the agent did not wait for it",
        }
    }
}

/// The kinds of things that a tool does (ACP `ToolKind`); the last one stands for what is not known.
pub const TOOL_KINDS: [&str; 10] = [
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
];

/// Something that somebody has to allow.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The core's id of the call that waits for it. The core has opened and closed it by then, so that people see
    /// what they are asked about.
    pub call: Option<Arc<str>>,
    /// The tool's name.
    pub tool: String,
    /// What kind of thing it does: one of [`TOOL_KINDS`].
    pub action: String,
    /// A line for people; empty if there is none.
    pub title: String,
    /// The files that it is about, absolute where the agent says so.
    pub paths: Vec<PathBuf>,
    /// The arguments, as far as the agent shows them.
    pub params: Option<Value>,
    /// The answers that the agent takes. Never empty.
    pub options: Vec<PermissionOption>,
    /// What else is shown to people, such as `diffs`.
    pub details: JsonObject,
}

/// An answer that an agent takes (ACP `PermissionOption`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOption {
    /// The agent's id of it.
    pub id: Arc<str>,
    /// What people read.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
}

/// What an option means (ACP `PermissionOptionKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, from now on.
    RejectAlways,
}

impl OptionKind {
    /// Reads the kind as ACP writes it.
    pub fn of(text: &str) -> Option<Self> {
        match text {
            "allow_once" => Some(Self::AllowOnce),
            "allow_always" => Some(Self::AllowAlways),
            "reject_once" => Some(Self::RejectOnce),
            "reject_always" => Some(Self::RejectAlways),
            _ => None,
        }
    }

    /// The kind as ACP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowAlways => "allow_always",
            Self::RejectOnce => "reject_once",
            Self::RejectAlways => "reject_always",
        }
    }

    /// Whether it is a yes.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }
}

impl PermissionRequest {
    /// The option for a plain yes or a plain no: the one that holds this time only, if there is one.
    pub fn option(&self, allows: bool) -> Option<&PermissionOption> {
        let of = |kind| self.options.iter().find(|option| option.kind == kind);
        if allows {
            of(OptionKind::AllowOnce).or_else(|| of(OptionKind::AllowAlways))
        } else {
            of(OptionKind::RejectOnce).or_else(|| of(OptionKind::RejectAlways))
        }
    }
}

/// What became of a request for permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// It was allowed, with this option of the agent's.
    Allowed(Arc<str>),
    /// It was denied, with this option of the agent's if it has one for that.
    Denied(Option<Arc<str>>, Denial),
}

/// Why something was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Somebody said no, or said nothing that is a yes.
    Said,
    /// A rule of the configuration says no.
    Rule,
    /// Nobody said anything.
    Unanswered(Unanswered),
}

impl Denial {
    /// The word for it. Clients know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Rule => "rule",
            Self::Unanswered(why) => why.as_str(),
        }
    }
}

/// Something that the person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The core's id of the call that asks, if one does. The core has opened and closed it by then.
    pub call: Option<Arc<str>>,
    /// A sentence for people.
    pub message: String,
    /// What the person fills in.
    pub form: Form,
}

/// What a person fills in.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Questions with options, as the arguments of [`ASK_USER`] have them.
    Choices(JsonObject),
    /// Members of a flat JSON Schema object (ACP `elicitation/create`, mode `form`).
    Fields(JsonObject),
}

/// The name of the tool with which a model asks the person.
pub const ASK_USER: &str = "AskUserQuestion";

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// What the client says; never `null`.
    Answered(Value),
    /// Nothing, and the agent goes on by its own judgement.
    Unanswered(Unanswered),
}
