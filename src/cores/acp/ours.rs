//! Calls of our own tools, which are seen twice: the agent tells of one as of any other call, and it comes over MCP.
//! Only the second can be answered, so the first is kept back here, and says by which id the call is known.
//!
//! A call is one of ours if the agent names it exactly as it names a tool of ours that is there now. Agents put the
//! server's name before a tool's, each in its own way; where an agent has no member for the name, the title is one for
//! calls that are of no kind that the agent has tools of its own for: the title of a command is what it runs.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use lru::LruCache;
use serde_json::Value;

use super::vendors;
use crate::{
    cores::mcp::{Called, NAME},
    deps::{MAX_CALLS, OptionKind},
    protocol::JsonObject,
};

/// How many calls that came over MCP wait for what the agent says of them.
const UNTOLD: usize = 64;

/// The longest update that is kept of a call, in bytes of JSON: one that failed is told in the end.
const UPDATE: usize = 64 * 1024;

/// The longest id of a call, in bytes.
const ID: usize = 256;

/// The calls of our tools in one turn.
pub(super) struct Ours {
    /// The tools, by each name that an agent may give them.
    tools: HashMap<String, Arc<str>>,
    /// What the agent has told, by its ids.
    told: LruCache<Arc<str>, Told>,
    /// Calls that came over MCP of which the agent has not told, the oldest first.
    untold: VecDeque<Untold>,
    /// How many ids were made.
    made: u64,
}

/// A call that came over MCP before the agent told of it.
struct Untold {
    /// What the agent will tell of it by, if that is known.
    id: Option<Arc<str>>,
    tool: Arc<str>,
    arguments: JsonObject,
}

/// What an agent tells of a call.
struct Told {
    /// In which session: a sub-agent calls in its own.
    session: Value,
    tool: Arc<str>,
    /// The arguments, once they are known.
    input: Option<Value>,
    /// Whether it came over MCP.
    came: bool,
    has_failed: bool,
    /// The first update and the last.
    said: Vec<Value>,
}

impl Ours {
    pub(super) fn new() -> Self {
        Self {
            tools: HashMap::new(),
            told: LruCache::new(MAX_CALLS),
            untold: VecDeque::new(),
            made: 0,
        }
    }

    /// These are the tools from now on.
    pub(super) fn set(&mut self, names: &[String]) {
        let of = |name: &String| {
            let tool: Arc<str> = name.as_str().into();
            // OpenCode, Claude Code and Qwen, Gemini, Copilot, Codex.
            let shown = [
                format!("{NAME}_{name}"),
                format!("mcp__{NAME}__{name}"),
                format!("mcp_{NAME}_{name}"),
                format!("{NAME}-{name}"),
                format!("mcp.{NAME}.{name}"),
            ];
            shown.map(|shown| (shown, Arc::clone(&tool)))
        };
        self.tools = names.iter().flat_map(of).collect();
    }

    /// Hears an update (`session/update`), and gives it back unless it is of a call of ours.
    pub(super) fn hear(&mut self, params: Value) -> Option<Value> {
        let update = &params["update"];
        if !matches!(
            update["sessionUpdate"].as_str(),
            Some("tool_call" | "tool_call_update")
        ) {
            return Some(params);
        }
        let id = update["toolCallId"].as_str().filter(|id| id.len() <= ID);
        let Some(id) = id else {
            return Some(params);
        };
        let has_failed = update["status"] == "failed";
        let input = arguments(update).filter(|input| !vendors::is_placeholder(input));
        let input = input.cloned();
        if !self.told.contains(id) {
            let Some(tool) = self.tool_of(update) else {
                return Some(params);
            };
            let came = self.pair(id, &tool, input.as_ref());
            let told = Told {
                session: params["sessionId"].clone(),
                tool,
                input: None,
                came,
                has_failed: false,
                said: Vec::new(),
            };
            self.told.push(id.into(), told);
        }
        let told = self.told.get_mut(id).expect("it was just put in");
        if told.session != params["sessionId"] {
            return Some(params);
        }
        told.has_failed |= has_failed;
        told.input = input.or_else(|| told.input.take());
        if params.to_string().len() <= UPDATE {
            told.said.truncate(1);
            told.said.push(params);
        }
        None
    }

    /// Takes note of a call that came over MCP and of which the agent has told, and says by which id it is known. `None`
    /// if it has not told of it.
    pub(super) fn come(&mut self, called: &Called) -> Option<Arc<str>> {
        let Some(id) = exact(called) else {
            return self.waiting(called);
        };
        self.told.peek_mut(id)?.came = true;
        Some(id.into())
    }

    /// The same for a call of which the agent has not told, and may not tell at all.
    pub(super) fn come_untold(&mut self, called: &Called) -> Arc<str> {
        if self.untold.len() == UNTOLD {
            self.untold.pop_front();
        }
        let id: Option<Arc<str>> = exact(called).map(Into::into);
        self.untold.push_back(Untold {
            id: id.clone(),
            tool: called.name.as_str().into(),
            arguments: called.arguments.clone(),
        });
        id.unwrap_or_else(|| {
            self.made += 1;
            format!("{NAME}-{}", self.made).into()
        })
    }

