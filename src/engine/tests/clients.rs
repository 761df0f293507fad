//! Several clients of one thread: in the line for it, on the same run, looking on, and stopping it.

use super::{
    lasting::{Machine, hydrated, key, messages, read_until, run_id, says, told},
    *,
};
use crate::{
    protocol::{MessageBody, Peer},
    store::Outcome as Ended,
};

#[tokio::test]
async fn a_run_that_is_live_is_attached_to_by_the_same_run_id() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    let mut first = start(&daemon, &says("r1", "wait")).await.unwrap();
    let mut seen = read_until(&mut first, "said").await;
    let second = start(&daemon, &says("r1", "wait")).await.unwrap();
    // The run goes on for as long as either is there.
    drop(first);
    daemon.cancel(&key("t"), None).await.unwrap();
    let events = collect(second).await;
    assert_eq!(last(&events)["outcome"], json!({"type": "cancelled"}));
    seen.truncate(seen.find("\n\n").unwrap());
    assert_eq!(format!("data: {}", events[0]), seen, "it has all of it");
    assert_eq!(machine.turns(), 1);
}

#[tokio::test]
async fn report_r56_whoever_cancels_is_answered_once_the_thread_is_free() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    let mut reader = start(&daemon, &says("r1", "wait")).await.unwrap();
    read_until(&mut reader, "said").await;
    assert_eq!(
        daemon.cancel(&key("t"), Some(&run_id("other"))).await,
        Ok(None)
    );
    let stopped = daemon.cancel(&key("t"), Some(&run_id("r1"))).await;
    assert_eq!(stopped, Ok(Some(run_id("r1"))));
    let next = told(&daemon, "r2", "two").await;
    assert_eq!(last(&next)["outcome"], json!({"type": "success"}));
    let mut rest = String::new();
    while let Some(frames) = reader.next().await {
        rest.extend(
            frames
                .iter()
                .map(|frame| std::str::from_utf8(frame).unwrap()),
        );
    }
    assert!(rest.contains("\"cancelled\""), "{rest}");
    assert_eq!(daemon.cancel(&key("t"), None).await, Ok(None));
    assert_eq!(daemon.cancel(&key("nope"), None).await, Err(UnknownThread));
}

#[tokio::test]
async fn r63_a_second_run_waits_or_takes_the_place_of_the_first_as_the_policy_says() {
    let mut machine = Machine::new();
    machine.policy.busy = Busy::Queue;
    let daemon = machine.daemon();
    let mut first = start(&daemon, &says("r1", "wait")).await.unwrap();
    read_until(&mut first, "said").await;
    let second = start(&daemon, &says("r2", "two")).await.unwrap();
    assert_eq!(machine.turns(), 1);
    drop(first);
    let events = collect(second).await;
    assert_eq!(last(&events)["outcome"], json!({"type": "success"}));
    assert_eq!(machine.turns(), 2);

    machine.policy.busy = Busy::Replace;
    let daemon = machine.daemon();
    let first = start(&daemon, &says("r3", "wait")).await.unwrap();
    let second = start(&daemon, &says("r4", "four")).await.unwrap();
    let (first, second) = tokio::join!(collect(first), collect(second));
    assert_eq!(last(&first)["outcome"], json!({"type": "cancelled"}));
    assert_eq!(last(&second)["outcome"], json!({"type": "success"}));
}

