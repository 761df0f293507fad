//! Ways to end, after each of which no process is left.

use std::time::Duration;

use agui_serve::deps::{Code, CoreEvent, Signal, StopReason};
use rustix::net::{RecvFlags, recv};
use tokio::{io::Interest, net::UnixStream};

use crate::stage::{FAMILY, Outcome, Stage, assert_reaped, text};

fn is_text(event: &CoreEvent) -> bool {
    matches!(event, CoreEvent::Text(_))
}

#[tokio::test]
async fn report_r69_every_failure_at_the_agent_is_an_error_or_says_why_it_stopped() {
    for (step, code) in [
        (
            "error -32603 quota of sk-secret at /home/me",
            Code::AgentError,
        ),
        ("error -32000 /opt/login", Code::AuthRequired),
        ("stop unheard_of", Code::AgentError),
    ] {
        let (outcome, signals) = Stage::new(&[], &["say half", step]).play().await;
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), code, "{step}");
        assert!(!error.message().contains("secret") && !error.message().contains('/'));
        assert_eq!(text(&signals), "half");
    }
    for (step, reason) in [
        ("stop refusal", StopReason::Refusal),
        ("stop max_tokens", StopReason::MaxTokens),
        ("stop max_turn_requests", StopReason::MaxTurnRequests),
    ] {
        let (outcome, _) = Stage::new(&[], &[step]).play().await;
        assert_eq!(outcome.unwrap(), reason);
    }
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_line_is_reported_with_its_status_and_last_words() {
    let stage = Stage::new(&["--child"], &["say half", "stderr boom", "crash"]);
    let (outcome, signals) = stage.play().await;
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), Code::AgentCrashed);
    let log = error.to_string();
    assert!(log.contains("status: 3") && log.contains("boom"), "{log}");
    assert!(!error.message().contains("boom"));
    assert_eq!(text(&signals), "half");
    stage.gone(2).await;
}

#[tokio::test]
async fn report_r52_a_stop_is_told_to_the_agent_and_what_it_still_says_passes_on() {
    let stage = Stage::new(&["--child"], &["say one", "await-cancel", "say two"]);
    let (outcome, signals) = stage.play_until(is_text).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    assert_eq!(text(&signals), "onetwo");
    stage.gone(2).await;
}

