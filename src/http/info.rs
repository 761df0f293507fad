//! `GET {path}/info`: what is served, without starting any of it.

use serde::Serialize;

use super::BasePath;
use crate::{
    deps::{Agent, Model},
    protocol::{AgentCapabilities, PROTOCOL_VERSION},
};

/// The description of the daemon.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Info<'a> {
    protocol: &'static str,
    protocol_version: &'static str,
    version: &'static str,
    path: String,
    agents: Vec<Descriptor<'a>>,
    capabilities: Capabilities,
}

#[derive(Debug, Serialize)]
struct Descriptor<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// Absolute, so that it can be given to a client as it is.
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Model>,
    capabilities: &'a AgentCapabilities,
}

/// What the daemon as a whole can do.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "clients read these four as booleans"
)]
struct Capabilities {
    frontend_tools: bool,
    human_in_the_loop: bool,
    shared_state: bool,
    interrupts: bool,
}

impl Capabilities {
    /// Runs carry a state document; nothing asks the page yet.
    const NOW: Self = Self {
        frontend_tools: false,
        human_in_the_loop: false,
        shared_state: true,
        interrupts: false,
    };
}

impl<'a> Info<'a> {
    /// Describes agents to somebody who reached the daemon under `host`. What a proxy says of its own
    /// host is not believed: anybody can say it.
    pub(super) fn new(agents: &'a [Agent], path: &BasePath, host: &str) -> Self {
        let describe = |agent: &'a Agent| Descriptor {
            name: agent.name.as_str(),
            description: agent.description.as_deref(),
            url: format!("http://{host}{}/{}", path.prefix(), agent.name),
            model: agent.model.as_ref(),
            capabilities: &agent.capabilities,
        };
        Self {
            protocol: "ag-ui",
            protocol_version: PROTOCOL_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            path: path.to_string(),
            agents: agents.iter().map(describe).collect(),
            capabilities: Capabilities::NOW,
        }
    }
}
