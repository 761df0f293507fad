//! What a request answers of what a turn waits for, and what a repeated or belated answer is worth. Decides, changes
//! nothing.
//!
//! An answer is found by the id of the interrupt or of the call, never by that of a run: clients use those again, and
//! answers stand wherever they like in a history. Only what is open here can be answered; what a client tells of calls
//! and approvals besides that is its view.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt::Write as _,
    sync::Arc,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::asked::{Asked, Prompt, Shape};
use crate::{
    protocol::{Message, MessageBody, ResumeEntry, ResumeStatus, RunAgentInput, RunId},
    store::{self, Fate},
};

/// How many ids of a request are looked up.
const MOST: usize = 256;

/// What a client says to a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    /// This; `None` says that it says nothing.
    Payload(Option<Value>),
    /// That nobody will answer.
    GivenUp,
    /// What the page's tool has come to, as the message that a transcript has of it.
    Result(Message),
}

impl Said {
    fn of(entry: &ResumeEntry) -> Self {
        match entry.status {
            ResumeStatus::Resolved => Self::Payload(entry.payload.clone()),
            ResumeStatus::Cancelled => Self::GivenUp,
        }
    }

    /// What is said of it in the place of a result.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Payload(Some(Value::String(text))) => text.clone(),
            Self::Payload(Some(payload)) => payload.to_string(),
            Self::Payload(None) | Self::GivenUp => "given up".into(),
            Self::Result(message) => match &message.body {
                MessageBody::Tool { content, .. } => content.text(),
                _ => String::new(),
            },
        }
    }

    /// By what it is known again: the same is said, in whatever order its members stand.
    pub(super) fn digest(&self) -> String {
        let text = match self {
            Self::Payload(payload) => format!("payload {}", ordered(payload.as_ref())),
            Self::GivenUp => "given up".to_owned(),
            Self::Result(message) => match &message.body {
                MessageBody::Tool { content, error, .. } => {
                    let content = serde_json::to_value(content).ok();
                    format!("result {} {error:?}", ordered(content.as_ref()))
                }
                _ => String::new(),
            },
        };
        let digest: [u8; 32] = Sha256::digest(text).into();
        digest.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a string takes all that is written");
            hex
        })
    }
}

/// A value as text, with the members of each object in the order of their names.
fn ordered(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::Array(items)) => {
            let items: Vec<_> = items.iter().map(|item| ordered(Some(item))).collect();
            format!("[{}]", items.join(","))
        }
        Some(Value::Object(members)) => {
            let mut members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(&**name), ordered(Some(value))))
                .collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        Some(plain) => plain.to_string(),
    }
}

/// All that a request can answer with.
#[derive(Debug)]
pub(super) struct Given<'a> {
    entries: &'a [ResumeEntry],
    /// `forwardedProps.command.resume`, which names nothing that it answers.
    unnamed: Option<&'a Value>,
    /// Tool messages, by their call; the first one of each.
    results: HashMap<&'a str, &'a Message>,
    /// The last of those calls.
    last: Option<&'a str>,
}

impl<'a> Given<'a> {
    pub(super) fn of(input: &'a RunAgentInput) -> Self {
        let mut results = HashMap::new();
        let mut last = None;
        for message in &input.messages {
            if let MessageBody::Tool { tool_call_id, .. } = &message.body {
                let call = tool_call_id.as_str();
                if let Entry::Vacant(place) = results.entry(call) {
                    place.insert(message);
                    last = Some(call);
                }
            }
        }
        let unnamed = || {
            let command = input.forwarded_props.as_ref()?.get("command")?;
            command.get("resume").filter(|answer| !answer.is_null())
        };
        Self {
            entries: &input.resume,
            unnamed: input.resume.is_empty().then(unnamed).flatten(),
            results,
            last,
        }
    }

    /// Whether it brings no answer to anything.
    pub(super) fn is_empty(&self) -> bool {
        !self.resumes() && self.results.is_empty()
    }

    /// Whether it means to answer a prompt, and not only shows a history.
    pub(super) fn resumes(&self) -> bool {
        !self.entries.is_empty() || self.unnamed.is_some()
    }

