//! Permissions and questions.

use super::*;

#[tokio::test(start_paused = true)]
async fn r98_a_permission_is_an_interrupt_of_the_blocked_call_and_its_answer_is_the_agents() {
    for (payload, wanted) in [
        (
            json!({"approved": true}),
            Permission::Allowed("once".into()),
        ),
        (
            json!({"optionId": "always"}),
            Permission::Allowed("always".into()),
        ),
        (
            json!("{\"approved\":true}"),
            Permission::Allowed("once".into()),
        ),
        (
            json!(false),
            Permission::Denied(Some("no".into()), Denial::Said),
        ),
        (
            json!({"approved": false}),
            Permission::Denied(Some("no".into()), Denial::Said),
        ),
        (
            json!({"optionId": "no"}),
            Permission::Denied(Some("no".into()), Denial::Said),
        ),
        (
            json!({}),
            Permission::Denied(Some("no".into()), Denial::Said),
        ),
    ] {
        let (runtime, _) = asking(Policy::default());
        let first = ask(&runtime, "write").await;
        let interrupt = &last(&first)["outcome"]["interrupts"][0];
        let start = first
            .iter()
            .find(|it| it["type"] == "TOOL_CALL_START")
            .unwrap();
        assert_eq!(interrupt["toolCallId"], start["toolCallId"]);
        assert_eq!(interrupt["reason"], "pando:permission");
        assert_eq!(interrupt.get("expiresAt"), None);
        assert_eq!(
            interrupt["metadata"]["pando"]["options"][1]["optionId"],
            "once"
        );

        // CopilotKit answers with the run's own id.
        let entries = json!([resolved(&interrupt["id"], payload.clone())]);
        let second = resume(&runtime, "r1", entries).await.unwrap();
        assert_eq!(
            types(&second)[..3],
            ["RUN_STARTED", "STATE_SNAPSHOT", "TOOL_CALL_RESULT"]
        );
        assert_eq!(second[2]["toolCallId"], start["toolCallId"]);
        assert_eq!(said(&second), format!("{wanted:?};"), "{payload}");
    }
}

