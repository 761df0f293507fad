//! What every event on the wire looks like, whoever reads it.

use agui_serve::{
    cores::demo::{Demo, Script},
    deps::StopReason,
};
use serde_json::Value;

use crate::{
    harness::{Daemon, anew},
    stream_reading::said,
    stream_runtime::{asked, violation},
    stream_transcripts::phrases,
};

/// Members whose values are somebody else's JSON.
const OPEN: [&str; 6] = [
    "snapshot", "delta", "value", "result", "rawEvent", "metadata",
];

/// The body of a run for a client that declares this version, on a thread of its own.
async fn body(daemon: &Daemon, prompt: &str, version: Option<&str>) -> String {
    let mut input = anew(&asked(prompt, version));
    input["threadId"] = input["runId"].clone();
    let answer = daemon.post(&input).send().await;
    assert_eq!(answer.head.status, 200);
    String::from_utf8(answer.body).unwrap()
}

/// Whether names are camelCase, values are there, and times are whole, outside of what is open.
fn tidy(value: &Value) -> Result<(), String> {
    match value {
        Value::Null => Err("a null".into()),
        Value::Array(items) => items.iter().try_for_each(tidy),
        Value::Object(members) => members.iter().try_for_each(|(name, value)| {
            let camel = name.chars().all(|c| c.is_ascii_alphanumeric());
            if !camel || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
                return Err(format!("{name} is not camelCase"));
            }
            if name == "timestamp" && value.as_i64().is_none_or(|time| time < 0) {
                return Err(format!("the timestamp {value} is no whole number"));
            }
            if OPEN.contains(&name.as_str()) {
                return Ok(());
            }
            tidy(value)
        }),
        _ => Ok(()),
    }
}

/// Requirements 51, 64 and 65; field report R02.
#[tokio::test]
async fn every_event_of_every_phrase_is_tidy_and_valid() {
    let daemon = Daemon::start(Demo::new());
    // A silent run has comments, and takes its time.
    let is_loud = |phrase: &&String| !phrase.contains("silent");
    for phrase in phrases().await.iter().filter(is_loud) {
        for version in [Some("1.0"), Some("1.7"), None] {
            let body = body(&daemon, phrase, version).await;
            assert_eq!(
                violation(&body, version),
                None,
                "{phrase} {version:?}:\n{body}"
            );
            for frame in body.split_terminator("\n\n") {
                let json = frame
                    .strip_prefix("data: ")
                    .expect("no comment in so short a run");
                let event: Value = serde_json::from_str(json).unwrap();
                assert_eq!(tidy(&event), Ok(()), "{event}");
                assert_eq!(event.get("rawEvent"), None);
            }
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn report_r63_only_a_line_feed_ends_a_line_whatever_is_said() {
    let daemon = Daemon::start(Demo::new());
    let words = "a\r\nb\rc\u{85}d\u{2028}e\u{2029}f\u{b}g\u{c}h data: x\n\ny";
    let prompt = format!("repeat: {words}");
    let raw = body(&daemon, &prompt, Some("1.0")).await;
    assert!(!raw.contains(['\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}']));
    let events = daemon.run(&prompt).await.collect().await;
    assert_eq!(said(&events), words);
    daemon.stop().await;
}

#[tokio::test]
async fn r1_a_run_of_a_client_that_declares_no_version_has_only_what_it_can_read() {
    let stopped = Script::new().say("no").finish(StopReason::Cancelled);
    let daemon = Daemon::start(Demo::playing(stopped));
    let current = body(&daemon, "go", Some("1.0")).await;
    assert!(violation(&current, None).is_some(), "{current}");
    let older = body(&daemon, "go", None).await;
    assert_eq!(violation(&older, None), None, "{older}");
    daemon.stop().await;
}
