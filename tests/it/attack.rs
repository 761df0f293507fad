//! What hostile and clumsy clients try, and requirements that are seen best from that side.

use std::{net::TcpListener, time::Duration};

use agui_serve::{
    cores::demo::Demo,
    deps::{CoreEvent, StopReason},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::harness::{Ask, Client, Daemon, Program, Puppet, TOKEN, input, soon};

#[tokio::test]
async fn r5_a_signal_that_no_client_knows_fails_no_run() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let stream = daemon.run("go").await;
    let turn = soon("the turn", turns.recv()).await.unwrap();
    for name in ["from.the.future", "", "RUN_FINISHED", "a\nb"] {
        let event = CoreEvent::notice(name, json!({"anything": [null, 1.50]}));
        turn.io.emit(event).await.unwrap();
    }
    turn.say("still here").await;
    turn.end(Ok(StopReason::EndTurn));
    let events = stream.collect().await;
    let names: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "CUSTOM")
        .map(|event| event["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "pando.from.the.future",
            "pando.",
            "pando.RUN_FINISHED",
            "pando.a\nb"
        ]
    );
    let last = events.last().unwrap();
    assert_eq!(last["outcome"], json!({"type": "success"}));
    daemon.stop().await;
}

#[tokio::test]
async fn r6_a_task_other_than_serving_binds_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for args in [
        &["config", "--port", &port][..],
        &["--port", &port, "--help"],
        &["--port", &port, "--version"],
    ] {
        let ended = Program::new(args).with_token().end().await;
        assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
        assert!(!ended.stdout.contains("listening"), "{ended:?}");
    }
}

#[tokio::test]
async fn r7_r8_nothing_but_ag_ui_is_served_even_to_one_who_has_the_token() {
    let daemon = Daemon::start(Demo::new());
    let query = json!({"operationName": "generateCopilotResponse", "query": "mutation { x }"});
    for path in [
        "/graphql",
        "/agui/graphql/x",
        "/api/copilotkit",
        "/copilotkit",
        "/",
        "/metrics",
        "/agui/demo/runs",
        "/favicon.ico",
        "//agui//demo",
        "/agui/../healthz",
        "/agui/./demo",
    ] {
        for method in ["GET", "POST"] {
            let answer = daemon.ask(method, path).json(&query).send().await;
            assert_eq!(answer.code(), (404, "not_found".into()), "{method} {path}");
        }
    }
    for path in ["/agui/graphql", "/agui/%64emo", "/agui/DEMO"] {
        let answer = daemon.ask("POST", path).json(&query).send().await;
        assert_eq!(answer.code(), (404, "unknown_agent".into()), "{path}");
    }
    let answer = daemon.ask("POST", "/agui/demo").json(&query).send().await;
    assert_eq!(answer.code(), (400, "invalid_input".into()));
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn r8_the_token_is_in_nothing_that_is_served_shown_or_logged() {
    let program = Program::new(&["--port", "0", "--log", "trace"]).with_token();
    let program = program.serve().await;
    let mut heard = program.screen.clone();
    let ask = |method, path| Ask::new(program.addr(), method, path);
    for ask in [
        ask("GET", "/agui/info"),
        ask("POST", "/agui/demo").json(&input("t1", "r1", "say hello")),
        ask("POST", "/agui/demo").json(&input("t1", "", "say hello")),
        ask("GET", "/agui/info").header("authorization", &format!("Basic {TOKEN}")),
        ask("GET", "/agui/info").header("authorization", &format!("Bearer {TOKEN}x")),
        ask("GET", "/agui/info").add("authorization", "Bearer other"),
    ] {
        let answer = ask.send().await;
        heard.push_str(&String::from_utf8(answer.body).unwrap());
    }
    program.signal(rustix::process::Signal::TERM);
    let ended = program.end().await;
    assert!(
        ended.stderr.contains("\"DEBUG\""),
        "the log says all it can"
    );
    for text in [&heard, &ended.stdout, &ended.stderr] {
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[tokio::test]
async fn r55_a_transport_that_cannot_stream_gets_an_ordinary_error_and_no_stream() {
    let daemon = Daemon::start(Demo::new());
    let answer = daemon
        .post(&input("t1", "r1", "say hello"))
        .version("HTTP/1.0")
        .send()
        .await;
    assert_eq!(answer.code(), (505, "http_version".into()));
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_closes_only_its_sending_side_has_hung_up() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let mut socket = TcpStream::connect(daemon.addr).await.unwrap();
    let body = input("t1", "r1", "go").to_string();
    let head = daemon.post(&input("t1", "r1", "go")).head();
    socket.write_all((head + &body).as_bytes()).await.unwrap();
    let turn = soon("the turn", turns.recv()).await.unwrap();
    socket.shutdown().await.unwrap();
    turn.stopped().await;
    turn.end(Ok(StopReason::Cancelled));
    let mut rest = Vec::new();
    // It is closed, in whichever way.
    let _ = soon("the close", socket.read_to_end(&mut rest)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn report_r66_a_client_that_takes_nothing_for_too_long_has_hung_up() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build()
        .agent("demo", puppet)
        .http(|options| options.stuck_timeout = Duration::from_millis(500))
        .start();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(daemon.addr).await.unwrap();
    let body = input("t1", "r1", "go").to_string();
    let head = daemon.post(&input("t1", "r1", "go")).head();
    socket.write_all((head + &body).as_bytes()).await.unwrap();
    let turn = soon("the turn", turns.recv()).await.unwrap();
    // More than the kernel's buffers hold.
    let flood = async {
        while !turn.io.is_stopped() {
            turn.say(&"x".repeat(1024 * 1024)).await;
        }
    };
    soon("the turn to be stopped", flood).await;
    turn.end(Ok(StopReason::Cancelled));
    daemon.stop().await;
}

#[tokio::test]
async fn hanging_up_at_any_byte_of_a_request_leaves_nothing_behind() {
    let daemon = Daemon::start(Demo::new());
    let body = input("t1", "r1", "be slow").to_string();
    let whole = daemon.post(&input("t1", "r1", "be slow")).head() + &body;
    for end in (0..=whole.len()).step_by(7) {
        let mut client = Client::connect(daemon.addr).await;
        client.send(&whole.as_bytes()[..end]).await;
    }
    let free = async {
        loop {
            let answer = daemon.post(&input("t1", "r2", "say hello")).send().await;
            if answer.head.status == 200 {
                return;
            }
        }
    };
    soon("the thread to be free", free).await;
    daemon.stop().await;
}
