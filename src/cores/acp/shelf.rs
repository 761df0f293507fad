//! Which process a turn uses, and which processes are kept. Decides, waits for nothing.
//!
//! A turn gets the process that has its session open, else one that no turn uses, else a new one; once there
//! are as many as are kept, it shares the one that the fewest turns use, ready or not yet. A process that no turn
//! uses stays for a while and then ends; of too many the one that was used longest ago ends first.
//!
//! Where a process may have so many sessions open and no more, the oldest that no turn uses is given up for a new
//! one, if the agent can close sessions. Else the process is there for its own sessions alone, and others are
//! started beyond those that are kept.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use lru::LruCache;
use tokio::{sync::watch, time::Instant};

use super::process::Manner;
use crate::{deps::SessionRef, protocol::ThreadId};

/// Of how many sessions it is known that a process has them open. Another one is opened again.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(64).expect("it is not zero");

/// The processes `W` of one agent and one principal, and what is known of each session `S` that one has open.
pub(super) struct Shelf<W, S> {
    slots: Vec<Slot<W, S>>,
    last: u64,
    limits: Limits,
}

/// How many there may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How many are kept. None at all means that each turn has one of its own.
    pub(super) kept: usize,
    /// How long one is kept that no turn uses.
    pub(super) ttl: Duration,
    /// How many sessions one may have open, if that is bounded.
    pub(super) sessions: Option<usize>,
}

/// A process, as the shelf has to know it.
pub(super) trait Process {
    /// How it is.
    fn state(&self) -> State;

    /// Whether it closes sessions when it is asked to. Not known before it is ready.
    fn closes_sessions(&self) -> bool;
}

/// How a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It gets ready.
    Starting,
    /// It can be used.
    Ready,
    /// It has ended or is to end.
    Gone,
}

/// The number of a process, unique on its shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Number(pub(super) u64);

/// A thread's session. Agents may name sessions of two processes alike, so that the name alone says little.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Conversation {
    /// The thread.
    pub(super) thread: ThreadId,
    /// The agent's id of the session.
    pub(super) session: String,
}

impl Conversation {
    pub(super) fn new(thread: &ThreadId, session: &SessionRef) -> Self {
        Self {
            thread: thread.clone(),
            session: session.as_str().to_owned(),
        }
    }
}

struct Slot<W, S> {
    number: Number,
    process: Arc<W>,
    /// How many turns use it or wait for it.
    users: usize,
    /// Whether it ends once no turn uses it.
    retired: bool,
    /// What it has open, the latest used first.
    sessions: LruCache<Conversation, S>,
    /// What of that turns use now.
    in_use: Vec<Conversation>,
    /// When it ends if no turn uses it until then.
    until: watch::Sender<Option<Instant>>,
}

/// Whether a process can open one more session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// It can.
    Free,
    /// It can if it gives up another.
    Idle,
}

/// What a turn leaves a process as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As it should be.
    Sound,
    /// In the middle of something that does other turns no harm.
    Doubtful,
    /// At work that it does not stop.
    Stuck,
    /// As it was: the turn has only waited for it.
    Unused,
}

/// A process that a turn may use, once that is ready.
pub(super) struct Taken<W> {
    /// Its number, to give it back with.
    pub(super) number: Number,
    /// The process.
    pub(super) process: Arc<W>,
    /// Whether the turn's session is open there.
    pub(super) is_open: bool,
    /// A session that is to be closed before another is opened.
    pub(super) given_up: Option<Conversation>,
}

/// Who can let go of a session.
pub(super) struct Farewell<W> {
    /// The processes that have it open.
    pub(super) open_in: Vec<Arc<W>>,
    /// A process that can be asked if none has it open.
    pub(super) other: Option<(Number, Arc<W>)>,
    /// Those that are to end with it.
    pub(super) ending: Vec<Order<W>>,
}

/// A process that is to end, and how.
pub(super) type Order<W> = (Arc<W>, Manner);

