//! What a client may choose, what it is shown of that, and what becomes of its wishes.

use agui_serve::{
    cores::Core,
    deps::{
        Choice, CoreEvent, PerSetting, Setting, Settings, StopReason, TurnError, TurnIo,
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

    fn settings(&self) -> Settings {
        settings()
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
    let mut input = input("t1", "r1", "go");
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
        let stream = daemon.post(&wishing(forwarded)).stream().await;
        let events = stream.collect().await;
        assert_eq!(said(&events), wish);
        let delta = events.iter().find(|event| event["type"] == "STATE_DELTA");
        let value =
            json!({"mode": {"value": "ask", "options": [{"value": "plan", "name": "Plan"}]}});
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
async fn the_information_shows_what_can_be_chosen() {
    let daemon = Daemon::start(Moody);
    let info = daemon.ask("GET", "/agui/info").send().await.json();
    let mode = json!({"value": "ask", "options": [{"value": "plan", "name": "Plan"}]});
    assert_eq!(info["agents"][0]["settings"], json!({"mode": mode}));
    daemon.stop().await;
}
