//! What sub-agents say: in sessions of their own (ACP `subagent_update`), or in their agent's, marked with the call that
//! has sent them out. All of it goes through a translator of the sub-agent's own, and is told as its.
//!
//! Whatever a sub-agent says follows an event that tells of it. Of its own plan, settings and context nothing is told:
//! those that a thread shows are the agent's.

use std::{mem, num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use serde_json::Value;
use tracing::debug;

use super::{
    ID, KEPT, Translator,
    announced::Announced,
    bounds::{ABOUT, clip},
    notices::says_how_things_stand,
};
use crate::deps::{About, CoreEvent, SubAgentStatus, SubAgentUpdate};

/// How many sub-agents of a turn are followed. The one unheard of for longest is let go of.
const MOST: NonZeroUsize = NonZeroUsize::new(64).expect("it is not zero");

/// The sub-agents of one turn, by their ids.
pub(super) struct Children(LruCache<Arc<str>, Child>);

/// A sub-agent.
struct Child {
    id: Arc<str>,
    translator: Translator,
    /// Whether it was told of.
    is_told: bool,
    /// What is known of it.
    about: About,
    /// What it has said last.
    last: String,
}

impl Children {
    pub(super) fn new() -> Self {
        Self(LruCache::new(MOST))
    }

    /// The sub-agent that has made a call of this id.
    fn maker_of(&self, call: &str) -> Option<&Arc<str>> {
        let mut children = self.0.iter();
        let maker = children.find(|(_, child)| child.translator.calls.contains(call));
        maker.map(|(id, _)| id)
    }

    /// How much is kept of their calls, in bytes.
    pub(super) fn kept(&self) -> usize {
        self.0.iter().map(|(_, child)| child.translator.kept).sum()
    }
}

impl Child {
    /// Takes what became known of it, and answers with what is to be told of that. How one stands that nobody has heard
    /// of is told once it is known; one that had ended by then is no news to whoever does not know it. One that is done and
    /// of which nobody says what it came to has said that itself, in the end.
    fn note(&mut self, announced: Announced, is_new: bool) -> Option<CoreEvent> {
        let before = self.about.clone();
        let Announced { about, status } = announced;
        if status == Some(SubAgentStatus::Running) {
            self.about.summary = None;
        }
        let said = (status == Some(SubAgentStatus::Completed)).then(|| mem::take(&mut self.last));
        let said = said.filter(|said| !said.is_empty());
        self.about = About {
            persona: about.persona.or(self.about.persona.take()),
            prompt: about.prompt.or(self.about.prompt.take()),
            model: about.model.or(self.about.model.take()),
            error: about.error,
            summary: self.about.summary.take().or(about.summary).or(said),
            ..About::default()
        };
        let is_told = self.is_told || status.is_some();
        if !is_told || (status.is_none() && self.about == before) {
            return None;
        }
        let has_ended = status.is_some_and(SubAgentStatus::has_ended);
        self.is_told = true;
        Some(CoreEvent::SubAgent(Box::new(SubAgentUpdate {
            about: self.about.clone(),
            known_only: is_new && has_ended,
            ..SubAgentUpdate::new(Arc::clone(&self.id), status)
        })))
    }

    /// Keeps what it says last, as far as that is shown.
    fn listen(&mut self, event: &CoreEvent) {
        match event {
            CoreEvent::Text(text) => {
                let room = ABOUT.saturating_sub(self.last.len());
                self.last.push_str(clip(text, room));
            }
            CoreEvent::MessageEnd | CoreEvent::ToolCallOpened { .. } => self.last.clear(),
            _ => {}
        }
    }

    /// Tells what its translator makes of something, as its.
    fn tell(&mut self, said: Vec<CoreEvent>, events: &mut Vec<CoreEvent>) {
        for event in said {
            let Some(event) = as_of(&self.id, event) else {
                continue;
            };
            if !self.is_told {
                events.extend(self.note(Announced::of_status(SubAgentStatus::Running), false));
            }
            if let CoreEvent::Within { event, .. } = &event {
                self.listen(event);
            }
            events.push(event);
        }
    }
}

/// Something that is said in a sub-agent's session as an event of the turn. `None` for what is told of the agent alone.
fn as_of(id: &Arc<str>, event: CoreEvent) -> Option<CoreEvent> {
    match event {
        CoreEvent::Text(_)
        | CoreEvent::Reasoning(_)
        | CoreEvent::MessageEnd
        | CoreEvent::ToolCallOpened { .. }
        | CoreEvent::ToolCallArguments { .. }
        | CoreEvent::ToolCallClosed { .. }
        | CoreEvent::ToolCallResult { .. } => Some(CoreEvent::Within {
            sub_agent: Arc::clone(id),
            event: event.into(),
        }),
        // These are of the turn, or of a call: there is only one of that id.
        CoreEvent::Files(_)
        | CoreEvent::Diff { .. }
        | CoreEvent::SubAgent(_)
        | CoreEvent::Usage(_)
        | CoreEvent::Notice { call: Some(_), .. } => Some(event),
        CoreEvent::Notice {
            name,
            call: None,
            mut value,
        } if !says_how_things_stand(&name) => {
            let members = value.as_object_mut()?;
            members.insert("subAgent".into(), Value::from(&**id));
            Some(CoreEvent::notice(name, value))
        }
        CoreEvent::Notice { .. }
        | CoreEvent::Within { .. }
        | CoreEvent::Todos(_)
        | CoreEvent::Context(_)
        | CoreEvent::Model(_)
        | CoreEvent::Settings(_) => None,
    }
}

impl Translator {
    /// What is said in another session is a sub-agent's, and no part of this conversation.
    pub(super) fn foreign(&mut self, session: &str, update: Value) {
        if self.announces(&update) {
            return;
        }
        if let Some(model) = Announced::of_model(&update) {
            self.announce(session, model);
        }
        self.within(session, |own| own.update(update));
    }

    /// Takes what an update tells of a sub-agent, and says whether that is what it does.
    pub(super) fn announces(&mut self, update: &Value) -> bool {
        let session = |name: &str| update[name].as_str().filter(|id| *id != self.session);
        match update["sessionUpdate"].as_str() {
            Some("subagent_update") => {
                if let Some(id) = session("sessionId") {
                    self.announce(id, Announced::of_update(update, self.vendor));
                }
                true
            }
            Some("session_message") => {
                let known = |name: &str| session(name).filter(|id| self.knows(id));
                let (told, tells) = (known("recipientSessionId"), known("senderSessionId"));
                let about = told.or(tells);
                if let Some(id) = about {
                    self.announce(id, Announced::of_message(update, told.is_some()));
                }
                about.is_some()
            }
            _ => false,
        }
    }

    /// The sub-agent whose update this is, if it is not the agent's own although it comes in its session.
    pub(super) fn speaker(&self, sent_out_by: &str) -> Option<Arc<str>> {
        if self.calls.peek(sent_out_by)?.has_sent_out() {
            return Some(sent_out_by.into());
        }
        self.children.maker_of(sent_out_by).cloned()
    }

    /// The sub-agent that has made a call which is not the agent's own although it is asked about in its session.
    pub(super) fn maker_of(&self, call: &str) -> Option<Arc<str>> {
        let own = self.calls.contains(call);
        let maker = (!own).then(|| self.children.maker_of(call));
        maker.flatten().cloned()
    }

    /// Has a sub-agent's own translator follow something. `None` if it cannot be told apart from others.
    pub(super) fn within<T>(&mut self, id: &str, follow: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let (child, _) = self.child(id)?;
        let result = follow(&mut child.translator);
        let said = child.translator.told.take();
        let mut told = Vec::new();
        child.tell(said, &mut told);
        self.told.events.extend(told);
        self.let_go_of_children();
        Some(result)
    }

    /// What is told of a sub-agent besides what it says.
    pub(super) fn announce(&mut self, id: &str, announced: Announced) {
        if let Some((child, is_new)) = self.child(id) {
            let event = child.note(announced, is_new);
            self.told.events.extend(event);
        }
    }

    /// Whether it is known in this turn.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.children.0.contains(id)
    }

    /// A sub-agent, and whether nothing was heard of it in this turn. The one unheard of for longest may go for it.
    fn child(&mut self, id: &str) -> Option<(&mut Child, bool)> {
        if id.is_empty() || id.len() > ID {
            debug!("what a sub-agent with an id of more than {ID} bytes says is left out");
            return None;
        }
        let is_new = !self.children.0.contains(id);
        if is_new {
            let id: Arc<str> = id.into();
            // It was told of with the call that has sent it out.
            let is_told = self.calls.peek(&id).is_some_and(super::Call::has_sent_out);
            let child = Child {
                translator: self.of_child(&id),
                id: Arc::clone(&id),
                is_told,
                about: About::default(),
                last: String::new(),
            };
            if let Some((_, mut oldest)) = self.children.0.push(id, child) {
                let left = oldest.translator.finish();
                oldest.tell(left, &mut self.told.events);
            }
        }
        let child = self.children.0.get_mut(id)?;
        Some((child, is_new))
    }

    /// Has every sub-agent's translator say something more.
    pub(super) fn of_each_child(&mut self, say: impl Fn(&mut Self) -> Vec<CoreEvent>) {
        for (_, child) in self.children.0.iter_mut().rev() {
            let said = say(&mut child.translator);
            child.tell(said, &mut self.told.events);
        }
    }

    /// The translator of the sub-agent that has made a call, by the id that the call is told by, and the agent's id of it.
    pub(super) fn made_by_child<'a>(&mut self, call: &'a str) -> Option<(&mut Self, &'a str)> {
        let children = self.children.0.iter_mut();
        let mut found = children.filter_map(|(id, child)| {
            let own = call.strip_prefix(&**id)?.strip_prefix('/')?;
            let is_there = child.translator.calls.contains(own);
            is_there.then_some((&mut child.translator, own))
        });
        found.next()
    }

    /// Keeps what is kept of sub-agents' calls in bounds, as [`Translator::let_go`] does with the agent's own.
    fn let_go_of_children(&mut self) {
        let mut kept = self.children.kept();
        for (_, child) in self.children.0.iter_mut().rev() {
            if kept <= KEPT {
                return;
            }
            kept -= child.translator.kept;
            child.translator.let_go(0);
            kept += child.translator.kept;
            let said = child.translator.told.take();
            child.tell(said, &mut self.told.events);
        }
    }
}
