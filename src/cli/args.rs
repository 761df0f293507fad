//! What can be typed.

#[cfg(all(feature = "acp", target_os = "linux"))]
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[cfg(all(feature = "acp", target_os = "linux"))]
use crate::cores::acp::supervisor;
#[cfg(feature = "acp")]
use crate::cores::mcp;
use crate::{
    config::{self, Environ, Flags},
    deps::Principal,
    telemetry,
};

/// How the program can end, for the end of the help.
const AFTER_HELP: &str = "\
Examples:
  agui-serve                            serve the demo on port 8787
  agui-serve --agent opencode           serve a coding agent, in this folder
  agui-serve -- opencode acp            serve any program that speaks ACP, in this folder
  agui-serve --config agui.toml         serve what a file says
  agui-serve config                     show what is in force, and why
  agui-serve doctor                     check that all of it works
  agui-serve login codex                log in to an agent
  agui-serve connect copilotkit         show what a CopilotKit page in front of it needs
  agui-serve token alice                make a token for somebody

Every key of the configuration can also be set by an environment variable: AGUI_PORT for port,
AGUI_LIMITS__MAX_TURNS for max_turns in [limits]. The token itself is taken from AGUI_TOKEN or a file,
never from the command line.

Exit codes: 0 stopped as asked, 1 failed while serving, 2 wrong usage, 69 the address is taken or cannot
be bound, or another daemon has the database, 78 the configuration or the database cannot be used.";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "agui-serve",
    version,
    about = "Puts any agent behind AG-UI 1.0",
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct CommandLine {
    /// What to do; serving if nothing is said.
    #[command(subcommand)]
    pub task: Option<Task>,
    /// What to serve, and how.
    #[command(flatten)]
    pub serve: Serve,
}

/// What can be done besides serving.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Show every key with its value and where that came from
    Config(Box<Serve>),
    /// Check the address, the token, the folders and each agent, or else each agent that is installed
    Doctor {
        /// Write one JSON object at the end
        #[arg(long)]
        json: bool,
        /// What would be served
        #[command(flatten)]
        serve: Box<Serve>,
    },
    /// Make a token for somebody, and print it with the line that the configuration needs. Writes nothing
    Token {
        /// Who will have it: the name that the daemon knows them by
        #[arg(value_name = "NAME", value_parser = Principal::new)]
        name: Principal,
        /// Take the token from standard input instead of making one
        #[arg(long)]
        stdin: bool,
    },
    /// Run an agent's own login, as the agent would run: in its folder, with what it sees of your variables
    #[cfg(feature = "acp")]
    Login {
        /// The agent: a configured one, or one that is known by this name
        #[arg(value_name = "AGENT")]
        name: String,
        /// Log in by this one of the agent's methods [default: the usual one]
        #[arg(long, value_name = "ID")]
        method: Option<String>,
        /// What would be served
        #[command(flatten)]
        serve: Box<Serve>,
    },
    /// Show what a page in front of this daemon needs: a route, and the lines of its .env.local. Writes nothing
    Connect {
        /// What the page is made with
        #[arg(value_name = "FRONTEND")]
        frontend: Frontend,
        /// Show the lines of .env.local alone
        #[arg(long, conflicts_with = "route")]
        env: bool,
        /// Show the route alone
        #[arg(long)]
        route: bool,
        /// What would be served
        #[command(flatten)]
        serve: Box<Serve>,
    },
    /// Carry the tools of a page to an agent that takes them only from a program. Agents start it so
    #[cfg(feature = "acp")]
    #[command(name = mcp::WORD, hide = true)]
    CarryTools,
    /// Run a program and leave nothing of it behind. The daemon starts itself so, once per agent
    #[cfg(all(feature = "acp", target_os = "linux"))]
    #[command(name = supervisor::WORD, hide = true)]
    Supervise {
        /// The program and its arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// What a page can be made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Frontend {
    /// `CopilotKit`, in a Next.js application.
    #[value(name = "copilotkit", help = None::<&str>)]
    CopilotKit,
}

