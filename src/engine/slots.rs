//! Which threads are live, and who waits for one. One short lock, no waiting.
//!
//! A live thread has a slot; the slot is taken before anything is streamed and given back, or noted as parked, before
//! the event that lets a client post again. It carries its turn's number, and only that turn gives it back: to
//! whoever waits for it first, so that nobody can step in between, or else to nobody.

use std::{
    collections::{HashMap, VecDeque},
    iter,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{
    BadWish, Busy,
    asked::Asked,
    live::{Live, Stage},
    parked::Resumed,
};
use crate::{protocol::RunId, store::Key};

/// How many times as many turns may wait for answers as may be live.
const PARKED: usize = 4;

/// Why a run cannot start. Nothing was changed, unless it was to take the place of another run: that one was stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// No agent of that name.
    #[error("find an agent of that name")]
    UnknownAgent,
    /// No thread of that name, or somebody else's, and the request brings nothing to begin one with.
    #[error("find a thread of that name")]
    UnknownThread,
    /// Another run is live on the thread.
    #[error("start a run: another one is live on this thread")]
    Busy,
    /// Its turn waits for answers that the request does not bring. They stay open.
    #[error("go on without an answer to {}", .0.join(", "))]
    Unanswered(Vec<String>),
    /// Something was answered before, and otherwise.
    #[error("answer {} again in another way", .0.join(", "))]
    Answered(Vec<String>),
    /// Two tools of the request have one name.
    #[error("tell two tools apart that are called {0:?}")]
    Collision(String),
    /// The request has no new user message and answers nothing.
    #[error("find anything to do in the request: no user message stands at its end")]
    NothingToDo,
    /// What it asks stands under the id of something that no person said.
    #[error("find a message of its own at the end of the request: its id is that of another one")]
    TakenId,
    /// It wishes for something that it may not choose.
    #[error(transparent)]
    Wish(#[from] BadWish),
    /// As many turns are live as may be.
    #[error("start a run: too many are live")]
    Full,
    /// The run waited for another one, and was stopped before it began.
    #[error("start a run: it was stopped while it waited")]
    Stopped,
    /// The daemon is shutting down.
    #[error("start a run: the daemon is shutting down")]
    Draining,
    /// A defect of the daemon.
    #[error("start a run: something broke inside the daemon")]
    Internal,
}

/// The number of a turn, unique in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnSeq(u64);

impl std::fmt::Display for TurnSeq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What comes of claiming a thread.
#[derive(Debug)]
pub(super) enum Claim {
    /// It is the caller's.
    Mine(Slot),
    /// The same run is there already, live or waiting.
    Same(Arc<Live>),
    /// It will be the caller's.
    Waiting(Ticket),
    /// Its turn waits for answers.
    Parked,
}

/// A place in the line for a thread. Dropping it leaves the line.
#[derive(Debug)]
pub(super) struct Ticket(oneshot::Receiver<Result<Served, StartError>>);

/// What a place in the line comes to.
#[derive(Debug)]
pub(super) enum Served {
    /// The thread is the caller's.
    Slot(Slot),
    /// Its turn waits for answers, which the caller may have.
    Parked,
}

impl Ticket {
    /// Waits for the thread.
    pub(super) async fn wait(self) -> Result<Served, StartError> {
        self.0.await.unwrap_or(Err(StartError::Draining))
    }
}

/// All threads that are live.
#[derive(Debug)]
pub(super) struct Slots {
    state: Mutex<State>,
    max_turns: usize,
    max_waiting: usize,
}

#[derive(Debug)]
struct State {
    /// Bounded by `max_turns` and [`PARKED`].
    taken: HashMap<Key, Taken>,
    next: u64,
    draining: bool,
}

#[derive(Debug)]
struct Taken {
    seq: TurnSeq,
    live: Arc<Live>,
    /// What its turn waits for while no run of it is live.
    parked: Option<Parked>,
    /// Bounded by `max_waiting`.
    line: VecDeque<Waiter>,
}

/// A turn that waits for answers.
#[derive(Debug)]
struct Parked {
    asked: Arc<Asked>,
    give: oneshot::Sender<Resumed>,
}

impl Taken {
    /// A run that has the thread or waits for it.
    fn find(&self, run: &RunId) -> Option<Arc<Live>> {
        let waiting = self.line.iter().filter(|waiter| !waiter.is_gone());
        let all = iter::once(&self.live).chain(waiting.map(|waiter| &waiter.live));
        all.filter(|live| live.is_run())
            .find(|live| live.run == *run)
            .cloned()
    }
}

#[derive(Debug)]
struct Waiter {
    live: Arc<Live>,
    give: oneshot::Sender<Result<Served, StartError>>,
}

impl Waiter {
    fn refuse(self, why: StartError) {
        self.live.enter(Stage::Refused(why.clone()));
        let _ = self.give.send(Err(why));
    }

    /// Whether it has left the line.
    fn is_gone(&self) -> bool {
        self.give.is_closed()
    }
}

impl State {
    fn take(&mut self, key: Key, live: Arc<Live>, line: VecDeque<Waiter>) -> TurnSeq {
        let seq = TurnSeq(self.next);
        self.next += 1;
        let taken = Taken {
            seq,
            live,
            parked: None,
            line,
        };
        self.taken.insert(key, taken);
        seq
    }
}

impl Slots {
    pub(super) fn new(max_turns: usize, max_waiting: usize) -> Arc<Self> {
        let state = State {
            taken: HashMap::new(),
            next: 1,
            draining: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            max_turns,
            max_waiting,
        })
    }

    /// Takes a thread's slot for a run, or a place in the line for it, or finds the run there.
    ///
    /// # Errors
    /// The thread is live and the run may not wait, too many wait or are live, or none may start any more.
    pub(super) fn claim(
        self: &Arc<Self>,
        key: &Key,
        live: &Arc<Live>,
        busy: Busy,
    ) -> Result<Claim, StartError> {
        let mut state = self.state.lock();
        let is_draining = state.draining;
        if let Some(taken) = state.taken.get_mut(key) {
            taken.line.retain(|waiter| !waiter.is_gone());
            if live.is_run()
                && let Some(same) = taken.find(&live.run)
            {
                return Ok(Claim::Same(same));
            }
            if is_draining {
                return Err(StartError::Draining);
            }
            if taken.parked.is_some() && live.is_run() && !taken.live.is_ending() {
                return Ok(Claim::Parked);
            }
            // One that is being stopped is as good as over.
            if busy == Busy::Reject && !taken.live.is_ending() {
                return Err(StartError::Busy);
            }
            if busy == Busy::Replace {
                taken.live.stop.cancel();
                // What is to be forgotten stays so: it keeps its place.
                let (runs, others): (VecDeque<_>, VecDeque<_>) =
                    (taken.line.drain(..)).partition(|waiter| waiter.live.is_run());
                taken.line = others;
                for waiter in runs {
                    waiter.refuse(StartError::Stopped);
                }
            }
            if taken.line.len() >= self.max_waiting {
                return Err(StartError::Busy);
            }
            let (give, ticket) = oneshot::channel();
            let live = Arc::clone(live);
            taken.line.push_back(Waiter { live, give });
            return Ok(Claim::Waiting(Ticket(ticket)));
        }
        if is_draining {
            return Err(StartError::Draining);
        }
        if live.is_run() && self.is_full(&state) {
            return Err(StartError::Full);
        }
        let seq = state.take(key.clone(), Arc::clone(live), VecDeque::new());
        Ok(Claim::Mine(Slot {
            slots: Arc::clone(self),
            key: key.clone(),
            seq,
            live: Arc::clone(live),
        }))
    }

    /// Whether as many turns are live, or wait for answers, as may be.
    fn is_full(&self, state: &State) -> bool {
        // Most often there are too few to be counted.
        if state.taken.len() < self.max_turns {
            return false;
        }
        let is_parked = |taken: &&Taken| taken.parked.is_some();
        let parked = state.taken.values().filter(is_parked).count();
        state.taken.len() - parked >= self.max_turns || parked >= self.max_turns * PARKED
    }

    /// The run that has a thread.
    pub(super) fn live(&self, key: &Key) -> Option<Arc<Live>> {
        let state = self.state.lock();
        let taken = state.taken.get(key).filter(|it| it.parked.is_none());
        let live = taken.map(|taken| &taken.live);
        live.filter(|live| live.is_run()).cloned()
    }

    /// What the turn of a thread waits for, with the run that has asked it.
    pub(super) fn asked(&self, key: &Key) -> Option<Arc<Asked>> {
        let state = self.state.lock();
        let taken = state.taken.get(key).filter(|it| !it.live.is_ending())?;
        let parked = taken.parked.as_ref()?;
        Some(Arc::clone(&parked.asked))
    }

    /// Has the turn of a thread go on in another run, if it still waits for just that. Whoever is given the way to
    /// tell it how has the thread.
    pub(super) fn resume(
        &self,
        key: &Key,
        asked: &Arc<Asked>,
        live: &Arc<Live>,
    ) -> Option<oneshot::Sender<Resumed>> {
        let mut state = self.state.lock();
        if state.draining {
            return None;
        }
        let taken = state.taken.get_mut(key)?;
        if taken.live.is_ending() {
            return None;
        }
        let Parked { give, .. } = taken.parked.take_if(|it| Arc::ptr_eq(&it.asked, asked))?;
        let before = std::mem::replace(&mut taken.live, Arc::clone(live));
        before.enter(Stage::Over);
        Some(give)
    }

    /// Stops the turn of a thread if it still waits for just that.
    pub(super) fn call_off(&self, key: &Key, asked: &Arc<Asked>) {
        let state = self.state.lock();
        let taken = state.taken.get(key);
        let is_same = |it: &Parked| Arc::ptr_eq(&it.asked, asked);
        if let Some(taken) = taken.filter(|it| it.parked.as_ref().is_some_and(is_same)) {
            taken.live.stop.cancel();
        }
    }

    /// Whether something else than a certain run has a thread, and that run does not wait for it either.
    pub(super) fn is_anothers(&self, key: &Key, run: &RunId) -> bool {
        let state = self.state.lock();
        let taken = state.taken.get(key);
        taken.is_some_and(|taken| taken.find(run).is_none())
    }

    /// The runs that have threads.
    pub(super) fn runs(&self) -> HashMap<Key, RunId> {
        let state = self.state.lock();
        let is_live = |taken: &Taken| taken.live.is_run() && taken.parked.is_none();
        let runs = state.taken.iter().filter(|(_, taken)| is_live(taken));
        runs.map(|(key, taken)| (key.clone(), taken.live.run.clone()))
            .collect()
    }

    /// All threads that are live.
    pub(super) fn all(&self) -> Vec<Key> {
        self.state.lock().taken.keys().cloned().collect()
    }

    /// Stops the live run of a thread, and those that wait for it; `only`: none but this one. Answers with the
    /// run that was stopped first.
    pub(super) fn stop(&self, key: &Key, only: Option<&RunId>) -> Option<Arc<Live>> {
        let mut state = self.state.lock();
        let taken = state.taken.get_mut(key)?;
        let is_meant = |live: &Live| live.is_run() && only.is_none_or(|only| live.run == *only);
        let mut stopped = None;
        if is_meant(&taken.live) {
            taken.live.stop.cancel();
            stopped = Some(Arc::clone(&taken.live));
        }
        let (meant, line): (VecDeque<_>, _) = taken
            .line
            .drain(..)
            .partition(|waiter| is_meant(&waiter.live));
        taken.line = line;
        for waiter in meant {
            stopped.get_or_insert_with(|| Arc::clone(&waiter.live));
            waiter.refuse(StartError::Stopped);
        }
        stopped
    }

    /// Lets no further turn start.
    pub(super) fn drain(&self) {
        let mut state = self.state.lock();
        state.draining = true;
        for taken in state.taken.values_mut() {
            // Nobody can answer any more.
            taken.parked = None;
            for waiter in taken.line.drain(..) {
                waiter.refuse(StartError::Draining);
            }
        }
    }

    /// Whether no further turn may start.
    pub(super) fn is_draining(&self) -> bool {
        self.state.lock().draining
    }

    /// Gives a slot to whoever waits for it first.
    fn pass_on(self: &Arc<Self>, key: &Key, seq: TurnSeq) {
        let mut state = self.state.lock();
        if state.taken.get(key).is_none_or(|taken| taken.seq != seq) {
            return;
        }
        let mut line = state
            .taken
            .remove(key)
            .map(|taken| taken.line)
            .unwrap_or_default();
        while let Some(Waiter { live, give }) = line.pop_front() {
            // It has left the line, and said so itself.
            if give.is_closed() {
                continue;
            }
            let seq = state.take(key.clone(), Arc::clone(&live), line);
            drop(state);
            let slot = Slot {
                slots: Arc::clone(self),
                key: key.clone(),
                seq,
                live,
            };
            // If it has just left, the slot comes back and goes to the next.
            drop(give.send(Ok(Served::Slot(slot))));
            return;
        }
    }
}

