//! Helpers of an agent that want something of a person.

use super::*;

fn own(events: &[Value]) -> Vec<(&str, &Value)> {
    let own = events.iter().filter(|it| it["subagentRunId"].is_string());
    own.map(|it| (it["type"].as_str().unwrap(), &it["subagentRunId"]))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_helper_that_waits_is_suspended_and_goes_on_under_its_id() {
    let (runtime, _) = asking(Policy::default());
    let first = ask(&runtime, "delegate").await;
    let told = own(&first);
    let run = told[0].1;
    assert_eq!(
        told.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        [
            "SUBAGENT_STARTED",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "SUBAGENT_FINISHED"
        ]
    );
    let interrupt = &last(&first)["outcome"]["interrupts"][0];
    assert_eq!(interrupt["subagentRunId"], *run);
    let suspended = first.iter().find(|it| it["type"] == "SUBAGENT_FINISHED");
    assert_eq!(
        suspended.unwrap()["outcome"],
        json!({"type": "suspended", "interruptIds": [interrupt["id"]]})
    );

    let ids = interrupts(&first);
    let yes = json!([resolved(&ids[0], json!({"approved": true}))]);
    let second = resume(&runtime, "r1", yes).await.unwrap();
    let told = own(&second);
    assert!(told.iter().all(|(_, id)| *id == run), "{told:?}");
    assert_eq!(
        told.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        ["SUBAGENT_STARTED", "TOOL_CALL_RESULT", "SUBAGENT_FINISHED"]
    );
    let state = last_state(&hydrated(&runtime).await);
    assert_eq!(
        state["subAgents"],
        json!([{"id": "helper", "status": "completed", "persona": "writer"}])
    );
}

#[tokio::test(start_paused = true)]
async fn a_helper_whose_agent_is_denied_and_stops_is_stopped_too() {
    let (runtime, _) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "delegate").await);
    let no = json!([resolved(&ids[0], json!({"approved": false}))]);
    let second = resume(&runtime, "r1", no).await.unwrap();
    let ended = second.iter().find(|it| it["type"] == "SUBAGENT_ERROR");
    assert_eq!(ended.unwrap()["code"], "cancelled");
    assert_eq!(
        last_state(&hydrated(&runtime).await)["subAgents"][0]["status"],
        "cancelled"
    );
}

/// What a helper has said is shown to who comes later, and told to no agent.
#[tokio::test(start_paused = true)]
async fn what_a_helper_says_is_kept_as_its_own() {
    let (runtime, _) = asking(Policy::default());
    let first = ask(&runtime, "delegate").await;
    let run = own(&first)[0].1;
    let shown = messages(&hydrated(&runtime).await);
    let said = shown.iter().find(|it| it["toolCalls"].is_array()).unwrap();
    assert_eq!(said["subagentRunId"], *run);
}

fn last_state(events: &[Value]) -> Value {
    let shown = events.iter().rfind(|it| it["type"] == "STATE_SNAPSHOT");
    shown.unwrap()["snapshot"].clone()
}
