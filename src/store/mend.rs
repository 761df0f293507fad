//! The way back from memory into the file, and the end.

use rusqlite::{ErrorCode, Result};
use tokio::time::Instant;
use tracing::{info, warn};

use super::{
    Key, open, tables,
    tiers::{NUMBERS, Origin, Tiers, at_once, calmly},
};

impl Tiers {
    /// Puts back what is in memory although there is a file, if it is time to try.
    pub(super) fn mend(&mut self) {
        let now = Instant::now();
        if self.trouble.is_some_and(|trouble| now >= trouble.next) {
            self.put_all_back(false);
        }
    }

    fn put_all_back(&mut self, is_end: bool) {
        let keys: Vec<Key> = self.away.keys().cloned().collect();
        for key in keys {
            match self.put_back(&key, is_end) {
                Ok(true) => {
                    calmly(at_once(&self.memory, |db| tables::forget(db, &key)));
                    self.away.remove(&key);
                }
                Ok(false) => {}
                // Other threads may be on pages that are whole.
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {}
                Err(_) => break,
            }
        }
        let next = Instant::now() + self.retry;
        match &mut self.trouble {
            Some(_) if self.away.is_empty() => {
                self.trouble = None;
                info!("the database works again, and has all that was kept in memory");
            }
            Some(trouble) => trouble.next = next,
            None => {}
        }
    }

    /// Puts one thread back. Answers with whether the file has it now.
    fn put_back(&self, key: &Key, is_end: bool) -> Result<bool> {
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
        if !copy.is_whole || !(is_readable || is_end) {
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
        self.put_all_back(true);
        let Some(file) = self.file.take() else { return };
        if !self.away.is_empty() {
            let (path, threads) = (file.path.display(), self.away.len());
            warn!(%path, threads, "the database took not all: what is new of these threads is lost");
        }
        // If it fails, the next start does it.
        let _ = open::checkpoint(&file.connection);
    }
}
