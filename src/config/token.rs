//! The bearer token: where it comes from, and the one that is made when none is configured.
//!
//! A token is read from a file, a systemd credential or the environment, never from the command
//! line, where every process of the machine could read it. A generated token is two random UUIDs:
//! 244 bits of the operating system's randomness through a crate that is here anyway.

use std::{
    fmt, fs,
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use super::environ::{Environ, TOKEN_VARIABLE};
use crate::http::{BadSecret, BadTokens, Secret};

/// How much of a file is read, in bytes: more than the longest token.
const LONGEST: u64 = 8192;

/// Where the token is kept within the state directory.
const FILE: &str = "token";

/// The systemd credential that holds the token.
const CREDENTIAL: &str = "agui-token";

/// Where the token comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A variable of the environment.
    Environment,
    /// A file that the configuration names.
    File(PathBuf),
    /// A credential that the service manager handed over.
    Credential(PathBuf),
    /// The file in the state directory, made when it is not there.
    Generated(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => write!(f, "environment variable {TOKEN_VARIABLE}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Credential(path) => write!(f, "credential {}", path.display()),
            Self::Generated(path) => write!(f, "{}, made by this program", path.display()),
        }
    }
}

impl Source {
    /// Whether somebody chose the token, rather than this program.
    pub fn is_configured(&self) -> bool {
        !matches!(self, Self::Generated(_))
    }

    /// The file that holds the token.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Environment => None,
            Self::File(path) | Self::Credential(path) | Self::Generated(path) => Some(path),
        }
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("use the token file {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others than the daemon's user can read the file.
    #[error(
        "trust the token file {path}: its mode is {mode:04o}, others can read it; run chmod 600 on it"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// There is a source, and it holds no token.
    #[error("take the token from {place}: {why}")]
    Unusable {
        /// Where.
        place: String,
        /// What is wrong with what is there.
        why: BadSecret,
    },
    /// It is a named one as well, so that nobody could say who calls.
    #[error("take the token from {place}: {why}")]
    Shared {
        /// Where.
        place: String,
        /// Whose it is.
        why: BadTokens,
    },
    /// There is nowhere to keep a generated token.
    #[error(
        "find a state directory for the token: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set; set `state_dir` or `token_file`"
    )]
    NoStateDir,
}

/// A token, as it was found.
#[derive(Debug)]
pub struct Found {
    /// The token itself.
    pub token: Secret,
    /// Where it is.
    pub source: Source,
    /// Whether it was made just now.
    pub is_new: bool,
}

/// Says where the token will come from that somebody chose, if anybody did, without reading it. `file` is what
/// the configuration names, `flagged` whether the command line did: that beats the environment, a file in a file
/// does not.
pub(super) fn configured(file: Option<&Path>, flagged: bool, environ: &Environ) -> Option<Source> {
    match file {
        Some(file) if flagged => return Some(Source::File(file.into())),
        _ if environ.get(TOKEN_VARIABLE).is_some() => return Some(Source::Environment),
        Some(file) => return Some(Source::File(file.into())),
        None => {}
    }
    let directory = environ.filled("CREDENTIALS_DIRECTORY")?;
    let credential = Path::new(directory).join(CREDENTIAL);
    credential
        .exists()
        .then_some(Source::Credential(credential))
}

/// Says where the token is kept that is made where nobody chose one.
pub(super) fn generated(state_dir: Option<&Path>, environ: &Environ) -> Result<Source, Error> {
    let directory = super::state_dir(state_dir, environ).ok_or(Error::NoStateDir)?;
    Ok(Source::Generated(directory.join(FILE)))
}

/// Reads the token, or makes one where none is configured.
///
/// # Errors
/// The source cannot be read, is readable by others, or holds no token; a new token cannot be kept.
pub fn obtain(source: &Source, environ: &Environ) -> Result<Found, Error> {
    let found = |token, is_new| Found {
        token,
        source: source.clone(),
        is_new,
    };
    match source {
        Source::Environment => {
            let text = environ.get(TOKEN_VARIABLE).unwrap_or_default();
            Ok(found(checked(text, source)?, false))
        }
        Source::File(path) => Ok(found(checked(&read_private(path)?, source)?, false)),
        // The service manager sees to who can read a credential.
        Source::Credential(path) => {
            let file = fs::File::open(path).map_err(at(path))?;
            Ok(found(checked(&read(file, path)?, source)?, false))
        }
        Source::Generated(path) => {
            let is_new = !path.exists() && keep(path, &generate())?;
            Ok(found(checked(&read_private(path)?, source)?, is_new))
        }
    }
}

/// A new token.
#[expect(
    clippy::disallowed_methods,
    reason = "a token is no id: no test may know it beforehand"
)]
pub(super) fn generate() -> Secret {
    let half = || uuid::Uuid::new_v4().simple();
    Secret::new(format!("{}{}", half(), half())).expect("hexadecimal digits fit")
}

/// Keeps a new token. The file appears with its whole content or not at all; if another daemon was
/// first, its file stays and the answer is `false`.
fn keep(path: &Path, token: &Secret) -> Result<bool, Error> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(at(directory))?;
    // A temporary file is made for this user alone, whatever the umask says.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(at(directory))?;
    file.write_all(token.expose().as_bytes())
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.as_file().sync_all())
        .map_err(at(path))?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(failed) => Err(at(path)(failed.error)),
    }
}

fn read_private(path: &Path) -> Result<String, Error> {
    let file = fs::File::open(path).map_err(at(path))?;
    let mode = file.metadata().map_err(at(path))?.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(Error::Exposed {
            path: path.into(),
            mode,
        });
    }
    read(file, path)
}

fn read(file: fs::File, path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    file.take(LONGEST)
        .read_to_string(&mut text)
        .map_err(at(path))?;
    Ok(text)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    |source| Error::File { path, source }
}

/// Takes over what a source holds; the end of its line is not part of it.
fn checked(text: &str, source: &Source) -> Result<Secret, Error> {
    Secret::new(text.trim_end_matches(['\r', '\n'])).map_err(|why| Error::Unusable {
        place: source.to_string(),
        why,
    })
}
