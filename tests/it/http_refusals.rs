//! What is refused, how, and that nothing starts.

use agui_serve::{cores::demo::Demo, http::Origin};
use serde_json::{Value, json};

use crate::harness::{Ask, Daemon, input};

const PAGE: &str = "https://app.example";

/// A daemon that lets one page call, and takes bodies of 1 MiB.
pub(crate) fn daemon() -> Daemon {
    Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| {
            options.service.origins = vec![Origin::new(PAGE).unwrap()];
            options.service.max_body = 1024 * 1024;
        })
        .start()
}

/// A good request.
pub(crate) fn run(daemon: &Daemon) -> Ask {
    daemon.post(&input("t1", "r1", "say hello"))
}

fn with(member: &str, value: Value) -> Value {
    let mut input = input("t1", "r1", "say hello");
    input[member] = value;
    input
}

fn without(member: &str) -> Value {
    let mut input = input("t1", "r1", "say hello");
    input.as_object_mut().unwrap().remove(member);
    input
}

/// Requests that are good but for one thing, by what they are told.
fn spoilt(run: &Ask) -> Vec<(u16, &'static str, Vec<Ask>)> {
    let run = || run.clone();
    let with = |name, value| run().header(name, value);
    let (anonymous, untyped) = (
        run().without("authorization"),
        run().without("content-type"),
    );
    let broken = b"{\"threadId\":\"\xff\"}".to_vec();
    vec![
        (
            400,
            "bad_host",
            vec![run().without("host"), run().add("host", "localhost")],
        ),
        (403, "host_not_allowed", vec![with("host", "evil.example")]),
        (
            403,
            "origin_not_allowed",
            vec![
                with("origin", "https://evil.example"),
                with("origin", "null"),
            ],
        ),
        (
            404,
            "not_found",
            vec![run().path("/other"), run().path("/agui/demo/x")],
        ),
        (
            405,
            "method_not_allowed",
            vec![
                run().method("GET"),
                run().method("PUT"),
                run().path("/agui/info"),
            ],
        ),
        (
            415,
            "unsupported_media_type",
            vec![
                untyped,
                with("content-type", "text/plain"),
                with("content-encoding", "gzip"),
            ],
        ),
        (
            401,
            "unauthorized",
            vec![anonymous, with("authorization", "Bearer nope")],
        ),
        (404, "unknown_agent", vec![run().path("/agui/nobody")]),
        (505, "http_version", vec![run().version("HTTP/1.0")]),
        (
            400,
            "invalid_json",
            vec![
                run().body(""),
                run().body("{\"threadId\":"),
                run().body(broken),
            ],
        ),
        (
            400,
            "invalid_input",
            vec![run().body("[]"), run().body("null")],
        ),
    ]
}

/// Requirements 10, 14 and 59; field report R74.
#[tokio::test]
async fn every_refusal_has_its_status_is_json_and_starts_nothing() {
    let daemon = daemon();
    let run = run(&daemon);
    for (status, code, asks) in spoilt(&run) {
        for ask in asks {
            let answer = ask.send().await;
            assert_eq!(answer.code(), (status, code.into()), "{}", ask.head());
            let caching = answer.head.header("cache-control");
            assert_eq!(caching, Some("no-store"), "{}", ask.head());
        }
    }
    assert_eq!(daemon.turns(), 0);
    run.stream().await.collect().await;
    assert_eq!(daemon.turns(), 1, "the request itself was good");
    daemon.stop().await;
}

