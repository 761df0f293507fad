//! The events at the two ends of a run, and what is said beside it.

use serde_json::{Value, json};

use super::{Namespace, bounds, ending::Ending};
use crate::protocol::{
    Body, Message, MessageBody, Outcome, PROTOCOL_VERSION, RunAgentInput, RunId, SubagentOutcome,
    ThreadId, TokenUsage, downgrade::CANCELLED,
};

/// The metadata of what tells of a failure, under the daemon's namespace.
pub(super) const IS_ERROR: &str = "isError";

/// What a run is called.
#[derive(Debug, Clone)]
pub(super) struct RunIds {
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
    pub(super) parent: Option<RunId>,
}

impl RunIds {
    /// What the run is called that a request asks for.
    pub(super) fn of(input: &RunAgentInput) -> Self {
        Self {
            thread: input.thread_id.clone(),
            run: input.run_id.clone(),
            parent: input.parent_run_id.clone(),
        }
    }
}

/// The first event.
pub(super) fn started(ids: &RunIds) -> Body {
    Body::RunStarted {
        thread_id: ids.thread.clone(),
        run_id: ids.run.clone(),
        protocol_version: Some(PROTOCOL_VERSION.into()),
        parent_run_id: ids.parent.clone(),
        input: None,
    }
}

/// Whether the message says why a run failed. The daemon says that, in a place where its agent speaks.
pub(super) fn is_explanation(message: &Message, namespace: &Namespace) -> bool {
    let is_error = message.metadata.as_ref();
    let is_error = is_error.and_then(|it| it.get(&namespace.name(IS_ERROR)));
    matches!(message.body, MessageBody::Assistant { .. }) && is_error == Some(&true.into())
}

/// A history as an agent is told it: what the daemon has said in its place is no word of its own, nor is what its
/// sub-agents have said.
pub(super) fn as_told<C: FromIterator<Message>>(
    history: impl Iterator<Item = Message>,
    namespace: &Namespace,
) -> C {
    history
        .filter(|message| message.subagent_run_id.is_none() && !is_explanation(message, namespace))
        .collect()
}

/// Something that AG-UI has no event for, under the daemon's namespace.
pub(super) fn notice(namespace: &Namespace, name: &str, value: Value) -> Body {
    let too_long = value.to_string().len() > bounds::TEXT;
    Body::Custom {
        name: namespace.name(bounds::clip(name, bounds::NAME)),
        value: if too_long {
            json!({"truncated": true})
        } else {
            value
        },
    }
}

/// How a sub-agent that is active ends with its run. `speaker`: the id of its invocation.
pub(super) fn sub_agent(ending: &Ending, speaker: Option<&str>, outlives_turn: bool) -> Body {
    let suspended = |interrupt_ids| Body::SubagentFinished {
        result: None,
        outcome: Some(SubagentOutcome::Suspended { interrupt_ids }),
    };
    match ending {
        Ending::Asking { interrupts, .. } => {
            let own = interrupts
                .iter()
                .filter(|it| it.subagent_run_id.as_deref() == speaker);
            suspended(own.map(|it| it.id.as_str().to_owned()).collect())
        }
        Ending::Done { .. } => suspended(Vec::new()),
        Ending::Cancelled | Ending::Failed { .. } if outlives_turn => suspended(Vec::new()),
        // There is no outcome for one that was stopped.
        Ending::Cancelled => Body::SubagentError {
            message: "the run was cancelled".into(),
            code: Some(CANCELLED.into()),
        },
        Ending::Failed { code, message } => Body::SubagentError {
            message: bounds::clip(message, bounds::MESSAGE).into(),
            code: Some(code.as_str().into()),
        },
    }
}

/// The one terminal event.
pub(super) fn ended(ids: &RunIds, ending: Ending, usage: Vec<TokenUsage>) -> Body {
    let finished = |result, outcome, usage| Body::RunFinished {
        thread_id: ids.thread.clone(),
        run_id: ids.run.clone(),
        result,
        outcome: Some(outcome),
        usage,
    };
    match ending {
        Ending::Done { stop_reason } => finished(
            stop_reason.map(|reason| json!({"stopReason": reason})),
            Outcome::Success {
                pending_tool_call_ids: Vec::new(),
            },
            usage,
        ),
        Ending::Asking {
            interrupts,
            pending: pending_tool_call_ids,
        } => {
            let outcome = if interrupts.is_empty() {
                Outcome::Success {
                    pending_tool_call_ids,
                }
            } else {
                Outcome::Interrupt { interrupts }
            };
            finished(None, outcome, usage)
        }
        Ending::Cancelled => finished(None, Outcome::Cancelled, usage),
        Ending::Failed { code, message } => Body::RunError {
            message: bounds::clip(&message, bounds::MESSAGE).into(),
            code: Some(code.as_str().into()),
            usage,
        },
    }
}
