//! Turns that share a process.

use std::time::Duration;

use agui_serve::{
    cores::acp::Preset,
    deps::{Code, StopReason},
};
use tokio::io::AsyncWriteExt as _;

use crate::stage::{Live, Outcome, Stage};

/// One process for all.
fn stage(args: &[&str]) -> Stage {
    Stage::new(args, &[]).keeping(1)
}

/// Two turns that have both said something by now, the second after the first.
async fn two(stage: &mut Stage, first: &[&str], second: &[&str]) -> (Live, Live) {
    let mut one = stage.play_beside("one", first);
    one.says("1").await;
    let mut other = stage.play_beside("other", second);
    other.says("2").await;
    (one, other)
}

fn code(outcome: Outcome) -> Code {
    outcome.unwrap_err().code()
}

#[tokio::test]
async fn what_two_turns_say_at_once_does_not_mix() {
    let mut stage = stage(&[]);
    // They meet, so that each says its part while the other is there.
    let steps = |text: &'static str| [&[text, "meet"][..], &[text; 200], &["meet"]].concat();
    let (one, other) = two(&mut stage, &steps("say 1"), &steps("say 2")).await;
    let ((one, ones), (other, twos)) = tokio::join!(one.end(), other.end());
    assert_eq!(one.unwrap(), StopReason::EndTurn);
    assert_eq!(other.unwrap(), StopReason::EndTurn);
    assert_eq!((ones, twos), ("1".repeat(201), "2".repeat(201)));
    stage.close().await;
    stage.assert_reaped().await;
}

#[tokio::test]
async fn a_turn_ends_while_another_goes_on_and_answers_reach_who_has_asked() {
    let ask = r#"ask {"toolCallId":"c","name":"sh"}"#;
    let answer = r#"{"outcome":"cancelled"}"#;
    let mut stage = stage(&[]);
    let steps = ["say 1", "meet", ask];
    let (one, other) = two(&mut stage, &steps, &["say 2", ask]).await;
    let (outcome, said) = other.end().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said, format!("2{answer}"));
    let third = stage.play_beside("third", &["meet", "say 3"]);
    assert_eq!(third.end().await.1, "3");
    let (outcome, said) = one.end().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said, format!("1{answer}"));
    stage.close().await;
}

#[tokio::test]
async fn report_r52_a_stop_of_one_turn_leaves_the_other() {
    let mut stage = stage(&[]);
    let steps = ["say 1", "await-cancel", "meet"];
    let (one, other) = two(&mut stage, &steps, &["say 2", "meet", "say 3"]).await;
    one.stop.cancel();
    let (outcome, said) = one.end().await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    assert_eq!(said, "1");
    let (outcome, said) = other.end().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said, "23");
    stage.close().await;
}

#[tokio::test]
async fn a_stop_that_is_ignored_ends_the_process_under_both() {
    let mut stage = stage(&["--no-eof"]);
    stage.options.stop_grace = Duration::from_millis(100);
    let steps = ["say 1", "ignore-cancel"];
    let (one, other) = two(&mut stage, &steps, &["say 2", "await-cancel"]).await;
    one.stop.cancel();
    let ((one, _), (other, said)) = tokio::join!(one.end(), other.end());
    assert_eq!(one.unwrap(), StopReason::Cancelled);
    assert_eq!((code(other), said.as_str()), (Code::AgentCrashed, "2"));
    stage.assert_reaped().await;
}

#[tokio::test]
async fn a_crash_is_told_to_both() {
    let mut stage = stage(&[]);
    let steps = ["say 1", "meet", "ignore-cancel"];
    let (one, other) = two(&mut stage, &steps, &["say 2", "meet", "crash"]).await;
    let ((one, _), (other, _)) = tokio::join!(one.end(), other.end());
    assert_eq!(
        (code(one), code(other)),
        (Code::AgentCrashed, Code::AgentCrashed)
    );
    stage.assert_reaped().await;
}

#[tokio::test]
async fn turns_that_come_at_once_wait_for_as_many_processes_as_are_kept() {
    let mut stage = stage(&[]);
    let mut ids = Vec::new();
    let turns = ["a", "b", "c"].map(|thread| stage.play_beside(thread, &["pid"]));
    for turn in turns {
        let (outcome, id) = turn.end().await;
        assert_eq!(outcome.unwrap(), StopReason::EndTurn);
        ids.push(id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    stage.close().await;
}

#[tokio::test]
async fn a_process_that_does_not_start_is_told_to_all_who_wait_for_it() {
    let mut stage = stage(&["--await-go", "--exit", "3"]);
    let turns = ["a", "b"].map(|thread| stage.play_beside(thread, &[]));
    stage.started().await.write_all(b"!").await.unwrap();
    for turn in turns {
        assert_eq!(code(turn.end().await.0), Code::AgentHandshakeFailed);
    }
    stage.assert_none_started().await;
}

#[tokio::test]
async fn a_process_goes_on_starting_while_anybody_waits_for_it() {
    let mut stage = stage(&["--await-go"]);
    let turns = ["a", "b", "c"].map(|thread| stage.play_beside(thread, &["say 1"]));
    let mut process = stage.started().await;
    let [starter, dropped, other] = turns;
    starter.stop.cancel();
    assert_eq!(starter.end().await.0.unwrap(), StopReason::Cancelled);
    dropped.abort().await;
    process.write_all(b"!").await.unwrap();
    let (outcome, said) = other.end().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said, "1");
    let (_, said) = stage.play_beside("d", &["say 2"]).end().await;
    assert_eq!(said, "2", "it is kept, for those who left have not used it");
    stage.close().await;
    stage.assert_none_started().await;
}

#[tokio::test]
async fn r97_an_idle_session_makes_room_for_another_if_the_agent_closes_it() {
    for (args, closes) in [(&["--close"][..], true), (&[], false)] {
        let mut stage = stage(args);
        stage.options.preset = Preset::named("cline");
        let (_, first) = stage.play_beside("a", &["pid"]).end().await;
        let steps = &["pid", "say ;", "told"];
        let (_, said) = stage.play_beside("b", steps).end().await;
        let (second, told) = said.split_once(';').unwrap();
        assert_eq!(
            second == first,
            closes,
            "one session is as many as it may have"
        );
        let close = r#"{"method":"session/close","params":{"sessionId":"first"}}"#;
        assert_eq!(told.contains(close), closes, "{told}");
        stage.close().await;
    }
}

#[tokio::test]
async fn nothing_is_started_after_the_agent_was_closed() {
    let mut stage = stage(&[]);
    stage.play_beside("a", &[]).end().await.0.unwrap();
    stage.close().await;
    stage.assert_reaped().await;
    let (outcome, _) = stage.play_beside("b", &["pid"]).end().await;
    assert_eq!(code(outcome), Code::AgentCrashed);
    stage.assert_none_started().await;
}
