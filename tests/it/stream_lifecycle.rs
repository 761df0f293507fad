//! How runs begin and end, and what a client that goes away or is slow does to them.

use std::time::Duration;

use agui_serve::{
    cores::demo::{Demo, Script},
    deps::{Code, StopReason, TurnError},
    engine::Linger,
};
use serde_json::{Value, json};

use crate::{
    harness::{Daemon, Puppet, Turn, anew, input, soon},
    stream_reading::{ending, said, types},
    stream_runtime::{PEERS, asked},
};

fn terminals(events: &[Value]) -> usize {
    types(events)
        .into_iter()
        .filter(|kind| matches!(*kind, "RUN_FINISHED" | "RUN_ERROR"))
        .count()
}

#[tokio::test]
async fn r56_every_run_begins_with_its_ids_and_the_state() {
    let daemon = Daemon::start(Demo::new());
    for (run, session) in [("r1", ""), ("r2", "demo:1"), ("r3", "demo:2")] {
        let ask = daemon.post(&input("t1", run, "say hello"));
        let events = ask.stream().await.collect().await;
        assert_eq!(types(&events)[..2], ["RUN_STARTED", "STATE_SNAPSHOT"]);
        let started = &events[0];
        assert_eq!(
            (&started["threadId"], &started["runId"]),
            (&json!("t1"), &json!(run))
        );
        assert_eq!(started["protocolVersion"], "1.0");
        let snapshot = &events[1]["snapshot"];
        assert_eq!(snapshot["thread"], "t1");
        assert_eq!(snapshot["agent"], "demo");
        assert_eq!(snapshot["session"], session);
        let finished = events.last().unwrap();
        assert_eq!(
            (&finished["threadId"], &finished["runId"]),
            (&json!("t1"), &json!(run))
        );
    }
    daemon.stop().await;
}

/// Requirements 57, 58 and 59; field reports R56, R68, R69 and R73.
#[tokio::test]
async fn every_end_is_told_once_and_truthfully_as_the_last_frame() {
    let begun = || Script::new().say("half").think("well").open("a", "look");
    let fail = |script: Script| script.fail(Code::DemoFailure, "no");
    for (script, expected) in [
        (begun(), "success"),
        (begun().finish(StopReason::Cancelled), "cancelled"),
        (fail(begun()), "demo_failure"),
        (fail(Script::new()), "demo_failure"),
        (fail(begun().close("a")), "demo_failure"),
        (begun().panic("no"), "internal"),
        (Script::new().panic("no"), "internal"),
    ] {
        let daemon = Daemon::start(Demo::playing(script.clone()));
        for (_, version) in PEERS {
            let ask = daemon.post(&anew(&asked("go", version)));
            let events = ask.stream().await.collect().await;
            assert_eq!(ending(&events), expected, "{script:?}");
            assert_eq!(terminals(&events), 1);
        }
        daemon.stop().await;
    }
}

/// Requirement 58; field report R69.
#[tokio::test]
async fn an_answer_that_was_cut_or_refused_is_no_bare_success() {
    let daemon = Daemon::start(Demo::new());
    for (prompt, result) in [
        ("say hello", None),
        ("stop early", Some(json!({"stopReason": "max_tokens"}))),
        ("refuse", Some(json!({"stopReason": "refusal"}))),
    ] {
        let events = daemon.run(prompt).await.collect().await;
        assert_eq!(ending(&events), "success");
        let finished = events.last().unwrap();
        assert_eq!(finished.get("result"), result.as_ref(), "{prompt}");
    }
    daemon.stop().await;
}

