//! What a client from before 1.0 cannot read, and what it gets instead. The only place that knows.
//!
//! Clients from before 1.0 fail a run on any shape they do not know. The rules are those of AG-UI 1.0,
//! versioning: nothing is invented, and ids and order stay. One outcome cannot be kept: such a client
//! knows no run that was stopped on purpose, and of what it does know a failure misleads least.
//! An interrupt goes out as it is; those that know none pass over it. What a sub-agent says would be taken for the
//! agent's own words, so it is left out with the sub-agent.

#[cfg(test)]
mod tests;

use super::{Body, Content, Event, Message, MessageBody, Outcome, Part, PartKind, Source};

/// The code of the `RUN_ERROR` that stands for the outcome `cancelled`.
pub const CANCELLED: &str = "cancelled";

/// How an event reaches a client from before 1.0.
#[derive(Debug, Clone, PartialEq)]
pub enum Legacy {
    /// As it is.
    Same,
    /// Not at all.
    Omitted,
    /// In another shape.
    Instead(Box<Event>),
}

/// Judges one event.
pub fn legacy(event: &Event) -> Legacy {
    if event.subagent_run_id.is_some() {
        return Legacy::Omitted;
    }
    instead(&event.body).map_or(Legacy::Same, |body| {
        Legacy::Instead(Box::new(Event {
            body,
            timestamp: event.timestamp,
            subagent_run_id: None,
            metadata: event.metadata.clone(),
            raw_event: event.raw_event.clone(),
        }))
    })
}

/// What [`legacy`] takes from an event that the client cannot find out in another way. To be told to
/// whoever runs the daemon, not to the client (AG-UI 1.0, versioning: a lossy downgrade warns).
pub fn lost(event: &Event) -> Option<&'static str> {
    if event.subagent_run_id.is_some() {
        return Some("the course of a sub-agent");
    }
    match &event.body {
        Body::RunFinished {
            outcome: Some(Outcome::Cancelled),
            ..
        } => Some("the outcome `cancelled`"),
        Body::ToolCallResult { content, .. } if content.has_media() => {
            Some("the media of a tool result")
        }
        Body::MessagesSnapshot { messages } if messages.iter().any(loses_media) => {
            Some("media of the history")
        }
        _ => None,
    }
}

fn instead(body: &Body) -> Option<Body> {
    Some(match body {
        Body::RunFinished {
            outcome: Some(Outcome::Cancelled),
            usage,
            ..
        } => Body::RunError {
            message: "the run was cancelled".to_owned(),
            code: Some(CANCELLED.to_owned()),
            usage: usage.clone(),
        },
        Body::RunFinished {
            thread_id,
            run_id,
            result,
            outcome: Some(Outcome::Success {
                pending_tool_call_ids,
            }),
            usage,
        } if !pending_tool_call_ids.is_empty() => Body::RunFinished {
            thread_id: thread_id.clone(),
            run_id: run_id.clone(),
            result: result.clone(),
            outcome: None,
            usage: usage.clone(),
        },
        Body::ToolCallResult {
            message_id,
            tool_call_id,
            content: content @ Content::Parts(_),
            role,
        } => Body::ToolCallResult {
            message_id: message_id.clone(),
            tool_call_id: tool_call_id.clone(),
            content: Content::Text(content.text()),
            role: *role,
        },
        Body::MessagesSnapshot { messages } if !messages.iter().all(is_readable) => {
            Body::MessagesSnapshot {
                messages: (messages.iter())
                    .filter(|message| message.subagent_run_id.is_none())
                    .map(readable)
                    .collect(),
            }
        }
        _ => return None,
    })
}

fn is_readable(message: &Message) -> bool {
    if message.subagent_run_id.is_some() {
        return false;
    }
    match &message.body {
        MessageBody::Tool { content, .. } => matches!(content, Content::Text(_)),
        MessageBody::User {
            content: Content::Parts(parts),
            ..
        } => parts.iter().all(has_known_source),
        _ => true,
    }
}

fn loses_media(message: &Message) -> bool {
    match &message.body {
        _ if message.subagent_run_id.is_some() => false,
        MessageBody::Tool { content, .. } => content.has_media(),
        _ => !is_readable(message),
    }
}

/// The message with a tool's parts as text, and a person's parts without those at a provider.
fn readable(message: &Message) -> Message {
    let mut message = message.clone();
    match &mut message.body {
        MessageBody::Tool { content, .. } => *content = Content::Text(content.text()),
        MessageBody::User {
            content: Content::Parts(parts),
            ..
        } => parts.retain(has_known_source),
        _ => {}
    }
    message
}

fn has_known_source(part: &Part) -> bool {
    match &part.kind {
        PartKind::Text { .. } => true,
        PartKind::Image { source }
        | PartKind::Audio { source }
        | PartKind::Video { source }
        | PartKind::Document { source } => !matches!(source, Source::File { .. }),
    }
}
