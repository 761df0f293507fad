//! What a script waits for: tools of the page, permissions, answers of a person's.
//!
//! What became of each is said as text, in one form for each end, so that a test can compare it.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    cores::questions,
    deps::{
        ASK_USER, CoreEvent, Form, Gone, OptionKind, Permission, PermissionOption,
        PermissionRequest, Question, Reply, ToolAnswer, ToolCall, TurnIo, Unanswered,
    },
    protocol::{Content, JsonObject},
};

/// What the call says that asked a person who did not answer.
const CANCELLED: &str = "user cancelled the question";

/// Something that a script waits for. A permission and a question that stand for a call are a whole call: opened
/// before they are asked, with their parameters as its arguments, and answered after.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    /// Calls a tool of the page. The turn's calls are `page-1`, `page-2` and so on.
    Page {
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// Asks for permission.
    Permission(Box<PermissionRequest>),
    /// Asks the person.
    Question(Question),
}

impl Wait {
    /// Calls a tool of the page.
    pub fn page(name: &str, arguments: Value) -> Self {
        Self::Page {
            name: name.into(),
            arguments,
        }
    }

    /// Asks for permission.
    pub fn permission(request: PermissionRequest) -> Self {
        Self::Permission(request.into())
    }

    /// The call that waits, as it is opened.
    fn opened(&self) -> Vec<CoreEvent> {
        let (call, name, arguments) = match self {
            Self::Permission(request) => (
                &request.call,
                request.tool.as_str(),
                request.params.as_ref().map(Value::to_string),
            ),
            Self::Question(question) => (&question.call, ASK_USER, Some(asked(question))),
            Self::Page { .. } => return Vec::new(),
        };
        let Some(call) = call else {
            return Vec::new();
        };
        let opened = CoreEvent::ToolCallOpened {
            call: Arc::clone(call),
            name: name.into(),
        };
        let arguments = arguments.map(|fragment| CoreEvent::ToolCallArguments {
            call: Arc::clone(call),
            fragment,
        });
        let closed = CoreEvent::ToolCallClosed {
            call: Arc::clone(call),
        };
        [Some(opened), arguments, Some(closed)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Waits, and gives what is then said.
    async fn wait(self, page: usize, io: &TurnIo) -> Vec<CoreEvent> {
        match self {
            Self::Page { name, arguments } => {
                let call = ToolCall {
                    call: format!("page-{page}").into(),
                    name: name.clone(),
                    arguments: arguments.to_string(),
                };
                vec![line(&of_page(&name, &io.call_frontend_tool(call).await))]
            }
            Self::Permission(request) => {
                let (call, tool) = (request.call.clone(), request.tool.clone());
                let permission = io.request_permission(*request).await;
                let (outcome, failed) = match permission {
                    Permission::Allowed(_) => ("written", false),
                    Permission::Denied(..) => ("permission denied", true),
                };
                let line = line(&of_permission(&tool, &permission));
                result(call, outcome, failed).chain([line]).collect()
            }
            Self::Question(question) => {
                let call = question.call.clone();
                let form = question.form.clone();
                let answer = of_question(&form, &io.ask_user(question).await);
                let (outcome, said) = match &answer {
                    Ok(text) => (text.as_str(), text.clone()),
                    Err(why) => (CANCELLED, format!("no answer ({})", why.as_str())),
                };
                let result = result(call, outcome, answer.is_err());
                result.chain([line(&said)]).collect()
            }
        }
    }
}

/// Opens what is waited for in its order, waits for all of it at once, and says in the same order what became of it.
/// `pages` counts the calls of the turn.
pub(super) async fn wait(waits: Vec<Wait>, pages: &mut usize, io: &TurnIo) -> Result<(), Gone> {
    for event in waits.iter().flat_map(Wait::opened) {
        io.emit(event).await?;
    }
    let waiting = waits.into_iter().map(|wait| {
        *pages += usize::from(matches!(wait, Wait::Page { .. }));
        wait.wait(*pages, io)
    });
    for event in join_all(waiting).await.into_iter().flatten() {
        io.emit(event).await?;
    }
    Ok(())
}

/// A request to write a file of that name, as agents make it: the answers `once`, `always` and `reject`, and a diff.
pub fn to_write(call: &str, path: &str) -> PermissionRequest {
    let option = |id: &str, name: &str, kind| PermissionOption {
        id: id.into(),
        name: name.into(),
        kind,
    };
    let content = "Hello.\n";
    let diffs = json!([{"path": path, "oldText": "", "newText": content}]);
    PermissionRequest {
        call: Some(call.into()),
        tool: "write_file".into(),
        action: "edit".into(),
        title: format!("Write {path}"),
        paths: vec![path.into()],
        params: Some(json!({"path": path, "content": content})),
        options: vec![
            option("once", "Allow once", OptionKind::AllowOnce),
            option("always", "Always allow", OptionKind::AllowAlways),
            option("reject", "Reject", OptionKind::RejectOnce),
        ],
        details: JsonObject::from_iter([("diffs".into(), diffs)]),
    }
}

/// Two questions, as a model asks them.
pub fn two_questions(call: &str) -> Question {
    let option =
        |label: &str| json!({"label": label, "description": format!("{label}, of course")});
    let asked = json!([
        {
            "question": "Which colour do you like?",
            "header": "Colour",
            "options": [option("Red"), option("Blue")],
        },
        {
            "question": "Which fruits do you eat?",
            "header": "Fruits",
            "multiSelect": true,
            "options": [option("Apples"), option("Pears"), option("Plums")],
        },
    ]);
    Question {
        call: Some(call.into()),
        message: "The demo has two questions.".into(),
        form: Form::Choices(JsonObject::from_iter([("questions".into(), asked)])),
    }
}

/// The question how old somebody is, with a number for an answer.
pub fn age() -> Question {
    let age = json!({"type": "integer", "title": "Age", "minimum": 0, "maximum": 150});
    let schema = [
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), json!({"age": age})),
        ("required".to_owned(), json!(["age"])),
    ];
    Question {
        call: None,
        message: "How old are you?".into(),
        form: Form::Fields(schema.into_iter().collect()),
    }
}

