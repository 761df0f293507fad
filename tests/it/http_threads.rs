//! The routes of threads: what they show, whom they know, and how a thread is named in a path.

use agui_serve::{
    cores::demo::Demo,
    env::Env,
    http::{BasePath, Origin},
    protocol::{Message, RunId, ThreadId},
    store::{Begin, Key, Outcome, Store},
};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Answer, Ask, Daemon, NOW, Program, TOKEN, input};

/// Every route of a thread.
const ROUTES: [(&str, &str); 4] = [
    ("GET", ""),
    ("GET", "/events"),
    ("POST", "/cancel"),
    ("DELETE", ""),
];

fn key(principal: &str, thread: &str) -> Key {
    Key {
        principal: principal.into(),
        agent: "demo".into(),
        thread: ThreadId::new(thread).unwrap(),
    }
}

/// Keeps a thread in which one thing was said, whose one run has failed.
async fn keep(store: &Store, key: &Key) {
    let run = RunId::new("r1").unwrap();
    let said: Message =
        serde_json::from_value(json!({"id": "m1", "role": "user", "content": "a secret of mine"}))
            .unwrap();
    let begin = Begin {
        run: run.clone(),
        workdir: Some("/home/somebody".into()),
        title: Some("A title".into()),
        cut: None,
        lines: vec![said.into()],
    };
    store.begin(key, begin).await;
    let outcome = Outcome::Failed {
        code: "agent_error".into(),
        message: "The agent reported an error.".into(),
    };
    store.end(key, &run, outcome).await;
}

fn store() -> Store {
    Store::memory(Env::fixed(NOW))
}

/// A request about a thread that has only what it needs.
fn bare(daemon: &Daemon, method: &str, path: &str) -> Ask {
    daemon.ask(method, path).without("content-type")
}

/// What a person reads of an answer, without the one part that is never the same.
fn without_id(answer: &Answer) -> (u16, String) {
    let body = String::from_utf8(answer.body.clone()).unwrap();
    let (start, rest) = body.split_once("\"requestId\":\"").unwrap();
    let (_, end) = rest.split_once('"').unwrap();
    (answer.head.status, format!("{start}{end}"))
}

