//! What clients see of the document, and what becomes of what they send.

use super::*;
use crate::state::{
    About, Conclusion, FileAction, Role, Setting, SubAgentStatus, TodoPriority, TodoStatus, Tokens,
};

fn adopted(state: &Value) -> Value {
    let mut document = Document::new("t", "a", "pando");
    document.adopt(Some(state)).unwrap();
    document.snapshot()
}

#[test]
fn r75_r76_report_r51b_without_client_state_there_is_no_client_and_lists_are_empty() {
    assert_eq!(
        Document::new("t", "a", "pando").snapshot(),
        json!({"thread": "t", "session": "", "agent": "a", "model": {"id": ""}, "todos": [],
               "tokenUsage": null, "files": [], "subAgents": []})
    );
}

#[test]
fn r43_the_clients_members_stand_at_the_root_and_in_client_but_not_the_reserved_ones() {
    let state = r#"{"recipe": {"a": null}, "n": 9007199254740993, "m": 1.10, "thread": "forged", "todos": [1]}"#;
    let shown = adopted(&serde_json::from_str(state).unwrap());
    for at in [&shown, &shown["client"]] {
        assert_eq!(at["n"].to_string(), "9007199254740993");
        assert_eq!(at["m"].to_string(), "1.10");
    }
    assert_eq!(shown["recipe"], json!({"a": null}));
    assert_eq!(shown["client"]["recipe"], json!({"a": null}));
    assert_eq!(shown["client"].as_object().unwrap().len(), 3);
    assert_eq!(
        (&shown["thread"], &shown["todos"]),
        (&json!("t"), &json!([]))
    );
}

#[test]
fn a_client_that_echoes_everything_does_not_make_it_grow() {
    let mut shown = adopted(&json!({"recipe": 1}));
    let first = shown.to_string().len();
    for _ in 0..20 {
        shown = adopted(&shown);
    }
    assert_eq!(shown.to_string().len(), first);
}

#[test]
fn what_is_no_object_goes_into_client_alone_and_numbers_keep_their_digits() {
    for text in ["\"nope\"", "[1]", "9007199254740993", "1.10"] {
        let state: Value = serde_json::from_str(text).unwrap();
        assert_eq!(adopted(&state)["client"].to_string(), text);
    }
}

#[test]
fn what_changes_nothing_gives_no_patch() {
    let mut document = Document::new("t", "a", "pando");
    let patch = document.set_session("s").unwrap();
    assert_eq!(
        serde_json::to_value(patch).unwrap(),
        json!([{"op": "replace", "path": "/session", "value": "s"}])
    );
    assert_eq!(document.set_session("s"), None);
}

#[test]
fn settings_stand_under_the_namespace_once_known_and_are_not_the_clients_to_set() {
    let mut document = Document::new("t", "a", "pando");
    let forged = json!({"pando": {"mode": {"value": "forged"}}});
    document.adopt(Some(&forged)).unwrap();
    assert_eq!(document.snapshot().get("pando"), None);
    assert_eq!(document.set_settings(Settings::default()), None);
    let mode = Setting {
        value: Some("ask".into()),
        ..Setting::default()
    };
    let settings = Settings {
        mode: Some(mode),
        ..Settings::default()
    };
    let patch = document.set_settings(settings.clone()).unwrap();
    let value = json!({"mode": {"value": "ask", "options": []}});
    assert_eq!(
        serde_json::to_value(patch).unwrap(),
        json!([{"op": "add", "path": "/pando", "value": value}])
    );
    assert_eq!(document.snapshot()["pando"], value);
    assert_eq!(document.set_settings(settings), None);
}

#[test]
fn names_that_an_agent_makes_up_are_shown_as_far_as_they_fit() {
    let mut document = Document::new("t", "a", "pando");
    document.set_session(&"é".repeat(MAX_NAME));
    let id = "m".repeat(2 * MAX_NAME);
    let model = Model {
        id,
        ..Model::default()
    };
    document.set_model(model);
    let shown = document.snapshot();
    let length = |value: &Value| value.as_str().map(str::len);
    assert_eq!(length(&shown["session"]), Some(MAX_NAME));
    assert_eq!(length(&shown["model"]["id"]), Some(MAX_NAME));
}

#[test]
fn a_state_that_no_frame_could_carry_is_not_shown() {
    let mut document = Document::new("t", "a", "pando");
    let state = json!({"big": "x".repeat(MAX_CLIENT)});
    let refused = document.adopt(Some(&state)).unwrap_err();
    assert_eq!(refused.part, "client");
    assert!(document.snapshot().get("client").is_none());
}

fn document() -> Document {
    Document::new("t", "a", "pando")
}

fn json_of(patch: Option<Patch>) -> Value {
    serde_json::to_value(patch).unwrap()
}

