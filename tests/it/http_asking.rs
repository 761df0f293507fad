//! Threads whose turn waits for the page or for a person: what is shown of them, and how the wait ends without an
//! answer.

use std::time::Duration;

use agui_serve::{
    cores::demo::Demo,
    deps::StopReason,
    engine::Busy,
    env::Env,
    store::{self, Store},
};
use futures_util::future::join_all;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{
    Ask, Daemon, Program, Puppet, Turn, answer, answering, input, interrupts, notices, pending,
    result, results, soon, text, with_tools, yes,
};

/// The calls of a transcript that have no result.
fn open_calls(messages: &Value) -> Vec<Value> {
    let messages = messages.as_array().unwrap();
    let calls = messages
        .iter()
        .filter_map(|message| message["toolCalls"].as_array())
        .flatten()
        .map(|call| call["id"].clone());
    let answered: Vec<_> = messages.iter().map(|it| it["toolCallId"].clone()).collect();
    calls.filter(|call| !answered.contains(call)).collect()
}

/// Waits until nothing is open on the thread, and gives what is kept of it.
async fn over(daemon: &Daemon, thread: &str) -> Value {
    let waiting = async {
        loop {
            let shown = daemon.thread(thread).await;
            if shown["interrupts"] == json!([])
                && shown.get("pendingToolCallIds").is_none()
                && shown.get("liveRun").is_none()
            {
                return shown;
            }
        }
    };
    soon("what is open to be given up", waiting).await
}

/// Also requirement 61: nobody is connected while the turn waits.
#[tokio::test]
async fn report_r23_what_is_open_has_the_same_ids_on_the_wire_in_the_thread_and_for_who_comes_back()
{
    let daemon = Daemon::start(Demo::new());
    let wire = daemon
        .events(&input("t1", "r1", "ask two permissions at once"))
        .await;
    let asked = interrupts(&wire);
    assert_eq!(asked.len(), 2);
    let thread = daemon.thread("t1").await;
    assert_eq!(thread["interrupts"], Value::from(asked.clone()));
    assert!(thread.get("liveRun").is_none(), "{thread}");
    let blocked: Vec<_> = asked.iter().map(|it| it["toolCallId"].clone()).collect();
    assert_eq!(open_calls(&thread["messages"]), blocked);
    let viewed = daemon.watch("t1").await.collect().await;
    let hydrated = daemon.events(&answering("t1", "r2", &json!([]))).await;
    for events in [&viewed, &hydrated] {
        assert_eq!(interrupts(events), asked);
        assert_eq!(events[2]["messages"], thread["messages"]);
    }
    let resume: Value = interrupts(&viewed).iter().map(yes).collect();
    let events = daemon.events(&answering("t1", "r3", &resume)).await;
    let written = blocked.iter().map(|call| (call.clone(), json!("written")));
    assert_eq!(results(&events), written.collect::<Vec<_>>());
    assert_eq!(daemon.turns(), 1);

    let ask = with_tools(
        input("t2", "r1", "call two page tools at once"),
        &["a", "b"],
    );
    let calls = pending(&daemon.events(&ask).await);
    let thread = daemon.thread("t2").await;
    assert_eq!(thread["pendingToolCallIds"], Value::from(calls.clone()));
    assert_eq!(open_calls(&thread["messages"]), calls);
    let viewed = daemon.watch("t2").await.collect().await;
    let hydrated = daemon.events(&answering("t2", "r2", &json!([]))).await;
    assert_eq!(
        [pending(&viewed), pending(&hydrated)],
        [calls.clone(), calls]
    );
    let mut answers = input("t2", "r3", "");
    answers["messages"] = pending(&viewed)
        .iter()
        .map(|it| result(it, "done"))
        .collect();
    let events = daemon.events(&answers).await;
    assert_eq!(text(&events), "a: done\nb: done\n");
    daemon.stop().await;
}

#[tokio::test]
async fn report_r54_a_cancel_denies_what_is_open_and_the_thread_is_free_at_once() {
    let daemon = Daemon::start(Demo::new());
    let asked = daemon.interrupted("t1", "ask permission").await;
    let cancelled = daemon.act("POST", "t1", "/cancel").await;
    assert_eq!(cancelled.head.status, 200);
    let thread = daemon.thread("t1").await;
    assert_eq!(thread["interrupts"], json!([]));
    assert_eq!(
        open_calls(&thread["messages"]),
        Vec::<Value>::new(),
        "{thread}"
    );
    assert!(!thread.to_string().contains("written"), "{thread}");
    let resume = json!([yes(&asked[0])]);
    let late = daemon.events(&answering("t1", "r2", &resume)).await;
    let told = ["pando.interrupt_expired", "pando.last_run"];
    assert_eq!(notices(&late), told);
    assert_eq!((results(&late), &*text(&late)), (Vec::new(), ""));
    let next = daemon.events(&input("t1", "r3", "how often")).await;
    assert_eq!(text(&next), "This is turn 2 of the session.");
    daemon.stop().await;
}

