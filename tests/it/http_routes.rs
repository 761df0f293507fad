//! Where things are, and what is said about the daemon.

use agui_serve::{
    cores::demo::Demo,
    deps::AgentName,
    engine::{Approval, Limits, Policy, Prompts},
    http::{BasePath, HostName, Origin},
};
use serde_json::json;

use crate::harness::{Daemon, Puppet, TOKEN, Turn, input};

fn under(path: &str) -> Daemon {
    Daemon::build()
        .agent("demo", Demo::new())
        .agent("second", Demo::new())
        .http(|options| options.service.path = BasePath::new(path).unwrap())
        .start()
}

/// Requirements 9 and 20; field report R86.
#[tokio::test]
async fn the_base_path_may_be_written_in_any_way() {
    for (path, runs) in [
        (
            "/agui",
            [
                "/agui",
                "/agui/",
                "/agui/demo",
                "/agui/demo/",
                "/agui/second",
            ],
        ),
        ("/x/", ["/x", "/x/", "/x/demo", "/x/demo/", "/x/second"]),
        ("/", ["/", "/demo", "/demo/", "/second", "/second/"]),
    ] {
        let daemon = under(path);
        let below = BasePath::new(path).unwrap().prefix().to_owned();
        assert_eq!(daemon.url, format!("http://{}{below}", daemon.addr));
        for run in runs {
            let ask = daemon.ask("POST", run).json(&input(run, "r1", "say hello"));
            assert_eq!(ask.send().await.head.status, 200, "{path} {run}");
        }
        for route in ["/healthz", "/readyz"] {
            for probe in [route.to_owned(), format!("{below}{route}")] {
                let answer = daemon.ask("GET", &probe).send().await;
                assert_eq!(answer.head.status, 200, "{path} {probe}");
            }
        }
        for nothing in [
            "//agui",
            "//healthz",
            "/favicon.ico/x",
            "/agui/demo/threads/x/y",
            "/../etc",
        ] {
            let answer = daemon.ask("GET", nothing).send().await;
            assert_eq!(answer.code(), (404, "not_found".into()), "{path} {nothing}");
        }
        daemon.stop().await;
    }
}

