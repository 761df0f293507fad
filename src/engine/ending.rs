//! How a turn came to its end, and what its run's terminal event says. Decides, waits for nothing.

use crate::{
    deps::{Code, StopReason, TurnError},
    protocol::{Interrupt, ToolCallId},
    store::Outcome,
};

/// Why the engine stopped a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Somebody asked for it: its thread is needed for another run, or is not wanted any more.
    Asked,
    /// The reader of the POST was gone for as long as `linger` forgives.
    ReaderGone,
    /// The daemon is shutting down and the grace period is over.
    Shutdown,
    /// The turn took too long.
    Timeout,
    /// The core gave no sign of life for too long.
    Silence,
}

impl Cause {
    /// The cause as a log field.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::ReaderGone => "reader_gone",
            Self::Shutdown => "shutdown",
            Self::Timeout => Code::TurnTimeout.as_str(),
            Self::Silence => Code::AgentSilent.as_str(),
        }
    }
}

/// What became of the core's future.
#[derive(Debug)]
pub(super) enum CoreEnd {
    /// It returned.
    Returned(Result<StopReason, TurnError>),
    /// It panicked.
    Panicked,
    /// It did not end in time after it was told to stop, and was dropped.
    Dropped,
}

/// What the terminal event says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// The turn ended by itself; with a reason where it is another than being done.
    Done { stop_reason: Option<&'static str> },
    /// The run has ended, and its turn waits: for a person if there are interrupts, else for the page.
    Asking {
        interrupts: Vec<Interrupt>,
        /// The calls of the run that have no result; told only where there are no interrupts.
        pending: Vec<ToolCallId>,
    },
    /// It was stopped on purpose.
    Cancelled,
    /// It failed.
    Failed { code: Code, message: String },
}

impl Ending {
    /// Decides. The engine's own cause comes first: what a core says after it was told to stop is
    /// an echo of that.
    pub(super) fn decide(cause: Option<Cause>, core: &CoreEnd) -> Self {
        match (cause, core) {
            (Some(Cause::Timeout), _) => Self::failed(Code::TurnTimeout, "the turn took too long"),
            (Some(Cause::Silence), _) => Self::failed(
                Code::AgentSilent,
                "the agent gave no sign of life for too long",
            ),
            (Some(Cause::Asked | Cause::ReaderGone | Cause::Shutdown), _)
            | (None, CoreEnd::Returned(Ok(StopReason::Cancelled))) => Self::Cancelled,
            (None, CoreEnd::Panicked | CoreEnd::Dropped) => Self::internal(),
            (None, CoreEnd::Returned(Err(error))) => Self::Failed {
                code: error.code(),
                message: error.message().to_owned(),
            },
            (None, CoreEnd::Returned(Ok(StopReason::EndTurn))) => Self::Done { stop_reason: None },
            (None, CoreEnd::Returned(Ok(reason))) => Self::Done {
                stop_reason: Some(reason.as_str()),
            },
        }
    }

