//! What the listener does with what it is told of who calls.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use agui_serve::{
    cores::demo::Demo,
    http::{Caller, Ends, Fence},
};
use futures_util::future::{BoxFuture, ready};

use crate::harness::{Daemon, input};

/// Says of each connection what the test says, and keeps what it was asked.
#[derive(Debug)]
struct Told {
    callers: Mutex<VecDeque<Caller>>,
    asked: Mutex<Vec<Ends>>,
}

impl Fence for Told {
    fn caller(&self, ends: Ends) -> BoxFuture<'static, Caller> {
        self.asked.lock().unwrap().push(ends);
        let caller = self.callers.lock().unwrap().pop_front().unwrap();
        Box::pin(ready(caller))
    }
}

fn daemon(callers: impl Into<VecDeque<Caller>>) -> (Daemon, Arc<Told>) {
    let told = Arc::new(Told {
        callers: Mutex::new(callers.into()),
        asked: Mutex::default(),
    });
    let fence = Arc::clone(&told);
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| options.fence = Some(fence))
        .start();
    (daemon, told)
}

fn agent() -> Caller {
    Caller::Agent {
        process: "7 (sh)".into(),
    }
}

#[tokio::test]
async fn an_agent_gets_probes_and_nothing_else_whatever_it_shows() {
    let (daemon, told) = daemon([agent()]);
    let mut client = daemon.connect().await;
    for (method, path, status) in [
        ("GET", "/healthz", 200),
        ("HEAD", "/agui/readyz", 200),
        ("POST", "/healthz", 405),
        ("GET", "/agui/info", 403),
        ("OPTIONS", "/agui/demo", 403),
        ("GET", "/agui/demo/threads", 403),
        ("GET", "/agui/demo/threads/t1", 403),
        ("DELETE", "/agui/demo/threads/t1", 403),
        ("GET", "/agui/demo/threads/t1/events", 403),
        ("POST", "/agui/demo/threads/t1/cancel", 403),
        ("GET", "/other", 403),
    ] {
        daemon.ask(method, path).on(&mut client).await;
        let answer = client.answer(method).await;
        assert_eq!(answer.head.status, status, "{method} {path}");
    }
    let run = daemon.post(&input("t1", "r1", "say hello"));
    run.on(&mut client).await;
    let refused = client.answer("POST").await.code();
    assert_eq!(refused, (403, "own_agent".into()));
    assert_eq!(daemon.turns(), 0);
    let asked = told.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1, "once for a connection");
    assert_eq!(asked[0].local, daemon.addr);
    daemon.stop().await;
}

#[tokio::test]
async fn who_is_no_agent_is_served_and_who_is_gone_is_not_read() {
    let (daemon, _) = daemon([Caller::Gone, Caller::Other]);
    let mut client = daemon.connect().await;
    client.closed().await;
    daemon.run("say hello").await.collect().await;
    daemon.stop().await;
}