#[tokio::test]
async fn a_thread_that_is_deleted_while_its_turn_waits_is_gone_with_all_that_was_asked() {
    let daemon = Daemon::start(Demo::new());
    let asked = daemon.interrupted("t1", "ask permission").await;
    let deleted = daemon.act("DELETE", "t1", "").await;
    assert_eq!(deleted.head.status, 204);
    let resume = json!([yes(&asked[0])]);
    let late = daemon.post(&answering("t1", "r2", &resume)).send().await;
    assert_eq!(late.code(), (404, "unknown_thread".into()));
    let next = daemon.events(&input("t1", "r3", "how often")).await;
    assert_eq!(text(&next), "This is turn 1 of the session.");
    daemon.stop().await;
}

/// Requirement 99, and field report R43: silence is no yes.
#[tokio::test]
async fn r99_what_nobody_answers_in_time_is_denied_and_the_thread_says_so() {
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .engine(|options| {
            options.policy.prompts.timeout = Duration::from_millis(200);
            options.policy.client_tool_timeout = Duration::from_millis(200);
        })
        .start();
    let asked = daemon.interrupted("t1", "ask permission").await;
    let thread = over(&daemon, "t1").await;
    assert_eq!(open_calls(&thread["messages"]), Vec::<Value>::new());
    let kept = thread["messages"].to_string();
    for told in [
        "permission denied",
        "write_file: denied (reject, timed_out)",
    ] {
        assert!(kept.contains(told), "{kept}");
    }
    let late = answering("t1", "r2", &json!([yes(&asked[0])]));
    let late = daemon.events(&late).await;
    assert_eq!(notices(&late).last().unwrap(), "pando.interrupt_expired");
    assert_eq!(results(&late), []);

    let ask = with_tools(input("t2", "r1", "open record 42"), &["openRecord"]);
    let calls = pending(&daemon.events(&ask).await);
    let thread = over(&daemon, "t2").await;
    assert_eq!(open_calls(&thread["messages"]), Vec::<Value>::new());
    let kept = thread["messages"].to_string();
    assert!(kept.contains("the page did not answer in time"), "{kept}");
    let mut late = input("t2", "r2", "");
    late["messages"] = json!([result(&calls[0], "opened")]);
    assert_eq!(text(&daemon.events(&late).await), "");
    assert_eq!(daemon.turns(), 2);
    daemon.stop().await;
}

#[tokio::test]
async fn whatever_becomes_of_a_second_run_an_open_interrupt_is_passed_over_by_none() {
    for busy in [Busy::Reject, Busy::Queue, Busy::Replace] {
        let daemon = Daemon::build()
            .agent("demo", Demo::new())
            .engine(|options| options.policy.busy = busy)
            .start();
        let asked = daemon.interrupted("t1", "ask permission").await;
        let refused = daemon.post(&input("t1", "r2", "say hello")).send().await;
        assert_eq!(refused.code(), (409, "answers_missing".into()), "{busy:?}");
        let message = refused.refusal().message;
        assert!(
            message.contains(asked[0]["id"].as_str().unwrap()),
            "{message}"
        );
        let events = daemon
            .events(&answering("t1", "r3", &json!([yes(&asked[0])])))
            .await;
        assert_eq!(results(&events).len(), 1, "{busy:?}");
        assert_eq!(daemon.turns(), 1);

        let ask = with_tools(input("t2", "r1", "open record 42"), &["openRecord"]);
        pending(&daemon.events(&ask).await);
        let events = daemon.events(&input("t2", "r2", "say hello")).await;
        assert!(text(&events).ends_with("What shall I do?"), "{events:?}");
        daemon.stop().await;
    }
}

/// Requirement 61: a turn is not bound to a request. The agent has no `linger`, so a connection that closes is the
/// Stop button, but only while something runs.
#[tokio::test]
async fn r61_a_turn_that_waits_needs_no_reader_and_one_that_goes_on_needs_one_again() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let ask = with_tools(input("t1", "r1", "go"), &["draw"]);
    let mut stream = daemon.post(&ask).stream().await;
    let turn = Turn::next(&mut turns).await;
    let call = agui_serve::deps::ToolCall {
        call: "c1".into(),
        name: "draw".into(),
        arguments: "{}".into(),
    };
    let drawing = turn.io.call_frontend_tool(call);
    let reading = async {
        let end = stream.until("RUN_FINISHED").await;
        // Nobody reads the end of the body.
        stream.drop_connection();
        end["outcome"]["pendingToolCallIds"][0].clone()
    };
    let answering = async {
        let call = reading.await;
        let mut input = with_tools(input("t1", "r2", ""), &["draw"]);
        input["messages"] = json!([result(&call, "drawn")]);
        daemon.post(&input).stream().await
    };
    let (drawn, mut stream) = soon("the answer", async { tokio::join!(drawing, answering) }).await;
    assert!(format!("{drawn:?}").contains("drawn"), "{drawn:?}");
    assert!(!turn.io.is_stopped());
    turn.say("going on").await;
    stream.until("TEXT_MESSAGE_CONTENT").await;
    stream.drop_connection();
    turn.stopped().await;
    turn.end(Ok(StopReason::Cancelled));
    daemon.stop().await;
}

