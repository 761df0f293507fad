//! JSON Patch (RFC 6902) as data. `value` is always present where the operation has one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON Pointer (RFC 6901) in wire form.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer(String);

/// A text that is no JSON Pointer. The stock client fails the run on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be empty or start with a slash, with `~` only in `~0` and `~1`")]
pub struct PointerError;

/// The operations of one delta, applied all or none.
pub type Patch = Vec<Operation>;

/// One operation of a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Operation {
    /// Adds a member, or inserts an element.
    Add {
        /// Where.
        path: Pointer,
        /// What, `null` included.
        value: Value,
    },
    /// Replaces what is there.
    Replace {
        /// Where.
        path: Pointer,
        /// What, `null` included.
        value: Value,
    },
    /// Fails the patch unless the value is there.
    Test {
        /// Where.
        path: Pointer,
        /// What, `null` included.
        value: Value,
    },
    /// Removes what is there.
    Remove {
        /// Where.
        path: Pointer,
    },
    /// Moves from one place to another.
    Move {
        /// Where from.
        from: Pointer,
        /// Where to.
        path: Pointer,
    },
    /// Copies from one place to another.
    Copy {
        /// Where from.
        from: Pointer,
        /// Where to.
        path: Pointer,
    },
}

impl Pointer {
    /// The whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// The place one level down, with the member's name escaped.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self(format!(
            "{}/{}",
            self.0,
            name.replace('~', "~0").replace('/', "~1")
        ))
    }

    /// The place of an element.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// The pointer in wire form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, PointerError> {
        let starts = text.is_empty() || text.starts_with('/');
        let escapes = text
            .split('~')
            .skip(1)
            .all(|rest| rest.starts_with(['0', '1']));
        (starts && escapes)
            .then_some(Self(text))
            .ok_or(PointerError)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.0
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_names_are_escaped() {
        assert_eq!(
            Pointer::root().child("a/b").child("x~y").index(2).as_str(),
            "/a~1b/x~0y/2"
        );
    }

    #[test]
    fn only_a_pointer_is_read_as_one() {
        for good in ["", "/", "/a/0", "/~0/~1", "/ä b/"] {
            assert_eq!(Pointer::try_from(good.to_owned()).unwrap().as_str(), good);
        }
        for bad in ["a", "~", "/~", "/~2", "/a~", "a/b"] {
            assert_eq!(
                Pointer::try_from(bad.to_owned()),
                Err(PointerError),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_null_value_is_written() {
        let op = Operation::Replace {
            path: Pointer::root().child("a"),
            value: Value::Null,
        };
        assert_eq!(
            serde_json::to_string(&op).unwrap(),
            r#"{"op":"replace","path":"/a","value":null}"#
        );
    }
}