    /// What it says to a prompt by the prompt's own id.
    fn named(&self, prompt: &Prompt) -> Option<Said> {
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.interrupt_id.as_str() == &*prompt.id);
        let result = || match &prompt.shape {
            Shape::Call(call) => self.results.get(call.as_str()),
            Shape::Interrupt(_) => None,
        };
        entry
            .map(Said::of)
            .or_else(|| result().map(|message| Said::Result((*message).clone())))
    }

    /// What it says to each of the prompts, in their order. `is_new`: it brings something that the person has said
    /// since, which passes over the page's tools that have no answer.
    ///
    /// # Errors
    /// It answers some of them only, or none.
    pub(super) fn meet(&self, asked: &Asked, is_new: bool) -> Result<Vec<Option<Said>>, Unmet> {
        let mut said: Vec<_> = asked.prompts.iter().map(|it| self.named(it)).collect();
        if let ([one], [prompt]) = (said.as_mut_slice(), &*asked.prompts)
            && one.is_none()
            && matches!(prompt.shape, Shape::Interrupt(_))
        {
            *one = self
                .unnamed
                .cloned()
                .map(|answer| Said::Payload(Some(answer)));
        }
        let is_missing = |(prompt, said): &(&Prompt, &Option<Said>)| {
            said.is_none() && !(is_new && matches!(prompt.shape, Shape::Call(_)))
        };
        let missing: Vec<_> = asked.prompts.iter().zip(&said).filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(said);
        }
        let missing = missing
            .iter()
            .map(|(prompt, _)| Arc::clone(&prompt.id))
            .collect();
        if said.iter().all(Option::is_none) {
            return Err(Unmet::Nothing(missing));
        }
        Err(Unmet::Part(missing))
    }

    /// The ids that it answers to, without those that are only history.
    pub(super) fn ids(&self) -> Vec<String> {
        let entries = self.entries.iter().map(|entry| entry.interrupt_id.as_str());
        // Most of a history was answered long ago. What is said now stands last.
        let last = self.last.filter(|_| !self.resumes());
        entries.chain(last).take(MOST).map(Into::into).collect()
    }

    /// What its answers are worth that nothing waits for. `known`: what is kept of the prompts that it names; `open`:
    /// those that are open.
    pub(super) fn stale(&self, known: &[store::Prompt], open: &[String]) -> Stale {
        let known: HashMap<_, _> = known.iter().map(|it| (it.id.as_str(), &it.fate)).collect();
        let mut stale = Stale::default();
        let is_open = |id: &str| open.iter().any(|open| open == id);
        for entry in self.entries {
            let id = entry.interrupt_id.as_str();
            if is_open(id) {
                continue;
            }
            stale.note(id, known.get(id).copied(), &Said::of(entry));
        }
        if self.unnamed.is_some() && open.is_empty() {
            stale.unknown.push("command.resume".into());
        }
        if self.resumes() {
            return stale;
        }
        if let Some(last) = self.last
            && !is_open(last)
            && let Some(fate) = known.get(last)
        {
            let said = Said::Result(self.results[last].clone());
            stale.note(last, Some(fate), &said);
        }
        stale
    }
}

/// Why answers are not taken. Nothing was changed: all prompts stay open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unmet {
    /// It answers none of these.
    Nothing(Vec<Arc<str>>),
    /// It answers others, but not these.
    Part(Vec<Arc<str>>),
}

/// What answers are worth that nothing waits for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stale {
    /// The run that took the same answers before.
    pub(super) again: Option<RunId>,
    /// Prompts that were answered otherwise.
    pub(super) otherwise: Vec<String>,
    /// Prompts that nobody has answered in time, or that were called off.
    pub(super) over: Vec<String>,
    /// Prompts whose turn was lost with the daemon.
    pub(super) lost: Vec<String>,
    /// What nobody has asked.
    pub(super) unknown: Vec<String>,
}

impl Stale {
    fn note(&mut self, id: &str, fate: Option<&Fate>, said: &Said) {
        match fate {
            Some(Fate::Answered { run, digest }) if *digest == said.digest() => {
                self.again = Some(run.clone());
            }
            Some(Fate::Answered { .. }) => self.otherwise.push(id.into()),
            Some(Fate::Closed { .. }) => self.over.push(id.into()),
            Some(Fate::Open) => self.lost.push(id.into()),
            None => self.unknown.push(id.into()),
        }
    }

    /// Whether there is nothing to say of them.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