/// Requirement 33; field reports R01 and R05.
#[tokio::test]
async fn bad_input_is_refused_with_its_place_and_starts_nothing() {
    let daemon = daemon();
    let deep = "[".repeat(100_000);
    let long = "a".repeat(900_000);
    let nameless = json!([{"role": "user", "content": "x", "user": {"id": "x"}}]);
    for (body, place) in [
        (without("threadId"), "/threadId"),
        (without("runId"), "/runId"),
        (without("messages"), "/messages"),
        (with("threadId", json!("")), "/threadId"),
        (with("threadId", json!("  ")), "/threadId"),
        (with("threadId", json!(7)), "/threadId"),
        (with("threadId", json!("a\nb")), "/threadId"),
        (with("threadId", json!(long)), "/threadId"),
        (with("runId", json!(long)), "/runId"),
        (with("messages", json!("hi")), "/messages"),
        (with("messages", nameless), "/messages/0/id"),
        (with("tools", json!({"a": 1})), "/tools"),
    ] {
        let body = body.to_string();
        let start = body[..body.len().min(80)].to_owned();
        let answer = run(&daemon).body(body).send().await;
        let refusal = answer.refusal();
        assert_eq!(
            (refusal.status, refusal.code.as_str()),
            (400, "invalid_input"),
            "{start}"
        );
        assert!(
            refusal.message.contains(place),
            "{start}: {}",
            refusal.message
        );
        assert!(answer.body.len() < 1024, "{start}: the input is not echoed");
    }
    let answer = run(&daemon).body(deep).send().await;
    assert_eq!(answer.code(), (400, "invalid_json".into()));
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

/// Requirement 12; field report R77.
#[tokio::test]
async fn a_page_that_is_listed_can_read_every_refusal() {
    let daemon = daemon();
    let run = run(&daemon).header("origin", PAGE);
    for (ask, status) in [
        (run.clone().path("/other"), 404),
        (run.clone().method("GET"), 405),
        (run.clone().header("content-type", "text/plain"), 415),
        (run.clone().without("authorization"), 401),
        (run.clone().path("/agui/nobody"), 404),
        (run.clone().body("{"), 400),
        (run.clone().body(vec![b' '; 2 * 1024 * 1024]), 413),
        (
            run.clone()
                .path("/agui/info")
                .method("GET")
                .without("authorization"),
            401,
        ),
    ] {
        let answer = ask.send().await;
        assert_eq!(answer.refusal().status, status);
        assert_eq!(
            answer.head.header("access-control-allow-origin"),
            Some(PAGE),
            "{status}"
        );
        assert_eq!(answer.head.header("vary"), Some("origin"), "{status}");
    }
    assert_eq!(daemon.turns(), 0);
    let stream = run.stream().await;
    assert_eq!(
        stream.head.header("access-control-allow-origin"),
        Some(PAGE)
    );
    stream.collect().await;
    daemon.stop().await;
}

/// Requirement 11; field report R76.
#[tokio::test]
async fn a_page_that_is_not_listed_is_told_nothing() {
    let listed = daemon();
    let unlisted = Daemon::start(Demo::new());
    for (daemon, origin) in [(&listed, "https://evil.example"), (&unlisted, PAGE)] {
        for ask in [
            run(daemon),
            run(daemon).without("authorization"),
            daemon.ask("OPTIONS", "/agui/demo"),
            daemon.ask("GET", "/agui/info"),
        ] {
            let answer = ask.header("origin", origin).send().await;
            assert_eq!(answer.code(), (403, "origin_not_allowed".into()));
            assert!(!answer.head.has_cors());
        }
        assert_eq!(daemon.turns(), 0);
    }
    listed.stop().await;
    unlisted.stop().await;
}

#[tokio::test]
async fn r14_the_token_is_asked_for_with_a_challenge_and_is_not_said_back() {
    let daemon = daemon();
    for ask in [run(&daemon), daemon.ask("GET", "/agui/info")] {
        let answer = ask
            .header("authorization", "Bearer s3cret-tokem")
            .send()
            .await;
        assert_eq!(answer.code(), (401, "unauthorized".into()));
        assert_eq!(answer.head.header("www-authenticate"), Some("Bearer"));
        assert!(!String::from_utf8_lossy(&answer.body).contains("s3cret"));
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_refusal_names_the_methods_of_its_path() {
    let daemon = daemon();
    for (method, path, allow) in [
        ("GET", "/agui/demo", "POST, OPTIONS"),
        ("DELETE", "/agui", "POST, OPTIONS"),
        ("POST", "/agui/info", "GET, HEAD, OPTIONS"),
        ("DELETE", "/agui/demo/threads", "GET, HEAD, OPTIONS"),
        (
            "POST",
            "/agui/demo/threads/t1",
            "GET, HEAD, DELETE, OPTIONS",
        ),
        ("PUT", "/agui/demo/threads/t1/events", "GET, OPTIONS"),
        ("GET", "/agui/demo/threads/t1/cancel", "POST, OPTIONS"),
        ("POST", "/healthz", "GET, HEAD"),
    ] {
        let answer = daemon.ask(method, path).send().await;
        assert_eq!(
            answer.code(),
            (405, "method_not_allowed".into()),
            "{method} {path}"
        );
        assert_eq!(answer.head.header("allow"), Some(allow), "{method} {path}");
    }
    daemon.stop().await;
}
