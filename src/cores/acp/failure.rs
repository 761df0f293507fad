//! Why a turn fails here, and what of it a client may know.

use std::process::ExitStatus;

use agent_client_protocol as sdk;

use super::Options;
use crate::deps::{Code, TurnError};

/// Why a turn failed. The texts are for the log at debug: they may hold paths and what the agent said.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Failure {
    /// The program or its folder is missing, or cannot be run.
    #[error("start the program: {0}")]
    Unavailable(String),
    /// It does not speak ACP version 1, or not in time.
    #[error("agree with the program: {0}")]
    Handshake(String),
    /// It wants a login first (JSON-RPC error -32000).
    #[error("open a session without a login: {0}")]
    Login(String),
    /// It ended, or closed its output, in the middle of something.
    #[error("hear more of the program: {0}")]
    Crashed(String),
    /// It answered with an error.
    #[error("get it done by the agent: {0}")]
    Agent(String),
}

/// How a program ended, for the log.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// It was never there.
    NotStarted(String),
    /// It was there.
    Ended(Ended),
}

/// The end of a program that was there.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// `None` if it did not end.
    pub(super) status: Option<ExitStatus>,
    /// What it complained about at last.
    pub(super) said: String,
}

impl Ended {
    /// The status and the last line.
    fn hint(&self) -> String {
        self.with(self.said.lines().next_back().unwrap_or_default())
    }

    /// The status and all that is known.
    fn whole(&self) -> String {
        self.with(&self.said)
    }

    fn with(&self, said: &str) -> String {
        let never = || "it did not end".to_owned();
        let status = self.status.map_or_else(never, |status| status.to_string());
        if said.is_empty() {
            return status;
        }
        format!("{status}, after saying: {said}")
    }
}

/// A failure, with the program's end where that explains it.
#[derive(Debug, Clone)]
pub(super) struct Explained {
    failure: Failure,
    end: Option<Ended>,
}

impl From<Failure> for Explained {
    fn from(failure: Failure) -> Self {
        Self { failure, end: None }
    }
}

impl Failure {
    /// What an error answer to a request means, once the two sides have agreed on a version.
    pub(super) fn of_answer(error: &sdk::Error) -> Self {
        let detail = describe(error);
        if is_closed(error) {
            Self::Crashed(detail)
        } else if error.code == sdk::ErrorCode::AUTH_REQUIRED {
            Self::Login(detail)
        } else {
            Self::Agent(detail)
        }
    }

    /// The failure with what is known of the program's end, where that explains it.
    pub(super) fn explained_by(self, end: End) -> Explained {
        match (self, end) {
            (_, End::NotStarted(why)) => Self::Unavailable(why).into(),
            (failure @ (Self::Crashed(_) | Self::Handshake(_)), End::Ended(end)) => Explained {
                failure,
                end: Some(end),
            },
            (other, End::Ended(_)) => other.into(),
        }
    }
}

impl Explained {
    /// The failure as the adapter reports it of an agent.
    pub(super) fn into_turn_error(self, options: &Options) -> TurnError {
        let Self { failure, end } = self;
        let name = &options.name;
        let install = options.preset.map_or_else(String::new, |preset| {
            format!("; {} is installed with: {}", preset.title, preset.install)
        });
        let (code, message) = match &failure {
            Failure::Unavailable(_) => (
                Code::AgentUnavailable,
                format!(
                    "the agent {name} could not be started; the daemon's log says why{install}"
                ),
            ),
            Failure::Handshake(_) => (
                Code::AgentHandshakeFailed,
                format!(
                    "the program of the agent {name} did not answer as an ACP agent, or not in time"
                ),
            ),
            Failure::Login(_) => (
                Code::AuthRequired,
                format!(
                    "the agent {name} needs a login: run `agui-serve login {name}` as the daemon's user, or name its key's variable in pass_env"
                ),
            ),
            Failure::Crashed(_) => (
                Code::AgentCrashed,
                format!("the agent {name} ended unexpectedly"),
            ),
            Failure::Agent(_) => (
                Code::AgentError,
                format!("the agent {name} reported an error"),
            ),
        };
        let error = TurnError::new(code, message);
        match (&failure, end) {
            (_, Some(end)) => error
                .with_hint(end.hint())
                .with_detail(format!("failed to {failure}; {}", end.whole())),
            // The system or the supervisor says it, not the agent.
            (Failure::Unavailable(why), None) => error
                .with_hint(why)
                .with_detail(format!("failed to {failure}")),
            (_, None) => error.with_detail(format!("failed to {failure}")),
        }
    }
}

/// Whether a request failed because the other side is gone.
pub(super) fn is_closed(error: &sdk::Error) -> bool {
    sdk::is_incoming_transport_closed(error) || sdk::is_connection_terminated(error)
}

/// An error answer for the log, of bounded length.
pub(super) fn describe(error: &sdk::Error) -> String {
    const LIMIT: usize = 4096;
    let mut text = format!("{} ({})", error.message, error.code.value());
    if let Some(data) = &error.data {
        text.push_str(": ");
        text.push_str(&data.to_string());
    }
    text.truncate(text.floor_char_boundary(LIMIT));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gemini() -> Options {
        Options::new("gemini", "gemini", "/")
    }

    #[test]
    fn report_r71_a_client_sees_a_stable_code_and_nothing_that_the_agent_said() {
        let said = sdk::Error::new(-32603, "429 from /home/me with sk-secret");
        let error = Explained::from(Failure::of_answer(&said)).into_turn_error(&gemini());
        assert_eq!(error.code(), Code::AgentError);
        assert!(!error.message().contains("secret") && !error.message().contains("/home"));
        assert!(error.to_string().contains("sk-secret"), "the log has it");
        assert_eq!(error.hint(), None, "and only at debug");
    }

    #[test]
    fn the_code_for_a_login_is_told_apart() {
        let error = Explained::from(Failure::of_answer(&sdk::Error::auth_required()))
            .into_turn_error(&gemini());
        assert_eq!(error.code(), Code::AuthRequired);
        assert!(error.message().contains("gemini") && error.message().contains("login"));
    }

    #[test]
    fn the_log_says_how_a_program_ended_and_its_last_line_alone() {
        use std::os::unix::process::ExitStatusExt as _;

        let long = format!("sk-secret\n\u{1b}[31mno model\u{7}{}", "x".repeat(1000));
        let explained = |said: &str| {
            let status = Some(ExitStatus::from_raw(3 << 8));
            let said = said.to_owned();
            let end = End::Ended(Ended { status, said });
            let failure = Failure::Crashed("closed".into());
            failure.explained_by(end).into_turn_error(&gemini())
        };
        assert_eq!(explained("").hint(), Some("exit status: 3"));
        let error = explained(&long);
        let hint = error.hint().unwrap();
        assert!(
            hint.starts_with("exit status: 3, after saying: [31mno modelx"),
            "{hint}"
        );
        assert!(hint.len() <= 200, "{hint}");
        assert!(error.to_string().contains("sk-secret"));
        let end = End::Ended(Ended {
            status: None,
            said: long,
        });
        let other = Failure::Agent("no".into()).explained_by(end);
        assert_eq!(
            other.into_turn_error(&gemini()).hint(),
            None,
            "it ended since it was told to"
        );
    }

    #[test]
    fn a_long_error_is_cut_at_a_character() {
        let said = sdk::Error::new(-1, "ü".repeat(10_000));
        assert!(describe(&said).len() <= 4096);
    }
}
