//! One tool call as an agent tells of it, bit by bit.

use std::sync::Arc;

use serde_json::Value;

/// How much of a call has been passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing.
    Unknown,
    /// That it was opened.
    Open,
    /// Its arguments.
    Closed,
    /// Its result. Whatever still comes is dropped.
    Done,
}

/// What is known of a call. In ACP an update replaces what it names and leaves the rest.
#[derive(Debug)]
pub(super) struct Call {
    /// The agent's id.
    pub(super) id: Arc<str>,
    /// How much was passed on.
    pub(super) stage: Stage,
    /// Whether permission for it was refused.
    pub(super) refused: bool,
    name: Option<String>,
    title: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    input: Option<Value>,
    output: Option<Value>,
    content: Vec<Value>,
}

impl Call {
    pub(super) fn new(id: Arc<str>) -> Self {
        Self {
            id,
            stage: Stage::Unknown,
            refused: false,
            name: None,
            title: None,
            kind: None,
            status: None,
            input: None,
            output: None,
            content: Vec::new(),
        }
    }

    /// Takes over what an update says.
    pub(super) fn merge(&mut self, update: &Value) {
        let text = |place: &Value| place.as_str().map(str::to_owned);
        let any = |place: &Value| (!place.is_null()).then(|| place.clone());
        let meta = &update["_meta"];
        let name = [
            &update["name"],
            &meta["claudeCode"]["toolName"],
            &meta["toolName"],
            &meta["pando"]["toolName"],
        ]
        .into_iter()
        .find_map(text)
        .filter(|name| !name.is_empty());
        self.name = name.or(self.name.take());
        self.title = text(&update["title"]).or(self.title.take());
        self.kind = text(&update["kind"]).or(self.kind.take());
        self.status = text(&update["status"]).or(self.status.take());
        self.input = any(&update["rawInput"]).or(self.input.take());
        self.output = any(&update["rawOutput"]).or(self.output.take());
        if let Value::Array(content) = &update["content"] {
            self.content.clone_from(content);
        }
    }

    /// The tool's name, or the nearest thing to one: a title is often a sentence for people.
    pub(super) fn name(&self) -> String {
        let title = self.title.as_deref().filter(|title| is_identifier(title));
        let name = self.name.as_deref().or(title).or(self.kind.as_deref());
        name.unwrap_or("tool").to_owned()
    }

    /// The arguments' text, if any were seen.
    pub(super) fn arguments(&self) -> Option<String> {
        self.input.as_ref().map(Value::to_string)
    }

    /// Whether the arguments are final although the call has not ended. Some agents announce a call with
    /// empty arguments and fill them in later, also once it is under way.
    pub(super) fn is_settled(&self) -> bool {
        let is_empty = |input: &Value| input.as_object().is_some_and(serde_json::Map::is_empty);
        self.status.as_deref() == Some("in_progress")
            && self.input.as_ref().is_some_and(|input| !is_empty(input))
    }

    /// Whether the call has ended, and then whether it failed.
    pub(super) fn ended(&self) -> Option<bool> {
        match self.status.as_deref() {
            Some("completed") => Some(false),
            Some("failed") => Some(true),
            _ => None,
        }
    }

    /// Lets go of everything but the fact that the call is done.
    pub(super) fn finish(&mut self) {
        *self = Self {
            stage: Stage::Done,
            ..Self::new(Arc::clone(&self.id))
        };
    }

    /// What came of the call, as text: what it shows, else what it returned, else the files it changed,
    /// named from `workdir`.
    pub(super) fn result_text(&self, workdir: &str) -> String {
        let shown: Vec<&str> = self.content.iter().filter_map(shown_text).collect();
        if !shown.is_empty() {
            return shown.join("\n");
        }
        match &self.output {
            Some(Value::String(text)) => return text.clone(),
            Some(output) => {
                let text = output["output"].as_str().map(str::to_owned);
                return text.unwrap_or_else(|| output.to_string());
            }
            None => {}
        }
        let edited = |item: &Value| {
            let path = item["path"].as_str().filter(|_| item["type"] == "diff")?;
            let inside = path.strip_prefix(workdir).unwrap_or(path);
            Some(format!("edited {}", inside.trim_start_matches('/')))
        };
        let edits: Vec<String> = self.content.iter().filter_map(edited).collect();
        edits.join("\n")
    }
}

/// The text of one item of a call's content: a text block or the text of an embedded file.
fn shown_text(item: &Value) -> Option<&str> {
    let block = &item["content"];
    let text = match block["type"].as_str()? {
        "text" => &block["text"],
        "resource" => &block["resource"]["text"],
        _ => return None,
    };
    text.as_str().filter(|text| !text.is_empty())
}

fn is_identifier(title: &str) -> bool {
    title.len() <= 128
        && title.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && title
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}
