//! What can be done with threads besides running something on them: look, follow, stop, forget.

use serde_json::Value;

use super::{Reader, Runtime};
use crate::{
    deps::{AgentName, Principal},
    protocol::{Message, Peer, RunId, ThreadId},
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
    /// Lists the threads of a principal with an agent, the one that was written to last first, at most
    /// `limit` of them from a place on.
    pub async fn threads(
        &self,
        agent: &AgentName,
        principal: &Principal,
        from: Option<Place>,
        limit: usize,
    ) -> Page {
        self.store()
            .list(principal.as_str(), agent.as_str(), from, limit)
            .await
    }

    /// Shows a thread.
    ///
    /// # Errors
    /// There is none.
    pub async fn thread(&self, key: &Key) -> Result<View, UnknownThread> {
        let (Some(thread), _) = self.store().look(key, None).await else {
            return Err(UnknownThread);
        };
        let lines = thread.transcript.lines.into_iter();
        Ok(View {
            thread: key.thread.clone(),
            title: thread.title,
            created_ms: thread.created_ms,
            updated_ms: thread.updated_ms,
            live_run: None,
            last_run: thread.last_run,
            messages: (!thread.transcript.is_partial)
                .then(|| lines.map(|line| line.message).collect()),
            state: Value::Null,
        })
    }

    /// Follows a thread as a viewer: its state, its messages, what is open, and what is said from now on, to
    /// the end of the live run. Where `last` is the id of a place in the live run, only what comes after that.
    ///
    /// # Errors
    /// There is none.
    pub async fn watch(
        &self,
        key: &Key,
        peer: Peer,
        last: Option<&str>,
    ) -> Result<Watch, UnknownThread> {
        let _ = (self.store().look(key, None).await, peer, last);
        Err(UnknownThread)
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
        let _ = (self.store().look(key, only).await, only);
        Err(UnknownThread)
    }

    /// Forgets a thread: stops what runs on it, lets go of its session, and drops what is kept.
    ///
    /// # Errors
    /// There is none.
    pub async fn forget(&self, key: &Key) -> Result<(), UnknownThread> {
        if self.store().forget(key).await {
            Ok(())
        } else {
            Err(UnknownThread)
        }
    }
}
