//! The path that every AG-UI route starts with.

use std::fmt;

use super::route::Probe;

/// A path that routes are put under: `/agui`, or `/` for none. Its text has no slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasePath(String);

/// Why a text cannot be a base path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a path is `/`, or segments of letters, digits, dots, dashes, underscores and tildes that are no health route"
)]
pub struct BadPath;

impl Default for BasePath {
    fn default() -> Self {
        Self("/agui".into())
    }
}

impl BasePath {
    /// Takes over a path, with or without a slash at either end.
    ///
    /// # Errors
    /// A segment is empty, would need escaping, walks the tree, or hides a health route.
    pub fn new(text: &str) -> Result<Self, BadPath> {
        let inner = text.strip_prefix('/').unwrap_or(text);
        if inner.is_empty() {
            return Ok(Self(String::new()));
        }
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'~');
        let segment = |s: &str| !matches!(s, "" | "." | "..") && s.bytes().all(plain);
        if !inner.split('/').all(segment) || Probe::of(inner).is_some() {
            return Err(BadPath);
        }
        Ok(Self(format!("/{inner}")))
    }

    /// What to put before `/{agent}`; empty for the root.
    pub fn prefix(&self) -> &str {
        &self.0
    }

    /// What of a request's path stands below this one, without the slash between. `None` if it is
    /// elsewhere. One slash at the end is forgiven.
    pub(super) fn below<'a>(&self, path: &'a str) -> Option<&'a str> {
        let rest = path.strip_prefix(&self.0)?;
        if rest.is_empty() {
            return Some("");
        }
        let rest = rest.strip_prefix('/')?;
        Some(rest.strip_suffix('/').unwrap_or(rest))
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "/" } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r9_a_base_path_is_the_same_with_and_without_slashes() {
        for (text, prefix, shown) in [
            ("/agui", "/agui", "/agui"),
            ("agui/", "/agui", "/agui"),
            ("/a/b/", "/a/b", "/a/b"),
            ("/", "", "/"),
            ("", "", "/"),
        ] {
            let path = BasePath::new(text).unwrap();
            assert_eq!(
                (path.prefix(), path.to_string().as_str()),
                (prefix, shown),
                "{text}"
            );
        }
        for bad in [
            "//", "/a//b", "/a/../b", "/a b", "/a?b", "/%61", "/healthz", "readyz/",
        ] {
            assert_eq!(BasePath::new(bad), Err(BadPath), "{bad}");
        }
    }

    #[test]
    fn only_whole_segments_are_below_a_path() {
        let agui = BasePath::default();
        for (path, below) in [
            ("/agui", Some("")),
            ("/agui/", Some("")),
            ("/agui/demo", Some("demo")),
            ("/agui/demo/", Some("demo")),
            ("/aguidemo", None),
            ("/", None),
            ("//agui", None),
        ] {
            assert_eq!(agui.below(path), below, "{path}");
        }
        assert_eq!(BasePath::new("/").unwrap().below("/demo"), Some("demo"));
    }
}