#[tokio::test]
async fn report_r52_a_permission_asked_while_stopping_is_cancelled() {
    let ask = r#"ask {"toolCallId":"c","name":"sh"}"#;
    let stage = Stage::new(&[], &["say one ", "await-cancel", ask]);
    let (outcome, signals) = stage.play_until(is_text).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    assert_eq!(text(&signals), r#"one {"outcome":"cancelled"}"#);
}

#[tokio::test]
async fn report_r52_an_agent_that_ignores_a_stop_is_killed_after_the_grace() {
    let mut stage = Stage::new(&["--child", "--no-eof"], &["say one", "ignore-cancel"]);
    stage.options.stop_grace = Duration::from_millis(100);
    let (outcome, _) = stage.play_until(is_text).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    stage.gone(2).await;
}

#[tokio::test]
async fn an_agent_that_ends_badly_after_a_stop_was_still_stopped() {
    for end in ["crash", "error -32603 aborted", "stop end_turn"] {
        let stage = Stage::new(&[], &["say one", "await-cancel", end]);
        let (outcome, _) = stage.play_until(is_text).await;
        assert_eq!(outcome.unwrap(), StopReason::Cancelled, "{end}");
        stage.assert_reaped().await;
    }
}

/// Waits until a process has told its number, and leaves that to be read. A socket may be called readable without
/// anything to read.
async fn has_told(process: &UnixStream) {
    loop {
        process.readable().await.unwrap();
        let told = process.try_io(Interest::READABLE, || {
            let (_, told) = recv(process, &mut [0u8], RecvFlags::PEEK)?;
            Ok(told)
        });
        if told.is_ok() {
            return;
        }
    }
}

#[tokio::test]
async fn a_stop_before_the_agent_is_ready_ends_it() {
    for pool_size in [0, 1] {
        let stage = Stage::new(&["--mute"], &[]).keeping(pool_size);
        let stop = async {
            let process = stage.started().await;
            // By now it has told its number.
            has_told(&process).await;
            stage.stop.cancel();
            process
        };
        let (process, (outcome, signals)) = tokio::join!(stop, stage.play());
        assert_eq!(outcome.unwrap(), StopReason::Cancelled);
        assert!(signals.is_empty());
        // Nobody has waited for its end, which came all the same.
        stage.close().await;
        assert_reaped(process).await;
    }
}

/// Plays a turn of an agent that leaves behind whatever can be left behind.
async fn play_with_family(steps: &[&str], stops: bool) -> Outcome {
    let stage = Stage::new(&["--family"], steps);
    let (outcome, _) = stage.play_until(|event| stops && is_text(event)).await;
    stage.gone(FAMILY).await;
    outcome
}

#[tokio::test]
async fn report_r83_nothing_that_an_agent_has_started_outlives_the_turn() {
    let played = play_with_family(&["say one"], false).await;
    assert_eq!(played.unwrap(), StopReason::EndTurn);
}

#[tokio::test]
async fn report_r83_nothing_that_an_agent_has_started_outlives_a_stop() {
    let heeded = play_with_family(&["say one", "await-cancel"], true).await;
    assert_eq!(heeded.unwrap(), StopReason::Cancelled);
}

#[tokio::test]
async fn report_r83_nothing_that_an_agent_has_started_outlives_its_crash() {
    for end in ["crash", "killed"] {
        let error = play_with_family(&["say one", end], false)
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::AgentCrashed, "{end}");
    }
}

#[tokio::test]
async fn report_r83_what_an_agent_leaves_in_its_group_ends_without_a_supervisor_too() {
    let stage = Stage::new(&["--child"], &["say one"]).unsupervised();
    let (outcome, _) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    stage.gone(2).await;
}

#[tokio::test]
async fn report_r83_an_agent_that_heeds_neither_the_end_of_its_input_nor_sigterm_is_killed() {
    let new = || Stage::new(&["--no-eof"], &["say one"]);
    for mut stage in [new(), new().unsupervised()] {
        stage.wrap(r#"trap "" TERM; exec "$0" "$@""#);
        let (outcome, _) = stage.play().await;
        assert_eq!(outcome.unwrap(), StopReason::EndTurn);
        stage.assert_reaped().await;
    }
}

/// Drops the turn once the agent has said something.
async fn drop_in_the_middle(stage: &Stage) {
    let (turn, mut inbox) = stage.start();
    let mut turn = Box::pin(turn);
    loop {
        tokio::select! {
            _ = &mut turn => panic!("it never ends by itself"),
            signal = inbox.recv() => match signal {
                Some(Signal::Event(event)) if is_text(&event) => return,
                Some(_) => {}
                None => panic!("it says something"),
            },
        }
    }
}

#[tokio::test]
async fn report_r83_a_turn_that_is_dropped_leaves_no_process() {
    let steps = &["say one", "ignore-cancel"];
    let stage = Stage::new(&["--family", "--no-eof"], steps);
    drop_in_the_middle(&stage).await;
    stage.gone(FAMILY).await;

    let stage = Stage::new(&["--child", "--no-eof"], steps).unsupervised();
    drop_in_the_middle(&stage).await;
    stage.gone(2).await;
}

#[tokio::test]
async fn a_turn_that_nobody_listens_to_ends() {
    let stage = Stage::new(&[], &["flood 1000"]);
    let (turn, inbox) = stage.start();
    drop(inbox);
    assert_eq!(turn.await.unwrap(), StopReason::Cancelled);
    stage.assert_reaped().await;
}
