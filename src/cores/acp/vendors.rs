//! What agents add to ACP, each in its own way. Where their traffic gives a habit away it is read from
//! there; where it does not, [`Vendor`] says whose it is.

use serde_json::{Value, json};

use crate::deps::SubAgentStatus;

/// An agent with habits that an update does not give away by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Vendor {
    /// Has a tool of its own to ask the person with, where elicitation is offered.
    Claude,
    /// Warns in message chunks without a message id.
    Codex,
    /// Tells of what it does in message chunks, and counts a session's tokens from its beginning.
    Copilot,
    /// Tells of its mode in message chunks.
    Gemini,
    /// Any other.
    #[default]
    Other,
}

impl Vendor {
    /// As an agent's `agentInfo` says.
    pub(super) fn of(info: &Value) -> Self {
        match info["name"].as_str() {
            Some("@agentclientprotocol/claude-agent-acp") => Self::Claude,
            Some("@agentclientprotocol/codex-acp") => Self::Codex,
            Some("Copilot") => Self::Copilot,
            Some("gemini-cli") => Self::Gemini,
            _ => Self::Other,
        }
    }

    /// Whether what an answer says was spent is counted from the beginning of the session.
    pub(super) fn counts_by_session(self) -> bool {
        self == Self::Copilot
    }

    /// A message chunk that is nothing the model said, as the update that it should be. These agents
    /// send whole sentences in one chunk then.
    pub(super) fn aside(self, chunk: &Value, text: &str) -> Option<Value> {
        if chunk["sessionUpdate"] != "agent_message_chunk" || chunk["messageId"].is_string() {
            return None;
        }
        let notice = |severity: &str, start: &str| {
            let title = text.strip_prefix(start)?.trim();
            Some(json!({"sessionUpdate": "notice", "severity": severity, "title": title}))
        };
        match self {
            Self::Codex => notice("warning", "Warning: "),
            Self::Copilot => notice("info", "Info: ").or_else(|| notice("warning", "Warning: ")),
            Self::Gemini => {
                let mode = text.strip_prefix("[MODE_UPDATE] ")?.trim();
                Some(json!({"sessionUpdate": "current_mode_update", "currentModeId": mode}))
            }
            Self::Claude | Self::Other => None,
        }
    }

    /// Whether its model sees tools of others only once it looks for them by name.
    pub(super) fn hides_tools(self) -> bool {
        self == Self::Codex
    }

    /// Whether what it describes a sub-agent by is what it has told it to do.
    pub(super) fn describes_by_prompt(self) -> bool {
        self == Self::Codex
    }

    /// Whether it asks the person by a tool of its own.
    pub(super) fn asks_by_itself(self) -> bool {
        self == Self::Claude
    }
}

/// The name of a call's tool, where the update or its id says it.
pub(super) fn tool_name(update: &Value) -> Option<&str> {
    let meta = &update["_meta"];
    let told = [
        &update["name"],
        &meta["claudeCode"]["toolName"],
        &meta["toolName"],
        &meta["pando"]["toolName"],
    ];
    told.into_iter()
        .find_map(|name| name.as_str().filter(|name| !name.is_empty()))
        .or_else(|| name_in_id(update["toolCallId"].as_str()?))
}

/// The name of a call's tool, where the title is one. It often is a sentence for people.
pub(super) fn name_in_title(update: &Value) -> Option<&str> {
    update["title"].as_str().filter(|title| is_name(title))
}

/// The name in an id as Gemini makes them: `run_shell_command__fc71`, `read_file__read_file_1796_0`.
fn name_in_id(id: &str) -> Option<&str> {
    let ending = |name: &str, rest: &str| {
        let rest = rest.strip_prefix(name).unwrap_or(rest);
        rest.chars().all(|c| c.is_ascii_hexdigit() || c == '_')
    };
    id.match_indices("__")
        .map(|(at, cut)| (&id[..at], &id[at + cut.len()..]))
        .find(|(name, rest)| is_identifier(name) && !rest.is_empty() && ending(name, rest))
        .map(|(name, _)| name)
}

/// Whether a title is the name of a tool: an identifier, or `mcp.SERVER.TOOL` as Codex writes it.
fn is_name(title: &str) -> bool {
    match title
        .strip_prefix("mcp.")
        .and_then(|rest| rest.split_once('.'))
    {
        Some((server, tool)) => is_identifier(server) && is_identifier(tool),
        None => is_identifier(title),
    }
}

