//! What the person said as ACP content blocks, as far as the agent takes them.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::protocol::{Content, Part, PartKind, Source};

/// How much of attachments goes into one prompt, in bytes of base64. It is one line of JSON.
const ATTACHED: usize = 24 * 1024 * 1024;
/// The longest name of an attachment, in characters.
const NAME: usize = 128;

/// What an agent takes in a prompt besides text and links (ACP `promptCapabilities`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Takes {
    image: bool,
    audio: bool,
    embedded: bool,
}

/// A prompt for an agent.
#[derive(Debug, PartialEq)]
pub(super) struct Prompt {
    /// Content blocks, at least one.
    pub(super) blocks: Vec<Value>,
    /// What was left out, as `{type, mimeType?}`, with `bytes` if that was for its size.
    pub(super) skipped: Vec<Value>,
}

impl Takes {
    /// As the agent's capabilities say.
    pub(super) fn of(capabilities: &Value) -> Self {
        let has = |name: &str| capabilities["promptCapabilities"][name] == true;
        Self {
            image: has("image"),
            audio: has("audio"),
            embedded: has("embeddedContext"),
        }
    }
}

impl Prompt {
    /// `prefix` goes before what the person said. A prompt of attachments alone, none of which the agent
    /// takes, says so, since an agent cannot answer nothing.
    pub(super) fn new(prefix: &str, said: &Content, takes: Takes) -> Self {
        let mut blocks = Vec::new();
        let mut skipped = Vec::new();
        match said {
            Content::Text(text) => blocks.push(text_block(&format!("{prefix}{text}"))),
            Content::Parts(parts) => {
                if !prefix.is_empty() {
                    blocks.push(text_block(prefix));
                }
                let words = blocks.len();
                let mut room = ATTACHED;
                for (index, part) in parts.iter().enumerate() {
                    match block(part, index, takes, &mut room) {
                        Ok(block) => blocks.push(block),
                        Err(described) => skipped.push(described),
                    }
                }
                if blocks.len() == words {
                    let kinds: Vec<_> = skipped
                        .iter()
                        .filter_map(|it| it["type"].as_str())
                        .collect();
                    let note = format!("(attachments left out: {})", kinds.join(", "));
                    blocks.push(text_block(&note));
                }
            }
        }
        Self { blocks, skipped }
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A part as a block, or else a description of it.
fn block(part: &Part, index: usize, takes: Takes, room: &mut usize) -> Result<Value, Value> {
    let (kind, source) = match &part.kind {
        PartKind::Text { text } if text.is_empty() => return Err(json!({"type": "text"})),
        PartKind::Text { text } => return Ok(text_block(text)),
        PartKind::Image { source } => ("image", source),
        PartKind::Audio { source } => ("audio", source),
        PartKind::Video { source } => ("video", source),
        PartKind::Document { source } => ("document", source),
    };
    let name = name_of(part);
    match source {
        Source::Data { value, mime_type } => {
            let block = attached(value, mime_type, &uri(index, &name), takes);
            match room.checked_sub(value.len()) {
                Some(left) if block.is_some() => *room = left,
                None if block.is_some() => {
                    return Err(json!({"type": kind, "mimeType": mime_type, "bytes": value.len()}));
                }
                _ => {}
            }
            block.ok_or_else(|| json!({"type": kind, "mimeType": mime_type}))
        }
        // Every agent takes links. One to a file would make the agent read what the page names.
        Source::Url { value, mime_type } if is_web(value) => {
            let name = if name.is_empty() { value } else { &name };
            let mut link = json!({"type": "resource_link", "uri": value, "name": name});
            if let Some(mime_type) = mime_type {
                link["mimeType"] = json!(mime_type);
            }
            Ok(link)
        }
        Source::Url { .. } | Source::File { .. } => Err(json!({"type": kind})),
    }
}

/// Data in base64 as the block that its media type asks for, if the agent takes that.
fn attached(data: &str, mime_type: &str, uri: &str, takes: Takes) -> Option<Value> {
    let essence = mime_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let text = is_text(&essence).then(|| decoded(data)).flatten();
    let kind = essence.split('/').next().unwrap_or_default();
    if text.is_none() && ((kind == "image" && takes.image) || (kind == "audio" && takes.audio)) {
        return Some(json!({"type": kind, "data": data, "mimeType": essence}));
    }
    takes.embedded.then(|| match text {
        Some(text) => json!({
            "type": "resource",
            "resource": {"uri": uri, "mimeType": mime_type, "text": text},
        }),
        None => json!({
            "type": "resource",
            "resource": {"uri": uri, "mimeType": mime_type, "blob": data},
        }),
    })
}

/// Whether files of a media type are text, as far as is known from the type.
fn is_text(essence: &str) -> bool {
    const TEXTS: [&str; 9] = [
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/sql",
        "application/x-sh",
        "application/x-ndjson",
    ];
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || TEXTS.contains(&essence)
}

fn decoded(data: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(data).ok()?).ok()
}

/// The name of the file that a part was made of, as pages put it into the metadata: the last segment of
/// a path, on one line. Empty if there is none.
fn name_of(part: &Part) -> String {
    let metadata = part.metadata.as_ref();
    let names = ["filename", "fileName", "name"];
    let name = names.iter().find_map(|key| metadata?[*key].as_str());
    let name = name.unwrap_or_default().rsplit(['/', '\\']).next();
    let name = name.unwrap_or_default().trim();
    name.chars()
        .filter(|c| !c.is_control())
        .take(NAME)
        .collect()
}

/// A URI that names nothing the agent could look up.
fn uri(index: usize, name: &str) -> String {
    use std::fmt::Write;
    let mut uri = format!("attachment:{index}");
    if !name.is_empty() {
        uri.push('/');
    }
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            write!(uri, "%{byte:02X}").expect("writing to a string never fails");
        }
    }
    uri
}

