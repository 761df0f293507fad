use std::time::Duration;

use super::*;
use crate::{
    engine::{
        Linger,
        log::{Budget, Log},
    },
    protocol::ThreadId,
};

/// Waits for a thread that is not parked.
async fn served(ticket: Ticket) -> Result<Slot, StartError> {
    ticket.wait().await.map(|served| match served {
        Served::Slot(slot) => slot,
        Served::Parked => panic!("it is parked"),
    })
}

fn key(thread: &str) -> Key {
    Key {
        principal: "local".into(),
        agent: "a".into(),
        thread: ThreadId::new(thread).unwrap(),
    }
}

fn live(run: &str) -> Arc<Live> {
    let log = Log::new("log".into(), 1 << 10, Budget::new(1 << 10));
    Live::new(RunId::new(run).unwrap(), log, Linger::Forever).0
}

fn claim(
    slots: &Arc<Slots>,
    thread: &str,
    live: &Arc<Live>,
    busy: Busy,
) -> Result<Claim, StartError> {
    slots.claim(&key(thread), live, busy)
}

fn mine(claim: Result<Claim, StartError>) -> Slot {
    match claim.unwrap() {
        Claim::Mine(slot) => slot,
        other => panic!("{other:?}"),
    }
}

fn waiting(claim: Result<Claim, StartError>) -> Ticket {
    match claim.unwrap() {
        Claim::Waiting(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn r63_a_live_thread_is_busy_until_its_slot_is_given_back() {
    let slots = Slots::new(2, 2);
    let first = mine(claim(&slots, "t", &live("r1"), Busy::Reject));
    let second = claim(&slots, "t", &live("r2"), Busy::Reject);
    assert_eq!(second.unwrap_err(), StartError::Busy);
    let other = mine(claim(&slots, "other", &live("r1"), Busy::Reject));
    assert_ne!(first.seq(), other.seq());
    let third = claim(&slots, "third", &live("r1"), Busy::Reject);
    assert_eq!(third.unwrap_err(), StartError::Full);
    drop(first);
    mine(claim(&slots, "t", &live("r2"), Busy::Reject));
}

#[test]
fn report_r59_a_run_that_is_there_already_is_found_live_or_waiting() {
    let slots = Slots::new(2, 2);
    let (first, second) = (live("r1"), live("r2"));
    let _slot = mine(claim(&slots, "t", &first, Busy::Queue));
    let _ticket = waiting(claim(&slots, "t", &second, Busy::Queue));
    for (run, known) in [("r1", &first), ("r2", &second)] {
        match claim(&slots, "t", &live(run), Busy::Reject).unwrap() {
            Claim::Same(same) => assert!(Arc::ptr_eq(&same, known), "{run}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn those_who_wait_get_the_thread_in_their_order_and_nobody_steps_in_between() {
    let slots = Slots::new(2, 3);
    let first = mine(claim(&slots, "t", &live("r1"), Busy::Queue));
    let second = waiting(claim(&slots, "t", &live("r2"), Busy::Queue));
    let gone = waiting(claim(&slots, "t", &live("r3"), Busy::Queue));
    let fourth = waiting(claim(&slots, "t", &live("r4"), Busy::Queue));
    let full = claim(&slots, "t", &live("r5"), Busy::Queue);
    assert_eq!(full.unwrap_err(), StartError::Busy);
    drop(gone);
    drop(first);
    let step_in = claim(&slots, "t", &live("r6"), Busy::Reject);
    assert_eq!(step_in.unwrap_err(), StartError::Busy);
    let second = served(second).await.unwrap();
    assert_eq!(second.live().run.as_str(), "r2");
    drop(second);
    let fourth = served(fourth).await.unwrap();
    assert_eq!(fourth.live().run.as_str(), "r4");
    drop(fourth);
    assert!(slots.live(&key("t")).is_none() && slots.all().is_empty());
}

#[tokio::test]
async fn a_slot_that_nobody_takes_any_more_goes_to_the_next() {
    let slots = Slots::new(2, 3);
    let first = mine(claim(&slots, "t", &live("r1"), Busy::Queue));
    let second = waiting(claim(&slots, "t", &live("r2"), Busy::Queue));
    let third = waiting(claim(&slots, "t", &live("r3"), Busy::Queue));
    drop(first);
    // It was given, but not taken.
    drop(second);
    assert_eq!(served(third).await.unwrap().live().run.as_str(), "r3");
}

#[tokio::test]
async fn a_run_that_replaces_stops_the_live_one_and_those_that_wait() {
    let slots = Slots::new(2, 3);
    let first = mine(claim(&slots, "t", &live("r1"), Busy::Reject));
    let second = waiting(claim(&slots, "t", &live("r2"), Busy::Queue));
    let third = waiting(claim(&slots, "t", &live("r3"), Busy::Replace));
    assert!(first.live().stop.is_cancelled());
    assert_eq!(served(second).await.unwrap_err(), StartError::Stopped);
    drop(first);
    assert_eq!(served(third).await.unwrap().live().run.as_str(), "r3");
}

#[tokio::test]
async fn what_is_to_be_forgotten_keeps_its_place_in_the_line() {
    let slots = Slots::new(2, 3);
    let first = mine(claim(&slots, "t", &live("r1"), Busy::Reject));
    let log = || Log::new("log".into(), 1 << 10, Budget::new(1 << 10));
    let forgetting = waiting(claim(&slots, "t", &Live::forgetting(log()), Busy::Replace));
    let again = waiting(claim(&slots, "t", &Live::forgetting(log()), Busy::Replace));
    let second = waiting(claim(&slots, "t", &live("r2"), Busy::Replace));
    drop(first);
    drop(served(forgetting).await.unwrap());
    drop(served(again).await.unwrap());
    assert_eq!(served(second).await.unwrap().live().run.as_str(), "r2");
}

#[tokio::test]
async fn report_r54_a_run_waits_for_one_that_is_being_stopped_whatever_the_policy() {
    let slots = Slots::new(2, 2);
    let first = mine(claim(&slots, "t", &live("r1"), Busy::Reject));
    let stopped = slots.stop(&key("t"), None).unwrap();
    assert!(Arc::ptr_eq(&stopped, first.live()));
    let second = waiting(claim(&slots, "t", &live("r2"), Busy::Reject));
    drop(first);
    mine(served(second).await.map(Claim::Mine));
}

#[tokio::test]
async fn a_stop_may_mean_one_run_only() {
    let slots = Slots::new(2, 3);
    let first = mine(claim(&slots, "t", &live("r1"), Busy::Queue));
    let second = waiting(claim(&slots, "t", &live("r2"), Busy::Queue));
    let third = waiting(claim(&slots, "t", &live("r3"), Busy::Queue));
    let only = |run| slots.stop(&key("t"), Some(&RunId::new(run).unwrap()));
    assert!(only("r9").is_none() && !first.live().stop.is_cancelled());
    assert_eq!(only("r2").unwrap().run.as_str(), "r2");
    assert_eq!(served(second).await.unwrap_err(), StartError::Stopped);
    assert!(!first.live().stop.is_cancelled());
    drop(first);
    assert_eq!(served(third).await.unwrap().live().run.as_str(), "r3");
    assert!(slots.stop(&key("t"), None).is_none());
}

#[tokio::test]
async fn nothing_starts_while_draining_and_nobody_waits() {
    let slots = Slots::new(2, 2);
    let slot = mine(claim(&slots, "t", &live("r1"), Busy::Queue));
    let second = waiting(claim(&slots, "t", &live("r2"), Busy::Queue));
    slots.drain();
    assert_eq!(served(second).await.unwrap_err(), StartError::Draining);
    for thread in ["t", "other"] {
        let refused = claim(&slots, thread, &live("r3"), Busy::Queue);
        assert_eq!(refused.unwrap_err(), StartError::Draining);
    }
    drop(slot);
    assert!(slots.is_draining());
}

#[tokio::test(start_paused = true)]
async fn a_run_is_left_once_no_reader_has_been_there_for_as_long_as_is_forgiven() {
    let log = Log::new("log".into(), 1 << 10, Budget::new(1 << 10));
    let time = Duration::from_secs(30);
    let (live, _door) = Live::new(RunId::new("r").unwrap(), log, Linger::For(time));
    let began = tokio::time::Instant::now();
    let first = live.lease();
    let comes_back = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        drop(first);
        tokio::time::sleep(Duration::from_secs(20)).await;
        let second = live.lease();
        tokio::time::sleep(Duration::from_mins(1)).await;
        drop(second);
    };
    tokio::join!(comes_back, live.left());
    assert_eq!(began.elapsed(), Duration::from_mins(2));
}
