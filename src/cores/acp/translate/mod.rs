//! Turns what an agent says in a turn into the adapter's events. Synchronous, and of plain JSON.
//!
//! Text, thoughts, calls and their results have events. All else is a notice, without what vendors add
//! for themselves, of at most [`bounds::NOTICE`] bytes; what is cut says `truncated`. Of a call:
//!
//! | notice | says | when |
//! | --- | --- | --- |
//! | `acp.tool_call` | `{name?, title?, kind?, status?}`, or `{rawInput}` if the agent corrects what went out | when it changes |
//! | `acp.locations` | `{locations: [{path, line?}]}` | when they change |
//! | `acp.diff` | `{path, oldText, newText}`, of large files the lines around the change | when it changes, and before the result |
//! | `acp.terminal` | `{terminalId, command?, cwd?, output?, replaces?, exitCode?, signal?}` | as it comes |
//! | `acp.output` | `{delta}`, or `{text}` from the start | while the call goes on |
//! | `acp.content` | `{type, mimeType?, bytes, truncated}` of media too large for the result | with the result |
//!
//! Of none: `acp.content` (media in a message), `acp.plan` (also of todo tools), `acp.subagent` (what is
//! said in another session) and `acp.KIND` for every other kind of update, known or not.

mod arguments;
mod asked;
mod bounds;
mod call;
mod diff;
mod notices;
mod shown;
mod terminal;

use std::sync::Arc;

use lru::LruCache;
use serde_json::{Value, json};
use tracing::debug;

pub(super) use self::{
    bounds::{NAME, clip, size},
    shown::part,
};
use self::{
    call::Call,
    notices::{Notices, of_subagent},
};
use super::{
    usage,
    vendors::{self, Vendor},
};
use crate::deps::{CoreEvent, MAX_CALLS, PermissionRequest};

/// What the result of a call says that was not let go on, when the agent itself says nothing.
const REFUSED: &str = "not run: permission was not granted";
/// The longest id of a call, in bytes. No agent is known to have ids of more than a hundred.
const ID: usize = 256;
/// How much is kept of the calls of a turn until they end, in bytes. The oldest are let go of for more:
/// their arguments go out as they are known, and what they showed is not in their results.
const KEPT: usize = 8 * 1024 * 1024;

/// Follows one turn of one session.
pub(super) struct Translator {
    session: String,
    workdir: String,
    vendor: Vendor,
    /// By the agent's ids, the latest first: a look at a call does not move it.
    calls: LruCache<Arc<str>, Call>,
    /// How much is kept of them, in bytes.
    kept: usize,
    /// The kind and message id of the last chunk.
    speaking: Option<(Voice, Option<String>)>,
    notices: Notices,
    model: Option<String>,
    events: Vec<CoreEvent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Text,
    Thought,
}

impl Translator {
    /// For a turn of `session`, whose agent works in `workdir` and has the habits of `vendor`.
    pub(super) fn new(session: &str, workdir: &str, vendor: Vendor) -> Self {
        Self {
            session: session.to_owned(),
            workdir: workdir.to_owned(),
            vendor,
            calls: LruCache::new(MAX_CALLS),
            kept: 0,
            speaking: None,
            notices: Notices::default(),
            model: None,
            events: Vec::new(),
        }
    }

    /// The model that answered last, if the agent says so with its updates (Claude).
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The events that follow from an update (parameters of `session/update`).
    pub(super) fn translate(&mut self, mut params: Value) -> Vec<CoreEvent> {
        let update = params["update"].take();
        match params["sessionId"].as_str() {
            Some(session) if session == self.session => self.update(update),
            Some(session) => self.foreign(session, update),
            None => debug!("an update of no session is left out"),
        }
        std::mem::take(&mut self.events)
    }

    /// The events that follow from a request for permission (parameters of `session/request_permission`), and what
    /// people are asked, if it says so in measure; what answers it takes is left open. The call is closed then, and so
    /// is every other of which the arguments are known: people see what they decide on.
    pub(super) fn ask(&mut self, params: &Value) -> (Vec<CoreEvent>, Option<PermissionRequest>) {
        let said = &params["toolCall"];
        let id = said["toolCallId"].as_str().filter(|id| id.len() <= ID);
        let request = match (params["sessionId"].as_str(), id) {
            (Some(session), Some(id)) if session == self.session => Some(self.asked(id, said)),
            (Some(session), Some(_)) => {
                let kind = "request_permission";
                self.foreign(session, json!({"sessionUpdate": kind, "toolCall": said}));
                Some(asked::request(said))
            }
            _ => None,
        };
        let request = request.filter(|request| request.paths.len() <= asked::PATHS);
        if request.is_some() {
            self.close_known();
        }
        (std::mem::take(&mut self.events), request)
    }

    /// The events that follow from a question of a session about a call, and the call if it is known. Calls are closed as
    /// for a request for permission.
    pub(super) fn question(
        &mut self,
        session: &str,
        about: Option<&str>,
    ) -> (Vec<CoreEvent>, Option<Arc<str>>) {
        self.close_known();
        let about = about.filter(|_| session == self.session);
        let call = about.and_then(|id| self.calls.peek_mut(id));
        let call = call.map(|call| {
            call.close(&mut self.events);
            Arc::clone(call.id())
        });
        (std::mem::take(&mut self.events), call)
    }

    /// Takes note that a call may go on for which permission was asked.
    pub(super) fn allow(&mut self, call: &str) {
        if let Some(call) = self.calls.peek_mut(call) {
            call.allow();
        }
    }

