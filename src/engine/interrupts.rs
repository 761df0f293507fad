//! How clients are asked: what an interrupt says, and what the page's own prompt is called with.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{Namespace, Prompts, Reason, bounds};
use crate::{
    deps::{ASK_USER, Form, PermissionRequest, Question},
    env::Env,
    protocol::{Interrupt, InterruptId, JsonObject, ToolCallId},
};

/// How much is shown of what an agent is about to do, in bytes of JSON.
const SHOWN: usize = 1024 * 1024;

/// What is needed to ask.
pub(super) struct Asker<'a> {
    pub(super) namespace: &'a Namespace,
    pub(super) prompts: &'a Prompts,
    pub(super) env: &'a Env,
}

/// The tool by which a page says that it shows requests for permission itself.
pub(super) fn permission_tool(namespace: &Namespace) -> String {
    format!("{}_permission_request", namespace.as_str())
}

impl Asker<'_> {
    /// Asks for permission. `call`: the call that waits for it.
    pub(super) fn permission(
        &self,
        request: &PermissionRequest,
        call: Option<ToolCallId>,
    ) -> Interrupt {
        let reason = match (self.prompts.reason, &call) {
            (Reason::ToolCall, Some(_)) => "tool_call".to_owned(),
            _ => self.reason("permission"),
        };
        let ids: Vec<_> = request.options.iter().map(|option| &*option.id).collect();
        let mut about = shown(request, "kind");
        about.insert("options".into(), options(request));
        let schema = json!({
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "optionId": {"type": "string", "enum": ids},
            },
        });
        let message = match request.title.trim() {
            "" => format!("Allow {}?", request.tool),
            title => format!("Allow {}: {title}?", request.tool),
        };
        self.interrupt(reason, &message, call, schema, about)
    }

    /// Asks the person something.
    pub(super) fn question(&self, question: &Question, call: Option<ToolCallId>) -> Interrupt {
        let mut about = JsonObject::new();
        let schema = match &question.form {
            Form::Choices(choices) => {
                about.extend(choices.clone());
                number(&mut about);
                json!({
                    "type": "object",
                    "properties": {
                        "answers": {"type": "array", "items": {
                            "type": "object",
                            "properties": {
                                "questionId": {"type": "string"},
                                "header": {"type": "string"},
                                "selected": {"type": "array", "items": {"type": "string"}},
                                "otherText": {"type": "string"},
                            },
                            "required": ["questionId", "selected"],
                        }},
                        "cancelled": {"type": "boolean"},
                    },
                })
            }
            Form::Fields(schema) => Value::Object(schema.clone()),
        };
        self.interrupt(
            self.reason("question"),
            &question.message,
            call,
            schema,
            about,
        )
    }

    /// Says until when an answer counts, where clients are to know.
    pub(super) fn tell_expiry(&self, interrupt: &mut Interrupt, patience: Duration) {
        if self.prompts.tell_expiry {
            let now = u64::try_from(self.env.now_ms()).unwrap_or_default();
            let until = UNIX_EPOCH + Duration::from_millis(now) + patience;
            interrupt.expires_at = Some(humantime::format_rfc3339_millis(until).to_string());
        }
    }

    fn reason(&self, name: &str) -> String {
        format!("{}:{name}", self.namespace.as_str())
    }

    fn interrupt(
        &self,
        reason: String,
        message: &str,
        tool_call_id: Option<ToolCallId>,
        schema: Value,
        about: JsonObject,
    ) -> Interrupt {
        let mut metadata = JsonObject::new();
        let about = bounded(about);
        if !about.is_empty() {
            metadata.insert(self.namespace.as_str().into(), about.into());
        }
        let message = message.trim();
        Interrupt {
            id: InterruptId::new(self.env.id("ask")).expect("our own ids are legal"),
            reason,
            message: (!message.is_empty()).then(|| bounds::clip(message, bounds::MESSAGE).into()),
            tool_call_id,
            response_schema: match schema {
                Value::Object(schema) => Some(bounded(schema)),
                _ => None,
            },
            expires_at: None,
            metadata: (!metadata.is_empty()).then_some(metadata),
            subagent_run_id: None,
        }
    }
}

/// The arguments of the page's own prompt for permission, as JSON.
pub(super) fn permission_arguments(
    request: &PermissionRequest,
    call: Option<&ToolCallId>,
) -> String {
    let mut about = shown(request, "action");
    about.insert("options".into(), options(request));
    let title = request.title.trim();
    if !title.is_empty() {
        about.insert("description".into(), title.into());
    }
    if let Some(call) = call {
        about.insert("toolCallId".into(), call.as_str().into());
    }
    Value::Object(bounded(about)).to_string()
}

/// The page's own prompt for a question, if it can have one: its name and its arguments.
pub(super) fn question_tool(question: &Question) -> Option<(&'static str, String)> {
    match &question.form {
        Form::Choices(choices) => Some((ASK_USER, Value::Object(choices.clone()).to_string())),
        Form::Fields(_) => None,
    }
}

/// Gives questions the ids by which answers name them.
fn number(about: &mut JsonObject) {
    let questions = about.get_mut("questions").and_then(Value::as_array_mut);
    for (question, number) in questions.into_iter().flatten().zip(1..) {
        if let Some(question) = question.as_object_mut() {
            question.insert("id".into(), format!("q{number}").into());
        }
    }
}

/// What people are shown of what the agent is about to do.
fn shown(request: &PermissionRequest, kind: &str) -> JsonObject {
    let mut about = JsonObject::new();
    about.insert("toolName".into(), request.tool.as_str().into());
    about.insert(kind.into(), request.action.as_str().into());
    if let Some(first) = request.paths.first() {
        about.insert("path".into(), first.to_string_lossy().into());
    }
    if request.paths.len() > 1 {
        let paths = request.paths.iter().map(|path| path.to_string_lossy());
        about.insert("paths".into(), paths.collect());
    }
    if let Some(params) = &request.params {
        about.insert("params".into(), params.clone());
    }
    about.extend(request.details.clone());
    about
}

fn options(request: &PermissionRequest) -> Value {
    let option = |option: &crate::deps::PermissionOption| {
        json!({
            "optionId": &*option.id,
            "name": bounds::clip(&option.name, bounds::NAME),
            "kind": option.kind.as_str(),
        })
    };
    request.options.iter().map(option).collect()
}

/// Leaves out the longest members of what does not fit into one event, and says so.
fn bounded(mut about: JsonObject) -> JsonObject {
    let size = |value: &Value| value.to_string().len();
    let mut left = SHOWN;
    let mut sizes: Vec<_> = about
        .iter()
        .map(|(k, v)| (k.len() + size(v), k.clone()))
        .collect();
    sizes.sort();
    let mut is_cut = false;
    for (size, name) in sizes {
        if let Some(rest) = left.checked_sub(size) {
            left = rest;
        } else {
            about.shift_remove(&name);
            is_cut = true;
        }
    }
    if is_cut {
        about.insert("truncated".into(), true.into());
    }
    about
}

#[cfg(test)]
mod tests;
