//! Turns what an agent says in a turn into the adapter's events. Synchronous, and of plain JSON.
//!
//! Text, thoughts, calls and their results have events, and so have plans, the context, diffs and the files that calls
//! touch, and sub-agents and all that they say. All else is a notice, without what vendors add for themselves, of at
//! most [`bounds::NOTICE`] bytes; what is cut says `truncated`. Of a call:
//!
//! | notice | says | when |
//! | --- | --- | --- |
//! | `acp.tool_call` | `{name?, title?, kind?, status?}`, or `{rawInput}` if the agent corrects what went out | when it changes |
//! | `acp.locations` | `{locations: [{path, line?}]}` | when they change |
//! | `acp.terminal` | `{terminalId, command?, cwd?, output?, replaces?, exitCode?, signal?}` | as it comes |
//! | `acp.output` | `{delta}`, or `{text}` from the start | while the call goes on |
//! | `acp.content` | `{type, mimeType?, bytes, truncated}` of media too large for the result | with the result |
//!
//! Of none: `acp.content` (media in a message), and `acp.KIND` for every other kind of update, known or not. One of a
//! sub-agent's session says so in `subAgent`.

mod announced;
mod arguments;
mod asked;
mod asking;
mod bounds;
mod call;
mod children;
mod diff;
mod notices;
mod shown;
mod terminal;
mod told;

