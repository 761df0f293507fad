//! The helpers that an agent has sent out.

use std::sync::Arc;

use serde::Serialize;

use crate::protocol::{Operation, Patch, Pointer};

/// How many sub-agents are shown. Of more, the first one that has ended goes, else the first.
const MOST: usize = 50;

/// The longest id, in bytes. One with a longer id is not told of.
const ID: usize = 256;

/// The longest text about one that is shown, in bytes.
const TEXT: usize = 4 * 1024;

/// The longest prompt that is shown, in bytes.
const PROMPT: usize = 240;

/// A sub-agent, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgent {
    /// What the agent calls it.
    pub id: String,
    /// How far it is.
    pub status: SubAgentStatus,
    /// What else is known.
    #[serde(flatten)]
    pub about: About,
}

/// What may be known of a sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Its part in a swarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What it was told to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The program that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whom it plays, or which kind of helper it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What its process ended with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// What it came to, in its own judgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// What it has to say of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// How far a sub-agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubAgentStatus {
    /// Not begun.
    Pending,
    /// At work.
    Running,
    /// Held up.
    Paused,
    /// Its agent has ended its turn to wait for it.
    Awaited,
    /// Done.
    Completed,
    /// Given up, with an error.
    Failed,
    /// Stopped.
    Cancelled,
}

/// A sub-agent's part in a swarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Does a part of the work.
    Worker,
    /// Looks at what the workers have done.
    Verifier,
    /// Makes one of what they have done.
    Synthesizer,
}

/// What a sub-agent came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// It did what it was told.
    Success,
    /// A part of it.
    Partial,
    /// Nothing of it.
    Failed,
    /// Something is in its way.
    Blocked,
}

/// Something that became known of a sub-agent. Whatever is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentUpdate {
    /// What the agent calls it, the same for as long as it is told of.
    pub id: Arc<str>,
    /// How far it is. One that nobody has heard of yet needs one.
    pub status: Option<SubAgentStatus>,
    /// What else.
    pub about: About,
    /// The call that has sent it out, by the core's id.
    pub call: Option<Arc<str>>,
    /// Whether it is left out if nobody has heard of it yet: a listing tells of others' as well.
    pub known_only: bool,
    /// Whether it goes on when its agent's turn is stopped.
    pub outlives_turn: bool,
}

impl SubAgentUpdate {
    /// An update that says nothing but which it is about, and how far that is. It ends with its agent's turn.
    pub fn new(id: impl Into<Arc<str>>, status: Option<SubAgentStatus>) -> Self {
        Self {
            id: id.into(),
            status,
            about: About::default(),
            call: None,
            known_only: false,
            outlives_turn: false,
        }
    }
}

impl SubAgentStatus {
    /// The status that agents call so. `None` for other names.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "pending" => Some(Self::Pending),
            "running" => Some(Self::Running),
            "paused" => Some(Self::Paused),
            "awaited" => Some(Self::Awaited),
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed),
            "cancelled" => Some(Self::Cancelled),
            _ => None,
        }
    }

    /// How far it is after an update. Nobody waits for one that has ended.
    fn then(self, next: Option<Self>) -> Self {
        next.filter(|next| *next != Self::Awaited || !self.has_ended())
            .unwrap_or(self)
    }

    /// Whether nothing more comes of it by itself.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl Role {
    /// The part as agents call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Verifier => "verifier",
            Self::Synthesizer => "synthesizer",
        }
    }
}

impl Conclusion {
    /// The conclusion that agents call so. `None` for other names.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "success" => Some(Self::Success),
            "partial" => Some(Self::Partial),
            "failed" => Some(Self::Failed),
            "blocked" => Some(Self::Blocked),
            _ => None,
        }
    }
}

impl About {
    /// What is known of one that is sent out once more: what it came to the last time is past.
    fn again(&self) -> Self {
        Self {
            error: None,
            exit_code: None,
            conclusion: None,
            summary: None,
            ..self.clone()
        }
    }

    /// What is known with an update, each text as far as it is shown.
    fn with(&self, update: &Self) -> Self {
        let text = |new: &Option<String>, known: &Option<String>, most: usize| {
            let clipped = |text: &String| text[..text.floor_char_boundary(most)].to_owned();
            new.as_ref().map(clipped).or_else(|| known.clone())
        };
        Self {
            role: update.role.or(self.role),
            prompt: text(&update.prompt, &self.prompt, PROMPT),
            engine: text(&update.engine, &self.engine, TEXT),
            model: text(&update.model, &self.model, TEXT),
            persona: text(&update.persona, &self.persona, TEXT),
            error: text(&update.error, &self.error, TEXT),
            exit_code: update.exit_code.or(self.exit_code),
            conclusion: update.conclusion.or(self.conclusion),
            summary: text(&update.summary, &self.summary, TEXT),
        }
    }
}

/// The sub-agents with an update, and the operations that bring that about.
pub(super) fn update(known: &mut Vec<SubAgent>, update: &SubAgentUpdate, patch: &mut Patch) {
    if update.id.len() > ID {
        return;
    }
    let root = Pointer::root().child("subAgents");
    let at = known.iter().position(|one| *one.id == *update.id);
    let Some(at) = at else {
        let Some(status) = update.status.filter(|_| !update.known_only) else {
            return;
        };
        if known.len() >= MOST {
            let ended = known.iter().position(|one| one.status.has_ended());
            let at = ended.unwrap_or(0);
            let path = root.index(at);
            patch.push(Operation::Remove { path });
            known.remove(at);
        }
        let added = SubAgent {
            id: update.id.to_string(),
            status,
            about: About::default().with(&update.about),
        };
        let (path, value) = (root.child("-"), serde_json::json!(added));
        patch.push(Operation::Add { path, value });
        return known.push(added);
    };
    let before = &known[at];
    let status = before.status.then(update.status);
    let about = if before.status.has_ended() && !status.has_ended() {
        &before.about.again()
    } else {
        &before.about
    };
    let now = SubAgent {
        id: before.id.clone(),
        status,
        about: about.with(&update.about),
    };
    if known[at] != now {
        let (path, value) = (root.index(at), serde_json::json!(now));
        patch.push(Operation::Replace { path, value });
        known[at] = now;
    }
}
