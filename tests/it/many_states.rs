//! Ten thousand threads that all send state, in front of the program itself: what is kept of that stays within its
//! budget, and who is left without is none the worse for it.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{Ask, Client, Program, Running, answering, input, interrupts, yes};

const THREADS: usize = 10_000;
const CONNECTIONS: usize = 8;
/// What each thread sends, in bytes. All of it together is three times the budget.
const STATE: usize = 20 * 1024;
const BUDGET: usize = 64 * 1024 * 1024;
/// How many documents fit: each takes what it holds and less than a KiB.
const FEWEST: usize = BUDGET / (STATE + 1024);
const MOST: usize = BUDGET / STATE;
/// What the daemon may take beside the documents once it has met every connection: the runs that are live, what the database
/// keeps of its file (2 MiB), and what the allocator leaves in holes. A quarter of the budget was measured; without one,
/// the documents alone would take twice what is allowed here.
const BESIDE: usize = BUDGET / 2;

/// A run on a thread, with state that is no other thread's.
fn with_state(thread: usize) -> Value {
    let mut input = input(&thread.to_string(), "r1", "say nothing");
    input["state"] = json!({"notes": notes(thread)});
    input
}

fn notes(thread: usize) -> String {
    format!("{thread:05}{}", "x".repeat(STATE - 5))
}

fn ask(daemon: &Running, method: &str, below: &str) -> Ask {
    Ask::new(daemon.addr(), method, &format!("/agui/demo{below}"))
}

/// Runs to the end, on a connection that others have used and will use.
async fn run(daemon: &Running, client: &mut Client, input: &Value) {
    ask(daemon, "POST", "").json(input).on(client).await;
    let answer = client.answer("POST").await;
    let body = String::from_utf8(answer.body).unwrap();
    assert!(body.contains("\"RUN_FINISHED\""), "{body}");
}

/// The state that is kept of a thread.
async fn kept(daemon: &Running, thread: usize) -> Value {
    let at = ask(daemon, "GET", &format!("/threads/{thread}"));
    at.without("content-type").send().await.json()["state"].take()
}

/// What a stream says the state is at its beginning.
fn snapshot(events: &[Value]) -> &Value {
    assert_eq!(events[1]["type"], "STATE_SNAPSHOT");
    &events[1]["snapshot"]
}

/// The most memory that the daemon has had so far, in bytes.
fn peak(daemon: &Running) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.unwrap().trim().strip_suffix(" kB").unwrap();
    kib.parse::<usize>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r85_ten_thousand_threads_with_state_take_no_more_memory_than_they_may() {
    let daemon = Program::new(&["--port", "0", "--log", "error"])
        .with_token()
        .env("AGUI_LIMITS__MAX_THREADS", "20000")
        .env("AGUI_LIMITS__MAX_STATE_THREADS", "20000")
        .env("AGUI_LIMITS__MAX_STATE_BYTES", &BUDGET.to_string())
        // Of no interest here: the logs of runs that have ended.
        .env("AGUI_LIMITS__LOG_TTL", "0s")
        .serve()
        .await;
    // Waits for an answer all the while.
    let mut waiting = with_state(0);
    waiting["threadId"] = "waiting".into();
    waiting["messages"][0]["content"] = "ask permission".into();
    let asked = ask(&daemon, "POST", "").json(&waiting).stream().await;
    let asked = interrupts(&asked.collect().await);

    let next = AtomicUsize::new(0);
    let flood = (0..CONNECTIONS).map(async |_| {
        let mut client = Client::connect(daemon.addr()).await;
        run(
            &daemon,
            &mut client,
            &with_state(next.fetch_add(1, Ordering::Relaxed)),
        )
        .await;
        let before = peak(&daemon);
        loop {
            let thread = next.fetch_add(1, Ordering::Relaxed);
            if thread >= THREADS {
                return before;
            }
            run(&daemon, &mut client, &with_state(thread)).await;
        }
    });
    let before = join_all(flood).await.into_iter().max().unwrap();
    let taken = peak(&daemon) - before;
    assert!(taken < BUDGET + BESIDE, "{taken} bytes more than {before}");

    // Those that were used last are there, and no more than fit.
    let newest = THREADS - 1;
    for thread in [newest, newest - FEWEST + CONNECTIONS] {
        assert_eq!(kept(&daemon, thread).await["notes"], notes(thread));
    }
    for thread in [0, newest - 2 * MOST] {
        let kept = kept(&daemon, thread).await;
        assert_eq!(
            (&kept["thread"], kept.get("notes")),
            (&thread.to_string().into(), None)
        );
    }

    // One that comes back begins anew, and a viewer sees it so.
    let events =
        ask(&daemon, "GET", "/threads/0/events?protocolVersion=1.0").without("content-type");
    let events = events.stream().await.collect().await;
    assert_eq!(snapshot(&events).get("notes"), None);
    let again = ask(&daemon, "POST", "").json(&input("0", "r2", "say hello"));
    let events = again.stream().await.collect().await;
    assert_eq!(snapshot(&events).get("notes"), None);
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");

    // So does a viewer of one that waits, and the turn itself has not lost anything.
    let viewer = ask(
        &daemon,
        "GET",
        "/threads/waiting/events?protocolVersion=1.0",
    )
    .without("content-type");
    let events = viewer.stream().await.collect().await;
    assert_eq!(snapshot(&events).get("notes"), None);
    assert_eq!(interrupts(&events), asked);
    let mut answers = answering("waiting", "r2", &json!([yes(&asked[0])]));
    answers["state"] = json!({"notes": "other ones"});
    let events = ask(&daemon, "POST", "")
        .json(&answers)
        .stream()
        .await
        .collect()
        .await;
    assert_eq!(snapshot(&events)["notes"], "other ones");
    assert_eq!(
        events.last().unwrap()["outcome"],
        json!({"type": "success"})
    );
}
