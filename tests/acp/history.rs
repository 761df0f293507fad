//! What a session is told of the conversation before it, and what it remembers.

use agui_serve::{
    deps::{CoreEvent, Session, SessionRef, Signal, StopReason},
    protocol::{ContextEntry, Message, MessageBody},
};
use serde_json::{Value, json};

use crate::stage::{Outcome, Stage, events, text};

/// A stage in the middle of a conversation.
fn stage(args: &[&str], steps: &[&str]) -> Stage {
    let mut stage = Stage::new(args, steps);
    stage.history = history();
    stage
}

fn history() -> Vec<Message> {
    let history = json!([
        {"id": "1", "role": "user", "content": "The word is walrus."},
        {"id": "2", "role": "assistant", "content": "I see."},
    ]);
    serde_json::from_value(history).unwrap()
}

/// The value of the one notice of that name, if there is one.
fn notice(signals: &[Signal], wanted: &str) -> Option<Value> {
    let mut found = events(signals).into_iter().filter_map(|event| match event {
        CoreEvent::Notice { name, value, .. } if name == wanted => Some(value.clone()),
        _ => None,
    });
    let first = found.next();
    assert_eq!(found.next(), None, "once");
    first
}

fn assert_done((outcome, signals): (Outcome, Vec<Signal>)) -> Vec<Signal> {
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    signals
}

#[tokio::test]
async fn a_session_that_begins_in_the_middle_is_told_what_was_said_before_and_only_once() {
    let mut stage = stage(&[], &["prompted"]).keeping(1);
    let signals = assert_done(stage.play().await);
    assert!(text(&signals).starts_with("<earlier_conversation>\n"));
    assert!(text(&signals).contains("<message role=\"user\">\nThe word is walrus.\n</message>"));
    assert!(text(&signals).ends_with("</earlier_conversation>\n\nprompted"));
    let told = json!({"messages": 2, "omitted": 0});
    assert_eq!(notice(&signals, "history_told"), Some(told));
    stage.next(Some("first"), &["prompted"]);
    let signals = assert_done(stage.play().await);
    assert_eq!(text(&signals), "prompted");
    assert_eq!(notice(&signals, "history_told"), None);
    stage.close().await;
}

#[tokio::test]
async fn what_was_said_stands_between_the_instructions_and_the_context() {
    let mut stage = stage(&[], &["prompted"]);
    stage.options.instructions = Some("Be kind.".into());
    stage.context = vec![ContextEntry {
        description: "page".into(),
        value: "one".into(),
    }];
    let said = text(&assert_done(stage.play().await));
    let places = [
        "<instructions>",
        "<earlier_conversation>",
        "<context>",
        "\n\nprompted",
    ]
    .map(|part| said.find(part).expect(part));
    assert!(places.is_sorted(), "{said}");
}

#[tokio::test]
async fn r48_a_session_in_place_of_one_that_is_gone_is_told_unless_that_is_off() {
    for seed_history in [true, false] {
        let mut stage = stage(&["--load", "--gone"], &[]);
        stage.options.seed_history = seed_history;
        stage.next(Some("first"), &["prompted"]);
        let signals = assert_done(stage.play().await);
        assert_eq!(text(&signals).contains("walrus"), seed_history);
        assert_eq!(notice(&signals, "history_told").is_some(), seed_history);
        let replaced = json!({"session": "second", "previous": "first"});
        assert_eq!(notice(&signals, "session_replaced"), Some(replaced));
    }
}

