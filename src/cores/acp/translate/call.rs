//! One tool call as an agent tells of it, bit by bit, and what follows from each bit.

mod changes;
mod facts;
mod launch;
mod outcome;
mod teller;
mod touched;

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};

use self::{
    changes::Changes, facts::Facts, launch::Launch, outcome::Outcome, teller::Teller,
    touched::Touched,
};
use super::{
    arguments::Arguments,
    asked,
    bounds::{NAME, clip, digest, fit},
    told::Told,
};
use crate::{
    deps::{CoreEvent, PermissionRequest},
    protocol::Content,
};

/// What is known of a call that was opened.
#[derive(Debug)]
pub(super) struct Call {
    id: Arc<str>,
    changes: Changes,
    /// Whether it has sent a sub-agent out.
    has_sent_out: bool,
    /// What goes in and comes out of it, until its result is passed on. What it still changes or prints
    /// after that is told, and no more.
    live: Option<Live>,
}

/// A call without a result. In ACP an update replaces what it names and leaves the rest.
#[derive(Debug)]
struct Live {
    /// The tool, as it was called when the call was opened.
    name: String,
    /// Whether it waits for permission, or was refused it.
    blocked: bool,
    /// The files that it was last said to be about.
    paths: Vec<PathBuf>,
    facts: Facts,
    /// Which facts were told.
    told: Option<u64>,
    arguments: Arguments,
    command: Option<String>,
    outcome: Outcome,
    touched: Touched,
    launch: Launch,
}

impl Call {
    /// Opens the call that an update or a request is the first to speak of.
    pub(super) fn open(id: Arc<str>, first: &Value, told: &mut Told) -> Self {
        let facts = Facts::of_first(first);
        let name = facts.tool().to_owned();
        told.events.push(CoreEvent::ToolCallOpened {
            call: Arc::clone(&id),
            name: name.clone(),
        });
        Self {
            id,
            changes: Changes::default(),
            has_sent_out: false,
            live: Some(Live {
                name,
                blocked: false,
                paths: Vec::new(),
                facts,
                told: None,
                arguments: Arguments::default(),
                command: None,
                outcome: Outcome::default(),
                touched: Touched::default(),
                launch: Launch::default(),
            }),
        }
    }

    /// By which id it is told.
    pub(super) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Whether it is a call of this tool, and has no result yet.
    pub(super) fn is_open_call_of(&self, tool: &str) -> bool {
        self.live.as_ref().is_some_and(|live| live.name == tool)
    }