fn is_identifier(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// The tool whose call Pando asks for: its permission requests carry an id of their own,
/// `SESSION-TOOL-NANOSECONDS`, that names no call.
pub(super) fn tool_asked_for<'a>(id: &'a str, session: &str) -> Option<&'a str> {
    let (tool, moment) = id
        .strip_prefix(session)?
        .strip_prefix('-')?
        .rsplit_once('-')?;
    let is_moment = !moment.is_empty() && moment.chars().all(|c| c.is_ascii_digit());
    (is_moment && !tool.is_empty()).then_some(tool)
}

/// Whether arguments are only a place for those to come: nothing, or the folder that `OpenCode` puts in.
pub(super) fn is_placeholder(input: &Value) -> bool {
    match input {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(members) => members.keys().all(|key| key == "cwd"),
        _ => false,
    }
}

/// The text in a raw output that wraps one: `output` beside anything (`OpenCode`, Pando, Qwen), else what
/// stands beside nothing but longer forms of itself (Copilot) or a code.
pub(super) fn text_of_output(output: &Value) -> Option<&str> {
    const WRAPPERS: [(&str, &[&str]); 3] = [
        ("content", &["detailedContent", "contents"]),
        ("message", &["code"]),
        ("error", &[]),
    ];
    if let Some(text) = output.as_str().or_else(|| output["output"].as_str()) {
        return Some(text);
    }
    let members = output.as_object()?;
    WRAPPERS.iter().find_map(|(name, beside)| {
        let known = |key: &String| key == name || beside.contains(&key.as_str());
        output[*name].as_str().filter(|_| members.keys().all(known))
    })
}

/// The hunks of a change that Claude reports besides a call's content: the file and its patch.
pub(super) fn patch(update: &Value) -> Option<(&str, &Value)> {
    let response = &update["_meta"]["claudeCode"]["toolResponse"];
    let hunks = &response["structuredPatch"];
    let has_hunks = hunks.as_array().is_some_and(|hunks| !hunks.is_empty());
    response["filePath"]
        .as_str()
        .filter(|_| has_hunks)
        .map(|path| (path, hunks))
}

/// The call that has sent out the sub-agent whose update this is, at agents whose sub-agents speak in the agent's own
/// session (Qwen; Claude, to clients that do not take sub-agents).
pub(super) fn sent_out_by(update: &Value) -> Option<&str> {
    let meta = &update["_meta"];
    let told = [
        &meta["parentToolCallId"],
        &meta["claudeCode"]["parentToolUseId"],
    ];
    told.into_iter().find_map(Value::as_str)
}

/// Whether a call says that the sub-agent that it has sent out goes on when the call is done (Claude, Qwen).
pub(super) fn leaves_running(update: &Value) -> bool {
    let response = &update["_meta"]["claudeCode"]["toolResponse"];
    let output = &update["rawOutput"];
    response["isAsync"] == true
        || response["status"] == "async_launched"
        || (output["type"] == "task_execution" && output["status"] == "background")
}

/// The sub-agent, by the call that has sent it out, that a message says the end of, and what the end was: one that went on
/// when its call was done (Qwen).
pub(super) fn came_back(chunk: &Value) -> Option<(&str, SubAgentStatus)> {
    let task = &chunk["_meta"]["backgroundTask"];
    let status = SubAgentStatus::of(task["status"].as_str()?)?;
    let call = task["toolUseId"].as_str()?;
    (task["kind"] == "agent" && status.has_ended()).then_some((call, status))
}

/// The agent that a call is made of, by its title, as Gemini has it.
pub(super) fn delegate(title: &str) -> Option<&str> {
    title
        .strip_prefix("Delegating to agent '")?
        .strip_suffix('\'')
}

/// What a sub-agent has to say in the result of the call that has sent it out, without what `OpenCode` puts around
/// it.
pub(super) fn report_in(result: &str) -> &str {
    let report = || {
        let (_, rest) = result.split_once("<task_result>")?;
        let (report, _) = rest.rsplit_once("</task_result>")?;
        Some(report.trim())
    };
    let is_wrapped = result.starts_with("<task ");
    is_wrapped.then(report).flatten().unwrap_or(result)
}

