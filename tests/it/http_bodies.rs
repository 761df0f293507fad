//! What bodies and heads that are too large, too late or no HTTP do to a connection.

use std::time::Duration;

use agui_serve::cores::demo::Demo;

use crate::{
    harness::Daemon,
    http_refusals::{daemon, run},
};

/// Requirement 34; field report R09.
#[tokio::test]
async fn a_body_of_40_mib_gets_an_answer_that_the_client_can_read() {
    let daemon = Daemon::start(Demo::new());
    let size = 40 * 1024 * 1024;
    let declared = run(&daemon).body(vec![b' '; size]);
    let answer = declared.send().await;
    let refusal = answer.refusal();
    assert_eq!(
        (refusal.status, refusal.code.as_str()),
        (413, "body_too_large")
    );
    assert!(refusal.message.contains("33554432"), "{}", refusal.message);
    assert_eq!(answer.head.header("connection"), Some("close"));

    let mut client = daemon.connect().await;
    let chunked = run(&daemon).header("transfer-encoding", "chunked");
    client.send(chunked.head().as_bytes()).await;
    let chunk = [
        b"100000\r\n".to_vec(),
        vec![b' '; 0x10_0000],
        b"\r\n".to_vec(),
    ]
    .concat();
    for _ in 0..40 {
        client.send_in_vain(&chunk).await;
    }
    assert_eq!(
        client.answer("POST").await.code(),
        (413, "body_too_large".into())
    );
    client.closed().await;
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn report_r09_a_declared_size_above_the_limit_is_refused_before_the_body_is_sent() {
    let daemon = daemon();
    let mut client = daemon.connect().await;
    let ask = run(&daemon)
        .header("content-length", "2000000")
        .header("expect", "100-continue");
    client.send(ask.head().as_bytes()).await;
    let answer = client.answer("POST").await;
    assert_eq!(answer.code(), (413, "body_too_large".into()));
    assert_eq!(answer.head.header("connection"), Some("close"));
    client.closed().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_connection_serves_on_after_a_refusal_that_left_nothing_unread() {
    let daemon = daemon();
    let mut client = daemon.connect().await;
    for (ask, status) in [
        (run(&daemon).without("authorization"), 401),
        (run(&daemon).path("/other"), 404),
        (run(&daemon).body("{"), 400),
        (daemon.ask("GET", "/agui/nobody"), 405),
    ] {
        ask.on(&mut client).await;
        let answer = client.answer("POST").await;
        assert_eq!(answer.refusal().status, status);
        assert_eq!(answer.head.header("connection"), None, "{status}");
    }
    run(&daemon).on(&mut client).await;
    assert_eq!(client.answer("POST").await.head.status, 200);
    daemon.stop().await;
}

#[tokio::test]
async fn r25_a_head_that_does_not_come_closes_the_connection() {
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| options.header_timeout = Duration::from_millis(50))
        .start();
    for sent in ["", "POST /agui/demo HTTP/1.1\r\nhost: localhost\r\n"] {
        let mut client = daemon.connect().await;
        client.send(sent.as_bytes()).await;
        client.closed().await;
    }
    daemon.stop().await;
}

#[tokio::test]
async fn r25_a_body_that_does_not_come_is_answered_and_starts_nothing() {
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| options.service.body_timeout = Duration::from_millis(50))
        .start();
    let mut client = daemon.connect().await;
    let ask = run(&daemon).header("content-length", "1000");
    client.send(ask.head().as_bytes()).await;
    client.send(b"{\"threadId\":").await;
    let answer = client.answer("POST").await;
    assert_eq!(answer.code(), (408, "body_timeout".into()));
    assert_eq!(answer.head.header("connection"), Some("close"));
    assert_eq!(daemon.turns(), 0);
    client.closed().await;
    daemon.stop().await;
}

#[tokio::test]
async fn what_is_no_http_is_refused_without_a_word_of_ours() {
    let daemon = daemon();
    let mut client = daemon.connect().await;
    client.send(b"\x16\x03\x01 hello\r\n\r\n").await;
    assert_eq!(client.head().await.status, 400);
    daemon.stop().await;
}
