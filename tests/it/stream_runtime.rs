//! Runs against the engine in the process, with a fixed clock and fixed ids: for what must be the same
//! every time. What reaches a client is tested on the socket.

use std::sync::{Arc, LazyLock};

use agui_serve::{
    cores::{
        Cores, Definition,
        demo::{Demo, Script},
    },
    deps::{AgentName, Principal},
    engine::{Options, Runtime},
    env::Env,
    protocol::{
        decode,
        grammar::{check_legacy_stream, check_stream},
    },
};
use jsonschema::Validator;
use serde_json::Value;

use crate::harness::input;

/// What clients declare: the current version, or none as before 1.0.
pub(crate) const PEERS: [(&str, Option<&str>); 2] = [("1.0", Some("1.0")), ("legacy", None)];

/// A request of a client that declares this version.
pub(crate) fn asked(prompt: &str, version: Option<&str>) -> Value {
    let mut input = input("t1", "r1", prompt);
    let members = input.as_object_mut().expect("a request is an object");
    members.shift_remove("protocolVersion");
    if let Some(version) = version {
        members.insert("protocolVersion".into(), version.into());
    }
    input
}

/// An engine whose clock stands and whose ids count from 1, with one agent.
pub(crate) fn runtime(demo: Demo) -> Runtime {
    let cores = Cores::new(vec![Definition {
        name: AgentName::new("demo").unwrap(),
        description: None,
        core: Arc::new(demo),
    }]);
    let options = Options::default();
    Runtime::with_env(Arc::new(cores), options, Env::fixed(1_700_000_000_000))
}

/// All frames of a run, as they would be written to a client.
pub(crate) async fn body(runtime: &Runtime, input: &Value) -> String {
    let input = decode::run_input(input.to_string().as_bytes())
        .expect("a good request")
        .input;
    let agent = AgentName::new("demo").unwrap();
    let mut reader = runtime
        .start(&agent, &Principal::local(), input)
        .await
        .expect("a free thread");
    let mut body = Vec::new();
    while let Some(frames) = reader.next().await {
        for frame in frames {
            body.extend_from_slice(&frame);
        }
    }
    String::from_utf8(body).expect("frames are text")
}

/// The events of a body, each as one line of JSON.
pub(crate) fn lines(body: &str) -> Vec<&str> {
    body.split_terminator("\n\n")
        .filter_map(|frame| frame.strip_prefix("data: "))
        .collect()
}

/// What is wrong with a body for a client that declares this version, if anything.
pub(crate) fn violation(body: &str, version: Option<&str>) -> Option<String> {
    let events = match version {
        Some(_) => check_stream(body),
        None => check_legacy_stream(body),
    };
    let schema = event_schema();
    let invalid = |line: &&str| {
        let event: Value = serde_json::from_str(line).ok()?;
        let error = schema.iter_errors(&event).next()?;
        Some(format!("{error} at {}: {line}", error.instance_path()))
    };
    match events {
        Err(violation) => Some(violation.to_string()),
        Ok(_) => lines(body).iter().find_map(invalid),
    }
}

/// The schema of AG-UI 1.0 for one event.
fn event_schema() -> &'static Validator {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
        let text = include_str!("../fixtures/agui-1.0.schema.json");
        let mut schema: Value = serde_json::from_str(text).expect("the schema is JSON");
        schema["$ref"] = "#/$defs/Event".into();
        jsonschema::validator_for(&schema).expect("the schema is one")
    });
    &SCHEMA
}

/// A script's run as a client of this version reads it.
pub(crate) async fn play(script: Script, version: Option<&str>) -> String {
    body(&runtime(Demo::playing(script)), &asked("go", version)).await
}