/// A live thread's slot, held by its turn. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    key: Key,
    seq: TurnSeq,
    live: Arc<Live>,
}

impl Slot {
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn seq(&self) -> TurnSeq {
        self.seq
    }

    /// The run that has it.
    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Notes what the turn waits for from now on: its run is about to end. Whoever goes on with it says how; an
    /// error says that nobody will.
    pub(super) fn park(&self, asked: Arc<Asked>) -> oneshot::Receiver<Resumed> {
        let (give, resumed) = oneshot::channel();
        let mut state = self.slots.state.lock();
        let is_draining = state.draining;
        if let Some(taken) = state.taken.get_mut(&self.key)
            && taken.seq == self.seq
            && !is_draining
        {
            taken.parked = Some(Parked { asked, give });
            // Who waits may be who answers. What is to be forgotten keeps its place.
            let (runs, others): (VecDeque<_>, VecDeque<_>) =
                (taken.line.drain(..)).partition(|waiter| waiter.live.is_run());
            taken.line = others;
            for waiter in runs {
                let _ = waiter.give.send(Ok(Served::Parked));
            }
        }
        self.live.enter(Stage::Parked);
        resumed
    }

    /// Goes on in a run that nobody has asked for, unless somebody else goes on with the turn. Answers with whether
    /// it does.
    pub(super) fn unpark(&mut self, live: &Arc<Live>) -> bool {
        let mut state = self.slots.state.lock();
        let taken = state.taken.get_mut(&self.key);
        let is_mine = taken.is_some_and(|taken| {
            let is_mine = taken.parked.take().is_some();
            if is_mine {
                if taken.live.stop.is_cancelled() {
                    live.stop.cancel();
                }
                taken.live = Arc::clone(live);
            }
            is_mine
        });
        drop(state);
        if is_mine {
            self.go_on(live);
        }
        is_mine
    }

    /// The same where nobody can go on with it any more.
    pub(super) fn go_on_alone(&mut self, live: &Arc<Live>) {
        let mut state = self.slots.state.lock();
        if let Some(taken) = state.taken.get_mut(&self.key) {
            taken.live = Arc::clone(live);
        }
        drop(state);
        self.go_on(live);
    }

    /// Takes over the run that the turn goes on in.
    pub(super) fn go_on(&mut self, live: &Arc<Live>) {
        let before = std::mem::replace(&mut self.live, Arc::clone(live));
        before.enter(Stage::Over);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.pass_on(&self.key, self.seq);
        self.live.enter(Stage::Over);
    }
}

#[cfg(test)]
mod tests;
