//! What the agents need: a program, a version that is known to work, a login.

use super::{Findings, Level};
use crate::{
    cli::{exit, serve::supervised},
    config::{self, Agent, Core, Inputs, Typed},
    cores::acp::{
        Options, PRESETS, Preset, approves_by_itself,
        probe::{About, Ending, Probe},
    },
    deps::{Code, SettingKind, Settings},
};

/// How many ids are listed of what can be chosen: some agents have fifty models.
const MOST: usize = 12;

/// Looks at the configured agents; if none is, at all that are known and installed.
pub(super) fn check(
    agents: Vec<Agent>,
    are_configured: bool,
    inputs: &Inputs,
    findings: &mut Findings,
) {
    let agents = if are_configured {
        agents
    } else {
        installed(inputs, findings)
    };
    let workers = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let workers = match workers {
        Ok(workers) => workers,
        Err(error) => return findings.add(Level::Fail, "agents", error.to_string()),
    };
    for agent in &agents {
        let about = format!("agent {}", agent.name);
        match &agent.core {
            #[cfg(feature = "demo")]
            Core::Demo => findings.add(Level::Ok, about, "it is built in"),
            Core::Acp(options) => workers.block_on(look(&about, options, agent, findings)),
        }
    }
}

/// The known agents whose programs are there, as if they had been named on the command line. The others are
/// said with the line that installs them.
fn installed(inputs: &Inputs, findings: &mut Findings) -> Vec<Agent> {
    let (there, absent): (Vec<&Preset>, Vec<_>) = PRESETS
        .iter()
        .partition(|preset| inputs.has_program(preset.program));
    for preset in absent {
        let says = format!("it is not installed; to install it: {}", preset.install);
        findings.add(Level::Info, format!("agent {}", preset.name), says);
    }
    let names: Vec<_> = there.iter().map(|preset| preset.name.to_owned()).collect();
    if names.is_empty() {
        let says = "none is configured and none that is known is installed: the demo is served";
        findings.add(Level::Warn, "agents", says);
        return Vec::new();
    }
    let inputs = Inputs {
        typed: Some(Typed::Presets(names)),
        ..inputs.clone()
    };
    match config::load(&inputs) {
        Ok((settings, _)) => settings.agents,
        Err(error) => {
            findings.add(Level::Fail, "agents", exit::failure(&error.into()));
            Vec::new()
        }
    }
}

/// Starts an agent, asks what there is to ask, and ends it.
async fn look(name: &str, options: &Options, agent: &Agent, findings: &mut Findings) {
    if let Some(why) = agent.missing() {
        let install = agent.install();
        let install = install.map(|line| format!("; to install it: {line}"));
        let says = format!("{why}{}", install.unwrap_or_default());
        return findings.add(Level::Fail, name, says);
    }
    let probe = match Probe::start(supervised(options)).await {
        Ok(probe) => probe,
        Err(error) => return findings.add(Level::Fail, name, error.to_string()),
    };
    let about = probe.about();
    findings.add(Level::Ok, name, introduction(&about));
    if let Some(says) = options.preset.and_then(|preset| age(preset, &about)) {
        findings.add(Level::Warn, name, says);
    }
    match probe.try_session().await {
        Ok(settings) => {
            findings.add(Level::Ok, name, offers(&settings));
            if let Some(says) = mode(options, &settings) {
                findings.add(Level::Warn, name, says);
            }
        }
        Err(error) if error.code() == Code::AuthRequired => {
            let says = format!("it needs a login; type: agui-serve login {}", agent.name);
            findings.add(Level::Fail, name, says);
        }
        Err(error) => findings.add(Level::Fail, name, error.to_string()),
    }
    let (level, says) = match probe.end().await {
        Ending::Alone => (Level::Ok, "it ended by itself"),
        Ending::Told => (Level::Ok, "it ended when it was told to"),
        Ending::Killed => (Level::Warn, "it had to be killed"),
    };
    findings.add(level, name, says);
    for limit in options.preset.map_or(&[][..], |preset| preset.limits) {
        findings.add(Level::Info, name, *limit);
    }
}

/// What it is and can do.
fn introduction(about: &About) -> String {
    let name = about.name.as_deref().unwrap_or("an agent without a name");
    let version = about.version.as_deref().unwrap_or("of no version");
    let mut says = vec![format!("{name} {version} speaks ACP 1")];
    says.extend(about.abilities.iter().map(|&ability| ability.to_owned()));
    let logins: Vec<&str> = about.logins.iter().map(|login| &*login.id).collect();
    if !logins.is_empty() {
        says.push(format!("logs in by {}", logins.join(", ")));
    }
    says.join("; ")
}

/// What is to be said of its version.
fn age(preset: &Preset, about: &About) -> Option<String> {
    let version = about.version.as_deref()?;
    let oldest = preset.too_old(version)?;
    Some(format!(
        "version {version} is older than {oldest}, the oldest that is known to work; to renew it: {}",
        preset.install
    ))
}

/// What can be chosen in its sessions, by its own ids; what is chosen in brackets.
fn offers(settings: &Settings) -> String {
    let mut says = vec!["it opens a session".to_owned()];
    for (kind, setting) in settings.iter() {
        let Some(setting) = setting else { continue };
        let chosen = setting.value.as_deref();
        let ids = setting.options.iter().map(|option| match &*option.value {
            id if Some(id) == chosen => format!("[{id}]"),
            id => id.to_owned(),
        });
        let mut ids: Vec<String> = ids.take(MOST + 1).collect();
        if ids.len() > MOST {
            ids.pop();
            ids.push(format!("and {} more", setting.options.len() - MOST));
        }
        says.push(format!("{}: {}", kind.as_str(), ids.join(" ")));
    }
    says.join("; ")
}

/// What is wrong with the mode that it will be in.
fn mode(options: &Options, settings: &Settings) -> Option<String> {
    let offered = settings.get(SettingKind::Mode).as_ref();
    let has = |mode: &str| {
        offered.is_some_and(|modes| modes.options.iter().any(|option| option.value == mode))
    };
    match &options.set.mode {
        Some(mode) if !has(mode) => Some(format!("it offers no mode \"{mode}\"")),
        Some(mode) if approves_by_itself(mode) => {
            Some(format!("in the mode \"{mode}\" it asks nobody"))
        }
        _ => None,
    }
}
