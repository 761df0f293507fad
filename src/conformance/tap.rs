//! Stands between the engine and a core, passes everything on, and takes notes.

use std::{pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, watch},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use crate::{
    deps::{
        Agent, AgentName, BoxFuture, CoreEvent, Deps, Forgotten, Principal, SessionRef, Settings,
        Signal, StopReason, TurnError, TurnIo, TurnRequest,
    },
    protocol::ThreadId,
};

/// How much of what a turn says is kept, in bytes.
const KEPT: usize = 64 * 1024;

/// How often to look whether a turn was let go of: nothing tells.
const GLANCE: Duration = Duration::from_millis(10);

/// A core with notes on its turns.
pub(super) struct Tap {
    pub(super) deps: Arc<dyn Deps>,
    /// The turn that was announced last for a thread, until it begins.
    expected: Mutex<Vec<(ThreadId, Arc<Turn>)>>,
}

/// The notes on one turn.
pub(super) struct Turn {
    notes: watch::Sender<Notes>,
    /// The end that the core spoke to, once the turn is over.
    rest: Mutex<Option<mpsc::Receiver<Signal>>>,
}

/// What is known of a turn so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Whether it has given a sign of life.
    pub(super) spoke: bool,
    /// The beginning of its text.
    pub(super) text: String,
    /// The session that it bound last.
    pub(super) session: Option<SessionRef>,
    /// The first thing that was wrong with what it said.
    pub(super) breach: Option<String>,
    /// How it ended.
    pub(super) end: Option<End>,
    calls: Calls,
}

/// How the future of a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It returned unasked.
    Done,
    /// It returned after it was told to stop.
    Stopped,
    /// It panicked.
    Panicked,
    /// It was dropped.
    Dropped,
}

impl Tap {
    pub(super) fn new(deps: Arc<dyn Deps>) -> Arc<Self> {
        Arc::new(Self {
            deps,
            expected: Mutex::default(),
        })
    }

    /// Announces a turn on a thread, to take notes on it from before it begins.
    pub(super) fn expect(&self, thread: &ThreadId) -> Arc<Turn> {
        let turn = Turn::new();
        let mut expected = self.expected.lock();
        expected.retain(|(own, _)| own != thread);
        expected.push((thread.clone(), Arc::clone(&turn)));
        turn
    }

    fn expected(&self, thread: &ThreadId) -> Arc<Turn> {
        let mut expected = self.expected.lock();
        let at = expected.iter().position(|(own, _)| own == thread);
        at.map_or_else(Turn::new, |at| expected.swap_remove(at).1)
    }
}

impl Deps for Tap {
    fn agents(&self) -> &[Agent] {
        self.deps.agents()
    }

    fn settings(&self, agent: &AgentName, principal: &Principal) -> Settings {
        self.deps.settings(agent, principal)
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        let turn = self.expected(&request.input.thread_id);
        let deps = Arc::clone(&self.deps);
        Box::pin(async move { turn.follow(&*deps, request, &io).await })
    }

    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        self.deps.forget(forgotten)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.deps.close()
    }
}

impl Turn {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            notes: watch::Sender::default(),
            rest: Mutex::default(),
        })
    }

    /// Runs a turn of the core between the core and the engine.
    async fn follow(
        self: Arc<Self>,
        deps: &dyn Deps,
        request: TurnRequest,
        io: &TurnIo,
    ) -> Result<StopReason, TurnError> {
        let stop = CancellationToken::new();
        // Room for one, so that a core that cannot wait is noticed.
        let (inner, inbox) = io.between(1, stop.clone());
        let mut watched = Watched {
            turn: self,
            inbox: Some(inbox),
        };
        let mut core = pin!(deps.turn(request, inner));
        loop {
            let happened = tokio::select! {
                biased;
                () = io.stopped(), if !stop.is_cancelled() => Happened::Stop,
                Some(signal) = watched.next() => Happened::Signal(signal),
                end = core.as_mut() => Happened::End(end),
            };
            match happened {
                Happened::Stop => stop.cancel(),
                Happened::Signal(signal) => watched.turn.pass_on(signal, io).await,
                Happened::End(end) => {
                    while let Some(signal) = watched.waiting() {
                        watched.turn.pass_on(signal, io).await;
                    }
                    let is_asked = stop.is_cancelled();
                    watched
                        .turn
                        .ended(if is_asked { End::Stopped } else { End::Done });
                    return end;
                }
            }
        }
    }

    async fn pass_on(&self, signal: Signal, io: &TurnIo) {
        self.notes.send_modify(|notes| notes.take(&signal));
        // The engine may not listen any more: that is its business.
        let _ = io.send(signal).await;
    }

    fn ended(&self, end: End) {
        self.notes.send_modify(|notes| {
            notes.end.get_or_insert(end);
        });
    }

    /// Waits until the notes say something; `None` if that takes too long.
    pub(super) async fn until<T>(
        &self,
        patience: Duration,
        say: impl Fn(&Notes) -> Option<T>,
    ) -> Option<T> {
        let mut notes = self.notes.subscribe();
        let told = timeout(patience, notes.wait_for(|notes| say(notes).is_some())).await;
        told.ok()?.ok().and_then(|notes| say(&notes))
    }

    /// Reads the notes.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Notes) -> T) -> T {
        read(&self.notes.borrow())
    }

    /// Whether everything of a turn that is over lets go of it in time.
    pub(super) async fn is_let_go(&self, patience: Duration) -> bool {
        let rest = self.rest.lock().take();
        match rest {
            Some(mut rest) => is_let_go(&mut rest, patience).await,
            None => true,
        }
    }
}

/// Whether every clone of a turn's [`TurnIo`] goes away in time. Those that still speak are told that
/// the turn is over.
pub(super) async fn is_let_go(rest: &mut mpsc::Receiver<Signal>, patience: Duration) -> bool {
    rest.close();
    let gone = async {
        while rest.sender_strong_count() > 0 {
            sleep(GLANCE).await;
        }
    };
    timeout(patience, gone).await.is_ok()
}

enum Happened {
    Stop,
    Signal(Signal),
    End(Result<StopReason, TurnError>),
}

/// A running turn. However it ends, that is noted.
struct Watched {
    turn: Arc<Turn>,
    inbox: Option<mpsc::Receiver<Signal>>,
}

impl Watched {
    async fn next(&mut self) -> Option<Signal> {
        self.inbox.as_mut()?.recv().await
    }

    fn waiting(&mut self) -> Option<Signal> {
        self.inbox.as_mut()?.try_recv().ok()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(mut inbox) = self.inbox.take() {
            inbox.close();
            *self.turn.rest.lock() = Some(inbox);
        }
        let is_panic = std::thread::panicking();
        self.turn.ended(if is_panic {
            End::Panicked
        } else {
            End::Dropped
        });
    }
}

impl Notes {
    fn take(&mut self, signal: &Signal) {
        self.spoke = true;
        if let Err(breach) = self.calls.step(signal) {
            self.breach.get_or_insert(breach);
        }
        match signal {
            Signal::Bind(session) | Signal::Rebind(session) => {
                self.session = Some(session.clone());
            }
            Signal::Event(CoreEvent::Text(text)) if self.text.len() < KEPT => {
                self.text.push_str(text);
            }
            Signal::Event(_) | Signal::Title(_) | Signal::Recall(_) | Signal::Ask(_) => {}
        }
    }
}
