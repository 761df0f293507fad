//! How a run is wound up, and what is told that no run says.

use serde_json::{Value, json};

use super::*;
use crate::{
    deps::Code,
    engine::tests::stage::{self, Op, Stage},
};

fn failed() -> Ending {
    Ending::Failed {
        code: Code::AgentError,
        message: "No more credits.".into(),
    }
}

fn event<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = events.iter().rfind(|event| event["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {events:?}"))
}

async fn ended(stage: Stage, ending: Ending) -> Vec<Value> {
    stage.writer.finish(ending);
    let body = stage::whole(&stage.log, Peer::Current).await;
    let events = stage::events(&body).into_iter();
    events.map(|it| serde_json::to_value(it).unwrap()).collect()
}

fn in_the_middle() -> Stage {
    let mut stage = Stage::new();
    for op in [Op::Open, Op::Arguments(0, "{".into())] {
        stage.play(op);
    }
    stage
}

#[tokio::test]
async fn a_failure_is_explained_once_nothing_is_open_and_before_the_run_ends() {
    let mut stage = in_the_middle();
    let last = stage.writer.wind_up(&failed(), true);
    let roles: Vec<_> = last
        .iter()
        .map(|it| serde_json::to_value(it).unwrap()["role"].clone())
        .collect();
    assert_eq!(roles, ["assistant", "tool", "assistant"]);
    assert!(ends::is_explanation(&last[2], &Namespace::default()));
    assert!(
        !last[..2]
            .iter()
            .any(|it| ends::is_explanation(it, &Namespace::default()))
    );
    let events = ended(stage, failed()).await;
    let kinds: Vec<_> = events[4..].iter().map(|it| &it["type"]).collect();
    assert_eq!(
        kinds,
        [
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_ERROR"
        ]
    );
    assert_eq!(
        event(&events, "TEXT_MESSAGE_CONTENT")["delta"],
        "The run failed: No more credits."
    );
    let start = event(&events, "TEXT_MESSAGE_START");
    assert_eq!(start["metadata"], json!({"pando.isError": true}));
    assert_eq!(event(&events, "RUN_ERROR")["message"], "No more credits.");
}

#[tokio::test]
async fn nothing_is_explained_where_that_is_not_wanted_or_nothing_has_failed() {
    let done = Ending::Done { stop_reason: None };
    for (ending, explains) in [(failed(), false), (Ending::Cancelled, true), (done, true)] {
        let mut stage = in_the_middle();
        assert_eq!(stage.writer.wind_up(&ending, explains).len(), 2);
        let events = ended(stage, ending).await;
        assert!(events.iter().all(|it| it["type"] != "TEXT_MESSAGE_START"));
    }
}

#[tokio::test]
async fn a_result_of_an_earlier_run_is_told_as_it_is_kept_and_is_no_message_of_this_run() {
    let mut stage = Stage::new();
    let kept = json!({
        "id": "t", "role": "tool", "toolCallId": "c", "content": "stopped",
        "metadata": {"pando.isError": true},
    });
    stage.writer.missed(serde_json::from_value(kept).unwrap());
    stage.play(Op::Text("on".into()));
    let cancelled = Ending::Cancelled;
    assert_eq!(stage.writer.wind_up(&cancelled, true).len(), 1);
    let events = ended(stage, cancelled).await;
    let mut told = event(&events, "TOOL_CALL_RESULT").clone();
    told.as_object_mut().unwrap().remove("timestamp");
    assert_eq!(
        told,
        json!({
            "type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "role": "tool",
            "content": "stopped", "metadata": {"pando.isError": true},
        })
    );
}
