//! The library as a program that embeds it sees it: the examples, run as they are, and what they rest on.

use std::{sync::Arc, time::Duration};

use agui_serve::{
    Access, Runtime,
    cores::{Cores, Definition, demo::Demo},
    deps::AgentName,
    engine,
    http::{Secret, ServiceOptions},
};
use http::{Request, Version};
use http_body_util::{BodyExt as _, Full};
use rustix::process::Signal;
use serde_json::json;

use crate::{
    harness::{Ask, Daemon, Program, TOKEN, input, soon},
    stream_reading::{ending, said, types},
};

fn post(addr: std::net::SocketAddr, path: &str, prompt: &str) -> Ask {
    Ask::new(addr, "POST", path).json(&input("t1", "r1", prompt))
}

#[tokio::test]
async fn the_example_of_an_agent_of_ones_own_serves_and_ends_in_order() {
    let program = Program::example("embed", &["0"]).serve().await;
    assert!(program.url().ends_with("/agui"));
    let ask = post(program.addr(), "/agui/parrot", "say it again");
    let events = ask.stream().await.collect().await;
    assert_eq!(said(&events), "say it again");
    assert_eq!(ending(&events), "success");
    program.signal(Signal::INT);
    let ended = program.end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[tokio::test]
async fn the_example_on_axum_streams_beside_other_routes_and_ends_its_streams_in_order() {
    let program = Program::example("axum", &["0"]).serve().await;
    let addr = program.addr();
    let page = Ask::new(addr, "GET", "/").send().await;
    assert_eq!(page.head.status, 200);
    let info = Ask::new(addr, "GET", "/agui/info").send().await.json();
    let url = format!("http://{addr}/agui/demo");
    assert_eq!(info["agents"][0]["url"].as_str(), Some(url.as_str()));

    let mut stream = post(addr, "/agui/demo", "be slow").stream().await;
    stream.until("TEXT_MESSAGE_CONTENT").await;
    program.signal(Signal::INT);
    let last = stream.collect().await;
    assert_eq!(ending(&last), "cancelled");
    let ended = program.end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[tokio::test]
async fn the_guards_are_the_same_on_a_server_that_is_not_ours() {
    let program = Program::example("axum", &["0"]).serve().await;
    let run = || post(program.addr(), "/agui/demo", "say hello");
    for (ask, refused) in [
        (run().header("host", "evil.example"), "host_not_allowed"),
        (
            run().header("origin", "https://evil.example"),
            "origin_not_allowed",
        ),
        (
            run().header("content-type", "text/plain"),
            "unsupported_media_type",
        ),
        (run().path("/agui/nobody"), "unknown_agent"),
        (run().body("{"), "invalid_json"),
        (run().header("content-length", "99999999"), "body_too_large"),
    ] {
        assert_eq!(ask.send().await.code().1, refused);
    }
}

#[tokio::test]
async fn a_service_asks_for_its_token_and_takes_any_body_and_version() {
    use hyper::service::Service as _;
    let demo = Definition {
        name: AgentName::new("demo").unwrap(),
        description: None,
        core: Arc::new(Demo::new()),
    };
    let deps = Arc::new(Cores::new(vec![demo]));
    let runtime = Runtime::new(deps, engine::Options::default());
    let access = Access::Token(Secret::new(TOKEN).unwrap());
    let service = runtime.service(ServiceOptions::default(), access);
    for (token, version, status) in [
        (TOKEN, Version::HTTP_11, 200),
        (TOKEN, Version::HTTP_2, 200),
        ("another", Version::HTTP_11, 401),
        ("another", Version::HTTP_2, 401),
    ] {
        let mut input = input("t1", "r1", "say hello");
        // More than is read of a body that is refused.
        input["context"] = json!([{"description": "x".repeat(100_000), "value": ""}]);
        let mut request = Request::post("https://localhost/agui/demo")
            .version(version)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"));
        if version < Version::HTTP_2 {
            request = request.header("host", "localhost");
        }
        let request = request.body(Full::from(input.to_string())).unwrap();
        let reply = service.call(request).await.unwrap();
        assert_eq!(reply.status(), status);
        let closes = reply.headers().contains_key("connection");
        assert_eq!(closes, status == 401 && version < Version::HTTP_2);
        let body = soon("the answer", reply.into_body().collect()).await;
        assert!(!body.unwrap().to_bytes().is_empty());
    }
    runtime.close().await;
}

#[tokio::test]
async fn r21_a_runtime_goes_on_without_its_listener_and_can_listen_again() {
    let daemon = Daemon::start(Demo::new());
    daemon.listener.shutdown(Duration::ZERO).await;
    daemon.closed().await;
    let options = agui_serve::http::Options {
        addr: daemon.addr,
        ..agui_serve::http::Options::default()
    };
    let again = daemon.runtime.listen(options, Access::Anyone).unwrap();
    assert_eq!(again.addr(), daemon.addr);
    let events = daemon.run("say hello").await.collect().await;
    assert_eq!(types(&events)[0], "RUN_STARTED");
    assert_eq!(ending(&events), "success");
}
