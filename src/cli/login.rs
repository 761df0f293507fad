//! `agui-serve login`: runs an agent's own login, with the environment and in the folder that the agent gets.

use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::{args, serve::supervised, show};
use crate::{
    config::{self, Core, Inputs, Typed},
    cores::acp::{
        Options, Preset,
        probe::{Login, Probe, Terminal, Way},
    },
    telemetry,
};

/// Logs in to the agent called `name`, by the method that is asked for, else by the one that is known.
///
/// # Errors
/// There is no such agent or method, or the login did not work.
pub(super) fn login(name: &str, method: Option<&str>, inputs: &Inputs) -> anyhow::Result<ExitCode> {
    let options = supervised(&find(name, inputs)?);
    let known = Terminal::of_preset(&options);
    match (method, known) {
        (None, Some(terminal)) => in_terminal(&terminal, &options),
        (method, _) => ask(&options, method, inputs),
    }
}

/// The agent of that name: a configured one, else the one that is known by it or by its program.
fn find(name: &str, inputs: &Inputs) -> anyhow::Result<Options> {
    let acp = |inputs: &Inputs| {
        let (settings, _) = config::load(inputs)?;
        let agent = settings
            .agents
            .into_iter()
            .find(|agent| agent.name.as_str() == name);
        anyhow::Ok(agent.map(|agent| agent.core))
    };
    match acp(inputs)? {
        Some(Core::Acp(options)) => return Ok(*options),
        #[cfg(feature = "demo")]
        Some(Core::Demo) => bail!("log in to {name}: the demo needs no login"),
        None => {}
    }
    let preset = Preset::named(name).or_else(|| Preset::of_program(name.as_ref()));
    let Some(preset) = preset else {
        bail!("log in to {name}: no agent of this name is configured or known");
    };
    let inputs = Inputs {
        typed: Some(Typed::Presets(vec![preset.name.to_owned()])),
        ..inputs.clone()
    };
    let (settings, _) = config::load(&inputs)?;
    match settings.agents.into_iter().next().map(|agent| agent.core) {
        Some(Core::Acp(options)) => Ok(*options),
        _ => bail!("log in to {name}: it is no program"),
    }
}

/// Runs a login in this terminal, and ends as it does.
fn in_terminal(terminal: &Terminal, options: &Options) -> anyhow::Result<ExitCode> {
    show(&format!("{}\n", terminal.line()));
    let status = terminal
        .command(options)
        .status()
        .with_context(|| format!("run {}", terminal.line()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// Asks the agent how it logs in, and does that.
fn ask(options: &Options, method: Option<&str>, inputs: &Inputs) -> anyhow::Result<ExitCode> {
    // What the agent says on the way, such as an address to open, it says on its standard error.
    let log = telemetry::Options {
        format: telemetry::Format::Pretty,
        filter: "warn,agui_serve::cores::acp::stderr=debug".into(),
    };
    telemetry::start(&log, args::terminal(&inputs.environ))?;
    let workers = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("start the threads that wait for the agent")?;
    let terminal = workers.block_on(async {
        let probe = Probe::start(options.clone())
            .await
            .context("start the agent")?;
        let outcome = attempt(&probe, method, &options.name).await;
        probe.end().await;
        outcome
    })?;
    match terminal {
        Some(terminal) => in_terminal(&terminal, options),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Logs in, if that is the agent's to do; else answers with what is to be run once the agent has ended.
async fn attempt(
    probe: &Probe,
    method: Option<&str>,
    name: &str,
) -> anyhow::Result<Option<Terminal>> {
    let logins = probe.about().logins;
    let login =
        choose(&logins, method).map_err(|why| anyhow::anyhow!("log in to {name}: {why}"))?;
    match &login.way {
        Way::Terminal(terminal) => Ok(Some(terminal.clone())),
        Way::Agent => {
            show(&format!("{name} logs in: {}\n", login.name));
            probe
                .authenticate(login)
                .await
                .with_context(|| format!("log in to {name}"))?;
            show(&format!("{name} is logged in\n"));
            Ok(None)
        }
    }
}

/// The login that is meant: the one of that id, else the only one.
fn choose<'a>(logins: &'a [Login], method: Option<&str>) -> Result<&'a Login, String> {
    let list = || {
        let lines = logins.iter();
        let lines = lines.map(|login| format!("\n  --method {}  {}", login.id, login.name));
        lines.collect::<String>()
    };
    match (method, logins) {
        (_, []) => Err("it offers no login; name its key's variable in pass_env".into()),
        (None, [login]) => Ok(login),
        (None, _) => Err(format!("it offers several logins, choose one:{}", list())),
        (Some(id), _) => logins
            .iter()
            .find(|login| login.id == id)
            .ok_or_else(|| format!("it has no login \"{id}\", only:{}", list())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(id: &str) -> Login {
        Login {
            id: id.into(),
            name: format!("Log in by {id}"),
            way: Way::Agent,
        }
    }

    #[test]
    fn the_only_login_is_meant_and_of_several_one_has_to_be_named() {
        let (one, two) = ([login("key")], [login("key"), login("web")]);
        assert_eq!(choose(&one, None), Ok(&one[0]));
        assert_eq!(choose(&two, Some("web")), Ok(&two[1]));
        let several = choose(&two, None).unwrap_err();
        assert!(
            several.contains("\n  --method web  Log in by web"),
            "{several}"
        );
        let other = choose(&one, Some("web")).unwrap_err();
        assert!(other.contains("no login \"web\""), "{other}");
        assert!(choose(&[], None).unwrap_err().contains("pass_env"));
    }
}
