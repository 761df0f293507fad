//! The settings of one agent: its own where it has some, the common ones elsewhere.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{
    Error,
    layer::Source,
    load::{Inputs, Loaded},
    permissions, raw,
    scalar::{Deadline, Span},
};
#[cfg(feature = "acp")]
use crate::cores::acp;
use crate::{
    deps::AgentName,
    engine::{Approval, Linger, Policy, Prompts, Rule},
};

/// An agent to serve.
#[derive(Debug, Clone)]
pub struct Agent {
    /// What clients post to.
    pub name: AgentName,
    /// A sentence for people.
    pub description: Option<String>,
    /// How its turns are run.
    pub policy: Policy,
    /// What answers for it.
    pub core: Core,
}

/// What answers for an agent.
#[derive(Debug, Clone)]
pub enum Core {
    /// The demo, in this process.
    #[cfg(feature = "demo")]
    Demo,
    /// A program that speaks the Agent Client Protocol on stdio.
    #[cfg(feature = "acp")]
    Acp(Box<acp::Options>),
}

impl Agent {
    /// Checks what is written about one agent.
    pub(super) fn new(
        name: &str,
        agent: &raw::Agent,
        loaded: &Loaded,
        inputs: &Inputs,
    ) -> Result<Self, Error> {
        let wrong = |key: &str, why: &str| loaded.refuse(&["agents", name, key], why);
        let key = ["agents", name, "permissions"];
        let rules = permissions::rules(loaded, &key, &agent.permissions)?;
        let policy = policy(agent, rules, loaded)?;
        let core = match agent.core {
            Some(raw::Core::Demo) => demo(agent).map_err(|(key, why)| wrong(key, why))?,
            None if agent.command.is_none() && agent.preset.is_none() => {
                let why = "it is missing: \"demo\", or \"acp\" with a preset or a command";
                return Err(wrong("core", why));
            }
            Some(raw::Core::Acp) | None => acp(name, agent, &policy, loaded, inputs)?,
        };
        Ok(Self {
            name: AgentName::new(name).map_err(|why| loaded.refuse(&["agents", name], why))?,
            description: agent.description.clone(),
            policy,
            core,
        })
    }

    /// The folder it works in; the demo works in none.
    pub fn workdir(&self) -> Option<&Path> {
        match &self.core {
            #[cfg(feature = "demo")]
            Core::Demo => None,
            #[cfg(feature = "acp")]
            Core::Acp(options) => Some(&options.workdir),
        }
    }

    /// Why its program could not be started now, if it has one; looks at the disk.
    pub fn missing(&self) -> Option<&'static str> {
        match &self.core {
            #[cfg(feature = "demo")]
            Core::Demo => None,
            #[cfg(feature = "acp")]
            Core::Acp(options) => super::acp::look_up(options).err(),
        }
    }

    /// How its program is installed, where that is known.
    pub fn install(&self) -> Option<&'static str> {
        match &self.core {
            #[cfg(feature = "demo")]
            Core::Demo => None,
            #[cfg(feature = "acp")]
            Core::Acp(options) => options.preset.map(|preset| preset.install),
        }
    }

    /// Why nobody is asked of what it wants to do. Empty if people are, or rules decide case by case.
    pub fn unasked(&self) -> Vec<Unasked> {
        let mode = match &self.core {
            #[cfg(feature = "demo")]
            Core::Demo => None,
            #[cfg(feature = "acp")]
            Core::Acp(options) => {
                let mode = options.set.mode.clone();
                mode.filter(|mode| acp::approves_by_itself(mode))
            }
        };
        let Prompts {
            approval,
            permissions,
            ..
        } = &self.policy.prompts;
        let granted = *approval == Approval::Granted;
        let allowed = permissions.iter().any(permissions::allows_everything);
        mode.map(Unasked::Mode)
            .into_iter()
            .chain(granted.then_some(Unasked::AutoApprove))
            .chain(allowed.then_some(Unasked::Rule))
            .collect()
    }
}

/// Why nobody is asked of what an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unasked {
    /// It approves by itself in its mode.
    Mode(String),
    /// `auto_approve` is on.
    AutoApprove,
    /// A rule allows everything.
    Rule,
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => write!(f, "in its mode \"{mode}\" the agent approves by itself"),
            Self::AutoApprove => f.write_str("auto_approve grants whatever the agent asks for"),
            Self::Rule => f.write_str("a rule allows whatever the agent asks for"),
        }?;
        f.write_str(": nobody is asked")
    }
}

