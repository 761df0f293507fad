//! Messages and reasoning spans: opened once, continued by their owner, closed once.

use std::collections::{HashMap, HashSet};

use super::{Check, Violation, agrees, breach};
use crate::protocol::{Body, Event, Message, MessageBody, MessageId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// An assistant message that only calls have named so far. A text may still fill it.
    Caller,
    Reasoning,
    Result,
    Activity,
    /// A message that a snapshot restated and no event can continue.
    Other,
    /// No message: the ids of spans are a namespace of their own.
    Span,
}

#[derive(Debug, Default)]
pub(super) struct Items {
    messages: HashMap<MessageId, Owned>,
    spans: HashSet<MessageId>,
    /// What a history holds and nothing has continued yet.
    restated: HashSet<MessageId>,
    open: Vec<(MessageId, Owned)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Owned {
    kind: Kind,
    owner: Option<String>,
}

impl Owned {
    fn new(kind: Kind, owner: Option<&str>) -> Self {
        Self {
            kind,
            owner: owner.map(str::to_owned),
        }
    }
}

impl Items {
    /// Takes an event of a text, a reasoning or an activity.
    pub(super) fn step(&mut self, event: &Event) -> Check {
        let tag = event.subagent_run_id.as_deref();
        match &event.body {
            Body::TextMessageStart { message_id, .. } => {
                self.none_open(tag, &[Kind::Reasoning, Kind::Span])?;
                self.start(message_id, Kind::Text, tag)
            }
            Body::TextMessageContent { message_id, .. } => self.more(message_id, Kind::Text, tag),
            Body::TextMessageEnd { message_id } => self.close(message_id, Kind::Text, tag),
            Body::ReasoningStart { message_id } => {
                self.none_open(tag, &[Kind::Span])?;
                self.start(message_id, Kind::Span, tag)
            }
            Body::ReasoningEnd { message_id } => {
                self.none_open(tag, &[Kind::Reasoning])?;
                self.close(message_id, Kind::Span, tag)
            }
            Body::ReasoningMessageStart { message_id, .. } => {
                if !self.is_open(tag, Kind::Span) {
                    return breach("a reasoning message stands in a span of its owner");
                }
                self.start(message_id, Kind::Reasoning, tag)
            }
            Body::ReasoningMessageContent { message_id, .. } => {
                self.more(message_id, Kind::Reasoning, tag)
            }
            Body::ReasoningMessageEnd { message_id } => {
                self.close(message_id, Kind::Reasoning, tag)
            }
            Body::ActivitySnapshot { message_id, .. } => match self.messages.get(message_id) {
                Some(known) if known.kind == Kind::Activity => Ok(()),
                _ => self.whole(message_id, Kind::Activity, tag),
            },
            Body::ActivityDelta { message_id, .. } => match self.messages.get(message_id) {
                Some(known) if known.kind == Kind::Activity => {
                    if agrees(tag, known.owner.as_deref()) {
                        return Ok(());
                    }
                    breach(format!("activity `{message_id}` belongs to another owner"))
                }
                _ => breach(format!("activity `{message_id}` has no snapshot to change")),
            },
            _ => Ok(()),
        }
    }

    /// A message that one event brings whole.
    pub(super) fn whole(&mut self, id: &MessageId, kind: Kind, tag: Option<&str>) -> Check {
        match self.messages.insert(id.clone(), Owned::new(kind, tag)) {
            None => Ok(()),
            Some(_) => breach(format!("message `{id}` was there before")),
        }
    }

    /// The message that a call names as its parent.
    pub(super) fn parent(&mut self, id: &MessageId, tag: Option<&str>) -> Check {
        let parent = self
            .messages
            .entry(id.clone())
            .or_insert_with(|| Owned::new(Kind::Caller, tag));
        if !matches!(parent.kind, Kind::Text | Kind::Caller) {
            return breach(format!("message `{id}` cannot hold a tool call"));
        }
        if parent.owner.as_deref() != tag {
            return breach(format!("message `{id}` and its tool call differ in owner"));
        }
        Ok(())
    }

