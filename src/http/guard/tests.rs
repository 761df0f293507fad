use http::{
    Request,
    header::{AUTHORIZATION, HOST, ORIGIN},
};

use super::*;
use crate::http::{Origin, Secret};

const PAGE: &str = "https://app.example";

/// A request that is wrong in the places that are set.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a place that is wrong or not"
)]
struct Wrong {
    host: bool,
    origin: bool,
    path: bool,
    method: bool,
    media_type: bool,
    token: bool,
    agent: bool,
    version: bool,
    thread: bool,
}

/// A route, and which guards stand in front of it.
#[derive(Debug, Clone, Copy)]
struct Way {
    method: &'static str,
    /// What follows the agent; `{}` stands for the thread.
    path: &'static str,
    has_body: bool,
    streams: bool,
}

const fn way(method: &'static str, path: &'static str, has_body: bool, streams: bool) -> Way {
    Way {
        method,
        path,
        has_body,
        streams,
    }
}

const RUN: Way = way("POST", "", true, true);

const WAYS: [Way; 7] = [
    RUN,
    way("GET", "/threads", false, false),
    way("GET", "/threads/{}", false, false),
    way("DELETE", "/threads/{}", false, false),
    way("GET", "/threads/{}/events", false, true),
    way("POST", "/threads/{}/cancel", true, false),
    way("POST", "/threads/{}/cancel", false, false),
];

impl Wrong {
    const BITS: u32 = 9;

    fn from_bits(bits: u16) -> Self {
        let bit = |at: u8| bits & (1 << at) != 0;
        Self {
            host: bit(0),
            origin: bit(1),
            path: bit(2),
            method: bit(3),
            media_type: bit(4),
            token: bit(5),
            agent: bit(6),
            version: bit(7),
            thread: bit(8),
        }
    }

    fn head(self, way: Way) -> Parts {
        let pick =
            |wrong: bool, bad: &'static str, good: &'static str| if wrong { bad } else { good };
        let agent = pick(self.agent, "nobody", "demo");
        let base = pick(self.path, "/elsewhere", "/agui");
        let below = way.path.replace("{}", pick(self.thread, "%00", "t%2F1"));
        let request = Request::builder()
            .method(pick(self.method, "PUT", way.method))
            .uri(format!("{base}/{agent}{below}"))
            .version(if self.version {
                Version::HTTP_10
            } else {
                Version::HTTP_11
            })
            .header(HOST, pick(self.host, "evil.example", "localhost:8787"))
            .header(ORIGIN, pick(self.origin, "https://evil.example", PAGE))
            .header(
                CONTENT_TYPE,
                pick(self.media_type, "text/plain", "application/json"),
            )
            .header(AUTHORIZATION, pick(self.token, "Bearer no", "Bearer yes"));
        request.body(()).unwrap().into_parts().0
    }

    /// The code of the first guard that must refuse; written down apart from the guards themselves.
    fn expected(self, way: Way) -> Option<&'static str> {
        let of_thread = way.path.contains("{}");
        [
            (self.host, "host_not_allowed"),
            (self.origin, "origin_not_allowed"),
            (self.path, "not_found"),
            (self.method, "method_not_allowed"),
            (self.media_type && way.has_body, "unsupported_media_type"),
            (self.token, "unauthorized"),
            (self.agent, "unknown_agent"),
            (self.version && way.streams, "http_version"),
            (self.thread && of_thread, "invalid_input"),
        ]
        .into_iter()
        .find_map(|(wrong, code)| wrong.then_some(code))
    }
}

fn agents() -> Vec<Agent> {
    ["demo", "second"]
        .map(|name| Agent::new(AgentName::new(name).unwrap()))
        .into()
}

