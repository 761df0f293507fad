//! The clock and the ids, passed down so that tests can fix them.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// Where time and randomness come from. Deadlines are not its business: those are tokio's.
#[derive(Clone)]
pub struct Env(Arc<dyn Source>);

trait Source: Send + Sync {
    fn now_ms(&self) -> i64;
    fn unique(&self) -> String;
}

impl Env {
    /// The machine's clock, and ids that are unique across restarts (UUID version 7).
    pub fn system() -> Self {
        Self(Arc::new(System))
    }

    /// A clock that stands at `now_ms`, and ids that count from 1.
    pub fn fixed(now_ms: i64) -> Self {
        Self(Arc::new(Fixed {
            now_ms,
            next: AtomicU64::new(1),
        }))
    }

    /// Milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }

    /// A new id: `prefix`, a dash, and something unique.
    pub fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{}", self.0.unique())
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Env")
    }
}

struct System;

impl Source for System {
    #[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "this is where ids come from")]
    fn unique(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}

struct Fixed {
    now_ms: i64,
    next: AtomicU64,
}

impl Source for Fixed {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn unique(&self) -> String {
        self.next.fetch_add(1, Ordering::Relaxed).to_string()
    }
}