/// What to serve, and how.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own that people type"
)]
pub struct Serve {
    /// Read the configuration from this file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Listen on this address [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// Listen on this port; 0 takes a free one [default: 8787]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Put the routes under this path [default: /agui]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Let pages of this origin call; can be repeated [default: no browser]
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Take the token from this file [default: make one and keep it]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Ask for no token: whoever reaches the port drives the agents
    #[arg(long, conflicts_with = "token_file")]
    no_token: bool,
    /// Let agents call no tools of the page
    #[arg(long)]
    no_frontend_tools: bool,
    /// Ask nobody: what no rule allows is denied
    #[arg(long)]
    no_hitl: bool,
    /// Ask nobody: what no rule denies is granted
    #[arg(long)]
    auto_approve: bool,
    /// Let agents work in this folder [default: this one]
    #[arg(long, value_name = "FOLDER")]
    workdir: Option<PathBuf>,
    /// Let agents see this variable of yours; can be repeated [default: PATH, HOME and the like]
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Write these records of the log [default: info]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Write the log in this form [default: auto]
    #[arg(long, value_name = "FORMAT", value_parser = ["auto", "pretty", "json"])]
    log_format: Option<String>,
    /// Serve this agent, by the name that it is known by; can be repeated, the first is the default agent
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Vec<String>,
    /// Serve this program alone, which speaks the Agent Client Protocol on stdio
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Serve {
    /// What the configuration is made from.
    pub(super) fn inputs(self, environ: Environ, cwd: PathBuf) -> config::Inputs {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let origins = (!self.allow_origin.is_empty()).then_some(self.allow_origin);
        let variables = (!self.pass_env.is_empty()).then_some(self.pass_env);
        let mut flags = Flags::default();
        flags.set("--host", &["host"], self.host);
        flags.set("--port", &["port"], self.port);
        flags.set("--path", &["path"], self.path);
        flags.set("--allow-origin", &["allowed_origins"], origins);
        flags.set("--token-file", &["token_file"], self.token_file.map(text));
        flags.set(
            "--no-token",
            &["require_token"],
            self.no_token.then_some(false),
        );
        for (flag, key, is_given, value) in [
            (
                "--no-frontend-tools",
                "frontend_tools",
                self.no_frontend_tools,
                false,
            ),
            ("--no-hitl", "human_in_the_loop", self.no_hitl, false),
            ("--auto-approve", "auto_approve", self.auto_approve, true),
        ] {
            flags.set(flag, &["defaults", key], is_given.then_some(value));
        }
        flags.set(
            "--workdir",
            &["defaults", "workdir"],
            self.workdir.map(text),
        );
        flags.set("--pass-env", &["defaults", "pass_env"], variables);
        flags.set("--log", &["log", "filter"], self.log);
        flags.set("--log-format", &["log", "format"], self.log_format);
        let mut words = self.command.into_iter();
        let command = words.next().map(|program| config::Command {
            program,
            args: words.collect(),
        });
        let presets = (!self.agent.is_empty()).then_some(self.agent);
        let typed = match (command, presets) {
            (Some(command), _) => Some(config::Typed::Command(command)),
            (None, presets) => presets.map(config::Typed::Presets),
        };
        config::Inputs {
            file: self.config,
            environ,
            flags,
            typed,
            cwd,
        }
    }
}

/// What standard error is, with the wish for no colours (`NO_COLOR`, any value but an empty one).
pub(super) fn terminal(environ: &Environ) -> telemetry::Terminal {
    telemetry::Terminal::of_stderr(environ.filled("NO_COLOR").is_some())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn what_stands_behind_the_dashes_is_the_agents_own() {
        let typed = [
            "agui-serve",
            "--port",
            "0",
            "--",
            "opencode",
            "acp",
            "--port",
            "9",
        ];
        let line = CommandLine::try_parse_from(typed).unwrap();
        assert_eq!(line.serve.port, Some(0));
        assert_eq!(line.serve.command, ["opencode", "acp", "--port", "9"]);
    }

    #[test]
    #[cfg(feature = "acp")]
    fn a_variable_that_is_passed_on_is_set_for_the_agent() {
        let typed = "agui-serve --pass-env A_KEY --pass-env B_KEY -- /bin/sh acp";
        let line = CommandLine::try_parse_from(typed.split(' ')).unwrap();
        let environ = [("HOME".to_owned(), "/home/nobody".to_owned())];
        let inputs = line.serve.inputs(environ.into_iter().collect(), "/".into());
        let (settings, _) = config::load(&inputs).unwrap();
        match &settings.agents[0].core {
            config::Core::Acp(options) => assert_eq!(options.pass_env, ["A_KEY", "B_KEY"]),
            #[cfg(feature = "demo")]
            core @ config::Core::Demo => panic!("{core:?}"),
        }
    }

    #[test]
    fn what_is_asked_of_people_and_of_the_page_can_be_typed() {
        use crate::engine::Approval;
        for (flag, tools, approval) in [
            ("--path=/x", true, Approval::Asked),
            ("--no-frontend-tools", false, Approval::Asked),
            ("--no-hitl", true, Approval::Denied),
            ("--auto-approve", true, Approval::Granted),
        ] {
            let line = CommandLine::try_parse_from(["agui-serve", flag]).unwrap();
            let environ = [("HOME".to_owned(), "/home/nobody".to_owned())];
            let inputs = line.serve.inputs(environ.into_iter().collect(), "/".into());
            let (settings, _) = config::load(&inputs).unwrap();
            let policy = settings.engine.policy;
            let found = (policy.frontend_tools, policy.prompts.approval);
            assert_eq!(found, (tools, approval), "{flag}");
        }
    }

    #[test]
    fn a_token_cannot_be_typed() {
        let typed = ["agui-serve", "--token", "secret"];
        assert!(CommandLine::try_parse_from(typed).is_err());
    }
}
