//! Requests that answer what a turn waits for, and what a run ended with.

use serde_json::{Value, json};

use super::{Answer, Daemon, Stream, input};

/// A request that says nothing and brings these answers.
pub(crate) fn answering(thread: &str, run: &str, resume: &Value) -> Value {
    let mut input = input(thread, run, "");
    input["messages"] = json!([]);
    input["resume"] = resume.clone();
    input
}

/// An answer to an interrupt.
pub(crate) fn answer(interrupt: &Value, payload: &Value) -> Value {
    json!({"interruptId": interrupt["id"], "status": "resolved", "payload": payload})
}

/// The answer that allows.
pub(crate) fn yes(interrupt: &Value) -> Value {
    answer(interrupt, &json!({"approved": true}))
}

/// A request with tools of the page.
pub(crate) fn with_tools(mut input: Value, names: &[&str]) -> Value {
    let tool = |name| json!({"name": name, "description": "", "parameters": {"type": "object"}});
    input["tools"] = names.iter().map(tool).collect();
    input
}

/// A message with the result of a call.
pub(crate) fn result(call: &Value, content: &str) -> Value {
    let id = format!("result-{}", call.as_str().unwrap());
    json!({"id": id, "role": "tool", "toolCallId": call, "content": content})
}

/// The interrupts that a run ended with.
pub(crate) fn interrupts(events: &[Value]) -> Vec<Value> {
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{outcome}");
    outcome["interrupts"].as_array().unwrap().clone()
}

/// The calls that a run ended with.
pub(crate) fn pending(events: &[Value]) -> Vec<Value> {
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "success", "{outcome}");
    outcome["pendingToolCallIds"].as_array().unwrap().clone()
}

/// The results of a run, each with its call.
pub(crate) fn results(events: &[Value]) -> Vec<(Value, Value)> {
    let results = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_RESULT");
    results
        .map(|event| (event["toolCallId"].clone(), event["content"].clone()))
        .collect()
}

/// All text of a run that goes on with a turn.
pub(crate) fn text(events: &[Value]) -> String {
    let deltas = events
        .iter()
        .filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
    deltas
        .map(|event| event["delta"].as_str().unwrap())
        .collect()
}

/// The notices of a run, by name.
pub(crate) fn notices(events: &[Value]) -> Vec<String> {
    let notices = events.iter().filter(|event| event["type"] == "CUSTOM");
    notices
        .map(|event| event["name"].as_str().unwrap().to_owned())
        .collect()
}

impl Daemon {
    /// Has a run to its end.
    pub(crate) async fn events(&self, input: &Value) -> Vec<Value> {
        self.post(input).stream().await.collect().await
    }

    /// Has a run that ends with interrupts, and gives them.
    pub(crate) async fn interrupted(&self, thread: &str, prompt: &str) -> Vec<Value> {
        let run = format!("asks-on-{thread}");
        interrupts(&self.events(&input(thread, &run, prompt)).await)
    }

    /// What is kept of a thread.
    pub(crate) async fn thread(&self, thread: &str) -> Value {
        let path = format!("/agui/demo/threads/{thread}");
        let ask = self.ask("GET", &path).without("content-type");
        ask.send().await.json()
    }

    /// Follows a thread.
    pub(crate) async fn watch(&self, thread: &str) -> Stream {
        let path = format!("/agui/demo/threads/{thread}/events?protocolVersion=1.0");
        let ask = self.ask("GET", &path).without("content-type");
        ask.stream().await
    }

    /// Does something to a thread.
    pub(crate) async fn act(&self, method: &str, thread: &str, part: &str) -> Answer {
        let path = format!("/agui/demo/threads/{thread}{part}");
        let ask = self.ask(method, &path).without("content-type");
        ask.send().await
    }
}
