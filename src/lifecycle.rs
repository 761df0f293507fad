//! Stopping in two stages.
//!
//! The first signal is a request: nothing new begins, and whoever asks is told so (503, `readyz` too);
//! what runs may end within its grace period, and an idle daemon is gone at once. A second signal, or
//! the end of the period, stops every turn; each open stream still gets its terminal event. Then the
//! listener closes, gives connections a moment to take what was written, and cuts them.
//!
//! The end of the listener without a signal is a failure, whatever it says about itself.

use std::{io, pin::pin, time::Duration};

use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{
    engine::Runtime,
    http::{ServeError, Shutdown},
};

/// Why the daemon ended unasked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The listener failed.
    #[error("go on listening")]
    Listener(#[source] ServeError),
    /// The listener ended and gave no reason.
    #[error("go on listening: the listener ended without a reason")]
    Ended,
}

/// The two stages, as the listener sees them. The hard one includes the soft one.
pub fn stages() -> Shutdown {
    let hard = CancellationToken::new();
    let soft = hard.child_token();
    Shutdown { soft, hard }
}

/// The names of signals that ask the daemon to stop, as they arrive. A terminal that closes
/// (`SIGHUP`) asks for the same as one on which Ctrl-C is typed.
///
/// # Errors
/// The system does not let us listen for a signal.
pub fn stops() -> io::Result<BoxStream<'static, &'static str>> {
    let of = |kind, name| {
        let arrivals = signal(kind)?;
        io::Result::Ok(stream::unfold(arrivals, move |mut arrivals| async move {
            arrivals.recv().await.map(|()| (name, arrivals))
        }))
    };
    let kinds = [
        of(SignalKind::terminate(), "SIGTERM")?.boxed(),
        of(SignalKind::interrupt(), "SIGINT")?.boxed(),
        of(SignalKind::hangup(), "SIGHUP")?.boxed(),
    ];
    Ok(stream::select_all(kinds).boxed())
}

/// Serves until asked to stop, then stops in order. `serving` is the listener: it ends some time
/// after `stages` have begun, and the sooner the fewer connections are open.
///
/// # Errors
/// The listener ended before it was asked to.
pub async fn run(
    runtime: &Runtime,
    serving: impl Future<Output = Result<(), ServeError>>,
    stops: impl Stream<Item = &'static str>,
    stages: &Shutdown,
    grace: Duration,
) -> Result<(), Error> {
    let (mut serving, mut stops) = (pin!(serving), pin!(stops));
    tokio::select! {
        biased;
        Some(name) = stops.next() => announce(name, runtime.live_turns(), grace),
        ended = &mut serving => return Err(ended.map_or_else(Error::Listener, |()| Error::Ended)),
    }

    let work = async {
        tokio::select! {
            biased;
            Some(name) = stops.next() => info!(signal = name, "stopping at once"),
            () = runtime.drain(grace) => {}
        }
        // It ends when the last core had the time that its agent's policy gives it to stop.
        runtime.close().await;
        // Until here whoever came was told that the daemon is draining, and when to come again.
        stages.hard.cancel();
    };
    // The listener goes on meanwhile: it is what carries the streams to their ends. How it ends does
    // not matter any more.
    let (_, ()) = tokio::join!(serving, work);
    info!("stopped");
    Ok(())
}

/// Says what the first signal means for what is live, so that nobody takes the wait for a hang.
fn announce(signal: &str, live: usize, grace: Duration) {
    if live == 0 {
        info!(signal, "stopping");
    } else {
        info!(
            signal,
            live,
            ?grace,
            "stopping once the live runs have ended; a second signal ends them at once"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::{error, future, iter, sync::Arc};

    use super::*;
    use crate::{cores::Cores, engine::Options, env::Env};

    const HOUR: Duration = Duration::from_hours(1);

    fn idle() -> Runtime {
        let deps = Arc::new(Cores::new(Vec::new()));
        Runtime::with_env(deps, Options::default(), Env::fixed(0))
    }

    /// Stands for a listener that stops when it is told to.
    async fn listening(stages: Shutdown) -> Result<(), ServeError> {
        stages.soft.cancelled().await;
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn r22_the_end_of_the_listener_is_a_failure_only_when_nobody_asked_for_it() {
        let stages = stages();
        let broken = ServeError::Register(io::Error::other("no socket"));
        for (end, said) in [(Err(broken), "no socket"), (Ok(()), "without a reason")] {
            let serving = future::ready(end);
            let error = run(&idle(), serving, stream::pending(), &stages, HOUR)
                .await
                .unwrap_err();
            let causes = iter::successors(Some(&error as &dyn error::Error), |it| it.source());
            let all: Vec<_> = causes.map(ToString::to_string).collect();
            assert!(all.join(": ").contains(said), "{all:?}");
        }
        assert!(!stages.soft.is_cancelled());

        let asked = stream::iter(["SIGTERM"]);
        let serving = listening(stages.clone());
        let ended = run(&idle(), serving, asked, &stages, HOUR).await;
        assert!(ended.is_ok());
        assert!(stages.soft.is_cancelled() && stages.hard.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_daemon_does_not_wait_for_the_grace_period() {
        let stages = stages();
        let before = tokio::time::Instant::now();
        let asked = stream::iter(["SIGTERM"]).chain(stream::pending());
        let serving = listening(stages.clone());
        run(&idle(), serving, asked, &stages, HOUR).await.unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
}
