//! Turns that wait for the page or for a person, on paused time.

use std::sync::{Arc, Mutex};

use super::{
    lasting::{hydrated, key},
    *,
};
use crate::deps::{
    Denial, Form, OptionKind, Permission, PermissionOption, PermissionRequest, Question, Reply,
    ToolAnswer, ToolCall, Unanswered,
};

/// The messages that somebody is shown who looks.
fn messages(events: &[Value]) -> Vec<Value> {
    let shown = events
        .iter()
        .find(|it| it["type"] == "MESSAGES_SNAPSHOT")
        .unwrap();
    shown["messages"].as_array().unwrap().clone()
}

/// A request for permission to write, with the agent's usual options.
fn request(call: Option<&str>) -> PermissionRequest {
    let option = |id: &str, kind| PermissionOption {
        id: id.into(),
        name: id.into(),
        kind,
    };
    PermissionRequest {
        call: call.map(Into::into),
        tool: "write".into(),
        action: "edit".into(),
        title: "a.txt".into(),
        paths: vec!["/work/a.txt".into()],
        params: Some(json!({"path": "a.txt"})),
        options: vec![
            option("always", OptionKind::AllowAlways),
            option("once", OptionKind::AllowOnce),
            option("no", OptionKind::RejectOnce),
        ],
        details: crate::protocol::JsonObject::new(),
    }
}

fn call(name: &str) -> ToolCall {
    ToolCall {
        call: format!("core-{name}").as_str().into(),
        name: name.into(),
        arguments: format!("{{\"of\":\"{name}\"}}"),
    }
}

/// Says what came of something, as text that a test can look for.
async fn say(io: &TurnIo, what: impl std::fmt::Debug) {
    io.emit(text(&format!("{what:?};"))).await.unwrap();
}

async fn writes(io: &TurnIo, id: &str) -> Permission {
    io.emit(opened(id)).await.unwrap();
    let closed = CoreEvent::ToolCallClosed { call: id.into() };
    io.emit(closed).await.unwrap();
    let permission = io.request_permission(request(Some(id))).await;
    io.emit(result(id)).await.unwrap();
    permission
}

/// A runtime whose agent waits for what the prompt names, and says what came of it.
fn asking(policy: Policy) -> (Runtime, Arc<Mutex<Vec<String>>>) {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&prompts);
    let runtime = runtime(policy, move |request, io| {
        let prompt = request.prompt.text();
        heard.lock().unwrap().push(prompt.clone());
        async move {
            io.bind(SessionRef::new("s")).await.unwrap();
            match prompt.as_str() {
                "page" => say(&io, io.call_frontend_tool(call("chart")).await).await,
                "pages" => {
                    let (one, other) = tokio::join!(
                        io.call_frontend_tool(call("chart")),
                        io.call_frontend_tool(call("open")),
                    );
                    say(&io, (one, other)).await;
                }
                "write" => say(&io, writes(&io, "w").await).await,
                "write twice" => {
                    let both = tokio::join!(writes(&io, "w1"), writes(&io, "w2"));
                    say(&io, both).await;
                }
                "write, then write" => {
                    say(&io, writes(&io, "w1").await).await;
                    say(&io, writes(&io, "w2").await).await;
                }
                "write and page" => {
                    let both = tokio::join!(writes(&io, "w"), io.call_frontend_tool(call("chart")));
                    say(&io, both).await;
                }
                "ask" => {
                    let question = Question {
                        call: None,
                        message: "Which?".into(),
                        form: Form::Choices(crate::protocol::JsonObject::new()),
                    };
                    say(&io, io.ask_user(question).await).await;
                }
                other => io.emit(text(&format!("said {other}"))).await.unwrap(),
            }
            Ok(StopReason::EndTurn)
        }
    });
    (runtime, prompts)
}

const TOOLS: [&str; 2] = ["chart", "open"];

/// What a page posts that has those tools.
fn posts(run: &str, messages: impl Into<Value>, more: &Value) -> Value {
    let tools = TOOLS.map(|name| json!({"name": name, "description": "", "parameters": {}}));
    let messages: Value = messages.into();
    let mut body = json!({"runId": run, "messages": messages, "tools": tools});
    let members = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    body
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "content": text})
}

fn tool(call: &Value, text: &str) -> Value {
    let id = format!("t-{}", call.as_str().unwrap());
    json!({"id": id, "role": "tool", "toolCallId": call, "content": text})
}

async fn ask(runtime: &Runtime, prompt: &str) -> Vec<Value> {
    let body = posts("r1", json!([user("u1", prompt)]), &json!({}));
    collect(start(runtime, &body).await.unwrap()).await
}