    /// Whether it is made with exactly these arguments.
    pub(super) fn is_made_with(&self, input: &Value) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|live| live.arguments.are(input))
    }

    /// Whether it has sent a sub-agent out.
    pub(super) fn has_sent_out(&self) -> bool {
        let live = self.live.as_ref();
        self.has_sent_out || live.is_some_and(|live| live.launch.is_told())
    }

    /// Whether its arguments, as they are known by now, send a sub-agent out, and nothing has said yet that they are whole.
    pub(super) fn may_send_out(&self) -> bool {
        let live = self.live.as_ref().filter(|live| !live.launch.is_told());
        let input = live.and_then(|live| Some((live, live.arguments.open()?)));
        input.is_some_and(|(live, input)| launch::about(&live.facts, input).is_some())
    }

    /// Follows an update.
    pub(super) fn follow(&mut self, update: &Value, told: &mut Told) {
        let tell = &mut Teller::new(&self.id, told);
        let Some(live) = &mut self.live else {
            self.changes.follow(update, None, tell);
            return self.changes.forget();
        };
        live.take(update, tell);
        self.changes.follow(update, live.command.as_deref(), tell);
        live.pass_arguments(tell);
        live.outcome.take_output(&update["rawOutput"]);
        if let Some(failed) = live.facts.ended() {
            live.close(tell);
            let edits = self.changes.edits();
            let content = live.outcome.content(self.changes.printed(), &edits);
            live.end(content, &update["rawOutput"]["metadata"], failed, tell);
            self.has_sent_out = live.launch.is_told();
            self.live = None;
            self.changes.forget();
        } else if let Some(news) = live.outcome.news() {
            tell.notice("acp.output", fit(news));
        }
    }

    /// Follows a request for permission, with what it says of the call. It is the last word on the
    /// arguments of a call that has not said them; agents may show them in another form for people to
    /// decide on, under the same id.
    pub(super) fn ask(&mut self, said: &Value, told: &mut Told) {
        let Some(live) = &self.live else { return };
        let mut update = said.clone();
        if let Some(members) = update.as_object_mut() {
            // How far a call is, its own updates say.
            members.shift_remove("status");
            if !live.arguments.are_awaited() {
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
        self.follow(&update, told);
        if let Some(live) = &mut self.live {
            live.blocked = true;
            live.close(&mut Teller::new(&self.id, told));
        }
    }

    /// What people are asked about it, with what a request says of it.
    pub(super) fn request(&self, said: &Value) -> PermissionRequest {
        let mut request = asked::request(said);
        request.call = Some(Arc::clone(&self.id));
        if let Some(live) = &self.live {
            request.tool.clone_from(&live.name);
            live.facts.complete(&mut request);
            if request.paths.is_empty() {
                request.paths.clone_from(&live.paths);
            }
            let known = || live.arguments.value().map(fit);
            request.params = request.params.or_else(known);
        }
        request
    }

    /// Completes the arguments, if they are known.
    pub(super) fn close_known(&mut self, told: &mut Told) {
        let live = self.live.as_ref();
        if live.is_some_and(|live| live.arguments.are_whole()) {
            self.close(told);
        }
    }

    /// Completes the arguments as they are known.
    pub(super) fn close(&mut self, told: &mut Told) {
        if let Some(live) = &mut self.live {
            live.close(&mut Teller::new(&self.id, told));
        }
    }

    /// Takes note that it may go on.
    pub(super) fn allow(&mut self) {
        if let Some(live) = &mut self.live {
            live.blocked = false;
        }
    }

    /// Says what is still owed of a call that is not followed any more: the result of one that was not let go on.
    pub(super) fn give_up(self, reason: &str, told: &mut Told) {
        if let Some(mut live) = self.live.filter(|live| live.blocked) {
            let tell = &mut Teller::new(&self.id, told);
            live.close(tell);
            live.end(Content::Text(reason.to_owned()), &Value::Null, true, tell);
        }
    }

    /// Forgets what was shown and printed; there is nothing to say of that.
    pub(super) fn forget(&mut self) {
        self.changes.forget();
        if let Some(live) = &mut self.live {
            live.outcome.forget();
            live.arguments.forget();
            live.touched = Touched::default();
            live.command = None;
            live.paths = Vec::new();
        }
    }

    /// How much is kept of it, in bytes, besides what has small bounds of its own: its id and its facts.
    pub(super) fn size(&self) -> usize {
        let live = self.live.as_ref().map_or(0, |live| {
            let command = live.command.as_ref().map_or(0, String::len);
            let paths: usize = live.paths.iter().map(|path| path.as_os_str().len()).sum();
            live.arguments.size() + live.outcome.size() + live.touched.size() + command + paths
        });
        live + self.changes.size()
    }
}

impl Live {
    /// Takes over what an update says, and tells the facts.
    fn take(&mut self, update: &Value, tell: &mut Teller) {
        self.facts.merge(update);
        self.touched.follow(update, tell.workdir());
        self.launch.follow(update, &self.facts, tell);
        self.launch.go_on(self.blocked, tell);
        let paths = asked::paths(update);
        if !paths.is_empty() {
            self.paths = paths;
        }
        let members = self.facts.told(&self.name);
        let now = digest(&self.facts);
        if !members.is_empty() && self.told.replace(now) != Some(now) {
            tell.notice("acp.tool_call", members.into());
        }
        let input = &update["rawInput"];
        self.arguments.take(input);
        if let Some(command) = input["command"].as_str() {
            self.command = Some(clip(command, 8 * NAME).to_owned());
        }
        if let Some(content) = update["content"].as_array() {
            tell.notices("acp.content", self.outcome.take_content(content));
        }
    }

    fn pass_arguments(&mut self, tell: &mut Teller) {
        if self.arguments.are_closed() {
            self.tell_late_arguments(tell);
        } else if self.arguments.are_settled(self.facts.is_under_way()) {
            self.close(tell);
        } else if let Some(fragment) = self.arguments.growth() {
            tell.arguments(fragment);
        }
    }

    /// What agents say of the arguments after they had to be passed on.
    fn tell_late_arguments(&mut self, tell: &mut Teller) {
        if let Some(input) = self.arguments.news() {
            self.called(&input, tell);
            tell.notice("acp.tool_call", fit(json!({"rawInput": input})));
        }
    }

    fn close(&mut self, tell: &mut Teller) {
        if self.arguments.are_closed() {
            return;
        }
        let (rest, input) = self.arguments.close();
        if let Some(rest) = rest {
            tell.arguments(rest);
        }
        tell.closed();
        self.called(&input.unwrap_or_default(), tell);
        self.tell_late_arguments(tell);
    }

    /// Tells what follows from the arguments besides the call.
    fn called(&mut self, input: &Value, tell: &mut Teller) {
        tell.called(self.facts.tool(), input);
        self.launch.called(&self.facts, input, self.blocked, tell);
    }

    /// Tells what came of it, and what follows from that.
    fn end(&self, content: Content, metadata: &Value, failed: bool, tell: &mut Teller) {
        let text = content.text();
        tell.result(content, failed);
        let output = self.outcome.returned().unwrap_or(&text);
        let knows_files = tell.answered(output, metadata, failed);
        if !failed && !knows_files {
            tell.files(self.touched.files(self.facts.kind()));
        }
        self.launch.end(&text, failed, tell);
    }
}
