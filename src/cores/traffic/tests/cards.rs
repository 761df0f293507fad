//! The cards that a client sees, out of the traffic of a turn.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::Traffic;
use crate::{deps::CoreEvent, state::Document};

/// The sub-agents of a document, after calls with their answers.
fn cards(calls: &[(&str, Value, Value)]) -> Value {
    let (mut traffic, mut document) = (Traffic::new(""), Document::new("t", "a", "pando"));
    for (at, (tool, input, output)) in calls.iter().enumerate() {
        let call = Arc::from(format!("call-{at}"));
        traffic.called(&call, tool, input);
        let output = output
            .as_str()
            .map_or_else(|| output.to_string(), str::to_owned);
        for event in traffic.answered(&call, &output, &Value::Null, false) {
            let CoreEvent::SubAgent(update) = event else {
                panic!("{event:?}");
            };
            document.update_sub_agent(&update).unwrap();
        }
    }
    document.snapshot()["subAgents"].take()
}

#[test]
fn r89_lookups_and_waits_update_the_card_of_the_spawn_up_to_its_conclusion() {
    let id = json!({"task_id": "task-1"});
    let task = json!({"id": "task-1", "status": "completed", "exit_code": 0.0,
                      "conclusion": {"status": "success", "summary": "found it"}});
    let shown = cards(&[
        (
            "mesnada_spawn_agent",
            json!({"prompt": "look", "engine": "claude"}),
            json!({"task_id": "task-1", "status": "pending"}),
        ),
        (
            "mesnada_get_task",
            id.clone(),
            json!({"task": {"id": "task-1", "status": "running", "model": "opus"}}),
        ),
        (
            "mesnada_get_task",
            id.clone(),
            json!("Error: something: bad"),
        ),
        ("mesnada_wait_task", id, json!({"task": task})),
    ]);
    let expected = json!([{"id": "task-1", "status": "completed", "prompt": "look", "engine": "claude", "model": "opus",
                           "exitCode": 0, "conclusion": "success", "summary": "found it"}]);
    assert_eq!(shown, expected);
}

#[test]
fn r92_cancelling_and_listing_leave_the_card_its_prompt_and_add_none() {
    let listed = json!({"tasks": [{"id": "task-1", "prompt": "cut", "status": "running"},
                                  {"id": "task-9", "prompt": "of another project", "status": "running"}]});
    let shown = cards(&[
        (
            "mesnada_spawn_agent",
            json!({"prompt": "a long prompt"}),
            json!({"task_id": "task-1", "status": "pending"}),
        ),
        ("mesnada_list_tasks", json!({}), listed),
        (
            "pando_get_task",
            json!({}),
            json!({"task": {"id": "task-8", "status": "running"}}),
        ),
        (
            "mesnada_cancel_task",
            json!({"task_id": "task-1"}),
            json!({"task_id": "task-1", "cancelled": true}),
        ),
    ]);
    let expected = json!([{"id": "task-1", "status": "cancelled", "prompt": "a long prompt"}]);
    assert_eq!(shown, expected);
}
