//! From what a core says to what a client shows.

use std::collections::HashSet;

use agui_serve::{
    cores::demo::{Demo, Script},
    deps::CoreEvent,
    protocol::{Content, Part, PartKind, Source},
};
use serde_json::{Value, json};

use crate::{
    harness::{Daemon, anew},
    stream_reading::{Shown, call, said, shown, text, types},
    stream_runtime::asked,
};

/// What a script makes on the wire.
async fn events(script: Script) -> Vec<Value> {
    let daemon = Daemon::start(Demo::playing(script));
    let events = daemon.run("go").await.collect().await;
    daemon.stop().await;
    events
}

/// The events after the run's beginning and before its end.
fn middle(events: &[Value]) -> Vec<&str> {
    let types = types(events);
    assert_eq!(
        types[..3],
        ["RUN_STARTED", "STATE_SNAPSHOT", "STATE_DELTA"],
        "the session is bound first"
    );
    types[3..types.len() - 1].to_vec()
}

/// Requirement 66; field report R65.
#[tokio::test]
async fn text_is_one_message_without_empty_deltas() {
    let events = events(Script::new().deltas(["", "a", "", " b", ""])).await;
    assert_eq!(
        middle(&events),
        [
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
        ]
    );
    assert_eq!(shown(&events), [text("a b")]);
    let start = events.iter().find(|e| e["type"] == "TEXT_MESSAGE_START");
    assert_eq!(start.unwrap()["role"], "assistant");
}

#[tokio::test]
async fn report_r65_where_nothing_is_said_there_is_no_message() {
    for script in [
        Script::new(),
        Script::new().deltas(["", ""]),
        Script::new().message_end().think("").message_end(),
    ] {
        let events = events(script.clone()).await;
        assert_eq!(middle(&events), Vec::<&str>::new(), "{script:?}");
    }
}

#[tokio::test]
async fn what_is_said_of_a_call_names_it_as_the_client_does() {
    let about = |call: &str| CoreEvent::Notice {
        name: "acp.locations".into(),
        call: Some(call.into()),
        value: json!({"path": "a.txt"}),
    };
    let script = Script::new()
        .emit(CoreEvent::ToolCallOpened {
            call: "mine".into(),
            name: "edit".into(),
        })
        .emit(about("mine"))
        .emit(about("unheard-of"));
    let events = events(script).await;
    let call = events.iter().find(|e| e["type"] == "TOOL_CALL_START");
    let id = call.unwrap()["toolCallId"].clone();
    assert_ne!(id, "mine");
    let said: Vec<_> = events.iter().filter(|e| e["type"] == "CUSTOM").collect();
    assert_eq!(said[0]["name"], "pando.acp.locations");
    assert_eq!(said[0]["value"], json!({"toolCallId": id, "path": "a.txt"}));
    assert_eq!(said[1]["value"], json!({"path": "a.txt"}));
}

#[tokio::test]
async fn r66_a_message_that_ends_is_not_resumed() {
    let events = events(Script::new().say("one").message_end().say("two")).await;
    assert_eq!(shown(&events), [text("one"), text("two")]);
}

#[tokio::test]
async fn r67_reasoning_has_one_id_and_is_closed_before_anything_else_begins() {
    let script =
        Script::new()
            .think("well now")
            .say("yes")
            .think("hm")
            .call("a", "look", [], "seen");
    let events = events(script).await;
    let reasoning = [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
    ];
    assert_eq!(middle(&events)[..7], reasoning);
    let ids: HashSet<_> = events[3..9].iter().map(|e| &e["messageId"]).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(events[4]["role"], "reasoning");
    let thought = |text: &str| Shown::Thought(text.into());
    assert_eq!(
        shown(&events),
        [
            thought("well now"),
            text("yes"),
            thought("hm"),
            call("look", "{}", "seen"),
        ]
    );
}

#[tokio::test]
async fn r68_the_fragments_of_a_call_are_exactly_its_arguments() {
    let fragments = ["{\"a\":", " \"\\u00e9", "é\n", "\", \"n\": 1.50", "}"];
    let events = events(Script::new().call("core-id", "look", fragments, "seen")).await;
    assert_eq!(shown(&events), [call("look", &fragments.concat(), "seen")]);
    let (start, result) = (&events[3], &events[events.len() - 2]);
    assert_ne!(
        start["toolCallId"], "core-id",
        "ids on the wire are the daemon's"
    );
    assert!(start["parentMessageId"].is_string());
    assert_eq!(result["role"], "tool");
    assert_ne!(result["messageId"], start["parentMessageId"]);
}

#[tokio::test]
async fn r69_a_result_of_a_call_that_was_never_opened_opens_it_first() {
    let events = events(Script::new().result("a", "seen")).await;
    assert_eq!(
        middle(&events),
        [
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
        ]
    );
    assert_eq!(shown(&events), [call("tool", "{}", "seen")]);
}

#[tokio::test]
async fn r69_a_close_or_a_fragment_of_an_unknown_call_is_nothing() {
    let events = events(Script::new().close("a").args("a", "{").say("yes")).await;
    assert_eq!(shown(&events), [text("yes")]);
}

#[tokio::test]
async fn r70_calls_that_are_told_of_only_at_completion_are_all_there() {
    let script = Script::new()
        .say("I have looked.")
        .call("a", "look", ["{\"at\":\"a\"}"], "seen a")
        .call("b", "look", ["{\"at\":\"b\"}"], "seen b");
    assert_eq!(
        shown(&events(script).await),
        [
            text("I have looked."),
            call("look", "{\"at\":\"a\"}", "seen a"),
            call("look", "{\"at\":\"b\"}", "seen b"),
        ]
    );
}

