//! One tool call as an agent tells of it, bit by bit, and what follows from each bit.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    arguments::Arguments,
    bounds::{NAME, NOTICE, TEXT, clip, digest, fit},
    diff,
    shown::{self, Shown},
    terminal::Terminals,
};
use crate::{cores::acp::vendors, deps::CoreEvent, protocol::Content};

/// How many changes of one call are told apart.
const DIFFS: usize = 64;

/// How much of a call has been passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing.
    Unknown,
    /// That it was opened.
    Open,
    /// Its arguments.
    Closed,
    /// Its result. What it still prints or changes is told, and no more.
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
    /// The tool, as it was called when the call was opened.
    pub(super) name: String,
    facts: Facts,
    arguments: Arguments,
    command: Option<String>,
    shown: Shown,
    output: Option<Output>,
    terminals: Terminals,
    /// The files that it shows changes of, as seen from the working directory.
    edited: Vec<String>,
    told: Told,
}

/// What people are told of a call besides what goes in and comes out.
#[derive(Debug, Default, PartialEq, Hash)]
struct Facts {
    name: Option<String>,
    title: Option<String>,
    kind: Option<String>,
    status: Option<String>,
}

/// What came of the call, beside what it shows.
#[derive(Debug)]
enum Output {
    /// A text for people.
    Text(String),
    /// Something for programs.
    Other(Content),
}

/// What was told, so that it is not told again.
#[derive(Debug, Default)]
struct Told {
    facts: u64,
    locations: u64,
    left_out: u64,
    diffs: Vec<u64>,
}

impl Call {
    pub(super) fn new(id: Arc<str>) -> Self {
        Self {
            id,
            stage: Stage::Unknown,
            refused: false,
            name: String::new(),
            facts: Facts::default(),
            arguments: Arguments::default(),
            command: None,
            shown: Shown::default(),
            output: None,
            terminals: Terminals::default(),
            edited: Vec::new(),
            told: Told::default(),
        }
    }

    /// Follows an update.
    pub(super) fn follow(&mut self, update: &Value, workdir: &str, events: &mut Vec<CoreEvent>) {
        if self.stage == Stage::Done {
            return self.tell_changes(update, workdir, events);
        }
        self.facts.merge(update);
        if self.stage == Stage::Unknown && self.facts.name.is_none() {
            self.facts.name = vendors::name_in_title(update).map(str::to_owned);
        }
        self.open(events);
        self.tell_facts(events);
        let input = &update["rawInput"];
        self.arguments.take(input);
        if let Some(command) = input["command"].as_str() {
            self.command = Some(clip(command, 8 * NAME).to_owned());
        }
        if let Some(content) = update["content"].as_array() {
            let left_out = self.shown.take(shown::blocks(content));
            let now = digest(&left_out);
            let is_news = std::mem::replace(&mut self.told.left_out, now) != now;
            let left_out = if is_news { left_out } else { Vec::new() };
            events.extend(
                left_out
                    .into_iter()
                    .map(|it| self.notice("acp.content", it)),
            );
        }
        self.tell_changes(update, workdir, events);
        self.pass_arguments(events);
        self.take_output(&update["rawOutput"]);
        if let Some(failed) = self.facts.ended() {
            self.close(events);
            events.push(self.result(self.result_content(), failed));
            self.finish();
        } else if let Some(news) = self.shown.news() {
            events.push(self.notice("acp.output", fit(news)));
        }
    }

    /// Follows a request for permission, of which the update is what it says of the call. It is the last
    /// word on the arguments of a call that has not said them; agents may show them in another form for
    /// people to decide on, under the same id.
    pub(super) fn ask(&mut self, mut update: Value, workdir: &str, events: &mut Vec<CoreEvent>) {
        if self.stage == Stage::Done {
            return;
        }
        let members = update.as_object_mut();
        if let Some(members) = members.filter(|_| self.stage != Stage::Unknown) {
            members.shift_remove("status");
            if self.stage != Stage::Open || !self.arguments.are_placeholder() {
                members.shift_remove("rawInput");
            }
        }
        if let Some(content) = update["content"].as_array_mut() {
            // Texts explain the request and are no output.
            content.retain(|item| item["type"] == "diff");
        }
        if update["locations"].as_array().is_some_and(Vec::is_empty) {
            update["locations"] = Value::Null;
        }
        self.follow(&update, workdir, events);
        if self.stage != Stage::Done {
            self.close(events);
            self.refused = true;
        }
    }

    /// Says what is still owed of a call that is not followed any more: the result of one that was refused.
    pub(super) fn give_up(mut self, reason: &str, events: &mut Vec<CoreEvent>) {
        if self.refused && self.stage != Stage::Done {
            self.close(events);
            events.push(self.result(Content::Text(reason.to_owned()), true));
        }
    }

