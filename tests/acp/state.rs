//! What becomes part of a thread's state, and what sub-agents say: as a core tells it, and as pages see it.

use std::sync::Arc;

use agui_serve::deps::{
    ContextUpdate, CoreEvent, Signal, StopReason, Todo, TodoPriority, TodoStatus, Tokens,
};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt as _, time::timeout};

use crate::{
    daemon::{daemon, post},
    stage::{PATIENCE, Stage, events, text},
};

fn update(kind: &str, mut said: Value) -> String {
    said["sessionUpdate"] = json!(kind);
    format!("update {said}")
}

fn in_child(kind: &str, mut said: Value) -> String {
    said["sessionUpdate"] = json!(kind);
    format!("update-in child {said}")
}

fn child(state: Value) -> String {
    let mut said = json!({"sessionId": "child", "title": "scout"});
    said["state"] = state;
    update("subagent_update", said)
}

fn stage(steps: &[String]) -> Stage {
    let steps: Vec<_> = steps.iter().map(String::as_str).collect();
    Stage::new(&[], &steps)
}

/// What the core says of a turn of these steps that ends well.
async fn told(stage: &Stage) -> Vec<Signal> {
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    signals
}

/// The events of a run of these steps that a page gets, through the daemon.
async fn frames(steps: &[String]) -> Vec<Value> {
    let stage = Stage::new(&[], &[]);
    let (_daemon, addr) = daemon(&stage).await;
    let message = json!({"id": "1", "role": "user", "content": steps.join("\n")});
    let body =
        json!({"threadId": "t", "runId": "r", "messages": [message], "protocolVersion": "1.0"});
    let mut answer = String::new();
    let mut connection = post(&addr, &body).await;
    let read = timeout(PATIENCE, connection.read_to_string(&mut answer)).await;
    read.expect("the run ends").unwrap();
    let frames = answer.lines().filter_map(|it| it.strip_prefix("data: "));
    let frames: Vec<Value> = frames.map(|it| serde_json::from_str(it).unwrap()).collect();
    let last = frames.last().expect("there are some");
    assert_eq!(last["type"], "RUN_FINISHED", "{frames:#?}");
    frames
}

/// The values of the patches that set a member of the document, or put something into a list of that name.
fn set(frames: &[Value], path: &str) -> Vec<Value> {
    let deltas = frames.iter().filter(|it| it["type"] == "STATE_DELTA");
    let operations = deltas.flat_map(|it| it["delta"].as_array().unwrap());
    let of_path = operations.filter(|it| it["path"] == path);
    of_path.map(|it| it["value"].clone()).collect()
}

fn of_type<'a>(frames: &'a [Value], wanted: &str) -> Vec<&'a Value> {
    frames.iter().filter(|it| it["type"] == wanted).collect()
}

fn task() -> [String; 2] {
    let input =
        json!({"description": "look", "prompt": "Look around.", "subagent_type": "Explore"});
    [
        update(
            "tool_call",
            json!({"toolCallId": "task", "name": "Task", "kind": "think",
            "status": "in_progress", "rawInput": input}),
        ),
        update(
            "tool_call_update",
            json!({"toolCallId": "task", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "nothing there"}}]}),
        ),
    ]
}

fn edit(workdir: &str) -> String {
    let path = format!("{workdir}/src/a.rs");
    update(
        "tool_call",
        json!({"toolCallId": "edit", "name": "edit", "kind": "edit", "status": "completed",
        "locations": [{"path": path}],
        "content": [{"type": "diff", "path": path, "oldText": "a", "newText": "b"}]}),
    )
}

#[tokio::test]
async fn sessions_of_sub_agents_are_offered_to_be_heard() {
    let signals = told(&stage(&["offered".into()])).await;
    let offered: Value = serde_json::from_str(&text(&signals)).unwrap();
    assert_eq!(offered["subagents"], json!({}));
}

#[tokio::test]
async fn r80_what_an_agent_tells_of_a_turn_is_told_with_it() {
    let plan = json!({"entries": [{"content": "look", "priority": "high", "status": "pending"}]});
    let used = json!({"used": 18, "size": 100, "cost": {"amount": 0.5, "currency": "USD"}});
    let stage = stage(&[
        update("plan", plan.clone()),
        update("plan", plan),
        update("usage_update", used),
        r#"usage {"inputTokens": 30, "outputTokens": 4, "totalTokens": 34}"#.into(),
    ]);
    let signals = told(&stage).await;
    let state = |event: &&CoreEvent| matches!(event, CoreEvent::Todos(_) | CoreEvent::Context(_));
    let state: Vec<_> = events(&signals).into_iter().filter(state).collect();
    let todo = Todo {
        content: "look".into(),
        status: TodoStatus::Pending,
        priority: TodoPriority::High,
    };
    let used = ContextUpdate {
        prompt: Some(Tokens::Counted(18)),
        context_window: Some(100),
        cost: Some(0.5),
        ..ContextUpdate::default()
    };
    let turn = ContextUpdate {
        completion_tokens: Some(4),
        ..ContextUpdate::default()
    };
    let expected = [
        CoreEvent::Todos(vec![todo]),
        CoreEvent::Context(used.into()),
        CoreEvent::Context(turn.into()),
    ];
    assert_eq!(state, expected.each_ref());
}

