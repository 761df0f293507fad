//! What is set in a session, and what an agent is told at its opening.

use agui_serve::deps::{Code, CoreEvent, PerSetting, Settings, Signal, StopReason};
use serde_json::{Value, json};

use crate::stage::{Stage, events, text};

fn one(
    set: fn(&mut PerSetting<Option<String>>) -> &mut Option<String>,
    value: &str,
) -> PerSetting<Option<String>> {
    let mut one = PerSetting::default();
    *set(&mut one) = Some(value.to_owned());
    one
}

/// Plays a turn that says what it was told, and answers with the requests that set something.
async fn set(stage: &Stage) -> (Vec<Value>, Vec<CoreEvent>) {
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    let told: Vec<Value> = serde_json::from_str(&text(&signals)).unwrap();
    let sets = |told: &Value| told["method"].as_str().unwrap().starts_with("session/set");
    let events = events(&signals).into_iter().cloned().collect();
    (told.into_iter().filter(sets).collect(), events)
}

fn shown(events: &[CoreEvent]) -> Settings {
    let settings = events.iter().rev().find_map(|event| match event {
        CoreEvent::Settings(settings) => Some((**settings).clone()),
        _ => None,
    });
    settings.unwrap()
}

#[tokio::test]
async fn an_agent_that_approves_by_itself_is_put_into_its_asking_mode() {
    let stage = Stage::new(&["--modes", "agent,ask"], &["told"]);
    let (told, events) = set(&stage).await;
    let params = json!({"sessionId": "first", "modeId": "ask"});
    assert_eq!(
        told,
        [json!({"method": "session/set_mode", "params": params})]
    );
    assert_eq!(shown(&events).mode.unwrap().value.as_deref(), Some("ask"));
}

#[tokio::test]
async fn an_agent_that_cannot_be_made_to_ask_is_asked_nothing() {
    let stage = Stage::new(&["--modes", "agent,ask", "--set-fails"], &["say done"]);
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap_err().code(), Code::AgentError);
    assert_eq!(text(&signals), "");
}

#[tokio::test]
async fn a_wish_for_a_mode_that_the_agent_does_not_offer_leaves_it_asking() {
    let mut stage = Stage::new(&["--modes", "agent,ask"], &["told"]);
    stage.wishes = one(|wishes| &mut wishes.mode, "plan");
    let (told, events) = set(&stage).await;
    assert_eq!(told[0]["params"]["modeId"], "ask");
    let notice = CoreEvent::notice("not_set", json!({"setting": "mode", "value": "plan"}));
    assert!(events.contains(&notice), "{events:#?}");
}

#[tokio::test]
async fn an_agent_that_offers_no_mode_in_which_it_asks_is_said_to_ask_nobody() {
    let stage = Stage::new(&["--modes", "yolo"], &["told"]);
    let (told, events) = set(&stage).await;
    assert!(told.is_empty());
    let notice = CoreEvent::notice("unattended", json!({"mode": "yolo"}));
    assert!(events.contains(&notice), "{events:#?}");
}

#[tokio::test]
async fn what_is_configured_is_set_and_what_a_client_wishes_wins() {
    let mut stage = Stage::new(&["--options"], &["told"]);
    stage.options.set = one(|set| &mut set.model, "large");
    stage.options.choices.model = vec!["small".into(), "large".into()];
    stage.wishes = one(|wishes| &mut wishes.effort, "high");
    let (told, events) = set(&stage).await;
    let values: Vec<_> = told
        .iter()
        .map(|it| [&it["params"]["configId"], &it["params"]["value"]])
        .collect();
    assert_eq!(
        values,
        [
            [&json!("which"), &json!("large")],
            [&json!("depth"), &json!("high")]
        ]
    );
    let settings = shown(&events);
    assert_eq!(settings.effort.unwrap().value.as_deref(), Some("high"));
    let options = settings.model.unwrap().options;
    let options: Vec<_> = options
        .iter()
        .map(|it| (it.value.as_str(), it.name.as_deref()))
        .collect();
    assert_eq!(
        options,
        [("small", Some("SMALL")), ("large", Some("LARGE"))]
    );

    stage.wishes = one(|wishes| &mut wishes.model, "small");
    let (told, _) = set(&stage).await;
    assert!(
        told.is_empty(),
        "the wish wins, and it is so already: {told:?}"
    );
}

#[tokio::test]
async fn what_the_agent_does_not_offer_is_said_and_the_run_goes_on() {
    let mut stage = Stage::new(&["--options"], &["told"]);
    stage.options.set = one(|set| &mut set.model, "huge");
    let (told, events) = set(&stage).await;
    assert!(told.is_empty());
    let notice = CoreEvent::notice("not_set", json!({"setting": "model", "value": "huge"}));
    assert!(events.contains(&notice), "{events:#?}");
}

#[tokio::test]
async fn instructions_are_a_system_prompt_where_the_agent_takes_one() {
    let mut stage = Stage::new(&["--system-prompt"], &["told", "say ;", "prompted"]);
    stage.options.instructions = Some("Be brief.".into());
    let (_, signals) = stage.play().await;
    let said = text(&signals);
    let (told, prompted) = said.split_once(';').unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    let content = json!([{"type": "text", "text": "Be brief."}]);
    assert_eq!(
        told[0]["params"]["systemPrompt"],
        json!({"mode": "append", "content": content})
    );
    assert!(!prompted.contains("Be brief."), "{prompted}");
}

#[tokio::test]
async fn a_session_that_was_stopped_before_its_first_prompt_is_not_the_threads() {
    let stage = Stage::new(&["--modes", "agent,ask", "--set-hangs"], &["prompted"]);
    let is_settings = |event: &CoreEvent| matches!(event, CoreEvent::Settings(_));
    let (outcome, signals) = stage.play_until(is_settings).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    let bound = |signal: &Signal| matches!(signal, Signal::Bind(_));
    assert!(
        !signals.iter().any(bound),
        "nobody has told it its instructions: {signals:#?}"
    );
    stage.assert_reaped().await;
}

#[tokio::test]
async fn instructions_stand_before_the_first_prompt_of_a_session_elsewhere() {
    let mut stage = Stage::new(&["--resume"], &["prompted"]).keeping(1);
    stage.options.instructions = Some("Be brief.".into());
    let (_, signals) = stage.play().await;
    assert!(text(&signals).contains("Be brief."));
    stage.next(Some("first"), &["prompted"]);
    let (_, signals) = stage.play().await;
    assert!(!text(&signals).contains("Be brief."), "once is enough");
    stage.close().await;
}
