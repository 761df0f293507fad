//! Turns that wait for the page or for a person, on paused time.

mod ends;
mod page;
mod people;
mod sub_agents;

use std::sync::{Arc, Mutex};

use super::{
    lasting::{hydrated, key},
    *,
};
use crate::deps::{
    About, Denial, Form, OptionKind, Permission, PermissionOption, PermissionRequest, Question,
    Reply, SubAgentStatus, SubAgentUpdate, ToolAnswer, ToolCall, Unanswered,
};

/// The messages that somebody is shown who looks.
fn messages(events: &[Value]) -> Vec<Value> {
    let shown = events
        .iter()
        .find(|it| it["type"] == "MESSAGES_SNAPSHOT")
        .unwrap();
    shown["messages"].as_array().unwrap().clone()
}

/// A request for permission to write, with the agent's usual options.
fn request(call: Option<&str>) -> PermissionRequest {
    let option = |id: &str, kind| PermissionOption {
        id: id.into(),
        name: id.into(),
        kind,
    };
    PermissionRequest {
        call: call.map(Into::into),
        tool: "write".into(),
        action: "edit".into(),
        title: "a.txt".into(),
        paths: vec!["/project/a.txt".into()],
        params: Some(json!({"path": "a.txt"})),
        options: vec![
            option("always", OptionKind::AllowAlways),
            option("once", OptionKind::AllowOnce),
            option("no", OptionKind::RejectOnce),
        ],
        details: crate::protocol::JsonObject::new(),
    }
}

fn call(name: &str) -> ToolCall {
    ToolCall {
        call: format!("core-{name}").as_str().into(),
        name: name.into(),
        arguments: format!("{{\"of\":\"{name}\"}}"),
    }
}

/// Says what came of something, as text that a test can look for.
async fn say(io: &TurnIo, what: impl std::fmt::Debug) {
    io.emit(text(&format!("{what:?};"))).await.unwrap();
}

async fn writes(io: &TurnIo, id: &str) -> Permission {
    io.emit(opened(id)).await.unwrap();
    let closed = CoreEvent::ToolCallClosed { call: id.into() };
    io.emit(closed).await.unwrap();
    let permission = io.request_permission(request(Some(id))).await;
    io.emit(result(id)).await.unwrap();
    permission
}

/// A helper of the agent's, told of.
fn helper(status: SubAgentStatus) -> CoreEvent {
    let about = About {
        persona: Some("writer".into()),
        ..About::default()
    };
    CoreEvent::SubAgent(Box::new(SubAgentUpdate {
        about,
        ..SubAgentUpdate::new("helper", Some(status))
    }))
}

fn within(event: CoreEvent) -> CoreEvent {
    CoreEvent::Within {
        sub_agent: "helper".into(),
        event: Box::new(event),
    }
}

/// Has a helper write, if it may.
async fn delegates(io: &TurnIo) -> bool {
    io.emit(helper(SubAgentStatus::Running)).await.unwrap();
    let closed = CoreEvent::ToolCallClosed { call: "w".into() };
    for event in [opened("w"), closed] {
        io.emit(within(event)).await.unwrap();
    }
    let permission = io.request_permission(request(Some("w"))).await;
    io.emit(within(result("w"))).await.unwrap();
    let may = matches!(permission, Permission::Allowed(_));
    if may {
        io.emit(helper(SubAgentStatus::Completed)).await.unwrap();
    }
    may
}