#[test]
fn r77_todos_are_replaced_whole_and_an_empty_list_is_one() {
    let mut document = document();
    let todo = Todo {
        content: "Ship it.".into(),
        status: TodoStatus::InProgress,
        priority: TodoPriority::High,
    };
    let value = json!([{"content": "Ship it.", "status": "in_progress", "priority": "high"}]);
    assert_eq!(
        json_of(document.set_todos(vec![todo.clone()]).unwrap()),
        json!([{"op": "replace", "path": "/todos", "value": value}])
    );
    assert_eq!(document.set_todos(vec![todo]), Ok(None));
    assert_eq!(
        json_of(document.set_todos(Vec::new()).unwrap()),
        json!([{"op": "replace", "path": "/todos", "value": []}])
    );
}

#[test]
fn r78_usage_shows_four_counts_always_and_the_others_when_there_are_some() {
    let mut document = document();
    assert_eq!(document.update_usage(&ContextUpdate::default()), None);
    let update = ContextUpdate {
        prompt: Some(Tokens::Estimated(0)),
        ..ContextUpdate::default()
    };
    let counts =
        json!({"promptTokens": 0, "completionTokens": 0, "contextWindow": 0, "estimated": true});
    assert_eq!(
        json_of(document.update_usage(&update)),
        json!([{"op": "replace", "path": "/tokenUsage", "value": counts}])
    );
    let update = ContextUpdate {
        prompt: Some(Tokens::Counted(10)),
        completion_tokens: Some(2),
        context_window: Some(100),
        cache_read_tokens: Some(3),
        cache_write_tokens: Some(4),
        reasoning_tokens: Some(1),
        cost: Some(0.25),
    };
    document.update_usage(&update);
    let shown = json!({"promptTokens": 10, "completionTokens": 2, "contextWindow": 100,
        "estimated": false, "cacheReadTokens": 3, "cacheWriteTokens": 4, "reasoningTokens": 1,
        "cost": 0.25});
    assert_eq!(document.snapshot()["tokenUsage"], shown);
    for cost in [f64::NAN, f64::INFINITY, -1.0] {
        let update = ContextUpdate {
            cost: Some(cost),
            ..ContextUpdate::default()
        };
        assert_eq!(document.update_usage(&update), None);
    }
}

#[test]
fn r79_a_file_is_listed_once_by_what_was_done_to_it_last() {
    let mut document = document();
    let touched = vec![
        File::new("src/lib.rs", FileAction::Read),
        File::new("/etc/hosts", FileAction::Write),
        File::new("src/lib.rs", FileAction::Read),
    ];
    let lib = json!({"path": "src/lib.rs", "name": "lib.rs", "action": "read"});
    let hosts = json!({"path": "/etc/hosts", "name": "hosts", "action": "write"});
    assert_eq!(
        json_of(document.touch(touched).unwrap()),
        json!([{"op": "add", "path": "/files/-", "value": hosts},
               {"op": "add", "path": "/files/-", "value": lib}])
    );
    let edited = json!({"path": "src/lib.rs", "name": "lib.rs", "action": "edit"});
    assert_eq!(
        json_of(
            document
                .touch(vec![File::new("src/lib.rs", FileAction::Edit)])
                .unwrap()
        ),
        json!([{"op": "replace", "path": "/files/1", "value": edited}])
    );
    assert_eq!(
        document.touch(vec![File::new("src/lib.rs", FileAction::Edit)]),
        Ok(None)
    );
}