#[tokio::test]
async fn report_r86_a_probe_needs_nothing_and_is_told_nothing() {
    let daemon = under("/agui");
    for method in ["GET", "HEAD"] {
        for path in ["/healthz", "/readyz", "/agui/healthz", "/agui/readyz"] {
            let ask = daemon
                .ask(method, path)
                .without("authorization")
                .without("content-type")
                .header("host", "10.1.2.3:9");
            let answer = ask.send().await;
            assert_eq!(answer.head.status, 200, "{method} {path}");
            if method == "GET" {
                assert_eq!(answer.json(), json!({"status": "ok"}));
            }
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_daemon_that_drains_is_alive_and_says_so_but_is_not_ready_and_starts_nothing() {
    let (daemon, mut stream, turn) = Daemon::puppet().await;
    stream.until("STATE_SNAPSHOT").await;
    let closing = daemon.runtime.close();
    let watching = async {
        turn.stopped().await;
        let live = daemon.ask("GET", "/healthz").send().await;
        let ready = daemon.ask("GET", "/readyz").send().await;
        let run = daemon.post(&input("t2", "r1", "go")).send().await;
        turn.end(Ok(agui_serve::deps::StopReason::Cancelled));
        (live, ready, run)
    };
    let ((), (live, ready, run)) = tokio::join!(closing, watching);
    assert_eq!(
        (live.head.status, live.json()),
        (200, json!({"status": "draining"}))
    );
    assert_eq!(
        (ready.head.status, ready.json()),
        (503, json!({"status": "draining"}))
    );
    assert_eq!(run.code(), (503, "draining".into()));
    assert_eq!(run.head.header("retry-after"), Some("5"));
    daemon.stop().await;
}

#[tokio::test]
async fn a_daemon_that_is_full_says_when_to_come_back() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build()
        .agent("demo", puppet)
        .engine(|options| {
            options.limits = Limits {
                max_turns: 1,
                ..Limits::default()
            };
        })
        .start();
    let stream = daemon.run("go").await;
    let turn = Turn::next(&mut turns).await;
    for (thread, expected) in [("t1", (409, "thread_busy")), ("t2", (503, "too_many_runs"))] {
        let answer = daemon.post(&input(thread, "r2", "go")).send().await;
        assert_eq!(answer.code(), (expected.0, expected.1.into()));
        assert!(answer.head.header("retry-after").is_some());
    }
    turn.end(Ok(agui_serve::deps::StopReason::EndTurn));
    stream.collect().await;
    assert_eq!(daemon.turns(), 1);
    daemon.stop().await;
}

/// Requirements 26, 27, 28, 29 and 31.
#[tokio::test]
async fn info_describes_the_agents_and_starts_none() {
    let daemon = under("/agui");
    let answer = daemon
        .ask("GET", "/agui/info")
        .without("content-type")
        .send()
        .await;
    assert_eq!(answer.head.status, 200);
    assert_eq!(answer.head.header("cache-control"), Some("no-store"));
    let info = answer.json();
    assert_eq!(info["protocol"], "ag-ui");
    assert_eq!(info["protocolVersion"], "1.0");
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["path"], "/agui");
    assert_eq!(
        info["capabilities"],
        json!({"frontendTools": true, "humanInTheLoop": true, "sharedState": true, "interrupts": true})
    );
    let agents = info["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 2);
    for (agent, name) in agents.iter().zip(["demo", "second"]) {
        assert_eq!(agent["name"], name);
        assert_eq!(agent["description"], format!("the agent called {name}"));
        assert_eq!(agent["url"], format!("http://{}/agui/{name}", daemon.addr));
        assert!(agent["capabilities"].is_object());
        assert!(agent["model"]["id"].is_string());
    }
    let text = String::from_utf8(answer.body).unwrap();
    assert!(!text.contains(TOKEN) && !text.contains("null"), "{text}");
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn r29_what_the_daemon_can_do_follows_its_configuration_and_its_agents() {
    let off = || Policy {
        frontend_tools: false,
        prompts: Prompts {
            approval: Approval::Denied,
            questions: false,
            ..Prompts::default()
        },
        ..Policy::default()
    };
    for (policies, anything) in [([off(), off()], false), ([off(), Policy::default()], true)] {
        let daemon = Daemon::build()
            .agent("demo", Demo::new())
            .agent("second", Demo::new())
            .engine(|options| {
                let names = ["demo", "second"].map(|name| AgentName::new(name).unwrap());
                options.agents = names.into_iter().zip(policies).collect();
            })
            .start();
        let info = daemon.ask("GET", "/agui/info").send().await.json();
        assert_eq!(
            info["capabilities"],
            json!({"frontendTools": anything, "humanInTheLoop": anything, "sharedState": true, "interrupts": anything})
        );
        let [first, second] = [0, 1].map(|index| &info["agents"][index]["capabilities"]);
        assert_eq!(first["tools"]["clientProvided"], false);
        assert_eq!(second["tools"]["clientProvided"], anything);
        assert_eq!(
            second["humanInTheLoop"],
            json!({"supported": anything, "approvals": anything, "interrupts": anything, "approveWithEdits": false})
        );
        daemon.stop().await;
    }
    // An agent that asks nobody anything.
    let (puppet, _turns) = Puppet::new();
    let daemon = Daemon::start(puppet);
    let info = daemon.ask("GET", "/agui/info").send().await.json();
    assert_eq!(
        info["capabilities"],
        json!({"frontendTools": false, "humanInTheLoop": false, "sharedState": true, "interrupts": false})
    );
    daemon.stop().await;
}

/// Requirements 27 and 30.
#[tokio::test]
async fn an_agents_url_is_that_of_the_requests_host_and_works_as_it_is() {
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| options.service.hosts = vec![HostName::new("agents.example").unwrap()])
        .start();
    for host in ["localhost:1234", "agents.example", "[::1]:8787"] {
        let ask = daemon
            .ask("GET", "/agui/info")
            .header("host", host)
            .header("x-forwarded-host", "evil.example")
            .header("forwarded", "host=evil.example");
        let info = ask.send().await.json();
        assert_eq!(info["agents"][0]["url"], format!("http://{host}/agui/demo"));
    }
    let info = daemon.ask("GET", "/agui/info").send().await.json();
    let url = info["agents"][0]["url"].as_str().unwrap().to_owned();
    let path = url
        .strip_prefix(&format!("http://{}", daemon.addr))
        .unwrap();
    let ask = daemon
        .ask("POST", path)
        .json(&input("t1", "r1", "say hello"));
    assert_eq!(ask.send().await.head.status, 200);
    daemon.stop().await;
}

/// Requirement 12; field report R77.
#[tokio::test]
async fn a_preflight_allows_what_it_asks_for_before_any_token() {
    let page = "http://localhost:3000";
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| options.service.origins = vec![Origin::new(page).unwrap()])
        .start();
    let preflight = |path: &str, method: &str| {
        daemon
            .ask("OPTIONS", path)
            .without("authorization")
            .without("content-type")
            .header("origin", page)
            .header("access-control-request-method", method)
    };
    let asked = "authorization, content-type, x-copilotcloud-public-api-key";
    let answer = preflight("/agui/demo", "POST")
        .header("access-control-request-headers", asked)
        .send()
        .await;
    assert_eq!(answer.head.status, 204);
    for (name, value) in [
        ("access-control-allow-origin", Some(page)),
        ("access-control-allow-methods", Some("POST, OPTIONS")),
        ("access-control-allow-headers", Some(asked)),
        ("access-control-max-age", Some("600")),
        ("access-control-allow-private-network", None),
        ("vary", Some("origin")),
    ] {
        assert_eq!(answer.head.header(name), value, "{name}");
    }
    let private =
        preflight("/agui/info", "GET").header("access-control-request-private-network", "true");
    let answer = private.send().await;
    assert_eq!(
        answer.head.header("access-control-allow-private-network"),
        Some("true")
    );
    assert_eq!(
        answer.head.header("access-control-allow-methods"),
        Some("GET, HEAD, OPTIONS")
    );
    for (path, methods) in [
        ("/agui/demo/threads", "GET, HEAD, OPTIONS"),
        ("/agui/demo/threads/t1", "GET, HEAD, DELETE, OPTIONS"),
        ("/agui/demo/threads/t1/events", "GET, OPTIONS"),
        ("/agui/demo/threads/t1/cancel", "POST, OPTIONS"),
    ] {
        let answer = preflight(path, "GET").send().await;
        let allowed = answer.head.header("access-control-allow-methods");
        assert_eq!(
            (answer.head.status, allowed),
            (204, Some(methods)),
            "{path}"
        );
    }
    assert_eq!(daemon.turns(), 0);
    daemon.stop().await;
}

#[tokio::test]
async fn r13_without_a_token_and_without_a_page_whoever_reaches_the_socket_may_call() {
    let daemon = Daemon::build().agent("demo", Demo::new()).anyone().start();
    let ask = daemon
        .post(&input("t1", "r1", "say hello"))
        .without("authorization");
    ask.stream().await.collect().await;
    let answer = ask.header("origin", "http://localhost:3000").send().await;
    assert_eq!(answer.code(), (403, "origin_not_allowed".into()));
    daemon.stop().await;
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_to_go_on() {
    let daemon = under("/agui");
    let mut client = daemon.connect().await;
    let body = input("t1", "r1", "say hello").to_string();
    let ask = daemon
        .ask("POST", "/agui/demo")
        .header("content-length", &body.len().to_string())
        .header("expect", "100-continue");
    client.send(ask.head().as_bytes()).await;
    assert_eq!(client.head().await.status, 100);
    client.send(body.as_bytes()).await;
    assert_eq!(client.answer("POST").await.head.status, 200);
    daemon.stop().await;
}

#[tokio::test]
async fn a_connection_above_the_limit_waits_until_another_ends() {
    let daemon = Daemon::build()
        .agent("demo", Demo::new())
        .http(|options| options.max_connections = 1)
        .start();
    let probe = daemon.ask("GET", "/healthz");
    let mut first = daemon.connect().await;
    probe.on(&mut first).await;
    assert_eq!(first.answer("GET").await.head.status, 200);
    let mut second = daemon.connect().await;
    probe.on(&mut second).await;
    probe.on(&mut first).await;
    assert_eq!(first.answer("GET").await.head.status, 200);
    assert!(second.heard_nothing());
    drop(first);
    assert_eq!(second.answer("GET").await.head.status, 200);
    daemon.stop().await;
}