/// A runtime whose agent waits for what the prompt names, and says what came of it.
fn asking(policy: Policy) -> (Runtime, Arc<Mutex<Vec<String>>>) {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&prompts);
    let runtime = runtime(policy, move |request, io| {
        let prompt = request.prompt.text();
        heard.lock().unwrap().push(prompt.clone());
        async move {
            io.bind(SessionRef::new("s")).await.unwrap();
            match prompt.as_str() {
                "page" => say(&io, io.call_frontend_tool(call("chart")).await).await,
                "pages" => {
                    let (one, other) = tokio::join!(
                        io.call_frontend_tool(call("chart")),
                        io.call_frontend_tool(call("open")),
                    );
                    say(&io, (one, other)).await;
                }
                "write" => say(&io, writes(&io, "w").await).await,
                "write twice" => {
                    let both = tokio::join!(writes(&io, "w1"), writes(&io, "w2"));
                    say(&io, both).await;
                }
                "write, then write" => {
                    say(&io, writes(&io, "w1").await).await;
                    say(&io, writes(&io, "w2").await).await;
                }
                "write and page" => {
                    let both = tokio::join!(writes(&io, "w"), io.call_frontend_tool(call("chart")));
                    say(&io, both).await;
                }
                "page and command" => {
                    io.emit(opened("command")).await.unwrap();
                    let command = async {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                        io.emit(result("command")).await.unwrap();
                    };
                    let (answer, ()) = tokio::join!(io.call_frontend_tool(call("chart")), command);
                    say(&io, answer).await;
                }
                "delegate" if !delegates(&io).await => return Ok(StopReason::Cancelled),
                "delegate" => {}
                "give up" => {
                    let patience = Duration::from_secs(30);
                    let asked = io.call_frontend_tool(call("chart"));
                    let answer = tokio::time::timeout(patience, asked).await;
                    say(&io, answer.is_err()).await;
                }
                "ask" => {
                    let question = Question {
                        call: None,
                        message: "Which?".into(),
                        form: Form::Choices(crate::protocol::JsonObject::new()),
                    };
                    say(&io, io.ask_user(question).await).await;
                }
                other => io.emit(text(&format!("said {other}"))).await.unwrap(),
            }
            Ok(StopReason::EndTurn)
        }
    });
    (runtime, prompts)
}

const TOOLS: [&str; 2] = ["chart", "open"];

/// What a page posts that has those tools.
fn posts(run: &str, messages: impl Into<Value>, more: &Value) -> Value {
    let tools = TOOLS.map(|name| json!({"name": name, "description": "", "parameters": {}}));
    let messages: Value = messages.into();
    let mut body = json!({"runId": run, "messages": messages, "tools": tools});
    let members = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    body
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "content": text})
}

fn tool(call: &Value, text: &str) -> Value {
    let id = format!("t-{}", call.as_str().unwrap());
    json!({"id": id, "role": "tool", "toolCallId": call, "content": text})
}

async fn ask(runtime: &Runtime, prompt: &str) -> Vec<Value> {
    let body = posts("r1", json!([user("u1", prompt)]), &json!({}));
    collect(start(runtime, &body).await.unwrap()).await
}

/// The ids of the interrupts that a run ended with.
fn interrupts(events: &[Value]) -> Vec<Value> {
    let outcome = &last(events)["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{outcome}");
    let interrupts = outcome["interrupts"].as_array().unwrap().iter();
    interrupts.map(|it| it["id"].clone()).collect()
}

fn pending(events: &[Value]) -> Vec<Value> {
    let outcome = &last(events)["outcome"];
    assert_eq!(outcome["type"], "success", "{outcome}");
    outcome["pendingToolCallIds"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn resolved(id: &Value, payload: impl Into<Value>) -> Value {
    let payload: Value = payload.into();
    json!({"interruptId": id, "status": "resolved", "payload": payload})
}

/// All text of a stream.
fn said(events: &[Value]) -> String {
    let deltas = events
        .iter()
        .filter(|it| it["type"] == "TEXT_MESSAGE_CONTENT");
    deltas.map(|it| it["delta"].as_str().unwrap()).collect()
}

async fn resume(
    runtime: &Runtime,
    run: &str,
    entries: impl Into<Value>,
) -> Result<Vec<Value>, StartError> {
    let entries: Value = entries.into();
    let body = posts(run, json!([]), &json!({"resume": entries}));
    Ok(collect(start(runtime, &body).await?).await)
}

async fn refused(runtime: &Runtime, body: &Value) -> StartError {
    start(runtime, body).await.map(drop).unwrap_err()
}
