//! What a database file says of itself in its first bytes, read without opening it as one: so what is refused is not
//! touched (<https://www.sqlite.org/fileformat.html>, section 1.3).

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use super::{
    Error,
    schema::{APPLICATION_ID, NEWEST},
};

/// A file that may become a database of this program, or is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// There is no file.
    Absent,
    /// It is a database whose tables have to tell whose it is, or has none yet.
    Bare,
    /// It is ours, and of a shape that is known.
    Ours,
}

/// Looks at a file.
///
/// # Errors
/// It cannot be read, is no database, somebody else's, or newer than this program.
pub(super) fn look(path: &Path) -> Result<Header, Error> {
    let at = |step, source| Error::File {
        path: path.into(),
        step,
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Header::Absent),
        Err(error) => return Err(at("it cannot be opened", error)),
    };
    let mut bytes = Vec::new();
    file.take(100)
        .read_to_end(&mut bytes)
        .map_err(|error| at("it cannot be read", error))?;
    if bytes.is_empty() {
        return Ok(Header::Bare);
    }
    if bytes.len() < 100 || !bytes.starts_with(b"SQLite format 3\0") {
        return Err(Error::Broken {
            path: path.into(),
            why: "it is no database".into(),
        });
    }
    let number = |at: usize| {
        let four = bytes[at..at + 4].try_into();
        u32::from_be_bytes(four.expect("four bytes are four bytes"))
    };
    judge(number(68), number(60), path)
}

/// Judges a database by its application's id and the number of its shape.
pub(super) fn judge(application: u32, version: u32, path: &Path) -> Result<Header, Error> {
    let path = path.to_owned();
    match (application, version) {
        (APPLICATION_ID, 0..=NEWEST) => Ok(Header::Ours),
        (APPLICATION_ID, found) => Err(Error::Newer { path, found }),
        (0, 0) => Ok(Header::Bare),
        _ => Err(Error::Foreign { path }),
    }
}
