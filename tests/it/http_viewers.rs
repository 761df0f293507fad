//! Threads on which something runs, over HTTP: who follows it, what stops it, and what the list says of it.

use agui_serve::{cores::demo::Demo, deps::StopReason};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    harness::{Answer, Ask, Daemon, NOW, Puppet, Stream, Turn, input},
    stream_reading::{ending, types},
};

const THREAD: &str = "/agui/demo/threads/t1";
const EVENTS: &str = "/agui/demo/threads/t1/events?protocolVersion=1.0";

/// A daemon with a run of `r1` on `t1` that has said one word.
async fn live() -> (Daemon, Stream, Turn, mpsc::Receiver<Turn>) {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let mut stream = daemon.run("go").await;
    let turn = Turn::next(&mut turns).await;
    turn.say("one").await;
    stream.until("TEXT_MESSAGE_CONTENT").await;
    (daemon, stream, turn, turns)
}

/// The text of the deltas, also of a message that began before.
fn text(events: &[Value]) -> String {
    let deltas = events
        .iter()
        .filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
    deltas
        .map(|event| event["delta"].as_str().unwrap())
        .collect()
}

fn bare(daemon: &Daemon, method: &str, path: &str) -> Ask {
    daemon.ask(method, path).without("content-type")
}

async fn get(daemon: &Daemon, path: &str) -> Value {
    bare(daemon, "GET", path).send().await.json()
}

/// Sends a request that ends the live run, whose core does as it is told.
async fn ending_it(ask: Ask, turn: Turn) -> Answer {
    let obeying = async {
        turn.stopped().await;
        turn.end(Ok(StopReason::Cancelled));
    };
    tokio::join!(ask.send(), obeying).0
}

#[tokio::test]
async fn a_cancel_answers_once_the_run_has_ended_and_the_thread_is_free() {
    let (daemon, stream, turn, mut turns) = live().await;
    let cancel = bare(&daemon, "POST", &format!("{THREAD}/cancel"));
    let answer = ending_it(cancel.clone(), turn).await;
    assert_eq!(
        answer.json(),
        json!({"threadId": "t1", "runId": "r1", "cancelled": true})
    );
    let mut next = daemon.post(&input("t1", "r2", "again")).stream().await;
    next.until("STATE_SNAPSHOT").await;
    Turn::next(&mut turns).await.end(Ok(StopReason::EndTurn));
    next.collect().await;
    assert_eq!(ending(&stream.collect().await), "cancelled");
    let idle = cancel.send().await.json();
    assert_eq!(idle, json!({"threadId": "t1", "cancelled": false}));
    daemon.stop().await;
}

#[tokio::test]
async fn a_cancel_that_names_a_run_stops_no_other() {
    let (daemon, stream, turn, _turns) = live().await;
    let cancel = daemon.ask("POST", &format!("{THREAD}/cancel"));
    let other = cancel.clone().json(&json!({"runId": "r0"})).send().await;
    assert_eq!(other.json(), json!({"threadId": "t1", "cancelled": false}));
    turn.say("two").await;
    let own = ending_it(cancel.json(&json!({"runId": "r1"})), turn).await;
    assert_eq!(own.json()["cancelled"], true);
    let events = stream.collect().await;
    assert_eq!(text(&events), "two");
    assert_eq!(ending(&events), "cancelled");
    daemon.stop().await;
}

#[tokio::test]
async fn report_r80_what_runs_for_somebody_else_is_neither_seen_nor_disturbed() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build()
        .agent("demo", puppet)
        .tokens(&[("alice", "token-of-alice"), ("bob", "token-of-bob")])
        .start();
    let by = |ask: Ask, token| ask.header("authorization", &format!("Bearer {token}"));
    let run = by(daemon.post(&input("t1", "r1", "go")), "token-of-alice");
    let stream = run.stream().await;
    let turn = Turn::next(&mut turns).await;
    for (method, part) in [
        ("GET", ""),
        ("GET", "/events"),
        ("POST", "/cancel"),
        ("DELETE", ""),
    ] {
        let ask = bare(&daemon, method, &format!("{THREAD}{part}"));
        let answer = by(ask, "token-of-bob").send().await;
        assert_eq!(
            answer.code(),
            (404, "unknown_thread".into()),
            "{method} {part}"
        );
    }
    let mut hydrate = input("t1", "r1", "");
    hydrate["messages"] = json!([]);
    let answer = by(daemon.post(&hydrate), "token-of-bob").send().await;
    assert_eq!(answer.code(), (404, "unknown_thread".into()));
    turn.say("undisturbed").await;
    turn.end(Ok(StopReason::EndTurn));
    let events = stream.collect().await;
    assert_eq!(
        (text(&events).as_str(), ending(&events)),
        ("undisturbed", "success")
    );
    daemon.stop().await;
}

#[tokio::test]
async fn a_viewer_sees_what_there_is_and_what_comes_and_may_leave() {
    let (daemon, stream, turn, _turns) = live().await;
    let mut leaving = bare(&daemon, "GET", EVENTS).stream().await;
    leaving.until("MESSAGES_SNAPSHOT").await;
    leaving.drop_connection();
    let staying = bare(&daemon, "GET", EVENTS).stream().await;
    // From before 1.0, which the harness holds it against.
    let older = bare(&daemon, "GET", &format!("{THREAD}/events"))
        .stream()
        .await;
    turn.say(" two").await;
    turn.end(Ok(StopReason::EndTurn));
    for viewer in [staying, older] {
        assert_eq!(
            viewer.head.header("cache-control"),
            Some("no-cache, no-transform")
        );
        let events = viewer.collect().await;
        let first = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"];
        assert_eq!(types(&events)[..3], first);
        assert_eq!(
            (&events[0]["runId"], &events[0]["threadId"]),
            (&json!("r1"), &json!("t1"))
        );
        let said = |at: usize| events[2]["messages"][at]["content"].as_str().unwrap();
        assert_eq!(said(0), "go", "what the user said");
        assert_eq!(format!("{}{}", said(1), text(&events)), "one two");
        assert_eq!(*types(&events).last().unwrap(), "RUN_FINISHED");
    }
    assert_eq!(text(&stream.collect().await), " two");
    daemon.stop().await;
}

