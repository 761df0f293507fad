//! Tool calls: opened once, closed once, answered at most once.

use std::collections::HashMap;

use super::{Check, agrees, breach};
use crate::protocol::{Message, MessageBody, ToolCallId};

/// In the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Calls {
    made: Vec<Call>,
    places: HashMap<ToolCallId, usize>,
    /// Whether what a history holds can be opened again no longer.
    is_sealed: bool,
}

#[derive(Debug)]
struct Call {
    id: ToolCallId,
    owner: Option<String>,
    /// It came in a snapshot, so it may be of an earlier run.
    restated: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    Answered,
}

impl Calls {
    pub(super) fn start(&mut self, id: &ToolCallId, tag: Option<&str>) -> Check {
        let is_sealed = self.is_sealed;
        if let Some(call) = self.get(id) {
            if is_sealed || !call.restated || call.state != State::Closed {
                return breach(format!("tool call `{id}` was started before"));
            }
            if call.owner.as_deref() != tag {
                return breach(format!("tool call `{id}` belongs to another owner"));
            }
            // It turns out to be one of this run.
            call.restated = false;
            call.state = State::Open;
            return Ok(());
        }
        self.push(id, tag, false, State::Open);
        Ok(())
    }

    pub(super) fn more(&mut self, id: &ToolCallId, tag: Option<&str>) -> Check {
        match self.get(id) {
            Some(call) if call.state == State::Open => {
                if agrees(tag, call.owner.as_deref()) {
                    return Ok(());
                }
                breach(format!("tool call `{id}` belongs to another owner"))
            }
            _ => breach(format!("tool call `{id}` is not open")),
        }
    }

    pub(super) fn close(&mut self, id: &ToolCallId, tag: Option<&str>) -> Check {
        self.more(id, tag)?;
        if let Some(call) = self.get(id) {
            call.state = State::Closed;
        }
        Ok(())
    }

    /// A call that this stream never saw is one of an earlier run.
    pub(super) fn answer(&mut self, id: &ToolCallId) -> Check {
        match self.get(id) {
            None => {
                self.push(id, None, true, State::Answered);
                Ok(())
            }
            Some(call) => match call.state {
                State::Open => breach(format!("tool call `{id}` is answered while open")),
                State::Answered => breach(format!("tool call `{id}` is answered twice")),
                State::Closed => {
                    call.state = State::Answered;
                    Ok(())
                }
            },
        }
    }

    pub(super) fn restate(&mut self, messages: &[Message]) -> Check {
        let restated = |id: &ToolCallId| {
            messages.iter().any(|message| match &message.body {
                MessageBody::Assistant { tool_calls, .. } => {
                    tool_calls.iter().any(|call| call.id == *id)
                }
                _ => false,
            })
        };
        let open = self.made.iter().filter(|call| call.state == State::Open);
        if let Some(lost) = open.map(|call| &call.id).find(|id| !restated(id)) {
            return breach(format!("the snapshot drops the open tool call `{lost}`"));
        }
        for message in messages {
            match &message.body {
                MessageBody::Assistant { tool_calls, .. } => {
                    for call in tool_calls {
                        if !self.places.contains_key(&call.id) {
                            let owner = message.subagent_run_id.as_deref();
                            self.push(&call.id, owner, true, State::Closed);
                        }
                    }
                }
                MessageBody::Tool { tool_call_id, .. } => {
                    if let Some(call) = self.get(tool_call_id) {
                        call.state = State::Answered;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Exactly the unanswered calls of this run, in order. Those that were restated are no business of
    /// this run unless it says so.
    pub(super) fn pending_are(&self, listed: &[ToolCallId]) -> Check {
        let mut listed = listed.iter().peekable();
        for call in self.made.iter().filter(|call| call.state == State::Closed) {
            if listed.next_if_eq(&&call.id).is_none() && !call.restated {
                return breach(format!(
                    "pendingToolCallIds lack `{}` in its order",
                    call.id
                ));
            }
        }
        match listed.next() {
            Some(id) => breach(format!(
                "pendingToolCallIds name `{id}`, which is not pending there"
            )),
            None => Ok(()),
        }
    }

    /// From now on nothing that a history holds is opened again.
    pub(super) fn seal(&mut self) {
        self.is_sealed = true;
    }

    pub(super) fn all_closed(&self) -> Check {
        match self.made.iter().find(|call| call.state == State::Open) {
            Some(call) => breach(format!("tool call `{}` is still open", call.id)),
            None => Ok(()),
        }
    }

    /// Whether a known call belongs to somebody else.
    pub(super) fn disagree(&self, id: &str, tag: Option<&str>) -> bool {
        self.made
            .iter()
            .any(|call| call.id.as_str() == id && !agrees(tag, call.owner.as_deref()))
    }

    fn get(&mut self, id: &ToolCallId) -> Option<&mut Call> {
        self.places.get(id).map(|at| &mut self.made[*at])
    }

    fn push(&mut self, id: &ToolCallId, owner: Option<&str>, restated: bool, state: State) {
        self.places.insert(id.clone(), self.made.len());
        self.made.push(Call {
            id: id.clone(),
            owner: owner.map(str::to_owned),
            restated,
            state,
        });
    }
}
