//! What a session remembers, as messages that clients can be shown: with ids of ours.

use std::collections::HashMap;

use crate::{
    env::Env,
    protocol::{Message, MessageBody, MessageId, ToolCallId},
};

/// Gives each message an id, and each call another than the core's, the same wherever it stands.
pub(super) fn messages(past: Vec<MessageBody>, env: &Env) -> Vec<Message> {
    let mut calls: HashMap<ToolCallId, ToolCallId> = HashMap::new();
    let mut renamed = |id: &ToolCallId| {
        let new = || ToolCallId::new(env.id("call")).expect("our own ids are legal");
        calls.entry(id.clone()).or_insert_with(new).clone()
    };
    let past = past.into_iter().map(|mut body| {
        match &mut body {
            MessageBody::Assistant { tool_calls, .. } => {
                for call in tool_calls {
                    call.id = renamed(&call.id);
                }
            }
            MessageBody::Tool { tool_call_id, .. } => *tool_call_id = renamed(tool_call_id),
            _ => {}
        }
        let id = MessageId::new(env.id("msg")).expect("our own ids are legal");
        Message::new(id, body)
    });
    past.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_call_and_its_result_keep_together_under_an_id_of_ours() {
        let call = json!({"id": "core-1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        let past: Vec<MessageBody> = serde_json::from_value(json!([
            {"role": "user", "content": "go"},
            {"role": "assistant", "toolCalls": [call]},
            {"role": "tool", "toolCallId": "core-1", "content": "done"},
        ]))
        .unwrap();
        let shown: Value = serde_json::to_value(messages(past, &Env::fixed(0))).unwrap();
        let id = &shown[1]["toolCalls"][0]["id"];
        assert_eq!(id, &shown[2]["toolCallId"]);
        assert_ne!(id, "core-1");
        assert!(shown[0]["id"] != shown[1]["id"] && shown[1]["id"] != shown[2]["id"]);
    }
}
