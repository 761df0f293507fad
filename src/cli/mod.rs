//! The command line: what can be typed, what is shown, and how the program ends.

mod args;
mod connect;
mod doctor;
mod exit;
#[cfg(feature = "acp")]
mod login;
mod screen;
mod serve;
mod token;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::Context;

pub use args::{CommandLine, Frontend, Serve, Task};
pub use exit::{code, message};

#[cfg(all(feature = "acp", target_os = "linux"))]
use crate::cores::acp::supervisor;
#[cfg(feature = "acp")]
use crate::cores::mcp;
use crate::{
    config::{self, Environ},
    env::Env,
    fence,
};

/// Does what was typed, and answers with the number that the program ends with.
///
/// # Errors
/// It cannot be done, or failed on the way; [`code`] says with which number the program ends.
pub fn run(line: CommandLine, environ: Environ, env: &Env) -> anyhow::Result<ExitCode> {
    // Before anything secret is read: an agent may run as the same user. What an agent starts itself stays open, since a
    // process that hides makes it harder to tell who calls.
    let hide = || fence::hide().context("keep this process to itself");
    let cwd = || std::env::current_dir().context("find the folder it was started in");
    match line.task {
        None => {
            hide()?;
            serve::serve(&line.serve.inputs(environ, cwd()?), env)?;
        }
        Some(Task::Config(serve)) => {
            let (settings, loaded) = config::load(&serve.inputs(environ, cwd()?))?;
            show(&config::print(&settings, &loaded));
        }
        Some(Task::Doctor { serve, json }) => {
            hide()?;
            return Ok(doctor::doctor(&serve.inputs(environ, cwd()?), json));
        }
        Some(Task::Token { name, stdin: false }) => show(&token::made(name)),
        Some(Task::Token { name, stdin: true }) => show(&token::taken(name)?),
        #[cfg(feature = "acp")]
        Some(Task::Login {
            name,
            method,
            serve,
        }) => {
            hide()?;
            let inputs = serve.inputs(environ, cwd()?);
            return login::login(&name, method.as_deref(), &inputs);
        }
        Some(Task::Connect {
            frontend: Frontend::CopilotKit,
            env,
            route,
            serve,
        }) => {
            let inputs = serve.inputs(environ, cwd()?);
            show(&connect::copilotkit(
                connect::Part::of(env, route),
                &inputs,
            )?);
        }
        #[cfg(feature = "acp")]
        Some(Task::CarryTools) => {
            let variable = |name: &str| environ.get(name).map(ToOwned::to_owned);
            mcp::carry(variable, io::stdin(), io::stdout())?;
        }
        #[cfg(all(feature = "acp", target_os = "linux"))]
        Some(Task::Supervise { command }) => return Ok(supervisor::supervise(&command).into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes to standard output. Nobody reading there is no reason to fail.
fn show(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
