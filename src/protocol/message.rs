//! The seven kinds of message of AG-UI 1.0.

use serde::{Deserialize, Serialize};

use super::{Content, MessageId, ToolCallId, event::JsonObject};

/// One message of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Unique in its thread.
    pub id: MessageId,
    /// What the role allows.
    #[serde(flatten)]
    pub body: MessageBody,
    /// An opaque value of the provider. Never on an activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
    /// Open metadata, never `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// The sub-agent it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
}

impl Message {
    /// Whether a person said it.
    pub fn is_users(&self) -> bool {
        matches!(self.body, MessageBody::User { .. })
    }

    /// A message of which nothing more is known.
    pub fn new(id: MessageId, body: MessageBody) -> Self {
        Self {
            id,
            body,
            encrypted_value: None,
            metadata: None,
            subagent_run_id: None,
        }
    }
}

/// A message's role with the members that the role allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "role",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum MessageBody {
    /// Instructions of the application.
    Developer {
        /// The text.
        content: String,
        /// A name of the author.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Instructions of the system.
    System {
        /// The text.
        content: String,
        /// A name of the author.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// What a person said.
    User {
        /// Text or parts.
        content: Content,
        /// A name of the author.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// What the agent said and called.
    Assistant {
        /// The text, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// A name of the author.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The calls of this message, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// The answer to a call.
    Tool {
        /// Text or parts.
        content: Content,
        /// The call that it answers.
        tool_call_id: ToolCallId,
        /// Set when the call failed, beside the content.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// What the agent thought.
    Reasoning {
        /// The text.
        content: String,
    },
    /// Something to show beside the conversation.
    Activity {
        /// What the page makes of it.
        activity_type: String,
        /// The data to show.
        content: JsonObject,
    },
}

/// A call that an assistant message holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id that results refer to.
    pub id: ToolCallId,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: FunctionType,
    /// What is called, with what.
    pub function: FunctionCall,
    /// An opaque value of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_value: Option<String>,
    /// Open metadata, never `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// The one type of call that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FunctionType {
    /// A function.
    #[default]
    Function,
}

/// A function's name and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The tool's name.
    pub name: String,
    /// JSON text, possibly invalid.
    pub arguments: String,
}
