//! Why a turn failed: a stable code and a sentence for clients, and what only the log may know.

use std::fmt;

use super::Gone;

/// Makes the codes, so that the list of them all is complete.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What the `code` of a `RUN_ERROR` can be. Clients know them: none is ever renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as it is sent.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The agent cannot be started.
    AgentUnavailable = "agent_unavailable",
    /// The agent does not speak its protocol, or not in time.
    AgentHandshakeFailed = "agent_handshake_failed",
    /// The agent wants its user to log in first.
    AuthRequired = "auth_required",
    /// The agent ended in the middle of a turn.
    AgentCrashed = "agent_crashed",
    /// The agent reported an error.
    AgentError = "agent_error",
    /// The turn took too long.
    TurnTimeout = "turn_timeout",
    /// The core gave no sign of life for too long.
    AgentSilent = "agent_silent",
    /// The turn was stopped on purpose, as a client from before 1.0 is told of it.
    Cancelled = "cancelled",
    /// The daemon ended before the run did.
    RunLost = "run_lost",
    /// The run waited for another one on its thread, and could not start then.
    NotStarted = "not_started",
    /// What was asked was lost with the daemon, so an answer to it goes nowhere.
    InterruptLost = "interrupt_lost",
    /// The client missed events.
    ReaderTooSlow = "reader_too_slow",
    /// The demo was asked to fail.
    DemoFailure = "demo_failure",
    /// A defect of the daemon.
    Internal = "internal",
}

/// Why a turn failed. Clients see [`TurnError::message`], the log [`TurnError::hint`] and, at debug, the whole
/// of it, which is its `Display`.
#[derive(Debug, thiserror::Error)]
#[error("{message}{}{}", if detail.is_some() { ": " } else { "" }, detail.as_deref().unwrap_or_default())]
pub struct TurnError {
    code: Code,
    message: String,
    hint: Option<String>,
    detail: Option<String>,
}

/// So that a core that says something to nobody can end with `?`.
impl From<Gone> for TurnError {
    fn from(gone: Gone) -> Self {
        Self::new(Code::Cancelled, gone.to_string())
    }
}

impl TurnError {
    /// A failure with a sentence that is fit for clients: no path, no key, nothing that an upstream said.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            detail: None,
        }
    }

    /// Adds what the log says of it at its usual level. Of something long only the beginning is kept, and no
    /// control character.
    #[must_use]
    pub fn with_hint(self, hint: impl fmt::Display) -> Self {
        const LONGEST: usize = 200;
        let hint = hint.to_string();
        let plain = hint.chars().filter(|c| !c.is_control());
        Self {
            hint: Some(plain.take(LONGEST).collect()),
            ..self
        }
    }

    /// Adds what only the log may know, and it only at debug: what an agent said, say.
    #[must_use]
    pub fn with_detail(self, detail: impl fmt::Display) -> Self {
        Self {
            detail: Some(detail.to_string()),
            ..self
        }
    }

    /// The code of `RUN_ERROR`.
    pub fn code(&self) -> Code {
        self.code
    }

    /// One short line for the log.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The sentence for clients.
    pub fn message(&self) -> &str {
        &self.message
    }
}
