//! What an agent says of itself, and how one logs in to it.

use serde_json::Value;

use super::{
    super::{options::Options, worker::Hello},
    terminal::Terminal,
};

/// The longest word of an agent that is shown, in characters.
const LONGEST: usize = 200;

/// What an agent says of itself (ACP `initialize`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// What it calls itself, in words for people if it has some.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// What it can do, in words.
    pub abilities: Vec<&'static str>,
    /// How one can log in to it.
    pub logins: Vec<Login>,
}

/// A way to log in to an agent (ACP `AuthMethod`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The agent's id for it.
    pub id: String,
    /// What it is, for people.
    pub name: String,
    /// What is to be done.
    pub way: Way,
}

/// How one logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// The agent does it, when it is asked to ([`super::Probe::authenticate`]).
    Agent,
    /// A program does it, in a terminal.
    Terminal(Terminal),
}

impl About {
    pub(super) fn read(hello: &Hello, options: &Options) -> Self {
        let info = &hello.info;
        let name = word(&info["title"]).or_else(|| word(&info["name"]));
        let logins = hello.logins.as_array().into_iter().flatten();
        Self {
            name,
            version: word(&info["version"]),
            abilities: abilities(&hello.capabilities),
            logins: logins
                .filter_map(|login| Login::read(login, options))
                .collect(),
        }
    }
}

fn abilities(capabilities: &Value) -> Vec<&'static str> {
    let sessions = &capabilities["sessionCapabilities"];
    let prompt = &capabilities["promptCapabilities"];
    let mcp = &capabilities["mcpCapabilities"];
    [
        ("resumes sessions", sessions["resume"].is_object()),
        ("loads sessions", capabilities["loadSession"] == true),
        (
            "takes a system prompt",
            sessions["systemPrompt"].is_object(),
        ),
        ("takes images", prompt["image"] == true),
        ("takes audio", prompt["audio"] == true),
        ("takes embedded files", prompt["embeddedContext"] == true),
        ("takes MCP servers over HTTP", mcp["http"] == true),
    ]
    .into_iter()
    .filter_map(|(words, can)| can.then_some(words))
    .collect()
}

/// The requests that remove a session which nobody needs.
pub(super) fn removals(capabilities: &Value) -> impl Iterator<Item = &'static str> {
    let sessions = &capabilities["sessionCapabilities"];
    [("close", "session/close"), ("delete", "session/delete")]
        .into_iter()
        .filter_map(|(ability, method)| sessions[ability].is_object().then_some(method))
}

impl Login {
    /// Reads a method. Those of type `terminal` run the agent's own invocation with more arguments and
    /// variables; before there was that type, agents named a whole command in `_meta`.
    fn read(method: &Value, options: &Options) -> Option<Self> {
        let id = word(&method["id"])?;
        let older = &method["_meta"]["terminal-auth"];
        let way = if method["type"] == "terminal" {
            let configured = options.args.iter();
            let configured = configured.map(|arg| arg.to_string_lossy().into_owned());
            Way::Terminal(Terminal {
                program: options.program(),
                args: configured.chain(texts(&method["args"])).collect(),
                env: variables(&method["env"]),
            })
        } else if let Some(program) = older["command"].as_str() {
            Way::Terminal(Terminal {
                program: program.into(),
                args: texts(&older["args"]).collect(),
                env: variables(&older["env"]),
            })
        } else {
            Way::Agent
        };
        Some(Self {
            name: word(&method["name"]).unwrap_or_else(|| id.clone()),
            id,
            way,
        })
    }
}

/// A text of an agent as one short line.
fn word(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty())?;
    let plain = text.chars().filter(|c| !c.is_control());
    Some(plain.take(LONGEST).collect())
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned)
}

/// Variables as ACP writes them in a method, as an object, or in the form that servers have.
fn variables(env: &Value) -> Vec<(String, String)> {
    let pair = |name: &str, value: &Value| Some((name.to_owned(), value.as_str()?.to_owned()));
    match env {
        Value::Object(env) => env
            .iter()
            .filter_map(|(name, value)| pair(name, value))
            .collect(),
        Value::Array(env) => env
            .iter()
            .filter_map(|one| pair(one["name"].as_str()?, &one["value"]))
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(answer: &Value) -> About {
        let options = Options {
            args: vec!["acp".into()],
            ..Options::new("one", "/opt/agent", "/")
        };
        let hello = Hello {
            capabilities: answer["agentCapabilities"].clone(),
            info: answer["agentInfo"].clone(),
            logins: answer["authMethods"].clone(),
        };
        About::read(&hello, &options)
    }

    #[test]
    fn an_agent_is_known_by_what_it_says_of_itself() {
        let about = read(&json!({
            "agentInfo": {"name": "agent", "title": "The Agent\u{7}", "version": "1.2"},
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false},
                "sessionCapabilities": {"resume": {}},
            },
        }));
        assert_eq!(about.name.as_deref(), Some("The Agent"));
        assert_eq!(about.version.as_deref(), Some("1.2"));
        let abilities = ["resumes sessions", "loads sessions", "takes images"];
        assert_eq!(about.abilities, abilities);
        assert_eq!(read(&json!({"agentInfo": 1})), About::default());
    }

    #[test]
    fn a_login_is_done_by_the_agent_or_in_a_terminal() {
        let about = read(&json!({"authMethods": [
            {"id": "key", "name": "Key"},
            {"id": "tui", "name": "Login", "type": "terminal", "args": ["--login"], "env": {"A": "1"}},
            {"id": "old", "_meta": {"terminal-auth": {"command": "/bin/other", "args": ["login"]}}},
            {"name": "without an id"},
        ]}));
        let ids: Vec<_> = about.logins.iter().map(|login| login.id.as_str()).collect();
        assert_eq!(ids, ["key", "tui", "old"]);
        let lines: Vec<_> = about
            .logins
            .iter()
            .map(|login| match &login.way {
                Way::Agent => "the agent".to_owned(),
                Way::Terminal(terminal) => terminal.line(),
            })
            .collect();
        let expected = [
            "the agent",
            "A=1 /opt/agent acp --login",
            "/bin/other login",
        ];
        assert_eq!(lines, expected);
        assert_eq!(about.logins[2].name, "old");
    }

    #[test]
    fn only_an_agent_that_can_is_asked_to_remove_a_session() {
        for (abilities, methods) in [
            (
                json!({"close": {}, "delete": {}}),
                &["session/close", "session/delete"][..],
            ),
            (json!({"close": null, "list": {}}), &[]),
            (json!({"delete": {}}), &["session/delete"]),
            (json!(null), &[]),
        ] {
            let capabilities = json!({"sessionCapabilities": abilities});
            let found: Vec<_> = removals(&capabilities).collect();
            assert_eq!(found, methods);
        }
    }
}
