//! Who is on the other side: a client that declares AG-UI 1.0, or one from before it.

/// The version that the daemon speaks and declares on every `RUN_STARTED`.
pub const PROTOCOL_VERSION: &str = "1.0";

/// What a client can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// It declared a version: it strips what it does not know.
    Current,
    /// It declared none, so it is from before 1.0 and dies on shapes it does not know.
    Legacy,
}

impl Peer {
    /// Judges by `RunAgentInput.protocolVersion`. A version that cannot be read counts as newer.
    pub fn of(protocol_version: Option<&str>) -> Self {
        match protocol_version.map(Declared::of) {
            None | Some(Declared::Before) => Self::Legacy,
            Some(_) => Self::Current,
        }
    }
}

/// A declared version beside [`PROTOCOL_VERSION`] (AG-UI 1.0, versioning).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    /// A 0.x one.
    Before,
    /// The very one.
    Spoken,
    /// A later one of the same major: to be served.
    Newer,
    /// One of another major: may be refused.
    OtherMajor,
    /// Not two numbers with a dot between them: to be served.
    Unreadable,
}

impl Declared {
    /// Compares digits, so that no number is too large.
    pub(super) fn of(version: &str) -> Self {
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match version.split_once('.') {
            Some((major, minor)) if number(major) && number(minor) => {
                match (major.trim_start_matches('0'), minor.trim_start_matches('0')) {
                    ("", _) => Self::Before,
                    ("1", "") => Self::Spoken,
                    ("1", _) => Self::Newer,
                    _ => Self::OtherMajor,
                }
            }
            _ => Self::Unreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_absent_or_a_zero_version_is_legacy() {
        for (version, peer) in [
            (None, Peer::Legacy),
            (Some("0.9"), Peer::Legacy),
            (Some("1.0"), Peer::Current),
            (Some("1.7"), Peer::Current),
            (Some("soon"), Peer::Current),
            (Some("0"), Peer::Current),
        ] {
            assert_eq!(Peer::of(version), peer, "{version:?}");
        }
    }
}
