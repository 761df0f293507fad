//! The steps by which a program and what it has started are ended. Only the order is decided here;
//! [`super::process`] and [`super::supervisor`] wait and send the signals.

use std::time::Duration;

use rustix::process::Signal;

/// How long a program may take to end once its input is closed. Some save their session then.
const EOF_GRACE: Duration = Duration::from_secs(1);

/// How long it and what it has started may take after `SIGTERM`.
const TERM_GRACE: Duration = Duration::from_secs(1);

/// How long `SIGKILL` is tried. It takes longer than a moment only where the system holds on to a
/// process, or something starts processes faster than they can be found.
const KILL_GRACE: Duration = Duration::from_secs(3);

/// How long all the steps take at most.
pub(super) const WHOLE: Duration =
    Duration::from_secs(EOF_GRACE.as_secs() + TERM_GRACE.as_secs() + KILL_GRACE.as_secs());

/// How far an ending has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing ends yet.
    Running,
    /// The program's input is closed.
    Closed,
    /// All were told to end.
    Told,
    /// All are being killed.
    Killed,
    /// Something cannot be killed.
    GivenUp,
}

/// Why an ending goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The program's input was closed, on purpose or because its owner is gone.
    InputClosed,
    /// Somebody wants it ended now.
    Order,
    /// The program itself has ended; what it has started may not have.
    ProgramEnded,
    /// The step's time is up.
    TimeUp,
}

impl Step {
    /// The step that follows. None is ever taken back.
    pub(super) const fn after(self, cause: Cause) -> Self {
        match (self, cause) {
            (Self::Running, Cause::InputClosed) => Self::Closed,
            (Self::Running | Self::Closed, Cause::Order | Cause::ProgramEnded)
            | (Self::Closed, Cause::TimeUp) => Self::Told,
            (Self::Told, Cause::TimeUp) => Self::Killed,
            (Self::Killed, Cause::TimeUp) => Self::GivenUp,
            (step, _) => step,
        }
    }

    /// How long it lasts; for ever if `None`.
    pub(super) const fn grace(self) -> Option<Duration> {
        match self {
            Self::Running | Self::GivenUp => None,
            Self::Closed => Some(EOF_GRACE),
            Self::Told => Some(TERM_GRACE),
            Self::Killed => Some(KILL_GRACE),
        }
    }

    /// What is sent when it begins.
    pub(super) const fn signal(self) -> Option<Signal> {
        match self {
            Self::Running | Self::Closed | Self::GivenUp => None,
            Self::Told => Some(Signal::TERM),
            Self::Killed => Some(Signal::KILL),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_takes_its_steps_in_order_and_none_twice() {
        use Cause::{InputClosed, Order, ProgramEnded, TimeUp};
        use Step::{Closed, GivenUp, Killed, Running, Told};
        for (causes, steps) in [
            (
                &[InputClosed, TimeUp, TimeUp, TimeUp][..],
                &[Closed, Told, Killed, GivenUp][..],
            ),
            (&[Order, TimeUp], &[Told, Killed]),
            (
                &[InputClosed, Order, Order, InputClosed],
                &[Closed, Told, Told, Told],
            ),
            (
                &[InputClosed, ProgramEnded, TimeUp],
                &[Closed, Told, Killed],
            ),
            (
                &[ProgramEnded, Order, TimeUp, Order],
                &[Told, Told, Killed, Killed],
            ),
        ] {
            let mut step = Running;
            for (cause, wanted) in causes.iter().zip(steps) {
                step = step.after(*cause);
                assert_eq!(step, *wanted, "{causes:?}");
            }
        }
    }

    #[test]
    fn every_step_of_an_ending_is_bounded() {
        let steps = [Step::Closed, Step::Told, Step::Killed];
        let whole: Duration = steps.iter().filter_map(|step| step.grace()).sum();
        assert_eq!(whole, WHOLE);
    }
}