#[tokio::test(start_paused = true)]
async fn report_r40_two_permissions_end_one_run_and_a_part_of_the_answers_changes_nothing() {
    let (runtime, _) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write twice").await);
    assert_eq!(ids.len(), 2);
    let yes = |id: &Value| resolved(id, json!({"approved": true}));
    let missing = vec![ids[1].as_str().unwrap().to_owned()];
    let half = resume(&runtime, "r2", json!([yes(&ids[0])])).await;
    assert_eq!(half.unwrap_err(), StartError::Unanswered(missing.clone()));
    assert_eq!(interrupts(&hydrated(&runtime).await), ids, "both are open");
    let no = json!({"interruptId": ids[0], "status": "cancelled"});
    let both = resume(&runtime, "r2", json!([yes(&ids[1]), no]))
        .await
        .unwrap();
    let given_up = Denial::Unanswered(Unanswered::GivenUp);
    let wanted = (
        Permission::Denied(Some("no".into()), given_up),
        Permission::Allowed("once".into()),
    );
    assert_eq!(said(&both), format!("{wanted:?};"));
    let results = both.iter().filter(|it| it["type"] == "TOOL_CALL_RESULT");
    assert_eq!(results.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_open_interrupt_is_not_passed_over_but_what_is_typed_beside_its_answer_is_asked() {
    let (runtime, prompts) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write").await);
    let typed = json!([user("u1", "write"), user("u2", "hello")]);
    let alone = refused(&runtime, &posts("r2", typed.clone(), &json!({}))).await;
    assert_eq!(
        alone,
        StartError::Unanswered(vec![ids[0].as_str().unwrap().into()])
    );
    let entries = json!([resolved(&ids[0], json!({"approved": true}))]);
    let body = posts("r3", typed, &json!({"resume": entries}));
    let both = collect(start(&runtime, &body).await.unwrap()).await;
    assert!(said(&both).ends_with("said hello"), "{}", said(&both));
    assert_eq!(*prompts.lock().unwrap(), ["write", "hello"]);
    // Both answered in turn: the thread is free.
    let body = posts("r4", json!([user("u3", "more")]), &json!({}));
    let next = collect(start(&runtime, &body).await.unwrap()).await;
    assert_eq!(said(&next), "said more");
}

#[tokio::test(start_paused = true)]
async fn report_r41_the_older_form_of_an_answer_counts_where_one_prompt_is_open() {
    let (runtime, _) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write").await);
    let legacy = |answer: Value| {
        let props = json!({"command": {"resume": answer}});
        posts(
            "r2",
            json!([user("u1", "write")]),
            &json!({"forwardedProps": props}),
        )
    };
    // A `null` says nothing (R42).
    let nothing = refused(&runtime, &legacy(Value::Null)).await;
    assert_eq!(
        nothing,
        StartError::Unanswered(vec![ids[0].as_str().unwrap().into()])
    );
    let events = collect(start(&runtime, &legacy(json!(true))).await.unwrap()).await;
    assert_eq!(
        said(&events),
        format!("{:?};", Permission::Allowed("once".into()))
    );

    let (runtime, _) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write twice").await);
    let two = refused(&runtime, &legacy(json!(true))).await;
    let ids = ids
        .iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(two, StartError::Unanswered(ids), "it says not which of two");
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_before_the_page_is_called() {
    let (runtime, _) = asking(Policy::default());
    let first = ask(&runtime, "write and page").await;
    let ids = interrupts(&first);
    assert_eq!(ids.len(), 1);
    let starts = first.iter().filter(|it| it["type"] == "TOOL_CALL_START");
    assert_eq!(starts.count(), 1, "the page is not called yet");
    let second = resume(&runtime, "r2", json!([resolved(&ids[0], json!(true))]))
        .await
        .unwrap();
    let calls = pending(&second);
    assert_eq!(calls.len(), 1);
    let body = posts(
        "r3",
        json!([user("u1", "write and page"), tool(&calls[0], "x")]),
        &json!({}),
    );
    let third = collect(start(&runtime, &body).await.unwrap()).await;
    assert!(said(&third).contains("\"x\""), "{}", said(&third));
}

#[tokio::test(start_paused = true)]
async fn r98_a_page_that_declares_the_prompt_is_called_and_only_its_yes_is_one() {
    for (answer, allowed) in [
        ("{\"approved\":true}", true),
        ("approve", true),
        ("", false),
        ("sure", false),
        ("{\"approved\":\"true\"}", false),
    ] {
        let (runtime, _) = asking(Policy::default());
        let tools = json!([{"name": "pando_permission_request", "description": ""}]);
        let body = posts("r1", json!([user("u1", "write")]), &json!({"tools": tools}));
        let first = collect(start(&runtime, &body).await.unwrap()).await;
        let pending = pending(&first);
        assert_eq!(pending.len(), 2, "the blocked call and the prompt");
        let names: Vec<_> = first
            .iter()
            .filter_map(|it| it["toolCallName"].as_str())
            .collect();
        assert_eq!(names, ["tool_w", "pando_permission_request"]);
        let arguments = first
            .iter()
            .rfind(|it| it["type"] == "TOOL_CALL_ARGS")
            .unwrap();
        let arguments: Value = serde_json::from_str(arguments["delta"].as_str().unwrap()).unwrap();
        assert_eq!(arguments["toolCallId"], pending[0]);
        let body = posts(
            "r2",
            json!([user("u1", "write"), tool(&pending[1], answer)]),
            &json!({}),
        );
        let second = collect(start(&runtime, &body).await.unwrap()).await;
        assert_eq!(said(&second).starts_with("Allowed"), allowed, "{answer}");
        let results: Vec<_> = second
            .iter()
            .filter(|it| it["type"] == "TOOL_CALL_RESULT")
            .collect();
        assert_eq!(results.len(), 1, "the real result of the blocked call");
        assert_eq!(results[0]["toolCallId"], pending[0]);
    }
}

#[tokio::test(start_paused = true)]
async fn r100_a_question_is_an_interrupt_and_its_answer_is_the_clients() {
    for (payload, wanted) in [
        (
            json!({"answers": [{"questionId": "q1", "selected": ["a"]}]}),
            true,
        ),
        (json!("the first"), true),
        (json!({"cancelled": true}), false),
        (json!("  "), false),
    ] {
        let (runtime, _) = asking(Policy::default());
        let ids = interrupts(&ask(&runtime, "ask").await);
        let events = resume(&runtime, "r2", json!([resolved(&ids[0], payload)]))
            .await
            .unwrap();
        assert_eq!(said(&events).starts_with("Answered"), wanted);
    }
}
