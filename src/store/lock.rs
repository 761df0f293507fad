//! One daemon at a time: a lock on a file beside the database.
//!
//! The system takes it back when the process dies, however it dies. It is taken on a file of its own because `SQLite`
//! has locks on the database that would go with any other handle of that file, and because a daemon that waits its
//! turn must not have opened the database yet. Children do not inherit it: the standard library opens files so.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use tracing::info;

use super::Error;

/// How often it is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// Held for as long as the database is open.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a database, and waits for it for so long. Blocks.
    ///
    /// # Errors
    /// Another daemon has it to the end, or the file cannot be made.
    pub(super) fn take(database: &Path, wait: Duration) -> Result<Self, Error> {
        let at = |source| Error::File {
            path: database.into(),
            step: "its lock cannot be taken",
            source,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(beside(database))
            .map_err(at)?;
        let mut left = wait;
        let mut is_first = true;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => return Err(at(error)),
                Err(TryLockError::WouldBlock) if left.is_zero() => {
                    return Err(Error::InUse {
                        path: database.into(),
                        waited: wait,
                    });
                }
                Err(TryLockError::WouldBlock) => {
                    if std::mem::take(&mut is_first) {
                        let database = database.display();
                        info!(%database, ?wait, "waiting for another daemon to let go of the database");
                    }
                    let pause = left.min(PAUSE);
                    thread::sleep(pause);
                    left -= pause;
                }
            }
        }
    }

    /// Whether a daemon has the database now. Makes nothing.
    pub(super) fn is_taken(database: &Path) -> io::Result<bool> {
        let file = match File::open(beside(database)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn beside(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}
