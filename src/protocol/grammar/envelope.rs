//! What holds for an event wherever it stands.

use super::{Check, breach};
use crate::protocol::{Body, Event, TokenUsage};

/// The largest whole number that every client can read.
const MAX_INTEGER: u64 = (1 << 53) - 1;

pub(super) fn check(event: &Event) -> Check {
    if event
        .timestamp
        .is_some_and(|at| at.unsigned_abs() > MAX_INTEGER)
    {
        return breach("a timestamp is an integer within 2^53");
    }
    if event
        .metadata
        .as_ref()
        .is_some_and(|open| open.contains_key("ag-ui"))
    {
        return breach("the metadata key `ag-ui` is reserved");
    }
    let tagged = event.subagent_run_id.is_some();
    match &event.body {
        Body::RunStarted { .. } | Body::MessagesSnapshot { .. } if tagged => {
            breach("this event belongs to no sub-agent")
        }
        Body::RunFinished { usage, .. } | Body::RunError { usage, .. } => {
            if tagged {
                return breach("this event belongs to no sub-agent");
            }
            if usage
                .iter()
                .flat_map(counts)
                .any(|count| count > MAX_INTEGER)
            {
                return breach("a token count is an integer within 2^53");
            }
            Ok(())
        }
        Body::SubagentStarted { .. }
        | Body::SubagentFinished { .. }
        | Body::SubagentError { .. }
            if !tagged =>
        {
            breach("a sub-agent's event carries its subagentRunId")
        }
        Body::TextMessageContent { delta, .. }
        | Body::ReasoningMessageContent { delta, .. }
        | Body::ToolCallArgs { delta, .. }
            if delta.is_empty() =>
        {
            breach("no delta is empty")
        }
        Body::StateDelta { delta: patch } | Body::ActivityDelta { patch, .. }
            if patch.is_empty() =>
        {
            breach("no patch is empty")
        }
        _ => Ok(()),
    }
}

fn counts(usage: &TokenUsage) -> impl Iterator<Item = u64> {
    [
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.reasoning_tokens,
        usage.cached_input_tokens,
        usage.cache_write_input_tokens,
    ]
    .into_iter()
    .flatten()
}
