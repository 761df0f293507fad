//! Stopping in two stages.
//!
//! The first signal is a request: nothing new begins, and whoever asks is told so (503, `readyz` too);
//! what runs may end within its grace period, and an idle daemon is gone once what its agents keep has
//! ended, which takes some seconds at most. The end of the period stops every turn, in as much time as its agent's
//! policy gives it; a second signal does not wait for that. Each open stream still gets its terminal event. Then the listener closes, gives connections a moment
//! to take what was written, and cuts them.
//!
//! The end of the listener without a signal is a failure, whatever it says about itself.

use std::{convert::Infallible, io, pin::pin, time::Duration};

use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};
use tracing::info;

use crate::{
    engine::Runtime,
    http::{Listener, ServeError},
};

/// The number of the signal for a file that became too large, on Linux (but for MIPS) and macOS.
const SIGXFSZ: i32 = 25;

/// How often threads are looked through for those that are not to be kept any longer.
const SWEEP: Duration = Duration::from_mins(10);

/// How long connections have at the end, once the engine has closed their bodies.
const LAST_WRITES: Duration = Duration::from_secs(5);

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
    // A file that may not grow any further (`ulimit -f`) is to be an error like that of a full disk, and not the end:
    // whoever listens for this signal does not end of it.
    let _heard = signal(SignalKind::from_raw(SIGXFSZ))?;
    let kinds = [
        of(SignalKind::terminate(), "SIGTERM")?.boxed(),
        of(SignalKind::interrupt(), "SIGINT")?.boxed(),
        of(SignalKind::hangup(), "SIGHUP")?.boxed(),
    ];
    Ok(stream::select_all(kinds).boxed())
}

/// Serves until asked to stop, then stops in order.
///
/// # Errors
/// The listener ended before it was asked to.
pub async fn run(
    runtime: &Runtime,
    listener: &Listener,
    stops: impl Stream<Item = &'static str>,
    grace: Duration,
) -> Result<(), ServeError> {
    let mut stops = pin!(stops);
    tokio::select! {
        biased;
        Some(name) = stops.next() => announce(name, runtime.live_turns(), grace),
        ended = listener.wait() => return ended,
        never = sweep(runtime) => match never {},
    }
    // The listener goes on meanwhile: it is what carries the streams to their ends, and whoever comes is told
    // that the daemon is draining, and when to come again.
    let is_urged = tokio::select! {
        biased;
        Some(name) = stops.next() => {
            info!(signal = name, "stopping at once");
            true
        }
        () = runtime.drain(grace) => false,
    };
    if is_urged {
        runtime.abort().await;
    }
    listener.shutdown(LAST_WRITES).await;
    info!("stopped");
    Ok(())
}

/// Forgets threads as they get too old or too many.
async fn sweep(runtime: &Runtime) -> Infallible {
    loop {
        runtime.sweep().await;
        sleep(SWEEP).await;
    }
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
    use std::{net::Ipv4Addr, sync::Arc};

    use super::*;
    use crate::{cores::Cores, engine, http};

    const HOUR: Duration = Duration::from_hours(1);

    fn idle() -> (Runtime, Listener) {
        let deps = Arc::new(Cores::new(Vec::new()));
        let runtime = Runtime::new(deps, engine::Options::default());
        let options = http::Options {
            addr: (Ipv4Addr::LOCALHOST, 0).into(),
            ..http::Options::default()
        };
        let listener = runtime.listen(options, http::Access::Anyone).unwrap();
        (runtime, listener)
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_daemon_that_is_asked_to_stop_does_not_wait_for_the_grace_period() {
        let (runtime, listener) = idle();
        let before = tokio::time::Instant::now();
        let asked = stream::iter(["SIGTERM"]).chain(stream::pending());
        let ended = run(&runtime, &listener, asked, HOUR).await;
        assert!(ended.is_ok() && listener.wait().await.is_ok());
        assert_eq!(before.elapsed(), Duration::ZERO);
    }
    #[tokio::test]
    async fn r22_a_listener_that_was_shut_down_is_no_failure_and_needs_no_signal() {
        let (runtime, listener) = idle();
        listener.shutdown(Duration::ZERO).await;
        let ended = run(&runtime, &listener, stream::pending(), HOUR).await;
        assert!(ended.is_ok());
    }
}