/// What is told of sub-agents, and what they say.
fn of_sub_agents(signals: &[Signal]) -> Vec<String> {
    let told = |event: &CoreEvent| match event {
        CoreEvent::SubAgent(update) => Some(format!("{} {:?}", update.id, update.status?)),
        CoreEvent::Within { sub_agent, event } => match &**event {
            CoreEvent::Text(text) => Some(format!("{sub_agent}: {text}")),
            _ => None,
        },
        _ => None,
    };
    events(signals).into_iter().filter_map(told).collect()
}

#[tokio::test]
async fn r88_a_sub_agent_that_goes_on_after_the_turn_is_told_of_again_in_the_next() {
    let steps = [
        "say begun".into(),
        child(json!({"state": "running"})),
        "in child one".into(),
    ];
    let mut stage = stage(&steps).keeping(1);
    let signals = told(&stage).await;
    assert_eq!(text(&signals), "begun");
    assert_eq!(of_sub_agents(&signals), ["child Running", "child: one"]);
    let done = child(json!({"state": "idle", "stopReason": "end_turn"}));
    stage.next(Some("first"), &["in child two", &done, "say done"]);
    let signals = told(&stage).await;
    assert_eq!(text(&signals), "done");
    assert_eq!(
        of_sub_agents(&signals),
        ["child Running", "child: two", "child Completed"]
    );
    stage.close().await;
}

#[tokio::test]
async fn a_history_that_is_replayed_sends_nobody_out_again() {
    let states = [json!({"state": "running"}), json!({"state": "idle"})];
    let steps = states.map(|state| child(state).replacen("update ", "", 1));
    let replayed = steps.join("\n");
    let mut stage = Stage::new(&["--load", "--replays", &replayed], &[]);
    stage.next(Some("first"), &["say x"]);
    let signals = told(&stage).await;
    assert_eq!(text(&signals), "x");
    assert_eq!(of_sub_agents(&signals), Vec::<String>::new());
}

