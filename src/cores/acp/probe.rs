//! An agent outside of any turn, for whoever wants to know whether it works, or logs in to it.
//!
//! It is started, talked to and ended by what turns use too, so that what is found here holds there.

mod about;
mod terminal;

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, sync::Arc};

use serde_json::json;
use tokio::time::timeout;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

pub use self::{
    about::{About, Login, Way},
    terminal::Terminal,
};
use super::{
    board::Side,
    failure::{End, Explained, Failure},
    options::Options,
    process::Manner,
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

    /// Opens a session and answers with what can be chosen in it.
    ///
    /// # Errors
    /// With the code `auth_required` it wants a login first; with another it has none for us.
    pub async fn open_session(&self) -> Result<Settings, TurnError> {
        let params = json!({"cwd": self.worker.workdir, "mcpServers": []});
        let answer = self.worker.peer.request("session/new", params);
        let patience = self.options.start_timeout;
        let shown = match timeout(patience, answer).await {
            Ok(Ok(shown)) => Ok(shown),
            Ok(Err(error)) => Err(Failure::of_answer(&error)),
            Err(_) => Err(Failure::Handshake(format!("no session in {patience:?}"))),
        };
        let mut offers = Offers::default();
        offers.read(&shown.map_err(|why| self.error(why))?);
        Ok(offers.all())
    }

    /// Lets it log in, for as long as that takes (ACP `authenticate`).
    ///
    /// # Errors
    /// It did not.
    pub async fn authenticate(&self, login: &Login) -> Result<(), TurnError> {
        let params = json!({"methodId": login.id});
        let answer = self.worker.peer.request("authenticate", params).await;
        match answer {
            Ok(_) => Ok(()),
            Err(error) => Err(self.error(Failure::of_answer(&error))),
        }
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

    fn error(&self, why: Failure) -> TurnError {
        Explained::from(why).into_turn_error(&self.options)
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
