//! What the answer of a client means. Decides, changes nothing.
//!
//! Only what says yes in so many words is one: all else denies, also what cannot be read and what contradicts itself.

use std::sync::Arc;

use serde_json::Value;

use super::answers::Said;
use crate::{
    deps::{
        Denial, Form, OptionKind, Permission, PermissionRequest, Reply, ToolAnswer, Unanswered,
    },
    protocol::{Content, MessageBody},
};

/// Words that say yes.
const YES: [&str; 7] = [
    "true", "yes", "approve", "approved", "allow", "allowed", "accept",
];
/// Words that say no, whatever an agent calls its options.
const NO: [&str; 11] = [
    "",
    "false",
    "no",
    "deny",
    "denied",
    "reject",
    "rejected",
    "refuse",
    "decline",
    "cancel",
    "cancelled",
];

/// What an approval says.
#[derive(Debug, PartialEq, Eq)]
enum Vote {
    /// Yes, with the option that is given for that.
    Yes,
    /// This option of the agent's.
    Option(Arc<str>),
    /// Everything else.
    No,
}

/// Whether a request is allowed.
pub(super) fn permission(said: &Said, request: &PermissionRequest) -> Permission {
    let vote = match said {
        Said::Payload(Some(answer)) => vote(answer, request),
        Said::Payload(None) => Vote::No,
        Said::GivenUp => return denied(request, Denial::Unanswered(Unanswered::GivenUp)),
        Said::Result(message) => match &message.body {
            MessageBody::Tool {
                content,
                error: None,
                ..
            } => vote(&Value::String(content.text()), request),
            _ => Vote::No,
        },
    };
    let option = match vote {
        Vote::Yes => plain_yes(request),
        Vote::Option(id) => {
            let allows = |id: &Arc<str>| {
                let option = request.options.iter().find(|option| option.id == *id);
                option.is_some_and(|option| option.kind.allows())
            };
            if !allows(&id) {
                return Permission::Denied(Some(id), Denial::Said);
            }
            Some(id)
        }
        Vote::No => None,
    };
    match option {
        Some(id) => Permission::Allowed(id),
        None => denied(request, Denial::Said),
    }
}

/// A denial with the agent's plain option for that.
pub(super) fn denied(request: &PermissionRequest, why: Denial) -> Permission {
    Permission::Denied(request.option(false).map(|it| Arc::clone(&it.id)), why)
}

/// The option for a yes that names none: the one that holds this time, or the only one that there is. One of
/// several that hold for ever is nobody's plain yes.
fn plain_yes(request: &PermissionRequest) -> Option<Arc<str>> {
    let mut allowing = request.options.iter().filter(|it| it.kind.allows());
    let plain = request.option(true)?;
    let is_only = allowing.next().is_some() && allowing.next().is_none();
    (plain.kind == OptionKind::AllowOnce || is_only).then(|| Arc::clone(&plain.id))
}

fn vote(answer: &Value, request: &PermissionRequest) -> Vote {
    match answer {
        Value::Bool(true) => Vote::Yes,
        Value::String(text) => words(text, request),
        Value::Object(_) => object(answer, request),
        _ => Vote::No,
    }
}

/// A text: JSON, an option's id, or words.
fn words(text: &str, request: &PermissionRequest) -> Vote {
    if request.options.iter().any(|option| *option.id == *text) {
        return word(text, request);
    }
    match serde_json::from_str(text) {
        Ok(answer @ (Value::Object(_) | Value::Bool(_))) => return vote(&answer, request),
        // A string within a string, as some clients send it, but no deeper.
        Ok(Value::String(inner)) => return word(&inner, request),
        _ => {}
    }
    word(text, request)
}

fn word(text: &str, request: &PermissionRequest) -> Vote {
    let plain = text.trim().to_lowercase();
    if NO.contains(&plain.as_str()) {
        return Vote::No;
    }
    if let Some(option) = request.options.iter().find(|option| *option.id == *text) {
        return Vote::Option(Arc::clone(&option.id));
    }
    if YES.contains(&plain.as_str()) {
        Vote::Yes
    } else {
        Vote::No
    }
}

/// An object: `{approved}`, `{allow}`, `{optionId}`, or an option beside a yes. All that it says has to agree.
fn object(answer: &Value, request: &PermissionRequest) -> Vote {
    let says = ["approved", "allow"].map(|name| answer.get(name));
    let says: Vec<_> = says.into_iter().flatten().collect();
    if says.iter().any(|value| **value != Value::Bool(true)) {
        return Vote::No;
    }
    let takes_back = ["cancelled", "declined", "denied", "rejected"];
    let mut takes_back = takes_back.iter().filter_map(|name| answer.get(name));
    if takes_back.any(|value| *value != Value::Bool(false)) {
        return Vote::No;
    }
    if let Some(outcome) = answer.get("outcome")
        && outcome["outcome"] != "selected"
    {
        return Vote::No;
    }
    let named = [
        answer.get("optionId"),
        answer.get("option_id"),
        // ACP `RequestPermissionOutcome`, as it stands.
        answer.pointer("/outcome/optionId"),
    ];
    let mut named = named.into_iter().flatten();
    match (named.next(), named.next()) {
        (None, _) if says.is_empty() => Vote::No,
        (None, _) => Vote::Yes,
        (Some(Value::String(id)), None) => {
            let option = request.options.iter().find(|option| *option.id == **id);
            option.map_or(Vote::No, |option| Vote::Option(Arc::clone(&option.id)))
        }
        (Some(_), _) => Vote::No,
    }
}

/// What became of a call of the page's tool.
pub(super) fn result(said: &Said) -> ToolAnswer {
    match said {
        Said::Result(message) => match &message.body {
            MessageBody::Tool { content, error, .. } => {
                let content = match error {
                    Some(error) if content.is_blank() => Content::Text(error.clone()),
                    _ => content.clone(),
                };
                ToolAnswer::Answered {
                    content,
                    failed: error.is_some(),
                }
            }
            _ => ToolAnswer::Unanswered(Unanswered::GivenUp),
        },
        Said::Payload(Some(_)) => ToolAnswer::Answered {
            content: Content::Text(said.text()),
            failed: false,
        },
        Said::Payload(None) | Said::GivenUp => ToolAnswer::Unanswered(Unanswered::GivenUp),
    }
}

/// What the person has said to a question.
pub(super) fn reply(said: &Said, form: &Form) -> Reply {
    let answer = match said {
        Said::Payload(Some(answer)) => answer.clone(),
        Said::Result(message) => match &message.body {
            MessageBody::Tool {
                content,
                error: None,
                ..
            } => Value::String(content.text()),
            _ => Value::Null,
        },
        Said::Payload(None) | Said::GivenUp => Value::Null,
    };
    let answer = match answer {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(read @ (Value::Object(_) | Value::Array(_) | Value::Null)) => read,
            _ => Value::String(text),
        },
        other => other,
    };
    let says_nothing = match &answer {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => {
            // A form may have a member of that name.
            let is_form = matches!(form, Form::Fields(_));
            members.is_empty() || (!is_form && members.get("cancelled") == Some(&Value::Bool(true)))
        }
        Value::Bool(_) | Value::Number(_) => false,
    };
    if says_nothing {
        Reply::Unanswered(Unanswered::GivenUp)
    } else {
        Reply::Answered(answer)
    }
}

#[cfg(test)]
mod tests;
