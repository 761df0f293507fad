//! The 31 events of AG-UI 1.0, each with the members that only it has.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::JsonObject;
use crate::protocol::{
    Content, Message, MessageId, Outcome, Patch, RunId, ThreadId, TokenUsage, ToolCallId,
};

/// The type of an event with its own members. Member docs are in AG-UI 1.0, events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "SCREAMING_SNAKE_CASE",
    rename_all_fields = "camelCase"
)]
#[expect(
    missing_docs,
    reason = "the members are those of the protocol, in its words"
)]
pub enum Body {
    /// A run begins. Always the first event.
    RunStarted {
        thread_id: ThreadId,
        run_id: RunId,
        /// What the producer speaks, always declared by us.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol_version: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<RunId>,
        /// The input, as the client may see it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// A run ends, not by a failure.
    RunFinished {
        thread_id: ThreadId,
        run_id: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Absent means success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    /// A run fails.
    RunError {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    /// A step begins.
    StepStarted { step_name: String },
    /// A step ends.
    StepFinished { step_name: String },
    /// A text message begins.
    TextMessageStart {
        message_id: MessageId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<TextRole>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A piece of text.
    TextMessageContent {
        message_id: MessageId,
        delta: String,
    },
    /// A text message ends.
    TextMessageEnd { message_id: MessageId },
    /// A text message in one form. Never written by the daemon.
    TextMessageChunk {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<TextRole>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
    },
    /// A tool call begins.
    ToolCallStart {
        tool_call_id: ToolCallId,
        tool_call_name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<MessageId>,
    },
    /// A piece of the arguments' text.
    ToolCallArgs {
        tool_call_id: ToolCallId,
        delta: String,
    },
    /// The arguments are complete.
    ToolCallEnd { tool_call_id: ToolCallId },
    /// A tool call in one form. Never written by the daemon.
    ToolCallChunk {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<ToolCallId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_name: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
    },
    /// The answer to a call, a message of its own.
    ToolCallResult {
        message_id: MessageId,
        tool_call_id: ToolCallId,
        content: Content,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<ToolRole>,
    },
    /// The whole state document.
    StateSnapshot { snapshot: Value },
    /// A change of the state document.
    StateDelta { delta: Patch },
    /// The whole history.
    MessagesSnapshot { messages: Vec<Message> },
    /// The whole of an activity.
    ActivitySnapshot {
        message_id: MessageId,
        activity_type: String,
        content: JsonObject,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replace: Option<bool>,
    },
    /// A change of an activity.
    ActivityDelta {
        message_id: MessageId,
        activity_type: String,
        patch: Patch,
    },
    /// An event of somebody else's, as it came.
    Raw {
        event: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// An event of the application's, under a namespaced name.
    Custom { name: String, value: Value },
    /// A span of reasoning begins.
    ReasoningStart { message_id: MessageId },
    /// A reasoning message begins.
    ReasoningMessageStart {
        message_id: MessageId,
        role: ReasoningRole,
    },
    /// A piece of reasoning.
    ReasoningMessageContent {
        message_id: MessageId,
        delta: String,
    },
    /// A reasoning message ends.
    ReasoningMessageEnd { message_id: MessageId },
    /// A reasoning message in one form. Never written by the daemon.
    ReasoningMessageChunk {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
    },
    /// A span of reasoning ends.
    ReasoningEnd { message_id: MessageId },
    /// An opaque value for a message or a call.
    ReasoningEncryptedValue {
        subtype: Subtype,
        entity_id: String,
        encrypted_value: String,
    },
    /// A sub-agent begins.
    SubagentStarted {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<ToolCallId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<MessageId>,
    },
    /// A sub-agent ends, not by a failure.
    SubagentFinished {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<SubagentOutcome>,
    },
    /// A sub-agent fails. The run goes on.
    SubagentError {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
}

/// The role of a streamed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextRole {
    /// The application's.
    Developer,
    /// The system's.
    System,
    /// The agent's.
    Assistant,
    /// A person's.
    User,
}

/// The one role of a reasoning message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningRole {
    /// Reasoning.
    #[default]
    Reasoning,
}

/// The one role of a tool result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolRole {
    /// A tool.
    #[default]
    Tool,
}

/// What an encrypted value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subtype {
    /// A message.
    Message,
    /// A tool call.
    ToolCall,
}

/// How a sub-agent ended. There is no cancelled one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum SubagentOutcome {
    /// Done.
    Success,
    /// Waiting for an answer.
    Suspended {
        /// The questions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        interrupt_ids: Vec<String>,
    },
}
