//! Parts: those of 1.0, the flat ones and `binary`.

use serde_json::{Value, json};

use super::{accepted, warnings};
use crate::protocol::{Content, MessageBody};

/// What the parts of a user message come out as, and the warnings.
#[track_caller]
fn parts(parts: &Value) -> (Value, Vec<String>) {
    let decoded = accepted(json!({"messages": [{"id": "m", "role": "user", "content": parts}]}));
    let warnings = warnings(&decoded)
        .into_iter()
        .map(|(_, message)| message.to_owned())
        .collect();
    let mut message = serde_json::to_value(&decoded.input.messages[0]).unwrap();
    (message["content"].take(), warnings)
}

/// Requirement 35; field reports R16 and R17.
#[test]
fn every_part_with_every_source_is_written_back_as_it_came() {
    let sources = [
        json!({"type": "data", "value": "AA==", "mimeType": "x/y"}),
        json!({"type": "url", "value": "https://example.com/a"}),
        json!({"type": "url", "value": "not a url", "mimeType": "x/y"}),
        json!({"type": "file", "value": "handle"}),
        json!({"type": "file", "value": "handle", "provider": "acme", "mimeType": "x/y"}),
    ];
    for kind in ["image", "audio", "video", "document"] {
        for source in &sources {
            let content = json!([
                {"type": "text", "text": "see", "id": "p", "metadata": [1, null]},
                {"type": kind, "source": source, "id": "q", "metadata": "any"},
            ]);
            assert_eq!(parts(&content), (content, vec![]));
        }
    }
    for content in [json!("text"), json!([]), json!("")] {
        assert_eq!(parts(&content), (content, vec![]));
    }
}

/// Requirement 36; field report R18.
#[test]
fn text_skips_the_other_parts_and_media_alone_is_not_blank() {
    let decoded = accepted(json!({"messages": [
        {"id": "1", "role": "user", "content": [
            {"type": "document", "source": {"type": "url", "value": "u"}}]},
        {"id": "2", "role": "user", "content": [
            {"type": "text", "text": "a"},
            {"type": "image", "source": {"type": "url", "value": "u"}},
            {"type": "text", "text": "b"}]},
        {"id": "3", "role": "user", "content": [{"type": "text", "text": " "}]},
    ]}));
    let content: Vec<&Content> = decoded
        .input
        .messages
        .iter()
        .map(|message| match &message.body {
            MessageBody::User { content, .. } => content,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        (content[0].text().as_str(), content[0].has_media()),
        ("", true)
    );
    assert!(!content[0].is_blank());
    assert_eq!(
        (content[1].text().as_str(), content[1].has_media()),
        ("a\nb", true)
    );
    assert!(content[2].is_blank());
}

#[test]
fn r37_a_flat_media_part_becomes_one_with_a_source() {
    const READ: &str = "flat media part read as one with a source";
    for (flat, source) in [
        (
            json!({"type": "image", "data": "AA==", "mimeType": "image/png", "url": "u"}),
            json!({"type": "data", "value": "AA==", "mimeType": "image/png"}),
        ),
        (
            json!({"type": "image", "url": "u", "mime_type": "image/png"}),
            json!({"type": "url", "value": "u", "mimeType": "image/png"}),
        ),
        (
            json!({"type": "image", "url": "u", "source": null}),
            json!({"type": "url", "value": "u"}),
        ),
    ] {
        let (content, warnings) = parts(&json!([flat]));
        assert_eq!(content, json!([{"type": "image", "source": source}]));
        assert_eq!(warnings.last().unwrap(), READ);
    }
}

#[test]
fn report_r17_a_binary_part_is_upgraded_as_the_stock_client_does() {
    let data = |mime: &str| json!({"type": "data", "value": "AA==", "mimeType": mime});
    for (mime, kind) in [
        ("image/png", "image"),
        ("IMAGE/PNG", "image"),
        ("audio/wav", "audio"),
        ("video/mp4", "video"),
        ("application/pdf", "document"),
        ("text/plain", "document"),
        ("imagery", "document"),
    ] {
        let binary =
            json!([{"type": "binary", "mimeType": mime, "data": "AA==", "url": "u", "id": "f"}]);
        assert_eq!(
            parts(&binary),
            (
                json!([{"type": kind, "source": data(mime)}]),
                vec!["legacy binary part upgraded".to_owned()]
            )
        );
    }
    let named = json!([{"type": "binary", "mimeType": "image/png", "url": "u", "filename": "a.png",
        "metadata": {"k": 1}}]);
    assert_eq!(
        parts(&named).0,
        json!([{
            "type": "image",
            "source": {"type": "url", "value": "u", "mimeType": "image/png"},
            "metadata": {"k": 1, "filename": "a.png"},
        }])
    );
}

#[test]
fn report_r17_a_binary_part_that_cannot_be_upgraded_is_left_out_and_the_text_stays() {
    for (binary, warning) in [
        (
            json!({"type": "binary", "mimeType": "image/png", "id": "f"}),
            "binary part with neither data nor url left out",
        ),
        (
            json!({"type": "binary", "data": "AA=="}),
            "binary part without a media type left out",
        ),
    ] {
        let text = json!({"type": "text", "text": "look"});
        assert_eq!(
            parts(&json!([text, binary])),
            (json!([text]), vec![warning.to_owned()])
        );
    }
}
