//! TOON, by the `toon-format` crate.
//!
//! It is read strictly: where fewer rows stand than were announced, the text was cut, and a cut text tells nothing.
//! The crate refuses what is nested more than 256 deep. That takes more than a megabyte of stack in a debug build, so less
//! is let in. What it does not bound is how much more than its text an object is: a table names its fields once and its
//! object does in every row. So headers are weighed before it reads them.

use serde_json::Value;

use super::decode::DEEPEST;
use crate::protocol::JsonObject;

/// How many spaces a level is indented by.
const INDENT: usize = 2;

/// How much may come of headers: the bytes of names in the object, and those that are looked at to find the ends of
/// groups.
const MOST: usize = 16 * 1024 * 1024;

/// How deep the crate follows groups into one another.
const GROUPS: usize = 257;

/// The text as an object, if it is TOON.
pub(super) fn decode(text: &str) -> Option<JsonObject> {
    if !is_shallow(text) || !is_modest(text) {
        return None;
    }
    match toon_format::decode_strict(text) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Whether no line is indented deeper than an object may be nested. No text spans lines.
fn is_shallow(text: &str) -> bool {
    let is_space = |byte: &u8| *byte == b' ';
    let mut indents = text
        .lines()
        .map(|line| line.bytes().take_while(is_space).count());
    indents.all(|indent| indent <= INDENT * DEEPEST)
}

/// Whether little enough comes of the headers in a text, or of what might be one.
fn is_modest(text: &str) -> bool {
    // Between the count and the fields of a header stands nothing.
    let headers = || text.lines().filter(|line| line.contains("]{"));
    let longest = headers().map(str::len).max().unwrap_or(0);
    let names = longest.saturating_mul(text.lines().count());
    let groups = headers().map(|line| line.len() * line.matches('{').count().min(GROUPS));
    names <= MOST && groups.sum::<usize>() <= MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_would_be_the_square_of_its_text_is_not_read() {
        let table = |name: usize, rows: usize| {
            let (name, lines) = ("x".repeat(name), "  0\n".repeat(rows));
            format!("a[{rows}]{{{name}}}:\n{lines}")
        };
        assert_eq!(
            decode(&table(100, 10_000)).unwrap()["a"][9_999]["x".repeat(100)],
            0
        );
        assert!(decode(&table(100_000, 1)).is_some());
        assert!(decode(&table(100_000, 10_000)).is_none());
    }

    #[test]
    fn groups_are_followed_as_far_as_that_is_cheap() {
        let groups = |depth: usize, name: usize| {
            let (open, name, close) = ("{a".repeat(depth), "x".repeat(name), "}".repeat(depth));
            format!("a[1]{open}{name}{close}:\n  1")
        };
        assert!(decode(&groups(20, 100)).is_some());
        assert!(decode(&groups(200, 200_000)).is_none());
    }

    #[test]
    fn what_looks_like_a_header_in_a_text_harms_nobody() {
        let code = "let a = [1]{ 2 }; ".repeat(500);
        let object = decode(&format!("note: \"{code}\"")).unwrap();
        assert_eq!(object["note"], code);
    }
}
