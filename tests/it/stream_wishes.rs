//! What a client may choose, what it is shown of that, and what becomes of its wishes.

use agui_serve::{
    cores::Core,
    deps::{
        Choice, CoreEvent, PerSetting, Principal, Setting, Settings, StopReason, TurnError, TurnIo,
        TurnRequest,
    },
    protocol::AgentCapabilities,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    harness::{Daemon, input},
    stream_reading::said,
};

/// A core with two modes, of which each turn says the one that it was asked for.
struct Moody;

fn settings() -> Settings {
    let option = Choice {
        value: "plan".into(),
        name: Some("Plan".into()),
    };
    Settings {
        mode: Some(Setting {
            value: Some("ask".into()),
            options: vec![option],
        }),
        ..Settings::default()
    }
}

impl Core for Moody {
    fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities::default()
    }

    fn choices(&self) -> PerSetting<Vec<String>> {
        PerSetting {
            mode: vec!["plan".into()],
            ..PerSetting::default()
        }
    }

    /// No session of Bob's has told yet.
    fn settings(&self, principal: &Principal) -> Settings {
        match principal.as_str() {
            "bob" => Settings::default(),
            _ => settings(),
        }
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        Box::pin(async move {
            let wish = request.wishes.mode.unwrap_or_else(|| "none".into());
            let _ = io.emit(CoreEvent::Text(wish)).await;
            let _ = io.emit(CoreEvent::Settings(settings().into())).await;
            Ok(StopReason::EndTurn)
        })
    }
}

fn wishing(forwarded: Value) -> Value {
    let own = forwarded.to_string();
    let mut input = input(&own, &own, "go");
    input["forwardedProps"] = forwarded;
    input
}

#[tokio::test]
async fn a_wish_that_is_listed_reaches_the_core_and_is_shown_in_the_state() {
    let daemon = Daemon::start(Moody);
    for (forwarded, wish) in [
        (json!({"pando": {"mode": "plan"}}), "plan"),
        (json!({"mode": "plan"}), "none"),
    ] {
        let asked = wishing(forwarded);
        let stream = daemon.post(&asked).stream().await;
        let events = stream.collect().await;
        assert_eq!(said(&events), wish);
        let delta = events.iter().find(|event| event["type"] == "STATE_DELTA");
        let said = &asked["messages"][0]["id"];
        let value = json!({"lastPrompt": said, "mode": {"value": "ask", "options": [{"value": "plan", "name": "Plan"}]}});
        let operation = json!({"op": "add", "path": "/pando", "value": value});
        assert_eq!(delta.unwrap()["delta"], json!([operation]));
    }
    daemon.stop().await;
}

/// Requirement 44: nothing that is forwarded changes what the operator allows.
#[tokio::test]
async fn a_wish_that_is_not_listed_is_refused_before_anything_starts() {
    let daemon = Daemon::start(Moody);
    for (forwarded, code) in [
        (json!({"pando": {"mode": "yolo"}}), "not_offered"),
        (json!({"pando": {"model": "any"}}), "not_offered"),
        (json!({"pando": {"mode": 1}}), "invalid_input"),
        (json!({"pando": true}), "invalid_input"),
    ] {
        let answer = daemon.post(&wishing(forwarded)).send().await;
        assert_eq!(answer.code(), (400, code.to_owned()));
        let error = &answer.json()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("/forwardedProps/pando"), "{message}");
    }
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn the_information_shows_what_can_be_chosen_in_sessions_of_the_caller() {
    let daemon = Daemon::build()
        .agent("demo", Moody)
        .tokens(&[("alice", "token-of-alice"), ("bob", "token-of-bob")])
        .start();
    let mode = json!({"value": "ask", "options": [{"value": "plan", "name": "Plan"}]});
    for (name, settings) in [("alice", json!({"mode": mode})), ("bob", Value::Null)] {
        let token = format!("Bearer token-of-{name}");
        let ask = daemon.ask("GET", "/agui/info");
        let info = ask.header("authorization", &token).send().await.json();
        assert_eq!(info["agents"][0]["settings"], settings, "{name}");
    }
    daemon.stop().await;
}
