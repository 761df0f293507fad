use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{MAX_KEPT, Traffic};
use crate::deps::MAX_CALLS;

fn call(at: usize) -> Arc<str> {
    at.to_string().into()
}

#[test]
fn of_more_calls_than_are_told_apart_the_first_are_forgotten() {
    let mut traffic = Traffic::new("");
    let more = MAX_CALLS.get() + 1;
    for at in 0..more {
        traffic.called(&call(at), "view", &json!({"file_path": "a"}));
    }
    let mut answered = |at| traffic.answered(&call(at), "", &Value::Null, false).len();
    assert_eq!([answered(0), answered(1), answered(more - 1)], [0, 1, 1]);
}

#[test]
fn what_is_kept_of_arguments_is_bounded_and_counted_when_it_goes() {
    let mut traffic = Traffic::new("");
    let todos = json!({"todos": [{"content": "x".repeat(MAX_KEPT / 4)}]});
    for at in 0..10 {
        traffic.called(&call(at), "TodoWrite", &todos);
        assert!(traffic.bytes <= MAX_KEPT);
    }
    // Said again, it is kept once.
    traffic.called(&call(9), "TodoWrite", &todos);
    let mut answered = |at| traffic.answered(&call(at), "", &Value::Null, false).len();
    assert_eq!([answered(0), answered(8), answered(9)], [0, 1, 1]);
    for at in 0..10 {
        answered(at);
    }
    assert_eq!((traffic.bytes, traffic.calls.len()), (0, 0));

    // The last one is kept, however long it is.
    let todos = json!({"todos": [{"content": "x".repeat(2 * MAX_KEPT)}]});
    traffic.called(&call(0), "TodoWrite", &todos);
    traffic.called(&call(1), "TodoWrite", &todos);
    assert_eq!(traffic.calls.len(), 1);
}

#[test]
fn little_is_kept_of_what_is_asked_of_a_sub_agent() {
    let mut traffic = Traffic::new("");
    let prompt = "ü".repeat(MAX_KEPT);
    let workers = vec![json!({"prompt": prompt.clone()}); 3];
    traffic.called(&call(0), "mesnada_spawn_agent", &json!({"prompt": prompt}));
    traffic.called(&call(1), "mesnada_swarm", &json!({"workers": workers}));
    traffic.called(
        &call(2),
        "mesnada_get_task",
        &json!({"task_id": "x".repeat(MAX_KEPT)}),
    );
    traffic.called(&call(3), "bash", &json!({"command": prompt}));
    assert_eq!(traffic.calls.len(), 3);
    assert!(traffic.bytes < 20 * 1024, "{}", traffic.bytes);
}

#[test]
fn of_many_tasks_in_one_answer_as_many_are_told_as_could_be_shown() {
    let ids: Vec<_> = (0..5000).map(|at| format!("task-{at}")).collect();
    let tasks: Vec<_> = ids
        .iter()
        .map(|id| json!({"id": id, "status": "running"}))
        .collect();
    let calls = [
        (
            "mesnada_swarm",
            json!({}),
            json!({"worker_ids": ids}).to_string(),
        ),
        (
            "mesnada_list_tasks",
            json!({}),
            json!({"tasks": tasks}).to_string(),
        ),
        (
            "mesnada_await",
            json!({"task_ids": ids}),
            "Await registered".to_owned(),
        ),
    ];
    for (tool, input, output) in calls {
        let updates = super::updates(tool, &input, &output);
        assert_eq!(updates.len(), 200, "{tool}");
    }
}