#[tokio::test]
async fn a_hundred_threads_that_wait_at_once_are_all_answered() {
    let daemon = Daemon::start(Demo::new());
    let threads: Vec<_> = (0..100).map(|number| format!("t{number}")).collect();
    let asking = threads
        .iter()
        .map(|thread| daemon.interrupted(thread, "ask permission"));
    let asked = join_all(asking).await;
    let answering = threads.iter().zip(&asked).rev().map(|(thread, asked)| {
        let input = answering(thread, "r2", &json!([yes(&asked[0])]));
        let daemon = &daemon;
        async move { daemon.events(&input).await }
    });
    for (events, asked) in join_all(answering).await.iter().zip(asked.iter().rev()) {
        let written = (asked[0]["toolCallId"].clone(), json!("written"));
        assert_eq!(results(events), [written]);
    }
    assert_eq!(daemon.turns(), 100);
    daemon.stop().await;
}

/// Also requirement 24: nothing is left that waits.
#[tokio::test]
async fn report_r82_a_daemon_whose_turns_wait_ends_at_once_when_it_is_told_to() {
    let program = Program::new(&["--port", "0"]).with_token().serve().await;
    let post = |input: &Value| Ask::new(program.addr(), "POST", "/agui/demo").json(input);
    for (thread, prompt) in [
        ("t1", "ask permission"),
        ("t2", "open record 42"),
        ("t3", "ask me"),
    ] {
        let ask = with_tools(input(thread, "r1", prompt), &["openRecord"]);
        post(&ask).stream().await.collect().await;
    }
    let at = Instant::now();
    program.signal(Signal::TERM);
    let ended = program.end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(at.elapsed() < Duration::from_secs(5), "{:?}", at.elapsed());
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

/// Also field report R54: the thread can be used again.
#[tokio::test]
async fn report_r50_what_is_lost_with_the_daemon_is_told_and_nothing_is_done() {
    let home = tempfile::tempdir().unwrap();
    let start = |explain_errors| {
        let options = store::Options {
            at: store::Location::file(home.path().join("threads.db")),
            ..store::Options::default()
        };
        Daemon::build()
            .agent("demo", Demo::new())
            .engine(|options| options.policy.explain_errors = explain_errors)
            .store(&Store::open(options, Env::system()).unwrap())
            .env(Env::system())
            .start()
    };
    let daemon = start(true);
    let first = daemon.interrupted("t1", "ask permission").await;
    let second = daemon.interrupted("t2", "ask permission").await;
    daemon.stop().await;

    // A client whose answer fails would go on waiting, so people are told in the chat.
    let daemon = start(true);
    let resume = json!([answer(&first[0], &json!({"approved": true}))]);
    let alone = daemon.events(&answering("t1", "r0", &resume)).await;
    assert_eq!(alone.last().unwrap()["outcome"], json!({"type": "success"}));
    assert!(notices(&alone).contains(&"pando.interrupt_lost".to_owned()));
    assert_eq!(results(&alone), []);
    let snapshot = alone
        .iter()
        .find_map(|event| event.get("messages"))
        .unwrap();
    let said = snapshot.as_array().unwrap().last().unwrap();
    assert!(
        said["content"]
            .as_str()
            .unwrap()
            .starts_with("What you have answered was lost")
    );
    daemon.stop().await;

    let daemon = start(false);
    assert_eq!(daemon.thread("t1").await["interrupts"], json!([]));
    let hydrated = daemon.events(&answering("t1", "r2", &json!([]))).await;
    assert_eq!(
        hydrated.last().unwrap()["outcome"],
        json!({"type": "success"})
    );
    for run in ["r3", "r4", "r1"] {
        let resume = json!([answer(&first[0], &json!({"approved": true}))]);
        let alone = daemon.events(&answering("t1", run, &resume)).await;
        let end = alone.last().unwrap();
        assert_eq!(
            (&end["type"], &end["code"]),
            (&json!("RUN_ERROR"), &json!("interrupt_lost"))
        );
        assert_eq!(results(&alone), []);
    }
    assert_eq!(daemon.turns(), 0);
    let mut beside = input("t2", "r2", "say hello");
    beside["resume"] = json!([yes(&second[0])]);
    let beside = daemon.events(&beside).await;
    assert!(notices(&beside).contains(&"pando.interrupt_lost".to_owned()));
    assert!(text(&beside).starts_with("Hello!"));
    assert_eq!(results(&beside), []);
    daemon.stop().await;
}