#[tokio::test]
async fn report_r73_a_thread_is_shown_with_what_was_said_and_how_it_ended() {
    let store = store();
    keep(&store, &key("local", "t1")).await;
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .store(&store)
        .start();
    let answer = bare(&daemon, "GET", "/agui/demo/threads/t1").send().await;
    assert_eq!(answer.head.status, 200);
    assert_eq!(answer.head.header("cache-control"), Some("no-store"));
    let mut shown = answer.json();
    let state = shown.as_object_mut().unwrap().remove("state");
    assert!(state.is_some());
    assert_eq!(
        shown,
        json!({
            "threadId": "t1",
            "title": "A title",
            "createdAt": NOW,
            "updatedAt": NOW,
            "lastRun": {
                "runId": "r1",
                "outcome": "failed",
                "code": "agent_error",
                "message": "The agent reported an error.",
                "startedAt": NOW,
                "endedAt": NOW,
            },
            "messages": [{"id": "m1", "role": "user", "content": "a secret of mine"}],
            "interrupts": [],
        })
    );
    let text = String::from_utf8(answer.body).unwrap();
    assert!(!text.contains("/home/somebody"), "{text}");
    let head = bare(&daemon, "HEAD", "/agui/demo/threads/t1").send().await;
    assert_eq!((head.head.status, head.body.len()), (200, 0));
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

/// Also field report R74: each is a plain HTTP error.
#[tokio::test]
async fn report_r80_a_thread_of_somebody_else_is_the_same_as_none_on_every_route() {
    let store = store();
    keep(&store, &key("alice", "t1")).await;
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .agent("second", Demo::new())
        .tokens(&[("alice", "token-of-alice"), ("bob", "token-of-bob")])
        .store(&store)
        .start();
    let ask = |method, agent: &str, thread: &str, part: &str, token: &str| {
        let path = format!("/agui/{agent}/threads/{thread}{part}");
        bare(&daemon, method, &path).header("authorization", &format!("Bearer {token}"))
    };
    for (method, part) in ROUTES {
        let none = ask(method, "demo", "nowhere", part, "token-of-bob")
            .send()
            .await;
        assert_eq!(
            none.code(),
            (404, "unknown_thread".into()),
            "{method} {part}"
        );
        for foreign in [
            ask(method, "demo", "t1", part, "token-of-bob"),
            // One's own with another agent is none, either.
            ask(method, "second", "t1", part, "token-of-alice"),
        ] {
            let foreign = foreign.send().await;
            assert_eq!(without_id(&foreign), without_id(&none), "{method} {part}");
            for header in ["content-type", "cache-control", "allow", "retry-after"] {
                let [own, other] = [&foreign, &none].map(|answer| answer.head.header(header));
                assert_eq!(own, other, "{method} {part}: {header}");
            }
        }
    }
    let list = bare(&daemon, "GET", "/agui/demo/threads")
        .header("authorization", "Bearer token-of-bob")
        .send()
        .await;
    assert_eq!(list.json(), json!({"threads": []}));
    let mine = ask("GET", "demo", "t1", "", "token-of-alice").send().await;
    assert_eq!(mine.json()["messages"][0]["content"], "a secret of mine");
    daemon.stop().await;
}

#[tokio::test]
async fn a_thread_that_was_forgotten_is_not_there() {
    let store = store();
    for thread in ["t1", "t2"] {
        keep(&store, &key("local", thread)).await;
    }
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .store(&store)
        .start();
    let t1 = |method| bare(&daemon, method, "/agui/demo/threads/t1");
    let answer = t1("DELETE").send().await;
    assert_eq!((answer.head.status, answer.body.len()), (204, 0));
    for method in ["GET", "DELETE"] {
        let gone = t1(method).send().await;
        assert_eq!(gone.code(), (404, "unknown_thread".into()), "{method}");
    }
    let other = bare(&daemon, "GET", "/agui/demo/threads/t2").send().await;
    assert_eq!(other.head.status, 200);
    daemon.stop().await;
}

#[tokio::test]
async fn a_threads_id_is_one_segment_whatever_stands_in_it() {
    let ids = [
        ("a%2Fb", "a/b"),
        ("a%2fb%2f", "a/b/"),
        ("..", ".."),
        ("%2e%2e%2fetc", "../etc"),
        ("100%25", "100%"),
        ("%252e", "%2e"),
        ("a+b%20c", "a+b c"),
        ("%C3%BC", "ü"),
        ("threads", "threads"),
        ("events", "events"),
        ("%3Fx%23y", "?x#y"),
    ];
    for base in ["/agui", "/"] {
        let store = store();
        for (_, id) in ids {
            keep(&store, &key("local", id)).await;
        }
        let daemon = Daemon::build()
            .agent("demo", Demo::new())
            .http(|options| options.service.path = BasePath::new(base).unwrap())
            .store(&store)
            .start();
        let prefix = BasePath::new(base).unwrap().prefix().to_owned();
        for (segment, id) in ids {
            for slash in ["", "/"] {
                let path = format!("{prefix}/demo/threads/{segment}{slash}");
                let answer = bare(&daemon, "GET", &path).send().await;
                assert_eq!(answer.json()["threadId"], id, "{path}");
            }
        }
        daemon.stop().await;
    }
}

#[tokio::test]
async fn what_is_no_id_is_refused_by_name_and_is_not_said_back() {
    let daemon = Daemon::start(Demo::new());
    let long = "a".repeat(257);
    for (method, part) in ROUTES {
        for segment in ["%00", "%0A", "%zz", "%", "%FF", "%20", long.as_str()] {
            let path = format!("/agui/demo/threads/{segment}{part}");
            let refusal = bare(&daemon, method, &path).send().await.refusal();
            assert_eq!(
                (refusal.status, refusal.code.as_str()),
                (400, "invalid_input"),
                "{path}"
            );
            let start = "the thread in the path must ";
            assert!(refusal.message.starts_with(start), "{}", refusal.message);
            assert!(refusal.message.len() < 100, "{}", refusal.message);
        }
    }
    for nothing in ["/agui/demo/threads//", "/agui/demo/threads//events"] {
        let answer = bare(&daemon, "GET", nothing).send().await;
        assert_eq!(answer.code(), (404, "not_found".into()), "{nothing}");
    }
    daemon.stop().await;
}

/// Requirements 10 and 14; field reports R74 and R77.
#[tokio::test]
async fn each_route_of_threads_is_behind_each_guard() {
    const PAGE: &str = "https://app.example";
    let store = store();
    keep(&store, &key("local", "t1")).await;
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| options.service.origins = vec![Origin::new(PAGE).unwrap()])
        .store(&store)
        .start();
    let list = ("GET", "/agui/demo/threads".to_owned());
    let routes = ROUTES.map(|(method, part)| (method, format!("/agui/demo/threads/t1{part}")));
    for (method, path) in routes.into_iter().chain([list]) {
        let ask = || bare(&daemon, method, &path).header("origin", PAGE);
        for (ask, expected) in [
            (
                ask().header("host", "evil.example"),
                (403, "host_not_allowed"),
            ),
            (
                ask().header("origin", "https://evil.example"),
                (403, "origin_not_allowed"),
            ),
            (ask().method("PUT"), (405, "method_not_allowed")),
            (ask().without("authorization"), (401, "unauthorized")),
            (
                ask().path(&path.replace("demo", "nobody")),
                (404, "unknown_agent"),
            ),
        ] {
            let answer = ask.send().await;
            assert_eq!(
                answer.code(),
                (expected.0, expected.1.into()),
                "{}",
                ask.head()
            );
            let readable = expected.0 != 403;
            assert_eq!(answer.head.has_cors(), readable, "{}", ask.head());
        }
    }
    let old = bare(&daemon, "GET", "/agui/demo/threads/t1/events").version("HTTP/1.0");
    assert_eq!(old.send().await.code(), (505, "http_version".into()));
    let kept = bare(&daemon, "GET", "/agui/demo/threads/t1").send().await;
    assert_eq!(kept.head.status, 200, "nothing was forgotten");
    daemon.stop().await;
}