#[tokio::test]
async fn a_run_that_waits_and_is_stopped_ends_cancelled_and_never_reaches_its_agent() {
    let mut machine = Machine::new();
    machine.policy.busy = Busy::Queue;
    let daemon = machine.daemon();
    let mut first = start(&daemon, &says("r1", "wait")).await.unwrap();
    read_until(&mut first, "said").await;
    let second = start(&daemon, &says("r2", "two")).await.unwrap();
    let same = start(&daemon, &says("r2", "two")).await.unwrap();
    let stopped = daemon.cancel(&key("t"), Some(&run_id("r2"))).await;
    assert_eq!(stopped, Ok(Some(run_id("r2"))));
    let events = collect(second).await;
    assert_eq!(
        types(&events),
        ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]
    );
    assert_eq!(last(&events)["outcome"], json!({"type": "cancelled"}));
    assert_eq!(machine.turns(), 1);
    // Whoever else asked for it is told the same.
    assert_eq!(
        last(&collect(same).await)["outcome"],
        json!({"type": "cancelled"})
    );
    drop(first);
    told(&daemon, "r3", "three").await;
    assert_eq!(machine.turns(), 2);
}

#[tokio::test]
async fn report_r67_a_page_that_comes_back_is_shown_the_thread_and_follows_what_is_live() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "one").await;
    let rest = hydrated(&daemon).await;
    let kinds = [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "RUN_FINISHED",
    ];
    assert_eq!(types(&rest), kinds);
    assert_eq!(
        (&rest[0]["runId"], &last(&rest)["runId"]),
        (&json!("h"), &json!("h"))
    );
    assert_eq!(messages(&rest), ["user: one", "assistant: you said one"]);

    let mut first = start(&daemon, &says("r2", "wait")).await.unwrap();
    read_until(&mut first, "wait\"").await;
    let request = json!({"runId": "h2", "messages": []});
    let viewer = start(&daemon, &request).await.unwrap();
    drop(first);
    let live = collect(viewer).await;
    assert_eq!(live[0]["runId"], "r2", "it is the live run that is shown");
    assert_eq!(
        messages(&live),
        [
            "user: one",
            "assistant: you said one",
            "user: wait",
            "assistant: you said wait"
        ]
    );
    assert_eq!(last(&live)["outcome"], json!({"type": "cancelled"}));
    assert_eq!(machine.turns(), 2);

    let request = json!({"threadId": "nope", "messages": []});
    let unknown = start(&daemon, &request).await.unwrap_err();
    assert_eq!(unknown, StartError::UnknownThread);
}

#[tokio::test]
async fn a_viewer_goes_on_where_it_was_and_is_told_when_there_is_nothing_more() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "one").await;
    let whole = async |last: Option<&str>| {
        let watch = daemon.watch(&key("t"), Peer::Current, last).await.unwrap();
        let Watch::Stream(mut reader) = watch else {
            return None;
        };
        let mut body = String::new();
        while let Some(frames) = reader.next().await {
            body.extend(
                frames
                    .iter()
                    .map(|frame| std::str::from_utf8(frame).unwrap()),
            );
        }
        Some(body)
    };
    let body = whole(None).await.unwrap();
    let id = body.rsplit_once("id: ").unwrap().1.trim_end();
    assert!(body.contains("MESSAGES_SNAPSHOT"));
    assert_eq!(whole(Some(id)).await, None);
    assert!(whole(Some("of somebody else")).await.is_some());
    let unknown = daemon.watch(&key("nope"), Peer::Current, None).await;
    assert_eq!(unknown.unwrap_err(), UnknownThread);
}

#[tokio::test]
async fn a_thread_is_shown_as_it_is_also_while_it_is_live() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "set").await;
    let mut reader = start(&daemon, &says("r2", "wait")).await.unwrap();
    read_until(&mut reader, "wait\"").await;
    let view = daemon.thread(&key("t")).await.unwrap();
    assert_eq!(view.live_run, Some(run_id("r2")));
    assert_eq!(view.title.as_deref(), Some("set"));
    assert_eq!(view.state["pando"]["mode"]["value"], "ask");
    let texts: Vec<_> = view
        .messages
        .unwrap()
        .into_iter()
        .map(|it| it.body)
        .collect();
    let MessageBody::Assistant { content, .. } = &texts[3] else {
        panic!("{texts:?}");
    };
    assert_eq!(content.as_deref(), Some("you said wait"));
    daemon.cancel(&key("t"), None).await.unwrap();
    let view = daemon.thread(&key("t")).await.unwrap();
    assert_eq!(view.live_run, None);
    assert_eq!(view.last_run.unwrap().outcome, Ended::Cancelled);
}

