//! How an agent is handed our tools, and what has to be done that it notices others.

use serde_json::{Map, Value, json};

use super::{
    options::Options,
    preset::{Relists, Tools},
    worker::Hello,
};
use crate::cores::mcp::{self, NAME, Place};

/// The variable that Codex reads.
const CODEX_CONFIG: &str = "CODEX_CONFIG";

/// How long Codex waits for a call, in seconds.
const CODEX_PATIENCE: u32 = 36_000;

/// How an agent is handed tools with the opening of a session (ACP `mcpServers`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As a server that it reaches over HTTP.
    Http,
    /// As a program that it starts. By ACP all agents take these.
    Program,
    /// Not so.
    None,
}

impl Way {
    /// The way of an agent that has said what it takes.
    pub(super) fn of(options: &Options, hello: &Hello) -> Self {
        match options.preset.map(|preset| preset.tools) {
            Some(Tools::NotTaken | Tools::CodexConfig) => Self::None,
            Some(Tools::Handed(_)) | None => {
                if hello.capabilities["mcpCapabilities"]["http"] == true {
                    Self::Http
                } else if options.carrier.is_some() {
                    Self::Program
                } else {
                    Self::None
                }
            }
        }
    }
}

/// Whether an agent may take tools, as far as that is known before it runs.
pub(super) fn may_take(options: &Options) -> bool {
    options
        .preset
        .is_none_or(|preset| preset.tools != Tools::NotTaken)
}

/// Whether an agent has its tools from its process, rather than from its session.
pub(super) fn is_of_process(options: &Options) -> bool {
    options
        .preset
        .is_some_and(|preset| preset.tools == Tools::CodexConfig)
}

/// When an agent notices that there are other tools.
pub(super) fn relists(options: &Options) -> Relists {
    match options.preset.map(|preset| preset.tools) {
        Some(Tools::Handed(relists)) => relists,
        Some(Tools::CodexConfig) => Relists::Reopened,
        Some(Tools::NotTaken) | None => Relists::Unknown,
    }
}

/// The parameter `mcpServers` of the requests that open a session.
///
/// # Errors
/// The server cannot listen.
pub(super) fn servers(
    options: &Options,
    way: Way,
    place: Option<&Place>,
) -> Result<Value, mcp::Error> {
    let Some(place) = place else {
        return Ok(json!([]));
    };
    Ok(match (way, &options.carrier) {
        (Way::Http, _) => {
            let headers = json!([{"name": "Authorization", "value": bearer(place)}]);
            json!([{"type": "http", "name": NAME, "url": place.url()?, "headers": headers}])
        }
        (Way::Program, Some(carrier)) => {
            let variables = place.line()?.variables();
            let env = variables.map(|(name, value)| json!({"name": name, "value": value}));
            json!([{"name": NAME, "command": carrier, "args": [mcp::WORD], "env": env}])
        }
        (Way::Program | Way::None, _) => json!([]),
    })
}

/// The variable with which Codex is told of our tools, beside what it is configured with there. `None` if that is
/// nothing that can be added to.
///
/// # Errors
/// The server cannot listen.
pub(super) fn variable(
    options: &Options,
    place: &Place,
) -> Result<Option<(&'static str, String)>, mcp::Error> {
    let configured = options.environment().get(CODEX_CONFIG).copied();
    let server = json!({
        "url": place.url()?,
        "http_headers": {"Authorization": bearer(place)},
        "tool_timeout_sec": CODEX_PATIENCE,
    });
    Ok(merged(configured, server).map(|config| (CODEX_CONFIG, config)))
}

fn merged(configured: Option<&str>, server: Value) -> Option<String> {
    let configured = configured.filter(|text| !text.trim().is_empty());
    let mut config: Map<String, Value> = serde_json::from_str(configured.unwrap_or("{}")).ok()?;
    let servers = config
        .entry("mcp_servers")
        .or_insert_with(|| json!({}))
        .as_object_mut()?;
    servers.insert(NAME.to_owned(), server);
    serde_json::to_string(&config).ok()
}

fn bearer(place: &Place) -> String {
    format!("Bearer {}", place.secret().expose())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::{
        acp::preset::Preset,
        mcp::{PROGRESS, Server},
    };

    fn hello(http: bool) -> Hello {
        Hello {
            capabilities: json!({"mcpCapabilities": {"http": http}}),
            info: json!({}),
            logins: json!([]),
        }
    }

    fn options(preset: Option<&str>, carrier: Option<&str>) -> Options {
        Options {
            preset: preset.map(|name| Preset::named(name).unwrap()),
            carrier: carrier.map(Into::into),
            ..Options::new("agent", "program", ".")
        }
    }

    #[tokio::test]
    async fn an_agent_is_handed_a_url_or_a_program_or_nothing() {
        let place = Server::new(PROGRESS).place(false);
        let secret = place.secret().expose();
        for (preset, carrier, http, way, shape) in [
            (None, None, true, Way::Http, "url"),
            (
                Some("opencode"),
                Some("/bin/carrier"),
                true,
                Way::Http,
                "url",
            ),
            (None, Some("/bin/carrier"), false, Way::Program, "command"),
            (None, None, false, Way::None, ""),
            (Some("cline"), Some("/bin/carrier"), true, Way::None, ""),
            (Some("pando"), Some("/bin/carrier"), false, Way::None, ""),
            (Some("codex"), None, true, Way::None, ""),
        ] {
            let options = options(preset, carrier);
            assert_eq!(Way::of(&options, &hello(http)), way, "{preset:?}");
            let servers = servers(&options, way, Some(&place)).unwrap();
            let is_so = servers[0][shape].is_string() && servers[0]["name"] == "agui";
            assert_eq!(is_so, !shape.is_empty(), "{servers}");
            assert_eq!(servers.to_string().contains(secret), !shape.is_empty());
        }
        let takes = |name| may_take(&options(Some(name), None));
        assert!(!takes("cline") && !takes("pando") && takes("codex") && takes("qwen"));
    }

    #[test]
    fn what_codex_is_configured_with_stays() {
        let server = || json!({"url": "u"});
        let merged = |text| merged(text, server()).map(|it| serde_json::from_str(&it).unwrap());
        let ours = json!({"mcp_servers": {"agui": {"url": "u"}}});
        assert_eq!(merged(None), Some(ours.clone()));
        assert_eq!(merged(Some(" ")), Some(ours));
        let text = r#"{"model": "m", "mcp_servers": {"own": {"command": "c"}}}"#;
        let both =
            json!({"model": "m", "mcp_servers": {"own": {"command": "c"}, "agui": {"url": "u"}}});
        assert_eq!(merged(Some(text)), Some(both));
        for broken in ["[]", "{", r#"{"mcp_servers": 1}"#] {
            assert_eq!(merged(Some(broken)), None, "{broken}");
        }
    }
}