#[tokio::test]
async fn r93_a_tool_of_the_page_can_be_called_by_a_sub_agent() {
    let call = json!({"toolCallId": "own", "title": "agui_paint", "kind": "other", "rawInput": {}});
    let steps = [
        child(json!({"state": "running"})),
        in_child("tool_call", call.clone()),
        format!("ask-in child {call}"),
        "say ;".into(),
        "call paint {}".into(),
    ];
    let steps: Vec<_> = steps.iter().map(String::as_str).collect();
    let mut stage = Stage::new(&["--tools-http"], &steps);
    stage.tools = crate::tools::page(&["paint"]);
    let mut calls = Vec::new();
    let (outcome, signals) = stage.play_asked(crate::tools::answering(&mut calls)).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    let said = text(&signals);
    assert!(
        said.contains(r#""optionId":"yes""#),
        "nobody was asked: {said}"
    );
    let id: Arc<str> = "own".into();
    let calls: Vec<_> = calls.into_iter().map(|call| call.call).collect();
    assert_eq!(calls, [id]);
    let opened = |event: &&CoreEvent| match event {
        CoreEvent::Within { event, .. } => matches!(**event, CoreEvent::ToolCallOpened { .. }),
        CoreEvent::ToolCallOpened { .. } => true,
        _ => false,
    };
    assert_eq!(events(&signals).into_iter().filter(opened).count(), 0);
}

#[tokio::test]
async fn r80_what_an_agent_tells_is_in_the_document_of_the_thread() {
    let entries = |status: &str| json!({"entries": [{"content": "look", "priority": "high", "status": status}]});
    let used = json!({"used": 18, "size": 100});
    let read = json!({"toolCallId": "read", "name": "look", "kind": "read", "status": "completed",
        "locations": [{"path": "/etc/hosts"}]});
    let steps = [
        update("plan", entries("pending")),
        update("plan", entries("completed")),
        update("usage_update", used),
        update("tool_call", read),
        edit("/nowhere"),
    ];
    let frames = frames(&steps).await;
    let todo = |status: &str| json!([{"content": "look", "status": status, "priority": "high"}]);
    assert_eq!(set(&frames, "/todos"), [todo("pending"), todo("completed")]);
    let usage = json!({"promptTokens": 18, "completionTokens": 0, "contextWindow": 100, "estimated": false});
    assert_eq!(set(&frames, "/tokenUsage"), [usage]);
    let file = |path: &str, name: &str, action: &str| json!({"path": path, "name": name, "action": action});
    assert_eq!(
        set(&frames, "/files/-"),
        [
            file("/etc/hosts", "hosts", "read"),
            file("/nowhere/src/a.rs", "a.rs", "edit"),
        ]
    );
    let calls = of_type(&frames, "TOOL_CALL_START");
    let [shown] = &of_type(&frames, "ACTIVITY_SNAPSHOT")[..] else {
        panic!("{frames:#?}");
    };
    assert_eq!(shown["activityType"], "pando.diff");
    let content = json!({"toolCallId": calls[1]["toolCallId"], "path": "/nowhere/src/a.rs",
        "oldText": "a", "newText": "b"});
    assert_eq!(shown["content"], content);
}

#[tokio::test]
async fn r88_a_sub_agent_that_is_a_call_is_in_the_document_and_on_the_stream() {
    let frames = frames(&task()).await;
    let id = "task";
    let about =
        json!({"id": id, "status": "running", "prompt": "Look around.", "persona": "Explore"});
    assert_eq!(set(&frames, "/subAgents/-"), [about]);
    let done = json!({"id": id, "status": "completed", "prompt": "Look around.", "persona": "Explore",
        "summary": "nothing there"});
    assert_eq!(set(&frames, "/subAgents/0"), [done]);
    let [started] = &of_type(&frames, "SUBAGENT_STARTED")[..] else {
        panic!("{frames:#?}");
    };
    assert_eq!(started["name"], "Explore");
    let [call] = &of_type(&frames, "TOOL_CALL_START")[..] else {
        panic!("{frames:#?}");
    };
    assert_eq!(started["parentToolCallId"], call["toolCallId"]);
    let [finished] = &of_type(&frames, "SUBAGENT_FINISHED")[..] else {
        panic!("{frames:#?}");
    };
    assert_eq!(finished["subagentRunId"], started["subagentRunId"]);
    assert_eq!(finished["result"], "nothing there");
}

#[tokio::test]
async fn r88_what_a_sub_agent_says_and_calls_is_marked_as_its_own() {
    let call = json!({"toolCallId": "1", "name": "look", "kind": "read", "status": "completed",
        "locations": [{"path": "/etc/hosts"}]});
    let error = json!({"state": "idle", "stopReason": "error", "error": {"code": 1, "message": "no model"}});
    let steps = [
        "say mine".into(),
        child(json!({"state": "running"})),
        "in child its".into(),
        in_child("tool_call", call),
        child(error),
        "say again".into(),
    ];
    let frames = frames(&steps).await;
    let [started] = &of_type(&frames, "SUBAGENT_STARTED")[..] else {
        panic!("{frames:#?}");
    };
    let run = &started["subagentRunId"];
    let said = of_type(&frames, "TEXT_MESSAGE_CONTENT");
    let of = |it: &&&Value| it["subagentRunId"] == *run;
    let texts = |own: bool| -> Vec<&str> {
        let said = said.iter().filter(|it| of(it) == own);
        said.map(|it| it["delta"].as_str().unwrap()).collect()
    };
    assert_eq!(texts(true), ["its"]);
    assert_eq!(texts(false).concat(), "mineagain");
    let [call] = &of_type(&frames, "TOOL_CALL_START")[..] else {
        panic!("{frames:#?}");
    };
    assert_eq!(call["subagentRunId"], *run);
    assert_eq!(set(&frames, "/files/-")[0]["name"], "hosts");
    let [failed] = &of_type(&frames, "SUBAGENT_ERROR")[..] else {
        panic!("{frames:#?}");
    };
    assert_eq!(failed["message"], "no model");
    let last = set(&frames, "/subAgents/0").pop().unwrap();
    let about = json!({"id": "child", "status": "failed", "persona": "scout", "error": "no model"});
    assert_eq!(last, about);
}

#[tokio::test]
async fn r89_what_the_orchestrator_has_sent_out_is_in_the_document() {
    let spawned =
        json!({"task_id": "task-0a1b2c3d", "status": "running", "work_dir": "/w"}).to_string();
    let call = json!({"toolCallId": "1", "title": "Spawn", "status": "pending",
        "rawInput": {"prompt": "Look around."}, "_meta": {"pando": {"toolName": "mesnada_spawn_agent"}}});
    let fenced = format!("```json\n{spawned}\n```");
    let result = json!({"toolCallId": "1", "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": fenced}}],
        "rawOutput": {"output": spawned, "metadata": {}}});
    let steps = [
        update("tool_call", call),
        update("tool_call_update", result),
    ];
    let frames = frames(&steps).await;
    let [told] = &set(&frames, "/subAgents/-")[..] else {
        panic!("{frames:#?}");
    };
    assert_eq!(told["id"], "task-0a1b2c3d");
    assert_eq!(told["status"], "running");
}
