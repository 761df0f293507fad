//! An agent outside of any turn, for whoever wants to know whether it works, or logs in to it.
//!
//! It is started, talked to and ended by what turns use too, so that what is found here holds there.

mod about;
mod terminal;

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, sync::Arc};

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::debug;

pub use self::{
    about::{About, Login, Way},
    terminal::Terminal,
};
use super::{
    board::Side,
    failure::{End, Explained, Failure},
    options::Options,
    process::Manner,
    session,
    settings::Offers,
    worker::{self, Work, Worker},
};
use crate::deps::{Settings, TurnError};

/// A running agent that no turn uses. Dropped, it ends as after [`Probe::end`], but nobody waits for it.
pub struct Probe {
    worker: Worker,
    _closing: DropGuard,
    options: Arc<Options>,
    tasks: TaskTracker,
}

/// How an agent has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, once its input was closed.
    Alone,
    /// It had to be told.
    Told,
    /// It had to be killed.
    Killed,
}

impl Probe {
    /// Starts the agent and agrees on a version with it.
    ///
    /// # Errors
    /// It cannot be started, or does not speak ACP. It is gone by then.
    pub async fn start(options: Options) -> Result<Self, TurnError> {
        let options = Arc::new(options);
        let tasks = TaskTracker::new();
        let closing = CancellationToken::new();
        let (starting, run) = worker::start(Work {
            options: Arc::clone(&options),
            side: Side::alone(),
            tools: None,
            closing: closing.clone(),
        });
        tasks.spawn(run);
        let worker = starting.ready().await;
        let worker = worker.map_err(|why| why.into_turn_error(&options))?;
        Ok(Self {
            worker,
            _closing: closing.drop_guard(),
            options,
            tasks,
        })
    }

    /// What it says of itself.
    pub fn about(&self) -> About {
        About::read(&self.worker.hello, &self.options)
    }

    /// Opens a session, answers with what can be chosen in it, and removes it again as far as the agent can
    /// do that (ACP `session/close`, `session/delete`). Those that cannot may list it among theirs.
    ///
    /// # Errors
    /// With the code `auth_required` it wants a login first; with another it has none for us.
    pub async fn try_session(&self) -> Result<Settings, TurnError> {
        let params = session::params(&self.worker.workdir, None, &json!([]));
        let shown = self.ask("session/new", params).await;
        let shown = shown.map_err(|why| Explained::from(why).into_turn_error(&self.options))?;
        let params = json!({"sessionId": shown["sessionId"]});
        for method in about::removals(&self.worker.hello.capabilities) {
            if let Err(why) = self.ask(method, params.clone()).await {
                let agent = &self.options.name;
                debug!(agent, method, %why, "the session is not removed");
            }
        }
        let mut offers = Offers::default();
        offers.read(&shown);
        Ok(offers.all())
    }

    /// Asks it for something that it does at once.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, Failure> {
        let answer = self.worker.peer.request(method, params);
        let patience = self.options.start_timeout;
        let answer = timeout(patience, answer).await.map_err(|_| {
            let why = format!("no answer to {method} in {patience:?}");
            Failure::Handshake(why)
        })?;
        answer.map_err(|error| Failure::of_answer(&error))
    }

    /// Lets it log in, for as long as that takes (ACP `authenticate`).
    ///
    /// # Errors
    /// It did not.
    pub async fn authenticate(&self, login: &Login) -> Result<(), TurnError> {
        let params = json!({"methodId": login.id});
        let answer = self.worker.peer.request("authenticate", params).await;
        let answer = answer.map_err(|error| Explained::from(Failure::of_answer(&error)));
        answer.map_err(|why| why.into_turn_error(&self.options))?;
        Ok(())
    }

    /// Ends it, and whatever it has started, and says how that went.
    pub async fn end(self) -> Ending {
        self.worker.order(Manner::Gentle);
        let ending = match self.worker.ended().await {
            End::NotStarted(_) => Ending::Alone,
            End::Ended(ended) => Ending::of(ended.status),
        };
        self.tasks.close();
        self.tasks.wait().await;
        ending
    }
}

impl Ending {
    /// A supervisor ends as shells do: with 128 and the signal's number.
    fn of(status: Option<ExitStatus>) -> Self {
        let signal = status.map(|status| match status.code() {
            Some(code) => code - 128,
            None => status.signal().unwrap_or_default(),
        });
        match signal {
            None | Some(9) => Self::Killed,
            Some(15) => Self::Told,
            Some(_) => Self::Alone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_says_what_it_took_to_end() {
        let code = |code: i32| Some(ExitStatus::from_raw(code << 8));
        for (status, ending) in [
            (code(0), Ending::Alone),
            (code(3), Ending::Alone),
            (code(143), Ending::Told),
            (code(137), Ending::Killed),
            (Some(ExitStatus::from_raw(9)), Ending::Killed),
            (Some(ExitStatus::from_raw(15)), Ending::Told),
            (None, Ending::Killed),
        ] {
            assert_eq!(Ending::of(status), ending, "{status:?}");
        }
    }
}
