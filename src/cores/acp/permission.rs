//! Requests for permission (ACP `session/request_permission`): which answers one takes, and what its answer is.
//!
//! Options are told apart by their `kind`, never by their id or place. Whatever is no clear yes is none: nothing here
//! makes an answer that allows out of one that does not.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Value, json};

use super::translate::{NAME, clip};
use crate::deps::{Denial, OptionKind, Permission, PermissionOption, Unanswered};

/// How many options a request has at most. No agent is known to have more than six.
const MOST: usize = 32;

/// The longest id of an option, in bytes.
const ID: usize = 1024;

/// Why nobody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unfit {
    /// It does not say what it is about, or has no list of options.
    #[error("it is malformed")]
    Malformed,
    /// An id stands for two options.
    #[error("two of its options have the same id")]
    Ambiguous,
    /// Nothing that it offers allows anything.
    #[error("it offers no way to allow it")]
    NoYes,
    /// As many as can be are open already.
    #[error("too many are open")]
    TooMany,
}

/// The options of a request, as far as they are understood.
///
/// # Errors
/// People cannot be asked with them.
pub(super) fn options(params: &Value) -> Result<Vec<PermissionOption>, Unfit> {
    let told = params["options"].as_array().ok_or(Unfit::Malformed)?;
    if told.len() > MOST {
        return Err(Unfit::Malformed);
    }
    // One that is not understood has its id all the same.
    let ids = told.iter().filter_map(|option| option["optionId"].as_str());
    let mut seen = HashSet::new();
    if !ids.into_iter().all(|id| seen.insert(id)) {
        return Err(Unfit::Ambiguous);
    }
    let options: Vec<_> = told.iter().filter_map(option).collect();
    if !options.iter().any(|option| option.kind.allows()) {
        return Err(Unfit::NoYes);
    }
    Ok(options)
}

fn option(told: &Value) -> Option<PermissionOption> {
    let id = told["optionId"].as_str();
    let id = id.filter(|id| !id.is_empty() && id.len() <= ID)?;
    let kind = OptionKind::of(told["kind"].as_str()?)?;
    let name = told["name"].as_str().filter(|name| !name.is_empty());
    Some(PermissionOption {
        id: id.into(),
        name: clip(name.unwrap_or(kind.as_str()), NAME).to_owned(),
        kind,
    })
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// One of the agent's options that allow.
    Allowed(Arc<str>),
    /// One of those that do not.
    Refused(Arc<str>),
    /// None of them: the turn is being stopped, or the agent offers no way to refuse.
    Cancelled,
}

impl Decision {
    /// What a request is answered with of which nobody is asked.
    pub(super) fn without_asking(params: &Value, why: Unfit) -> Self {
        let told = params["options"].as_array().map_or(&[][..], Vec::as_slice);
        // An id that stands for two options might be taken for the one that allows.
        if why == Unfit::Ambiguous || told.len() > MOST {
            return Self::Cancelled;
        }
        let options: Vec<_> = told.iter().filter_map(option).collect();
        let of = |kind| options.iter().find(|option| option.kind == kind);
        let no = of(OptionKind::RejectOnce).or_else(|| of(OptionKind::RejectAlways));
        no.map_or(Self::Cancelled, |no| Self::Refused(Arc::clone(&no.id)))
    }

    /// What a request with these options is answered with.
    pub(super) fn of(options: &[PermissionOption], answer: Permission) -> Self {
        let has = |id: &Arc<str>, allows: bool| {
            let mut options = options.iter();
            options.any(|option| option.id == *id && option.kind.allows() == allows)
        };
        match answer {
            Permission::Allowed(id) if has(&id, true) => Self::Allowed(id),
            Permission::Denied(_, Denial::Unanswered(Unanswered::Stopped)) => Self::Cancelled,
            Permission::Denied(Some(id), _) if has(&id, false) => Self::Refused(id),
            Permission::Allowed(_) | Permission::Denied(..) => Self::Cancelled,
        }
    }

