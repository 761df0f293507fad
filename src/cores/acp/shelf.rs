//! Which process a turn uses, and which processes are kept. Decides, waits for nothing.
//!
//! A turn gets the process that has its session open, else one that no turn uses, else a new one; once there
//! are as many as are kept, it shares the one that the fewest turns use. A process that no turn uses stays for
//! a while and then ends; of too many the one that was used longest ago ends first.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use lru::LruCache;
use tokio::{sync::watch, time::Instant};

use super::process::Manner;
use crate::protocol::ThreadId;

/// Of how many sessions it is known that a process has them open. Another one is opened again.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(64).expect("it is not zero");

/// The processes `W` of one agent and one principal, and what is known of each session `S` that one has open.
pub(super) struct Shelf<W, S> {
    places: Vec<Place<W, S>>,
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

struct Place<W, S> {
    number: Number,
    /// None while it gets ready.
    worker: Option<Arc<W>>,
    /// How many turns use it.
    users: usize,
    /// Whether it ends once no turn uses it.
    retired: bool,
    /// What it has open, the latest used first.
    sessions: LruCache<Conversation, S>,
    /// When it ends if no turn uses it until then.
    until: watch::Sender<Option<Instant>>,
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
}

/// A process that a turn may use.
pub(super) struct Taken<W> {
    /// Its number, to give it back with.
    pub(super) number: Number,
    /// None if it is to be started first.
    pub(super) worker: Option<Arc<W>>,
    /// When it ends if no turn uses it until then.
    pub(super) until: watch::Receiver<Option<Instant>>,
}

/// Processes that are to end, and how.
pub(super) type Ending<W> = Vec<(Arc<W>, Manner)>;

impl<W, S: Clone> Shelf<W, S> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            places: Vec::new(),
            last: 0,
            limits,
        }
    }

    /// Takes a process for a turn of a conversation, if there is one already. Only those are used that are usable.
    pub(super) fn take(
        &mut self,
        known: Option<&Conversation>,
        usable: impl Fn(&W) -> bool,
    ) -> Taken<W> {
        let index = self.find(known, usable).unwrap_or_else(|| self.add());
        let place = &mut self.places[index];
        place.users += 1;
        place.until.send_replace(None);
        Taken {
            number: place.number,
            worker: place.worker.clone(),
            until: place.until.subscribe(),
        }
    }

    fn find(&self, known: Option<&Conversation>, usable: impl Fn(&W) -> bool) -> Option<usize> {
        if self.limits.kept == 0 {
            return None;
        }
        let is_usable = |place: &Place<W, S>| {
            !place.retired && place.worker.as_ref().is_some_and(|worker| usable(worker))
        };
        let ready = || {
            self.places
                .iter()
                .enumerate()
                .filter(|(_, place)| is_usable(place))
        };
        let has_open = |place: &Place<W, S>| known.is_some_and(|it| place.sessions.contains(it));
        if let Some((index, _)) = ready().find(|(_, place)| has_open(place)) {
            return Some(index);
        }
        let limit = self.limits.sessions.unwrap_or(usize::MAX);
        let least_used = ready()
            .filter(|(_, place)| place.sessions.len() + place.users < limit)
            .min_by_key(|(_, place)| place.users);
        let is_full = self.places.len() >= self.limits.kept;
        let (index, _) = least_used.filter(|(_, place)| place.users == 0 || is_full)?;
        Some(index)
    }

    fn add(&mut self) -> usize {
        self.last += 1;
        self.places.push(Place {
            number: Number(self.last),
            worker: None,
            users: 0,
            retired: false,
            sessions: LruCache::new(SESSIONS),
            until: watch::Sender::new(None),
        });
        self.places.len() - 1
    }

    /// Notes that a process which was to be started is ready.
    pub(super) fn fill(&mut self, number: Number, worker: &Arc<W>) {
        if let Some(place) = self.place(number) {
            place.worker = Some(Arc::clone(worker));
        }
    }

    /// What is known of a session that a process has open.
    pub(super) fn open_session(&mut self, number: Number, session: &Conversation) -> Option<S> {
        self.place(number)?.sessions.get(session).cloned()
    }

    /// Notes that a process has a session open, and what is known of it.
    pub(super) fn note_session(&mut self, number: Number, session: Conversation, known: S) {
        if let Some(place) = self.place(number) {
            place.sessions.put(session, known);
        }
    }

    /// Takes a process back from a turn, and answers with those that are to end now. They are not used any more.
    pub(super) fn give_back(
        &mut self,
        number: Number,
        verdict: Verdict,
        now: Instant,
    ) -> Ending<W> {
        let Some(place) = self.place(number) else {
            return Vec::new();
        };
        place.users -= 1;
        place.retired |= verdict != Verdict::Sound;
        let (is_free, is_retired) = (place.users == 0, place.retired);
        let until = now + self.limits.ttl;
        if verdict == Verdict::Stuck || (is_free && verdict == Verdict::Doubtful) {
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
    fn rest(&mut self, number: Number, until: Instant) -> Ending<W> {
        let Some(index) = self.places.iter().position(|it| it.number == number) else {
            return Vec::new();
        };
        let place = self.places.remove(index);
        place.until.send_replace(Some(until));
        self.places.push(place);
        let resting = self.places.iter().filter(|place| place.users == 0);
        let excess = resting.clone().count().saturating_sub(self.limits.kept);
        let oldest: Vec<_> = resting.take(excess).map(|place| place.number).collect();
        let end = |number| self.end(number, Manner::Gentle);
        oldest.into_iter().flat_map(end).collect()
    }

    /// Ends a process that no turn has used for too long.
    pub(super) fn expire(&mut self, number: Number, now: Instant) -> Ending<W> {
        let is_over = self.place(number).is_some_and(|place| {
            place.users == 0 && place.until.borrow().is_some_and(|until| until <= now)
        });
        if is_over {
            self.end(number, Manner::Gentle)
        } else {
            Vec::new()
        }
    }

    /// Forgets a process that has ended by itself.
    pub(super) fn remove(&mut self, number: Number) {
        self.places.retain(|place| place.number != number);
    }

    fn end(&mut self, number: Number, manner: Manner) -> Ending<W> {
        let worker = self.place(number).and_then(|place| place.worker.take());
        self.remove(number);
        worker.map(|worker| (worker, manner)).into_iter().collect()
    }

    fn place(&mut self, number: Number) -> Option<&mut Place<W, S>> {
        self.places.iter_mut().find(|place| place.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_mins(1);

    fn shelf(kept: usize) -> Shelf<&'static str, ()> {
        Shelf::new(Limits {
            kept,
            ttl: TTL,
            sessions: None,
        })
    }

    fn conversation(session: &str) -> Conversation {
        Conversation {
            thread: ThreadId::new("t").unwrap(),
            session: session.into(),
        }
    }

    /// Takes a process, and makes it ready under that name if it is new.
    fn take(
        shelf: &mut Shelf<&'static str, ()>,
        session: Option<&str>,
        new: &'static str,
    ) -> (Number, &'static str) {
        let known = session.map(conversation);
        let taken = shelf.take(known.as_ref(), |_| true);
        let worker = taken.worker.unwrap_or_else(|| {
            let worker = Arc::new(new);
            shelf.fill(taken.number, &worker);
            worker
        });
        (taken.number, *worker)
    }

    fn names(ending: Ending<&'static str>) -> Vec<(&'static str, Manner)> {
        ending
            .into_iter()
            .map(|(worker, manner)| (*worker, manner))
            .collect()
    }

    fn back(shelf: &mut Shelf<&'static str, ()>, number: Number) -> Vec<(&'static str, Manner)> {
        names(shelf.give_back(number, Verdict::Sound, Instant::now()))
    }

    #[tokio::test]
    async fn a_turn_gets_the_process_that_has_its_session_open() {
        let mut shelf = shelf(4);
        let (a, _) = take(&mut shelf, None, "first");
        let (b, name) = take(&mut shelf, None, "second");
        assert_eq!(name, "second", "the first is used");
        shelf.note_session(a, conversation("session"), ());
        assert!(shelf.open_session(a, &conversation("session")).is_some());
        assert!(shelf.open_session(b, &conversation("session")).is_none());
        assert!(back(&mut shelf, a).is_empty() && back(&mut shelf, b).is_empty());
        assert_eq!(take(&mut shelf, Some("session"), "new").1, "first");
        assert_eq!(
            take(&mut shelf, Some("other"), "new").1,
            "second",
            "no turn uses it"
        );
        assert_eq!(
            take(&mut shelf, Some("session"), "new").1,
            "first",
            "used or not"
        );
    }

    #[tokio::test]
    async fn once_there_are_as_many_as_are_kept_the_least_used_is_shared() {
        let mut shelf = shelf(2);
        let names = ["one", "two", "three", "four", "five"];
        let taken: Vec<_> = names.map(|new| take(&mut shelf, None, new).1).into();
        assert_eq!(taken, ["one", "two", "one", "two", "one"]);
    }

    #[tokio::test]
    async fn where_none_is_kept_each_turn_has_its_own_and_it_ends_with_the_turn() {
        let mut shelf = shelf(0);
        let (a, _) = take(&mut shelf, None, "one");
        let (b, name) = take(&mut shelf, None, "two");
        assert_eq!(name, "two");
        assert_eq!(back(&mut shelf, a), [("one", Manner::Gentle)]);
        assert_eq!(back(&mut shelf, b), [("two", Manner::Gentle)]);
    }

    #[tokio::test]
    async fn r97_of_too_many_the_one_used_longest_ago_ends_and_none_that_is_used() {
        let mut shelf = Shelf::new(Limits {
            kept: 2,
            ttl: TTL,
            sessions: Some(1),
        });
        let [a, b, c] = ["one", "two", "three"].map(|new| {
            let (number, name) = take(&mut shelf, None, new);
            shelf.note_session(number, conversation(new), ());
            assert_eq!(name, new, "each has as many sessions as it may");
            number
        });
        assert!(back(&mut shelf, c).is_empty());
        assert!(back(&mut shelf, a).is_empty());
        assert_eq!(back(&mut shelf, b), [("three", Manner::Gentle)]);
        assert_eq!(take(&mut shelf, Some("one"), "new").1, "one");
        assert_eq!(take(&mut shelf, Some("three"), "new").1, "new");
    }

    #[tokio::test(start_paused = true)]
    async fn r97_one_that_is_not_used_for_too_long_ends_unless_it_is_used_again() {
        let mut shelf = shelf(1);
        let (a, _) = take(&mut shelf, None, "one");
        back(&mut shelf, a);
        tokio::time::advance(TTL / 2).await;
        assert!(shelf.expire(a, Instant::now()).is_empty());
        let taken = shelf.take(None, |_| true);
        assert_eq!(*taken.until.borrow(), None);
        tokio::time::advance(TTL).await;
        assert!(shelf.expire(a, Instant::now()).is_empty(), "it is used");
        back(&mut shelf, a);
        tokio::time::advance(TTL).await;
        assert_eq!(
            names(shelf.expire(a, Instant::now())),
            [("one", Manner::Gentle)]
        );
        assert_eq!(take(&mut shelf, None, "new").1, "new");
    }

    #[tokio::test]
    async fn one_that_is_left_in_the_middle_of_something_is_not_used_again() {
        let now = Instant::now();
        let mut shelf = shelf(1);
        let (a, _) = take(&mut shelf, None, "one");
        let ending = shelf.give_back(a, Verdict::Doubtful, now);
        assert_eq!(names(ending), [("one", Manner::Firm)]);

        let (a, _) = take(&mut shelf, None, "two");
        take(&mut shelf, None, "shared");
        assert!(
            shelf.give_back(a, Verdict::Doubtful, now).is_empty(),
            "another turn uses it"
        );
        assert_eq!(take(&mut shelf, None, "three").1, "three");
        assert_eq!(back(&mut shelf, a), [("two", Manner::Gentle)]);
    }

    #[tokio::test]
    async fn one_that_does_not_stop_ends_whoever_uses_it() {
        let mut shelf = shelf(1);
        let (a, _) = take(&mut shelf, None, "one");
        take(&mut shelf, None, "shared");
        let ending = shelf.give_back(a, Verdict::Stuck, Instant::now());
        assert_eq!(names(ending), [("one", Manner::Firm)]);
        assert!(back(&mut shelf, a).is_empty(), "it is gone already");
    }

    #[tokio::test]
    async fn one_that_is_not_ready_yet_or_not_usable_any_more_is_not_shared() {
        let mut shelf = shelf(1);
        let starting = shelf.take(None, |_| true);
        assert!(starting.worker.is_none());
        let (b, name) = take(&mut shelf, None, "second");
        assert_eq!(name, "second");
        assert!(
            shelf
                .give_back(starting.number, Verdict::Doubtful, Instant::now())
                .is_empty()
        );
        back(&mut shelf, b);
        assert!(shelf.take(None, |name| *name != "second").worker.is_none());
    }
}