/// What is asked, as text.
fn asked(question: &Question) -> String {
    let (Form::Choices(asked) | Form::Fields(asked)) = &question.form;
    Value::Object(asked.clone()).to_string()
}

fn of_page(name: &str, answer: &ToolAnswer) -> String {
    match answer {
        ToolAnswer::Answered { content, failed } => {
            let text = content.text();
            let media = if content.has_media() {
                " (and what is not text)"
            } else {
                ""
            };
            let verb = if *failed { " failed" } else { "" };
            format!("{name}{verb}: {text}{media}")
        }
        ToolAnswer::Unanswered(why) => format!("{name}: {}", why.of_tool()),
    }
}

fn of_permission(tool: &str, permission: &Permission) -> String {
    match permission {
        Permission::Allowed(option) => format!("{tool}: allowed ({option})"),
        Permission::Denied(Some(option), why) => {
            format!("{tool}: denied ({option}, {})", why.as_str())
        }
        Permission::Denied(None, why) => format!("{tool}: denied ({})", why.as_str()),
    }
}

/// What a model reads of an answer, or why there is none.
fn of_question(form: &Form, reply: &Reply) -> Result<String, Unanswered> {
    match (form, reply) {
        (Form::Choices(asked), Reply::Answered(reply)) => {
            questions::text(asked, reply).ok_or(Unanswered::GivenUp)
        }
        (Form::Fields(_), Reply::Answered(reply)) => Ok(reply.to_string()),
        (_, Reply::Unanswered(why)) => Err(*why),
    }
}

fn line(text: &str) -> CoreEvent {
    CoreEvent::Text(format!("{text}\n"))
}

fn result(call: Option<Arc<str>>, outcome: &str, failed: bool) -> impl Iterator<Item = CoreEvent> {
    let content = Content::Text(outcome.into());
    let result = call.map(|call| CoreEvent::ToolCallResult {
        call,
        content,
        failed,
    });
    result.into_iter()
}
