//! What is decided of requests for permission before anybody is asked: `[[agents.NAME.permissions]]`.

use super::{Error, load::Loaded, raw};
use crate::{
    deps::TOOL_KINDS,
    engine::{Decision, Matcher, Rule},
};

/// Checks the rules that stand at a key.
pub(super) fn rules(
    loaded: &Loaded,
    key: &[&str],
    written: &[raw::Rule],
) -> Result<Vec<Rule>, Error> {
    let rule = |(index, written): (usize, &raw::Rule)| {
        let index = index.to_string();
        rule(written).map_err(|(member, why)| {
            let key = [key, &[index.as_str(), member]].concat();
            loaded.refuse(&key, why)
        })
    };
    written.iter().enumerate().map(rule).collect()
}

/// Whether a rule lets an agent do whatever it asks for.
pub(super) fn allows_everything(rule: &Rule) -> bool {
    let everything = ["*", "**"].map(|pattern| Matcher::new(pattern).ok());
    rule.decision == Decision::Allow
        && rule.kind.is_none()
        && rule.path.is_none()
        && (rule.tool.is_none() || everything.contains(&rule.tool))
}

/// A rule, or which member of it is wrong and why.
fn rule(written: &raw::Rule) -> Result<Rule, (&'static str, String)> {
    let kind = written.kind.clone();
    if let Some(word) = &kind
        && !TOOL_KINDS.contains(&word.as_str())
    {
        let why = format!("\"{word}\" is none of {}", TOOL_KINDS.join(", "));
        return Err(("kind", why));
    }
    if let Some(why) = written.path.as_deref().and_then(unmatched) {
        return Err(("path", why.into()));
    }
    let matcher = |member, pattern: &Option<String>| {
        let matcher = pattern.as_deref().map(Matcher::new).transpose();
        matcher.map_err(|why| (member, why.to_string()))
    };
    Ok(Rule {
        decision: written.decision.into(),
        tool: matcher("tool", &written.tool)?,
        kind,
        path: matcher("path", &written.path)?,
    })
}

/// Why no path can fit a pattern: a rule that denies would deny nothing, and nobody would see it.
fn unmatched(pattern: &str) -> Option<&'static str> {
    let mut parts = pattern.split('/');
    if parts.any(|part| matches!(part, "." | "..")) {
        Some("no path fits it: paths are compared without . and ..")
    } else if pattern.len() > 1 && pattern.ends_with('/') {
        Some("no path fits it: paths are compared without / at their end; ** stands for all below")
    } else if pattern.starts_with('~') {
        Some("no path fits it: ~ is not understood here; write the folder out")
    } else {
        None
    }
}
