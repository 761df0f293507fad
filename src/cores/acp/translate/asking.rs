//! Requests for permission and questions: which call each is about, and what is told of that before people are asked.

use std::sync::Arc;

use serde_json::Value;

use super::{Call, ID, Translator, asked};
use crate::{
    cores::acp::vendors,
    deps::{CoreEvent, PermissionRequest},
};

impl Translator {
    /// The events that follow from a request for permission (parameters of `session/request_permission`), and what
    /// people are asked, if it says so in measure; what answers it takes is left open. The call is closed then, and so
    /// is every other of which the arguments are known: people see what they decide on.
    pub(in crate::cores::acp) fn ask(
        &mut self,
        params: &Value,
    ) -> (Vec<CoreEvent>, Option<PermissionRequest>) {
        let said = &params["toolCall"];
        let id = said["toolCallId"].as_str().filter(|id| id.len() <= ID);
        let request = match (params["sessionId"].as_str(), id) {
            (Some(session), Some(id)) if session == self.session => match self.maker_of(id) {
                Some(child) => self.within(&child, |own| own.asked(id, said)),
                None => Some(self.asked(id, said)),
            },
            (Some(session), Some(id)) => {
                let asked = self.within(session, |own| own.asked(id, said));
                Some(asked.unwrap_or_else(|| asked::request(said)))
            }
            _ => None,
        };
        let request = request.filter(|request| request.paths.len() <= asked::PATHS);
        if request.is_some() {
            self.close_known();
        }
        (self.told.take(), request)
    }

    /// The events that follow from a question of a session about a call, and the call if it is known. Calls are closed as
    /// for a request for permission.
    pub(in crate::cores::acp) fn question(
        &mut self,
        session: &str,
        about: Option<&str>,
    ) -> (Vec<CoreEvent>, Option<Arc<str>>) {
        self.close_known();
        let call = about.and_then(|id| {
            let child = if session == self.session {
                self.maker_of(id)
            } else {
                Some(session.into()).filter(|_| self.knows(session))
            };
            match child {
                Some(child) => self.within(&child, |own| own.asked_about(id)).flatten(),
                None if session == self.session => self.asked_about(id),
                None => None,
            }
        });
        (self.told.take(), call)
    }

    /// Closes the call that a question is about, if it is known.
    fn asked_about(&mut self, id: &str) -> Option<Arc<str>> {
        let call = self.calls.peek_mut(id)?;
        call.close(&mut self.told);
        Some(Arc::clone(call.id()))
    }

    /// Takes note that a call may go on for which permission was asked.
    pub(in crate::cores::acp) fn allow(&mut self, call: &str) {
        if let Some(call) = self.calls.peek_mut(call) {
            call.allow();
        } else if let Some((child, call)) = self.made_by_child(call) {
            child.allow(call);
        }
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
            let calls = self.calls.iter();
            calls.filter(|(_, call)| call.is_open_call_of(tool))
        };
        let exactly = open().find(|(_, call)| call.is_made_with(input));
        exactly
            .or_else(|| open().next())
            .map(|(id, _)| Arc::clone(id))
    }
}
