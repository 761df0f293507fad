//! The ids of the protocol: opaque, bounded, shared cheaply.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Why a text cannot be an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing but white space.
    #[error("must not be blank")]
    Blank,
    /// Longer than the kind of id allows.
    #[error("must not be longer than {0} bytes")]
    TooLong(usize),
    /// A control character, which could forge a log line or a header.
    #[error("must not contain control characters")]
    Control,
}

fn check(text: &str, max: usize) -> Result<(), IdError> {
    if text.len() > max {
        return Err(IdError::TooLong(max));
    }
    if text.trim().is_empty() {
        return Err(IdError::Blank);
    }
    if text.chars().any(char::is_control) {
        return Err(IdError::Control);
    }
    Ok(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The longest text allowed, in bytes.
            pub const MAX: usize = $max;

            /// Takes over a text after checking it.
            ///
            /// # Errors
            /// The text is blank, too long or holds a control character.
            pub fn new(text: impl AsRef<str> + Into<Arc<str>>) -> Result<Self, IdError> {
                check(text.as_ref(), Self::MAX)?;
                Ok(Self(text.into()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

id!(
    /// The client's conversation id. Opaque, not a UUID, never a path.
    ThreadId,
    256
);
id!(
    /// The client's id of one run. `CopilotKit` may use it again, so nothing is keyed by it alone.
    RunId,
    256
);
id!(
    /// The id of a message: one namespace for text, reasoning, results and activities of a thread.
    MessageId,
    1024
);
id!(
    /// The id that ties a tool call to its result and its interrupts.
    ToolCallId,
    1024
);
id!(
    /// The id of a question that ended a run.
    InterruptId,
    1024
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_opaque_but_not_blank_not_endless_and_without_control_characters() {
        for good in [
            "t1",
            "not a uuid",
            "../../etc/passwd",
            "a".repeat(256).as_str(),
            "ünïcode",
        ] {
            assert!(ThreadId::new(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", IdError::Blank),
            ("   ", IdError::Blank),
            ("a\nb", IdError::Control),
            ("a\u{85}b", IdError::Control),
            ("a".repeat(257).as_str(), IdError::TooLong(256)),
        ] {
            assert_eq!(ThreadId::new(bad), Err(why), "{bad:?}");
        }
    }
}
