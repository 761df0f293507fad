//! Answers that come twice, too late, from nobody, or never.

use super::*;

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

#[tokio::test(start_paused = true)]
async fn what_an_agent_says_that_gives_up_waiting_is_kept_and_its_call_is_closed() {
    let (runtime, _) = asking(Policy::default());
    let first = ask(&runtime, "give up").await;
    let calls = pending(&first);
    tokio::time::sleep(Duration::from_mins(1)).await;
    let shown = hydrated(&runtime).await;
    assert_eq!(last(&shown)["outcome"], json!({"type": "success"}));
    let messages = messages(&shown);
    let [.., result, text] = &messages[..] else {
        panic!("{messages:?}")
    };
    assert_eq!(text["content"], "true;");
    assert_eq!(result["toolCallId"], calls[0]);
    assert_eq!(result["metadata"]["pando.isError"], true);
}

#[tokio::test(start_paused = true)]
async fn a_run_in_the_line_of_a_thread_is_told_what_the_thread_waits_for() {
    let (runtime, _) = asking(Policy {
        busy: Busy::Queue,
        ..Policy::default()
    });
    let body = posts("r1", json!([user("u1", "write")]), &json!({}));
    let first = start(&runtime, &body).await.unwrap();
    let body = posts("r2", json!([user("u2", "hello")]), &json!({}));
    let second = start(&runtime, &body).await.unwrap();
    let ids = interrupts(&collect(first).await);
    let second = collect(second).await;
    assert_eq!(last(&second)["code"], "not_started");
    let told = last(&second)["message"].as_str().unwrap();
    assert!(told.contains(ids[0].as_str().unwrap()), "{told}");
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_prompt_has_its_own_time() {
    for (prompt, minutes) in [("page", 60), ("write", 20), ("write and page", 20)] {
        let mut policy = Policy {
            client_tool_timeout: Duration::from_hours(1),
            ..Policy::default()
        };
        policy.prompts.timeout = Duration::from_mins(20);
        let (runtime, _) = asking(policy);
        ask(&runtime, prompt).await;
        let is_open = async || {
            let view = runtime.thread(&key("t")).await.unwrap();
            view.interrupts.len() + view.pending.len() == 1
        };
        tokio::time::sleep(Duration::from_mins(minutes - 1)).await;
        assert!(is_open().await, "{prompt}");
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert!(!is_open().await, "{prompt}");
    }
}
