//! Why a store cannot be opened.

use std::{io, path::PathBuf, time::Duration};

use super::schema::NEWEST;

/// Why a store cannot be opened. Nothing of what is in the file was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another daemon has it.
    #[error(
        "use the database {path}: another agui-serve has it, also after {waited:?}; stop that one, or give this one a `database` of its own"
    )]
    InUse {
        /// The file.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Another program has it open.
    #[error("use the database {path}: another program has it open; close it there")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A later version of this program wrote it.
    #[error(
        "use the database {path}: its shape is number {found}, and this program knows no later one than {NEWEST}; start the newer agui-serve that wrote it, or name another file as `database`"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The number of its shape.
        found: u32,
    },
    /// It belongs to another program.
    #[error(
        "use the database {path}: it belongs to another program; name another file as `database`"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It is broken, or none.
    #[error(
        "use the database {path}: {why}; put a copy of it back, or move it away and start without the old threads"
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It can be read only.
    #[error("write to the database {path}: it is read-only; let this user write to it")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The folder does not let files be made in it, or the file not be opened.
    #[error("use the database {path}: {step}")]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// Why it does not work.
        source: io::Error,
    },
    /// The database does not work for another reason.
    #[error("use the database {path}")]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}
