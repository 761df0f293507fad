//! What can be seen of the demo at work: its events, folded into the document that a page gets.

use serde_json::{Value, json};

use super::*;
use crate::state::Document;

/// Notes what an event says of the work.
fn note(document: &mut Document, event: &CoreEvent) {
    let event = event.clone();
    match event {
        CoreEvent::Todos(todos) => drop(document.set_todos(todos).unwrap()),
        CoreEvent::Context(update) => drop(document.update_usage(&update)),
        CoreEvent::Files(files) => drop(document.touch(files).unwrap()),
        CoreEvent::SubAgent(update) => drop(document.update_sub_agent(&update).unwrap()),
        _ => {}
    }
}

/// What a member of the document is, one after another, while a phrase is played.
async fn course(prompt: &str, member: &str) -> Vec<Value> {
    let mut document = Document::new("t", "demo", "pando");
    let mut course = Vec::new();
    for event in asked(prompt).await {
        note(&mut document, &event);
        course.push(document.snapshot()[member].clone());
    }
    course.dedup();
    course
}

/// How far those in a list are, one after another.
fn statuses(course: &[Value]) -> Vec<Vec<&str>> {
    let lists = course.iter().map(|list| list.as_array().unwrap().iter());
    lists
        .map(|list| list.map(|one| one["status"].as_str().unwrap()).collect())
        .collect()
}

#[tokio::test]
async fn the_tasks_of_a_plan_are_done_one_after_the_other() {
    let course = course("make a plan", "todos").await;
    let expected = [
        vec![],
        vec!["pending", "pending", "pending"],
        vec!["in_progress", "pending", "pending"],
        vec!["completed", "in_progress", "pending"],
        vec!["completed", "completed", "in_progress"],
        vec!["completed", "completed", "completed"],
    ];
    assert_eq!(statuses(&course), expected);
    let first = json!({"content": "Look at the page", "status": "completed", "priority": "high"});
    assert_eq!(course[5][0], first);
}

#[tokio::test]
async fn a_context_is_estimated_first_and_then_counted() {
    let course = course("fill the context", "tokenUsage").await;
    let estimated = json!({"promptTokens": 18000, "completionTokens": 0, "contextWindow": 200_000, "estimated": true});
    let counted = json!({"promptTokens": 17460, "completionTokens": 320, "contextWindow": 200_000, "estimated": false,
                         "cacheReadTokens": 12000, "cacheWriteTokens": 2048, "reasoningTokens": 96, "cost": 0.0417});
    assert_eq!(course, [Value::Null, estimated, counted]);
}

#[tokio::test]
async fn files_that_are_touched_are_listed_and_one_that_is_not_there_is_not() {
    let course = course("touch files", "files").await;
    let read = json!({"path": "README.md", "name": "README.md", "action": "read"});
    let main = |action: &str| json!({"path": "src/main.rs", "name": "main.rs", "action": action});
    let expected = [
        json!([]),
        json!([read]),
        json!([read, main("read")]),
        json!([read, main("edit")]),
    ];
    assert_eq!(course, expected);
    let events = asked("touch files").await;
    let place = |wanted: fn(&CoreEvent) -> bool| events.iter().position(wanted).unwrap();
    let shown = place(|event| {
        matches!(event, CoreEvent::Diff { call, path, content }
        if &**call == "edit-1" && path == "src/main.rs" && content["oldText"] != content["newText"])
    });
    let answered = place(
        |event| matches!(event, CoreEvent::ToolCallResult { call, .. } if &**call == "edit-1"),
    );
    assert!(shown < answered);
}

#[tokio::test]
async fn a_helper_is_told_of_up_to_what_it_has_found() {
    let course = course("send out a helper", "subAgents").await;
    let sent = json!({"id": "task-0a1b2c3d", "status": "running", "prompt": "Look for callers of main.", "engine": "claude",
                      "persona": "reviewer"});
    let mut at_work = sent.clone();
    at_work["model"] = "sonnet".into();
    let mut done = at_work.clone();
    done["status"] = "completed".into();
    done["exitCode"] = 0.into();
    done["conclusion"] = "success".into();
    done["summary"] = "There are two.".into();
    let expected = [json!([]), json!([sent]), json!([at_work]), json!([done])];
    assert_eq!(course, expected);
}

#[tokio::test]
async fn a_swarm_is_awaited_and_then_done() {
    let course = course("send out a swarm", "subAgents").await;
    let whole: Vec<_> = statuses(&course)
        .into_iter()
        .filter(|list| list.len() == 4 && list.iter().all(|status| *status == list[0]))
        .collect();
    assert_eq!(whole, [["pending"; 4], ["awaited"; 4], ["completed"; 4]]);
    let last = course.last().unwrap().as_array().unwrap().iter();
    let of = |one: &Value| {
        let known = ["role", "prompt", "engine", "persona"];
        known.map(|name| one[name].as_str().unwrap_or_default().to_owned())
    };
    let expected = [
        ["worker", "Review the code.", "claude", ""],
        ["worker", "Review the tests.", "codex", ""],
        ["verifier", "", "gemini", ""],
        ["synthesizer", "", "", "writer"],
    ];
    assert_eq!(last.map(of).collect::<Vec<_>>(), expected);
}

/// What is said within the helper, and when it is told how far that is.
fn of_the_helper(events: &[CoreEvent]) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for event in events {
        let now = match event {
            CoreEvent::SubAgent(update) => format!("{:?}", update.status.unwrap()),
            CoreEvent::Within { sub_agent, event } => {
                assert_eq!(&**sub_agent, "helper-1");
                match &**event {
                    CoreEvent::Text(_) => "says".into(),
                    CoreEvent::Reasoning(_) => "thinks".into(),
                    CoreEvent::ToolCallOpened { .. } => "calls".into(),
                    CoreEvent::ToolCallResult { .. } => "is answered".into(),
                    _ => continue,
                }
            }
            _ => continue,
        };
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    seen
}

#[tokio::test]
async fn a_helper_that_is_sent_out_says_and_does_something_of_its_own() {
    let at_work = ["Running", "thinks", "says", "calls", "is answered", "says"];
    let events = asked("delegate").await;
    let expected = [&at_work[..], &["Completed"]].concat();
    assert_eq!(of_the_helper(&events), expected);
    assert_eq!(
        text(&events),
        "I send out a helper.My helper says that the title is fine."
    );
    // What a person is asked meanwhile is not its own, and it goes on after that.
    let events = asked("delegate and ask").await;
    let asked = events.iter().position(
        |event| matches!(event, CoreEvent::ToolCallOpened { call, .. } if &**call == "write-1"),
    );
    let (before, after) = events.split_at(asked.unwrap());
    assert_eq!(of_the_helper(before), at_work);
    assert_eq!(of_the_helper(after), ["says", "Completed"]);
    assert!(text(after).starts_with("write_file: denied"), "{events:?}");
}