    /// The ending that was noted of a run which is not live. One that was never noted was lost with the daemon
    /// that ran it.
    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Success { stop_reason } => {
                let reasons = StopReason::ALL.map(StopReason::as_str);
                let noted = stop_reason.as_deref();
                Self::Done {
                    stop_reason: reasons.into_iter().find(|reason| Some(*reason) == noted),
                }
            }
            // What it has asked is not open any more, or is shown as what is.
            Outcome::Interrupted => Self::Done { stop_reason: None },
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Running => Self::failed(Code::RunLost, "the daemon ended before this run did"),
            Outcome::Failed { code, message } => {
                let known = Code::ALL.iter().find(|known| known.as_str() == code);
                Self::failed(known.copied().unwrap_or(Code::Internal), message)
            }
        }
    }

    /// The ending as it is noted.
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Done { stop_reason } => Outcome::Success {
                stop_reason: stop_reason.map(ToOwned::to_owned),
            },
            Self::Asking { interrupts, .. } if interrupts.is_empty() => {
                Outcome::Success { stop_reason: None }
            }
            Self::Asking { .. } => Outcome::Interrupted,
            Self::Cancelled => Outcome::Cancelled,
            Self::Failed { code, message } => Outcome::Failed {
                code: code.as_str().into(),
                message: message.clone(),
            },
        }
    }

    /// The ending of a run whose turn waits.
    pub(super) fn asking(interrupts: Vec<Interrupt>, pending: Vec<ToolCallId>) -> Self {
        Self::Asking {
            interrupts,
            pending,
        }
    }

    /// The ending of a run whose task broke.
    pub(super) fn internal() -> Self {
        Self::failed(Code::Internal, "the run broke inside the daemon")
    }

    /// What was asked went with the daemon that asked.
    pub(super) fn lost() -> Self {
        Self::failed(
            Code::InterruptLost,
            "what was asked was lost when the daemon ended",
        )
    }

    fn failed(code: Code, message: &str) -> Self {
        Self::Failed {
            code,
            message: message.into(),
        }
    }

    /// The ending as a log field.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Done { .. } => "success",
            Self::Asking { interrupts, .. } if interrupts.is_empty() => "pending",
            Self::Asking { .. } => "interrupt",
            Self::Cancelled => Code::Cancelled.as_str(),
            Self::Failed { code, .. } => code.as_str(),
        }
    }

    /// Why it failed, if it has, as a sentence for people. An agent's own message may be a sentence already.
    pub(super) fn explanation(&self) -> Option<String> {
        let Self::Failed { message, .. } = self else {
            return None;
        };
        let message = message.trim_end_matches(|end: char| end == '.' || end.is_whitespace());
        Some(format!("The run failed: {message}."))
    }

    /// What is said in place of the result of a call that has none when the run ends so.
    pub(super) fn unanswered(&self) -> &'static str {
        match self {
            Self::Done { .. } | Self::Asking { .. } => {
                "The agent reported no result for this call."
            }
            Self::Cancelled => "The run was stopped before this call had a result.",
            Self::Failed { .. } => "The run failed before this call had a result.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::downgrade;

    #[test]
    fn the_engines_cause_outranks_what_the_core_says() {
        let failed = || CoreEnd::Returned(Err(TurnError::new(Code::AgentCrashed, "it crashed")));
        let done = |reason| CoreEnd::Returned(Ok(reason));
        for (cause, core, expected) in [
            (None, done(StopReason::EndTurn), "success"),
            (None, done(StopReason::MaxTokens), "success"),
            (None, done(StopReason::Cancelled), "cancelled"),
            (None, failed(), "agent_crashed"),
            (None, CoreEnd::Panicked, "internal"),
            (Some(Cause::ReaderGone), failed(), "cancelled"),
            (
                Some(Cause::ReaderGone),
                done(StopReason::EndTurn),
                "cancelled",
            ),
            (Some(Cause::Shutdown), CoreEnd::Dropped, "cancelled"),
            (
                Some(Cause::Timeout),
                done(StopReason::Cancelled),
                "turn_timeout",
            ),
            (Some(Cause::Silence), CoreEnd::Panicked, "agent_silent"),
        ] {
            assert_eq!(
                Ending::decide(cause, &core).as_str(),
                expected,
                "{cause:?} {core:?}"
            );
        }
    }

    #[test]
    fn an_older_client_reads_the_code_of_a_run_that_was_stopped() {
        assert_eq!(Code::Cancelled.as_str(), downgrade::CANCELLED);
    }

    #[test]
    fn an_ending_that_is_no_plain_success_says_so() {
        let ending = Ending::decide(None, &CoreEnd::Returned(Ok(StopReason::Refusal)));
        assert_eq!(
            ending,
            Ending::Done {
                stop_reason: Some("refusal")
            }
        );
    }

    #[test]
    fn a_failure_is_explained_with_one_full_stop() {
        for (message, explained) in [
            ("the model is away", "The run failed: the model is away."),
            (
                "Your quota is used up.",
                "The run failed: Your quota is used up.",
            ),
            ("Please wait... \n", "The run failed: Please wait."),
        ] {
            let error = TurnError::new(Code::AgentError, message);
            let ending = Ending::decide(None, &CoreEnd::Returned(Err(error)));
            assert_eq!(ending.explanation().as_deref(), Some(explained));
        }
        assert_eq!(Ending::Cancelled.explanation(), None);
        assert_eq!(Ending::Done { stop_reason: None }.explanation(), None);
    }

    #[test]
    fn an_ending_that_was_noted_is_told_again_as_it_was() {
        let ended = StopReason::ALL.map(Ok).into_iter();
        let failed = Err(TurnError::new(Code::AgentCrashed, "it crashed"));
        for result in ended.chain([failed]) {
            let ending = Ending::decide(None, &CoreEnd::Returned(result));
            assert_eq!(Ending::of(&ending.outcome()), ending);
        }
    }
}
