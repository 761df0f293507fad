//! The way back from memory into the file, and the end.

use rusqlite::{ErrorCode, Result, Transaction, TransactionBehavior};
use tokio::time::Instant;
use tracing::{info, warn};

use super::{
    Key, open, schema, tables,
    tiers::{NUMBERS, Origin, Tiers, at_once, or_default},
};

/// Why threads are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// It is time to try again.
    Retry,
    /// There will be no other time.
    End,
}

impl Tiers {
    /// Puts back what is in memory although there is a file, if it is time to try.
    pub(super) fn mend(&mut self) {
        let now = Instant::now();
        let trouble = self.trouble.as_ref();
        if trouble.is_some_and(|trouble| now >= trouble.next) {
            self.put_all_back(Occasion::Retry);
        }
    }

    fn put_all_back(&mut self, occasion: Occasion) {
        let keys: Vec<Key> = self.away.keys().cloned().collect();
        for key in keys {
            match self.put_back(&key, occasion) {
                Ok(true) => {
                    or_default(at_once(&self.memory, |db| tables::forget(db, &key)));
                    self.away.remove(&key);
                }
                Ok(false) => {}
                // Other threads may be on pages that are whole.
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {}
                Err(_) => break,
            }
        }
        let works = self.away.is_empty() && self.is_asked_again();
        let next = Instant::now() + self.retry;
        match &mut self.trouble {
            Some(_) if works => {
                self.trouble = None;
                info!("the database works again, and has all that was kept in memory");
            }
            Some(trouble) => trouble.next = next,
            None => {}
        }
    }

    /// Whether the file does again what it did not do: with no thread away nothing else has tried it.
    fn is_asked_again(&self) -> bool {
        let (Some(file), Some(trouble)) = (&self.file, &self.trouble) else {
            return false;
        };
        let asked = Transaction::new_unchecked(&file.connection, TransactionBehavior::Immediate);
        // What is changed by that is undone.
        let asked = asked.and_then(|db| match &trouble.failed {
            Some(failed) => failed(&db),
            None => schema::note(&db, schema::NEWEST),
        });
        asked.is_ok()
    }

    /// Puts one thread back. Answers with whether the file has it now.
    fn put_back(&self, key: &Key, occasion: Occasion) -> Result<bool> {
        let (Some(file), Some(away)) = (&self.file, self.away.get(key)) else {
            return Ok(false);
        };
        // What could not be read is still not to be read: the thread would only come back at once. At the end the
        // file gets what is new nevertheless.
        let is_readable =
            away.origin != Origin::Part || tables::read(&file.connection, key).is_whole;
        if !away.is_changed {
            return Ok(is_readable);
        }
        let copy = tables::read(&self.memory, key);
        if !copy.is_whole || !(is_readable || occasion == Occasion::End) {
            return Ok(false);
        }
        at_once(&file.connection, |db| match away.origin {
            Origin::New | Origin::Whole | Origin::Forgotten => {
                tables::replace(db, key, &copy, NUMBERS)
            }
            Origin::Part => tables::merge(db, key, &copy, self.options.transcript_bytes),
        })?;
        Ok(true)
    }

    /// Writes all back and lets go of the file.
    pub(super) fn close(mut self) {
        self.put_all_back(Occasion::End);
        let Some(file) = self.file.take() else { return };
        if !self.away.is_empty() {
            let (path, threads) = (file.path.display(), self.away.len());
            warn!(%path, threads, "the database took not all: what is new of these threads is lost");
        }
        // If it fails, the next start does it.
        let _ = open::checkpoint(&file.connection);
    }
}