fn judge(head: &Parts, see: impl FnOnce(Verdict<'_>)) {
    judge_with(head, true, see);
}

fn judge_with(head: &Parts, has_body: bool, see: impl FnOnce(Verdict<'_>)) {
    let options = ServiceOptions {
        origins: vec![Origin::new(PAGE).unwrap()],
        ..ServiceOptions::default()
    };
    let access = Access::Token(Secret::new("yes").unwrap());
    see(admit(&options, &access, &agents(), head, has_body));
}

/// Requirements 7, 10, 12 and 14; field report R76.
#[test]
fn each_combination_is_refused_by_the_first_guard_that_it_offends() {
    for (way, bits) in WAYS
        .into_iter()
        .flat_map(|way| (0..1 << Wrong::BITS).map(move |bits| (way, bits)))
    {
        let wrong = Wrong::from_bits(bits);
        judge_with(&wrong.head(way), way.has_body, |verdict| {
            let code = verdict.outcome.as_ref().err().map(Problem::code);
            assert_eq!(code, wrong.expected(way), "{way:?} {wrong:?}");
            let page_can_read = !wrong.host && !wrong.origin;
            assert_eq!(verdict.grant.is_some(), page_can_read, "{wrong:?}");
        });
    }
}

#[test]
fn what_is_done_with_a_thread_is_said_by_path_and_method() {
    for (way, expected) in [
        (WAYS[2], Deed::Show),
        (way("HEAD", "/threads/{}", false, false), Deed::Show),
        (WAYS[3], Deed::Forget),
        (WAYS[4], Deed::Watch),
        (WAYS[5], Deed::Cancel),
        (WAYS[6], Deed::Cancel),
    ] {
        judge_with(&Wrong::default().head(way), way.has_body, |verdict| {
            let Ok(Admitted::Thread { key, deed }) = verdict.outcome else {
                panic!("{way:?}: {:?}", verdict.outcome);
            };
            assert_eq!(deed, expected);
            assert_eq!((&*key.principal, &*key.agent), ("local", "demo"));
            assert_eq!(key.thread.as_str(), "t/1");
        });
    }
}

#[test]
fn report_r86_a_probe_needs_neither_name_nor_page_nor_token() {
    for path in ["/healthz", "/readyz", "/agui/healthz", "/agui/readyz"] {
        for (method, passes) in [
            ("GET", true),
            ("HEAD", true),
            ("POST", false),
            ("OPTIONS", false),
        ] {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header(ORIGIN, "https://evil.example");
            let (head, ()) = request.body(()).unwrap().into_parts();
            judge(&head, |verdict| {
                assert!(verdict.grant.is_none());
                match verdict.outcome {
                    Ok(Admitted::Probe(_)) => assert!(passes, "{method} {path}"),
                    other => assert!(!passes, "{method} {path}: {other:?}"),
                }
            });
        }
    }
}

#[test]
fn report_r77_a_preflight_is_answered_before_the_token_but_not_before_host_and_origin() {
    for (host, origin, path, code) in [
        ("localhost", PAGE, "/agui/demo", None),
        ("localhost", PAGE, "/agui/info", None),
        ("localhost", PAGE, "/agui/demo/threads", None),
        ("localhost", PAGE, "/agui/demo/threads/t1", None),
        ("localhost", PAGE, "/agui/demo/threads/t1/events", None),
        ("localhost", PAGE, "/agui/demo/threads/t1/cancel", None),
        ("localhost", PAGE, "/nothing", Some("not_found")),
        ("evil", PAGE, "/agui/demo", Some("host_not_allowed")),
        (
            "localhost",
            "https://evil.example",
            "/agui/demo",
            Some("origin_not_allowed"),
        ),
    ] {
        let request = Request::builder()
            .method("OPTIONS")
            .uri(path)
            .header(HOST, host)
            .header(ORIGIN, origin);
        let (head, ()) = request.body(()).unwrap().into_parts();
        judge(&head, |verdict| match verdict.outcome {
            Ok(Admitted::Preflight { .. }) => assert_eq!(code, None, "{path}"),
            Ok(other) => panic!("{other:?}"),
            Err(problem) => assert_eq!(Some(problem.code()), code, "{path}"),
        });
    }
}

#[test]
fn r9_a_run_without_a_name_is_the_first_agents() {
    for (path, name) in [
        ("/agui", "demo"),
        ("/agui/", "demo"),
        ("/agui/second", "second"),
    ] {
        let mut head = Wrong::default().head(RUN);
        head.uri = path.parse().unwrap();
        judge(&head, |verdict| match verdict.outcome {
            Ok(Admitted::Run { agent, .. }) => assert_eq!(agent.as_str(), name),
            other => panic!("{path}: {other:?}"),
        });
    }
}

#[test]
fn only_plain_json_in_utf_8_is_read() {
    for (fits, lines) in [
        (true, &[("content-type", "application/json")][..]),
        (true, &[("content-type", "Application/JSON; charset=UTF-8")]),
        (
            true,
            &[("content-type", "application/json;charset=\"utf-8\"; x=y")],
        ),
        (
            true,
            &[
                ("content-type", "application/json"),
                ("content-encoding", "identity"),
            ],
        ),
        (false, &[]),
        (false, &[("content-type", "")]),
        (false, &[("content-type", "text/plain")]),
        (false, &[("content-type", "application/jsonx")]),
        (false, &[("content-type", "text/plain; application/json")]),
        (
            false,
            &[("content-type", "application/json; charset=latin1")],
        ),
        (
            false,
            &[
                ("content-type", "application/json"),
                ("content-type", "text/plain"),
            ],
        ),
        (
            false,
            &[
                ("content-type", "application/json"),
                ("content-encoding", "gzip"),
            ],
        ),
    ] {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = http::HeaderName::from_static(name);
            headers.append(name, http::HeaderValue::from_static(value));
        }
        assert_eq!(media_type(&headers).is_ok(), fits, "{lines:?}");
    }
}
