//! What is decided of a request for permission before anybody is asked.
//!
//! Rules are read from the first to the last, and the first that fits holds; where none does, people are asked. They
//! go by what the agent says that it is about to do. Paths are compared as they are written, without `.` and `..`,
//! and relative ones as in the agent's folder; what a link leads to is not looked at.
//!
//! `globset` was chosen over `glob-match` and `fast-glob`: it refuses a pattern that is malformed, where those say
//! that nothing fits it.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::deps::PermissionRequest;

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes, and nobody is asked.
    Allow,
    /// People are asked.
    Ask,
    /// No, and nobody is asked.
    Deny,
}

impl Decision {
    /// The decision as it is configured and logged.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A rule. What it does not name it does not look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What it decides.
    pub decision: Decision,
    /// Which tools, by name.
    pub tool: Option<Matcher>,
    /// Which kind of thing (ACP `ToolKind`).
    pub kind: Option<String>,
    /// Which files. What allows has to fit all files of a request, of which there has to be one; what does not allow
    /// has to fit one of them.
    pub path: Option<Matcher>,
}

/// A pattern for names and paths: `*` and `?` stand for what is no `/`, `**` for that as well, and there are `[a-z]`
/// and `{a,b}`.
#[derive(Debug, Clone)]
pub struct Matcher(GlobMatcher);

/// Why a text cannot be a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no pattern: {0}")]
pub struct BadRule(String);

impl Matcher {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is malformed or empty.
    pub fn new(pattern: &str) -> Result<Self, BadRule> {
        if pattern.is_empty() {
            return Err(BadRule("it is empty".into()));
        }
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| BadRule(error.kind().to_string()))?;
        Ok(Self(glob.compile_matcher()))
    }

    fn fits(&self, path: impl AsRef<Path>) -> bool {
        self.0.is_match(path)
    }

    /// Whether it fits the last part, or the last few.
    fn fits_an_end(&self, path: &Path) -> bool {
        let parts: Vec<_> = path.components().collect();
        (0..parts.len()).any(|at| self.fits(parts[at..].iter().collect::<PathBuf>()))
    }

    fn is_absolute(&self) -> bool {
        Path::new(self.0.glob().glob()).is_absolute()
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.0.glob() == other.0.glob()
    }
}

impl Eq for Matcher {}

/// Kinds of things that are about files, also where a request names none.
const ABOUT_FILES: [&str; 4] = ["read", "edit", "delete", "move"];

impl Rule {
    /// Whether it would not allow this, if the request named the right file: it names none.
    fn may_fit(&self, request: &PermissionRequest, workdir: Option<&Path>) -> bool {
        let anywhere = Self {
            path: None,
            ..self.clone()
        };
        self.decision != Decision::Allow
            && self.path.is_some()
            && request.paths.is_empty()
            && ABOUT_FILES.contains(&request.action.as_str())
            && anywhere.fits(request, workdir)
    }

    /// Whether it is about such a request of an agent that works in a folder.
    fn fits(&self, request: &PermissionRequest, workdir: Option<&Path>) -> bool {
        let is_path = |matcher: &Matcher| {
            let fits = |path: &PathBuf| {
                let path = cleaned(path, workdir);
                if matcher.is_absolute() {
                    return matcher.fits(path);
                }
                match workdir.map_or(Ok(path.as_path()), |it| path.strip_prefix(it)) {
                    Ok(below) => matcher.fits(below),
                    // What allows does so in the agent's folder. What does not holds everywhere.
                    Err(_) => self.decision != Decision::Allow && matcher.fits_an_end(&path),
                }
            };
            let mut paths = request.paths.iter();
            match self.decision {
                Decision::Allow => !request.paths.is_empty() && paths.all(fits),
                Decision::Ask | Decision::Deny => paths.any(fits),
            }
        };
        self.tool.as_ref().is_none_or(|it| it.fits(&request.tool))
            && self.kind.as_ref().is_none_or(|it| *it == request.action)
            && self.path.as_ref().is_none_or(is_path)
    }
}

/// What the rules say of a request; `None` if none fits. People are asked of what a rule might deny whose files the
/// request does not name.
pub(super) fn decide(
    rules: &[Rule],
    request: &PermissionRequest,
    workdir: Option<&Path>,
) -> Option<Decision> {
    let fits = |rule: &&Rule| rule.fits(request, workdir) || rule.may_fit(request, workdir);
    let rule = rules.iter().find(fits)?;
    let is_sure = rule.fits(request, workdir);
    Some(if is_sure {
        rule.decision
    } else {
        Decision::Ask
    })
}