/// Requirement 59; field report R71.
#[tokio::test]
async fn what_only_the_log_may_know_is_not_on_the_wire() {
    let (daemon, mut stream, turn) = Daemon::puppet().await;
    let error = TurnError::new(
        Code::AgentCrashed,
        "the agent ended in the middle of a turn",
    );
    turn.end(Err(error.with_detail("sk-live-123 in /home/u/.netrc")));
    let mut body = String::new();
    while let Some(frame) = stream.next_frame().await {
        body.push_str(&frame);
    }
    assert!(body.contains("\"code\":\"agent_crashed\""), "{body}");
    for secret in ["sk-live", "/home", "netrc"] {
        assert!(!body.contains(secret), "{body}");
    }
    drop(stream);
    daemon.stop().await;

    let daemon = Daemon::start(Demo::playing(Script::new().panic("sk-live at src/x.rs:7")));
    let events = daemon.run("go").await.collect().await;
    let error = events.last().unwrap();
    assert_eq!(error["code"], "internal");
    assert!(!error.to_string().contains("sk-live"), "{error}");
    assert!(!error.to_string().contains(".rs"), "{error}");
    daemon.stop().await;
}

#[tokio::test]
async fn r60_what_is_open_is_closed_before_the_end_also_when_the_daemon_stops() {
    for open in [
        Script::new().say("half"),
        Script::new().think("well"),
        Script::new().open("a", "look").args("a", "{"),
        Script::new().open("a", "look").open("b", "look").close("b"),
    ] {
        let script = open.clone().pause(Duration::from_hours(1));
        let daemon = Daemon::start(Demo::playing(script));
        let mut stream = daemon.run("go").await;
        let mut events = vec![stream.until("STATE_DELTA").await];
        // What the script says is one batch, so its first event says that all of it is there.
        events.push(stream.next_event().await.unwrap());
        soon("the turns to end", daemon.runtime.close()).await;
        events.extend(stream.collect().await);
        assert_eq!(ending(&events), "cancelled");
        let count = |of: &str| {
            types(&events)
                .iter()
                .filter(|kind| kind.ends_with(of))
                .count()
        };
        assert!(count("_START") > 0, "{open:?}");
        assert_eq!(count("_START"), count("_END"), "{open:?}");
        daemon.stop().await;
    }
}

#[tokio::test]
async fn r3_a_thread_goes_on_in_its_own_session_and_no_other() {
    let daemon = Daemon::start(Demo::new());
    for (thread, turn) in [("t1", 1), ("t1", 2), ("t2", 1), ("t1", 3), ("t2", 2)] {
        let run = format!("r{turn}");
        let ask = daemon.post(&input(thread, &run, "how often?"));
        let events = ask.stream().await.collect().await;
        let expected = format!("This is turn {turn} of the session.");
        assert_eq!(said(&events), expected, "{thread}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn r4_what_is_said_in_a_run_reaches_that_run_only() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let mut runs = Vec::new();
    for thread in ["t1", "t2", "t3"] {
        let stream = daemon.post(&input(thread, "r", thread)).stream().await;
        let turn = Turn::next(&mut turns).await;
        runs.push((thread, turn, stream));
    }
    for part in ["a", "b"] {
        for (thread, turn, _) in &runs {
            turn.say(&format!("{thread}{part} ")).await;
        }
    }
    for (thread, turn, stream) in runs {
        turn.end(Ok(StopReason::EndTurn));
        let events = stream.collect().await;
        assert_eq!(said(&events), format!("{thread}a {thread}b "));
    }
    daemon.stop().await;
}

/// Requirement 63; field report R54.
#[tokio::test]
async fn a_thread_is_busy_until_its_turn_has_really_ended_and_then_free() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let stream = daemon.run("go").await;
    let turn = Turn::next(&mut turns).await;
    let again = daemon.post(&input("t1", "r2", "again"));
    let busy = again.send().await;
    assert_eq!(busy.code(), (409, "thread_busy".into()));
    assert!(busy.head.header("retry-after").is_some());

    stream.drop_connection();
    turn.stopped().await;
    // It is ending, so the next one waits for that.
    let next = again.stream().await;
    assert_eq!(daemon.turns(), 1);
    turn.end(Ok(StopReason::Cancelled));
    let turn = Turn::next(&mut turns).await;
    assert_eq!(turn.request.prompt.text(), "again");
    turn.end(Ok(StopReason::EndTurn));
    assert_eq!(ending(&next.collect().await), "success");
    daemon.stop().await;
}

#[tokio::test]
async fn report_r53_a_turn_that_may_linger_outlives_its_reader() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build()
        .agent("demo", puppet)
        .engine(|options| options.policy.linger = Linger::Forever)
        .start();
    let mut stream = daemon.run("go").await;
    let turn = Turn::next(&mut turns).await;
    turn.say("half").await;
    stream.until("TEXT_MESSAGE_CONTENT").await;
    stream.drop_connection();
    // More than any buffer holds, so that whoever would still wait for the reader shows.
    for _ in 0..2_000 {
        turn.say(&"word ".repeat(200)).await;
    }
    assert!(!turn.io.is_stopped());
    turn.end(Ok(StopReason::EndTurn));
    let again = daemon.post(&input("t1", "r2", "again"));
    let _client = daemon.once_free(&again).await;
    daemon.stop().await;
}