    /// Forgets what was shown and printed; there is nothing to say of that.
    pub(super) fn forget(&mut self, _: &mut Vec<CoreEvent>) {
        self.shown = Shown::default();
        self.output = None;
        self.edited.clear();
        self.command = None;
        self.terminals.forget();
    }

    /// How much is kept of it, in bytes, besides its facts.
    pub(super) fn size(&self) -> usize {
        let output = match &self.output {
            Some(Output::Text(text) | Output::Other(Content::Text(text))) => text.len(),
            Some(Output::Other(Content::Parts(_))) => TEXT,
            None => 0,
        };
        let names = self.edited.iter().chain(&self.command).map(String::len);
        let names: usize = names.sum();
        let printed = self.terminals.printed().len();
        self.arguments.size() + self.shown.size() + output + printed + names
    }

    /// Whether it is made with exactly these arguments.
    pub(super) fn is_made_with(&self, input: &Value) -> bool {
        self.arguments.are(input)
    }

    fn open(&mut self, events: &mut Vec<CoreEvent>) {
        if self.stage != Stage::Unknown {
            return;
        }
        self.stage = Stage::Open;
        let name = self.facts.name.as_deref().or(self.facts.kind.as_deref());
        name.unwrap_or("tool").clone_into(&mut self.name);
        events.push(CoreEvent::ToolCallOpened {
            call: Arc::clone(&self.id),
            name: self.name.clone(),
        });
    }

    fn tell_facts(&mut self, events: &mut Vec<CoreEvent>) {
        let members = self.facts.told(&self.name);
        let now = digest(&self.facts);
        if members.is_empty() || std::mem::replace(&mut self.told.facts, now) == now {
            return;
        }
        events.push(self.notice("acp.tool_call", members.into()));
    }

    /// Tells where the call is, what it prints and what it changes, as far as that is new.
    fn tell_changes(&mut self, update: &Value, workdir: &str, events: &mut Vec<CoreEvent>) {
        let locations = locations(update, workdir);
        if let Some(locations) = locations {
            let now = digest(&locations);
            let is_first = self.told.locations == 0 && locations == json!([]);
            if std::mem::replace(&mut self.told.locations, now) != now && !is_first {
                let value = json!({"locations": locations});
                events.push(self.notice("acp.locations", fit(value)));
            }
        }
        let printed = self
            .terminals
            .follow(update, self.command.as_deref(), workdir);
        events.extend(
            printed
                .into_iter()
                .map(|it| self.notice("acp.terminal", it)),
        );
        self.tell_diffs(update, workdir, events);
        if self.stage == Stage::Done {
            self.terminals.forget();
        }
    }

    fn tell_diffs(&mut self, update: &Value, workdir: &str, events: &mut Vec<CoreEvent>) {
        let content = update["content"].as_array();
        let diffs: Vec<&Value> = (content.into_iter().flatten())
            .filter(|item| item["type"] == "diff")
            .collect();
        if content.is_some() && self.stage != Stage::Done {
            let path = |item: &&Value| {
                let path = item["path"].as_str().unwrap_or_default();
                diff::inside(path, workdir).to_owned()
            };
            self.edited = diffs.iter().take(DIFFS).map(path).collect();
        }
        let mut told = Vec::new();
        if diffs.is_empty() {
            let Some((path, hunks)) = vendors::patch(update).filter(|_| self.edited.is_empty())
            else {
                return;
            };
            let patch = json!({"path": diff::inside(path, workdir), "patch": hunks});
            told.push((digest(&patch), fit(patch)));
        }
        let of = |item: &Value| digest(&[&item["path"], &item["oldText"], &item["newText"]]);
        told.extend(
            diffs
                .into_iter()
                .map(|item| (of(item), diff::notice(item, workdir))),
        );
        let mut known: Vec<u64> = told.iter().map(|(digest, _)| *digest).collect();
        known.truncate(DIFFS);
        let before = std::mem::replace(&mut self.told.diffs, known);
        let is_new = |(digest, _): &(u64, Value)| !before.contains(digest);
        events.extend(
            told.into_iter()
                .filter(is_new)
                .map(|(_, it)| self.notice("acp.diff", it)),
        );
    }

    fn pass_arguments(&mut self, events: &mut Vec<CoreEvent>) {
        match self.stage {
            Stage::Open if self.arguments.are_settled(self.facts.is_under_way()) => {
                self.close(events);
            }
            Stage::Open => {
                let growth = self.arguments.growth();
                events.extend(growth.map(|fragment| self.fragment(fragment)));
            }
            _ => self.tell_late_arguments(events),
        }
    }

    /// What agents say of the arguments after they had to be passed on.
    fn tell_late_arguments(&mut self, events: &mut Vec<CoreEvent>) {
        if let Some(input) = self.arguments.news() {
            events.push(self.notice("acp.tool_call", fit(json!({"rawInput": input}))));
        }
    }

