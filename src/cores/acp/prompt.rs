//! What the person said as ACP content blocks, as far as the agent takes them.

use serde_json::{Value, json};

use crate::protocol::{Content, Part, PartKind, Source};

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
    /// What was left out, as `{type, mimeType?}`.
    pub(super) skipped: Vec<Value>,
}

/// What the agent is told once, as the beginning of a prompt.
pub(super) fn instructions_block(text: &str) -> String {
    format!("<instructions>\n{text}\n</instructions>\n\n")
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
    /// `context` goes before what the person said. A prompt of attachments alone, none of which the agent
    /// takes, says so, since an agent cannot answer nothing.
    pub(super) fn new(context: &str, said: &Content, takes: Takes) -> Self {
        let mut blocks = Vec::new();
        let mut skipped = Vec::new();
        match said {
            Content::Text(text) => blocks.push(text_block(&format!("{context}{text}"))),
            Content::Parts(parts) => {
                if !context.is_empty() {
                    blocks.push(text_block(context));
                }
                let words = blocks.len();
                for (index, part) in parts.iter().enumerate() {
                    match block(part, index, takes) {
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
fn block(part: &Part, index: usize, takes: Takes) -> Result<Value, Value> {
    let (kind, source) = match &part.kind {
        PartKind::Text { text } if text.is_empty() => return Err(json!({"type": "text"})),
        PartKind::Text { text } => return Ok(text_block(text)),
        PartKind::Image { source } => ("image", source),
        PartKind::Audio { source } => ("audio", source),
        PartKind::Video { source } => ("video", source),
        PartKind::Document { source } => ("document", source),
    };
    let native = (kind == "image" && takes.image) || (kind == "audio" && takes.audio);
    let uri = format!("attachment:{index}");
    match source {
        Source::Data { value, mime_type } if native => {
            Ok(json!({"type": kind, "data": value, "mimeType": mime_type}))
        }
        Source::Data { value, mime_type } if takes.embedded => Ok(json!({
            "type": "resource",
            "resource": {"uri": uri, "mimeType": mime_type, "blob": value},
        })),
        // Every agent takes links. One to a file would make the agent read what the page names.
        Source::Url { value, mime_type } if is_web(value) => {
            let mut link = json!({"type": "resource_link", "uri": value, "name": uri});
            if let Some(mime_type) = mime_type {
                link["mimeType"] = json!(mime_type);
            }
            Ok(link)
        }
        Source::Data { mime_type, .. } => Err(json!({"type": kind, "mimeType": mime_type})),
        Source::Url { .. } | Source::File { .. } => Err(json!({"type": kind})),
    }
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
