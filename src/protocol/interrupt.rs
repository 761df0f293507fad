//! How a run ends that did not fail, and the questions that can end it.

use serde::{Deserialize, Serialize};

use super::{InterruptId, ToolCallId, event::JsonObject};

/// `RUN_FINISHED.outcome`. Its absence on the wire means success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Outcome {
    /// Done, or stopped on tools of the page.
    Success {
        /// Exactly the calls of this run without a result, in call order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<ToolCallId>,
    },
    /// Stopped to ask. Never empty.
    Interrupt {
        /// The questions, with ids unique in the run.
        interrupts: Vec<Interrupt>,
    },
    /// Stopped on purpose.
    Cancelled,
}

/// A question to the person in front of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupt {
    /// What an answer refers to.
    pub id: InterruptId,
    /// A namespaced reason.
    pub reason: String,
    /// A sentence for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The call that waits for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The shape of an answer, a JSON Schema object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<JsonObject>,
    /// ISO 8601; past it the client may only give up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Open metadata, never `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// The sub-agent that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
}
