//! Whatever a core says, in whatever order, a client gets a legal stream with one end.

use std::time::Duration;

use agui_serve::{
    cores::demo::{Script, Step},
    deps::{Choice, Code, CoreEvent, Model, Setting, Settings, StopReason},
    protocol::{Content, Part, TokenUsage},
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Value, json};

use crate::stream_runtime::{PEERS, lines, play, violation};

/// Few ids, so that calls collide.
fn call() -> impl Strategy<Value = std::sync::Arc<str>> {
    prop_oneof!["a", "b", "c", ""].prop_map(Into::into)
}

fn settings() -> impl Strategy<Value = Settings> {
    let option = |value| Choice { value, name: None };
    let setting = move |(value, options): (Option<String>, Vec<String>)| Setting {
        value,
        options: options.into_iter().map(option).collect(),
    };
    (option::of(text()), vec(text(), 0..3)).prop_map(move |mode| Settings {
        mode: Some(setting(mode)),
        ..Settings::default()
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("data: x\r\n\r\n\u{85}\u{2028}\u{2029}\0".to_owned()),
        "\\PC{0,12}",
    ]
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        text().prop_map(Content::Text),
        vec(text().prop_map(Part::text), 0..3).prop_map(Content::Parts),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        text().prop_map(Value::from),
        text().prop_map(|text| json!({"a": {"b": [text, null, 1.50]}})),
    ]
}

fn usage() -> impl Strategy<Value = TokenUsage> {
    (option::of("[ab]"), option::of(any::<u64>())).prop_map(|(model, input_tokens)| TokenUsage {
        model,
        input_tokens,
        ..TokenUsage::default()
    })
}

fn event() -> impl Strategy<Value = CoreEvent> {
    prop_oneof![
        3 => text().prop_map(CoreEvent::Text),
        2 => text().prop_map(CoreEvent::Reasoning),
        1 => Just(CoreEvent::MessageEnd),
        3 => (call(), text()).prop_map(|(call, name)| CoreEvent::ToolCallOpened { call, name }),
        3 => (call(), text())
            .prop_map(|(call, fragment)| CoreEvent::ToolCallArguments { call, fragment }),
        3 => call().prop_map(|call| CoreEvent::ToolCallClosed { call }),
        3 => (call(), content(), any::<bool>()).prop_map(
            |(call, content, failed)| CoreEvent::ToolCallResult {
                call,
                content,
                failed,
            }
        ),
        1 => text().prop_map(|id| CoreEvent::Model(Model { id, ..Model::default() }.into())),
        1 => usage().prop_map(|usage| CoreEvent::Usage(usage.into())),
        1 => (text(), option::of(call()), json_value())
            .prop_map(|(name, call, value)| CoreEvent::Notice { name, call, value }),
        1 => settings().prop_map(|settings| CoreEvent::Settings(settings.into())),
    ]
}

fn end() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![
            Just(StopReason::EndTurn),
            Just(StopReason::MaxTokens),
            Just(StopReason::Refusal),
            Just(StopReason::Cancelled),
        ].prop_map(Step::Finish),
        1 => text().prop_map(|message| Step::Fail { code: Code::DemoFailure, message }),
        1 => Just(Step::Panic("as planned".into())),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let step = prop_oneof![
        12 => event().prop_map(Step::Emit),
        1 => Just(Step::Pause(Duration::from_millis(3))),
        1 => (0..5usize).prop_map(|count| Step::Words { count, every: Duration::ZERO }),
        1 => end(),
    ];
    (vec(step, 0..40), end()).prop_map(|(steps, end)| steps.into_iter().chain([end]).collect())
}

/// What a client would find wrong with a stream.
fn fault(body: &str, version: Option<&str>) -> Option<String> {
    let types: Vec<Value> = lines(body)
        .into_iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].take())
        .collect();
    let terminal = |kind: &&Value| *kind == "RUN_FINISHED" || *kind == "RUN_ERROR";
    if types.iter().filter(terminal).count() != 1 || !types.last().is_some_and(|t| terminal(&t)) {
        return Some("there is not exactly one terminal event at the end".into());
    }
    violation(body, version)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Requirements 57 and 60.
    #[test]
    fn any_script_makes_a_legal_stream_with_one_end(script in script()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        for (peer, version) in PEERS {
            let body = runtime.block_on(play(script.clone(), version));
            prop_assert_eq!(fault(&body, version), None, "for {}:\n{}", peer, body);
        }
    }
}
