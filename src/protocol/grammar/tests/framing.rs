//! The bytes of a body: frames, and the shapes in them.

use bytes::BytesMut;
use serde_json::{Value, json};

use super::super::{check_legacy_stream, check_stream, check_viewer_stream};
use super::{event, finished, run, started, state, text};
use crate::protocol::{Event, Peer, sse};

fn frame(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn body(events: &[Value]) -> String {
    events.iter().map(frame).collect()
}

/// A whole run with this frame in its middle.
fn around(frame: &str) -> String {
    body(&[started(), state()]) + frame + &body(&[finished(Value::Null)])
}

/// Requirements 51 and 53.
#[test]
fn a_body_of_bare_data_lines_and_comments_is_read_back_as_its_events() {
    let events: Vec<Event> = run(text("m\u{2028}"), finished(Value::Null))
        .into_iter()
        .map(|value| serde_json::from_value(value).unwrap())
        .collect();
    let mut written = BytesMut::new();
    for event in &events {
        written.extend_from_slice(sse::HEARTBEAT);
        sse::encode(event, &mut written);
    }
    let body = std::str::from_utf8(&written).unwrap();
    assert_eq!(check_stream(body).unwrap(), events);
    assert_eq!(check_legacy_stream(body).unwrap(), events);
}

#[test]
fn a_body_that_is_not_framed_so_is_refused() {
    let good = frame(&event("CUSTOM", json!({"name": "a.b", "value": 1})));
    check_stream(&around(&good)).unwrap();
    let endless = format!(": {}\n\n", "x".repeat(sse::MAX_FRAME));
    for (frame, rule) in [
        ("\n\n", "frame 3: a frame is a bare data line or a comment"),
        (
            "data:{}\n\n",
            "frame 3: a frame is a bare data line or a comment",
        ),
        (
            "{}\n\n",
            "frame 3: a frame is a bare data line or a comment",
        ),
        ("id: 1\ndata: {}\n\n", "frame 3: a frame is one line"),
        (
            "event: x\n\n",
            "frame 3: a frame is a bare data line or a comment",
        ),
        (
            "data: [DONE]\n\n",
            "frame 3: the data is no JSON: expected value at line 1 column 2",
        ),
        ("data: []\n\n", "frame 3: the data is no JSON object"),
        (endless.as_str(), "frame 3: a frame is well below 10 MiB"),
    ] {
        assert_eq!(check_stream(&around(frame)).unwrap_err().to_string(), rule);
    }
    for line_end in ["\r", "\u{85}", "\u{2028}", "\u{2029}"] {
        let violation = check_stream(&around(&format!(": {line_end}\n\n"))).unwrap_err();
        assert!(
            violation
                .to_string()
                .ends_with("ends a line for some readers")
        );
    }
    let whole = around("");
    assert_eq!(
        check_stream(&whole[..whole.len() - 1])
            .unwrap_err()
            .to_string(),
        "frame 3: a frame ends with a blank line"
    );
    assert_eq!(
        check_stream(&format!("{whole}: late\n\n"))
            .unwrap_err()
            .to_string(),
        "frame 4: a terminal event is the last frame"
    );
}

#[test]
fn places_are_told_to_viewers_only_and_only_where_nothing_is_open() {
    let start = frame(&event("TEXT_MESSAGE_START", json!({"messageId": "m"})));
    let end = frame(&event("TEXT_MESSAGE_END", json!({"messageId": "m"})));
    let told = format!("id: a.1\n\n{start}{end}id: a.2\n\n");
    let body = around(&told) + "id: a.3\n\n";
    for peer in [Peer::Current, Peer::Legacy] {
        check_viewer_stream(&body, peer).unwrap();
        let open = around(&format!("{start}id: a.1\n\n{end}"));
        assert_eq!(
            check_viewer_stream(&open, peer).unwrap_err().to_string(),
            "frame 4: a place is told where no item is open"
        );
        let early = format!("id: a.0\n\n{body}");
        check_viewer_stream(&early, peer).unwrap_err();
        let beside = around(&format!("id: a.1\n{start}"));
        check_viewer_stream(&beside, peer).unwrap_err();
    }
    assert_eq!(
        check_stream(&body).unwrap_err().to_string(),
        "frame 3: a frame is a bare data line or a comment"
    );
}

/// Requirement 64; field report R02.
#[test]
fn a_shape_that_the_protocol_does_not_write_is_refused() {
    for (members, rule) in [
        (json!({"timestamp": null}), "/timestamp is null, not absent"),
        (json!({"rawEvent": null}), "/rawEvent is null, not absent"),
        (json!({"extra": 1}), "/extra is not of the protocol"),
        (
            json!({"message_id": "m"}),
            "/message_id is not of the protocol",
        ),
        (json!({"name": null}), "/name is null, not absent"),
    ] {
        let mut start = event("TEXT_MESSAGE_START", json!({"messageId": "m"}));
        start
            .as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        let violation = check_stream(&around(&frame(&start))).unwrap_err();
        assert_eq!(violation.to_string(), format!("frame 3: {rule}"));
    }
    for wrong in [
        json!({"type": "THINKING_START"}),
        json!({"type": "TEXT_MESSAGE_START"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "timestamp": 1.5}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "tool"}),
        json!({"type": "STATE_SNAPSHOT"}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a"}]}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "a"}]}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": {}}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": "success"}),
        json!({"type": "RUN_ERROR", "message": "m", "usage": [{"inputTokens": -1}]}),
    ] {
        let violation = check_stream(&around(&frame(&wrong)))
            .unwrap_err()
            .to_string();
        assert!(
            violation.starts_with("frame 3: the data is no event: "),
            "{violation}"
        );
    }
    let nested =
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"a": null}, "metadata": {"k": null}});
    check_stream(&around(&frame(&nested))).unwrap();
    let digits = r#"{"type":"STATE_SNAPSHOT","snapshot":[1.10,123456789012345678901234567890]}"#;
    check_stream(&around(&format!("data: {digits}\n\n"))).unwrap();
}