#[tokio::test]
async fn r54_a_client_that_vanishes_in_a_flood_disturbs_no_other_run() {
    let daemon = Daemon::start(Demo::new());
    let mut flood = daemon.run("stream 100000 words").await;
    flood.until("TEXT_MESSAGE_CONTENT").await;
    let mut calm = daemon.post(&input("t2", "r1", "be slow")).stream().await;
    calm.until("TEXT_MESSAGE_CONTENT").await;
    flood.drop_connection();
    calm.until("TEXT_MESSAGE_CONTENT").await;
    let hello = daemon.post(&input("t3", "r1", "say hello")).stream().await;
    assert_eq!(ending(&hello.collect().await), "success");
    daemon.stop().await;
}

#[tokio::test]
async fn report_r66_a_reader_that_is_far_behind_delays_nobody_and_is_told_that_it_missed_events() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build()
        .agent("demo", puppet)
        .engine(|options| options.limits.run_bytes = 256 * 1024)
        .start();
    let mut slow = daemon.connect().await;
    daemon.post(&input("t1", "r1", "go")).on(&mut slow).await;
    let turn = Turn::next(&mut turns).await;
    // Far more than the kernel's buffers and the log's window hold together.
    for _ in 0..64 {
        turn.say(&"x".repeat(1024 * 1024)).await;
    }
    turn.end(Ok(StopReason::EndTurn));

    let calm = daemon.post(&input("t2", "r1", "go")).stream().await;
    let turn = Turn::next(&mut turns).await;
    turn.say("here").await;
    turn.end(Ok(StopReason::EndTurn));
    assert_eq!(said(&calm.collect().await), "here");

    assert_eq!(slow.head().await.status, 200);
    let (mut last, mut bytes) = (Vec::new(), 0);
    while let Some(chunk) = slow.chunk().await {
        bytes += chunk.len();
        last = chunk.to_vec();
    }
    assert!(bytes < 64 * 1024 * 1024, "some of it was never sent");
    let last = String::from_utf8(last).unwrap();
    let frame = last.trim_end().rsplit("\n\n").next().unwrap();
    let error: Value = serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(error["type"], "RUN_ERROR");
    assert_eq!(error["code"], "reader_too_slow");
    daemon.stop().await;
}

#[tokio::test]
async fn r66_a_stream_of_100000_deltas_arrives_whole() {
    let daemon = Daemon::start(Demo::new());
    let ask = daemon.post(&input("t1", "r1", "stream 100000 words"));
    // Not read event by event, which costs more time than all the rest.
    let body = String::from_utf8(ask.send().await.body).unwrap();
    let count = |kind: &str| body.matches(&format!("{{\"type\":\"{kind}\"")).count();
    assert_eq!(count("TEXT_MESSAGE_CONTENT"), 100_000);
    assert_eq!((count("RUN_FINISHED"), count("RUN_ERROR")), (1, 0));
    daemon.stop().await;
}
