//! A call of a tool, and what becomes of it.

use rmcp::model::{CallToolResult, ContentBlock};
use tokio::sync::oneshot;

use crate::protocol::{Content, JsonObject, Part, PartKind, Source};

/// A call of one of the tools that are offered. Dropped, it is answered as one that was not carried out.
#[derive(Debug)]
pub struct Called {
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: JsonObject,
    /// What the agent says of the call (MCP `_meta`).
    pub meta: JsonObject,
    answer: oneshot::Sender<Outcome>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What the model is told.
    pub content: Content,
    /// Whether the call failed.
    pub failed: bool,
}

impl Called {
    pub(super) fn new(
        name: String,
        arguments: JsonObject,
        meta: JsonObject,
    ) -> (Self, oneshot::Receiver<Outcome>) {
        let (answer, answered) = oneshot::channel();
        let called = Self {
            name,
            arguments,
            meta,
            answer,
        };
        (called, answered)
    }

    /// One that nobody waits for.
    #[cfg(test)]
    pub(in crate::cores) fn for_tests(name: &str, arguments: JsonObject, meta: JsonObject) -> Self {
        Self::new(name.to_owned(), arguments, meta).0
    }

    /// Tells the agent what came of it. Nobody may want to know any more.
    pub fn answer(self, outcome: Outcome) {
        let _ = self.answer.send(outcome);
    }

    /// Ends once the agent does not want to know any more.
    pub async fn given_up(&mut self) {
        self.answer.closed().await;
    }
}

impl Outcome {
    /// Of a call that failed, with the reason for the model.
    pub fn failed(why: impl Into<String>) -> Self {
        Self {
            content: Content::Text(why.into()),
            failed: true,
        }
    }

    /// As MCP has it (`tools/call`).
    pub(super) fn into_result(self) -> CallToolResult {
        let content = match self.content {
            Content::Text(text) => vec![ContentBlock::text(text)],
            Content::Parts(parts) => parts.into_iter().map(block).collect(),
        };
        if self.failed {
            CallToolResult::error(content)
        } else {
            CallToolResult::success(content)
        }
    }
}

/// A part as MCP has it. What MCP has no shape for is told as text: nothing is fetched.
fn block(part: Part) -> ContentBlock {
    match part.kind {
        PartKind::Text { text } => ContentBlock::text(text),
        PartKind::Image {
            source: Source::Data { value, mime_type },
        } => ContentBlock::image(value, mime_type),
        PartKind::Audio {
            source: Source::Data { value, mime_type },
        } => ContentBlock::audio(value, mime_type),
        PartKind::Image { source }
        | PartKind::Audio { source }
        | PartKind::Video { source }
        | PartKind::Document { source } => ContentBlock::text(match source {
            Source::Data { mime_type, .. } => format!("[{mime_type}]"),
            Source::Url { value, .. } | Source::File { value, .. } => value,
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_holds_texts_and_pictures_and_says_whether_it_failed() {
        let parts = json!([
            {"type": "text", "text": "a"},
            {"type": "image", "source": {"type": "data", "value": "eA==", "mimeType": "image/png"}},
            {"type": "document", "source": {"type": "url", "value": "https://example.com/x"}},
        ]);
        let outcome = Outcome {
            content: serde_json::from_value(parts).unwrap(),
            failed: false,
        };
        assert_eq!(
            serde_json::to_value(outcome.into_result()).unwrap(),
            json!({"resultType": "complete", "isError": false, "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "eA==", "mimeType": "image/png"},
                {"type": "text", "text": "https://example.com/x"},
            ]})
        );
        assert_eq!(Outcome::failed("no").into_result().is_error, Some(true));
    }
}