#[test]
fn the_file_first_touched_longest_ago_goes_for_one_too_many() {
    let mut document = document();
    let file = |n: usize| File::new(&format!("f{n}"), FileAction::Read);
    document.touch((0..1_000).map(file).collect()).unwrap();
    let patch = json_of(document.touch(vec![file(1_000)]).unwrap());
    assert_eq!(patch[0], json!({"op": "remove", "path": "/files/0"}));
    let shown = document.snapshot();
    let files = shown["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["path"]), (1_000, &json!("f1")));
    assert_eq!(files[999]["path"], "f1000");
}

#[test]
fn r87_r92_what_is_told_of_a_sub_agent_adds_to_what_is_known_and_blanks_nothing() {
    let mut document = document();
    let mut update = SubAgentUpdate::new("task-1", Some(SubAgentStatus::Running));
    update.about = About {
        role: Some(Role::Verifier),
        prompt: Some("é".repeat(200)),
        ..About::default()
    };
    let shown =
        json!({"id": "task-1", "status": "running", "role": "verifier", "prompt": "é".repeat(120)});
    assert_eq!(
        json_of(document.update_sub_agent(&update).unwrap()),
        json!([{"op": "add", "path": "/subAgents/-", "value": shown}])
    );
    assert_eq!(document.update_sub_agent(&update), Ok(None));
    let mut ended = SubAgentUpdate::new("task-1", Some(SubAgentStatus::Completed));
    ended.about = About {
        exit_code: Some(0),
        conclusion: Some(Conclusion::Success),
        summary: Some("Done.".into()),
        ..About::default()
    };
    let shown = json!({"id": "task-1", "status": "completed", "role": "verifier", "prompt": "é".repeat(120),
        "exitCode": 0, "conclusion": "success", "summary": "Done."});
    assert_eq!(
        json_of(document.update_sub_agent(&ended).unwrap()),
        json!([{"op": "replace", "path": "/subAgents/0", "value": shown}])
    );
    for told in [
        SubAgentUpdate::new("task-1", None),
        SubAgentUpdate::new("task-1", Some(SubAgentStatus::Awaited)),
        SubAgentUpdate::new("task-2", None),
        SubAgentUpdate::new("x".repeat(257), Some(SubAgentStatus::Running)),
        SubAgentUpdate {
            known_only: true,
            ..SubAgentUpdate::new("task-2", Some(SubAgentStatus::Running))
        },
    ] {
        assert_eq!(document.update_sub_agent(&told), Ok(None), "{told:?}");
    }
}

#[test]
fn one_that_is_sent_out_once_more_has_come_to_nothing_yet() {
    let mut document = document();
    let mut failed = SubAgentUpdate::new("s", Some(SubAgentStatus::Failed));
    failed.about = About {
        prompt: Some("Do it.".into()),
        error: Some("It broke.".into()),
        exit_code: Some(1),
        conclusion: Some(Conclusion::Failed),
        summary: Some("Nothing.".into()),
        ..About::default()
    };
    let running = SubAgentUpdate::new("s", Some(SubAgentStatus::Running));
    for update in [failed, running] {
        document.update_sub_agent(&update).unwrap();
    }
    assert_eq!(
        document.snapshot()["subAgents"],
        json!([{"id": "s", "status": "running", "prompt": "Do it."}])
    );
}

#[test]
fn r92_of_too_many_sub_agents_the_first_that_has_ended_goes() {
    let mut document = document();
    let status = |n| match n {
        7 => SubAgentStatus::Completed,
        _ => SubAgentStatus::Running,
    };
    for n in 0..52 {
        let update = SubAgentUpdate::new(format!("s{n}"), Some(status(n)));
        document.update_sub_agent(&update).unwrap();
    }
    assert_eq!(
        document.snapshot()["subAgents"].as_array().unwrap().len(),
        50
    );
    for (id, is_there) in [("s7", false), ("s0", false), ("s1", true), ("s51", true)] {
        assert_eq!(document.sub_agent(id).is_some(), is_there, "{id}");
    }
}

#[test]
fn a_part_that_becomes_too_large_stays_as_it_was() {
    let mut document = document();
    document
        .touch(vec![File::new("a", FileAction::Read)])
        .unwrap();
    let before = document.clone();
    let long = |n: usize| File::new(&format!("{n}{}", "\u{1}".repeat(1_000)), FileAction::Read);
    let refused = document.touch((0..200).map(long).collect()).unwrap_err();
    assert_eq!(refused.part, "files");
    assert_eq!(document, before);
}

#[test]
fn r86_another_session_has_a_document_of_its_own_with_what_the_client_sent() {
    let mut document = document();
    document.adopt(Some(&json!({"recipe": 1}))).unwrap();
    document
        .touch(vec![File::new("a", FileAction::Read)])
        .unwrap();
    let update = SubAgentUpdate::new("s", Some(SubAgentStatus::Running));
    document.update_sub_agent(&update).unwrap();
    document.renew("other");
    let mut fresh = Document::new("t", "a", "pando");
    fresh.adopt(Some(&json!({"recipe": 1}))).unwrap();
    fresh.set_session("other");
    assert_eq!(document, fresh);
}

#[test]
fn what_a_document_says_it_takes_is_at_least_what_it_shows_of_the_client_once() {
    let mut document = document();
    let state = json!({"text": "x".repeat(10_000)});
    document.adopt(Some(&state)).unwrap();
    assert!(
        (10_000..12_000).contains(&document.size()),
        "{}",
        document.size()
    );
}

#[test]
fn report_r51d_the_largest_document_fits_into_a_frame() {
    let mut document = document();
    // It takes twice its bytes in a frame.
    let text = "\u{2028}".repeat(MAX_CLIENT / 6 - 16);
    document.adopt(Some(&json!({"text": text}))).unwrap();
    let too_long = json!({"text": "\u{2028}".repeat(MAX_CLIENT / 6)});
    assert!(document.clone().adopt(Some(&too_long)).is_err());
    let todo = Todo {
        content: "\u{1}".repeat(MAX_OURS / 6 - 64),
        status: TodoStatus::Pending,
        priority: TodoPriority::Low,
    };
    document.set_todos(vec![todo]).unwrap();
    let choice = crate::state::Choice {
        value: "\u{1}".repeat(MAX_NAME),
        name: Some("\u{1}".repeat(MAX_NAME)),
    };
    let setting = || {
        Some(Setting {
            value: None,
            options: vec![choice.clone(); MAX_OPTIONS],
        })
    };
    let settings = Settings {
        model: setting(),
        mode: setting(),
        effort: setting(),
    };
    document.set_settings(settings).unwrap();
    let size = sse::size(&document.snapshot());
    assert!((7 * 1024 * 1024..sse::MAX_FRAME).contains(&size), "{size}");
    let settings = &document.snapshot()["pando"];
    assert!(!settings["mode"]["options"].as_array().unwrap().is_empty());
}
