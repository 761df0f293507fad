//! A core in the process, deterministic, that plays every feature on request.
//!
//! It needs no model, no network and no program, so it is the first run of a newcomer, and the agent
//! of most tests. Asked in plain words it answers from a phrase book ([`Demo::new`]); the words can
//! stand within others, in any case and punctuation, and words that it does not know are answered with
//! the list of those it does. Tests write scripts of their own ([`Demo::playing`],
//! [`Demo::scripted`]): a [`Script`] is a value, a list of [`Step`]s.
//!
//! Every turn binds the session `demo:N`, where N counts the turns of the session from 1. So it can
//! be seen from outside whether a thread goes on in its session, and "how often?" says it in words.
//!
//! It waits for whatever a turn can wait for: tools of the page, permissions, answers ([`Wait`]), one after another
//! and several at once; what became of each it says in words.
//!
//! It makes plans, touches files, fills its context and sends out helpers, so that there is something to see in the state
//! document; what its calls say of that is read off them as it is for a real agent.
//!
//! All waiting is in tokio time. A script ends with [`StopReason::Cancelled`] as soon as the turn is to
//! stop, except where it says that it does not.

mod phrases;
mod play;
mod plays;
mod prompts;
mod script;
mod wait;
mod working;

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

pub use self::{
    script::{Script, Step},
    wait::{Wait, age, to_write, two_questions},
};
use crate::{
    cores::Core,
    deps::{Model, SessionRef, StopReason, TurnError, TurnIo, TurnRequest},
    protocol::{AgentCapabilities, Tool},
};

/// Makes the script of a turn, on a page that has these tools.
type Author = dyn Fn(&TurnRequest, &[Tool]) -> Script + Send + Sync;

/// The core. Cheap to clone.
#[derive(Clone)]
pub struct Demo {
    script: Arc<Author>,
}

impl Demo {
    /// Answers from the phrase book.
    pub fn new() -> Self {
        Self {
            script: Arc::new(phrases::answer),
        }
    }

    /// Plays the same script in every turn.
    pub fn playing(script: Script) -> Self {
        Self::scripted(move |_| script.clone())
    }

    /// Plays what `script` makes of each turn's request.
    pub fn scripted(script: impl Fn(&TurnRequest) -> Script + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(move |request, _| script(request)),
        }
    }
}

impl Default for Demo {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Demo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Demo")
    }
}

impl Core for Demo {
    fn capabilities(&self) -> AgentCapabilities {
        let mut capabilities = AgentCapabilities::default();
        capabilities.transport.streaming = Some(true);
        capabilities.tools.supported = Some(true);
        capabilities.tools.parallel_calls = Some(true);
        capabilities.tools.client_provided = Some(true);
        capabilities.human_in_the_loop.approvals = Some(true);
        capabilities.human_in_the_loop.interrupts = Some(true);
        capabilities.multi_agent.supported = Some(true);
        capabilities.multi_agent.delegation = Some(true);
        capabilities.reasoning.supported = Some(true);
        capabilities.reasoning.streaming = Some(true);
        capabilities
    }

    fn model(&self) -> Option<Model> {
        Some(Model {
            id: "phrase-book".into(),
            name: Some("Phrase book".into()),
            provider: None,
            context_window: None,
        })
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        let script = Arc::clone(&self.script);
        Box::pin(async move {
            let session = format!("demo:{}", turn_number(&request));
            if io.bind(SessionRef::new(&session)).await.is_err() {
                return Ok(StopReason::Cancelled);
            }
            play::play(script(&request, &io.tools()), &io).await
        })
    }
}

/// Which turn of its session a request is for, from 1 on.
fn turn_number(request: &TurnRequest) -> u64 {
    let past = request
        .session
        .known()
        .and_then(|session| session.as_str().strip_prefix("demo:"))
        .and_then(|past| past.parse::<u64>().ok())
        .unwrap_or(0);
    past.saturating_add(1)
}

#[cfg(test)]
mod tests;
