//! Content of a message or a tool result: a text, or parts of several media (AG-UI 1.0, content).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A string or a list of parts. It serialises in the shape in which it came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A plain text.
    Text(String),
    /// Parts, possibly none.
    Parts(Vec<Part>),
}

/// One part of a content list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What the part carries.
    #[serde(flatten)]
    pub kind: PartKind,
    /// An id of the part, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Anything but `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// The five kinds of part of AG-UI 1.0. The legacy `binary` part is upgraded to one of these on the way in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum PartKind {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture.
    Image {
        /// Where its bytes are.
        source: Source,
    },
    /// A sound.
    Audio {
        /// Where its bytes are.
        source: Source,
    },
    /// A film.
    Video {
        /// Where its bytes are.
        source: Source,
    },
    /// Any other file.
    Document {
        /// Where its bytes are.
        source: Source,
    },
}

/// Where the bytes of a media part are. URLs are never fetched by the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Source {
    /// In the request, as base64.
    Data {
        /// Base64.
        value: String,
        /// The media type.
        mime_type: String,
    },
    /// Behind a URL.
    Url {
        /// The URL, unchecked.
        value: String,
        /// The media type, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// At a provider, under an opaque handle.
    File {
        /// The handle. Never fetched, never parsed.
        value: String,
        /// Whose handle it is, in lower case.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The media type, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl Content {
    /// The text of the content: the text parts joined, the other parts skipped.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .filter_map(|part| match &part.kind {
                    PartKind::Text { text } => Some(text.as_str()),
                    _ => None,
                })
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }

    /// Several contents as one: texts as paragraphs, or else all their parts.
    pub fn together<'a>(contents: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let texts = contents.clone().map(|content| match content {
            Self::Text(text) => Some(text.as_str()),
            Self::Parts(_) => None,
        });
        if let Some(texts) = texts.collect::<Option<Vec<_>>>() {
            return Self::Text(texts.join("\n\n"));
        }
        let parts = contents.flat_map(|content| match content {
            Self::Text(text) => vec![Part::text(text.as_str())],
            Self::Parts(parts) => parts.clone(),
        });
        Self::Parts(parts.collect())
    }

    /// Whether there are parts that [`Content::text`] leaves out.
    pub fn has_media(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Parts(parts) => parts
                .iter()
                .any(|part| !matches!(part.kind, PartKind::Text { .. })),
        }
    }

    /// Whether there is nothing in it: no parts and no text but white space.
    pub fn is_blank(&self) -> bool {
        !self.has_media() && self.text().trim().is_empty()
    }
}

impl Part {
    /// A text part without id and metadata.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            kind: PartKind::Text { text: text.into() },
            id: None,
            metadata: None,
        }
    }
}
