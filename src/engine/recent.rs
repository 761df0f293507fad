//! The logs of runs that have just ended, for readers that come back.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::log::Log;
use crate::{protocol::RunId, store::Key};

/// The longest log that is kept, in bytes. Of a longer one whoever comes back is told the messages, which are less.
const LONGEST: usize = 1024 * 1024;

/// How many logs are kept.
const MAX: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// The last run of each thread, for some time.
#[derive(Debug)]
pub(super) struct Recent {
    logs: Mutex<LruCache<Key, Ended>>,
    time: Duration,
}

#[derive(Debug)]
struct Ended {
    run: RunId,
    log: Arc<Log>,
    until: Instant,
}

impl Recent {
    pub(super) fn new(time: Duration) -> Self {
        Self {
            logs: Mutex::new(LruCache::new(MAX)),
            time,
        }
    }

    /// Keeps a log, and drops those whose time is over.
    pub(super) fn put(&self, key: &Key, run: RunId, log: Arc<Log>) {
        self.sweep();
        if !self.time.is_zero() && log.bytes() <= LONGEST {
            let until = Instant::now() + self.time;
            self.logs.lock().put(key.clone(), Ended { run, log, until });
        }
    }

    /// The run that ended last on a thread, and its log.
    pub(super) fn get(&self, key: &Key) -> Option<(RunId, Arc<Log>)> {
        let logs = self.logs.lock();
        let ended = logs.peek(key)?;
        (ended.until > Instant::now()).then(|| (ended.run.clone(), Arc::clone(&ended.log)))
    }

    /// Drops the logs whose time is over.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut logs = self.logs.lock();
        while logs.peek_lru().is_some_and(|(_, ended)| ended.until <= now) {
            logs.pop_lru();
        }
    }

    /// Drops the log of a thread.
    pub(super) fn forget(&self, key: &Key) {
        self.logs.lock().pop(key);
    }
}