fn is_web(url: &str) -> bool {
    let starts = |scheme: &str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("https://") || starts("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Takes = Takes {
        image: true,
        audio: true,
        embedded: true,
    };

    fn part(kind: PartKind) -> Part {
        Part {
            kind,
            ..Part::text("")
        }
    }

    fn data(mime_type: &str) -> Source {
        Source::Data {
            value: "QQ==".into(),
            mime_type: mime_type.into(),
        }
    }

    fn image() -> Part {
        part(PartKind::Image {
            source: data("image/png"),
        })
    }

    fn link(url: &str) -> Part {
        let source = Source::Url {
            value: url.into(),
            mime_type: None,
        };
        part(PartKind::Document { source })
    }

    #[test]
    fn context_goes_before_the_text() {
        let prompt = Prompt::new("<context>\n", &Content::Text("hi".into()), ALL);
        assert_eq!(
            prompt.blocks,
            [json!({"type": "text", "text": "<context>\nhi"})]
        );
    }

    #[test]
    fn media_go_along_where_the_agent_takes_them() {
        let document = part(PartKind::Document {
            source: data("text/csv"),
        });
        let said = Content::Parts(vec![Part::text("look"), image(), document]);
        let prompt = Prompt::new("", &said, ALL);
        let types: Vec<_> = prompt.blocks.iter().map(|block| &block["type"]).collect();
        assert_eq!(types, ["text", "image", "resource"]);
        assert!(prompt.skipped.is_empty());
        let prompt = Prompt::new("", &said, Takes::default());
        assert_eq!(prompt.blocks.len(), 1);
        assert_eq!(
            prompt.skipped[0],
            json!({"type": "image", "mimeType": "image/png"})
        );
    }

    #[test]
    fn a_file_is_text_where_it_is_text_and_keeps_its_name() {
        let file = |value: &str, mime_type: &str, metadata: Value| Part {
            kind: PartKind::Document {
                source: Source::Data {
                    value: value.into(),
                    mime_type: mime_type.into(),
                },
            },
            id: None,
            metadata: Some(metadata),
        };
        let name = json!({"filename": "C:\\\\my files\\\\ä.csv\n"});
        for (part, wanted) in [
            (
                file("w6Q=", "text/csv; charset=utf-8", name),
                json!({"uri": "attachment:0/%C3%A4.csv", "mimeType": "text/csv; charset=utf-8", "text": "ä"}),
            ),
            (
                file("e30=", "application/ld+json", json!(null)),
                json!({"uri": "attachment:0", "mimeType": "application/ld+json", "text": "{}"}),
            ),
            (
                file("/w==", "text/plain", json!({"name": "../a"})),
                json!({"uri": "attachment:0/a", "mimeType": "text/plain", "blob": "/w=="}),
            ),
            (
                file("e30=", "application/pdf", json!({"filename": 1})),
                json!({"uri": "attachment:0", "mimeType": "application/pdf", "blob": "e30="}),
            ),
        ] {
            let prompt = Prompt::new("", &Content::Parts(vec![part]), ALL);
            assert_eq!(
                prompt.blocks,
                [json!({"type": "resource", "resource": wanted})]
            );
        }
    }

    #[test]
    fn the_media_type_decides_what_an_attachment_is() {
        let as_document = |mime_type: &str| {
            part(PartKind::Document {
                source: data(mime_type),
            })
        };
        let as_image = |mime_type: &str| {
            part(PartKind::Image {
                source: data(mime_type),
            })
        };
        for (part, wanted) in [
            (as_document("IMAGE/PNG"), "image"),
            (as_document("audio/wav"), "audio"),
            (as_image("application/pdf"), "resource"),
            (as_image("image/svg+xml"), "resource"),
            (as_document("video/mp4"), "resource"),
        ] {
            let prompt = Prompt::new("", &Content::Parts(vec![part.clone()]), ALL);
            assert_eq!(prompt.blocks[0]["type"], wanted, "{part:?}");
        }
    }

    #[test]
    fn more_attachments_than_fit_are_skipped_with_their_size() {
        let large = Source::Data {
            value: "A".repeat(ATTACHED / 2),
            mime_type: "image/png".into(),
        };
        let image = || {
            part(PartKind::Image {
                source: large.clone(),
            })
        };
        let said = Content::Parts(vec![image(), image(), image()]);
        let prompt = Prompt::new("", &said, ALL);
        assert_eq!(prompt.blocks.len(), 2);
        let skipped = json!({"type": "image", "mimeType": "image/png", "bytes": ATTACHED / 2});
        assert_eq!(prompt.skipped, [skipped]);
    }

    #[test]
    fn attachments_alone_still_make_a_prompt() {
        let said = Content::Parts(vec![image()]);
        let prompt = Prompt::new("", &said, Takes::default());
        assert_eq!(prompt.blocks.len(), 1);
        assert!(prompt.blocks[0]["text"].as_str().unwrap().contains("image"));
    }

    #[test]
    fn only_web_links_reach_the_agent() {
        for (url, passes) in [
            ("https://example.org/a.pdf", true),
            ("HTTP://example.org/a.pdf", true),
            ("file:///etc/passwd", false),
            ("/etc/passwd", false),
            ("", false),
        ] {
            let prompt = Prompt::new("", &Content::Parts(vec![link(url)]), ALL);
            let linked = prompt.blocks[0]["type"] == "resource_link";
            assert_eq!(linked, passes, "{url}");
        }
    }
}
