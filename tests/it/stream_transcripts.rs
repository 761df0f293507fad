//! What every phrase of the demo core makes on the wire, event by event.

use agui_serve::{
    cores::demo::{Demo, Script},
    deps::{Code, CoreEvent, StopReason},
    protocol::{Content, Part, PartKind, Source, TokenUsage},
};
use insta::{Settings, assert_snapshot};

use crate::{
    stream_reading::said,
    stream_runtime::{PEERS, asked, body, lines, runtime, violation},
};

/// What the help of the demo lists that does not end by itself, takes long, or is no phrase.
const NO_TRANSCRIPT: [&str; 5] = [
    "use a slow tool",
    "be slow",
    "ignore stop",
    "be silent",
    "repeat",
];

/// Every phrase that the demo's own help lists and whose run ends soon by itself, with a number for `N`.
pub(crate) async fn phrases() -> Vec<String> {
    let help = body(&runtime(Demo::new()), &asked("help", Some("1.0"))).await;
    let events = lines(&help).into_iter().map(serde_json::from_str);
    let help = said(&events.collect::<Result<Vec<_>, _>>().unwrap());
    let rows = help.lines().filter_map(|line| line.strip_prefix("- "));
    let phrases = rows.map(|row| row.split_once(':').expect("a row says what comes of it").0);
    let mut phrases: Vec<_> = phrases.map(|phrase| phrase.replace('N', "3")).collect();
    for exception in NO_TRANSCRIPT {
        let at = phrases.iter().position(|phrase| phrase == exception);
        phrases.remove(at.expect("an exception is in the book"));
    }
    phrases
}

/// Plays a phrase or a script for both kinds of client and compares with what was recorded; a client
/// from before 1.0 has a record of its own where it gets anything else.
async fn check(name: &str, demo: Demo, prompt: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut transcripts = Vec::new();
    for (peer, version) in PEERS {
        let body = body(&runtime(demo.clone()), &asked(prompt, version)).await;
        assert_eq!(
            violation(&body, version),
            None,
            "{name} for {peer}:\n{body}"
        );
        transcripts.push(lines(&body).join("\n"));
    }
    settings.bind(|| {
        assert_snapshot!(name, transcripts[0]);
        if transcripts[1] != transcripts[0] {
            assert_snapshot!(format!("{name}.legacy"), transcripts[1]);
        }
    });
}

#[tokio::test(start_paused = true)]
async fn the_transcript_of_every_phrase_is_as_recorded_for_both_kinds_of_client() {
    for phrase in phrases().await {
        let words = phrase.replace('\'', "");
        let words: Vec<_> = words.split([' ', ',', '-']).collect();
        let name = words.join("_").replace("__", "_");
        check(&name, Demo::new(), &phrase).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_older_clients_cannot_read_is_as_recorded_for_both_kinds_of_client() {
    let picture = Source::Data {
        value: "AA==".into(),
        mime_type: "image/png".into(),
    };
    let parts = vec![
        Part::text("a picture"),
        Part {
            kind: PartKind::Image { source: picture },
            id: None,
            metadata: None,
        },
    ];
    let spent = TokenUsage {
        output_tokens: Some(3),
        ..TokenUsage::default()
    };
    for (name, script) in [
        (
            "cancelled_by_the_core",
            Script::new()
                .say("I stop here.")
                .finish(StopReason::Cancelled),
        ),
        (
            "a_result_in_parts",
            Script::new()
                .open("call", "draw")
                .close("call")
                .emit(CoreEvent::ToolCallResult {
                    call: "call".into(),
                    content: Content::Parts(parts),
                    failed: false,
                }),
        ),
        (
            "a_failure_with_usage_and_open_calls",
            Script::new()
                .usage(spent)
                .think("Well")
                .open("a", "one")
                .open("b", "two")
                .close("b")
                .fail(Code::DemoFailure, "it did not work"),
        ),
    ] {
        check(name, Demo::playing(script), "go").await;
    }
}

#[tokio::test]
async fn the_same_request_makes_the_same_bytes() {
    for (_, version) in PEERS {
        let input = asked("use two tools at once", version);
        let first = body(&runtime(Demo::new()), &input).await;
        assert_eq!(first, body(&runtime(Demo::new()), &input).await);
    }
}
