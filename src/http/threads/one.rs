//! `{path}/{agent}/threads/{thread}` as JSON: what is shown of it, and which of its runs a cancel means.

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::Value;

use crate::{
    engine::View,
    http::problem::Problem,
    protocol::{Interrupt, Message, RunId, ThreadId, ToolCallId, decode::DecodeError},
    store::{Outcome, Run},
};

/// A run, as a list and a thread show the last one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LastRun<'a> {
    run_id: &'a RunId,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    started_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
}

impl<'a> LastRun<'a> {
    /// Shows a run; `live` is the one that is live on its thread.
    pub(super) fn new(run: &'a Run, live: Option<&RunId>) -> Self {
        let outcome = if live == Some(&run.id) {
            run.outcome.as_str()
        } else {
            run.outcome.at_rest()
        };
        let (code, message) = match &run.outcome {
            Outcome::Failed { code, message } => (Some(code), Some(message)),
            _ => (None, None),
        };
        Self {
            run_id: &run.id,
            outcome,
            code: code.map(String::as_str),
            message: message.map(String::as_str),
            started_at: run.started_ms,
            ended_at: run.ended_ms,
        }
    }
}

/// A thread.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    thread_id: &'a ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    created_at: i64,
    updated_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    live_run: Option<&'a RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<LastRun<'a>>,
    #[serde(flatten)]
    said: Said<'a>,
    state: &'a Value,
    interrupts: &'a [Interrupt],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pending_tool_call_ids: &'a [ToolCallId],
}

impl<'a> From<&'a View> for Shown<'a> {
    fn from(view: &'a View) -> Self {
        let live = view.live_run.as_ref();
        let last = view.last_run.as_ref();
        Self {
            thread_id: &view.thread,
            title: view.title.as_deref(),
            created_at: view.created_ms,
            updated_at: view.updated_ms,
            live_run: live,
            last_run: last.map(|run| LastRun::new(run, live)),
            said: Said(view.messages.as_deref()),
            state: &view.state,
            interrupts: &view.interrupts,
            pending_tool_call_ids: &view.pending,
        }
    }
}

/// All messages, or that there are more: half a conversation looks like a whole one.
#[derive(Debug)]
struct Said<'a>(Option<&'a [Message]>);

impl Serialize for Said<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members = to.serialize_map(Some(1))?;
        match self.0 {
            Some(messages) => members.serialize_entry("messages", messages)?,
            None => members.serialize_entry("partial", &true)?,
        }
        members.end()
    }
}

/// What a cancel came to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stopped<'a> {
    pub(super) thread_id: &'a ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run_id: Option<RunId>,
    /// Whether anything was live.
    pub(super) cancelled: bool,
}

/// The one run that a cancel means, by its body; `None` is whichever is live.
pub(super) fn only(body: &[u8]) -> Result<Option<RunId>, Problem> {
    if body.is_empty() {
        return Ok(None);
    }
    let invalid = |pointer: &str, reason: String| DecodeError::Invalid {
        pointer: pointer.into(),
        reason,
    };
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| DecodeError::Syntax(format!("body is not valid JSON: {error}")))?;
    let Value::Object(members) = value else {
        return Err(invalid("", "must be an object".into()).into());
    };
    match members.get("runId") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(run)) => {
            let run = RunId::new(run.as_str());
            Ok(Some(run.map_err(|why| invalid("/runId", why.to_string()))?))
        }
        Some(_) => Err(invalid("/runId", "must be a string".into()).into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DONE: Outcome = Outcome::Success { stop_reason: None };

    fn view(outcome: Outcome, live: Option<&str>) -> View {
        View {
            thread: ThreadId::new("t1").unwrap(),
            title: None,
            created_ms: 1,
            updated_ms: 2,
            live_run: live.map(|run| RunId::new(run).unwrap()),
            last_run: Some(Run {
                id: RunId::new("r1").unwrap(),
                outcome,
                started_ms: 3,
                ended_ms: None,
            }),
            messages: Some(Vec::new()),
            state: json!({"a": 1}),
            interrupts: Vec::new(),
            pending: Vec::new(),
        }
    }

    #[test]
    fn a_run_that_has_not_ended_is_running_only_while_it_is_live() {
        for (outcome, live, word) in [
            (Outcome::Running, Some("r1"), "running"),
            (Outcome::Running, Some("r2"), "lost"),
            (Outcome::Running, None, "lost"),
            (Outcome::Cancelled, None, "cancelled"),
            (DONE, None, "success"),
        ] {
            let view = view(outcome, live);
            let shown = serde_json::to_value(Shown::from(&view)).unwrap();
            assert_eq!(shown["lastRun"]["outcome"], word);
            assert_eq!(shown["liveRun"].as_str(), live);
        }
    }

    #[test]
    fn a_conversation_that_is_not_whole_is_left_out_and_said_to_be() {
        let whole = view(DONE, None);
        let shown = serde_json::to_value(Shown::from(&whole)).unwrap();
        assert_eq!(
            shown,
            json!({
                "threadId": "t1", "createdAt": 1, "updatedAt": 2,
                "lastRun": {"runId": "r1", "outcome": "success", "startedAt": 3},
                "messages": [], "state": {"a": 1}, "interrupts": [],
            })
        );
        let half = View {
            messages: None,
            ..whole
        };
        let shown = serde_json::to_value(Shown::from(&half)).unwrap();
        assert_eq!(shown["partial"], true);
        assert!(shown.get("messages").is_none());
    }

    #[test]
    fn a_cancel_means_one_run_or_whichever_is_live() {
        let run = |id: &str| Some(RunId::new(id).unwrap());
        for (body, expected) in [
            ("", None),
            ("{}", None),
            ("{\"runId\":null}", None),
            ("{\"runId\":\"r1\",\"other\":1}", run("r1")),
        ] {
            assert_eq!(only(body.as_bytes()), Ok(expected), "{body}");
        }
        for (body, code, message) in [
            ("{", "invalid_json", "body is not valid JSON"),
            ("[]", "invalid_input", "body must be an object"),
            ("{\"runId\":7}", "invalid_input", "/runId must be a string"),
            (
                "{\"runId\":\"\"}",
                "invalid_input",
                "/runId must not be blank",
            ),
        ] {
            let problem = only(body.as_bytes()).unwrap_err();
            assert_eq!(problem.code(), code, "{body}");
            assert!(problem.message().starts_with(message), "{body}");
        }
    }
}
