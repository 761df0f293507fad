//! What people are asked about a call: what a request for permission says of it, in bounds.

use std::{collections::HashSet, path::PathBuf};

use serde_json::{Value, json};

use super::{
    bounds::{NAME, clip, fit, size},
    diff::diffs,
};
use crate::{
    cores::acp::vendors,
    deps::{PermissionRequest, TOOL_KINDS},
    protocol::JsonObject,
};

/// The kind of a call that nothing is known of.
pub(super) const OTHER: &str = "other";

/// How many files one request can be about. Of more nobody would see what they allow.
pub(super) const PATHS: usize = 4096;

/// The longest path, in bytes (`PATH_MAX` of Linux): there is no file of a longer one.
const PATH: usize = 4096;

/// The longest changes that are shown with one request, in bytes of JSON.
const DIFFS: usize = 256 * 1024;

/// What people are asked as far as the request itself says so; what answers it takes is left open. Nothing that
/// vendors add for themselves goes on.
pub(super) fn request(said: &Value) -> PermissionRequest {
    let input = &said["rawInput"];
    let kind = said["kind"].as_str();
    let tool = vendors::tool_name(said).or(kind).unwrap_or("tool");
    PermissionRequest {
        call: None,
        tool: clip(tool, NAME).to_owned(),
        action: kind.map_or(OTHER, action).to_owned(),
        title: clip(said["title"].as_str().unwrap_or_default(), NAME).to_owned(),
        paths: paths(said),
        params: (!vendors::is_placeholder(input)).then(|| fit(input.clone())),
        options: Vec::new(),
        details: details(said),
    }
}

/// The kind of a call as ACP has it.
pub(super) fn action(kind: &str) -> &str {
    if TOOL_KINDS.contains(&kind) {
        kind
    } else {
        OTHER
    }
}

/// The files that something said of a call names: where it is, and what it changes. Of more than [`PATHS`] one more.
pub(super) fn paths(said: &Value) -> Vec<PathBuf> {
    let places = said["locations"].as_array().into_iter().flatten();
    let named = places
        .chain(diffs(said))
        .filter_map(|item| item["path"].as_str());
    let mut seen = HashSet::new();
    let named = named.filter(|path| !path.is_empty() && seen.insert(*path));
    let named = named.map(|path| clip(path, PATH).into());
    named.take(PATHS + 1).collect()
}

/// `{diffs: [{path, oldText?, newText}]}`, with `truncated: true` if not all of it fits.
fn details(said: &Value) -> JsonObject {
    let mut details = JsonObject::new();
    let mut left = DIFFS;
    let mut shown = Vec::new();
    for item in diffs(said) {
        let mut diff = json!({"path": item["path"]});
        for text in ["oldText", "newText"] {
            if item[text].is_string() {
                diff[text] = item[text].clone();
            }
        }
        let Some(rest) = left.checked_sub(size(&diff)) else {
            details.insert("truncated".into(), true.into());
            break;
        };
        left = rest;
        shown.push(diff);
    }
    if !shown.is_empty() || !details.is_empty() {
        details.insert("diffs".into(), shown.into());
    }
    details
}
