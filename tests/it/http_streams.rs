//! What a run's stream looks like on the wire.

use std::time::Duration;

use crate::{
    harness::{Daemon, Puppet, Turn, input, soon},
    stream_reading::{ending, types},
};
use agui_serve::{cores::demo::Demo, deps::StopReason, engine::Linger};

/// Requirements 9, 50 and 51; field report R61.
#[tokio::test]
async fn a_run_is_a_stream_that_nothing_on_the_way_holds_back() {
    let daemon = Daemon::start(Demo::new());
    let mut stream = daemon
        .post(&input("t1", "r1", "say hello"))
        .header("accept-encoding", "gzip, deflate, br")
        .stream()
        .await;
    for (name, value) in [
        ("content-type", Some("text/event-stream")),
        ("cache-control", Some("no-cache, no-transform")),
        ("x-accel-buffering", Some("no")),
        ("transfer-encoding", Some("chunked")),
        ("content-encoding", None),
    ] {
        assert_eq!(stream.head.header(name), value, "{name}");
    }
    let mut frames = Vec::new();
    while let Some(frame) = stream.next_frame().await {
        assert!(frame.starts_with("data: {\"type\":"), "{frame}");
        assert!(!frame.contains(['\n', '\r']), "{frame}");
        frames.push(frame);
    }
    assert!(frames[0].contains("RUN_STARTED") && frames[1].contains("STATE_SNAPSHOT"));
    assert!(frames.last().unwrap().contains("RUN_FINISHED"));
    daemon.stop().await;
}

#[tokio::test]
async fn r52_each_delta_is_on_the_wire_before_the_next_exists() {
    let (daemon, mut stream, turn) = Daemon::puppet().await;
    assert_eq!(turn.request.agent.as_str(), "demo");
    for word in ["one", "two", "three"] {
        turn.say(word).await;
        let event = stream.until("TEXT_MESSAGE_CONTENT").await;
        assert_eq!(event["delta"], word);
    }
    turn.end(Ok(StopReason::EndTurn));
    let rest = stream.collect().await;
    assert_eq!(types(&rest).last(), Some(&"RUN_FINISHED"));
    daemon.stop().await;
}

/// Requirement 53; field report R60.
#[tokio::test]
async fn a_silent_run_sends_comments_that_are_no_events() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build()
        .agent("demo", puppet)
        .http(|options| options.service.heartbeat = Duration::from_millis(20))
        .start();
    let mut stream = daemon.run("go").await;
    let turn = Turn::next(&mut turns).await;
    stream.until("STATE_SNAPSHOT").await;
    for _ in 0..3 {
        assert_eq!(stream.next_frame().await.as_deref(), Some(": keep-alive"));
    }
    turn.end(Ok(StopReason::EndTurn));
    let rest = stream.collect().await;
    assert_eq!(types(&rest), ["RUN_FINISHED"]);
    daemon.stop().await;
}

/// Field reports R52 and R54.
#[tokio::test]
async fn hanging_up_stops_the_turn_and_frees_the_thread() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let mut stream = daemon.run("go").await;
    let turn = Turn::next(&mut turns).await;
    turn.say("half a").await;
    stream.until("TEXT_MESSAGE_CONTENT").await;
    stream.drop_connection();
    turn.stopped().await;
    turn.end(Ok(StopReason::Cancelled));
    let again = daemon.post(&input("t1", "r2", "again"));
    let _reader = daemon.once_free(&again).await;
    let turn = Turn::next(&mut turns).await;
    turn.end(Ok(StopReason::EndTurn));
    daemon.stop().await;
}

#[tokio::test]
async fn the_connection_serves_another_run_once_a_stream_has_ended() {
    let daemon = Daemon::start(Demo::new());
    let mut client = {
        let mut stream = daemon.run("say hello").await;
        stream.until("RUN_FINISHED").await;
        assert!(stream.next_event().await.is_none());
        stream.into_client()
    };
    let ask = daemon.post(&input("t1", "r2", "say hello"));
    ask.on(&mut client).await;
    let answer = client.answer("POST").await;
    assert!(answer.body.ends_with(b"}\n\n"));
    assert_eq!(daemon.turns(), 2);
    daemon.stop().await;
}

#[tokio::test]
async fn two_pipelined_runs_are_answered_one_after_the_other() {
    let daemon = Daemon::start(Demo::new());
    let mut client = daemon.connect().await;
    for run in ["r1", "r2"] {
        daemon
            .post(&input("t1", run, "say hello"))
            .on(&mut client)
            .await;
    }
    for run in ["r1", "r2"] {
        let text = String::from_utf8(client.answer("POST").await.body).unwrap();
        assert!(text.contains(&format!("\"runId\":\"{run}\"")), "{text}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn r21_stopping_the_listener_lets_a_stream_end_and_the_runtime_go_on() {
    let (daemon, mut stream, turn) = Daemon::puppet().await;
    let stopping = daemon.listener.shutdown(Duration::MAX);
    let watching = async {
        daemon.closed().await;
        turn.say("still here").await;
        stream.until("TEXT_MESSAGE_CONTENT").await;
        turn.end(Ok(StopReason::EndTurn));
        stream.until("RUN_FINISHED").await;
        assert!(stream.next_event().await.is_none());
        stream.into_client().closed().await;
    };
    soon("the listener to end", async {
        tokio::join!(stopping, watching)
    })
    .await;
    daemon.listener.wait().await.unwrap();
    assert!(!daemon.runtime.is_draining());
}

#[tokio::test]
async fn r21_a_stream_that_the_listener_cuts_is_a_client_that_hung_up() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build()
        .agent("demo", puppet)
        .engine(|options| options.policy.linger = Linger::Forever)
        .start();
    let _stream = daemon.run("go").await;
    let turn = Turn::next(&mut turns).await;
    let cut = daemon.listener.shutdown(Duration::ZERO);
    soon("the listener to end", cut).await;
    turn.say("nobody reads this, and the policy says to go on")
        .await;
    assert!(!turn.io.is_stopped());
    assert_eq!(daemon.runtime.live_turns(), 1);
    turn.end(Ok(StopReason::EndTurn));
    soon("the turn to end", daemon.runtime.close()).await;
}

#[tokio::test]
async fn r24_closing_the_engine_ends_an_open_stream_in_good_order() {
    let (daemon, mut stream, turn) = Daemon::puppet().await;
    stream.until("STATE_SNAPSHOT").await;
    let stopping = daemon.stop();
    let watching = async {
        turn.stopped().await;
        turn.end(Ok(StopReason::Cancelled));
        stream.collect().await
    };
    let ((), events) = tokio::join!(stopping, watching);
    assert_eq!(ending(&events), "cancelled");
}