    /// Closes the calls of which the arguments are known.
    pub(super) fn show_known(&mut self) -> Vec<CoreEvent> {
        self.close_known();
        std::mem::take(&mut self.events)
    }

    fn close_known(&mut self) {
        for (_, call) in self.calls.iter_mut().rev() {
            call.close_known(&mut self.events);
        }
        self.recount();
    }

    /// What is known of the arguments of calls that have not ended, as if nothing more came of them.
    pub(super) fn close_calls(&mut self) -> Vec<CoreEvent> {
        for (_, call) in self.calls.iter_mut().rev() {
            call.close(&mut self.events);
        }
        std::mem::take(&mut self.events)
    }

    /// What is still owed when the turn is over: results of the calls that were refused. Whatever else
    /// is open, nobody knows the end of.
    pub(super) fn finish(&mut self) -> Vec<CoreEvent> {
        while let Some((_, call)) = self.calls.pop_lru() {
            call.give_up(REFUSED, &mut self.events);
        }
        self.kept = 0;
        std::mem::take(&mut self.events)
    }

    fn update(&mut self, update: Value) {
        if let Some(model) = update["_meta"]["_claude/model"].as_str() {
            self.model = Some(bounds::clip(model, bounds::NAME).to_owned());
        }
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.chunk(Voice::Text, &update),
            "agent_thought_chunk" => self.chunk(Voice::Thought, &update),
            "tool_call" | "tool_call_update" => self.tool_call(&update),
            // What the person said is known.
            "user_message_chunk" => {}
            _ => self.notice(update),
        }
    }

    fn chunk(&mut self, voice: Voice, update: &Value) {
        self.events
            .extend(usage::of_chunk(update).map(|spent| CoreEvent::Usage(spent.into())));
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
        if let Some(aside) = self.vendor.aside(update, text) {
            return self.update(aside);
        }
        let message = update["messageId"].as_str().map(str::to_owned);
        if let Some((last, id)) = &self.speaking
            && *last == voice
            && *id != message
        {
            self.events.push(CoreEvent::MessageEnd);
        }
        self.speaking = Some((voice, message));
        self.events.push(match voice {
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

    /// A permission request can be the first that is heard of a call.
    fn asked(&mut self, id: &str, said: &Value) -> PermissionRequest {
        let mut announced = said.clone();
        let mut about: Arc<str> = id.into();
        if !self.calls.contains(id)
            && let Some(tool) = vendors::tool_asked_for(id, &self.session)
        {
            if let Some(call) = self.blocked(tool, &announced["rawInput"]) {
                about = call;
            } else if announced["name"].is_null() {
                announced["name"] = tool.into();
            }
        }
        self.with_call(&about, &announced, Call::ask);
        let call = self.calls.peek(&about);
        call.expect("it was just put in").request(&announced)
    }

    /// The call of a tool that waits for permission: the one made with these arguments, else the last.
    fn blocked(&self, tool: &str, input: &Value) -> Option<Arc<str>> {
        let open = || {
            let calls = self.calls.iter().map(|(_, call)| call);
            calls.filter(|call| call.is_open_call_of(tool))
        };
        let exactly = open().find(|call| call.is_made_with(input));
        exactly
            .or_else(|| open().next())
            .map(|call| Arc::clone(call.id()))
    }

    /// Follows what is said of a call, which may be new. The oldest may be given up for it.
    fn with_call(
        &mut self,
        id: &str,
        said_of_it: &Value,
        follow: fn(&mut Call, &Value, &str, &mut Vec<CoreEvent>),
    ) {
        if id.len() > ID {
            return debug!("a call with an id of more than {ID} bytes is left out");
        }
        let mut said = Vec::new();
        if !self.calls.contains(id) {
            let id: Arc<str> = id.into();
            let call = Call::open(Arc::clone(&id), said_of_it, &mut said);
            if let Some((_, oldest)) = self.calls.push(id, call) {
                self.kept -= oldest.size();
                oldest.give_up(REFUSED, &mut self.events);
            }
        }
        let call = self.calls.peek_mut(id).expect("it was just put in");
        let before = call.size();
        follow(call, said_of_it, &self.workdir, &mut said);
        self.kept = self.kept + call.size() - before;
        let ends_message = |event: &CoreEvent| {
            matches!(
                event,
                CoreEvent::ToolCallOpened { .. } | CoreEvent::ToolCallResult { .. }
            )
        };
        if said.iter().any(ends_message) {
            self.speaking = None;
        }
        said.retain(|event| self.notices.is_news(event));
        self.events.append(&mut said);
        self.let_go();
    }

    fn recount(&mut self) {
        self.kept = self.calls.iter().map(|(_, call)| call.size()).sum();
    }

    /// Keeps what is kept in bounds: of the oldest calls first the arguments go, then what they showed.
    fn let_go(&mut self) {
        for (_, call) in self.calls.iter_mut().rev() {
            if self.kept <= KEPT {
                return;
            }
            let others = self.kept - call.size();
            call.close(&mut self.events);
            if others + call.size() > KEPT {
                call.forget();
            }
            self.kept = others + call.size();
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
        // Without ids, what stands between two chunks is all that tells two messages apart.
        if !is_standing && matches!(self.speaking, Some((_, None))) {
            self.speaking = None;
            self.events.push(CoreEvent::MessageEnd);
        }
        self.events.push(notice);
    }

    /// What is said in a session of an agent of the agent is no part of this conversation.
    fn foreign(&mut self, session: &str, said: Value) {
        if said["sessionUpdate"].is_string() && said["content"]["text"] != "" {
            self.events.push(of_subagent(session, said));
        }
    }
}

#[cfg(test)]
mod tests;
