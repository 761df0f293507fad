//! Each of the 31 events, with every member and with only those it must have.

mod samples;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Event;
use crate::protocol::{Body, TextRole, schema::Schema};

fn with(mut event: Value, members: &Value) -> Value {
    let members = members.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(members);
    event
}

/// What every event may carry, with nulls where nulls are data.
fn common() -> Value {
    json!({
        "timestamp": 9_007_199_254_740_991_i64,
        "metadata": {"vendor.key": null, "list": [null, 9_007_199_254_740_993_u64]},
        "rawEvent": {"was": null},
    })
}

fn has_no_subagent(kind: &str) -> bool {
    kind.starts_with("RUN_") || kind == "MESSAGES_SNAPSHOT"
}

/// Name, full form, minimal form.
fn samples() -> Vec<(&'static str, Value, Value)> {
    samples::all()
        .into_iter()
        .map(|(kind, required, optional)| {
            let mut minimal = with(json!({"type": kind}), &required);
            let mut full = with(with(minimal.clone(), &optional), &common());
            if !has_no_subagent(kind) {
                full["subagentRunId"] = "s".into();
            }
            if kind.starts_with("SUBAGENT_") {
                minimal["subagentRunId"] = "s".into();
            }
            (kind, full, minimal)
        })
        .collect()
}

fn schema_kinds() -> BTreeSet<String> {
    let schema: Value =
        serde_json::from_str(include_str!("../../../tests/fixtures/agui-1.0.schema.json")).unwrap();
    let kinds = schema["$defs"]["EventType"]["enum"].as_array().unwrap();
    kinds
        .iter()
        .map(|kind| kind.as_str().unwrap().to_owned())
        .collect()
}

/// Requirements 64 and 74.
#[test]
fn there_is_a_sample_of_every_event_of_the_schema() {
    let sampled: BTreeSet<String> = samples().iter().map(|sample| sample.0.to_owned()).collect();
    assert_eq!(sampled, schema_kinds());
    assert_eq!(sampled.len(), 31);
}

/// Requirements 64 and 65.
#[test]
fn every_event_is_valid_and_reads_back_in_both_forms() {
    let schema = Schema::of("Event");
    for (kind, full, minimal) in samples() {
        for sample in [full, minimal] {
            let event: Event = serde_json::from_value(sample.clone())
                .unwrap_or_else(|error| panic!("{kind}: {error}: {sample}"));
            let written = serde_json::to_value(&event).unwrap();
            assert_eq!(written, sample, "{kind}");
            assert_eq!(
                schema.errors(&event),
                Vec::<String>::new(),
                "{kind}: {written}"
            );

            let text = serde_json::to_string(&event).unwrap();
            let again: Event = serde_json::from_str(&text).unwrap();
            assert_eq!(again, event, "{kind}");
        }
    }
}

#[test]
fn r64_what_is_absent_is_left_out_and_never_null() {
    for (kind, _, minimal) in samples() {
        let event: Event = serde_json::from_value(minimal).unwrap();
        let Value::Object(members) = serde_json::to_value(&event).unwrap() else {
            panic!("{kind}")
        };
        // In these a null is the application's.
        let free = ["snapshot", "value", "event"];
        for (name, value) in members {
            assert!(
                !value.is_null() || free.contains(&name.as_str()),
                "{kind}.{name}"
            );
        }
    }
}

#[test]
fn an_event_with_a_time_has_it_as_whole_milliseconds() {
    let message_id = crate::protocol::MessageId::new("m").unwrap();
    let event = Event::at(
        1_700_000_000_000,
        Body::TextMessageStart {
            message_id,
            role: Some(TextRole::Assistant),
            name: None,
        },
    );
    assert_eq!(
        serde_json::to_string(&event).unwrap(),
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant","timestamp":1700000000000}"#
    );
}

#[test]
fn a_fraction_where_a_whole_number_belongs_is_refused() {
    let error = |value: Value| serde_json::from_value::<Event>(value).unwrap_err();
    error(json!({"type": "RUN_ERROR", "message": "m", "timestamp": 1.5}));
    error(json!({"type": "RUN_ERROR", "message": "m", "timestamp": "1"}));
    for count in [json!(0.5), json!(-1), json!("1")] {
        error(json!({"type": "RUN_ERROR", "message": "m", "usage": [{"inputTokens": count}]}));
    }
}

#[test]
fn numbers_in_free_data_keep_their_digits() {
    let text = r#"{"type":"STATE_SNAPSHOT","snapshot":[1.10,1e+400,-0.0,123456789012345678901234567890],"metadata":{"n":1.10}}"#;
    let event: Event = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), text);
}
