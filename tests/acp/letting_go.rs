//! Sessions that will not be asked for again.

use std::time::Duration;

use agui_serve::{cores::acp::Preset, deps::StopReason};
use tokio::time::Instant;

use crate::stage::{Stage, text};

const CLOSE: &str = r#"{"method":"session/close","params":{"sessionId":"first"}}"#;
const DELETE: &str = r#"{"method":"session/delete","params":{"sessionId":"first"}}"#;

/// Plays a turn that ends well, and answers with what was said.
async fn said(stage: &Stage) -> String {
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    text(&signals)
}

#[tokio::test]
async fn a_session_is_closed_where_it_is_open_and_deleted_as_far_as_the_agent_does_that() {
    for (args, closes, deletes) in [
        (&["--close", "--delete"][..], true, true),
        (&["--close"], true, false),
        (&["--delete"], false, true),
        (&[], false, false),
    ] {
        let mut stage = Stage::new(args, &["say x"]).keeping(1);
        said(&stage).await;
        stage.forget("first").await;
        stage.next(None, &["told"]);
        let told = said(&stage).await;
        let places = (told.find(CLOSE), told.find(DELETE));
        assert_eq!(places.0.is_some(), closes, "{args:?}: {told}");
        assert_eq!(places.1.is_some(), deletes, "{args:?}: {told}");
        if closes && deletes {
            assert!(places.0 < places.1, "{told}");
        }
        stage.close().await;
    }
}

#[tokio::test]
async fn a_session_that_was_let_go_of_is_not_taken_for_an_open_one() {
    let mut stage = Stage::new(&["--close", "--load"], &["say x"]).keeping(1);
    said(&stage).await;
    stage.forget("first").await;
    stage.next(Some("first"), &["told"]);
    let told = said(&stage).await;
    assert!(told.contains("session/load"), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn a_process_that_does_not_have_it_open_deletes_it_unless_it_has_another_of_that_name() {
    let mut stage = Stage::new(&["--close", "--delete"], &["say x"]).keeping(1);
    said(&stage).await;
    stage.thread = "another";
    stage.forget("of a process that is gone").await;
    stage.forget("first").await;
    stage.next(None, &["told"]);
    let told = said(&stage).await;
    let sessions: Vec<_> = told.split("session/delete").skip(1).collect();
    assert_eq!(sessions.len(), 1, "{told}");
    assert!(sessions[0].contains("of a process that is gone"), "{told}");
    assert!(!told.contains("session/close"), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn no_process_is_started_to_let_go_of_a_session() {
    let stage = Stage::new(&["--close", "--delete"], &["say x"]).keeping(1);
    stage.forget("first").await;
    stage.assert_none_started().await;
    let mut stage = Stage::new(&["--close", "--delete"], &["say x"]).keeping(1);
    stage.options.pool_ttl = Duration::from_millis(1);
    said(&stage).await;
    stage.gone(1).await;
    stage.forget("first").await;
    stage.assert_none_started().await;
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_not_waited_for_and_is_asked_to_delete_it_all_the_same() {
    let args = ["--close", "--close-hangs", "--delete"];
    let mut stage = Stage::new(&args, &["say x"]).keeping(1);
    stage.options.stop_grace = Duration::from_millis(400);
    said(&stage).await;
    let begin = Instant::now();
    stage.forget("first").await;
    let took = begin.elapsed();
    assert!(took >= stage.options.stop_grace / 2, "{took:?}");
    stage.next(None, &["told"]);
    let told = said(&stage).await;
    assert!(told.contains(DELETE), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn a_process_that_is_there_for_one_session_and_closes_none_ends_with_it() {
    let mut stage = Stage::new(&[], &["say x"]).keeping(1);
    stage.options.preset = Preset::named("cline");
    said(&stage).await;
    stage.forget("first").await;
    stage.gone(1).await;
}

#[tokio::test]
async fn what_was_kept_for_a_session_goes_with_it() {
    let mut stage = Stage::new(&[], &["say one"]).keeping(1);
    said(&stage).await;
    stage.next(None, &["say two", "in first late"]);
    said(&stage).await;
    stage.forget("first").await;
    stage.next(Some("first"), &["say three"]);
    assert_eq!(said(&stage).await, "three");
    stage.close().await;
}