#[tokio::test]
async fn a_run_that_waits_stays_in_the_line_for_as_long_as_any_reader_waits_for_it() {
    let mut machine = Machine::new();
    machine.policy.busy = Busy::Queue;
    let daemon = machine.daemon();
    let mut first = start(&daemon, &says("r1", "wait")).await.unwrap();
    read_until(&mut first, "said").await;
    let waiting = start(&daemon, &says("r2", "two")).await.unwrap();
    let again = start(&daemon, &says("r2", "two")).await.unwrap();
    drop(waiting);
    // One that nobody waits for any more is not in the way of the same run.
    drop(start(&daemon, &says("r3", "three")).await.unwrap());
    let third = start(&daemon, &says("r3", "three")).await.unwrap();
    drop(first);
    for reader in [again, third] {
        assert_eq!(
            last(&collect(reader).await)["outcome"],
            json!({"type": "success"})
        );
    }
    assert_eq!(machine.turns(), 3);
}

#[tokio::test]
async fn a_run_whose_reader_does_not_read_holds_nobody_up() {
    let mut machine = Machine::new();
    machine.policy.busy = Busy::Queue;
    machine.policy.linger = Linger::Forever;
    let daemon = machine.daemon();
    let mut first = start(&daemon, &says("r1", "wait")).await.unwrap();
    read_until(&mut first, "said").await;
    let _unread = start(&daemon, &says("r2", "two")).await.unwrap();
    daemon.cancel(&key("t"), Some(&run_id("r1"))).await.unwrap();
    let third = told(&daemon, "r3", "three").await;
    assert_eq!(last(&third)["outcome"], json!({"type": "success"}));
    assert_eq!(machine.turns(), 3);
    daemon.close().await;
}

#[tokio::test]
async fn a_run_that_has_ended_is_told_again_whatever_goes_on_meanwhile() {
    for busy in [Busy::Reject, Busy::Queue, Busy::Replace] {
        let mut machine = Machine::new();
        machine.policy.busy = busy;
        let daemon = machine.daemon();
        told(&daemon, "r1", "one").await;
        let mut live = start(&daemon, &says("r2", "wait")).await.unwrap();
        read_until(&mut live, "said").await;
        let again = told(&daemon, "r1", "one").await;
        assert_eq!(
            last(&again)["outcome"],
            json!({"type": "success"}),
            "{busy:?}"
        );
        assert_eq!(daemon.live_run(&key("t")), Some(run_id("r2")), "{busy:?}");
        assert_eq!(machine.turns(), 2);
    }
}

#[tokio::test]
async fn r61_r62_a_run_is_not_bound_to_its_request_and_ends_with_its_reader_as_the_policy_says() {
    let mut machine = Machine::new();
    machine.policy.linger = Linger::Forever;
    let daemon = machine.daemon();
    let mut reader = start(&daemon, &says("r1", "wait")).await.unwrap();
    read_until(&mut reader, "said").await;
    drop(reader);
    assert_eq!(daemon.live_run(&key("t")), Some(run_id("r1")));
    daemon.cancel(&key("t"), None).await.unwrap();
    assert_eq!(daemon.live_run(&key("t")), None);

    machine.policy.linger = Linger::For(Duration::ZERO);
    let daemon = machine.daemon();
    let mut reader = start(&daemon, &says("r2", "wait")).await.unwrap();
    read_until(&mut reader, "said").await;
    drop(reader);
    let next = told(&daemon, "r3", "three").await;
    assert_eq!(last(&next)["outcome"], json!({"type": "success"}));
    let (_, run) = machine.store.look(&key("t"), Some(&run_id("r2"))).await;
    assert_eq!(run.unwrap().outcome, Ended::Cancelled);
}
