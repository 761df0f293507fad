mod bounds;
mod cards;
mod encodings;
mod files;
mod mesnada;
mod todos;

use std::sync::Arc;

use serde_json::{Value, json};

use super::Traffic;
use crate::deps::{CoreEvent, SubAgentUpdate};

/// What follows of one call that was answered so.
fn told(tool: &str, input: &Value, output: &str, metadata: &Value) -> Vec<CoreEvent> {
    let (mut traffic, call) = (Traffic::new("/work"), Arc::from("call-1"));
    assert_eq!(traffic.called(&call, tool, input), []);
    traffic.answered(&call, output, metadata, false)
}

/// What became known of sub-agents with one call.
fn updates(tool: &str, input: &Value, output: &str) -> Vec<SubAgentUpdate> {
    of_sub_agents(told(tool, input, output, &Value::Null))
}

fn of_sub_agents(events: Vec<CoreEvent>) -> Vec<SubAgentUpdate> {
    let of = |event| match event {
        CoreEvent::SubAgent(update) => *update,
        other => panic!("{other:?}"),
    };
    events.into_iter().map(of).collect()
}

/// What became known of the one sub-agent that a call is about.
fn update(tool: &str, input: &Value, output: &Value) -> SubAgentUpdate {
    let [update] = updates(tool, input, &output.to_string())
        .try_into()
        .unwrap_or_else(|updates| panic!("{updates:?}"));
    update
}

/// What failed or was never told of says nothing.
#[test]
fn r92_calls_that_failed_are_unknown_or_are_answered_again_say_nothing() {
    let calls = [
        ("TodoWrite", json!({"todos": [{"content": "a"}]}), ""),
        ("view", json!({"file_path": "a"}), ""),
        ("patch", json!({"patch_text": "*** Add File: a"}), ""),
        (
            "mesnada_spawn_agent",
            json!({"prompt": "p"}),
            r#"{"task_id": "task-1"}"#,
        ),
        (
            "mesnada_await",
            json!({"task_ids": ["task-1"]}),
            "Await registered for 1 task(s)",
        ),
    ];
    for (tool, input, output) in calls {
        let (mut traffic, call) = (Traffic::new(""), Arc::from("call-1"));
        let answered = |traffic: &mut Traffic, failed| {
            traffic.answered(&call, output, &Value::Null, failed).len()
        };
        assert_eq!(answered(&mut traffic, false), 0, "{tool}");
        traffic.called(&call, tool, &input);
        assert_eq!(answered(&mut traffic, true), 0, "{tool}");
        assert_eq!(answered(&mut traffic, false), 0, "{tool}");
        traffic.called(&call, tool, &input);
        assert_eq!(answered(&mut traffic, false), 1, "{tool}");
        assert_eq!(answered(&mut traffic, false), 0, "{tool}");
    }
}

#[test]
fn arguments_and_metadata_may_be_json_in_a_text() {
    let input = json!(json!({"file_path": "a"}).to_string());
    assert_eq!(told("view", &input, "", &Value::Null).len(), 1);
    let broken = json!("{\"file_path\": ");
    assert_eq!(told("view", &broken, "", &Value::Null).len(), 0);
    let files = json!(json!({"files_changed": ["a"]}).to_string());
    assert_eq!(told("patch", &json!({}), "", &files).len(), 1);
}
