//! The task of one turn. It owns the core's future, hands what the core says to the writer, and waits:
//! for the core, for a cause to stop it, for its silence. What any of that means is decided elsewhere
//! ([`Ending`], [`Translator`]).

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt as _, future::OptionFuture};
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug, info, warn};

use super::{
    Linger, Policy,
    ending::{Cause, CoreEnd, Ending},
    slot::Slot,
    translate::Translator,
    writer::Writer,
};
use crate::{
    deps::{Deps, Signal, StopReason, TurnError, TurnIo, TurnRequest},
    state::Document,
};

/// How many signals wait before the core does.
const CAPACITY: usize = 256;
/// How many signals become one write, at most.
const BATCH: usize = 256;

/// A turn that is about to run.
pub(super) struct Turn {
    /// Dropped, and with it given back, before the writer ends the run: see [`Turn::run`].
    pub(super) slot: Slot,
    pub(super) writer: Writer,
    pub(super) state: Document,
    pub(super) policy: Policy,
    pub(super) request: TurnRequest,
    /// Cancelled when the reader of the POST is gone.
    pub(super) reader_gone: CancellationToken,
    /// Cancelled when every turn is to end now.
    pub(super) shutdown: CancellationToken,
}

/// The future of a core, which may panic.
type Core<'a> = Pin<
    &'a mut (
                dyn Future<Output = Result<Result<StopReason, TurnError>, Box<dyn Any + Send>>>
                    + Send
            ),
>;

impl Turn {
    /// Runs the turn to its end and ends its run.
    pub(super) async fn run(self, deps: Arc<dyn Deps>) {
        let key = self.slot.key();
        let span = tracing::info_span!(
            "run",
            thread = %key.thread,
            run = %self.request.input.run_id,
            agent = %key.agent,
            turn = %self.slot.seq(),
        );
        self.drive(deps).instrument(span).await;
    }

    async fn drive(self, deps: Arc<dyn Deps>) {
        let Self {
            slot,
            writer,
            state,
            policy,
            request,
            reader_gone,
            shutdown,
        } = self;
        info!(principal = slot.key().principal.as_str(), "run started");
        let began = Instant::now();
        let stop = CancellationToken::new();
        let (io, inbox) = TurnIo::channel(CAPACITY, stop.clone());
        let core = AssertUnwindSafe(async move { deps.turn(request, io).await }).catch_unwind();
        let mut shell = Shell {
            slot,
            writer,
            state,
            translator: Translator::new(),
            inbox,
        };
        let (cause, end) = {
            let mut core = pin!(core);
            let cause = first_cause(&policy, began, reader_gone, shutdown);
            shell.follow(core.as_mut(), cause, &policy, &stop).await
        };
        let ending = Ending::decide(cause, &end);
        shell.finish(ending, &end, cause, began, &policy);
    }
}

/// What a running turn writes with.
struct Shell {
    // The slot stands before the writer: if this task breaks, the thread is free before its client
    // reads the end of the run.
    slot: Slot,
    writer: Writer,
    state: Document,
    translator: Translator,
    inbox: mpsc::Receiver<Signal>,
}

