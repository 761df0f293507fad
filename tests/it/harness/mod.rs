//! A daemon in the process and a client that shows the raw bytes.
//!
//! ```ignore
//! let daemon = Daemon::start(Demo::new());
//! let events = daemon.run("say hello").await.collect().await;
//! daemon.stop().await;
//! ```
//!
//! Every answer is held against a list of the headers that may leave the daemon, every refusal
//! against the shape of an error, and every stream against the grammar. Nothing waits for longer than
//! [`PATIENCE`], so a defect fails a test instead of hanging it.

mod answer;
mod ask;
mod asking;
mod client;
mod daemon;
mod program;
mod puppet;
mod stream;

use std::{
    future::Future,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::{Value, json};

pub(crate) use self::{
    answer::Answer,
    ask::Ask,
    asking::{
        answer, answering, interrupts, notices, pending, result, results, text, with_tools, yes,
    },
    client::Client,
    daemon::{Daemon, NOW, TOKEN},
    program::{Program, Running},
    puppet::{Puppet, Turn},
    stream::Stream,
};

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits, but not for ever.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// The same request for a run of its own, with a message of its own.
pub(crate) fn anew(input: &Value) -> Value {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let run = format!("anew-{}", RUNS.fetch_add(1, Ordering::Relaxed));
    let mut input = input.clone();
    input["messages"][0]["id"] = format!("said-in-{run}").into();
    input["runId"] = run.into();
    input
}

/// A request of a 1.0 client that says one thing, which is new in each run.
pub(crate) fn input(thread: &str, run: &str, prompt: &str) -> Value {
    json!({
        "threadId": thread,
        "runId": run,
        "protocolVersion": "1.0",
        "state": {},
        "messages": [{"id": format!("said-in-{run}"), "role": "user", "content": prompt}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    })
}
