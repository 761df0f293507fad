use std::{collections::HashSet, fs};

use serde_json::json;

use super::*;
use crate::{cores::acp::vendors::Vendor, protocol::Source};

fn past(vendor: Vendor) -> Past {
    Past::new(Translator::new("s", "/srv/dev/project", vendor))
}

/// The messages that these updates make, as JSON.
fn replayed(updates: &[Value]) -> Value {
    let mut past = past(Vendor::default());
    for update in updates {
        past.hear(json!({"sessionId": "s", "update": update}));
    }
    json!(past.finish().expect("it is not too much"))
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": format!("{kind}_chunk"), "content": {"type": "text", "text": text}})
}

fn of_message(mut chunk: Value, id: &str) -> Value {
    chunk["messageId"] = json!(id);
    chunk
}

#[test]
fn a_history_becomes_messages_in_their_order() {
    let messages = replayed(&[
        chunk("user_message", "look"),
        chunk("agent_thought", "h"),
        chunk("agent_thought", "m"),
        chunk("agent_message", "I "),
        chunk("agent_message", "look."),
        json!({"sessionUpdate": "tool_call", "toolCallId": "a", "name": "read", "rawInput": {"path": "x"}}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "b", "name": "list"}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed", "rawOutput": "it says"}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "b", "status": "failed", "rawOutput": "no such"}),
        chunk("agent_message", "Done."),
        chunk("user_message", "thanks"),
    ]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": "look"},
            {"role": "reasoning", "content": "hm"},
            {"role": "assistant", "content": "I look.", "toolCalls": [call("a", "read", "{\"path\":\"x\"}"), call("b", "list", "{}")]},
            {"role": "tool", "toolCallId": "a", "content": "it says"},
            {"role": "tool", "toolCallId": "b", "content": "no such", "error": "no such"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "thanks"},
        ])
    );
}

#[test]
fn a_call_that_nobody_knows_the_end_of_has_a_result_that_says_so() {
    let messages = replayed(&[
        json!({"sessionUpdate": "tool_call", "toolCallId": "a", "name": "sleep", "rawInput": {"s": 1}}),
        chunk("user_message", "still there?"),
    ]);
    assert_eq!(
        messages[0]["toolCalls"][0]["function"]["arguments"],
        "{\"s\":1}"
    );
    assert_eq!(messages[1]["toolCallId"], "a");
    assert_eq!(messages[1]["error"], UNANSWERED);
    assert_eq!(messages[2]["content"], "still there?");
}

#[test]
fn chunks_of_one_message_are_one_and_without_a_name_each_is_its_own() {
    let [one, other] = ["1", "2"].map(|id| move |text| of_message(chunk("user_message", text), id));
    let messages = replayed(&[
        one("he"),
        one("llo"),
        other("you"),
        chunk("user_message", "a"),
        chunk("user_message", "b"),
        of_message(chunk("agent_message", "c"), "3"),
        of_message(chunk("agent_message", "d"), "4"),
    ]);
    let said: Vec<_> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["content"])
        .collect();
    assert_eq!(said, ["hello", "you", "a", "b", "c", "d"]);
}

#[test]
fn what_we_put_before_a_prompt_is_not_what_the_person_said() {
    let prefix = preface::instructions("Be kind.");
    let picture = json!({"type": "image", "data": "QQ==", "mimeType": "image/png"});
    let picture =
        json!({"sessionUpdate": "user_message_chunk", "messageId": "1", "content": picture});
    let messages = replayed(&[
        chunk("user_message", &format!("{prefix}hello")),
        of_message(chunk("user_message", &prefix), "1"),
        picture,
        chunk("user_message", prefix.trim()),
    ]);
    let source = Source::Data {
        value: "QQ==".into(),
        mime_type: "image/png".into(),
    };
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": "hello"},
            {"role": "user", "content": [{"type": "image", "source": source}]},
        ])
    );
}

#[test]
fn of_more_than_is_kept_nothing_is() {
    let mut past = past(Vendor::default());
    let long = "x".repeat(1024 * 1024);
    for _ in 0..9 {
        past.hear(json!({"sessionId": "s", "update": chunk("user_message", &long)}));
    }
    assert!(past.messages.is_empty(), "it is let go of at once");
    assert_eq!(past.finish(), None);
}

#[test]
fn what_real_agents_replay_is_whole() {
    for (agent, vendor) in [
        ("claude", Vendor::Other),
        ("codex", Vendor::Codex),
        ("copilot", Vendor::Copilot),
        ("gemini", Vendor::Gemini),
        ("opencode", Vendor::Other),
        ("qwen", Vendor::Other),
    ] {
        let messages = recorded(agent, vendor);
        let mut open = HashSet::new();
        let mut texts = String::new();
        for message in &messages {
            match message {
                MessageBody::Assistant {
                    content,
                    tool_calls,
                    ..
                } => {
                    texts += content.as_deref().unwrap_or_default();
                    let ids = tool_calls.iter().map(|call| call.id.clone());
                    ids.for_each(|id| assert!(open.insert(id), "{agent}: twice"));
                    for call in tool_calls {
                        let arguments = &call.function.arguments;
                        assert!(
                            serde_json::from_str::<Value>(arguments).is_ok(),
                            "{agent}: {arguments}"
                        );
                    }
                }
                MessageBody::Tool { tool_call_id, .. } => {
                    assert!(open.remove(tool_call_id), "{agent}: of no call");
                }
                _ => {}
            }
        }
        assert_eq!(open, HashSet::new(), "{agent}");
        let users = messages
            .iter()
            .filter(|it| matches!(it, MessageBody::User { .. }));
        assert!(users.count() > 5, "{agent}: {messages:?}");
        for said in ["Reading the note.", "It says hello.", "Still here."] {
            assert!(texts.contains(said), "{agent}: {said}: {texts}");
        }
    }
}

/// What the recorded agent has replayed.
fn recorded(agent: &str, vendor: Vendor) -> Vec<MessageBody> {
    let file = format!("tests/agents/transcripts/{agent}.jsonl");
    let lines = fs::read_to_string(file).unwrap();
    let messages = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let mut messages = messages
        .map(|mut line: Value| line["message"].take())
        .skip_while(|message| message["method"] != "session/load");
    let session = messages.next().expect("it loads")["params"]["sessionId"].take();
    let mut past = Past::new(Translator::new(
        session.as_str().unwrap(),
        "/srv/dev/project",
        vendor,
    ));
    for mut message in messages.take_while(|message| message["method"] != "session/prompt") {
        let params = message["params"].take();
        if params["sessionId"] == session && !params["update"].is_null() {
            past.hear(params);
        }
    }
    past.finish().unwrap()
}
