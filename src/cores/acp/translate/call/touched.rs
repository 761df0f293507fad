//! The files that a call has to do with. That it has touched them is told once it has succeeded.

use serde_json::Value;

use super::super::{
    bounds::NAME,
    diff::{diffs, is_new, seen},
};
use crate::{
    cores::acp::vendors,
    deps::{File, FileAction},
};

/// How many files are kept of a call.
const MOST: usize = 256;

/// The files that one call names.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Where it was last said to be.
    places: Vec<String>,
    /// Those that it has shown changes of, and whether each has nothing but what is new.
    changed: Vec<(String, bool)>,
}

impl Touched {
    /// Takes over what an update names.
    pub(super) fn follow(&mut self, update: &Value, workdir: &str) {
        let places = update["locations"].as_array().into_iter().flatten();
        let places = places.filter_map(|place| place["path"].as_str());
        // A folder that everything is in says nothing.
        let places = places.filter(|path| path.trim_end_matches('/') != workdir);
        let places: Vec<_> = places.take(MOST).map(|path| seen(path, workdir)).collect();
        if !places.is_empty() {
            self.places = places;
        }
        for item in diffs(update) {
            let path = item["path"].as_str().unwrap_or_default();
            self.note(seen(path, workdir), is_new(item));
        }
        if let Some((path, _)) = vendors::patch(update) {
            self.note(seen(path, workdir), false);
        }
    }

    fn note(&mut self, path: String, is_new: bool) {
        let known = self.changed.iter().position(|(known, _)| *known == path);
        match known {
            Some(at) => self.changed[at].1 &= is_new,
            None if self.changed.len() < MOST => self.changed.push((path, is_new)),
            None => {}
        }
    }

    /// What a call of this kind has done, to which files. Kinds that say nothing of that count by their changes alone.
    pub(super) fn files(&self, kind: &str) -> Vec<File> {
        let changed = self.changed.iter().map(|(path, is_new)| {
            let action = if *is_new {
                FileAction::Write
            } else {
                FileAction::Edit
            };
            File::new(path, action)
        });
        let action = match kind {
            "read" => Some(FileAction::Read),
            "edit" | "delete" | "move" => Some(FileAction::Edit),
            _ => None,
        };
        let is_changed = |path: &&String| self.changed.iter().any(|(known, _)| known == *path);
        let places = self.places.iter().filter(|path| !is_changed(path));
        let places = places.filter_map(|path| Some(File::new(path, action?)));
        changed.chain(places).collect()
    }

    /// How much is kept, in bytes.
    pub(super) fn size(&self) -> usize {
        let changed = self.changed.iter().map(|(path, _)| path);
        let paths = self.places.iter().chain(changed);
        paths.map(|path| path.len().min(NAME)).sum()
    }
}
