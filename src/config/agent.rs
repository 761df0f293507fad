//! The settings of one agent: its own where it has some, the common ones elsewhere.

use std::path::{Path, PathBuf};

use super::{
    Error,
    load::{Inputs, Loaded},
    raw::{self, Defaults},
    scalar::{Deadline, Span},
};
#[cfg(feature = "acp")]
use crate::cores::acp;
use crate::{
    deps::AgentName,
    engine::{Linger, Policy},
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
        let policy = policy(agent, &loaded.raw.defaults);
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

    /// The mode that it is put into, if nobody is asked in that one.
    pub fn unattended(&self) -> Option<&str> {
        match &self.core {
            #[cfg(feature = "demo")]
            Core::Demo => None,
            #[cfg(feature = "acp")]
            Core::Acp(options) => {
                let mode = options.set.mode.as_deref();
                mode.filter(|mode| acp::approves_by_itself(mode))
            }
        }
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

/// How the turns of an agent are run.
pub(super) fn policy(agent: &raw::Agent, defaults: &Defaults) -> Policy {
    let Deadline(linger) = agent.linger.unwrap_or(defaults.linger);
    let Deadline(turn_timeout) = agent.turn_timeout.unwrap_or(defaults.turn_timeout);
    let Deadline(silence_timeout) = agent.silence_timeout.unwrap_or(defaults.silence_timeout);
    let Span(stop_grace) = agent.stop_grace.unwrap_or(defaults.stop_grace);
    Policy {
        busy: agent.busy.unwrap_or(defaults.busy).into(),
        linger: linger.map_or(Linger::Forever, Linger::For),
        turn_timeout,
        silence_timeout,
        stop_grace,
        explain_errors: agent.explain_errors.unwrap_or(defaults.explain_errors),
        ..Policy::default()
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
