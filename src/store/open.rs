//! The way to an open database file: nothing in it is changed before it is known to be ours and whole.

use std::{
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use tracing::{info, warn};

use super::{
    Error, Folder,
    header::{self, Header},
    lock::Lock,
    schema,
};

/// Up to this size a file is checked wholly when it is opened, in bytes: some tenths of a second. Of a larger one
/// each table is tried; what is broken deeper inside is met at run time.
pub(super) const CHECKED_WHOLLY: u64 = 64 * 1024 * 1024;

/// How large the log of changes stays once it is written back, in bytes.
const LOG_BYTES: u32 = 16 * 1024 * 1024;

/// An open database file, which nobody else has.
#[derive(Debug)]
pub(super) struct File {
    // Closed first: whoever gets the lock next finds all written.
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    _lock: Lock,
}

impl File {
    /// Opens a file, and makes it if there is none. Blocks while another daemon has it, for so long.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(super) fn open(path: &Path, folder: Folder, wait: Duration) -> Result<Self, Error> {
        if folder == Folder::Made {
            make_folder(path)?;
        }
        let path = &resolved(path)?;
        // Refused before anything is made beside it; and once more, since the daemon that was waited for may have
        // changed it.
        header::look(path)?;
        let lock = Lock::take(path, wait)?;
        if header::look(path)? == Header::Absent {
            make_file(path)?;
        }
        let mut connection = connect(path, wait)?;
        let why = |error| explain(path, error);
        prepare(&mut connection).map_err(why)?;
        // Only we have it from here on; nothing is waited for in the store's thread.
        connection.busy_timeout(Duration::ZERO).map_err(why)?;
        close_to_others(path);
        Ok(Self {
            connection,
            path: path.clone(),
            _lock: lock,
        })
    }
}

/// The file that a path leads to, so that one that is known by two names is locked once.
fn resolved(path: &Path) -> Result<PathBuf, Error> {
    let at = |source| Error::File {
        path: path.into(),
        step: "its folder cannot be looked at",
        source,
    };
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            let folder = fs::canonicalize(folder).map_err(at)?;
            Ok(folder.join(path.file_name().unwrap_or_default()))
        }
        Err(error) => Err(at(error)),
    }
}

fn make_folder(path: &Path) -> Result<(), Error> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| Error::File {
            path: path.into(),
            step: "its folder cannot be made",
            source,
        })
}

/// Makes an empty file for this user alone. What `SQLite` puts beside it gets the same mode.
fn make_file(path: &Path) -> Result<(), Error> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(|source| Error::File {
            path: path.into(),
            step: "it cannot be made",
            source,
        })
}

/// Whether others than its owner can read a database file, or write to it. Opening a store takes that from them, if
/// this user can.
pub fn is_exposed(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & OTHERS != 0)
}

/// Takes from others what they could do with the file and the log of its changes.
fn close_to_others(path: &Path) {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    for path in [path, Path::new(&log)] {
        if !is_exposed(path) {
            continue;
        }
        let mode = fs::metadata(path).map(|file| file.permissions().mode() & !OTHERS);
        let done = mode.and_then(|mode| fs::set_permissions(path, Permissions::from_mode(mode)));
        let path = path.display();
        match done {
            Ok(()) => {
                info!(%path, "others could read the database: from now on this user alone can");
            }
            Err(error) => warn!(%path, %error, "others can read the database; run chmod 600 on it"),
        }
    }
}

/// The permission bits of others than the owner.
const OTHERS: u32 = 0o077;

/// Opens the file and looks at it, without changing what is in it.
fn connect(path: &Path, wait: Duration) -> Result<Connection, Error> {
    let why = |error| explain(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(why)?;
    if connection.is_readonly("main").map_err(why)? {
        return Err(Error::ReadOnly { path: path.into() });
    }
    connection.busy_timeout(wait).map_err(why)?;
    // If it is refused, what a dead daemon left in the log stays there.
    let stays = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    connection.set_db_config(stays, true).map_err(why)?;
    // Nobody else may open it meanwhile; so there is no index of the log in shared memory either, which would take
    // the process with it when its disk is full.
    let exclusive = "PRAGMA locking_mode = exclusive";
    connection.execute_batch(exclusive).map_err(why)?;
    check(&connection, path)?;
    connection.set_db_config(stays, false).map_err(why)?;
    Ok(connection)
}

/// Whether it is ours, and can be read.
pub(super) fn check(db: &Connection, path: &Path) -> Result<(), Error> {
    let why = |error| explain(path, error);
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    let application = number("application_id").map_err(why)?;
    let version = number("user_version").map_err(why)?;
    let tables = schema::tables(db).map_err(why)?;
    if header::judge(application, version, path)? == Header::Bare {
        return if tables.is_empty() {
            Ok(())
        } else {
            Err(Error::Foreign { path: path.into() })
        };
    }
    if fs::metadata(path).is_ok_and(|file| file.len() <= CHECKED_WHOLLY) {
        let found: String = db
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(why)?;
        return if found == "ok" {
            Ok(())
        } else {
            Err(Error::Broken {
                path: path.into(),
                why: format!(
                    "it is broken ({})",
                    found.lines().last().unwrap_or_default()
                ),
            })
        };
    }
    // A name that is none of ours could be anything, and is in nobody's way.
    let is_ours = |name: &&String| {
        let mut letters = name.bytes();
        name.starts_with("agui_") && letters.all(|b| b == b'_' || b.is_ascii_alphanumeric())
    };
    for table in tables.iter().filter(is_ours) {
        db.query_row(
            &format!("SELECT count(*) FROM (SELECT 1 FROM \"{table}\" LIMIT 1)"),
            [],
            |_| Ok(()),
        )
        .map_err(why)?;
    }
    Ok(())
}

/// Brings an accepted database into the mode and the shape that it is used in.
fn prepare(db: &mut Connection) -> rusqlite::Result<()> {
    // Of use only before there is any table.
    db.execute_batch("PRAGMA auto_vacuum = incremental")?;
    db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    db.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))?;
    settle(db)?;
    schema::migrate(db)?;
    // The header tells of the shape that it has now also to whoever does not read the log.
    checkpoint(db)
}

/// What holds for every connection, be it to a file or to memory.
pub(super) fn settle(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "synchronous", "normal")?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Writes the log of changes back into the file.
pub(super) fn checkpoint(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(truncate)", [], |_| Ok(()))
}

/// What a failure of the database means.
pub(super) fn explain(path: &Path, error: rusqlite::Error) -> Error {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Locked { path },
        Some(ErrorCode::DatabaseCorrupt) => Error::Broken {
            path,
            why: "it is broken".into(),
        },
        Some(ErrorCode::NotADatabase) => Error::Broken {
            path,
            why: "it is no database".into(),
        },
        Some(ErrorCode::ReadOnly) => Error::ReadOnly { path },
        _ => Error::Database {
            path,
            source: error,
        },
    }
}
