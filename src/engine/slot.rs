//! Which threads are live, and which session each thread is bound to. One short lock, no waiting.
//!
//! A live thread has a slot; the slot is taken before anything is streamed and given back before the
//! event that lets a client post again. It carries its turn's number, and only that turn gives it back.

use std::{collections::HashMap, num::NonZeroUsize, sync::Arc};

use lru::LruCache;
use parking_lot::Mutex;

use super::BadWish;
use crate::{
    deps::{AgentName, Principal, SessionRef},
    protocol::ThreadId,
};

/// Why a run cannot start. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// No agent of that name.
    #[error("find an agent of that name")]
    UnknownAgent,
    /// Another run is live on the thread.
    #[error("start a run: another one is live on this thread")]
    Busy,
    /// The request has no new user message and answers nothing.
    #[error("find anything to do in the request: no user message stands at its end")]
    NothingToDo,
    /// It wishes for something that it may not choose.
    #[error(transparent)]
    Wish(#[from] BadWish),
    /// As many turns are live as may be.
    #[error("start a run: too many are live")]
    Full,
    /// The daemon is shutting down.
    #[error("start a run: the daemon is shutting down")]
    Draining,
}

/// What a thread is known by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) principal: Principal,
    pub(super) agent: AgentName,
    pub(super) thread: ThreadId,
}

/// The number of a turn, unique in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnSeq(u64);

impl std::fmt::Display for TurnSeq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// All threads that the daemon knows of.
#[derive(Debug)]
pub(super) struct Threads {
    state: Mutex<State>,
    max_turns: usize,
}

#[derive(Debug)]
struct State {
    /// Bounded by `max_turns`.
    live: HashMap<Key, TurnSeq>,
    /// Bounded; the least recently used thread is forgotten and starts a new session.
    sessions: LruCache<Key, SessionRef>,
    next: u64,
    draining: bool,
}

impl Threads {
    pub(super) fn new(max_turns: usize, max_threads: usize) -> Arc<Self> {
        let max_threads = NonZeroUsize::new(max_threads).unwrap_or(NonZeroUsize::MIN);
        // Grows as threads come: room for all of them at once may be more than there is.
        let mut sessions = LruCache::unbounded();
        sessions.resize(max_threads);
        let state = State {
            live: HashMap::new(),
            sessions,
            next: 1,
            draining: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            max_turns,
        })
    }

    /// Takes a thread's slot for a new turn.
    ///
    /// # Errors
    /// The thread is live, too many are, or none may start any more.
    pub(super) fn claim(self: &Arc<Self>, key: Key) -> Result<Slot, StartError> {
        let mut state = self.state.lock();
        if state.draining {
            return Err(StartError::Draining);
        }
        if state.live.contains_key(&key) {
            return Err(StartError::Busy);
        }
        if state.live.len() >= self.max_turns {
            return Err(StartError::Full);
        }
        let seq = TurnSeq(state.next);
        state.next += 1;
        state.live.insert(key.clone(), seq);
        drop(state);
        Ok(Slot {
            threads: Arc::clone(self),
            key,
            seq,
        })
    }

    /// Lets no further turn start.
    pub(super) fn drain(&self) {
        self.state.lock().draining = true;
    }

    /// Whether no further turn may start.
    pub(super) fn is_draining(&self) -> bool {
        self.state.lock().draining
    }
}

/// A live thread's slot, held by its turn. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Slot {
    threads: Arc<Threads>,
    key: Key,
    seq: TurnSeq,
}

impl Slot {
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn seq(&self) -> TurnSeq {
        self.seq
    }

    /// The session that the thread is bound to.
    pub(super) fn session(&self) -> Option<SessionRef> {
        self.threads.state.lock().sessions.get(&self.key).cloned()
    }

    /// Binds the thread to a session.
    pub(super) fn bind(&self, session: SessionRef) {
        self.threads
            .state
            .lock()
            .sessions
            .put(self.key.clone(), session);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.threads.state.lock();
        if state.live.get(&self.key) == Some(&self.seq) {
            state.live.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(thread: &str) -> Key {
        Key {
            principal: Principal::local(),
            agent: AgentName::new("a").unwrap(),
            thread: ThreadId::new(thread).unwrap(),
        }
    }

    #[test]
    fn a_thread_is_live_once_and_free_when_its_slot_is_dropped() {
        let threads = Threads::new(10, 10);
        let slot = threads.claim(key("t")).unwrap();
        assert_eq!(threads.claim(key("t")).unwrap_err(), StartError::Busy);
        assert!(threads.claim(key("other")).is_ok());
        drop(slot);
        assert!(threads.claim(key("t")).is_ok());
    }

    #[test]
    fn turns_and_remembered_threads_are_bounded() {
        let threads = Threads::new(1, 1);
        let slot = threads.claim(key("t")).unwrap();
        assert_eq!(threads.claim(key("u")).unwrap_err(), StartError::Full);
        slot.bind(SessionRef::new("s"));
        assert_eq!(slot.session(), Some(SessionRef::new("s")));
        drop(slot);
        threads.claim(key("u")).unwrap().bind(SessionRef::new("s2"));
        assert_eq!(threads.claim(key("t")).unwrap().session(), None);
    }

    #[test]
    fn a_bound_that_no_memory_could_fill_is_fine() {
        let threads = Threads::new(usize::MAX, usize::MAX);
        threads.claim(key("t")).unwrap().bind(SessionRef::new("s"));
        assert_eq!(
            threads.claim(key("t")).unwrap().session(),
            Some(SessionRef::new("s"))
        );
    }

    #[test]
    fn nothing_starts_while_draining() {
        let threads = Threads::new(1, 1);
        threads.drain();
        assert_eq!(threads.claim(key("t")).unwrap_err(), StartError::Draining);
        assert!(threads.is_draining());
    }
}
