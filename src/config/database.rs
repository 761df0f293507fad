//! Where threads are kept.

use std::path::{Path, PathBuf};

use super::{
    Environ, Error,
    load::{Inputs, Loaded},
};
use crate::store::{self, Folder, Location};

/// The database within the state directory.
const FILE: &str = "threads.db";

/// The settings of the store.
pub(super) fn options(loaded: &Loaded, inputs: &Inputs) -> Result<store::Options, Error> {
    let raw = &loaded.raw;
    let at = match &raw.database {
        Some(path) if path.as_os_str().is_empty() => Location::Memory,
        Some(path) => Location::file(path),
        None => {
            let folder = state_dir(raw.state_dir.as_deref(), &inputs.environ);
            let folder = folder.ok_or_else(|| loaded.refuse(&["database"], NOWHERE))?;
            Location::File {
                path: folder.join(FILE),
                folder: Folder::Made,
            }
        }
    };
    Ok(store::Options {
        at,
        wait: raw.store_wait.0,
        max_threads: raw.limits.max_threads,
        max_age: raw.limits.thread_ttl.0,
        transcript_bytes: raw.limits.transcript_bytes.0,
    })
}

const NOWHERE: &str = "there is no state directory for it: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set; \
                       set `state_dir`, or `database`, which as \"\" keeps threads in memory";

/// Where state is kept: where the configuration says, else what the service manager made, else what the XDG
/// rules say.
pub(super) fn state_dir(configured: Option<&Path>, environ: &Environ) -> Option<PathBuf> {
    if let Some(directory) = configured {
        return Some(directory.to_owned());
    }
    if let Some(directories) = environ.filled("STATE_DIRECTORY") {
        return directories.split(':').next().map(PathBuf::from);
    }
    let absolute = |name| {
        let path = PathBuf::from(environ.filled(name)?);
        path.is_absolute().then_some(path)
    };
    let base =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(base.join("agui-serve"))
}