impl<W: Process, S: Clone> Shelf<W, S> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            slots: Vec::new(),
            last: 0,
            limits,
        }
    }

    /// Takes a process for a turn of a conversation, if there is one already. If need be it has one started, which
    /// is told when it ends if no turn uses it until then.
    pub(super) fn take(
        &mut self,
        known: Option<&Conversation>,
        start: impl FnOnce(Number, watch::Receiver<Option<Instant>>) -> W,
    ) -> Taken<W> {
        let is_kept = self.limits.kept > 0;
        let has_open = known.filter(|_| is_kept).and_then(|known| {
            let slot = self.usable().find(|slot| slot.sessions.contains(known))?;
            Some((slot.number, known.clone()))
        });
        let found = has_open.as_ref().map(|(number, _)| (*number, Room::Free));
        let found = found.or_else(|| self.find().filter(|_| is_kept));
        let (number, room) = found.unwrap_or_else(|| (self.add(start), Room::Free));
        let slot = self.slot(number).expect("it was found or added just now");
        slot.users += 1;
        slot.until.send_replace(None);
        let given_up = (room == Room::Idle).then(|| slot.give_up()).flatten();
        let is_open = has_open.is_some();
        slot.in_use.extend(has_open.map(|(_, known)| known));
        Taken {
            number,
            process: Arc::clone(&slot.process),
            is_open,
            given_up,
        }
    }

    fn usable(&self) -> impl Iterator<Item = &Slot<W, S>> {
        let is_usable = |slot: &&Slot<W, S>| !slot.retired && slot.process.state() != State::Gone;
        self.slots.iter().filter(is_usable)
    }

    /// The process that can open one more session and that the fewest turns use, unless a new one is better.
    fn find(&self) -> Option<(Number, Room)> {
        let is_full = self.slots.len() >= self.limits.kept;
        let least_used = self
            .usable()
            .filter_map(|slot| Some((slot, slot.room(self.limits.sessions)?)))
            .min_by_key(|(slot, room)| (slot.users, *room));
        let (slot, room) = least_used.filter(|(slot, _)| slot.users == 0 || is_full)?;
        Some((slot.number, room))
    }

    fn add(&mut self, start: impl FnOnce(Number, watch::Receiver<Option<Instant>>) -> W) -> Number {
        self.last += 1;
        let number = Number(self.last);
        let until = watch::Sender::new(None);
        self.slots.push(Slot {
            number,
            process: Arc::new(start(number, until.subscribe())),
            users: 0,
            retired: false,
            sessions: LruCache::new(SESSIONS),
            in_use: Vec::new(),
            until,
        });
        number
    }

    /// What is known of a session that a process has open.
    pub(super) fn known_session(&mut self, number: Number, session: &Conversation) -> Option<S> {
        self.slot(number)?.sessions.get(session).cloned()
    }

    /// Notes that a process has a session open, and what is known of it.
    pub(super) fn note_session(&mut self, number: Number, session: Conversation, known: S) {
        if let Some(slot) = self.slot(number) {
            slot.sessions.put(session, known);
        }
    }

    /// Notes that a turn uses a session from now on, until it gives the process back.
    pub(super) fn use_session(&mut self, number: Number, session: Conversation) {
        if let Some(slot) = self.slot(number) {
            slot.in_use.push(session);
        }
    }

    /// Forgets a session that no turn uses. Starts nothing. A process that may have so many sessions open and closes
    /// none is of no use any more.
    pub(super) fn forget(&mut self, session: &Conversation) -> Farewell<W> {
        let is_limited = self.limits.sessions.is_some();
        let mut open_in = Vec::new();
        let mut useless = Vec::new();
        for slot in &mut self.slots {
            if slot.sessions.pop(session).is_none() || slot.process.state() != State::Ready {
                continue;
            }
            open_in.push(Arc::clone(&slot.process));
            if is_limited && !slot.process.closes_sessions() {
                slot.retired = true;
                useless.extend((slot.users == 0).then_some(slot.number));
            }
        }
        let other = self
            .usable()
            .find(|slot| open_in.is_empty() && slot.process.state() == State::Ready)
            .map(|slot| (slot.number, Arc::clone(&slot.process)));
        let end = |number| self.end(number, Manner::Gentle);
        let ending = useless.into_iter().flat_map(end).collect();
        Farewell {
            open_in,
            other,
            ending,
        }
    }

    /// Takes a process back from a turn, which may have used a session, and answers with those that are to end now.
    /// They are not used any more.
    pub(super) fn give_back(
        &mut self,
        number: Number,
        session: Option<&Conversation>,
        verdict: Verdict,
        now: Instant,
    ) -> Vec<Order<W>> {
        let Some(slot) = self.slot(number) else {
            return Vec::new();
        };
        slot.users -= 1;
        let used = slot.in_use.iter().position(|it| Some(it) == session);
        used.map(|index| slot.in_use.swap_remove(index));
        slot.retired |= matches!(verdict, Verdict::Doubtful | Verdict::Stuck);
        let (is_free, is_retired) = (slot.users == 0, slot.retired);
        let is_in_doubt = match verdict {
            Verdict::Sound => false,
            Verdict::Doubtful | Verdict::Stuck => true,
            // Nobody waits for it any more.
            Verdict::Unused => slot.process.state() != State::Ready,
        };
        let until = now + self.limits.ttl;
        if verdict == Verdict::Stuck || (is_free && is_in_doubt) {
            self.end(number, Manner::Firm)
        } else if is_free && (is_retired || self.limits.kept == 0) {
            self.end(number, Manner::Gentle)
        } else if is_free {
            self.rest(number, until)
        } else {
            Vec::new()
        }
    }

    /// Puts a process where it waits for its next turn, behind those that have waited for longer.
    fn rest(&mut self, number: Number, until: Instant) -> Vec<Order<W>> {
        let Some(index) = self.slots.iter().position(|it| it.number == number) else {
            return Vec::new();
        };
        let slot = self.slots.remove(index);
        slot.until.send_replace(Some(until));
        self.slots.push(slot);
        let resting = self.slots.iter().filter(|slot| slot.users == 0);
        let excess = resting.clone().count().saturating_sub(self.limits.kept);
        let oldest: Vec<_> = resting.take(excess).map(|slot| slot.number).collect();
        let end = |number| self.end(number, Manner::Gentle);
        oldest.into_iter().flat_map(end).collect()
    }

    /// Ends a process that no turn has used for too long.
    pub(super) fn expire(&mut self, number: Number, now: Instant) -> Vec<Order<W>> {
        let is_over = self.slot(number).is_some_and(|slot| {
            slot.users == 0 && slot.until.borrow().is_some_and(|until| until <= now)
        });
        if is_over {
            self.end(number, Manner::Gentle)
        } else {
            Vec::new()
        }
    }

    /// Forgets a process that has ended by itself.
    pub(super) fn remove(&mut self, number: Number) {
        self.slots.retain(|slot| slot.number != number);
    }

    fn end(&mut self, number: Number, manner: Manner) -> Vec<Order<W>> {
        let index = self.slots.iter().position(|slot| slot.number == number);
        let slot = index.map(|index| self.slots.remove(index));
        slot.map(|slot| (slot.process, manner))
            .into_iter()
            .collect()
    }

    fn slot(&mut self, number: Number) -> Option<&mut Slot<W, S>> {
        self.slots.iter_mut().find(|slot| slot.number == number)
    }
}

impl<W: Process, S> Slot<W, S> {
    /// The sessions that are open and that no turn uses, the oldest first.
    fn idle(&self) -> impl Iterator<Item = &Conversation> {
        let open = self.sessions.iter().rev().map(|(session, _)| session);
        open.filter(|session| !self.in_use.contains(session))
    }

    /// Whether one more session can be opened, where so many may be open. Each turn has one or is to have one.
    fn room(&self, limit: Option<usize>) -> Option<Room> {
        let idle = self.idle().count();
        let open = self.users + idle;
        let can_give_up = idle > 0 && self.process.closes_sessions();
        match limit {
            Some(limit) if open < limit => Some(Room::Free),
            Some(_) => can_give_up.then_some(Room::Idle),
            // One that would be forgotten is better closed.
            None if open >= SESSIONS.get() && can_give_up => Some(Room::Idle),
            None => Some(Room::Free),
        }
    }

    fn give_up(&mut self) -> Option<Conversation> {
        let oldest = self.idle().next().cloned()?;
        self.sessions.pop(&oldest);
        Some(oldest)
    }
}

#[cfg(test)]
mod tests;
