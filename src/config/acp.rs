//! The settings of an agent that is a program.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    Error,
    agent::folder,
    load::{Inputs, Loaded},
    preset, program, raw,
};
use crate::{
    cores::acp::{Options, PRESETS, Preset, approves_by_itself},
    deps::PerSetting,
    engine::Policy,
};

/// The longest text of instructions, in bytes. A file that is named by mistake may have no end.
const MAX_INSTRUCTIONS: u64 = 1024 * 1024;

/// Checks what is written about one agent, and what its preset says where nothing is written.
pub(super) fn options(
    name: &str,
    agent: &raw::Agent,
    policy: &Policy,
    loaded: &Loaded,
    inputs: &Inputs,
) -> Result<Options, Error> {
    let wrong = |key: &str, why: &str| loaded.refuse(&["agents", name, key], why);
    if let Some(named) = &agent.preset
        && Preset::named(named).is_none()
    {
        return Err(wrong("preset", &unknown(named)));
    }
    let command = match agent.command.as_deref() {
        None => return Err(wrong("command", "it is missing: say which program to run")),
        Some(command) if command.trim().is_empty() => return Err(wrong("command", "it is empty")),
        Some(command) => command,
    };
    let defaults = &loaded.raw.defaults;
    let preset = preset::of(agent);
    let options = Options {
        args: agent.args.iter().map(Into::into).collect(),
        env: agent.env.clone(),
        pass_env: pass_env(name, agent, loaded)?,
        inherited: inputs.environ.without_token(),
        start_timeout: agent.start_timeout.unwrap_or(defaults.start_timeout).0,
        // The engine lets go of a core after the whole of it; the core has to be done by then.
        stop_grace: policy.stop_grace / 2,
        questions: policy.prompts.questions,
        preset,
        instructions: instructions(name, agent, loaded)?,
        seed_history: agent.seed_history.unwrap_or(defaults.seed_history),
        set: set(agent).map_err(|key| wrong(key, "it is empty"))?,
        choices: choices(agent).map_err(|why| wrong("modes", &why))?,
        pool_size: agent.pool_size.unwrap_or(defaults.pool_size),
        pool_ttl: agent.pool_ttl.unwrap_or(defaults.pool_ttl).0,
        ..Options::new(name, command, workdir(name, agent, loaded, &inputs.cwd)?)
    };
    // What was typed just now is a mistake; what a file has may be installed later, while it serves.
    if inputs.typed.is_some()
        && let Err(why) = look_up(&options)
    {
        let install = preset.map(|preset| format!("; to install it: {}", preset.install));
        let why = format!("\"{command}\": {why}{}", install.unwrap_or_default());
        let key = if agent.preset.is_some() {
            "preset"
        } else {
            "command"
        };
        return Err(wrong(key, &why));
    }
    Ok(options)
}

/// Looks for the program of an agent in the `PATH` that the agent will get.
pub(super) fn look_up(options: &Options) -> Result<(), &'static str> {
    let path = options
        .env
        .get("PATH")
        .or_else(|| options.inherited.get("PATH"));
    program::look_up(&options.command, path.map(String::as_str), &options.workdir)
}

/// What to say of a preset that there is not.
fn unknown(name: &str) -> String {
    let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    let known = known.join(", ");
    format!("there is no preset \"{name}\"; there are {known}")
}

/// The variables that an agent may see: its own and its preset's besides the common ones, so that none
/// hides another.
fn pass_env(name: &str, agent: &raw::Agent, loaded: &Loaded) -> Result<Vec<String>, Error> {
    let common = (&["defaults", "pass_env"][..], &loaded.raw.defaults.pass_env);
    let own = (&["agents", name, "pass_env"][..], &agent.pass_env);
    for (key, words) in [common, own] {
        // The word is not repeated: what follows the sign may be a secret.
        if words.0.iter().any(|word| word.contains('=')) {
            return Err(loaded.refuse(key, "only names stand here, without = and a value"));
        }
    }
    // Only where the preset is named: of a program that was typed, what it may see has been said as well.
    let preset = agent.preset.as_deref().and_then(Preset::named);
    let preset = preset.map_or(&[][..], |preset| preset.pass_env);
    let written = common.1.0.iter().chain(&own.1.0).cloned();
    Ok(preset
        .iter()
        .map(|&name| name.to_owned())
        .chain(written)
        .collect())
}

/// The folder of an agent: its own, the common one, or where the daemon was started.
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

/// What is set in each session.
///
/// # Errors
/// A key that is written but empty. It would undo what the preset says, and nobody would see to what.
fn set(agent: &raw::Agent) -> Result<PerSetting<Option<String>>, &'static str> {
    let set = PerSetting {
        model: agent.model.clone(),
        mode: agent.mode.clone(),
        effort: agent.effort.clone(),
    };
    let empty = set
        .iter()
        .find(|(_, value)| value.as_ref().is_some_and(|value| value.trim().is_empty()));
    match empty {
        Some((kind, _)) => Err(kind.as_str()),
        None => Ok(set),
    }
}

/// What clients may choose. An agent that approves by itself is the operator's decision alone.
fn choices(agent: &raw::Agent) -> Result<PerSetting<Vec<String>>, String> {
    let by_itself = agent.modes.0.iter().find(|mode| approves_by_itself(mode));
    if let Some(mode) = by_itself {
        let why = "clients can never choose a mode that approves by itself";
        return Err(format!("\"{mode}\": {why}"));
    }
    Ok(PerSetting {
        model: agent.models.0.clone(),
        mode: agent.modes.0.clone(),
        effort: agent.efforts.0.clone(),
    })
}

/// What the agent is told in each session: as written, or as a file has it at the start.
fn instructions(name: &str, agent: &raw::Agent, loaded: &Loaded) -> Result<Option<String>, Error> {
    let (key, text) = match (&agent.instructions, &agent.instructions_file) {
        (None, None) => return Ok(None),
        (Some(text), None) => ("instructions", Ok(text.clone())),
        (None, Some(path)) => ("instructions_file", read(path)),
        (Some(_), Some(_)) => (
            "instructions_file",
            Err("instructions is set as well; keep one of the two".into()),
        ),
    };
    text.and_then(|text| match text.trim() {
        "" => Err("it is empty".into()),
        text => Ok(Some(text.to_owned())),
    })
    .map_err(|why| loaded.refuse(&["agents", name, key], why))
}

/// The text of a file, or why there is none.
fn read(path: &Path) -> Result<String, String> {
    let read = || -> io::Result<String> {
        // Opening a pipe would wait for whoever writes to it.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut text = String::new();
        let read = File::open(path)?
            .take(MAX_INSTRUCTIONS + 1)
            .read_to_string(&mut text)?;
        if read as u64 > MAX_INSTRUCTIONS {
            return Err(io::Error::other("it is longer than 1 MiB"));
        }
        Ok(text)
    };
    read().map_err(|error| format!("\"{}\": {error}", path.display()))
}
