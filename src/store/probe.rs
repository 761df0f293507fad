//! Whether a store could be opened, found out without changing anything.

use std::{fs, io, path::Path};

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::{
    Error, Folder,
    header::{self, Header},
    lock::Lock,
    open::{check, explain},
};

/// What would become of opening a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// There is no file yet; it would be made.
    Absent,
    /// It is ours and whole.
    Fine,
    /// A daemon has it now.
    InUse,
    /// The daemon that had it last did not end in order; the next one puts that right.
    Left,
}

/// Looks whether a store can be opened in a file.
///
/// # Errors
/// It cannot.
pub fn probe(path: &Path, folder: Folder) -> Result<Probe, Error> {
    let at = |step, source| Error::File {
        path: path.into(),
        step,
        source,
    };
    let is_taken = Lock::is_taken(path).map_err(|error| at("its lock cannot be read", error))?;
    if is_taken {
        return Ok(Probe::InUse);
    }
    let place = place(path, folder);
    let is_absent = header::look(path)? == Header::Absent;
    if !is_absent && may(path, Access::WRITE_OK).is_err() {
        return Err(Error::ReadOnly { path: path.into() });
    }
    may(place, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| at("files cannot be made in its folder", error))?;
    if is_absent {
        return Ok(Probe::Absent);
    }
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if fs::metadata(log).is_ok_and(|log| log.len() > 0) {
        return Ok(Probe::Left);
    }
    // Read so, no log is looked for or made, and no lock is asked for.
    let uri = format!("file:{}?immutable=1", escaped(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection =
        Connection::open_with_flags(uri, flags).map_err(|error| explain(path, error))?;
    check(&connection, path)?;
    Ok(Probe::Fine)
}

/// Whether this process may do that.
fn may(path: &Path, what: Access) -> io::Result<()> {
    Ok(accessat(CWD, path, what, AtFlags::EACCESS)?)
}

/// The folder that files would be made in: the file's own, or if that would be made itself, the nearest one above
/// it that is there.
fn place(path: &Path, what: Folder) -> &Path {
    let mut folders = path.ancestors().skip(1).map(|folder| {
        if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        }
    });
    let is_absent = |folder: &&Path| {
        let looked = fs::metadata(folder);
        what == Folder::Made && looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    folders
        .find(|folder| !is_absent(folder))
        .unwrap_or(Path::new("/"))
}

/// A path as it may stand in a URI.
fn escaped(path: &Path) -> String {
    percent_encoding::percent_encode(path.as_os_str().as_encoded_bytes(), URI).to_string()
}

/// What is not a plain word in a path.
const URI: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_');
