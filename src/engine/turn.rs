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
    sync::{mpsc, watch},
    time::{Instant, Sleep, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug, info, warn};

use super::{
    Policy, Runtime,
    ending::{Cause, CoreEnd, Ending},
    live::{Call, Live, Sight},
    recall,
    runtime::Inner,
    slots::Slot,
    translate::Translator,
    writer::Writer,
};
use crate::{
    deps::{Signal, StopReason, TurnError, TurnIo, TurnRequest},
    protocol::{Message, MessageBody},
    state::Document,
    store::Store,
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
    /// Where visitors come in.
    pub(super) door: mpsc::Receiver<Call>,
    /// What was said in the thread before this run says anything; `None` if the daemon has not the whole of it.
    pub(super) past: Option<Vec<Message>>,
    /// What of that this request has brought.
    pub(super) asked: Vec<Message>,
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
    pub(super) async fn run(self, runtime: Runtime) {
        let key = self.slot.key();
        let span = tracing::info_span!(
            "run",
            thread = %key.thread,
            run = %self.request.input.run_id,
            agent = %key.agent,
            turn = %self.slot.seq(),
        );
        self.drive(runtime).instrument(span).await;
    }

    async fn drive(self, runtime: Runtime) {
        let Self {
            slot,
            writer,
            state,
            policy,
            request,
            door,
            past,
            asked,
        } = self;
        info!(principal = &*slot.key().principal, "run started");
        let began = Instant::now();
        let stop = CancellationToken::new();
        let (_tools, tools) = watch::channel(request.input.tools.as_slice().into());
        let (io, inbox) = TurnIo::with_tools(CAPACITY, stop.clone(), tools);
        let deps = Arc::clone(&runtime.0.deps);
        let core = AssertUnwindSafe(async move { deps.turn(request, io).await }).catch_unwind();
        let live = Arc::clone(slot.live());
        let shutdown = runtime.0.shutdown.clone();
        let mut shell = Shell {
            slot,
            writer,
            state,
            translator: Translator::new(),
            inbox,
            door,
            past,
            asked,
            draft: Draft(None),
            runtime,
        };
        let (cause, end) = {
            let mut core = pin!(core);
            let cause = first_cause(&policy, began, &live, shutdown);
            shell.follow(core.as_mut(), cause, &policy, &stop).await
        };
        let ending = Ending::decide(cause, &end);
        shell.finish(ending, &end, cause, began, &policy).await;
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
    door: mpsc::Receiver<Call>,
    past: Option<Vec<Message>>,
    asked: Vec<Message>,
    draft: Draft,
    runtime: Runtime,
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
        let abort = self.runtime.0.abort.clone();
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
                () = abort.cancelled() => Happened::GraceOver,
                // Rare, and not to wait for a core that never stops talking.
                Some(call) = self.door.recv() => Happened::Call(call),
                () = self.draft.due(), if running => Happened::Draft,
                // Cancel-safe: what was not returned stays in the channel.
                1.. = self.inbox.recv_many(&mut batch, BATCH) => Happened::Signals,
                end = core.as_mut() => Happened::End(end),
                () = silence.wait(), if running => Happened::Cause(Cause::Silence),
            };
            match happened {
                Happened::Signals => {
                    silence.heard();
                    self.take(&mut batch).await;
                }
                Happened::Call(call) => self.answer(call),
                Happened::Draft => self.save_draft().await,
                Happened::Cause(cause) => {
                    self.slot.live().stops();
                    stop.cancel();
                    stopping = Some((cause, Box::pin(sleep(policy.stop_grace))));
                }
                Happened::GraceOver => {
                    warn!("the agent did not stop in time and was dropped");
                    let cause = stopping.map_or(Cause::Shutdown, |(cause, _)| cause);
                    return (Some(cause), CoreEnd::Dropped);
                }
                Happened::End(end) => {
                    while let Ok(signal) = self.inbox.try_recv() {
                        batch.push(signal);
                    }
                    self.take(&mut batch).await;
                    let end = end.map_or(CoreEnd::Panicked, CoreEnd::Returned);
                    return (stopping.map(|(cause, _)| cause), end);
                }
            }
        }
    }

    /// Writes a batch of what the core said, in one go.
    async fn take(&mut self, batch: &mut Vec<Signal>) {
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
                    self.store().bind(self.slot.key(), session.as_str()).await;
                }
                Signal::Rebind(session) => {
                    self.state.renew(session.as_str());
                    self.writer.state_snapshot(self.state.snapshot());
                    self.store().bind(self.slot.key(), session.as_str()).await;
                }
                Signal::Title(title) => {
                    self.store().entitle(self.slot.key(), &title).await;
                }
                Signal::Recall(past) => self.recall(past).await,
                // Nobody can be asked yet.
                Signal::Ask(ask) => drop(ask),
            }
        }
        self.writer.flush();
        self.keep().await;
        self.draft.is_wanted();
    }

    /// Keeps what is not complete yet, as far as it goes: if the daemon is killed, little is lost of it.
    async fn save_draft(&mut self) {
        let draft = self.writer.draft();
        self.store().draft(self.slot.key(), draft).await;
        self.draft.is_saved();
    }

    fn store(&self) -> &Store {
        &self.runtime.0.store
    }

    /// Keeps the messages that are complete.
    async fn keep(&mut self) {
        let done = self.writer.take_done();
        if !done.is_empty() {
            self.store().add(self.slot.key(), done).await;
        }
    }

    /// Takes what the session remembers for a transcript that is not whole. What this request has brought stays
    /// at the end.
    async fn recall(&mut self, past: Vec<MessageBody>) {
        if self.past.is_some() {
            return;
        }
        let mut messages = recall::messages(past, &self.runtime.0.env);
        messages.extend(self.asked.iter().cloned());
        self.store().refill(self.slot.key(), messages.clone()).await;
        self.past = Some(messages);
    }

    /// Answers a visitor.
    fn answer(&mut self, call: Call) {
        match call {
            Call::Follow { peer, answer } => {
                let past = self.past.as_deref();
                let _ = answer.send(self.writer.visit(self.state.snapshot(), past, peer));
            }
            Call::Look { answer } => {
                let state = self.state.snapshot();
                let messages = self.writer.messages(self.past.as_deref());
                let _ = answer.send(Sight { state, messages });
            }
        }
    }

    /// Notes how it ended and frees the thread, then ends the run: a client that posts again the moment it reads
    /// the terminal event finds the thread free.
    async fn finish(
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
        let outcome = ending.outcome();
        let last = self.writer.wind_up(&ending);
        if !last.is_empty() {
            self.store().add(self.slot.key(), last).await;
        }
        if self.writer.is_partial() {
            self.store().lose(self.slot.key()).await;
        }
        // Dropped in the other order, so that the slot still goes before the writer if this breaks.
        let Self {
            runtime,
            door,
            state,
            writer,
            slot,
            ..
        } = self;
        // From here on there is nothing to visit: who comes is shown what is kept.
        drop(door);
        let Inner {
            store,
            documents,
            recent,
            ..
        } = &*runtime.0;
        let (key, live) = (slot.key().clone(), Arc::clone(slot.live()));
        store.end(&key, &live.run, outcome).await;
        documents.put(&key, state);
        recent.put(&key, live.run.clone(), Arc::clone(&live.log));
        drop(slot);
        writer.finish(ending);
        runtime.count_run();
    }
}

/// When what is not complete is to be kept next.
struct Draft(Option<Pin<Box<Sleep>>>);

impl Draft {
    /// How much of a run may be lost if the daemon is killed.
    const AGE: Duration = Duration::from_millis(500);

    fn is_wanted(&mut self) {
        self.0.get_or_insert_with(|| Box::pin(sleep(Self::AGE)));
    }

    fn is_saved(&mut self) {
        self.0 = None;
    }

    /// Waits until it is due. May be dropped and asked again at any time.
    async fn due(&mut self) {
        match &mut self.0 {
            Some(due) => due.await,
            None => std::future::pending().await,
        }
    }
}

/// What a wait of the shell ended with.
enum Happened {
    Signals,
    Call(Call),
    Draft,
    Cause(Cause),
    GraceOver,
    End(Result<Result<StopReason, TurnError>, Box<dyn Any + Send>>),
}

/// The first cause, other than silence, to stop a turn.
async fn first_cause(
    policy: &Policy,
    began: Instant,
    live: &Live,
    shutdown: CancellationToken,
) -> Cause {
    let timeout = async {
        match policy.turn_timeout {
            None => std::future::pending().await,
            Some(time) => sleep_until(began + time).await,
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