    /// The decision as a log field.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Allowed(_) => "allowed",
            Self::Refused(_) => "refused",
            Self::Cancelled => "cancelled",
        }
    }

    /// The decision as the result of the request.
    pub(super) fn result(&self) -> Value {
        match self {
            Self::Allowed(option) | Self::Refused(option) => {
                json!({"outcome": {"outcome": "selected", "optionId": option}})
            }
            Self::Cancelled => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(id: &str, kind: &str) -> Value {
        json!({"optionId": id, "name": "reject", "kind": kind})
    }

    #[test]
    fn options_are_told_apart_by_their_kind_alone() {
        let params = json!({"options": [
            told("reject", "allow_always"), told("allow", "reject_once"), told("x", "allow_always"),
            told("new", "allow_for_an_hour"), told("", "allow_once"), {"optionId": 1, "kind": "allow_once"},
        ]});
        let options = options(&params).unwrap();
        let found: Vec<_> = options.iter().map(|it| (&*it.id, it.kind)).collect();
        assert_eq!(
            found,
            [
                ("reject", OptionKind::AllowAlways),
                ("allow", OptionKind::RejectOnce),
                ("x", OptionKind::AllowAlways),
            ]
        );
    }

    #[test]
    fn r99_people_are_not_asked_what_they_cannot_allow_or_what_could_mean_two_things() {
        let once = told("once", "allow_once");
        let no = told("no", "reject_once");
        let never = told("never", "reject_always");
        let refused = |id: &str| Decision::Refused(id.into());
        let many = vec![no.clone(); MOST + 1];
        for (options, why, decision) in [
            (json!([never, no]), Unfit::NoYes, refused("no")),
            (json!([never]), Unfit::NoYes, refused("never")),
            (json!([]), Unfit::NoYes, Decision::Cancelled),
            (
                json!([told("no", "allow_once"), no]),
                Unfit::Ambiguous,
                Decision::Cancelled,
            ),
            (
                json!([once, no, told("no", "unheard of")]),
                Unfit::Ambiguous,
                Decision::Cancelled,
            ),
            (json!("nonsense"), Unfit::Malformed, Decision::Cancelled),
            (json!(many), Unfit::Malformed, Decision::Cancelled),
        ] {
            let params = json!({"options": options});
            assert_eq!(super::options(&params), Err(why), "{params}");
            assert_eq!(Decision::without_asking(&params, why), decision, "{params}");
        }
    }

    #[test]
    fn r99_only_an_option_that_allows_allows() {
        let params = json!({"options": [told("yes", "allow_once"), told("no", "reject_once")]});
        let options = options(&params).unwrap();
        let stopped = Denial::Unanswered(Unanswered::Stopped);
        let id = |id: &str| Arc::<str>::from(id);
        for (answer, decision) in [
            (Permission::Allowed(id("yes")), Decision::Allowed(id("yes"))),
            (Permission::Allowed(id("no")), Decision::Cancelled),
            (Permission::Allowed(id("other")), Decision::Cancelled),
            (
                Permission::Denied(Some(id("no")), Denial::Said),
                Decision::Refused(id("no")),
            ),
            (
                Permission::Denied(Some(id("yes")), Denial::Said),
                Decision::Cancelled,
            ),
            (Permission::Denied(None, Denial::Rule), Decision::Cancelled),
            (
                Permission::Denied(Some(id("no")), stopped),
                Decision::Cancelled,
            ),
        ] {
            assert_eq!(
                Decision::of(&options, answer.clone()),
                decision,
                "{answer:?}"
            );
        }
    }

    #[test]
    fn report_r52_a_request_that_is_given_up_is_answered_as_cancelled() {
        assert_eq!(
            Decision::Cancelled.result(),
            json!({"outcome": {"outcome": "cancelled"}})
        );
    }
}
