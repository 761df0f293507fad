//! A run that is live, as those see it who are not its turn: what it is called, how far it is, who reads it,
//! and the two ways to reach the turn: to stop it and to visit it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{Linger, StartError, log::Log, restate::Visit};
use crate::protocol::{Message, Peer, RunId};

/// How many visitors wait at the door of a turn.
const VISITORS: usize = 64;

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not begun: its thread is looked up, or it waits for another run to end.
    Opening,
    /// It streams.
    Open,
    /// It has ended, and its turn waits for what it has asked. Another run goes on with that.
    Parked,
    /// It will not begin: it was in the line for its thread and was told to go.
    Refused(StartError),
    /// It is over, or nobody waited for its beginning any more. Its thread is free.
    Over,
}

/// What a visitor wants of a turn.
#[derive(Debug)]
pub(super) enum Call {
    /// To follow the run from now on.
    Follow {
        /// What the visitor speaks.
        peer: Peer,
        /// Where the answer goes.
        answer: oneshot::Sender<Visit>,
    },
    /// To see how things are.
    Look {
        /// Where the answer goes.
        answer: oneshot::Sender<Sight>,
    },
}

/// How things are in a live run.
#[derive(Debug)]
pub(super) struct Sight {
    /// The state document.
    pub(super) state: Value,
    /// What was said in the thread so far; none if the daemon has not the whole of it.
    pub(super) messages: Option<Vec<Message>>,
}

/// A live run.
pub(super) struct Live {
    pub(super) run: RunId,
    pub(super) log: Arc<Log>,
    stage: watch::Sender<Stage>,
    /// How many clients read the answer of a POST of this run.
    readers: watch::Sender<usize>,
    /// What the run's agent forgives a reader that is gone.
    linger: Linger,
    /// Cancelled when somebody asks for the turn to stop.
    pub(super) stop: CancellationToken,
    is_stopping: AtomicBool,
    is_run: bool,
    /// The prompts that the run answers, each with the digest of its answer.
    pub(super) answers: Vec<(Arc<str>, Option<String>)>,
    visitors: mpsc::Sender<Call>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

impl Live {
    /// A run that is about to begin, with the door at which its turn hears visitors.
    pub(super) fn new(
        run: RunId,
        log: Arc<Log>,
        linger: Linger,
    ) -> (Arc<Self>, mpsc::Receiver<Call>) {
        let (live, door) = Self::holding(run, log, linger, true);
        (Arc::new(live), door)
    }

    /// A run that goes on with a turn, by answering what that waits for.
    pub(super) fn answering(
        run: RunId,
        log: Arc<Log>,
        linger: Linger,
        answers: Vec<(Arc<str>, Option<String>)>,
    ) -> (Arc<Self>, mpsc::Receiver<Call>) {
        let (live, door) = Self::holding(run, log, linger, true);
        (Arc::new(Self { answers, ..live }), door)
    }

    fn holding(
        run: RunId,
        log: Arc<Log>,
        linger: Linger,
        is_run: bool,
    ) -> (Self, mpsc::Receiver<Call>) {
        let (visitors, door) = mpsc::channel(VISITORS);
        let live = Self {
            run,
            log,
            stage: watch::Sender::new(Stage::Opening),
            readers: watch::Sender::new(0),
            linger,
            stop: CancellationToken::new(),
            is_stopping: AtomicBool::new(false),
            is_run,
            answers: Vec::new(),
            visitors,
        };
        (live, door)
    }

    /// What holds a thread while it is forgotten. It is no run: whoever asks for one waits until it is over.
    pub(super) fn forgetting(log: Arc<Log>) -> Arc<Self> {
        let run = RunId::new("-").expect("a dash is legal");
        let (live, _door) = Self::holding(run, log, Linger::Forever, false);
        live.stops();
        Arc::new(live)
    }

    /// Whether it is a run.
    pub(super) fn is_run(&self) -> bool {
        self.is_run
    }

    /// How far it is.
    pub(super) fn stage(&self) -> Stage {
        self.stage.borrow().clone()
    }

    /// Moves on.
    pub(super) fn enter(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Waits until it streams, or is over without having done so.
    pub(super) async fn opened(&self) -> Stage {
        self.until(|stage| *stage != Stage::Opening).await
    }

    /// Waits until its turn is over or goes on in another run, or it is clear that it never begins.
    pub(super) async fn over(&self) {
        let is_gone = |stage: &Stage| matches!(stage, Stage::Over | Stage::Refused(_));
        self.until(is_gone).await;
    }

    /// Waits until it says nothing more.
    pub(super) async fn ended(&self) {
        let is_said = |stage: &Stage| !matches!(stage, Stage::Opening | Stage::Open);
        self.until(is_said).await;
    }

    async fn until(&self, reached: impl FnMut(&Stage) -> bool) -> Stage {
        let mut stage = self.stage.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        let reached = stage.wait_for(reached).await;
        reached.map_or(Stage::Over, |stage| stage.clone())
    }

    /// Notes that its turn was told to stop.
    pub(super) fn stops(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Whether it will be over soon: it was told to stop, or is about to be because nobody reads it any more.
    pub(super) fn is_ending(&self) -> bool {
        let is_left = self.linger == Linger::For(Duration::ZERO)
            && self.stage() == Stage::Open
            && *self.readers.borrow() == 0;
        is_left || self.stop.is_cancelled() || self.is_stopping.load(Ordering::Relaxed)
    }

    /// Counts a reader until the lease is dropped.
    pub(super) fn lease(self: &Arc<Self>) -> Lease {
        self.readers.send_modify(|readers| *readers += 1);
        Lease(Arc::clone(self))
    }

    /// Waits until no reader has been there for as long as is forgiven.
    pub(super) async fn left(&self) {
        let Linger::For(time) = self.linger else {
            return std::future::pending().await;
        };
        let mut readers = self.readers.subscribe();
        loop {
            // The sender lives in `self`, so neither wait can fail.
            let _ = readers.wait_for(|readers| *readers == 0).await;
            if time.is_zero() {
                return;
            }
            tokio::select! {
                biased;
                _ = readers.wait_for(|readers| *readers > 0) => {}
                () = sleep(time) => return,
            }
        }
    }

    /// Follows the run as a visitor; `None` if it is over.
    pub(super) async fn visit(&self, peer: Peer) -> Option<Visit> {
        let (answer, answered) = oneshot::channel();
        self.visitors
            .send(Call::Follow { peer, answer })
            .await
            .ok()?;
        answered.await.ok()
    }

    /// Looks how things are; `None` if it is over.
    pub(super) async fn look(&self) -> Option<Sight> {
        let (answer, answered) = oneshot::channel();
        self.visitors.send(Call::Look { answer }).await.ok()?;
        answered.await.ok()
    }
}

/// A reader of a POST's answer. Dropping it is the client's hanging up.
#[derive(Debug)]
pub(super) struct Lease(Arc<Live>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.readers.send_modify(|readers| *readers -= 1);
    }
}
