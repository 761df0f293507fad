//! One event of a stream: its body and the members that every event may carry.

mod body;
#[cfg(test)]
mod tests;

pub use body::{Body, ReasoningRole, SubagentOutcome, Subtype, TextRole, ToolRole};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON object.
pub type JsonObject = serde_json::Map<String, Value>;

/// One event (AG-UI 1.0, events). It serialises to exactly what the schema allows: what is absent is
/// left out, never `null`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The event's type and its own members.
    #[serde(flatten)]
    pub body: Body,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// The sub-agent that it belongs to. Not on `RUN_*` and `MESSAGES_SNAPSHOT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
    /// Open metadata, never `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// What the event was made from, for debugging.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_event: Option<Value>,
}

impl Event {
    /// An event with a time and nothing else of the common members.
    pub fn at(timestamp: i64, body: Body) -> Self {
        Self {
            timestamp: Some(timestamp),
            ..body.into()
        }
    }
}

impl From<Body> for Event {
    fn from(body: Body) -> Self {
        Self {
            body,
            timestamp: None,
            subagent_run_id: None,
            metadata: None,
            raw_event: None,
        }
    }
}
