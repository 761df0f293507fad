//! What can be done with threads besides running something on them: list, look, stop, forget.

use std::collections::HashMap;

use serde_json::Value;
use tracing::info;

use super::{
    Busy, Reader, Runtime, StartError,
    live::{Live, Sight, Stage},
    opening::whole,
    slots::{Claim, Served},
};
use crate::{
    deps::{AgentName, Principal},
    protocol::{Interrupt, Message, RunId, ThreadId, ToolCallId},
    store::{Key, Page, Place, Run},
};

/// A thread as somebody who asks for it is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The client's id of it.
    pub thread: ThreadId,
    /// What it is called.
    pub title: Option<String>,
    /// When it began, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// When it was last written to.
    pub updated_ms: i64,
    /// The run that is live.
    pub live_run: Option<RunId>,
    /// The run that was started last.
    pub last_run: Option<Run>,
    /// What was said, also in a live run; `None` if the daemon has not the whole of it.
    pub messages: Option<Vec<Message>>,
    /// The state document.
    pub state: Value,
    /// The interrupts that wait for an answer.
    pub interrupts: Vec<Interrupt>,
    /// The calls of the page's tools that wait for an answer.
    pub pending: Vec<ToolCallId>,
}

/// No thread of that name, or somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("find a thread of that name")]
pub struct UnknownThread;

/// What a viewer that has seen a part already gets.
#[derive(Debug)]
pub enum Watch {
    /// A stream.
    Stream(Reader),
    /// Nothing: it has seen the run that was live to its end, and no other is live.
    Seen,
}

impl Runtime {
    /// What the thread of a principal with an agent is known by.
    pub fn key(agent: &AgentName, principal: &Principal, thread: &ThreadId) -> Key {
        Key {
            principal: principal.as_str().into(),
            agent: agent.as_str().into(),
            thread: thread.clone(),
        }
    }

    /// Lists the threads of a principal with an agent, the one that was written to last first, at most
    /// `limit` of them from a place on.
    pub async fn threads(
        &self,
        agent: &AgentName,
        principal: &Principal,
        from: Option<Place>,
        limit: usize,
    ) -> Page {
        let (principal, agent) = (principal.as_str(), agent.as_str());
        self.0.store.list(principal, agent, from, limit).await
    }

    /// The runs that are live, on all threads. To be asked before what is kept is looked at: a run that ends
    /// in between is not taken for one that was lost.
    pub fn live_runs(&self) -> HashMap<Key, RunId> {
        self.0.slots.runs()
    }

    /// The run that is live on a thread.
    pub fn live_run(&self, key: &Key) -> Option<RunId> {
        self.0.slots.live(key).map(|live| live.run.clone())
    }

    /// Shows a thread.
    ///
    /// # Errors
    /// There is none.
    pub async fn thread(&self, key: &Key) -> Result<View, UnknownThread> {
        let asked = self.0.slots.asked(key);
        let live = self.0.slots.live(key);
        // Before it is looked up: what ends after that is not taken for lost.
        let live_run = live.as_ref().map(|live| live.run.clone());
        let sight = match &live {
            Some(live) if live.opened().await == Stage::Open => live.look().await,
            _ => None,
        };
        let (Some(thread), _) = self.0.store.look(key, None).await else {
            return Err(UnknownThread);
        };
        let Sight { state, messages } = sight.unwrap_or_else(|| Sight {
            state: self.kept_document(key, &thread).snapshot(),
            messages: whole(&thread.transcript),
        });
        Ok(View {
            thread: key.thread.clone(),
            title: thread.title,
            created_ms: thread.created_ms,
            updated_ms: thread.updated_ms,
            live_run,
            last_run: thread.last_run,
            messages,
            state,
            interrupts: asked.as_ref().map_or_else(Vec::new, |it| it.interrupts()),
            pending: asked.map_or_else(Vec::new, |it| it.calls()),
        })
    }

    /// Stops the live run of a thread, and the runs that wait for it; `only`: none but this one. Answers once it
    /// has ended, with the run that was stopped.
    ///
    /// # Errors
    /// There is no such thread.
    pub async fn cancel(
        &self,
        key: &Key,
        only: Option<&RunId>,
    ) -> Result<Option<RunId>, UnknownThread> {
        if let Some(live) = self.0.slots.stop(key, only) {
            live.over().await;
            return Ok(Some(live.run.clone()));
        }
        if self.live_run(key).is_some() {
            return Ok(None);
        }
        let is_known = self.0.store.knows(key).await;
        is_known.then_some(None).ok_or(UnknownThread)
    }

    /// Forgets a thread: stops what runs on it, lets go of its session, and drops what is kept. It goes on also
    /// if nobody waits for it.
    ///
    /// # Errors
    /// There is none, or it cannot be taken out of use now.
    pub async fn forget(&self, key: &Key) -> Result<(), StartError> {
        // Counted before the thread is claimed: whoever drains either refuses this or waits for it.
        let _counted = self.0.turns.token();
        let (runtime, key) = (self.clone(), key.clone());
        let forgetting = self
            .0
            .turns
            .spawn(async move { runtime.forgotten(&key).await });
        forgetting.await.unwrap_or(Err(StartError::Internal))
    }

    async fn forgotten(&self, key: &Key) -> Result<(), StartError> {
        // Nothing may begin on it meanwhile, so it is taken as a run takes it.
        let live = Live::forgetting(self.log());
        let _slot = match self.0.slots.claim(key, &live, Busy::Replace)? {
            Claim::Mine(slot) => slot,
            Claim::Waiting(ticket) => match ticket.wait().await? {
                Served::Slot(slot) => slot,
                Served::Parked => return Err(StartError::Internal),
            },
            Claim::Same(_) | Claim::Parked => return Err(StartError::Internal),
        };
        let (Some(thread), _) = self.0.store.look(key, None).await else {
            return Err(StartError::UnknownThread);
        };
        self.0.store.forget(key).await;
        self.let_go(key, thread.session).await;
        info!(thread = %key.thread, agent = &*key.agent, "a thread was forgotten");
        Ok(())
    }
}
