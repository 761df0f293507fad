//! What came of a call: what it shows and what it returned.

use serde_json::Value;

use super::super::{
    bounds::{TEXT, clip, digest},
    shown::{self, Shown},
};
use crate::{cores::acp::vendors, protocol::Content};

/// What came of a call so far.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    shown: Shown,
    /// What was said to be left out of it.
    left_out: Option<u64>,
    output: Option<Output>,
}

/// What a call returned, beside what it shows.
#[derive(Debug)]
enum Output {
    /// A text for people.
    Text(String),
    /// Something for programs.
    Other(Content),
}

impl Outcome {
    /// Takes over what is shown, and answers with what is too large for a result, if that is news.
    pub(super) fn take_content(&mut self, content: &[Value]) -> Vec<Value> {
        let left_out = self.shown.take(shown::blocks(content));
        let now = digest(&left_out);
        let is_news = self.left_out.replace(now) != Some(now);
        if is_news { left_out } else { Vec::new() }
    }

    /// Takes over what was returned, if anything.
    pub(super) fn take_output(&mut self, output: &Value) {
        if output.is_null() {
            return;
        }
        let text = vendors::text_of_output(output);
        let text = text.map(|text| Output::Text(clip(text, TEXT).to_owned()));
        self.output = Some(text.unwrap_or_else(|| Output::Other(shown::of_output(output))));
    }

    /// The text that was returned, beside what is shown for people.
    pub(super) fn returned(&self) -> Option<&str> {
        match &self.output {
            Some(Output::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// What is new of what is shown, while the call goes on.
    pub(super) fn news(&mut self) -> Option<Value> {
        self.shown.news()
    }

    /// The content of the result: what is shown, else the text that was returned or printed, else the
    /// files that were changed, else whatever was returned.
    pub(super) fn content(&self, printed: &str, edits: &str) -> Content {
        if !self.shown.is_empty() {
            return self.shown.content();
        }
        let texts = [self.returned().unwrap_or_default(), printed, edits];
        match (
            texts.into_iter().find(|text| !text.is_empty()),
            &self.output,
        ) {
            (Some(text), _) => Content::Text(text.to_owned()),
            (None, Some(Output::Other(content))) => content.clone(),
            (None, _) => Content::Text(String::new()),
        }
    }

    /// Lets go of all of it.
    pub(super) fn forget(&mut self) {
        self.shown = Shown::default();
        self.output = None;
    }

    /// How much is kept, in bytes.
    pub(super) fn size(&self) -> usize {
        let output = match &self.output {
            Some(Output::Text(text) | Output::Other(Content::Text(text))) => text.len(),
            Some(Output::Other(Content::Parts(_))) => TEXT,
            None => 0,
        };
        self.shown.size() + output
    }
}
