//! The files that an agent has touched.

use std::collections::HashSet;

use serde::Serialize;

use super::document::clip;
use crate::protocol::{Operation, Patch, Pointer};

/// How many files are shown. Of more, the one that was first touched longest ago goes.
const MOST: usize = 1_000;

/// A file that an agent has touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    path: String,
    name: String,
    action: FileAction,
}

/// What was done to a file last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileAction {
    /// It was read.
    Read,
    /// It was written whole.
    Write,
    /// A part of it was changed, or it was moved or deleted.
    Edit,
    /// It was changed by a patch that may span files.
    Patch,
}

impl File {
    /// A file by its path, which is how it is told from others: normalised, as far as it can be, by whoever
    /// tells of it. A path too long to be shown is cut.
    pub fn new(path: &str, action: FileAction) -> Self {
        let path = clip(path);
        let name = path.trim_end_matches('/').rsplit('/').next();
        Self {
            path: path.into(),
            name: name.unwrap_or_default().into(),
            action,
        }
    }

    /// Its path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was done to it last.
    pub fn action(&self) -> FileAction {
        self.action
    }
}

/// What was done last to each file.
pub(super) fn last(mut touched: Vec<File>) -> Vec<File> {
    let mut known = HashSet::new();
    touched.reverse();
    touched.retain(|file| known.insert(file.path.clone()));
    touched.reverse();
    touched
}

/// The files with one more touched, and the operations that bring that about.
pub(super) fn touch(files: &mut Vec<File>, touched: File, patch: &mut Patch) {
    let root = Pointer::root().child("files");
    let value = serde_json::json!(touched);
    match files.iter().position(|file| file.path == touched.path) {
        Some(at) if files[at] == touched => {}
        Some(at) => {
            let path = root.index(at);
            patch.push(Operation::Replace { path, value });
            files[at] = touched;
        }
        None => {
            if files.len() >= MOST {
                let path = root.index(0);
                patch.push(Operation::Remove { path });
                files.remove(0);
            }
            let path = root.child("-");
            patch.push(Operation::Add { path, value });
            files.push(touched);
        }
    }
}
