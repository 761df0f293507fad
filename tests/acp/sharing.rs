//! Turns that share a process.

use std::time::Duration;

use agui_serve::deps::{Code, StopReason};

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
    let refused = r#"{"outcome":"selected","optionId":"no"}"#;
    let mut stage = stage(&[]);
    let steps = ["say 1", "meet", ask];
    let (one, other) = two(&mut stage, &steps, &["say 2", ask]).await;
    let (outcome, said) = other.end().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said, format!("2{refused}"));
    let third = stage.play_beside("third", &["meet", "say 3"]);
    assert_eq!(third.end().await.1, "3");
    let (outcome, said) = one.end().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said, format!("1{refused}"));
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
