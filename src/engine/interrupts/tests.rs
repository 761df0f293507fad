use std::path::PathBuf;

use super::*;
use crate::deps::{OptionKind, PermissionOption};

fn request(params: Value) -> PermissionRequest {
    PermissionRequest {
        call: None,
        tool: "write".into(),
        action: "edit".into(),
        title: " a.txt ".into(),
        paths: vec![PathBuf::from("/a"), PathBuf::from("/b")],
        params: Some(params),
        options: vec![PermissionOption {
            id: "once".into(),
            name: "Yes".into(),
            kind: OptionKind::AllowOnce,
        }],
        details: JsonObject::new(),
    }
}

fn asked(prompts: &Prompts, call: Option<&str>, params: Value) -> Value {
    let asker = Asker {
        namespace: &Namespace::default(),
        prompts,
        env: &Env::fixed(1_000),
    };
    let call = call.map(|call| ToolCallId::new(call).unwrap());
    let mut interrupt = asker.permission(&request(params), call);
    asker.tell_expiry(&mut interrupt, Duration::from_secs(90));
    serde_json::to_value(interrupt).unwrap()
}

#[test]
fn a_permission_says_what_it_is_about_and_which_answers_there_are() {
    let mut shown = asked(&Prompts::default(), Some("c"), json!({"text": "hi"}));
    assert!(shown["id"].as_str().unwrap().starts_with("ask"));
    shown["id"] = json!("x");
    assert_eq!(
        shown,
        json!({
            "id": "x", "reason": "pando:permission", "message": "Allow write: a.txt?",
            "toolCallId": "c",
            "responseSchema": {"type": "object", "properties": {
                "approved": {"type": "boolean"},
                "optionId": {"type": "string", "enum": ["once"]},
            }},
            "metadata": {"pando": {
                "toolName": "write", "kind": "edit", "path": "/a", "paths": ["/a", "/b"],
                "params": {"text": "hi"},
                "options": [{"optionId": "once", "name": "Yes", "kind": "allow_once"}],
            }},
        })
    );
}

#[test]
fn the_reason_and_the_expiry_follow_the_policy() {
    let prompts = Prompts {
        tell_expiry: true,
        reason: Reason::ToolCall,
        ..Prompts::default()
    };
    let shown = asked(&prompts, Some("c"), json!({}));
    assert_eq!(shown["reason"], "tool_call");
    assert_eq!(shown["expiresAt"], "1970-01-01T00:01:31.000Z");
    // A reason that needs a call is not used without one (AG-UI 1.0, interrupts).
    assert_eq!(
        asked(&prompts, None, json!({}))["reason"],
        "pando:permission"
    );
}

#[test]
fn what_does_not_fit_into_an_event_is_left_out_and_said_to_be() {
    let shown = asked(
        &Prompts::default(),
        None,
        json!({"text": "x".repeat(SHOWN)}),
    );
    let about = &shown["metadata"]["pando"];
    assert_eq!(about["truncated"], true);
    assert_eq!(about.get("params"), None);
    assert_eq!(
        about["options"][0]["optionId"], "once",
        "it can still be answered"
    );
}
