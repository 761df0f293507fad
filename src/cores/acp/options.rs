//! How one agent is started and talked to: plain data, made by the configuration.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::Preset;
use crate::{
    cores::{POOL_SIZE, POOL_TTL, START_TIMEOUT},
    deps::PerSetting,
};

/// How long a program may take to end a turn after `session/cancel`.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// The longest line that a program may write, in bytes. Agents put whole files into one line.
const MAX_LINE: usize = 32 * 1024 * 1024;

/// Names of the daemon's environment that every agent sees. A name that ends in `*` is a prefix.
///
/// Nothing else is passed on unasked: an environment holds keys that are no agent's business.
const PASSED_ENV: [&str; 13] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_*",
    "SSL_CERT_*",
];

/// How one agent is started and talked to.
#[derive(Clone)]
pub struct Options {
    /// What people and logs call the agent.
    pub name: String,
    /// The program: a path, or a name that is looked up in the `PATH` that the program gets.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables that the program gets. They win over what is passed on.
    pub env: BTreeMap<String, String>,
    /// Names to pass on from [`Options::inherited`], besides those that every agent sees, in the same notation.
    pub pass_env: Vec<String>,
    /// The daemon's own environment, from which names are passed on.
    pub inherited: BTreeMap<String, String>,
    /// The folder that the agent works in.
    pub workdir: PathBuf,
    /// The program that runs the agent's as [`super::supervisor`] does: it is started with that module's
    /// `WORD`, `--`, and the agent's program and arguments. Without one, only what stays in the agent's
    /// process group is sure to end, and nothing is if this process is killed. Linux only.
    pub supervisor: Option<PathBuf>,
    /// The program that carries tools to an agent that starts a program for them, as [`crate::cores::mcp::carry`] does:
    /// it is started with that module's `WORD`. Without one such agents have no tools of the page.
    pub carrier: Option<PathBuf>,
    /// Whether the agent is given a tool to ask the person with, unless it has its own.
    pub questions: bool,
    /// How long `initialize` may take, and again each request that opens a session or sets something in it.
    pub start_timeout: Duration,
    /// How long a turn may take to end after `session/cancel`, and how long the agent may take to let go of a
    /// session.
    pub stop_grace: Duration,
    /// The longest line that is read from the program, in bytes. Longer ones are skipped.
    pub max_line: usize,
    /// What is known of the agent, if it is one that people know by name.
    pub preset: Option<&'static Preset>,
    /// What the agent is told once in each session: in its system prompt where it takes one, else before the
    /// first prompt.
    pub instructions: Option<String>,
    /// Whether a session that begins in the middle of a conversation is told, once, what was said before.
    pub seed_history: bool,
    /// What is set in each session, unless a client wishes for something else.
    pub set: PerSetting<Option<String>>,
    /// What clients may wish for.
    pub choices: PerSetting<Vec<String>>,
    /// How many of the agent's processes are kept between turns, for each principal. With zero each turn has a
    /// process of its own. No more are started, but for an agent that can neither open another session in a
    /// process nor close one there.
    pub pool_size: usize,
    /// How long a process is kept that no turn needs.
    pub pool_ttl: Duration,
}

impl Options {
    /// Options for a program without arguments in a folder, with the defaults for the rest and an
    /// empty environment.
    pub fn new(
        name: impl Into<String>,
        command: impl Into<PathBuf>,
        workdir: impl Into<PathBuf>,
    ) -> Self {
        Self {
            name: name.into(),
            command: command.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            inherited: BTreeMap::new(),
            workdir: workdir.into(),
            supervisor: None,
            carrier: None,
            questions: true,
            start_timeout: START_TIMEOUT,
            stop_grace: STOP_GRACE,
            max_line: MAX_LINE,
            preset: None,
            instructions: None,
            seed_history: true,
            set: PerSetting::default(),
            choices: PerSetting::default(),
            pool_size: POOL_SIZE,
            pool_ttl: POOL_TTL,
        }
    }

    /// The whole environment of the program.
    pub(super) fn environment(&self) -> BTreeMap<&str, &str> {
        let mut environment: BTreeMap<&str, &str> = self
            .inherited
            .iter()
            .filter(|(name, _)| self.passes(name))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        environment.extend(self.env.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        environment
    }

    fn passes(&self, name: &str) -> bool {
        let matches = |pattern: &str| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == pattern,
        };
        PASSED_ENV.iter().any(|pattern| matches(pattern))
            || self.pass_env.iter().any(|pattern| matches(pattern))
    }

    /// The program as it is started. A path is taken from the daemon's folder, not from the agent's.
    pub(super) fn program(&self) -> PathBuf {
        let is_name = self.command.parent() == Some(Path::new(""));
        if is_name {
            return self.command.clone();
        }
        std::path::absolute(&self.command).unwrap_or_else(|_| self.command.clone())
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and values can be keys; names are not.
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &self.env.keys())
            .field("pass_env", &self.pass_env)
            .field("workdir", &self.workdir)
            .field("supervisor", &self.supervisor)
            .field("carrier", &self.carrier)
            .field("questions", &self.questions)
            .field("start_timeout", &self.start_timeout)
            .field("stop_grace", &self.stop_grace)
            .field("max_line", &self.max_line)
            .field("preset", &self.preset.map(|preset| preset.name))
            .field("instructions", &self.instructions.is_some())
            .field("seed_history", &self.seed_history)
            .field("set", &self.set)
            .field("choices", &self.choices)
            .field("pool_size", &self.pool_size)
            .field("pool_ttl", &self.pool_ttl)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        let pairs = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("AGUI_TOKEN", "secret-1"),
            ("VENDOR_API_KEY", "secret-2"),
            ("OTHER_API_KEY", "secret-3"),
        ];
        Options {
            env: BTreeMap::from([("MODE".into(), "secret-4".into())]),
            pass_env: vec!["VENDOR_*".into()],
            inherited: pairs.map(|(k, v)| (k.into(), v.into())).into(),
            ..Options::new("one", "agent", "/tmp")
        }
    }

    #[test]
    fn only_listed_names_of_the_environment_reach_the_program() {
        let options = options();
        let names: Vec<_> = options.environment().into_keys().collect();
        assert_eq!(names, ["LC_ALL", "MODE", "PATH", "VENDOR_API_KEY"]);
    }

    #[test]
    fn a_set_variable_wins_over_an_inherited_one() {
        let mut options = options();
        options.env.insert("PATH".into(), "/opt".into());
        assert_eq!(options.environment()["PATH"], "/opt");
    }

    #[test]
    fn no_value_of_the_environment_and_no_argument_is_printed() {
        let mut options = options();
        options.args.push("--key=secret-5".into());
        let printed = format!("{options:?}");
        assert!(!printed.contains("secret"), "{printed}");
        assert!(printed.contains("MODE"));
    }

    #[test]
    fn a_bare_name_is_left_to_the_path_and_a_path_is_made_absolute() {
        assert_eq!(options().program(), Path::new("agent"));
        let relative = Options::new("one", "./agent", "/tmp");
        assert!(relative.program().is_absolute());
    }
}