#[tokio::test]
async fn a_viewer_that_comes_back_goes_on_where_it_was_and_is_told_when_there_is_no_more() {
    let (daemon, stream, turn, _turns) = live().await;
    let mut viewer = bare(&daemon, "GET", EVENTS).stream().await;
    viewer.until("MESSAGES_SNAPSHOT").await;
    turn.end(Ok(StopReason::EndTurn));
    viewer.until("RUN_FINISHED").await;
    assert!(viewer.next_event().await.is_none());
    stream.collect().await;
    let mut last = viewer
        .last_id
        .take()
        .expect("no message is open at the end");
    // As an `EventSource` does: it tries again, from the last id, until it is told not to.
    for _ in 0..2 {
        let again = bare(&daemon, "GET", EVENTS).header("last-event-id", &last);
        let answer = again.send().await;
        if answer.head.status == 204 {
            assert!(answer.body.is_empty());
            daemon.stop().await;
            return;
        }
        let text = String::from_utf8(answer.body).unwrap();
        let mut ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        last = ids.next_back().map_or(last, str::to_owned);
    }
    panic!("a viewer that has seen everything is sent more");
}

#[tokio::test]
async fn a_thread_that_is_forgotten_while_it_runs_ends_first() {
    let (daemon, stream, turn, _turns) = live().await;
    let answer = ending_it(bare(&daemon, "DELETE", THREAD), turn).await;
    assert_eq!(answer.head.status, 204);
    assert_eq!(ending(&stream.collect().await), "cancelled");
    let gone = bare(&daemon, "GET", THREAD).send().await;
    assert_eq!(gone.code(), (404, "unknown_thread".into()));
    daemon.stop().await;
}

#[tokio::test]
async fn a_thread_says_which_run_is_live_and_what_it_has_said() {
    let (daemon, stream, turn, _turns) = live().await;
    let shown = get(&daemon, THREAD).await;
    assert_eq!(shown["liveRun"], "r1");
    assert_eq!(
        shown["lastRun"],
        json!({"runId": "r1", "outcome": "running", "startedAt": NOW})
    );
    assert_eq!(shown["messages"][0]["content"], "go");
    assert_eq!(shown["messages"][1]["content"], "one");
    assert_eq!(shown["state"]["thread"], "t1", "{}", shown["state"]);
    let list = get(&daemon, "/agui/demo/threads").await;
    assert_eq!(list["threads"][0]["live"], true, "{list}");
    turn.end(Ok(StopReason::EndTurn));
    stream.collect().await;
    let list = get(&daemon, "/agui/demo/threads").await;
    let row = &list["threads"][0];
    assert_eq!(
        (&row["live"], &row["lastRun"]["outcome"]),
        (&Value::Null, &json!("success"))
    );
    daemon.stop().await;
}

#[tokio::test]
async fn report_r73_a_run_that_failed_is_listed_as_failed() {
    let daemon = Daemon::start(Demo::new());
    let events = daemon.run("fail half-way").await.collect().await;
    let list = get(&daemon, "/agui/demo/threads").await;
    let last = &list["threads"][0]["lastRun"];
    assert_eq!(last["outcome"], "failed");
    assert_eq!(last["code"], ending(&events));
    assert_eq!(last["message"], events.last().unwrap()["message"]);
    daemon.stop().await;
}

#[tokio::test]
async fn a_list_is_read_page_by_page_and_has_each_thread_once() {
    let daemon = Daemon::start(Demo::new());
    for thread in ["a", "b/c", "d", "e", "f"] {
        let run = daemon.post(&input(thread, "r1", "say hello"));
        run.stream().await.collect().await;
    }
    let whole = get(&daemon, "/agui/demo/threads").await;
    assert!(whole.get("nextCursor").is_none());
    let mut paged = Vec::new();
    let mut path = "/agui/demo/threads?limit=2".to_owned();
    loop {
        let page = get(&daemon, &path).await;
        let threads = page["threads"].as_array().unwrap();
        assert!((1..=2).contains(&threads.len()), "{page}");
        paged.extend_from_slice(threads);
        match page["nextCursor"].as_str() {
            Some(cursor) => path = format!("/agui/demo/threads?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(whole["threads"], Value::Array(paged));
    let names = whole["threads"].as_array().unwrap().iter();
    let mut names: Vec<_> = names.map(|row| row["threadId"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b/c", "d", "e", "f"]);
    daemon.stop().await;
}

#[tokio::test]
async fn report_r74_a_request_without_messages_on_a_thread_that_is_not_there_is_a_404() {
    let daemon = Daemon::start(Demo::new());
    let mut hydrate = input("nowhere", "r1", "");
    hydrate["messages"] = json!([]);
    let answer = daemon.post(&hydrate).send().await;
    assert_eq!(answer.code(), (404, "unknown_thread".into()));
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}
