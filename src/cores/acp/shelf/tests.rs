//! Which process a turn gets, and which end.

use parking_lot::Mutex;

use super::*;

const TTL: Duration = Duration::from_mins(1);

struct Fake {
    name: &'static str,
    state: Mutex<State>,
    closes_sessions: bool,
}

impl Fake {
    fn is(&self, state: State) {
        *self.state.lock() = state;
    }
}

impl Process for Fake {
    fn state(&self) -> State {
        *self.state.lock()
    }

    fn closes_sessions(&self) -> bool {
        self.closes_sessions
    }
}

fn limited(kept: usize, sessions: Option<usize>) -> Shelf<Fake, ()> {
    Shelf::new(Limits {
        kept,
        ttl: TTL,
        sessions,
    })
}

fn shelf(kept: usize) -> Shelf<Fake, ()> {
    limited(kept, None)
}

fn conversation(session: &str) -> Conversation {
    Conversation {
        thread: ThreadId::new("t").unwrap(),
        session: session.into(),
    }
}

/// Takes a process. A new one is ready under that name.
fn take(
    shelf: &mut Shelf<Fake, ()>,
    session: Option<&str>,
    new: &'static str,
) -> (Number, &'static str) {
    let taken = take_as(shelf, session, new, State::Ready);
    (taken.number, taken.process.name)
}

fn take_as(
    shelf: &mut Shelf<Fake, ()>,
    session: Option<&str>,
    new: &'static str,
    state: State,
) -> Taken<Fake> {
    let known = session.map(conversation);
    shelf.take(known.as_ref(), |_, _| Fake {
        name: new,
        state: Mutex::new(state),
        closes_sessions: new.starts_with("closing"),
    })
}

/// Opens a session for a turn.
fn open(shelf: &mut Shelf<Fake, ()>, number: Number, session: &str) {
    shelf.use_session(number, conversation(session));
    shelf.note_session(number, conversation(session), ());
}

fn names(ending: Vec<Order<Fake>>) -> Vec<(&'static str, Manner)> {
    ending
        .into_iter()
        .map(|(process, manner)| (process.name, manner))
        .collect()
}

fn back(shelf: &mut Shelf<Fake, ()>, number: Number) -> Vec<(&'static str, Manner)> {
    leave(shelf, number, Verdict::Sound)
}

fn leave(
    shelf: &mut Shelf<Fake, ()>,
    number: Number,
    verdict: Verdict,
) -> Vec<(&'static str, Manner)> {
    names(shelf.give_back(number, None, verdict, Instant::now()))
}

/// Takes a process back from a turn that has used a session.
fn close(shelf: &mut Shelf<Fake, ()>, number: Number, session: &str) {
    let session = conversation(session);
    let ending = shelf.give_back(number, Some(&session), Verdict::Sound, Instant::now());
    assert_eq!(names(ending), []);
}

#[tokio::test]
async fn a_turn_gets_the_process_that_has_its_session_open() {
    let mut shelf = shelf(4);
    let (a, _) = take(&mut shelf, None, "first");
    let (b, name) = take(&mut shelf, None, "second");
    assert_eq!(name, "second", "the first is used");
    shelf.note_session(a, conversation("session"), ());
    assert!(shelf.known_session(a, &conversation("session")).is_some());
    assert!(shelf.known_session(b, &conversation("session")).is_none());
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
    let mut shelf = limited(2, Some(1));
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
    take(&mut shelf, None, "new");
    assert_eq!(*shelf.slots[0].until.borrow(), None);
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
    let mut shelf = shelf(1);
    let (a, _) = take(&mut shelf, None, "one");
    let ending = leave(&mut shelf, a, Verdict::Doubtful);
    assert_eq!(ending, [("one", Manner::Firm)]);

    let (a, _) = take(&mut shelf, None, "two");
    take(&mut shelf, None, "shared");
    let ending = leave(&mut shelf, a, Verdict::Doubtful);
    assert!(ending.is_empty(), "another turn uses it");
    assert_eq!(take(&mut shelf, None, "three").1, "three");
    assert_eq!(back(&mut shelf, a), [("two", Manner::Gentle)]);
}

#[tokio::test]
async fn one_that_does_not_stop_ends_whoever_uses_it() {
    let mut shelf = shelf(1);
    let (a, _) = take(&mut shelf, None, "one");
    take(&mut shelf, None, "shared");
    let ending = leave(&mut shelf, a, Verdict::Stuck);
    assert_eq!(ending, [("one", Manner::Firm)]);
    assert!(back(&mut shelf, a).is_empty(), "it is gone already");
}

