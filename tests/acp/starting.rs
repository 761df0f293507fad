//! Ways to start, to fail at it, and to come back to a session.

use std::time::Duration;

use agui_serve::deps::{Code, CoreEvent, Session, SessionRef, Signal, StopReason};

use crate::stage::{Stage, events, text};

/// Plays a turn that fails, and checks what of it a client may see.
async fn failure(stage: &Stage) -> Code {
    let (outcome, signals) = stage.play().await;
    let error = outcome.unwrap_err();
    assert_eq!(text(&signals), "");
    for secret in [
        stage.options.workdir.to_str().unwrap(),
        "/opt/agent",
        "cannot go on",
    ] {
        assert!(!error.message().contains(secret), "{}", error.message());
    }
    error.code()
}

#[tokio::test]
async fn a_missing_program_or_folder_is_unavailable() {
    for new in [Stage::new, |args: &[&str], steps: &[&str]| {
        Stage::new(args, steps).unsupervised()
    }] {
        let mut stage = new(&[], &[]);
        stage.options.command = "no-such-agent".into();
        assert_eq!(failure(&stage).await, Code::AgentUnavailable);
        let mut stage = new(&[], &[]);
        stage.options.command = stage.options.workdir.clone();
        assert_eq!(failure(&stage).await, Code::AgentUnavailable);
        let mut stage = new(&[], &[]);
        stage.options.workdir = stage.options.workdir.join("missing");
        assert_eq!(failure(&stage).await, Code::AgentUnavailable);
    }
    let mut stage = Stage::new(&[], &[]);
    stage.options.supervisor = Some("/no/such/supervisor".into());
    assert_eq!(failure(&stage).await, Code::AgentUnavailable);
}

#[tokio::test]
async fn a_program_that_speaks_no_acp_fails_the_handshake() {
    let exits = Stage::new(&["--exit", "3"], &[]);
    let (outcome, _) = exits.play().await;
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), Code::AgentHandshakeFailed);
    let log = error.to_string();
    assert!(
        log.contains("status: 3") && log.contains("cannot go on"),
        "{log}"
    );

    // As a shell does that finds nothing; the program itself was there.
    let exits = Stage::new(&["--exit", "127"], &[]);
    assert_eq!(failure(&exits).await, Code::AgentHandshakeFailed);

    let newer = Stage::new(&["--version", "2"], &[]);
    assert_eq!(failure(&newer).await, Code::AgentHandshakeFailed);
    newer.assert_reaped().await;

    let mut silent = Stage::new(&["--mute"], &[]);
    silent.options.start_timeout = Duration::from_millis(300);
    assert_eq!(failure(&silent).await, Code::AgentHandshakeFailed);
    silent.assert_reaped().await;
}

#[tokio::test]
async fn a_login_that_is_needed_is_said() {
    let stage = Stage::new(&["--auth"], &[]);
    assert_eq!(failure(&stage).await, Code::AuthRequired);
    stage.assert_reaped().await;
}

/// Plays a turn on the session `first`, and answers with how the agent opened it and what was bound.
async fn returned(args: &[&str]) -> (String, SessionRef, Vec<Signal>) {
    let mut stage = Stage::new(args, &["say fresh"]);
    stage.session = Session::Bound(SessionRef::new("first"));
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&signals), "fresh", "the history is not streamed again");
    let bound = signals.iter().find_map(|signal| match signal {
        Signal::Bind(bound) | Signal::Rebind(bound) => Some(bound.clone()),
        _ => None,
    });
    let how = events(&signals).into_iter().find_map(|event| match event {
        CoreEvent::Model(model) => model.name.clone(),
        _ => None,
    });
    (how.unwrap(), bound.unwrap(), signals)
}

#[tokio::test]
async fn a_known_session_is_returned_to_without_its_history() {
    for (args, how) in [
        (&["--resume", "--load"][..], "Fake, resumed"),
        (&["--load"], "Fake, loaded"),
        (&["--resume", "--resume-fails", "--load"], "Fake, loaded"),
        (&["--load-late"], "Fake, loaded"),
    ] {
        let (shown, bound, _) = returned(args).await;
        assert_eq!((shown.as_str(), bound.as_str()), (how, "first"), "{args:?}");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_answer_to_one_way_back_is_asked_for_the_other() {
    let mut stage = Stage::new(&["--resume", "--resume-hangs", "--load"], &["say fresh"]);
    stage.options.start_timeout = Duration::from_secs(2);
    stage.session = Session::Bound(SessionRef::new("first"));
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert!(signals.contains(&Signal::Bind(SessionRef::new("first"))));
    assert_eq!(text(&signals), "fresh");
}

#[tokio::test]
async fn a_session_that_is_gone_is_replaced_and_that_is_said() {
    for args in [
        &["--load", "--gone"][..],
        &["--resume", "--gone"],
        &["--gone"],
    ] {
        let (shown, bound, signals) = returned(args).await;
        assert_eq!(
            (shown.as_str(), bound.as_str()),
            ("Fake, new", "second"),
            "{args:?}"
        );
        let said = events(&signals).into_iter().any(
            |event| matches!(event, CoreEvent::Notice { name, .. } if name == "session_replaced"),
        );
        assert!(said, "{args:?}");
    }
}
