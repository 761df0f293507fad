//! What a client posts: `RunAgentInput` of AG-UI 1.0, after [`super::decode`] has read it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{InterruptId, Message, RunId, ThreadId, event::JsonObject};

/// One request for a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunAgentInput {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run that is asked for.
    pub run_id: RunId,
    /// What the client speaks; absent before 1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// Lineage only; it does not resume anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    /// The client's state, absent when the client has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The history as the client shows it.
    pub messages: Vec<Message>,
    /// Tools that run in the page.
    pub tools: Vec<Tool>,
    /// What the page wants the model to know.
    pub context: Vec<ContextEntry>,
    /// For the agent, untouched; without effect on policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarded_props: Option<Value>,
    /// Answers to the questions that ended an earlier run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resume: Vec<ResumeEntry>,
}

/// A tool of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// Usually a JSON Schema; any JSON but `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// Open metadata, never `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// A piece of context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextEntry {
    /// What it is.
    pub description: String,
    /// The text, often JSON.
    pub value: String,
}

/// An answer to one interrupt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeEntry {
    /// The question.
    pub interrupt_id: InterruptId,
    /// Whether it was answered or given up.
    pub status: ResumeStatus,
    /// The answer; any JSON but a whole `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Open metadata, never `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// How an interrupt was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResumeStatus {
    /// With an answer. A denial is one.
    Resolved,
    /// Given up.
    Cancelled,
}