#[tokio::test]
async fn once_there_are_as_many_as_are_kept_turns_wait_for_those_that_start() {
    let mut shelf = shelf(2);
    let names = ["one", "two", "three", "four", "five"];
    let taken = names.map(|new| take_as(&mut shelf, None, new, State::Starting).process.name);
    assert_eq!(taken, ["one", "two", "one", "two", "one"]);
}

#[tokio::test]
async fn one_that_starts_ends_once_nobody_waits_for_it_and_not_before() {
    let mut shelf = shelf(1);
    let a = take_as(&mut shelf, None, "one", State::Starting).number;
    take_as(&mut shelf, None, "shared", State::Starting);
    assert_eq!(leave(&mut shelf, a, Verdict::Unused), []);
    let (_, name) = take(&mut shelf, None, "new");
    assert_eq!(
        name, "one",
        "whoever had it started is gone, and it goes on"
    );
    assert_eq!(leave(&mut shelf, a, Verdict::Unused), []);
    let ending = leave(&mut shelf, a, Verdict::Unused);
    assert_eq!(ending, [("one", Manner::Firm)]);
    assert_eq!(take(&mut shelf, None, "new").1, "new");
}

#[tokio::test]
async fn one_that_was_ready_before_the_last_who_waited_has_seen_it_stays() {
    let mut shelf = shelf(1);
    let a = take_as(&mut shelf, None, "one", State::Starting);
    a.process.is(State::Ready);
    assert_eq!(leave(&mut shelf, a.number, Verdict::Unused), []);
    assert_eq!(take(&mut shelf, None, "new").1, "one");
}

#[tokio::test]
async fn one_that_is_gone_is_not_used() {
    let mut shelf = shelf(1);
    let a = take_as(&mut shelf, None, "one", State::Starting);
    a.process.is(State::Gone);
    assert_eq!(take(&mut shelf, None, "two").1, "two");
}

#[tokio::test]
async fn a_session_in_use_counts_once_and_where_none_can_be_closed_no_more_are_opened() {
    let mut shelf = limited(1, Some(2));
    let (a, _) = take(&mut shelf, None, "one");
    open(&mut shelf, a, "x");
    assert_eq!(
        take(&mut shelf, None, "two").1,
        "one",
        "there is room for another"
    );
    open(&mut shelf, a, "y");
    assert_eq!(take(&mut shelf, None, "three").1, "three");
    close(&mut shelf, a, "x");
    close(&mut shelf, a, "y");
    assert_eq!(
        take(&mut shelf, Some("y"), "four").1,
        "one",
        "it has it open"
    );
}

#[tokio::test]
async fn r97_where_sessions_can_be_closed_the_oldest_that_no_turn_uses_makes_room() {
    let mut shelf = limited(1, Some(3));
    let (a, _) = take(&mut shelf, None, "closing");
    open(&mut shelf, a, "used");
    for session in ["old", "new"] {
        let taken = take_as(&mut shelf, None, "other", State::Ready);
        assert_eq!((taken.number, taken.given_up), (a, None));
        open(&mut shelf, a, session);
        close(&mut shelf, a, session);
    }
    let taken = take_as(&mut shelf, None, "other", State::Ready);
    assert_eq!(
        (taken.number, taken.given_up),
        (a, Some(conversation("old")))
    );
    assert!(shelf.known_session(a, &conversation("old")).is_none());
    let taken = take_as(&mut shelf, Some("new"), "other", State::Ready);
    assert!(
        taken.is_open && taken.given_up.is_none(),
        "it is there still"
    );
    let (_, name) = take(&mut shelf, None, "other");
    assert_eq!(name, "other", "all are in use");
}

#[tokio::test]
async fn a_session_that_would_be_forgotten_is_closed_where_that_can_be_done() {
    let mut shelf = shelf(1);
    for n in 0..=SESSIONS.get() {
        let session = n.to_string();
        let taken = take_as(&mut shelf, None, "closing", State::Ready);
        let first = (n == SESSIONS.get()).then(|| conversation("0"));
        assert_eq!(taken.given_up, first);
        open(&mut shelf, taken.number, &session);
        close(&mut shelf, taken.number, &session);
    }
}