    /// The oldest call that the agent has told of, that has not come yet and that is made so: with these arguments, or
    /// else with none that are known.
    fn waiting(&mut self, called: &Called) -> Option<Arc<str>> {
        let arguments = Value::Object(called.arguments.clone());
        let is_it = |told: &Told, exactly: bool| {
            let fits = match &told.input {
                Some(input) => exactly && *input == arguments,
                None => !exactly,
            };
            !told.came && *told.tool == *called.name && fits
        };
        let id = [true, false].into_iter().find_map(|exactly| {
            let mut oldest_first = self.told.iter().rev();
            let found = oldest_first.find(|(_, told)| is_it(told, exactly));
            found.map(|(id, _)| Arc::clone(id))
        })?;
        self.told.peek_mut(&id)?.came = true;
        Some(id)
    }

    /// Whether a call that the agent tells of only now has come already. It has its id by then.
    fn pair(&mut self, id: &str, tool: &str, input: Option<&Value>) -> bool {
        let is_it = |came: &Untold| {
            if let Some(exact) = &came.id {
                return **exact == *id;
            }
            let fits = |input: &Value| input.as_object() == Some(&came.arguments);
            *came.tool == *tool && input.is_none_or(fits)
        };
        let found = self.untold.iter().position(is_it);
        found.and_then(|at| self.untold.remove(at)).is_some()
    }

    /// The agent's own option for letting a call of ours go on (`session/request_permission`); `None` for any other
    /// call. Whoever has put the tool there has allowed it. It is the option that holds once: what those that hold for
    /// longer hold for, agents say to people only.
    pub(super) fn allowed(&self, params: &Value) -> Option<Arc<str>> {
        let said = &params["toolCall"];
        let is_told = || {
            let told = self.told.peek(said["toolCallId"].as_str()?)?;
            (told.session == params["sessionId"]).then(|| Arc::clone(&told.tool))
        };
        match (self.tool_of(said), vendors::tool_name(said)) {
            (Some(_), _) => {}
            // What was told of before may be asked about without a name, if nothing else is described by it.
            (None, None) if is_plain(said) => drop(is_told()?),
            (None, _) => return None,
        }
        let options = params["options"].as_array()?;
        let mut once = options.iter().filter(|option| {
            let kind = option["kind"].as_str().and_then(OptionKind::of);
            kind == Some(OptionKind::AllowOnce)
        });
        match (once.next()?["optionId"].as_str(), once.next()) {
            (Some(id), None) if !id.is_empty() => Some(id.into()),
            _ => None,
        }
    }

    /// What the agent has told of calls that have failed without coming over MCP: nobody else has said a word of them.
    pub(super) fn lost(&mut self) -> Vec<Value> {
        let mut lost = Vec::new();
        while let Some((_, told)) = self.told.pop_lru() {
            if told.has_failed && !told.came {
                lost.extend(told.said);
            }
        }
        lost
    }

    /// Which of our tools something that is said of a call names.
    fn tool_of(&self, said: &Value) -> Option<Arc<str>> {
        // Codex names the server and the tool in the arguments.
        let input = &said["rawInput"];
        let meta = &said["_meta"];
        if meta["is_mcp_tool_call"] == true || meta["is_mcp_tool_approval"] == true {
            let tool = input["tool"].as_str().filter(|_| input["server"] == NAME)?;
            return self.tools.get(&format!("mcp.{NAME}.{tool}")).cloned();
        }
        let name = vendors::tool_name(said).or_else(|| title(said))?;
        self.tools.get(name).cloned()
    }
}

/// The agent's own id of a call, where it says which one it is: Claude Code and Codex do.
fn exact(called: &Called) -> Option<&str> {
    let names = ["claudecode/toolUseId", "callId"];
    let mut said = names.iter().map(|name| called.meta.get(*name)?.as_str());
    said.find_map(|id| id)
        .filter(|id| (1..=ID).contains(&id.len()))
}

/// A title that may be a name.
fn title(said: &Value) -> Option<&str> {
    said["title"].as_str().filter(|_| is_plain(said))
}

/// Whether nothing is said of it that a call of a server's tool cannot be.
fn is_plain(said: &Value) -> bool {
    let kind = &said["kind"];
    // Codex says so, and takes any call of a server for something that is executed.
    let is_a_servers = said["_meta"]["is_mcp_tool_approval"] == true;
    (kind.is_null() || kind == "other" || is_a_servers) && said["rawInput"]["command"].is_null()
}

/// The arguments that something said of a call shows.
fn arguments(said: &Value) -> Option<&Value> {
    let input = &said["rawInput"];
    if said["_meta"]["is_mcp_tool_call"] == true {
        return input.get("arguments");
    }
    input.is_object().then_some(input)
}

#[cfg(test)]
mod tests;
