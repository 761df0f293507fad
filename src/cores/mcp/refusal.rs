//! Why a request is not let in, and how often that is said.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::warn;

/// How long the same is not said again.
const QUIET: Duration = Duration::from_mins(1);

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It was meant for another host, as when a name was made to point here.
    Host,
    /// A page sends it.
    Origin,
    /// There is nothing at that path.
    Path,
    /// Nothing takes that method.
    Method,
    /// It shows no secret, or none that is in force.
    Secret,
    /// Its body is too long.
    TooLong,
    /// Too many requests of the same place are under way.
    TooMany,
}

impl Refusal {
    const ALL: [Self; 7] = [
        Self::Host,
        Self::Origin,
        Self::Path,
        Self::Method,
        Self::Secret,
        Self::TooLong,
        Self::TooMany,
    ];

    /// The HTTP status that says it (RFC 9110).
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Host => 421,
            Self::Origin => 403,
            Self::Path => 404,
            Self::Method => 405,
            Self::Secret => 401,
            Self::TooLong => 413,
            Self::TooMany => 429,
        }
    }

    /// What the header is called that the status demands, and what it says.
    pub(super) fn header(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Method => Some(("allow", "DELETE, GET, POST")),
            Self::Secret => Some(("www-authenticate", "Bearer")),
            _ => None,
        }
    }

    /// A name for the log.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Path => "path",
            Self::Method => "method",
            Self::Secret => "secret",
            Self::TooLong => "too_long",
            Self::TooMany => "too_many",
        }
    }
}

/// Says what was refused, each kind once in a while: whoever can call can call without end.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals(Arc<Mutex<[Counted; Refusal::ALL.len()]>>);

#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    said: Option<Instant>,
    unsaid: u64,
}

impl Refusals {
    /// Notes a refusal, and says it unless that was done just now.
    pub(super) fn note(&self, refusal: Refusal) {
        let now = Instant::now();
        if let Some(before) = self.count(refusal, now) {
            let kind = refusal.as_str();
            warn!(
                kind,
                before, "a request to the listener for agents' tools is refused"
            );
        }
    }

    /// How many were not said since the last one that was, if this one is to be said.
    fn count(&self, refusal: Refusal, now: Instant) -> Option<u64> {
        let place = Refusal::ALL.iter().position(|kind| *kind == refusal)?;
        let mut counted = self.0.lock();
        let Counted { said, unsaid } = &mut counted[place];
        if said.is_some_and(|said| now < said + QUIET) {
            *unsaid += 1;
            return None;
        }
        *said = Some(now);
        Some(std::mem::take(unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_kind_is_said_once_a_minute_with_how_many_were_not() {
        let refusals = Refusals::default();
        let start = Instant::now();
        for (kind, at, said) in [
            (Refusal::Secret, 0, Some(0)),
            (Refusal::Secret, 1, None),
            (Refusal::Origin, 1, Some(0)),
            (Refusal::Secret, 59, None),
            (Refusal::Secret, 60, Some(2)),
            (Refusal::Secret, 61, None),
        ] {
            let now = start + Duration::from_secs(at);
            assert_eq!(refusals.count(kind, now), said, "{kind:?} at {at}");
        }
    }
}
