//! Whatever is posted, the decoder answers; and what is valid it gives back unchanged.

use std::sync::LazyLock;

use proptest::{
    collection::vec,
    option::of,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Map, Value, json};

use super::super::run_input;
use crate::protocol::{RunAgentInput, schema::Schema};

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let name = prop_oneof![select(NAMES).prop_map(str::to_owned), ".{0,8}"];
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((name, inner), 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Names that the decoder looks for, so that arbitrary JSON gets past the first member.
const NAMES: &[&str] = &[
    "threadId",
    "thread_id",
    "runId",
    "messages",
    "role",
    "id",
    "content",
    "type",
    "source",
    "data",
    "mimeType",
    "toolCalls",
    "function",
    "tools",
    "context",
    "resume",
    "metadata",
];

fn id() -> impl Strategy<Value = Value> {
    "[a-zA-Z0-9/._ -]{0,12}[a-z]".prop_map(Value::from)
}

fn text() -> impl Strategy<Value = Value> {
    ".{0,12}".prop_map(Value::from)
}

fn not_null() -> impl Strategy<Value = Value> {
    json_value().prop_filter("not null", |value| !value.is_null())
}

fn open() -> impl Strategy<Value = Value> {
    vec((".{0,5}", json_value()), 0..3).prop_map(|members| members.into_iter().collect())
}

/// An object with these members, those that are `None` left out.
fn object(members: Vec<(&'static str, Option<Value>)>) -> Value {
    members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect::<Map<_, _>>()
        .into()
}

fn source() -> impl Strategy<Value = Value> {
    (
        select(vec!["data", "url", "file"]),
        text(),
        text(),
        of(text()),
    )
        .prop_map(|(kind, value, mime, more)| match kind {
            "data" => json!({"type": kind, "value": value, "mimeType": mime}),
            "url" => object(vec![
                ("type", Some(kind.into())),
                ("value", Some(value)),
                ("mimeType", more),
            ]),
            _ => object(vec![
                ("type", Some(kind.into())),
                ("value", Some(value)),
                ("provider", more.clone()),
                ("mimeType", more),
            ]),
        })
}

fn part() -> impl Strategy<Value = Value> {
    (
        select(vec!["text", "image", "audio", "video", "document"]),
        text(),
        source(),
        of(text()),
        of(not_null()),
    )
        .prop_map(|(kind, text, source, id, metadata)| {
            let is_text = kind == "text";
            object(vec![
                ("type", Some(kind.into())),
                ("text", is_text.then_some(text)),
                ("source", (!is_text).then_some(source)),
                ("id", id),
                ("metadata", metadata),
            ])
        })
}

fn content() -> impl Strategy<Value = Value> {
    prop_oneof![text(), vec(part(), 0..4).prop_map(Value::from)]
}

fn tool_call() -> impl Strategy<Value = Value> {
    (id(), text(), text(), of(text()), of(open())).prop_map(
        |(id, name, arguments, secret, open)| {
            object(vec![
                ("id", Some(id)),
                ("type", Some("function".into())),
                (
                    "function",
                    Some(json!({"name": name, "arguments": arguments})),
                ),
                ("encryptedValue", secret),
                ("metadata", open),
            ])
        },
    )
}

fn message() -> impl Strategy<Value = Value> {
    let roles = vec![
        "developer",
        "system",
        "user",
        "assistant",
        "tool",
        "reasoning",
        "activity",
    ];
    (
        (select(roles), id(), text(), content(), of(text())),
        (vec(tool_call(), 1..3), id(), open(), of(open()), of(text())),
    )
        .prop_map(
            |((role, id, text, content, maybe), (calls, call, data, metadata, secret))| {
                let mut members = vec![
                    ("id", Some(id)),
                    ("role", Some(role.into())),
                    ("metadata", metadata),
                    ("subagentRunId", maybe.clone()),
                ];
                if role != "activity" {
                    members.push(("encryptedValue", secret));
                }
                match role {
                    "developer" | "system" => {
                        members.extend([("content", Some(text)), ("name", maybe)]);
                    }
                    "user" => members.extend([("content", Some(content)), ("name", maybe)]),
                    "assistant" => members.extend([
                        ("content", maybe.clone()),
                        ("name", maybe),
                        ("toolCalls", Some(calls.into())),
                    ]),
                    "tool" => members.extend([
                        ("content", Some(content)),
                        ("toolCallId", Some(call)),
                        ("error", maybe),
                    ]),
                    "reasoning" => members.push(("content", Some(text))),
                    _ => members.extend([("activityType", Some(text)), ("content", Some(data))]),
                }
                object(members)
            },
        )
}

fn tool() -> impl Strategy<Value = Value> {
    (text(), text(), of(not_null()), of(open())).prop_map(|(name, about, parameters, metadata)| {
        object(vec![
            ("name", Some(name)),
            ("description", Some(about)),
            ("parameters", parameters),
            ("metadata", metadata),
        ])
    })
}

/// A valid request in which every list and every optional member may stand.
fn request() -> impl Strategy<Value = Value> {
    let context = (text(), text()).prop_map(|(d, v)| json!({"description": d, "value": v}));
    let status = select(vec!["resolved", "cancelled"]);
    let answer = (status, of(not_null()), of(open())).prop_map(|(status, payload, metadata)| {
        object(vec![
            ("interruptId", Some("i".into())),
            ("status", Some(status.into())),
            ("payload", payload),
            ("metadata", metadata),
        ])
    });
    (
        (
            id(),
            id(),
            of(Just(Value::from("1.0"))),
            of(id()),
            of(not_null()),
        ),
        (
            vec(message(), 0..4),
            vec(tool(), 0..3),
            vec(context, 0..3),
            of(not_null()),
            of(answer),
        ),
    )
        .prop_map(
            |((thread, run, version, parent, state), (messages, tools, context, props, answer))| {
                object(vec![
                    ("threadId", Some(thread)),
                    ("runId", Some(run)),
                    ("protocolVersion", version),
                    ("parentRunId", parent),
                    ("state", state),
                    ("messages", Some(messages.into())),
                    ("tools", Some(tools.into())),
                    ("context", Some(context.into())),
                    ("forwardedProps", props),
                    ("resume", answer.map(|answer| vec![answer].into())),
                ])
            },
        )
}

fn encode(input: &RunAgentInput) -> Vec<u8> {
    serde_json::to_vec(input).unwrap()
}

/// Puts `value` in the place of one of the values in `tree`, picked by `index`.
fn replace_one(tree: &mut Value, index: Index, value: Value) {
    fn count(tree: &Value) -> usize {
        1 + match tree {
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(members) => members.values().map(count).sum(),
            _ => 0,
        }
    }
    fn nth(tree: &mut Value, mut at: usize) -> &mut Value {
        if at == 0 {
            return tree;
        }
        at -= 1;
        let children: Vec<&mut Value> = match tree {
            Value::Array(items) => items.iter_mut().collect(),
            Value::Object(members) => members.values_mut().collect(),
            _ => unreachable!("counted before"),
        };
        for child in children {
            let size = count(child);
            if at < size {
                return nth(child, at);
            }
            at -= size;
        }
        unreachable!("counted before")
    }
    let at = index.index(count(tree));
    *nth(tree, at) = value;
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..200)) {
        let _ = run_input(&bytes);
    }

    #[test]
    fn any_json_is_answered(value in json_value()) {
        let _ = run_input(value.to_string().as_bytes());
    }

    #[test]
    fn a_valid_request_survives_decoding_and_encoding(request in request()) {
        let decoded = run_input(request.to_string().as_bytes()).unwrap();
        prop_assert_eq!(&decoded.warnings, &[]);
        let encoded = encode(&decoded.input);
        let again = run_input(&encoded).unwrap();
        prop_assert_eq!(&again.input, &decoded.input);
        prop_assert_eq!(serde_json::from_slice::<Value>(&encoded).unwrap(), request);
    }

    #[test]
    fn what_is_accepted_in_any_shape_is_read_back_the_same(
        mut request in request(),
        index in any::<Index>(),
        value in json_value(),
    ) {
        replace_one(&mut request, index, value);
        match run_input(request.to_string().as_bytes()) {
            Ok(decoded) => {
                let again = run_input(&encode(&decoded.input)).unwrap();
                prop_assert_eq!(again.input, decoded.input);
            }
            Err(error) => prop_assert!(error.to_string().len() < 300, "{}", error),
        }
    }

    #[test]
    fn r65_a_decoded_request_is_valid_by_the_schema(request in request()) {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of("RunAgentInput"));
        let decoded = run_input(request.to_string().as_bytes()).unwrap();
        prop_assert_eq!(SCHEMA.errors(&decoded.input), Vec::<String>::new());
    }
}