/// What vendors say of a session beside its title: Codex what its thread does, Pando what goes on.
pub(super) fn session_info(update: &Value) -> serde_json::Map<String, Value> {
    let meta = &update["_meta"];
    let mut info = meta["codex"].as_object().cloned().unwrap_or_default();
    let notification = &meta["pando:notification"];
    if !notification.is_null() {
        info.insert("notification".into(), notification.clone());
    }
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_called_as_the_agent_calls_it() {
        for (told, name) in [
            (json!({"name": "a", "title": "b"}), Some("a")),
            (
                json!({"_meta": {"claudeCode": {"toolName": "a"}}, "title": "b"}),
                Some("a"),
            ),
            (json!({"_meta": {"toolName": "a"}, "title": "b"}), Some("a")),
            (
                json!({"_meta": {"pando": {"toolName": "a"}}, "title": "b"}),
                Some("a"),
            ),
            (json!({"name": "", "title": "b"}), Some("b")),
            (
                json!({"title": "mcp.frontend.pick_color"}),
                Some("mcp.frontend.pick_color"),
            ),
            (json!({"title": "note.txt"}), None),
            (json!({"title": "mcp.json"}), None),
            (json!({"title": "ls -l"}), None),
            (
                json!({"toolCallId": "run_shell_command__fc71", "title": "x"}),
                Some("run_shell_command"),
            ),
            (
                json!({"toolCallId": "read_file__read_file_17960_0", "title": "note.txt"}),
                Some("read_file"),
            ),
            (
                json!({"toolCallId": "mcp__a__b__mcp__a__b_17_0"}),
                Some("mcp__a__b"),
            ),
            (json!({"toolCallId": "toolu_01__Gz"}), None),
            (json!({"toolCallId": "call_1"}), None),
        ] {
            let found = tool_name(&told).or_else(|| name_in_title(&told));
            assert_eq!(found, name, "{told}");
        }
    }

    #[test]
    fn an_id_that_pando_makes_up_tells_the_tool_and_no_other_does() {
        for (id, tool) in [
            ("s-1-bash-1764512345678901234", Some("bash")),
            ("s-1-mcp-server_tool-17", Some("mcp-server_tool")),
            ("s-1-bash-", None),
            ("s-1--17", None),
            ("s-2-bash-17", None),
            ("call_1", None),
        ] {
            assert_eq!(tool_asked_for(id, "s-1"), tool, "{id}");
        }
    }

    #[test]
    fn the_text_of_an_output_is_taken_out_of_what_is_only_around_it() {
        for (output, text) in [
            (json!("a"), Some("a")),
            (json!({"output": "a", "metadata": {"exit": 0}}), Some("a")),
            (json!({"content": "a", "detailedContent": "aa"}), Some("a")),
            (json!({"message": "a", "code": "rejected"}), Some("a")),
            (json!({"error": "a"}), Some("a")),
            (json!({"message": "a", "total": 2}), None),
            (json!({"content": [1]}), None),
            (json!(1), None),
        ] {
            assert_eq!(text_of_output(&output), text, "{output}");
        }
    }

    #[test]
    fn what_a_sub_agent_reports_is_taken_out_of_what_is_around_it() {
        let wrapped =
            "<task id=\"s\" state=\"completed\">\n<task_result>\nNothing.\n</task_result>\n</task>";
        let quoted = "It says <task_result>x</task_result>.";
        for (result, report) in [
            (wrapped, "Nothing."),
            (quoted, quoted),
            ("<task >", "<task >"),
        ] {
            assert_eq!(report_in(result), report);
        }
    }

    #[test]
    fn only_the_vendors_own_asides_are_no_message() {
        let of = |name: &str| Vendor::of(&json!({"name": name}));
        let codex = of("@agentclientprotocol/codex-acp");
        let other = of("qwen-code");
        for (vendor, message, text, kind) in [
            (codex, None, "Warning: x\n\n", Some("notice")),
            (codex, Some("1"), "Warning: x", None),
            (codex, None, "It says: Warning: x", None),
            (of("Copilot"), None, "Info: /tmp/new.txt", Some("notice")),
            (of("Copilot"), None, "Information", None),
            (
                of("gemini-cli"),
                None,
                "[MODE_UPDATE] plan",
                Some("current_mode_update"),
            ),
            (other, None, "Warning: x", None),
            (other, None, "[MODE_UPDATE] plan", None),
        ] {
            let chunk = json!({"sessionUpdate": "agent_message_chunk", "messageId": message});
            let aside = vendor.aside(&chunk, text);
            let found = aside.as_ref().and_then(|it| it["sessionUpdate"].as_str());
            assert_eq!(found, kind, "{vendor:?} {text}");
        }
    }
}
