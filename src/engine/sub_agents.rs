//! The sub-agents of a turn as a run tells of them (AG-UI 1.0, sub-agents): each is an invocation with a course of its own.
//!
//! The state document says how sub-agents stand; a run says what becomes of them while it lasts. One that goes on when its
//! run ends is suspended there, and comes back under the same id in the next run of the turn that tells of it.

use std::{num::NonZeroUsize, sync::Arc};

use lru::LruCache;

use super::{bounds, writer::Writer};
use crate::{
    protocol::{Body, SubagentOutcome, ToolCallId, downgrade::CANCELLED},
    state::{Document, Role, SubAgent, SubAgentStatus, SubAgentUpdate},
};

/// How many sub-agents of a turn are told apart. The one unheard of for longest is forgotten.
const KNOWN: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// How many may be active at once. What more of them say is left out.
const ACTIVE: usize = 64;

/// The sub-agents of one turn, by the core's own ids.
#[derive(Debug)]
pub(super) struct SubAgents(LruCache<Arc<str>, Invocation>);

#[derive(Debug)]
struct Invocation {
    /// What it is called on the wire.
    run: Arc<str>,
    started: Body,
    has_ended: bool,
    outlives_turn: bool,
}

impl SubAgents {
    pub(super) fn new() -> Self {
        Self(LruCache::new(KNOWN))
    }

    /// Tells what an update means. `before`: how far it was; `now`: what is known with the update; `call`: the call that has
    /// sent it out.
    pub(super) fn follow(
        &mut self,
        update: &SubAgentUpdate,
        before: Option<SubAgentStatus>,
        now: &SubAgent,
        call: Option<ToolCallId>,
        writer: &mut Writer,
    ) {
        let is_news = before.is_none_or(|before| !before.has_ended());
        if now.status.has_ended() && !is_news {
            return;
        }
        let known = self.0.get(&update.id);
        if known.is_none_or(|known| known.has_ended) {
            let invocation = Invocation {
                run: writer.id("subagent").into(),
                started: started(now, call),
                has_ended: false,
                outlives_turn: update.outlives_turn,
            };
            self.0.push(Arc::clone(&update.id), invocation);
        }
        if self.begin(&update.id, writer)
            && let Some(invocation) = self.0.get_mut(&update.id)
            && let Some(ended) = ended(now)
        {
            invocation.has_ended = true;
            writer.end_sub_agent(&invocation.run, ended);
        }
    }

    /// Has one be active that has not ended. Returns whether it is.
    fn begin(&mut self, id: &Arc<str>, writer: &mut Writer) -> bool {
        let Some(invocation) = self.0.get(id).filter(|known| !known.has_ended) else {
            return false;
        };
        if writer.is_active(&invocation.run) {
            return true;
        }
        let has_room = writer.active() < ACTIVE;
        if has_room {
            let started = invocation.started.clone();
            writer.begin_sub_agent(&invocation.run, started, invocation.outlives_turn);
        }
        has_room
    }

    /// Has one speak, if it can. [`Writer::hand_back`] ends that.
    pub(super) fn hand_over(&mut self, id: &Arc<str>, writer: &mut Writer) -> bool {
        self.begin(id, writer)
            && self
                .0
                .get(id)
                .is_some_and(|invocation| writer.hand_over(&invocation.run))
    }

    /// Notes in the document that those which end with the turn did not come to an end of their own, as the turn was stopped.
    pub(super) fn stop(&mut self, writer: &mut Writer, state: &mut Document) {
        let own = self.0.iter_mut();
        for (id, invocation) in own.filter(|(_, it)| !it.has_ended && !it.outlives_turn) {
            invocation.has_ended = true;
            let stopped = SubAgentUpdate::new(Arc::clone(id), Some(SubAgentStatus::Cancelled));
            if let Ok(Some(patch)) = state.update_sub_agent(&stopped) {
                writer.state_delta(patch);
            }
        }
    }
}

/// How it begins. It is called by what is known of it that tells most.
fn started(now: &SubAgent, call: Option<ToolCallId>) -> Body {
    let about = &now.about;
    let role = about.role.map(Role::as_str);
    let name = role
        .or(about.persona.as_deref())
        .or(about.engine.as_deref());
    Body::SubagentStarted {
        name: bounds::clip(name.unwrap_or("sub-agent"), bounds::NAME).into(),
        description: about.prompt.clone(),
        parent_subagent_run_id: None,
        parent_tool_call_id: call,
        parent_message_id: None,
    }
}

/// How it ends, if it has ended.
fn ended(now: &SubAgent) -> Option<Body> {
    let failed = |message: Option<&String>, code| Body::SubagentError {
        message: message
            .map_or("the sub-agent did not say why", String::as_str)
            .into(),
        code,
    };
    let about = &now.about;
    match now.status {
        SubAgentStatus::Completed => Some(Body::SubagentFinished {
            result: about.summary.as_deref().map(Into::into),
            outcome: Some(SubagentOutcome::Success),
        }),
        SubAgentStatus::Failed => Some(failed(
            about.error.as_ref().or(about.summary.as_ref()),
            None,
        )),
        SubAgentStatus::Cancelled => {
            let message = about
                .error
                .clone()
                .unwrap_or_else(|| "the sub-agent was cancelled".into());
            Some(failed(Some(&message), Some(CANCELLED.into())))
        }
        SubAgentStatus::Pending
        | SubAgentStatus::Running
        | SubAgentStatus::Paused
        | SubAgentStatus::Awaited => None,
    }
}