    /// Completes the arguments as they are known.
    pub(super) fn close(&mut self, events: &mut Vec<CoreEvent>) {
        if self.stage != Stage::Open {
            return;
        }
        self.stage = Stage::Closed;
        let (rest, input) = self.arguments.close();
        events.extend(rest.map(|fragment| self.fragment(fragment)));
        events.push(CoreEvent::ToolCallClosed {
            call: Arc::clone(&self.id),
        });
        self.tell_late_arguments(events);
        let plan = input.and_then(|input| vendors::plan_of(&self.name, &input));
        events.extend(plan.map(|plan| CoreEvent::notice("acp.plan", fit(plan))));
    }

    fn take_output(&mut self, output: &Value) {
        if output.is_null() {
            return;
        }
        let text = vendors::text_of_output(output);
        let text = text.map(|text| Output::Text(clip(text, TEXT).to_owned()));
        self.output = Some(text.unwrap_or_else(|| Output::Other(shown::of_output(output))));
    }

    /// What came of the call: what it shows, else the text that it returned or printed, else the files it
    /// changed, else whatever it returned.
    fn result_content(&self) -> Content {
        if !self.shown.is_empty() {
            return self.shown.content();
        }
        let returned = match &self.output {
            Some(Output::Text(text)) => text.as_str(),
            _ => "",
        };
        let edits: Vec<_> = self
            .edited
            .iter()
            .map(|path| format!("edited {path}"))
            .collect();
        let edits = edits.join("\n");
        let texts = [returned, self.terminals.printed(), &edits];
        match (
            texts.into_iter().find(|text| !text.is_empty()),
            &self.output,
        ) {
            (Some(text), _) => Content::Text(text.to_owned()),
            (None, Some(Output::Other(content))) => content.clone(),
            (None, _) => Content::Text(String::new()),
        }
    }

    /// Lets go of everything but what later updates may repeat.
    fn finish(&mut self) {
        let terminals = std::mem::take(&mut self.terminals);
        let told = std::mem::take(&mut self.told);
        *self = Self {
            stage: Stage::Done,
            terminals,
            told,
            ..Self::new(Arc::clone(&self.id))
        };
        self.terminals.forget();
    }

    fn fragment(&self, fragment: String) -> CoreEvent {
        CoreEvent::ToolCallArguments {
            call: Arc::clone(&self.id),
            fragment,
        }
    }

    fn result(&self, content: Content, failed: bool) -> CoreEvent {
        CoreEvent::ToolCallResult {
            call: Arc::clone(&self.id),
            content,
            failed,
        }
    }

    fn notice(&self, name: &str, value: Value) -> CoreEvent {
        CoreEvent::Notice {
            name: name.to_owned(),
            call: Some(Arc::clone(&self.id)),
            value,
        }
    }
}

impl Facts {
    fn merge(&mut self, update: &Value) {
        let merge = |known: &mut Option<String>, told: Option<&str>| {
            if let Some(told) = told.filter(|told| !told.is_empty()) {
                *known = Some(clip(told, NAME).to_owned());
            }
        };
        merge(&mut self.name, vendors::tool_name(update));
        merge(&mut self.title, update["title"].as_str());
        merge(&mut self.kind, update["kind"].as_str());
        merge(&mut self.status, update["status"].as_str());
    }

    /// The facts as members, the name only if the call was opened under another.
    fn told(&self, opened_as: &str) -> Map<String, Value> {
        let name = self.name.as_ref().filter(|name| *name != opened_as);
        [
            ("name", name),
            ("title", self.title.as_ref()),
            ("kind", self.kind.as_ref()),
            ("status", self.status.as_ref()),
        ]
        .into_iter()
        .filter_map(|(key, told)| Some((key.to_owned(), told?.clone().into())))
        .collect()
    }

    fn is_under_way(&self) -> bool {
        self.status.as_deref() == Some("in_progress")
    }

    /// Whether the call has ended, and then whether it failed.
    fn ended(&self) -> Option<bool> {
        match self.status.as_deref() {
            Some("completed") => Some(false),
            Some("failed") => Some(true),
            _ => None,
        }
    }
}

/// The places that an update names, as `[{path, line?}]`.
fn locations(update: &Value, workdir: &str) -> Option<Value> {
    let mut left = NOTICE / 2;
    let place = |place: &Value| {
        let path = diff::inside(place["path"].as_str()?, workdir);
        left = left.checked_sub(path.len() + 32)?;
        let mut seen = json!({"path": path});
        if place["line"].is_u64() {
            seen["line"] = place["line"].clone();
        }
        Some(seen)
    };
    Some(
        update["locations"]
            .as_array()?
            .iter()
            .filter_map(place)
            .collect(),
    )
}