impl Shell {
    /// Follows the core to its end, or to the end of the grace that it has once there is a cause to
    /// stop it.
    async fn follow(
        &mut self,
        mut core: Core<'_>,
        cause: impl Future<Output = Cause>,
        policy: &Policy,
        stop: &CancellationToken,
    ) -> (Option<Cause>, CoreEnd) {
        let mut cause = pin!(cause);
        let mut batch = Vec::with_capacity(BATCH);
        let mut stopping: Option<(Cause, Pin<Box<Sleep>>)> = None;
        let mut silence = Silence::new(policy.silence_timeout);
        loop {
            let running = stopping.is_none();
            let grace = OptionFuture::from(stopping.as_mut().map(|(_, grace)| grace.as_mut()));
            let happened = tokio::select! {
                biased;
                cause = cause.as_mut(), if running => Happened::Cause(cause),
                Some(()) = grace => Happened::GraceOver,
                // Cancel-safe: what was not returned stays in the channel.
                1.. = self.inbox.recv_many(&mut batch, BATCH) => Happened::Signals,
                end = core.as_mut() => Happened::End(end),
                () = silence.wait(), if running => Happened::Cause(Cause::Silence),
            };
            match happened {
                Happened::Signals => {
                    silence.heard();
                    self.take(&mut batch);
                }
                Happened::Cause(cause) => {
                    stop.cancel();
                    stopping = Some((cause, Box::pin(sleep(policy.stop_grace))));
                }
                Happened::GraceOver => {
                    warn!("the agent did not stop in time and was dropped");
                    return (stopping.map(|(cause, _)| cause), CoreEnd::Dropped);
                }
                Happened::End(end) => {
                    while let Ok(signal) = self.inbox.try_recv() {
                        batch.push(signal);
                    }
                    self.take(&mut batch);
                    let end = end.map_or(CoreEnd::Panicked, CoreEnd::Returned);
                    return (stopping.map(|(cause, _)| cause), end);
                }
            }
        }
    }

    /// Writes a batch of what the core said, in one go.
    fn take(&mut self, batch: &mut Vec<Signal>) {
        for signal in batch.drain(..) {
            match signal {
                Signal::Event(event) => {
                    self.translator
                        .apply(event, &mut self.writer, &mut self.state);
                }
                Signal::Bind(session) => {
                    if let Some(delta) = self.state.set_session(session.as_str()) {
                        self.writer.state_delta(delta);
                    }
                    self.slot.bind(session);
                }
                Signal::Title(_) | Signal::Recall(_) => {}
            }
        }
        self.writer.flush();
    }

    /// Frees the thread, then ends the run: a client that posts again the moment it reads the terminal
    /// event finds the thread free.
    fn finish(
        mut self,
        ending: Ending,
        end: &CoreEnd,
        cause: Option<Cause>,
        began: Instant,
        policy: &Policy,
    ) {
        if let CoreEnd::Returned(Err(error)) = end {
            let code = error.code().as_str();
            warn!(code, hint = error.hint(), "the agent failed");
            debug!(%error, "the agent failed");
        }
        info!(
            outcome = ending.as_str(),
            cause = cause.map(Cause::as_str),
            ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "run ended"
        );
        if let (Ending::Failed { message, .. }, true) = (&ending, policy.explain_errors) {
            self.writer.close_message();
            self.writer.text(&format!("The run failed: {message}."));
        }
        drop(self.slot);
        self.writer.finish(ending);
    }
}

/// What a wait of the shell ended with.
enum Happened {
    Signals,
    Cause(Cause),
    GraceOver,
    End(Result<Result<StopReason, TurnError>, Box<dyn Any + Send>>),
}

/// The first cause, other than silence, to stop a turn.
async fn first_cause(
    policy: &Policy,
    began: Instant,
    reader_gone: CancellationToken,
    shutdown: CancellationToken,
) -> Cause {
    let lingered = async {
        match policy.linger {
            Linger::Forever => std::future::pending().await,
            Linger::For(time) => {
                reader_gone.cancelled().await;
                if !time.is_zero() {
                    sleep(time).await;
                }
            }
        }
    };
    let timeout = async {
        match policy.turn_timeout {
            None => std::future::pending().await,
            Some(time) => sleep_until(began + time).await,
        }
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => Cause::Shutdown,
        () = lingered => Cause::ReaderGone,
        () = timeout => Cause::Timeout,
    }
}

/// Watches how long nothing was heard. Hearing something only notes the time; the alarm is set again
/// when it goes off.
struct Silence {
    limit: Option<Duration>,
    last: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Silence {
    fn new(limit: Option<Duration>) -> Self {
        let alarm = Box::pin(sleep(limit.unwrap_or_default()));
        Self {
            limit,
            last: Instant::now(),
            alarm,
        }
    }

    fn heard(&mut self) {
        self.last = Instant::now();
    }

    /// Waits until it has lasted too long. May be dropped and asked again at any time.
    async fn wait(&mut self) {
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
