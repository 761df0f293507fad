//! A login that a person goes through in a terminal.
//!
//! The quoting is written here: the crates for it (`shlex`, `shell-words`) let control characters through, and
//! a terminal obeys those.

use std::path::PathBuf;

use super::super::options::Options;

/// A program that logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
}

impl Terminal {
    /// The login that the agent's preset knows, if there is one.
    pub fn of_preset(options: &Options) -> Option<Self> {
        let args = options.preset?.login?;
        Some(Self {
            program: options.program(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: Vec::new(),
        })
    }

    /// The command, in this process's terminal, with the environment and in the folder of the agent.
    pub fn command(&self, options: &Options) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(options.environment())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&options.workdir);
        command
    }

    /// What a person would type into a shell to the same effect, the variables that are set included. It
    /// has no control characters, whatever the agent's words are.
    pub fn line(&self) -> String {
        let variables = self.env.iter();
        let variables =
            variables.map(|(name, value)| format!("{}={}", quoted(name), quoted(value)));
        let words = self.args.iter().map(|arg| quoted(arg));
        variables
            .chain([quoted(&self.program.to_string_lossy())])
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A word as one types it into a shell (POSIX 2024, "Quoting").
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if word.contains(char::is_control) {
        return format!("$'{}'", word.as_bytes().escape_ascii());
    }
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_login_is_what_a_shell_would_run() {
        let hostile = "it's\u{1b}[2J\u{9b} $HOME\n\\";
        let words = [
            "plain-1.0",
            "two words",
            "",
            "it's",
            "$(id)",
            "a\"b",
            "é",
            hostile,
        ];
        let terminal = Terminal {
            program: "printf".into(),
            args: ["%s|", "--"]
                .iter()
                .chain(&words)
                .map(|&it| it.to_owned())
                .collect(),
            env: vec![("A".into(), "1 2".into())],
        };
        let line = terminal.line();
        assert!(
            line.starts_with("A='1 2' printf '%s|' -- plain-1.0 'two words' '' "),
            "{line}"
        );
        assert!(!line.contains(char::is_control), "{line}");
        let ran = std::process::Command::new("bash")
            .args(["-c", &line])
            .output()
            .unwrap();
        let expected = format!("--|{}|", words.join("|"));
        assert_eq!(String::from_utf8(ran.stdout).unwrap(), expected);
    }
}
