//! Reads one message of the history, by its role.

use serde::Deserialize;
use serde_json::Value;

use super::{
    content::content,
    reader::{Members, Read, Reader},
    value::{id, list, named, object, text},
};
use crate::protocol::{
    FunctionCall, FunctionType, Message, MessageBody, MessageId, ToolCall, ToolCallId,
};

/// The role of a message. What else a message may have depends on it, so it is read first.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Developer,
    System,
    User,
    Assistant,
    Tool,
    Reasoning,
    Activity,
}

/// `None` for a role that the protocol does not know.
pub(super) fn message(value: Value, reader: &mut Reader) -> Read<Option<Message>> {
    let mut members = Members::of(value, reader)?;
    let role = members.required("role", reader, text)?;
    let Some(role) = named(&role) else {
        reader.warn("message of an unknown role left out");
        return Ok(None);
    };
    let id = members.required("id", reader, id(MessageId::new))?;
    let body = body(role, &mut members, reader)?;
    let encrypted_value = match role {
        Role::Activity => None,
        _ => members.optional("encryptedValue", reader, text)?,
    };
    let message = Message {
        id,
        body,
        encrypted_value,
        metadata: members.optional("metadata", reader, object)?,
        subagent_run_id: members.optional("subagentRunId", reader, text)?,
    };
    members.ignore_rest(reader);
    Ok(Some(message))
}

fn body(role: Role, members: &mut Members, reader: &mut Reader) -> Read<MessageBody> {
    Ok(match role {
        Role::Developer => MessageBody::Developer {
            content: members.required("content", reader, text)?,
            name: members.optional("name", reader, text)?,
        },
        Role::System => MessageBody::System {
            content: members.required("content", reader, text)?,
            name: members.optional("name", reader, text)?,
        },
        Role::User => MessageBody::User {
            content: members.required("content", reader, content)?,
            name: members.optional("name", reader, text)?,
        },
        Role::Assistant => MessageBody::Assistant {
            content: members.optional("content", reader, text)?,
            name: members.optional("name", reader, text)?,
            tool_calls: members
                .optional("toolCalls", reader, list(tool_call))?
                .unwrap_or_default(),
        },
        Role::Tool => MessageBody::Tool {
            content: members.required("content", reader, content)?,
            tool_call_id: members.required("toolCallId", reader, id(ToolCallId::new))?,
            error: members.optional("error", reader, text)?,
        },
        Role::Reasoning => MessageBody::Reasoning {
            content: members.required("content", reader, text)?,
        },
        Role::Activity => MessageBody::Activity {
            activity_type: members.required("activityType", reader, text)?,
            content: members.required("content", reader, object)?,
        },
    })
}

/// `None` for a type of call that the protocol does not know. No type at all means a function.
fn tool_call(value: Value, reader: &mut Reader) -> Read<Option<ToolCall>> {
    let mut members = Members::of(value, reader)?;
    let kind = match members.optional("type", reader, text)? {
        None => Some(FunctionType::default()),
        Some(name) => named(&name),
    };
    let Some(kind) = kind else {
        reader.warn("tool call of an unknown type left out");
        return Ok(None);
    };
    let call = ToolCall {
        id: members.required("id", reader, id(ToolCallId::new))?,
        kind,
        function: members.required("function", reader, function)?,
        encrypted_value: members.optional("encryptedValue", reader, text)?,
        metadata: members.optional("metadata", reader, object)?,
    };
    members.ignore_rest(reader);
    Ok(Some(call))
}

fn function(value: Value, reader: &mut Reader) -> Read<FunctionCall> {
    let mut members = Members::of(value, reader)?;
    let function = FunctionCall {
        name: members.required("name", reader, text)?,
        arguments: members.required("arguments", reader, text)?,
    };
    members.ignore_rest(reader);
    Ok(function)
}
