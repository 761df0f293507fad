//! Processes that are kept between turns, and what is said while no turn is there.

use std::time::Duration;

use agui_serve::{
    cores::acp::Preset,
    deps::{Code, CoreEvent, StopReason},
};

use crate::stage::{FAMILY, Stage, events, text};

/// Plays a turn that ends well, and answers with what was said.
async fn said(stage: &Stage) -> String {
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    text(&signals)
}

#[tokio::test]
async fn r97_a_process_is_used_again_by_its_session_and_by_others_and_ends_with_the_agent() {
    let mut stage = Stage::new(&["--load"], &["pid"]).keeping(1);
    let first = said(&stage).await;
    stage.next(Some("first"), &["pid", "say ;", "told"]);
    let (again, told) = said(&stage).await.split_once(';').map(owned).unwrap();
    assert_eq!(again, first);
    assert!(
        told.contains("session/new") && !told.contains("session/load"),
        "{told}"
    );
    stage.next(None, &["pid"]);
    assert_eq!(said(&stage).await, first);
    stage.close().await;
    stage.assert_reaped().await;
}

fn owned((a, b): (&str, &str)) -> (String, String) {
    (a.to_owned(), b.to_owned())
}

#[tokio::test]
async fn r97_a_process_that_no_turn_uses_ends_after_its_time_and_the_session_goes_on() {
    let mut stage = Stage::new(&["--load", "--family"], &["pid"]).keeping(1);
    stage.options.pool_ttl = Duration::from_millis(1);
    let first = said(&stage).await;
    stage.gone(FAMILY).await;
    stage.next(Some("first"), &["pid", "say ;", "told"]);
    let (again, told) = said(&stage).await.split_once(';').map(owned).unwrap();
    assert_ne!(again, first);
    assert!(told.contains("session/load"), "{told}");
    stage.gone(FAMILY).await;
}

/// Where each session needs a process of its own, of which one is kept.
fn crowded() -> Stage {
    let mut stage = Stage::new(&["--load"], &[]).keeping(1);
    stage.options.preset = Preset::named("cline");
    stage
}

#[tokio::test]
async fn r97_of_too_many_idle_processes_the_oldest_ends_and_its_thread_goes_on() {
    let mut stage = crowded();
    let (_, first) = stage.play_beside("a", &["pid"]).end().await;
    let (_, second) = stage.play_beside("b", &["pid"]).end().await;
    assert_eq!(stage.gone(1).await, [first.parse::<i32>().unwrap()]);
    stage.thread = "a";
    stage.next(Some("first"), &["pid", "say ;", "told"]);
    let (again, told) = said(&stage).await.split_once(';').map(owned).unwrap();
    assert!(again != first && again != second, "{again}");
    assert!(
        told.contains("session/load") && !told.contains("session/new"),
        "{told}"
    );
    stage.close().await;
}

#[tokio::test]
async fn r97_a_process_with_a_live_turn_is_not_ended_for_others() {
    let mut stage = crowded();
    let mut live = stage.play_beside("a", &["say 1", "await-cancel", "say 2"]);
    live.says("1").await;
    let stop = live.stop.clone();
    let kept = stage.started().await;
    for thread in ["b", "c"] {
        let (outcome, _) = stage.play_beside(thread, &["pid"]).end().await;
        assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    }
    stage.gone(1).await;
    stop.cancel();
    let (outcome, said) = live.end().await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    assert_eq!(said, "12", "it was there until the end");
    drop(kept);
    stage.close().await;
}

#[tokio::test]
async fn what_an_agent_says_while_no_turn_hears_it_begins_the_next_run_of_the_thread() {
    let mut stage = Stage::new(&[], &["say one"]).keeping(1);
    said(&stage).await;
    stage.next(None, &["say two", "in first late", "in first r"]);
    assert_eq!(said(&stage).await, "two", "it belongs to another thread");
    stage.next(Some("first"), &["say three"]);
    let (_, signals) = stage.play().await;
    let said = |event: &&CoreEvent| matches!(event, CoreEvent::Text(_) | CoreEvent::MessageEnd);
    let said: Vec<_> = events(&signals).into_iter().filter(said).cloned().collect();
    let text = |text: &str| CoreEvent::Text(text.into());
    assert_eq!(
        said,
        [
            text("late"),
            text("r"),
            CoreEvent::MessageEnd,
            text("three")
        ]
    );
    stage.close().await;
}

#[tokio::test]
async fn a_process_that_has_crashed_is_not_used_again() {
    let mut stage = Stage::new(&["--resume"], &["say half", "crash"]).keeping(1);
    let (outcome, _) = stage.play().await;
    assert_eq!(outcome.unwrap_err().code(), Code::AgentCrashed);
    stage.assert_reaped().await;
    stage.next(Some("first"), &["say whole"]);
    assert_eq!(said(&stage).await, "whole");
    stage.close().await;
}

#[tokio::test]
async fn report_r83_a_process_is_kept_after_a_stop_only_if_the_turn_has_left_nothing() {
    let is_text = |event: &CoreEvent| matches!(event, CoreEvent::Text(_));
    let mut stage = Stage::new(&[], &["pid", "await-cancel"]).keeping(1);
    let (outcome, signals) = stage.play_until(is_text).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    stage.next(None, &["pid"]);
    assert_eq!(said(&stage).await, text(&signals), "it is kept");

    stage.next(None, &["leave", "say x", "await-cancel"]);
    let (outcome, _) = stage.play_until(is_text).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    stage.gone(2).await;
}

#[tokio::test]
async fn report_r83_a_process_that_does_not_stop_is_not_kept() {
    let mut stage = Stage::new(&["--child"], &["say one", "ignore-cancel"]).keeping(1);
    stage.options.stop_grace = Duration::from_millis(100);
    let is_text = |event: &CoreEvent| matches!(event, CoreEvent::Text(_));
    let (outcome, _) = stage.play_until(is_text).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    stage.gone(2).await;
}
