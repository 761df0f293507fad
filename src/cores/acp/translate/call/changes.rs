//! Where a call is, what it prints and what it changes. Agents tell of that also after its result.

use serde_json::{Value, json};

use super::{
    super::{
        bounds::{NOTICE, digest, fit},
        diff::{self, Diffs},
        terminal::Terminals,
    },
    teller::Teller,
};

/// What was told of that, so that it is not told again.
#[derive(Debug, Default)]
pub(super) struct Changes {
    locations: Option<u64>,
    terminals: Terminals,
    diffs: Diffs,
}

impl Changes {
    /// Tells what is new of it.
    pub(super) fn follow(&mut self, update: &Value, command: Option<&str>, tell: &mut Teller) {
        if let Some(locations) = locations(update, tell.workdir()) {
            let now = digest(&locations);
            let is_nowhere = self.locations.is_none() && locations == json!([]);
            if self.locations.replace(now) != Some(now) && !is_nowhere {
                let value = json!({"locations": locations});
                tell.notice("acp.locations", fit(value));
            }
        }
        let printed = self.terminals.follow(update, command, tell.workdir());
        tell.notices("acp.terminal", printed);
        for (path, content) in self.diffs.follow(update, tell.workdir()) {
            tell.diff(path, content);
        }
    }

    /// What was printed.
    pub(super) fn printed(&self) -> &str {
        self.terminals.printed()
    }

    /// The files that were changed, one a line.
    pub(super) fn edits(&self) -> String {
        let edits = self.diffs.edited().iter();
        let edits = edits.map(|path| format!("edited {path}"));
        edits.collect::<Vec<_>>().join("\n")
    }

    /// Lets go of everything but what later updates may repeat.
    pub(super) fn forget(&mut self) {
        self.terminals.forget();
        self.diffs.forget();
    }

    /// How much is kept, in bytes, besides what later updates may repeat.
    pub(super) fn size(&self) -> usize {
        let edited = self.diffs.edited().iter();
        self.printed().len() + edited.map(String::len).sum::<usize>()
    }
}

/// The places that an update names, as `[{path, line?}]`.
fn locations(update: &Value, workdir: &str) -> Option<Value> {
    let mut left = NOTICE / 2;
    let place = |place: &Value| {
        let path = diff::seen(place["path"].as_str()?, workdir);
        left = left.checked_sub(path.len() + 32)?;
        let mut seen = json!({"path": path});
        if place["line"].is_u64() {
            seen["line"] = place["line"].clone();
        }
        Some(seen)
    };
    Some(
        update["locations"]
            .as_array()?
            .iter()
            .filter_map(place)
            .collect(),
    )
}
