//! Whether a turn that was stopped has left something running.
//!
//! An agent that answers a stop may still have a command under way. What runs below its process is compared
//! with what ran there when the turn began: where something new stays, the whole process is not kept.

use std::{collections::HashSet, time::Duration};

use tokio::time::sleep;

use super::pool::Lease;

/// How long what a turn has started may take to end, once the turn has.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked for.
const PAUSE: Duration = Duration::from_millis(50);

/// What ran below a process when a turn began; `None` where nobody can tell.
pub(super) struct Before(Option<HashSet<i32>>);

impl Before {
    /// Looks.
    pub(super) async fn look(lease: &Lease) -> Self {
        Self(lease.below().await)
    }

    /// Whether nothing is left that has started since. Waits for what is about to end.
    pub(super) async fn is_all(&self, lease: &Lease) -> bool {
        let Some(before) = &self.0 else {
            return false;
        };
        let mut waited = Duration::ZERO;
        loop {
            match lease.below().await {
                Some(now) if now.is_subset(before) => return true,
                Some(_) if waited < PATIENCE => sleep(PAUSE).await,
                _ => return false,
            }
            waited += PAUSE;
        }
    }
}
