//! Tools of the page.

use super::*;

#[tokio::test(start_paused = true)]
async fn r94_r95_a_call_of_the_page_ends_the_run_and_its_result_goes_on_with_the_turn() {
    let (runtime, prompts) = asking(Policy::default());
    let first = ask(&runtime, "page").await;
    assert_eq!(
        types(&first)[3..],
        [
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(first[3]["toolCallName"], "chart");
    let [call] = &pending(&first)[..] else {
        panic!()
    };
    assert_eq!(*call, first[3]["toolCallId"]);

    let history = json!([user("u1", "page"), tool(call, "drawn")]);
    let body = posts("r2", history, &json!({}));
    let second = collect(start(&runtime, &body).await.unwrap()).await;
    assert_eq!(
        types(&second),
        [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ],
        "nothing is echoed"
    );
    assert_eq!(second[0]["runId"], "r2");
    let expected = ToolAnswer::Answered {
        content: Content::Text("drawn".into()),
        failed: false,
    };
    assert_eq!(said(&second), format!("{expected:?};"));
    assert_eq!(*prompts.lock().unwrap(), ["page"], "no new prompt");

    // The transcript is as a client has it.
    let shown = hydrated(&runtime).await;
    let roles: Vec<_> = messages(&shown)
        .iter()
        .map(|message| message["role"].clone())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
}

#[tokio::test(start_paused = true)]
async fn report_r24_several_calls_end_one_run_in_order_and_all_have_to_be_answered() {
    let (runtime, _) = asking(Policy::default());
    let first = ask(&runtime, "pages").await;
    let calls = pending(&first);
    assert_eq!(calls.len(), 2);
    let half = posts(
        "r2",
        json!([user("u1", "pages"), tool(&calls[1], "b")]),
        &json!({}),
    );
    let missing = vec![calls[0].as_str().unwrap().to_owned()];
    assert_eq!(
        refused(&runtime, &half).await,
        StartError::Unanswered(missing)
    );
    let history = json!([
        user("u1", "pages"),
        tool(&calls[1], "b"),
        tool(&calls[0], "a")
    ]);
    let body = posts("r3", history, &json!({}));
    let second = collect(start(&runtime, &body).await.unwrap()).await;
    let text = said(&second);
    assert!(
        text.find("\"a\"").unwrap() < text.find("\"b\"").unwrap(),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn report_r26_a_page_tool_is_passed_over_by_what_is_typed_which_is_asked_next() {
    let (runtime, prompts) = asking(Policy::default());
    let first = ask(&runtime, "page").await;
    assert_eq!(pending(&first).len(), 1);
    let body = posts(
        "r2",
        json!([user("u1", "page"), user("u2", "hello")]),
        &json!({}),
    );
    let second = collect(start(&runtime, &body).await.unwrap()).await;
    let passed_over = ToolAnswer::Unanswered(Unanswered::PassedOver);
    assert_eq!(said(&second), format!("{passed_over:?};said hello"));
    assert_eq!(
        types(&second)
            .iter()
            .filter(|it| **it == "RUN_STARTED")
            .count(),
        1
    );
    assert_eq!(*prompts.lock().unwrap(), ["page", "hello"]);
    let shown = hydrated(&runtime).await;
    let messages = messages(&shown);
    let roles: Vec<_> = messages.iter().map(|it| it["role"].clone()).collect();
    assert_eq!(
        roles,
        ["user", "assistant", "assistant", "user", "assistant"],
        "no made-up result"
    );
}

#[tokio::test(start_paused = true)]
async fn a_page_tool_that_nobody_answers_has_a_failed_result() {
    let (runtime, _) = asking(Policy::default());
    let first = ask(&runtime, "page").await;
    assert_eq!(pending(&first).len(), 1);
    tokio::time::sleep(Policy::default().client_tool_timeout * 2).await;
    let shown = hydrated(&runtime).await;
    let messages = messages(&shown);
    let result = messages.iter().find(|it| it["role"] == "tool").unwrap();
    assert_eq!(result["metadata"]["pando.isError"], true);
    let text = messages.last().unwrap()["content"].as_str().unwrap();
    assert!(text.contains("TimedOut"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn report_r35_two_tools_of_one_name_are_refused() {
    let (runtime, _) = asking(Policy::default());
    let tool = json!({"name": "shell", "description": ""});
    let body = posts(
        "r1",
        json!([user("u1", "page")]),
        &json!({"tools": [tool, tool]}),
    );
    assert_eq!(
        refused(&runtime, &body).await,
        StartError::Collision("shell".into())
    );
}

#[tokio::test(start_paused = true)]
async fn report_r25_a_call_of_the_agents_own_has_its_result_before_the_page_goes_on() {
    let (runtime, _) = asking(Policy::default());
    let first = ask(&runtime, "page and command").await;
    let results: Vec<_> = first
        .iter()
        .filter(|it| it["type"] == "TOOL_CALL_RESULT")
        .collect();
    let called = |name: &str| {
        let start = first.iter().find(|it| it["toolCallName"] == name);
        start.unwrap()["toolCallId"].clone()
    };
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["toolCallId"], called("tool_command"));
    assert_eq!(pending(&first), [called("chart")]);
}

#[tokio::test(start_paused = true)]
async fn report_r38_a_client_from_before_1_0_is_told_no_success_of_a_run_that_waits_for_its_page() {
    let (runtime, _) = asking(Policy::default());
    let version = json!({"protocolVersion": null});
    let body = posts("r1", json!([user("u1", "page")]), &version);
    let first = events(&read(start(&runtime, &body).await.unwrap()).await);
    let mut grammar = grammar::Grammar::legacy();
    for event in &first {
        let event = serde_json::from_value(event.clone()).unwrap();
        grammar.step(&event).unwrap();
    }
    grammar.finish().unwrap();
    assert_eq!(last(&first)["type"], "RUN_FINISHED");
    assert_eq!(last(&first).get("outcome"), None);
    let call = first.iter().find(|it| it["toolCallName"] == "chart");
    let call = &call.unwrap()["toolCallId"];
    let history = json!([user("u1", "page"), tool(call, "drawn")]);
    let body = posts("r2", history, &version);
    let second = collect(start(&runtime, &body).await.unwrap()).await;
    assert!(said(&second).contains("drawn"), "{}", said(&second));
}