/// A path without `.` and `..`, absolute where the folder is.
fn cleaned(path: &Path, workdir: Option<&Path>) -> PathBuf {
    let whole = workdir.map_or_else(|| path.to_owned(), |workdir| workdir.join(path));
    let mut cleaned = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            // Above the root there is nothing; above a relative path there is, and it must not fit what is below.
            Component::ParentDir if cleaned.file_name().is_some() => {
                cleaned.pop();
            }
            Component::ParentDir if cleaned.has_root() => {}
            part => cleaned.push(part),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::JsonObject;

    fn request(tool: &str, kind: &str, paths: &[&str]) -> PermissionRequest {
        PermissionRequest {
            call: None,
            tool: tool.into(),
            action: kind.into(),
            title: String::new(),
            paths: paths.iter().map(PathBuf::from).collect(),
            params: None,
            options: Vec::new(),
            details: JsonObject::new(),
        }
    }

    fn rule(decision: Decision, tool: &str, kind: &str, path: &str) -> Rule {
        let matcher = |text: &str| (!text.is_empty()).then(|| Matcher::new(text).unwrap());
        Rule {
            decision,
            tool: matcher(tool),
            kind: (!kind.is_empty()).then(|| kind.into()),
            path: matcher(path),
        }
    }

    #[test]
    fn a_rule_looks_at_what_it_names_and_at_nothing_else() {
        use Decision::{Allow, Deny};
        let workdir = Some(Path::new("/project"));
        for (rule, asked, fits) in [
            (rule(Allow, "", "", ""), request("a", "b", &[]), true),
            (
                rule(Allow, "write*", "", ""),
                request("write_file", "edit", &[]),
                true,
            ),
            (
                rule(Allow, "write", "", ""),
                request("rewrite", "edit", &[]),
                false,
            ),
            (
                rule(Allow, "", "edit", ""),
                request("x", "execute", &[]),
                false,
            ),
            (
                rule(Allow, "", "", "src/**"),
                request("x", "edit", &["/project/src/a/b"]),
                true,
            ),
            (
                rule(Allow, "", "", "src/**"),
                request("x", "edit", &["src/a"]),
                true,
            ),
            (
                rule(Allow, "", "", "src/*"),
                request("x", "edit", &["src/a/b"]),
                false,
            ),
            // What allows needs every path inside, and one at all.
            (
                rule(Allow, "", "", "src/**"),
                request("x", "edit", &[]),
                false,
            ),
            (
                rule(Allow, "", "", "src/**"),
                request("x", "edit", &["src/a", "/etc/passwd"]),
                false,
            ),
            (
                rule(Allow, "", "", "src/**"),
                request("x", "edit", &["src/../../etc/passwd"]),
                false,
            ),
            (
                rule(Allow, "", "", "**"),
                request("x", "edit", &["../secret"]),
                false,
            ),
            (
                rule(Deny, "", "", "/etc/**"),
                request("x", "edit", &["src/a", "/project/../etc/x"]),
                true,
            ),
            (
                rule(Deny, "", "", "*.pem"),
                request("x", "edit", &["src/a", "./key.pem"]),
                true,
            ),
            // What does not allow holds outside of the folder as well.
            (
                rule(Deny, "", "", "**/.env*"),
                request("x", "edit", &["/home/ann/.env"]),
                true,
            ),
            (
                rule(Deny, "", "", "*.pem"),
                request("x", "edit", &["../other/key.pem"]),
                true,
            ),
            (
                rule(Deny, "", "", "*.pem"),
                request("x", "edit", &["/home/ann/key.txt"]),
                false,
            ),
            (
                rule(Allow, "", "", "**/*.txt"),
                request("x", "edit", &["/home/ann/key.txt"]),
                false,
            ),
        ] {
            assert_eq!(rule.fits(&asked, workdir), fits, "{rule:?} {asked:?}");
        }
    }

    #[test]
    fn without_a_folder_no_path_climbs_into_a_pattern() {
        let allow = rule(Decision::Allow, "", "", "**");
        assert!(allow.fits(&request("x", "edit", &["a/../b"]), None));
        let src = rule(Decision::Allow, "", "", "src/**");
        assert!(!src.fits(&request("x", "edit", &["src/../../src/a"]), None));
    }

    #[test]
    fn the_first_rule_that_fits_holds() {
        let rules = [
            rule(Decision::Deny, "", "", "*.pem"),
            rule(Decision::Allow, "", "edit", ""),
        ];
        let decide = |paths: &[&str]| decide(&rules, &request("x", "edit", paths), None);
        assert_eq!(decide(&["a.pem"]), Some(Decision::Deny));
        assert_eq!(decide(&["a.txt"]), Some(Decision::Allow));
        assert_eq!(
            super::decide(&rules, &request("x", "fetch", &[]), None),
            None
        );
        // It might be a key.
        for kind in ["read", "edit"] {
            let unnamed = super::decide(&rules, &request("x", kind, &[]), None);
            assert_eq!(unnamed, Some(Decision::Ask));
        }
    }

    #[test]
    fn a_malformed_pattern_is_refused() {
        for text in ["", "[a", "{a"] {
            assert!(Matcher::new(text).is_err(), "{text}");
        }
    }
}