use std::{num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use serde_json::{Value, json};
use tracing::debug;

use self::{announced::Announced, call::Call, children::Children, notices::Notices, told::Told};
pub(super) use self::{
    bounds::{NAME, clip, size},
    shown::part,
};
use super::{
    usage::{self, Gauge, Spent},
    vendors::{self, Vendor},
};
use crate::{
    cores::traffic::of_entries,
    deps::{CoreEvent, MAX_CALLS},
};

/// What the result of a call says that was not let go on, when the agent itself says nothing.
const REFUSED: &str = "not run: permission was not granted";
/// The longest id of a call, in bytes. No agent is known to have ids of more than a hundred.
const ID: usize = 256;
/// How many calls of a sub-agent are told apart.
const CALLS_OF_CHILD: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");
/// How much is kept of the calls of a turn until they end, in bytes. The oldest are let go of for more:
/// their arguments go out as they are known, and what they showed is not in their results.
const KEPT: usize = 8 * 1024 * 1024;

/// Follows one turn of one session.
pub(super) struct Translator {
    session: String,
    vendor: Vendor,
    /// The sub-agent that it follows, if it is not the agent itself. Its calls are told by ids that no other's have.
    child: Option<Arc<str>>,
    children: Children,
    /// By the agent's ids, the latest first: a look at a call does not move it.
    calls: LruCache<Arc<str>, Call>,
    /// How much is kept of them, in bytes.
    kept: usize,
    /// The call that may have sent a sub-agent out by now.
    launching: Option<Arc<str>>,
    /// The kind and message id of the last chunk.
    speaking: Option<(Voice, Option<String>)>,
    notices: Notices,
    gauge: Gauge,
    model: Option<String>,
    told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Text,
    Thought,
}

impl Translator {
    /// For a turn of `session`, whose agent works in `workdir` and has the habits of `vendor`.
    pub(super) fn new(session: &str, workdir: &str, vendor: Vendor) -> Self {
        Self::with(session, vendor, MAX_CALLS, Told::new(workdir))
    }

    /// For what a sub-agent says in the same turn.
    fn of_child(&self, id: &Arc<str>) -> Self {
        Self {
            child: Some(Arc::clone(id)),
            ..Self::with(id, self.vendor, CALLS_OF_CHILD, self.told.of_child())
        }
    }

    fn with(session: &str, vendor: Vendor, calls: NonZeroUsize, told: Told) -> Self {
        Self {
            session: session.to_owned(),
            vendor,
            child: None,
            children: Children::new(),
            calls: LruCache::new(calls),
            kept: 0,
            launching: None,
            speaking: None,
            notices: Notices::default(),
            gauge: Gauge::default(),
            model: None,
            told,
        }
    }

    /// The model that answered last, if the agent says so with its updates (Claude).
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// What follows from what the turn has spent.
    pub(super) fn settle(&self, spent: &Spent) -> Option<CoreEvent> {
        let context = self.gauge.settle(spent)?;
        Some(CoreEvent::Context(context.into()))
    }

    /// The events that follow from an update (parameters of `session/update`).
    pub(super) fn translate(&mut self, mut params: Value) -> Vec<CoreEvent> {
        let update = params["update"].take();
        match params["sessionId"].as_str() {
            Some(session) if session == self.session => self.update(update),
            Some(session) => self.foreign(session, update),
            None => debug!("an update of no session is left out"),
        }
        self.told.take()
    }

    /// Closes the calls of which the arguments are known.
    pub(super) fn show_known(&mut self) -> Vec<CoreEvent> {
        self.close_known();
        self.told.take()
    }

    fn close_known(&mut self) {
        for (_, call) in self.calls.iter_mut().rev() {
            call.close_known(&mut self.told);
        }
        self.kept = self.calls.iter().map(|(_, call)| call.size()).sum();
        self.of_each_child(Self::show_known);
    }

    /// What is known of the arguments of calls that have not ended, as if nothing more came of them.
    pub(super) fn close_calls(&mut self) -> Vec<CoreEvent> {
        for (_, call) in self.calls.iter_mut().rev() {
            call.close(&mut self.told);
        }
        self.told.take()
    }

    /// What is still owed when the turn is over: results of the calls that were refused. Whatever else
    /// is open, nobody knows the end of.
    pub(super) fn finish(&mut self) -> Vec<CoreEvent> {
        while let Some((_, call)) = self.calls.pop_lru() {
            call.give_up(REFUSED, &mut self.told);
        }
        self.of_each_child(Self::finish);
        self.kept = 0;
        self.told.take()
    }

    fn update(&mut self, update: Value) {
        let sent_out_by = vendors::sent_out_by(&update).filter(|_| self.child.is_none());
        if let Some(child) = sent_out_by.and_then(|call| self.speaker(call)) {
            self.within(&child, |own| own.update(update));
            return;
        }
        if self.announces(&update) {
            return;
        }
        if let Some(model) = update["_meta"]["_claude/model"].as_str() {
            self.model = Some(bounds::clip(model, bounds::NAME).to_owned());
        }
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => {
                self.chunk(Voice::Text, &update);
                if let Some((id, status)) = vendors::came_back(&update) {
                    self.announce(id, Announced::of_status(status));
                }
            }
            "agent_thought_chunk" => self.chunk(Voice::Thought, &update),
            "tool_call" | "tool_call_update" => self.tool_call(&update),
            "plan" => self.plan(&update["entries"]),
            "plan_update" if update["plan"]["type"] == "items" => {
                self.plan(&update["plan"]["entries"]);
            }
            "usage_update" => {
                let context = self.gauge.read(&update);
                self.told.events.push(CoreEvent::Context(context.into()));
            }
            // What the person said is known.
            "user_message_chunk" => {}
            _ => self.notice(update),
        }
    }

    fn chunk(&mut self, voice: Voice, update: &Value) {
        if let Some(spent) = usage::of_chunk(update) {
            let context = self.gauge.add(&spent);
            let spent = [
                CoreEvent::Usage(spent.into()),
                CoreEvent::Context(context.into()),
            ];
            self.told.events.extend(spent);
        }
        let content = &update["content"];
        let Some(text) = content["text"]
            .as_str()
            .filter(|_| content["type"] == "text")
        else {
            return self.notice(json!({"sessionUpdate": "content", "content": content}));
        };
        if text.is_empty() {
            return;
        }
        self.launch(None);
        if let Some(aside) = self.vendor.aside(update, text) {
            return self.update(aside);
        }
        let message = update["messageId"].as_str().map(str::to_owned);
        if let Some((last, id)) = &self.speaking
            && *last == voice
            && *id != message
        {
            self.told.events.push(CoreEvent::MessageEnd);
        }
        self.speaking = Some((voice, message));
        self.told.events.push(match voice {
            Voice::Text => CoreEvent::Text(text.to_owned()),
            Voice::Thought => CoreEvent::Reasoning(text.to_owned()),
        });
    }

    fn tool_call(&mut self, update: &Value) {
        let Some(id) = update["toolCallId"].as_str() else {
            return debug!("an update of no call is left out");
        };
        self.with_call(id, update, Call::follow);
    }

    /// Follows what is said of a call, which may be new. The oldest may be given up for it.
    fn with_call(
        &mut self,
        id: &str,
        said_of_it: &Value,
        follow: fn(&mut Call, &Value, &mut Told),
    ) {
        if id.len() > ID {
            return debug!("a call with an id of more than {ID} bytes is left out");
        }
        self.launch(Some(id));
        let before = self.told.take();
        if !self.calls.contains(id) {
            if self.calls.len() == self.calls.cap().get()
                && let Some((_, oldest)) = self.calls.pop_lru()
            {
                self.kept -= oldest.size();
                oldest.give_up(REFUSED, &mut self.told);
            }
            let id: Arc<str> = id.into();
            let told_by = match &self.child {
                Some(child) => format!("{child}/{id}").into(),
                None => Arc::clone(&id),
            };
            let call = Call::open(told_by, said_of_it, &mut self.told);
            self.calls.push(id, call);
        }
        let call = self.calls.peek_mut(id).expect("it was just put in");
        let size = call.size();
        follow(call, said_of_it, &mut self.told);
        self.kept = self.kept + call.size() - size;
        if call.may_send_out() {
            self.launching = Some(id.into());
        }
        let ends_message = |event: &CoreEvent| {
            matches!(
                event,
                CoreEvent::ToolCallOpened { .. } | CoreEvent::ToolCallResult { .. }
            )
        };
        if self.told.events.iter().any(ends_message) {
            self.speaking = None;
        }
        let said = std::mem::replace(&mut self.told.events, before);
        let news = said.into_iter().filter(|event| self.notices.is_news(event));
        self.told.events.extend(news);
        self.let_go(KEPT);
    }

    /// Closes the call that may have sent a sub-agent out, unless something is said of just that one: an agent that goes on to
    /// other things has said all of its arguments (Copilot, which does not say that it is under way).
    fn launch(&mut self, but: Option<&str>) {
        let launching = self.launching.take_if(|id| Some(&**id) != but);
        if let Some(call) = launching.and_then(|id| self.calls.peek_mut(&id)) {
            let size = call.size();
            call.close(&mut self.told);
            self.kept = self.kept + call.size() - size;
        }
    }

    /// Keeps what is kept in bounds: of the oldest calls first the arguments go, then what they showed.
    fn let_go(&mut self, most: usize) {
        for (_, call) in self.calls.iter_mut().rev() {
            if self.kept <= most {
                return;
            }
            let others = self.kept - call.size();
            call.close(&mut self.told);
            if others + call.size() > most {
                call.forget();
            }
            self.kept = others + call.size();
        }
    }

    /// Passes on what is to be done.
    fn plan(&mut self, entries: &Value) {
        let plan = CoreEvent::Todos(of_entries(entries));
        if self.notices.is_news(&plan) {
            self.interrupt();
            self.told.events.push(plan);
        }
    }

    /// Takes note that something stands between two chunks: without ids, that is all that tells two messages apart.
    fn interrupt(&mut self) {
        if matches!(self.speaking, Some((_, None))) {
            self.speaking = None;
            self.told.events.push(CoreEvent::MessageEnd);
        }
    }

    /// Passes on what AG-UI has no event for.
    fn notice(&mut self, update: Value) {
        let is_standing = update["sessionUpdate"]
            .as_str()
            .is_some_and(notices::is_standing);
        let Some(notice) = self.notices.of(update) else {
            return;
        };
        if !is_standing {
            self.interrupt();
        }
        self.told.events.push(notice);
    }
}

#[cfg(test)]
mod tests;
