//! What the tools for files say: those of Pando, by the names that models call them, and Claude's, which take the path
//! under the same one.

use serde_json::Value;

use super::{given, path_in};
use crate::deps::{File, FileAction};

/// How many files of one patch are read.
const MOST: usize = 1000;

/// What stands before a path in a patch.
const HEADERS: [&str; 4] = [
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// A call that touches files.
pub(super) enum Call {
    /// One file, by its path.
    One(String, FileAction),
    /// All those that a patch names.
    Patch(Vec<String>),
}

/// What a call touches, if it is one that touches files.
pub(super) fn called(tool: &str, input: &Value) -> Option<Call> {
    let action = action(&tool.to_ascii_lowercase())?;
    let input = given::object(input)?;
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| given::text(&input, name));
    if action == FileAction::Patch {
        let patch = text(["patch_text", "patchText"]).unwrap_or_default();
        return Some(Call::Patch(named_in(patch)));
    }
    let path = text(["file_path", "filePath"])?;
    Some(Call::One(path.to_owned(), action))
}

/// What a tool does, by its name or by one of those that other models know it under.
fn action(tool: &str) -> Option<FileAction> {
    match tool {
        "view" | "read" | "image_crop" => Some(FileAction::Read),
        "write" | "create_file" | "write_file" | "overwrite_file" => Some(FileAction::Write),
        "edit"
        | "multiedit"
        | "str_replace_editor"
        | "str_replace_based_edit"
        | "insert_edit_into_file"
        | "apply_edit" => Some(FileAction::Edit),
        "patch" | "apply_patch" => Some(FileAction::Patch),
        _ => None,
    }
}

/// The paths in the headers of a patch.
fn named_in(patch: &str) -> Vec<String> {
    let after_header = |line| {
        let mut headers = HEADERS.into_iter();
        headers.find_map(|header| str::strip_prefix(line, header))
    };
    let paths = patch.lines().filter_map(after_header).map(str::trim);
    let named = paths.filter(|path| !path.is_empty()).take(MOST);
    named.map(str::to_owned).collect()
}

impl Call {
    /// The files that it has touched, as they are told apart. Which ones a patch has changed, the tool knows better than the
    /// patch.
    pub(super) fn answered(self, workdir: &str, metadata: &Value) -> Vec<File> {
        let file = |path: &str, action| File::new(&path_in(workdir, path), action);
        let patched = |path: &str| file(path, FileAction::Patch);
        match self {
            Self::One(path, action) => vec![file(&path, action)],
            Self::Patch(named) => {
                let metadata = given::object(metadata).unwrap_or_default();
                let changed = given::texts(&metadata, "files_changed").take(MOST);
                let changed: Vec<_> = changed.map(patched).collect();
                if changed.is_empty() {
                    named.iter().map(|path| patched(path)).collect()
                } else {
                    changed
                }
            }
        }
    }

    /// How much memory it takes, in bytes, nearly.
    pub(super) fn size(&self) -> usize {
        let paths = match self {
            Self::One(path, _) => std::slice::from_ref(path),
            Self::Patch(named) => named,
        };
        size_of::<Self>() + given::size(paths)
    }
}