#[tokio::test]
async fn a_cancel_takes_no_body_or_a_small_one_of_json() {
    let daemon = Daemon::start(Demo::new());
    let cancel = || bare(&daemon, "POST", "/agui/demo/threads/nowhere/cancel");
    let typed = || cancel().header("content-type", "application/json");
    for fine in [
        cancel(),
        cancel().header("content-type", "text/plain"),
        typed(),
        typed().body("{}"),
        typed().body("{\"runId\":\"r1\"}"),
    ] {
        let answer = fine.send().await;
        assert_eq!(
            answer.code(),
            (404, "unknown_thread".into()),
            "{}",
            fine.head()
        );
    }
    let untyped = cancel().body("{}");
    let foreign = cancel().body("{}").header("content-type", "text/plain");
    for ask in [untyped, foreign] {
        let answer = ask.send().await;
        assert_eq!(answer.code(), (415, "unsupported_media_type".into()));
    }
    for (body, status, code) in [
        ("{".to_owned(), 400, "invalid_json"),
        ("[]".into(), 400, "invalid_input"),
        ("{\"runId\":7}".into(), 400, "invalid_input"),
        (
            format!("{{\"x\":\"{}\"}}", "a".repeat(20_000)),
            413,
            "body_too_large",
        ),
    ] {
        let answer = typed().body(body).send().await;
        assert_eq!(answer.code(), (status, code.into()));
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_list_that_is_asked_for_in_vain_names_the_parameter() {
    let daemon = Daemon::start(Demo::new());
    for (query, name) in [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("cursor=elsewhere", "cursor"),
        ("limit=5&cursor=%00", "cursor"),
    ] {
        let path = format!("/agui/demo/threads?{query}");
        let refusal = bare(&daemon, "GET", &path).send().await.refusal();
        assert_eq!((refusal.status, &*refusal.code), (400, "invalid_input"));
        let start = format!("{name} must be ");
        assert!(refusal.message.starts_with(&start), "{}", refusal.message);
    }
    let empty = bare(&daemon, "GET", "/agui/demo/threads?limit=200")
        .send()
        .await;
    assert_eq!(empty.json(), json!({"threads": []}));
    daemon.stop().await;
}

#[tokio::test]
async fn r9_an_agent_may_be_called_threads() {
    let store = store();
    let mut own = key("local", "threads");
    own.agent = "threads".into();
    keep(&store, &own).await;
    let daemon = Daemon::build()
        .agent("threads", Demo::new())
        .store(&store)
        .start();
    let run = daemon
        .ask("POST", "/agui/threads")
        .json(&input("t1", "r1", "say hello"));
    run.stream().await.collect().await;
    let list = bare(&daemon, "GET", "/agui/threads/threads").send().await;
    assert!(list.json()["threads"].is_array());
    let thread = bare(&daemon, "GET", "/agui/threads/threads/threads");
    assert_eq!(thread.send().await.json()["threadId"], "threads");
    daemon.stop().await;
}

/// The lines of the log that say that something was refused.
fn refusals(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line.to_string().contains("request refused"))
        .collect()
}

#[tokio::test]
async fn the_log_says_what_was_refused_so_that_it_can_be_found_and_forges_no_line() {
    let program = Program::new(&["--port", "0"]).with_token().serve().await;
    let ask = |method, path| Ask::new(program.addr(), method, path);
    let wish = json!({"pando": {"model": "a-secret"}});
    let mut input = input("t\u{2028}1", "r1", "x");
    input["forwardedProps"] = wish;
    for ask in [
        ask("GET", "/agui/demo/threads/a%2Fb?token=a-secret"),
        ask("GET", "/agui/demo/threads/%0AINFO%20forged"),
        ask("POST", "/agui/demo").json(&input),
        ask("GET", "/elsewhere"),
    ] {
        ask.send().await.refusal();
    }
    program.signal(Signal::TERM);
    let log = program.end().await.stderr;
    assert!(!log.contains("a-secret") && !log.contains(TOKEN), "{log}");
    let refused = refusals(&log);
    let said: Vec<_> = refused
        .iter()
        .map(|line| {
            let member = |name: &str| {
                let fields = line.get("fields").unwrap_or(line);
                fields.get(name).and_then(Value::as_str).map(str::to_owned)
            };
            (member("code"), member("path"), member("thread"))
        })
        .collect();
    let line = |code: &str, path: &str, thread: Option<&str>| {
        let own = |text: &str| text.to_owned();
        (Some(own(code)), Some(own(path)), thread.map(own))
    };
    assert_eq!(
        said,
        [
            line("unknown_thread", "/agui/demo/threads/a%2Fb", Some("a/b")),
            line("invalid_input", "/agui/demo/threads/%0AINFO%20forged", None),
            line("not_offered", "/agui/demo", Some("t\u{2028}1")),
            line("not_found", "/elsewhere", None),
        ]
    );
}
