//! JSON, TOON and TOML of one answer say the same.

use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::updates;

/// A text that an encoder could stumble over.
fn text() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "task",
        "true",
        "null",
        "0",
        "-",
        "- ",
        "#",
        ":",
        ": ",
        ",",
        "|",
        "\t",
        "\n",
        "\r",
        "\"",
        "'",
        "'''",
        "\\",
        "[",
        "]",
        "{",
        "}",
        "[2]:",
        "=",
        " ",
        "ü",
        "→",
        "\u{1}",
        "\u{7f}",
        "\u{2028}",
        "2026-06-01T10:00:00Z",
    ]);
    prop::collection::vec(parts, 0..6).prop_map(|parts| parts.concat())
}

/// An object with some of these members.
fn some_of(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let members: Vec<_> = members
        .into_iter()
        .map(|(name, value)| prop::option::of(value.prop_map(move |value| (name, value))))
        .collect();
    members.prop_map(|members| {
        let members = members.into_iter().flatten();
        let named = members.map(|(name, value)| (name.to_owned(), value));
        Value::Object(named.collect())
    })
}

fn texts() -> BoxedStrategy<Value> {
    text().prop_map(Value::from).boxed()
}

fn task() -> impl Strategy<Value = Value> {
    let status = prop::sample::select(vec![
        "pending",
        "running",
        "paused",
        "completed",
        "failed",
        "cancelled",
        "unheard-of",
    ]);
    let concluded = prop::sample::select(vec!["success", "partial", "failed", "blocked", ""]);
    let conclusion = some_of(vec![
        ("status", concluded.prop_map(Value::from).boxed()),
        ("summary", texts()),
        (
            "artifacts",
            prop::collection::vec(texts(), 0..3)
                .prop_map(Value::from)
                .boxed(),
        ),
        (
            "confidence",
            prop::sample::select(vec![0.0, 0.5, 1.0])
                .prop_map(Value::from)
                .boxed(),
        ),
    ]);
    let log = some_of(vec![("at", texts()), ("text", texts())]);
    let known = some_of(vec![
        ("prompt", texts()),
        ("engine", texts()),
        ("model", texts()),
        ("persona", texts()),
        ("error", texts()),
        ("exit_code", any::<i32>().prop_map(Value::from).boxed()),
        ("conclusion", conclusion.boxed()),
        (
            "dependencies",
            prop::collection::vec(texts(), 0..3)
                .prop_map(Value::from)
                .boxed(),
        ),
        (
            "logs",
            prop::collection::vec(log, 0..3)
                .prop_map(Value::from)
                .boxed(),
        ),
    ]);
    ("task-[0-9a-f]{8}", status, known).prop_map(|(id, status, mut task)| {
        task["id"] = id.into();
        task["status"] = status.into();
        task
    })
}

/// What one of the tools answers.
fn answer() -> impl Strategy<Value = (&'static str, Value)> {
    let list = prop::collection::vec(task(), 0..4);
    let ids = prop::collection::vec("task-[0-9a-f]{8}", 0..4);
    prop_oneof![
        task().prop_map(|task| ("get_task", json!({"task": task}))),
        task().prop_map(|task| {
            let error = "deadline exceeded";
            (
                "wait_task",
                json!({"task": task, "error": error, "timeout": true}),
            )
        }),
        task().prop_map(|mut task| {
            task["task_id"] = task["id"].take();
            task.as_object_mut().unwrap().remove("id");
            ("spawn_agent", task)
        }),
        list.prop_map(|tasks| ("list_tasks", json!({"total": tasks.len(), "tasks": tasks}))),
        ids.prop_map(|ids| {
            (
                "swarm",
                json!({"swarm_id": "s", "worker_ids": ids, "verifier_id": "task-0"}),
            )
        }),
    ]
}

/// The value with its whole numbers spelled as another encoder does.
fn respelled(value: &Value, spell: fn(i64) -> Value) -> Value {
    match value {
        Value::Number(number) => number.as_i64().map_or_else(|| value.clone(), spell),
        Value::Array(items) => items.iter().map(|item| respelled(item, spell)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let respelled = members.map(|(name, value)| (name.clone(), respelled(value, spell)));
            Value::Object(respelled.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn toml(value: &Value) -> toml::Value {
    let number = |number: &Number| match number.as_i64() {
        Some(whole) => toml::Value::Integer(whole),
        None => toml::Value::Float(number.as_f64().unwrap()),
    };
    match value {
        Value::Null => unreachable!("an encoder leaves it out"),
        Value::Bool(is_true) => (*is_true).into(),
        Value::Number(given) => number(given),
        Value::String(text) => text.clone().into(),
        Value::Array(items) => items.iter().map(toml).collect::<Vec<_>>().into(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), toml(value)));
            toml::Value::Table(members.collect())
        }
    }
}

/// With a decimal point, as everything is that Go has read from JSON.
fn as_floats(value: &Value) -> toml::Value {
    match toml(value) {
        toml::Value::Table(table) => floats(table.into()),
        other => other,
    }
}

fn floats(value: toml::Value) -> toml::Value {
    match value {
        toml::Value::Integer(whole) => {
            let whole = i32::try_from(whole).unwrap();
            toml::Value::Float(whole.into())
        }
        toml::Value::Array(items) => items.into_iter().map(floats).collect::<Vec<_>>().into(),
        toml::Value::Table(table) => {
            let members = table.into_iter();
            toml::Value::Table(members.map(|(name, value)| (name, floats(value))).collect())
        }
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn r91_an_answer_says_the_same_in_each_encoding_and_spelling((tool, answer) in answer()) {
        let tool = format!("mesnada_{tool}");
        let input = json!({"prompt": "p", "workers": [{"prompt": "a"}, {"prompt": "b"}]});
        let told = updates(&tool, &input, &answer.to_string());
        let spelled: [fn(i64) -> Value; 2] = [|whole| whole.to_string().into(), |whole| {
            serde_json::from_str(&format!("{whole}.0")).unwrap()
        }];
        let mut texts = vec![
            format!("{answer:#}"),
            toon_format::encode_default(&answer).unwrap(),
            toml::to_string(&toml(&answer)).unwrap(),
            toml::to_string_pretty(&toml(&answer)).unwrap(),
            toml::to_string(&as_floats(&answer)).unwrap(),
        ];
        for spell in spelled {
            let answer = respelled(&answer, spell);
            texts.push(answer.to_string());
            texts.push(toon_format::encode_default(&answer).unwrap());
        }
        for text in texts {
            prop_assert_eq!(&updates(&tool, &input, &text), &told, "{}", text);
        }
        let is_empty = ["tasks", "worker_ids"].iter().any(|name| answer[name] == json!([]));
        prop_assert!(is_empty || !told.is_empty());
    }
}