/// The demo runs no program, so that what is said of one is a mistake.
fn demo(agent: &raw::Agent) -> Result<Core, (&'static str, &'static str)> {
    let mistakes = [
        ("preset", agent.preset.is_some()),
        ("command", agent.command.is_some()),
        ("args", !agent.args.is_empty()),
        ("env", !agent.env.is_empty()),
        ("pass_env", !agent.pass_env.0.is_empty()),
        ("workdir", agent.workdir.is_some()),
        ("instructions", agent.instructions.is_some()),
        ("instructions_file", agent.instructions_file.is_some()),
        ("mode", agent.mode.is_some()),
        ("model", agent.model.is_some()),
        ("effort", agent.effort.is_some()),
        ("modes", !agent.modes.0.is_empty()),
        ("models", !agent.models.0.is_empty()),
        ("efforts", !agent.efforts.0.is_empty()),
        ("seed_history", agent.seed_history.is_some()),
        ("pool_size", agent.pool_size.is_some()),
        ("pool_ttl", agent.pool_ttl.is_some()),
    ];
    if let Some((key, _)) = mistakes.into_iter().find(|(_, is_set)| *is_set) {
        return Err((key, "the demo runs no program"));
    }
    #[cfg(feature = "demo")]
    return Ok(Core::Demo);
    #[cfg(not(feature = "demo"))]
    Err(("core", "this build has no demo"))
}

#[cfg(feature = "acp")]
fn acp(
    name: &str,
    agent: &raw::Agent,
    policy: &Policy,
    loaded: &Loaded,
    inputs: &Inputs,
) -> Result<Core, Error> {
    let options = super::acp::options(name, agent, policy, loaded, inputs)?;
    Ok(Core::Acp(Box::new(options)))
}

#[cfg(not(feature = "acp"))]
fn acp(name: &str, _: &raw::Agent, _: &Policy, loaded: &Loaded, _: &Inputs) -> Result<Core, Error> {
    Err(loaded.refuse(&["agents", name, "core"], "this build has no acp"))
}

/// How the turns of an agent are run. Rules of its own stand before those that hold for every agent.
pub(super) fn policy(
    agent: &raw::Agent,
    mut rules: Vec<Rule>,
    loaded: &Loaded,
) -> Result<Policy, Error> {
    let defaults = &loaded.raw.defaults;
    let Deadline(linger) = agent.linger.unwrap_or(defaults.linger);
    let Deadline(turn_timeout) = agent.turn_timeout.unwrap_or(defaults.turn_timeout);
    let Deadline(silence_timeout) = agent.silence_timeout.unwrap_or(defaults.silence_timeout);
    let Span(stop_grace) = agent.stop_grace.unwrap_or(defaults.stop_grace);
    let tool_timeout = agent.client_tool_timeout;
    let key = ["defaults", "permissions"];
    rules.extend(permissions::rules(loaded, &key, &defaults.permissions)?);
    Ok(Policy {
        busy: agent.busy.unwrap_or(defaults.busy).into(),
        linger: linger.map_or(Linger::Forever, Linger::For),
        turn_timeout,
        silence_timeout,
        stop_grace,
        explain_errors: agent.explain_errors.unwrap_or(defaults.explain_errors),
        frontend_tools: switch(
            loaded,
            "frontend_tools",
            agent.frontend_tools,
            defaults.frontend_tools,
        ),
        client_tool_timeout: tool_timeout.unwrap_or(defaults.client_tool_timeout).0,
        prompts: prompts(agent, rules, loaded),
    })
}

/// An agent's own switch, or the common one. One that was typed is typed for every agent.
fn switch(loaded: &Loaded, key: &str, own: Option<bool>, common: bool) -> bool {
    let source = loaded.find(&["defaults", key]).map(|(_, source)| source);
    let is_typed = matches!(source, Some(Source::Flags(_)));
    own.filter(|_| !is_typed).unwrap_or(common)
}

/// What becomes of it when an agent wants something of a person.
fn prompts(agent: &raw::Agent, permissions: Vec<Rule>, loaded: &Loaded) -> Prompts {
    let defaults = &loaded.raw.defaults;
    let asks = switch(
        loaded,
        "human_in_the_loop",
        agent.human_in_the_loop,
        defaults.human_in_the_loop,
    );
    let grants = switch(
        loaded,
        "auto_approve",
        agent.auto_approve,
        defaults.auto_approve,
    );
    let expires = agent.interrupt_expires_at;
    let reason = agent.interrupt_reason.unwrap_or(defaults.interrupt_reason);
    Prompts {
        permissions,
        approval: match (grants, asks) {
            (true, _) => Approval::Granted,
            (false, true) => Approval::Asked,
            (false, false) => Approval::Denied,
        },
        questions: asks,
        timeout: agent.prompt_timeout.unwrap_or(defaults.prompt_timeout).0,
        tell_expiry: expires.unwrap_or(defaults.interrupt_expires_at),
        reason: reason.into(),
    }
}

/// The folder that a key names, without links and dots.
pub(super) fn folder(loaded: &Loaded, key: &[&str], path: &Path) -> Result<PathBuf, Error> {
    let wrong =
        |why: &dyn std::fmt::Display| loaded.refuse(key, format!("\"{}\": {why}", path.display()));
    if path.as_os_str().is_empty() {
        return Err(wrong(&"it is empty"));
    }
    let path = std::fs::canonicalize(path).map_err(|error| wrong(&error))?;
    if !path.is_dir() {
        return Err(wrong(&"it is no folder"));
    }
    Ok(path)
}
