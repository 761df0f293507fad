//! What real agents said, as it was recorded: `{from, message}` a line, where `from` is `agent` or
//! `client` and `message` is what was sent. Every session of every file is played through translators.

use std::{collections::BTreeMap, fs, path::Path};

use super::*;
use crate::{cores::acp::permission, deps::Tokens};

const FOLDER: &str = "tests/agents/transcripts";

/// The agents of whom there is a transcript.
const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "qwen"];

const WORKDIR: &str = "/srv/dev/project";

/// What is owed of one call.
#[derive(Default)]
struct Owed {
    /// What the agent said of it last, by member.
    last: BTreeMap<String, Value>,
    inputs: Vec<Value>,
    /// Every change of a file that it showed.
    diffs: Vec<Value>,
    asked: bool,
    ended: bool,
}

impl Owed {
    /// Notes what is shown of files, and where the call is.
    fn note_changes(&mut self, told: &Value) {
        let items = told["content"].as_array().into_iter().flatten();
        let diffs = items.filter(|item| item["type"] == "diff").cloned();
        self.diffs.extend(diffs);
        if told["locations"]
            .as_array()
            .is_some_and(|places| !places.is_empty())
        {
            let places = told["locations"].clone();
            self.last.insert("locations".into(), places);
        }
    }

    /// Checks that the files were told of that it has to do with, if it has succeeded.
    fn check_files(&self, events: &[CoreEvent], place: &str) {
        let last = |member: &str| self.last.get(member).and_then(Value::as_str);
        let actions: &[&str] = match last("kind") {
            Some("read") => &["Read"],
            Some("edit") => &["Edit", "Write"],
            _ => return,
        };
        let places = self.last.get("locations").and_then(Value::as_array);
        let places = places.filter(|_| last("status") == Some("completed"));
        let told = files(events);
        for path in places.into_iter().flatten().map(|it| inside(&it["path"])) {
            let is_told = actions
                .iter()
                .any(|action| told.contains(&format!("{action} {path}")));
            assert!(is_told, "{place}: {path} in {told:?}");
        }
    }

    /// Checks that all of that was told in the end.
    fn check_changes(&self, id: &str, events: &[CoreEvent], place: &str) {
        let told = |wanted: &str| -> Vec<&Value> {
            let events = events.iter().filter_map(|event| match event {
                CoreEvent::Notice {
                    name,
                    call: Some(call),
                    value,
                } if name == wanted && **call == *id => Some(value),
                _ => None,
            });
            events.collect()
        };
        for diff in &self.diffs {
            let whole = json!({"path": inside(&diff["path"]), "oldText": diff["oldText"], "newText": diff["newText"]});
            assert!(diffs(events).contains(&whole), "{place}: {whole}");
        }
        let Some(places) = self.last.get("locations").and_then(Value::as_array) else {
            return;
        };
        let seen = |it: &Value| match &it["line"] {
            Value::Null => json!({"path": inside(&it["path"])}),
            line => json!({"path": inside(&it["path"]), "line": line}),
        };
        let seen = json!({"locations": places.iter().map(seen).collect::<Vec<_>>()});
        assert_eq!(told("acp.locations").last(), Some(&&seen), "{place}");
    }
}

/// A path as seen from the working directory.
fn inside(path: &Value) -> String {
    match path.as_str().unwrap() {
        WORKDIR => ".".to_owned(),
        path => path.trim_start_matches(&format!("{WORKDIR}/")).to_owned(),
    }
}

/// One session between two requests of the client.
struct Replay {
    translator: Translator,
    vendor: Vendor,
    events: Vec<CoreEvent>,
    calls: BTreeMap<String, Owed>,
    standing: BTreeMap<String, Value>,
    text: String,
    /// How full the context was said to be last.
    used: Option<u64>,
}

impl Replay {
    fn new(session: &str, vendor: Vendor) -> Self {
        Self {
            translator: Translator::new(session, WORKDIR, vendor),
            vendor,
            events: Vec::new(),
            calls: BTreeMap::new(),
            standing: BTreeMap::new(),
            text: String::new(),
            used: None,
        }
    }