    /// Takes over a history. The ids in it are used from then on.
    pub(super) fn restate(&mut self, messages: &[Message]) -> Check {
        let mut ids = HashSet::new();
        if let Some(twice) = messages.iter().find(|message| !ids.insert(&message.id)) {
            return breach(format!("message `{}` is there twice", twice.id));
        }
        let dropped =
            |(id, item): &&(MessageId, Owned)| item.kind != Kind::Span && !ids.contains(id);
        if let Some((id, _)) = self.open.iter().find(dropped) {
            return breach(format!("the snapshot drops the open message `{id}`"));
        }
        for message in messages {
            let kind = match message.body {
                MessageBody::Assistant { .. } => Kind::Text,
                MessageBody::Reasoning { .. } => Kind::Reasoning,
                MessageBody::Tool { .. } => Kind::Result,
                MessageBody::Activity { .. } => Kind::Activity,
                _ => Kind::Other,
            };
            let owner = message.subagent_run_id.as_deref();
            self.restated.insert(message.id.clone());
            self.messages
                .insert(message.id.clone(), Owned::new(kind, owner));
        }
        Ok(())
    }

    /// From now on nothing that a history holds is opened again.
    pub(super) fn seal(&mut self) {
        self.restated.clear();
    }

    /// Nothing of these kinds is open for this owner.
    pub(super) fn none_open(&self, tag: Option<&str>, kinds: &[Kind]) -> Check {
        match kinds.iter().find(|kind| self.is_open(tag, **kind)) {
            Some(Kind::Text) => breach("a text is closed before a tool call opens"),
            Some(Kind::Span) => {
                breach("reasoning is closed before anything else of its owner opens")
            }
            Some(_) => breach("a reasoning message is closed before its span, text or tools"),
            None => Ok(()),
        }
    }

    pub(super) fn all_closed(&self) -> Check {
        match self.open.first() {
            Some((id, item)) => breach(format!("{:?} `{id}` is still open", item.kind)),
            None => Ok(()),
        }
    }

    /// Whether a known message belongs to somebody else.
    pub(super) fn disagree(&self, id: &str, tag: Option<&str>) -> bool {
        MessageId::new(id)
            .ok()
            .and_then(|id| self.messages.get(&id))
            .is_some_and(|known| !agrees(tag, known.owner.as_deref()))
    }

    fn is_open(&self, tag: Option<&str>, kind: Kind) -> bool {
        self.open
            .iter()
            .any(|(_, item)| item.kind == kind && item.owner.as_deref() == tag)
    }

    fn start(&mut self, id: &MessageId, kind: Kind, tag: Option<&str>) -> Check {
        let item = Owned::new(kind, tag);
        if kind == Kind::Span {
            if !self.spans.insert(id.clone()) {
                return breach(format!("reasoning `{id}` was there before"));
            }
        } else {
            let again = self.restated.remove(id);
            if let Some(known) = self.messages.get(id) {
                let again = again && known.kind == kind;
                if !again && (known.kind != Kind::Caller || kind != Kind::Text) {
                    return breach(format!("message `{id}` was there before"));
                }
                if known.owner != item.owner {
                    return breach(format!("message `{id}` belongs to another owner"));
                }
            }
            self.messages.insert(id.clone(), item.clone());
        }
        self.open.push((id.clone(), item));
        Ok(())
    }

    fn more(&mut self, id: &MessageId, kind: Kind, tag: Option<&str>) -> Check {
        self.place(id, kind, tag).map(|_| ())
    }

    fn close(&mut self, id: &MessageId, kind: Kind, tag: Option<&str>) -> Check {
        let at = self.place(id, kind, tag)?;
        self.open.swap_remove(at);
        Ok(())
    }

    fn place(&self, id: &MessageId, kind: Kind, tag: Option<&str>) -> Result<usize, Violation> {
        let found = self
            .open
            .iter()
            .position(|(open, item)| open == id && item.kind == kind);
        let Some(at) = found else {
            return Err(Violation(format!("{kind:?} `{id}` is not open")));
        };
        if !agrees(tag, self.open[at].1.owner.as_deref()) {
            return Err(Violation(format!(
                "{kind:?} `{id}` belongs to another owner"
            )));
        }
        Ok(at)
    }
}
