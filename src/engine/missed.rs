//! Results that a client has not read. A call can be open when the reader of its run hangs up, which is how pages
//! stop a run; the thread has the result then, and the page shows a call that goes on for ever. Decides, changes
//! nothing.

use std::collections::{HashMap, HashSet};

use crate::{
    protocol::{Message, MessageBody, ToolCallId},
    store::Line,
};

/// How many results are told at the beginning of one run, and how many bytes of them: the client is not to wait long
/// for what it has asked.
const MOST: usize = 64;
const BYTES: usize = 4 * 1024 * 1024;

/// The results that the daemon has written of calls that are shown without one, in the order of the calls. A call
/// that has none in the transcript either, because the page's answer is awaited or was passed over, stays as it is.
pub(super) fn results(past: &[Line], shown: &[Message]) -> Vec<Message> {
    let mut known: HashSet<&ToolCallId> = shown.iter().filter_map(answered).collect();
    let calls = shown.iter().flat_map(|message| match &message.body {
        MessageBody::Assistant { tool_calls, .. } => tool_calls.as_slice(),
        _ => &[],
    });
    let lacking: Vec<_> = calls.filter(|call| known.insert(&call.id)).collect();
    if lacking.is_empty() {
        return Vec::new();
    }
    let ids: HashSet<_> = shown.iter().map(|message| &message.id).collect();
    // What a history has brought has the message before it.
    let own = past.iter().filter(|line| line.after.is_none());
    let own = own.map(|line| &line.message);
    let kept: HashMap<_, _> = own.filter_map(|it| Some((answered(it)?, it))).collect();
    let kept = lacking
        .iter()
        .filter_map(|call| kept.get(&call.id).copied());
    let mut room = BYTES;
    kept.filter(|message| !ids.contains(&message.id))
        .take(MOST)
        .take_while(|message| {
            let size = serde_json::to_string(message).map_or(0, |json| json.len());
            let left = room.checked_sub(size);
            room = left.unwrap_or_default();
            left.is_some()
        })
        .cloned()
        .collect()
}

/// The call that a message is the result of.
pub(super) fn answered(message: &Message) -> Option<&ToolCallId> {
    match &message.body {
        MessageBody::Tool { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn messages(messages: &Value) -> Vec<Message> {
        serde_json::from_value(messages.clone()).unwrap()
    }

    fn lines(stored: &Value) -> Vec<Line> {
        messages(stored).into_iter().map(Line::from).collect()
    }

    fn calls(id: &str, calls: &[&str]) -> Value {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        let calls: Vec<_> = calls.iter().map(call).collect();
        json!({"id": id, "role": "assistant", "toolCalls": calls})
    }

    fn result(id: &str, call: &str) -> Value {
        json!({"id": id, "role": "tool", "toolCallId": call, "content": "stopped"})
    }

    #[test]
    fn a_call_that_is_shown_without_its_result_gets_the_one_that_is_kept_once() {
        let user = json!({"id": "u", "role": "user", "content": "on"});
        let mut past = lines(&json!([
            calls("a", &["c1", "c2", "open", "theirs"]),
            result("t1", "c1"),
            result("t2", "c2"),
            result("t3", "theirs"),
            user,
        ]));
        past[3].after = Some(past[0].message.id.clone());
        let cases: [(Value, &[&str]); 7] = [
            (json!([user]), &[]),
            (json!([calls("a", &["c1"]), user]), &["t1"]),
            (
                json!([calls("a", &["c2", "c1", "open"]), user]),
                &["t2", "t1"],
            ),
            (
                json!([calls("a", &["c1"]), calls("b", &["c1"]), user]),
                &["t1"],
            ),
            // Under whatever id it has the result, and wherever that stands.
            (json!([calls("a", &["c1"]), user, result("x", "c1")]), &[]),
            (
                json!([calls("a", &["open", "theirs", "forged"]), user]),
                &[],
            ),
            // Something else is called so there.
            (json!([calls("t1", &["c1"]), user]), &[]),
        ];
        for (shown, expected) in cases {
            let told = results(&past, &messages(&shown));
            let told: Vec<_> = told.iter().map(|message| message.id.as_str()).collect();
            assert_eq!(told, expected, "{shown}");
        }
    }

    #[test]
    fn what_is_told_at_once_is_bounded_in_number_and_in_bytes() {
        let ids: Vec<_> = (0..=MOST).map(|at| format!("c{at}")).collect();
        let ids: Vec<_> = ids.iter().map(String::as_str).collect();
        let shown = messages(&json!([calls("a", &ids)]));
        let answers = |content: &str| {
            let results = ids.iter().map(|id| {
                let mut result = result(&format!("t{id}"), id);
                result["content"] = content.into();
                result
            });
            lines(&results.collect())
        };
        assert_eq!(results(&answers("x"), &shown).len(), MOST);
        assert_eq!(results(&answers(&"x".repeat(BYTES / 3)), &shown).len(), 2);
    }
}