    fn hear(&mut self, message: &Value) {
        let params = message["params"].clone();
        if message["method"] == "session/request_permission" {
            let told = &params["toolCall"];
            let owed = self.calls.entry(id(told)).or_default();
            owed.asked = true;
            owed.note_changes(told);
            owed.inputs.push(told["rawInput"].clone());
            let (said, request) = self.translator.ask(&params);
            self.events.extend(said);
            check_request(&params, &request.expect("people can be asked"));
            return;
        }
        let says_something = self.note(&params["update"]);
        let said = self.translator.translate(params.clone());
        assert!(
            !says_something || !said.is_empty(),
            "nothing was made of {params}"
        );
        self.events.extend(said);
    }

    /// Notes what an update says, and whether that is anything.
    fn note(&mut self, update: &Value) -> bool {
        let kind = update["sessionUpdate"].as_str().unwrap();
        match kind {
            "user_message_chunk" => false,
            "agent_message_chunk" | "agent_thought_chunk" => {
                let text = update["content"]["text"].as_str().unwrap();
                if kind == "agent_message_chunk" && self.vendor.aside(update, text).is_none() {
                    self.text.push_str(text);
                }
                !text.is_empty()
            }
            "tool_call" | "tool_call_update" => self.note_call(update),
            "usage_update" => {
                self.used = update["used"].as_u64();
                true
            }
            _ if kind == "session_info_update" && update["title"].is_null() => {
                update["_meta"]["codex"].is_object()
            }
            _ => {
                let last = self.standing.insert(kind.to_owned(), bare(update));
                last != Some(bare(update)) || !notices::is_standing(kind)
            }
        }
    }

    fn note_call(&mut self, update: &Value) -> bool {
        let owed = self.calls.entry(id(update)).or_default();
        owed.note_changes(update);
        let mut says_something = owed.last.is_empty();
        for member in [
            "title",
            "kind",
            "status",
            "locations",
            "rawInput",
            "content",
        ] {
            let told = &update[member];
            let is_empty = told.is_null() || told == &json!([]);
            let last = owed.last.insert(member.to_owned(), told.clone());
            says_something |= !is_empty && last.as_ref() != Some(told) && !owed.ended;
            if is_empty {
                owed.last
                    .insert(member.to_owned(), last.unwrap_or_default());
            }
        }
        owed.ended |= matches!(update["status"].as_str(), Some("completed" | "failed"));
        owed.inputs.push(update["rawInput"].clone());
        // An object that grows goes out when it is whole.
        let grows = update["status"].is_null() && !update["rawInput"].is_null();
        says_something && !grows
    }

