//! `GET {path}/info`: what is served, without starting any of it.

use serde::Serialize;

use super::BasePath;
use crate::{
    deps::{Agent, Model, Principal, Settings},
    engine::Runtime,
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
    model: Option<Model>,
    /// What can be chosen, as far as a session has told.
    #[serde(skip_serializing_if = "Settings::is_empty")]
    settings: Settings,
    capabilities: AgentCapabilities,
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
    /// What any of the agents can do. Every run carries a state document.
    fn of(agents: &[Descriptor<'_>]) -> Self {
        let any = |can: fn(&AgentCapabilities) -> Option<bool>| {
            agents
                .iter()
                .any(|agent| can(&agent.capabilities) == Some(true))
        };
        Self {
            frontend_tools: any(|it| it.tools.client_provided),
            human_in_the_loop: any(|it| it.human_in_the_loop.supported),
            shared_state: true,
            interrupts: any(|it| it.human_in_the_loop.interrupts),
        }
    }
}

impl<'a> Info<'a> {
    /// Describes agents to a principal who reached the daemon under `host`. What a proxy says of its own
    /// host is not believed: anybody can say it.
    pub(super) fn new(
        runtime: &'a Runtime,
        path: &BasePath,
        host: &str,
        principal: &Principal,
    ) -> Self {
        let describe = |agent: &'a Agent| {
            let settings = runtime.settings(&agent.name, principal);
            Descriptor {
                name: agent.name.as_str(),
                description: agent.description.as_deref(),
                url: format!("http://{host}{}/{}", path.prefix(), agent.name),
                model: agent.model.clone().or_else(|| heard(&settings)),
                settings,
                capabilities: runtime.capabilities(agent),
            }
        };
        let agents: Vec<_> = runtime.agents().iter().map(describe).collect();
        Self {
            protocol: "ag-ui",
            protocol_version: PROTOCOL_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            path: path.to_string(),
            capabilities: Capabilities::of(&agents),
            agents,
        }
    }
}

/// The model that the last session of an agent, for this principal, said it has.
fn heard(settings: &Settings) -> Option<Model> {
    let setting = settings.model.as_ref()?;
    let id = setting.value.clone()?;
    let name = setting.options.iter().find(|option| option.value == id);
    Some(Model {
        name: name.and_then(|option| option.name.clone()),
        id,
        ..Model::default()
    })
}
