//! What a call shows: the texts and media of its content, kept in bounds until it ends.

use serde_json::{Value, json};

use super::bounds::{NAME, TEXT, clip, digest, size};
use crate::protocol::{Content, Part, PartKind, Source};

/// How many parts are kept of one call.
const PARTS: usize = 256;
/// How much is kept of one call that shows media, in bytes. More does not fit into one result.
const MEDIA: usize = 960 * 1024;

/// The texts and media that a call shows at the moment. An update replaces all of them.
#[derive(Debug, Default)]
pub(super) struct Shown {
    parts: Vec<Part>,
    size: usize,
    told: Option<Told>,
}

/// How much of the text was told while the call was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told {
    length: usize,
    digest: u64,
}

impl Told {
    fn of(text: &str) -> Self {
        Self {
            length: text.len(),
            digest: digest(&text),
        }
    }
}

impl Shown {
    /// Takes over what the blocks show, and returns what does not fit into a result beside media, as
    /// `{type, mimeType?, bytes, truncated}`. The engine says of a mere text that it is cut.
    pub(super) fn take<'a>(&mut self, blocks: impl Iterator<Item = &'a Value>) -> Vec<Value> {
        self.parts.clear();
        self.size = 0;
        let mut most = TEXT;
        let mut left_out = Vec::new();
        for (block, part) in blocks.filter_map(|block| Some((block, part(block)?))) {
            let is_full = self.parts.len() == PARTS;
            let fits = match &part.kind {
                PartKind::Text { text } => {
                    let room = if is_full {
                        0
                    } else {
                        most.saturating_sub(self.size)
                    };
                    let kept = clip(text, room);
                    self.push_text(kept);
                    kept.len() == text.len() || most == TEXT
                }
                _ if is_full || self.size + size(block) > MEDIA => false,
                _ => {
                    self.size += size(block);
                    most = MEDIA;
                    self.parts.push(part);
                    true
                }
            };
            if !fits && left_out.len() < PARTS {
                left_out.push(described(block));
            }
        }
        left_out
    }

    /// Adds a text, to the one before if there is one.
    fn push_text(&mut self, text: &str) {
        self.size += text.len();
        if text.is_empty() {
            return;
        }
        if let Some(PartKind::Text { text: before }) = self.parts.last_mut().map(|it| &mut it.kind)
        {
            before.push('\n');
            before.push_str(text);
        } else {
            self.parts.push(Part::text(text));
        }
    }

    /// Whether nothing is shown.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What is shown, as the content of a result.
    pub(super) fn content(&self) -> Content {
        let content = Content::Parts(self.parts.clone());
        if content.has_media() {
            return content;
        }
        Content::Text(content.text())
    }

    /// What is new of the text while the call goes on: `{delta}` if it follows what was told before, else
    /// `{text}`.
    pub(super) fn news(&mut self) -> Option<Value> {
        let text = Content::Parts(self.parts.clone()).text();
        if self.told.is_none() && text.is_empty() {
            return None;
        }
        let now = Told::of(&text);
        let told = self.told.replace(now).filter(|told| told.length > 0);
        if told == Some(now) {
            return None;
        }
        let goes_on = |told: &Told| text.get(..told.length).map(Told::of) == Some(*told);
        Some(match told.filter(goes_on) {
            Some(told) => json!({"delta": text[told.length..]}),
            None => json!({"text": text}),
        })
    }

    /// How much is kept, in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }
}

/// A content block of ACP as a part of AG-UI. A block of another kind is `None`.
pub(in crate::cores::acp) fn part(block: &Value) -> Option<Part> {
    let text = |place: &Value| place.as_str().map(str::to_owned);
    let mime_type =
        |place: &Value| text(place).unwrap_or_else(|| "application/octet-stream".into());
    let resource = &block["resource"];
    let (kind, uri) = match block["type"].as_str()? {
        "text" => return Some(Part::text(text(&block["text"])?)),
        "resource" if resource["text"].is_string() => {
            return Some(Part::text(text(&resource["text"])?));
        }
        "image" | "audio" if !block["data"].as_str().unwrap_or_default().is_empty() => {
            let source = Source::Data {
                value: text(&block["data"])?,
                mime_type: mime_type(&block["mimeType"]),
            };
            (medium(block["type"].as_str()?, source), &block["uri"])
        }
        "resource" => {
            let mime_type = mime_type(&resource["mimeType"]);
            let source = Source::Data {
                value: text(&resource["blob"])?,
                mime_type: mime_type.clone(),
            };
            (medium(&mime_type, source), &resource["uri"])
        }
        "image" | "audio" | "resource_link" => {
            let source = Source::Url {
                value: text(&block["uri"])?,
                mime_type: text(&block["mimeType"]),
            };
            let known = block["mimeType"].as_str().or(block["type"].as_str());
            (medium(known?, source), &block["name"])
        }
        _ => return None,
    };
    let named = uri.as_str().map(|name| json!({"name": clip(name, NAME)}));
    Some(Part {
        kind,
        id: None,
        metadata: named,
    })
}

/// The kind of part for media of a type.
fn medium(mime_type: &str, source: Source) -> PartKind {
    match mime_type.split('/').next() {
        Some("image") => PartKind::Image { source },
        Some("audio") => PartKind::Audio { source },
        Some("video") => PartKind::Video { source },
        _ => PartKind::Document { source },
    }
}

fn described(block: &Value) -> Value {
    let mut described = json!({"type": block["type"], "bytes": size(block), "truncated": true});
    let mime_type = block["mimeType"]
        .as_str()
        .or(block["resource"]["mimeType"].as_str());
    if let Some(mime_type) = mime_type {
        described["mimeType"] = clip(mime_type, NAME).into();
    }
    described
}

/// The blocks in a call's `content`; its diffs and terminals are no blocks.
pub(super) fn blocks(content: &[Value]) -> impl Iterator<Item = &Value> {
    content.iter().map(|item| &item["content"])
}

/// What a raw output says that is no text by itself: the blocks of an MCP result, else its JSON.
pub(super) fn of_output(output: &Value) -> Content {
    let mut shown = Shown::default();
    // Codex wraps the result once more.
    let result = if output["result"].is_object() {
        &output["result"]
    } else {
        output
    };
    if let Some(blocks) = result["content"].as_array() {
        shown.take(blocks.iter());
    }
    if shown.is_empty() {
        return Content::Text(clip(&output.to_string(), TEXT).to_owned());
    }
    shown.content()
}