    fn check(mut self, place: &str) {
        self.events.extend(self.translator.finish());
        let texts = self.events.iter().filter_map(|event| match event {
            CoreEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<String>(), self.text, "{place}");
        for event in &self.events {
            match event {
                CoreEvent::Text(text) | CoreEvent::Reasoning(text) => assert!(!text.is_empty()),
                CoreEvent::Notice { value, .. } => assert!(bounds::size(value) <= bounds::NOTICE),
                _ => {}
            }
        }
        // Nothing that says how things are is left out; codex says more of a session than its title.
        for (kind, update) in self
            .standing
            .iter()
            .filter(|(kind, _)| *kind != "session_info_update")
        {
            let mut value = update.clone();
            value.as_object_mut().unwrap().shift_remove("sessionUpdate");
            let told = CoreEvent::notice(format!("acp.{kind}"), value);
            assert!(self.events.contains(&told), "{place}: {told:?}");
        }
        let mut prompts = self.events.iter().filter_map(|event| match event {
            CoreEvent::Context(update) => update.prompt,
            _ => None,
        });
        let used = self.used.map(Tokens::Counted);
        assert!(used.is_none() || used == prompts.next_back(), "{place}");
        for (id, owed) in &self.calls {
            owed.check_files(&self.events, place);
            owed.check_changes(id, &self.events, place);
            check_call(id, owed, &self.events, &format!("{place}: {id}"));
        }
    }
}

/// Checks that people see what they are asked.
fn check_request(params: &Value, request: &PermissionRequest) {
    let told = &params["toolCall"];
    let options = permission::options(params).unwrap();
    assert_eq!(options.len(), params["options"].as_array().unwrap().len());
    assert_eq!(request.call.as_deref(), Some(&*id(told)));
    assert_eq!(request.action, told["kind"]);
    assert_eq!(request.title, told["title"]);
    assert!(!["", "tool"].contains(&&*request.tool));
    let places = told["locations"].as_array().into_iter().flatten();
    for place in places {
        let path = place["path"].as_str().unwrap().into();
        assert!(request.paths.contains(&path), "{told}");
    }
    if !told["rawInput"].is_null() {
        assert_eq!(request.params.as_ref(), Some(&told["rawInput"]));
    }
    assert!(!format!("{request:?}").contains("_meta"));
}

fn check_call(id: &str, owed: &Owed, events: &[CoreEvent], place: &str) {
    let at = |wanted: &dyn Fn(&CoreEvent) -> bool| -> Vec<usize> {
        let found = events.iter().enumerate().filter(|(_, event)| wanted(event));
        found.map(|(index, _)| index).collect()
    };
    let opened =
        at(&|event| matches!(event, CoreEvent::ToolCallOpened { call, .. } if &**call == id));
    let closed = at(&|event| matches!(event, CoreEvent::ToolCallClosed { call } if &**call == id));
    let given =
        at(&|event| matches!(event, CoreEvent::ToolCallResult { call, .. } if &**call == id));
    assert_eq!(opened.len(), 1, "{place}");
    assert!(closed.len() <= 1 && given.len() <= 1, "{place}");
    assert_eq!(
        given.len(),
        usize::from(owed.ended || owed.asked),
        "{place}"
    );
    if let Some(given) = given.first() {
        assert!(opened[0] < closed[0] && closed[0] < *given, "{place}");
    }
    let mut text = String::new();
    let mut corrected = None;
    for event in events {
        match event {
            CoreEvent::ToolCallArguments { call, fragment } if &**call == id => {
                text.push_str(fragment);
            }
            CoreEvent::Notice {
                call: Some(call),
                value,
                ..
            } if &**call == id => {
                corrected = value.get("rawInput").cloned().or(corrected);
            }
            _ => {}
        }
    }
    let last = &owed.last.get("rawInput").cloned().unwrap_or_default();
    if closed.is_empty() {
        return assert_eq!(text, "", "{place}");
    }
    if text.is_empty() {
        return assert!(owed.inputs.iter().all(Value::is_null), "{place}");
    }
    let written: Value = serde_json::from_str(&text).expect(place);
    assert!(owed.inputs.contains(&written), "{place}: {text}");
    if !vendors::is_placeholder(last) {
        assert_eq!(&corrected.unwrap_or(written), last, "{place}");
    }
}

fn id(told: &Value) -> String {
    told["toolCallId"].as_str().unwrap().to_owned()
}

fn bare(update: &Value) -> Value {
    let mut update = update.clone();
    notices::strip_meta(&mut update);
    update
}

/// Plays a file, and returns how many updates it has.
fn play_file(path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let mut vendor = Vendor::default();
    let mut replays: BTreeMap<String, Replay> = BTreeMap::new();
    let mut updates = 0;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}", path.display(), number + 1);
        let line: Value = serde_json::from_str(line).expect(&place);
        let message = &line["message"];
        let info = &message["result"]["agentInfo"];
        if info.is_object() {
            vendor = Vendor::of(info);
        }
        let Some(session) = message["params"]["sessionId"].as_str() else {
            continue;
        };
        if line["from"] == "client" && !message["id"].is_null() {
            replays
                .remove(session)
                .into_iter()
                .for_each(|replay| replay.check(&place));
        }
        let is_said = message["method"] == "session/update"
            || message["method"] == "session/request_permission";
        if line["from"] == "agent" && is_said {
            updates += 1;
            let replay = replays.entry(session.to_owned());
            replay
                .or_insert_with(|| Replay::new(session, vendor))
                .hear(message);
        }
    }
    for replay in replays.into_values() {
        replay.check(&path.display().to_string());
    }
    updates
}

#[test]
fn what_real_agents_said_is_passed_on_without_loss() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    for agent in AGENTS {
        let path = folder.join(agent).with_extension("jsonl");
        assert!(play_file(&path) > 0, "{}", path.display());
    }
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let recorded = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    assert_eq!(recorded.count(), AGENTS.len(), "one is not in the list");
}
