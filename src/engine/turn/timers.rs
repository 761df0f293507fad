//! What a turn's shell waits for besides its core.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::engine::{ending::Cause, live::Live};

/// When what is not complete is to be kept next.
pub(super) struct Draft(Option<Pin<Box<Sleep>>>);

impl Draft {
    /// How much of a run may be lost if the daemon is killed.
    const AGE: Duration = Duration::from_millis(500);

    pub(super) fn nothing() -> Self {
        Self(None)
    }

    pub(super) fn is_wanted(&mut self) {
        self.0.get_or_insert_with(|| Box::pin(sleep(Self::AGE)));
    }

    pub(super) fn is_saved(&mut self) {
        self.0 = None;
    }

    /// Waits until it is due. May be dropped and asked again at any time.
    pub(super) async fn due(&mut self) {
        match &mut self.0 {
            Some(due) => due.await,
            None => std::future::pending().await,
        }
    }
}

/// The first cause, other than silence, to stop a turn in one of its runs.
pub(super) async fn first_cause(
    deadline: Option<Instant>,
    live: &Live,
    shutdown: CancellationToken,
) -> Cause {
    let timeout = async {
        match deadline {
            None => std::future::pending().await,
            Some(time) => sleep_until(time).await,
        }
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => Cause::Shutdown,
        () = live.stop.cancelled() => Cause::Asked,
        () = live.left() => Cause::ReaderGone,
        () = timeout => Cause::Timeout,
    }
}

/// Watches how long nothing was heard. Hearing something only notes the time; the alarm is set again
/// when it goes off.
pub(super) struct Silence {
    limit: Option<Duration>,
    last: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Silence {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        let alarm = Box::pin(sleep(limit.unwrap_or_default()));
        Self {
            limit,
            last: Instant::now(),
            alarm,
        }
    }

    pub(super) fn heard(&mut self) {
        self.last = Instant::now();
    }

    /// Waits until it has lasted too long. May be dropped and asked again at any time.
    pub(super) async fn wait(&mut self) {
        let Some(limit) = self.limit else {
            return std::future::pending().await;
        };
        loop {
            self.alarm.as_mut().await;
            let due = self.last + limit;
            if Instant::now() >= due {
                return;
            }
            self.alarm.as_mut().reset(due);
        }
    }
}

/// How long a turn may still take. The time in which it is parked is not counted.
pub(super) struct Allowance {
    left: Option<Duration>,
    since: Instant,
}

impl Allowance {
    pub(super) fn new(left: Option<Duration>) -> Self {
        Self {
            left,
            since: Instant::now(),
        }
    }

    /// When it is used up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.left.map(|left| self.since + left)
    }

    /// Stops counting.
    pub(super) fn pause(&mut self) {
        let used = self.since.elapsed();
        self.left = self.left.map(|left| left.saturating_sub(used));
    }

    /// Goes on counting.
    pub(super) fn go_on(&mut self) {
        self.since = Instant::now();
    }
}
