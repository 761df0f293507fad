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