#[tokio::test]
async fn a_conversation_that_was_cut_back_goes_on_in_another_session() {
    for seed_history in [true, false] {
        let mut stage = Stage::new(&["--load", "--close"], &[]).keeping(1);
        stage.options.seed_history = seed_history;
        assert_done(stage.play().await);
        stage.next(None, &["prompted", "told"]);
        stage.session = Session::Rewound(SessionRef::new("first"));
        stage.history = history();
        let signals = assert_done(stage.play().await);
        let said = text(&signals);
        assert_eq!(said.contains("walrus"), seed_history, "{said}");
        assert_eq!(notice(&signals, "history_told").is_some(), seed_history);
        assert!(!said.contains("session/load"), "{said}");
        let rewound = json!({"session": "second", "previous": "first"});
        assert_eq!(notice(&signals, "session_rewound"), Some(rewound));
        assert_eq!(notice(&signals, "session_replaced"), None);
        assert!(signals.contains(&Signal::Rebind(SessionRef::new("second"))));
        let close = r#"{"method":"session/close","params":{"sessionId":"first"}}"#;
        loop {
            stage.next(Some("second"), &["told"]);
            if text(&assert_done(stage.play().await)).contains(close) {
                break;
            }
        }
        stage.close().await;
    }
}

#[tokio::test]
async fn a_session_that_was_not_prompted_is_not_bound() {
    let mut stage = stage(&[], &["say x"]).keeping(1);
    let (outcome, signals) = stage
        .play_until(|event| matches!(event, CoreEvent::Settings(_)))
        .await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    let is_bound = signals
        .iter()
        .any(|it| matches!(it, Signal::Bind(_) | Signal::Rebind(_)));
    assert!(!is_bound, "{signals:?}");
    assert_eq!(notice(&signals, "history_told"), None);
    stage.next(None, &["prompted"]);
    assert!(text(&assert_done(stage.play().await)).contains("walrus"));
    stage.close().await;
}

#[tokio::test]
async fn what_a_loaded_session_remembers_is_handed_over_and_not_said_again() {
    for (args, recalls) in [
        (&["--load"][..], true),
        (&["--load-late"], true),
        (&["--resume", "--load"], false),
        (&["--resume-fails", "--resume", "--load"], true),
        (&["--load", "--gone"], false),
    ] {
        let mut stage = Stage::new(args, &[]);
        stage.next(Some("first"), &["say new"]);
        let signals = assert_done(stage.play().await);
        assert_eq!(text(&signals), "new", "{args:?}");
        let recalled: Vec<_> = signals
            .iter()
            .filter_map(|signal| match signal {
                Signal::Recall(past) => Some(past),
                _ => None,
            })
            .collect();
        let past: Vec<MessageBody> = serde_json::from_value(json!([
            {"role": "user", "content": "what was said"},
            {"role": "assistant", "content": "what was answered"},
        ]))
        .unwrap();
        let wanted: &[_] = if recalls { &[&past] } else { &[] };
        assert_eq!(recalled, wanted, "{args:?}");
        let before = |signal: &Signal| matches!(signal, Signal::Recall(_) | Signal::Bind(_));
        let first = signals.iter().find(|it| before(it));
        assert_eq!(matches!(first, Some(Signal::Recall(_))), recalls);
    }
}

#[tokio::test]
async fn what_an_agent_calls_a_session_the_thread_is_called() {
    let info = |title: &str| {
        let update = json!({"sessionUpdate": "session_info_update", "title": title});
        format!("update {update}")
    };
    let [walrus, ours, seal] = ["Walrus", "<context> a", "Seal"].map(info);
    let steps = [&walrus, &walrus, &ours, "say x", &seal].map(|step: &str| step.to_owned());
    let steps: Vec<_> = steps.iter().map(String::as_str).collect();
    let stage = Stage::new(&[], &steps);
    let signals = assert_done(stage.play().await);
    let titles: Vec<_> = signals
        .iter()
        .filter_map(|signal| match signal {
            Signal::Title(title) => Some(title.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(titles, ["Walrus", "Seal"]);
    let told = |event: &&&CoreEvent| matches!(event, CoreEvent::Notice { name, .. } if name == "acp.session_info_update");
    let events = events(&signals);
    assert_eq!(events.iter().filter(told).count(), 3, "the notice stays");
}