#[tokio::test]
async fn a_call_is_opened_closed_and_answered_once_whatever_a_core_repeats() {
    let script = Script::new()
        .open("a", "look")
        .open("a", "look again")
        .args("a", "{}")
        .close("a")
        .close("a")
        .args("a", "{}")
        .result("a", "seen")
        .result("a", "seen again")
        .open("a", "look once more");
    let events = events(script).await;
    assert_eq!(shown(&events), [call("look", "{}", "seen")]);
    let ends = middle(&events);
    assert_eq!(ends.iter().filter(|t| **t == "TOOL_CALL_END").count(), 1);
}

#[tokio::test]
async fn report_r30_arguments_that_are_empty_or_blank_become_an_empty_object() {
    for fragments in [&[][..], &[""], &["", ""], &[" \n"]] {
        let script = Script::new().call("a", "look", fragments.iter().copied(), "seen");
        let events = events(script).await;
        let [Shown::Call { arguments, .. }] = &shown(&events)[..] else {
            panic!("{events:?}");
        };
        let object: Value = serde_json::from_str(arguments).unwrap();
        assert_eq!(object, json!({}), "{fragments:?}");
    }
}

#[tokio::test]
async fn report_r34_a_result_is_text_or_parts_and_an_older_client_gets_text() {
    let picture = || Part {
        kind: PartKind::Image {
            source: Source::Data {
                value: "AA==".into(),
                mime_type: "image/png".into(),
            },
        },
        id: None,
        metadata: None,
    };
    for (content, current, older) in [
        (Content::Text(String::new()), json!(""), json!("")),
        (
            Content::Text("{\"a\": 1}".into()),
            json!("{\"a\": 1}"),
            json!("{\"a\": 1}"),
        ),
        (
            Content::Parts(vec![Part::text("one"), Part::text("two"), picture()]),
            json!([
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two"},
                {"type": "image", "source":
                    {"type": "data", "value": "AA==", "mimeType": "image/png"}},
            ]),
            json!("one\ntwo"),
        ),
    ] {
        let script = Script::new()
            .open("a", "look")
            .close("a")
            .emit(CoreEvent::ToolCallResult {
                call: "a".into(),
                content,
                failed: false,
            });
        let daemon = Daemon::start(Demo::playing(script));
        for (version, expected) in [(Some("1.0"), current), (None, older)] {
            let events = daemon
                .post(&anew(&asked("go", version)))
                .stream()
                .await
                .collect()
                .await;
            let [Shown::Call { result, .. }] = &shown(&events)[..] else {
                panic!("{events:?}");
            };
            assert_eq!(result.as_ref(), Some(&expected), "{version:?}");
        }
        daemon.stop().await;
    }
}

#[tokio::test]
async fn report_r37_text_is_closed_before_a_call_and_goes_on_in_a_new_message() {
    let daemon = Daemon::start(Demo::new());
    let events = daemon.run("text, tool, text").await.collect().await;
    let weather = "{\"celsius\":18,\"sky\":\"clear\"}";
    assert_eq!(
        shown(&events),
        [
            text("First I look at the weather."),
            call("get_weather", "{\"city\":\"Paris\"}", weather),
            text("Now I look at the clock."),
            call("get_time", "{\"zone\":\"UTC\"}", "12:00"),
            text("It is noon in Paris, and 18 degrees."),
        ]
    );
    daemon.stop().await;
}

#[tokio::test]
async fn report_r37_the_arguments_of_parallel_calls_do_not_mix_and_share_a_parent() {
    let daemon = Daemon::start(Demo::new());
    let events = daemon.run("use two tools at once").await.collect().await;
    assert_eq!(
        shown(&events)[..2],
        [
            call(
                "get_weather",
                "{\"city\":\"Paris\"}",
                "{\"celsius\":18,\"sky\":\"clear\"}"
            ),
            call("get_time", "{\"zone\":\"UTC\"}", "12:00"),
        ]
    );
    let parents: HashSet<_> = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_START")
        .map(|event| &event["parentMessageId"])
        .collect();
    assert_eq!(parents.len(), 1);
    daemon.stop().await;
}

/// Requirements 72 and 73.
#[tokio::test]
async fn a_notice_is_custom_under_our_name_and_changes_nothing_else() {
    let plain = Script::new().deltas(["There", " it is."]);
    let noticed = Script::new()
        .deltas(["There"])
        .notice("compaction", json!({"kept": 3, "nothing": null}))
        .deltas([" it is."]);
    let (plain, noticed) = (events(plain).await, events(noticed).await);
    let (custom, rest): (Vec<_>, Vec<_>) = noticed
        .into_iter()
        .partition(|event| event["type"] == "CUSTOM");
    assert_eq!(rest, plain, "a client that ignores it misses nothing");
    assert_eq!(custom.len(), 1);
    assert_eq!(custom[0]["name"], "pando.compaction");
    assert_eq!(custom[0]["value"], json!({"kept": 3, "nothing": null}));
}

#[tokio::test]
async fn ids_are_not_used_again_in_a_thread() {
    let daemon = Daemon::start(Demo::new());
    let mut ids = HashSet::new();
    for _ in 0..3 {
        let events = daemon.run("use two tools at once").await.collect().await;
        assert!(said(&events).contains("noon"));
        for event in &events {
            let own = match event["type"].as_str().unwrap() {
                "TEXT_MESSAGE_START" | "TOOL_CALL_RESULT" => "messageId",
                "TOOL_CALL_START" => "toolCallId",
                _ => continue,
            };
            assert!(ids.insert(event[own].to_string()), "{event}");
        }
    }
    assert_eq!(ids.len(), 3 * 5);
    daemon.stop().await;
}
