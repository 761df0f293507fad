//! The settings of one agent: its own where it has some, the common ones elsewhere.

use std::path::{Path, PathBuf};

#[cfg(feature = "acp")]
use super::program;
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
        let core = match (agent.core, &agent.command) {
            (Some(raw::Core::Demo), _) => demo(agent).map_err(|(key, why)| wrong(key, why))?,
            (Some(raw::Core::Acp), None) => {
                return Err(wrong("command", "it is missing: say which program to run"));
            }
            (None, None) => {
                let why = "it is missing: \"demo\", or \"acp\" with a command";
                return Err(wrong("core", why));
            }
            (_, Some(command)) if command.trim().is_empty() => {
                return Err(wrong("command", "it is empty"));
            }
            (_, Some(command)) => acp(name, agent, command, &policy, loaded, inputs)?,
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
            Core::Acp(options) => look_up(options).err(),
        }
    }
}

/// The demo runs no program, so that what is said of one is a mistake.
fn demo(agent: &raw::Agent) -> Result<Core, (&'static str, &'static str)> {
    let mistakes = [
        ("command", agent.command.is_some()),
        ("args", !agent.args.is_empty()),
        ("env", !agent.env.is_empty()),
        ("pass_env", !agent.pass_env.0.is_empty()),
        ("workdir", agent.workdir.is_some()),
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
    command: &str,
    policy: &Policy,
    loaded: &Loaded,
    inputs: &Inputs,
) -> Result<Core, Error> {
    let start_timeout = agent
        .start_timeout
        .unwrap_or(loaded.raw.defaults.start_timeout);
    let options = acp::Options {
        args: agent.args.iter().map(Into::into).collect(),
        env: agent.env.clone(),
        pass_env: pass_env(name, agent, loaded)?,
        inherited: inputs.environ.without_token(),
        start_timeout: start_timeout.0,
        // The engine lets go of a core after the whole of it; the core has to be done by then.
        stop_grace: policy.stop_grace / 2,
        ..acp::Options::new(name, command, workdir(name, agent, loaded, &inputs.cwd)?)
    };
    // What was typed just now is a mistake; what a file has may be installed later, while it serves.
    if inputs.command.is_some() {
        look_up(&options).map_err(|why| {
            loaded.refuse(
                &["agents", name, "command"],
                format!("\"{command}\": {why}"),
            )
        })?;
    }
    Ok(Core::Acp(Box::new(options)))
}

/// Looks for the program of an agent in the `PATH` that the agent will get.
#[cfg(feature = "acp")]
fn look_up(options: &acp::Options) -> Result<(), &'static str> {
    let path = options
        .env
        .get("PATH")
        .or_else(|| options.inherited.get("PATH"));
    program::look_up(&options.command, path.map(String::as_str), &options.workdir)
}

#[cfg(not(feature = "acp"))]
fn acp(
    name: &str,
    _: &raw::Agent,
    _: &str,
    _: &Policy,
    loaded: &Loaded,
    _: &Inputs,
) -> Result<Core, Error> {
    Err(loaded.refuse(&["agents", name, "core"], "this build has no acp"))
}

/// How the turns of an agent are run.
pub(super) fn policy(agent: &raw::Agent, defaults: &Defaults) -> Policy {
    let Deadline(linger) = agent.linger.unwrap_or(defaults.linger);
    let Deadline(turn_timeout) = agent.turn_timeout.unwrap_or(defaults.turn_timeout);
    let Deadline(silence_timeout) = agent.silence_timeout.unwrap_or(defaults.silence_timeout);
    let Span(stop_grace) = agent.stop_grace.unwrap_or(defaults.stop_grace);
    Policy {
        linger: linger.map_or(Linger::Forever, Linger::For),
        turn_timeout,
        silence_timeout,
        stop_grace,
        explain_errors: agent.explain_errors.unwrap_or(defaults.explain_errors),
    }
}

/// The variables that an agent may see: its own besides the common ones, so that neither hides the other.
#[cfg(feature = "acp")]
fn pass_env(name: &str, agent: &raw::Agent, loaded: &Loaded) -> Result<Vec<String>, Error> {
    let common = (&["defaults", "pass_env"][..], &loaded.raw.defaults.pass_env);
    let own = (&["agents", name, "pass_env"][..], &agent.pass_env);
    for (key, words) in [common, own] {
        // The word is not repeated: what follows the sign may be a secret.
        if words.0.iter().any(|word| word.contains('=')) {
            return Err(loaded.refuse(key, "only names stand here, without = and a value"));
        }
    }
    Ok(common.1.0.iter().chain(&own.1.0).cloned().collect())
}

/// The folder of an agent: its own, the common one, or where the daemon was started.
#[cfg(feature = "acp")]
fn workdir(name: &str, agent: &raw::Agent, loaded: &Loaded, cwd: &Path) -> Result<PathBuf, Error> {
    let common = ["defaults", "workdir"];
    let own = ["agents", name, "workdir"];
    let (key, path) = match (&agent.workdir, &loaded.raw.defaults.workdir) {
        (Some(path), _) => (&own[..], path.as_path()),
        (None, Some(path)) => (&common[..], path.as_path()),
        (None, None) => (&common[..], cwd),
    };
    folder(loaded, key, path)
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
