//! One object out of a tool's text.

use serde_json::Value;

use super::{toml, toon};
use crate::protocol::JsonObject;

/// The longest JSON that is read, in bytes. It costs its reader fifty times that, at worst.
const LONGEST: usize = 1024 * 1024;

/// The longest TOON or TOML that is read, in bytes. Each byte costs their readers several hundred, at worst, and agents
/// that write them keep what is longer than 15,000 bytes to themselves.
const LONGEST_FOR_MODELS: usize = 256 * 1024;

/// How deep an object may be nested. JSON stops at 127, for most who read it: this leaves room to put the object into
/// another one.
pub(super) const DEEPEST: usize = 100;

/// How a text begins that stands for one too long for a model (Pando).
const PREVIEW: &str = "[Response cached: ";

/// The kinds of JSON that tell an answer from something that happens to look like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// Text.
    Text,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl Kind {
    fn is_of(self, value: &Value) -> bool {
        match self {
            Self::Bool => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// The object that a tool's text writes in JSON, TOON or TOML, whichever of them it is. `None` for prose, for a preview
/// of a longer text and for what is too long or too deep.
///
/// At least one member must be `expected`, by its name and kind: almost any prose is TOON to a lenient reader, `Error:
/// no such file` for one. Whole numbers are as they were spelled, for [`integer`](super::integer()).
pub fn decode_tool_result(text: &str, expected: &[(&str, Kind)]) -> Option<JsonObject> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST || text.starts_with(PREVIEW) {
        return None;
    }
    let is_expected = |object: &JsonObject| {
        let mut found = expected
            .iter()
            .filter_map(|(name, kind)| Some((object.get(*name)?, kind)));
        found.any(|(value, kind)| kind.is_of(value)) && is_within(object, DEEPEST)
    };
    // What is JSON is neither of the others, whatever they make of it.
    if let Ok(json) = serde_json::from_str(text) {
        return match json {
            Value::Object(object) => Some(object).filter(is_expected),
            _ => None,
        };
    }
    if text.len() > LONGEST_FOR_MODELS {
        return None;
    }
    let toon = || toon::decode(text).filter(is_expected);
    let toml = || toml::decode(text).filter(is_expected);
    toon().or_else(toml)
}

/// Whether an object is nested so deep at most, itself included.
fn is_within(object: &JsonObject, depth: usize) -> bool {
    fn fits(value: &Value, depth: usize) -> bool {
        match value {
            Value::Object(object) => is_within(object, depth),
            Value::Array(items) => depth > 0 && items.iter().all(|item| fits(item, depth - 1)),
            _ => true,
        }
    }
    depth > 0 && object.values().all(|value| fits(value, depth - 1))
}

#[cfg(test)]
mod tests;
