//! What answers for an agent. Each core is a room behind a cargo feature; this file is the hall.

#[cfg(feature = "acp")]
pub mod acp;
#[cfg(feature = "demo")]
pub mod demo;
#[cfg(feature = "acp")]
pub mod mcp;
pub mod questions;
#[cfg(any(feature = "acp", feature = "demo"))]
#[cfg_attr(
    not(any(feature = "acp", test)),
    expect(unused_imports, reason = "the demo needs only a part of it")
)]
mod traffic;

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, join_all, ready};

use crate::{
    deps::{
        Agent, AgentName, Code, Deps, Forgotten, Model, PerSetting, Principal, Settings,
        StopReason, TurnError, TurnIo, TurnRequest,
    },
    protocol::AgentCapabilities,
};

/// How long a program behind an agent may take to get ready for a turn, unless it is configured.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How many processes of an agent are kept between turns, for each principal, unless it is configured.
pub const POOL_SIZE: usize = 4;

/// How long a process is kept that no turn needs, unless it is configured.
pub const POOL_TTL: Duration = Duration::from_mins(10);

/// One kind of agent.
pub trait Core: Send + Sync + 'static {
    /// What it declares of AG-UI 1.0. What the adapter does for every core it leaves out: state. What a policy may
    /// switch off it declares if it does it at all: `tools.clientProvided` if it calls tools of the page,
    /// `humanInTheLoop.approvals` if it asks for permission, `humanInTheLoop.interrupts` if it asks people anything.
    fn capabilities(&self) -> AgentCapabilities;

    /// The model behind it, if known without starting anything.
    fn model(&self) -> Option<Model> {
        None
    }

    /// The folder that it works in; the meaning is that of [`Agent::workdir`].
    fn workdir(&self) -> Option<&Path> {
        None
    }

    /// The values that a client may wish for.
    fn choices(&self) -> PerSetting<Vec<String>> {
        PerSetting::default()
    }

    /// What was last heard of what can be chosen; the contract is that of [`Deps::settings`].
    fn settings(&self, principal: &Principal) -> Settings {
        let _ = principal;
        Settings::default()
    }

    /// Runs one turn; the contract is that of [`Deps::turn`].
    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>>;

    /// Lets go of a session; the contract is that of [`Deps::forget`].
    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        let _ = forgotten;
        Box::pin(ready(()))
    }

    /// Ends what is kept between turns; the contract is that of [`Deps::close`].
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

/// An agent to serve: its name, what people read about it, and the core that answers.
pub struct Definition {
    /// What clients post to.
    pub name: AgentName,
    /// A sentence for people.
    pub description: Option<String>,
    /// What answers.
    pub core: Arc<dyn Core>,
}

/// The agents of a daemon, as the adapter sees them.
pub struct Cores {
    agents: Vec<Agent>,
    cores: Vec<Arc<dyn Core>>,
}

impl Cores {
    /// Puts agents together, the default one first. Starts nothing.
    pub fn new(definitions: Vec<Definition>) -> Self {
        let agents = definitions
            .iter()
            .map(|definition| Agent {
                name: definition.name.clone(),
                description: definition.description.clone(),
                model: definition.core.model(),
                capabilities: definition.core.capabilities(),
                workdir: definition.core.workdir().map(Path::to_owned),
                choices: definition.core.choices(),
            })
            .collect();
        let cores = definitions
            .into_iter()
            .map(|definition| definition.core)
            .collect();
        Self { agents, cores }
    }

    fn core(&self, name: &AgentName) -> Option<&Arc<dyn Core>> {
        let index = self.agents.iter().position(|agent| agent.name == *name)?;
        self.cores.get(index)
    }
}

impl Deps for Cores {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn settings(&self, agent: &AgentName, principal: &Principal) -> Settings {
        self.core(agent)
            .map(|core| core.settings(principal))
            .unwrap_or_default()
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        match self.core(&request.agent) {
            Some(core) => core.turn(request, io),
            None => Box::pin(async {
                Err(TurnError::new(
                    Code::AgentUnavailable,
                    "the agent is not served any more",
                ))
            }),
        }
    }

    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        match self.core(&forgotten.agent) {
            Some(core) => core.forget(forgotten),
            None => Box::pin(ready(())),
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let closing = join_all(self.cores.iter().map(|core| core.close()));
        Box::pin(async { closing.await.into_iter().collect() })
    }
}