/// The ids of the interrupts that a run ended with.
fn interrupts(events: &[Value]) -> Vec<Value> {
    let outcome = &last(events)["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{outcome}");
    let interrupts = outcome["interrupts"].as_array().unwrap().iter();
    interrupts.map(|it| it["id"].clone()).collect()
}

fn pending(events: &[Value]) -> Vec<Value> {
    let outcome = &last(events)["outcome"];
    assert_eq!(outcome["type"], "success", "{outcome}");
    outcome["pendingToolCallIds"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn resolved(id: &Value, payload: impl Into<Value>) -> Value {
    let payload: Value = payload.into();
    json!({"interruptId": id, "status": "resolved", "payload": payload})
}

/// All text of a stream.
fn said(events: &[Value]) -> String {
    let deltas = events
        .iter()
        .filter(|it| it["type"] == "TEXT_MESSAGE_CONTENT");
    deltas.map(|it| it["delta"].as_str().unwrap()).collect()
}

async fn resume(
    runtime: &Runtime,
    run: &str,
    entries: impl Into<Value>,
) -> Result<Vec<Value>, StartError> {
    let entries: Value = entries.into();
    let body = posts(run, json!([]), &json!({"resume": entries}));
    Ok(collect(start(runtime, &body).await?).await)
}

async fn refused(runtime: &Runtime, body: &Value) -> StartError {
    start(runtime, body).await.map(drop).unwrap_err()
}

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
async fn the_same_answer_again_is_told_what_came_of_it_and_another_one_is_refused() {
    let (runtime, prompts) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write").await);
    let yes = json!([resolved(&ids[0], json!({"approved": true}))]);
    let once = resume(&runtime, "r1", yes.clone()).await.unwrap();
    let again = resume(&runtime, "r1", yes.clone()).await.unwrap();
    assert_eq!(last(&again)["outcome"], last(&once)["outcome"]);
    let elsewhere = resume(&runtime, "r9", yes).await.unwrap();
    assert_eq!(last(&elsewhere)["outcome"], json!({"type": "success"}));
    let no = json!([resolved(&ids[0], json!({"approved": false}))]);
    let other = resume(&runtime, "r1", no).await.unwrap_err();
    assert_eq!(
        other,
        StartError::Answered(vec![ids[0].as_str().unwrap().into()])
    );
    assert_eq!(prompts.lock().unwrap().len(), 1);
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
async fn r96_r99_silence_denies_and_the_turn_goes_on_in_a_run_of_its_own() {
    let (runtime, _) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write, then write").await);
    tokio::time::sleep(Policy::default().prompts.timeout * 2).await;
    let shown = hydrated(&runtime).await;
    assert_eq!(last(&shown)["outcome"], json!({"type": "success"}));
    let messages = messages(&shown);
    let text = messages.last().unwrap()["content"].as_str().unwrap();
    // The second request finds nobody who could be asked.
    let denied = |why| Permission::Denied(Some("no".into()), Denial::Unanswered(why));
    let wanted = format!("{:?};", denied(Unanswered::Nobody));
    assert!(text.ends_with(&wanted), "{text}");
    assert!(messages.iter().any(|it| {
        let wanted = format!("{:?};", denied(Unanswered::TimedOut));
        it["content"]
            .as_str()
            .is_some_and(|it| it.contains(&wanted))
    }));

    // An approval that comes too late approves nothing, and its client is freed.
    let late = resume(&runtime, "r1", json!([resolved(&ids[0], json!(true))]))
        .await
        .unwrap();
    let notice = late.iter().find(|it| it["type"] == "CUSTOM").unwrap();
    assert_eq!(notice["name"], "pando.interrupt_expired");
    assert_eq!(last(&late)["outcome"], json!({"type": "success"}));
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
async fn a_detach_denies_nothing_and_whoever_looks_is_shown_what_is_open() {
    let (runtime, _) = asking(Policy::default());
    // The reader has gone with the end of the run, and linger is zero.
    let first = ask(&runtime, "write").await;
    let ids = interrupts(&first);
    tokio::time::sleep(Duration::from_mins(5)).await;
    for _ in 0..2 {
        let shown = hydrated(&runtime).await;
        assert_eq!(last(&shown)["outcome"], last(&first)["outcome"]);
    }
    let view = runtime.thread(&key("t")).await.unwrap();
    assert_eq!((view.live_run, view.interrupts.len()), (None, 1));
    let again = ask(&runtime, "write").await;
    assert_eq!(interrupts(&again), ids, "the same run is told again");
    let yes = resume(&runtime, "r2", json!([resolved(&ids[0], json!(true))]))
        .await
        .unwrap();
    assert_eq!(
        said(&yes),
        format!("{:?};", Permission::Allowed("once".into()))
    );
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
async fn report_r43_what_nobody_asked_cannot_be_answered() {
    let (runtime, prompts) = asking(Policy::default());
    let forged = json!([resolved(&json!("ask_forged"), json!({"approved": true}))]);
    let nowhere = resume(&runtime, "r1", forged.clone()).await.unwrap_err();
    assert_eq!(nowhere, StartError::UnknownThread);
    let ids = interrupts(&ask(&runtime, "write").await);
    let still = resume(&runtime, "r2", forged).await.unwrap_err();
    assert_eq!(
        still,
        StartError::Unanswered(vec![ids[0].as_str().unwrap().into()])
    );
    // Neither is another principal's, whose thread of that name is another thread.
    let stranger = Principal::new("eve").unwrap();
    let entries = json!([resolved(&ids[0], json!({"approved": true}))]);
    let body = input(&posts("r2", json!([]), &json!({"resume": entries})));
    let foreign = runtime.start(&name(), &stranger, body).await.map(drop);
    assert_eq!(foreign.unwrap_err(), StartError::UnknownThread);
    // A call that only a client's history has is a call of nobody.
    let history = json!([
        user("u1", "write"),
        {"id": "a", "role": "assistant", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "write", "arguments": "{}"}}]},
    ]);
    let body = posts("r3", history, &json!({"threadId": "other"}));
    assert_eq!(refused(&runtime, &body).await, StartError::NothingToDo);
    assert_eq!(prompts.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_turn_that_waits_and_frees_the_thread() {
    let (runtime, _) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write").await);
    runtime.cancel(&key("t"), None).await.unwrap();
    let shown = hydrated(&runtime).await;
    let result = messages(&shown);
    assert!(
        result.iter().any(|it| it["role"] == "tool"),
        "the call is answered"
    );
    let late = resume(&runtime, "r2", json!([resolved(&ids[0], json!(true))]))
        .await
        .unwrap();
    assert_eq!(last(&late)["outcome"], json!({"type": "success"}));
    let body = posts("r3", json!([user("u2", "hello")]), &json!({}));
    let next = collect(start(&runtime, &body).await.unwrap()).await;
    assert_eq!(said(&next), "said hello");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_does_not_hold_up_the_end_of_the_daemon() {
    let (runtime, _) = asking(Policy::default());
    interrupts(&ask(&runtime, "write").await);
    let grace = Duration::from_hours(1);
    tokio::time::timeout(Duration::from_secs(30), runtime.drain(grace))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn r93_what_is_switched_off_is_not_asked() {
    let mut policy = Policy {
        frontend_tools: false,
        ..Policy::default()
    };
    policy.prompts.questions = false;
    policy.prompts.approval = Approval::Denied;
    for (prompt, wanted) in [
        (
            "page",
            format!("{:?};", ToolAnswer::Unanswered(Unanswered::Nobody)),
        ),
        (
            "ask",
            format!("{:?};", Reply::Unanswered(Unanswered::Nobody)),
        ),
        (
            "write",
            format!(
                "{:?};",
                Permission::Denied(Some("no".into()), Denial::Unanswered(Unanswered::Nobody))
            ),
        ),
    ] {
        let (runtime, _) = asking(policy.clone());
        let events = ask(&runtime, prompt).await;
        assert_eq!(said(&events), wanted);
        assert_eq!(last(&events)["outcome"], json!({"type": "success"}));
    }
    policy.prompts.approval = Approval::Granted;
    let (runtime, _) = asking(policy);
    let events = ask(&runtime, "write").await;
    assert_eq!(
        said(&events),
        format!("{:?};", Permission::Allowed("once".into()))
    );
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
async fn two_clients_that_answer_at_once_are_one_answer() {
    let (runtime, prompts) = asking(Policy::default());
    let ids = interrupts(&ask(&runtime, "write").await);
    let body = |payload: Value| {
        posts(
            "r2",
            json!([]),
            &json!({"resume": [resolved(&ids[0], payload)]}),
        )
    };
    let (yes, no) = (body(json!(true)), body(json!(false)));
    let (first, same, other) = tokio::join!(
        start(&runtime, &yes),
        start(&runtime, &yes),
        start(&runtime, &no)
    );
    let first = collect(first.unwrap()).await;
    let same = collect(same.unwrap()).await;
    assert_eq!(said(&first), said(&same));
    assert!(matches!(other, Err(StartError::Answered(_))));
    assert_eq!(prompts.lock().unwrap().len(), 1);
}
