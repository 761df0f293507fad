//! The tools of a page reach the agent, and its calls the page.

use agui_serve::{
    cores::acp::Preset,
    deps::{Ask, CoreEvent, Form, Reply, Signal, StopReason, ToolAnswer, ToolCall, Unanswered},
    protocol::{Content, Tool},
};
use serde_json::json;

use crate::stage::{Stage, events, program, text};

pub(crate) fn page(names: &[&str]) -> Vec<Tool> {
    let tool = |name: &&str| Tool {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: None,
        metadata: None,
    };
    names.iter().map(tool).collect()
}

/// A stage whose page has these tools.
fn stage(args: &[&str], steps: &[&str], names: &[&str]) -> Stage {
    let mut stage = Stage::new(args, steps);
    stage.tools = page(names);
    stage
}

/// Answers calls with their names and arguments, and keeps them.
pub(crate) fn answering(calls: &mut Vec<ToolCall>) -> impl FnMut(Ask) {
    |ask| {
        let Ask::Tool(call, to) = ask else {
            panic!("it calls a tool: {ask:?}");
        };
        let content = Content::Text(format!("{} {}", call.name, call.arguments));
        let answer = ToolAnswer::Answered {
            content,
            failed: false,
        };
        to.send(answer).unwrap();
        calls.push(call);
    }
}

/// The calls that the core itself has written.
fn opened(signals: &[Signal]) -> Vec<String> {
    let call = |event: &&CoreEvent| match event {
        CoreEvent::ToolCallOpened { call, name } => Some(format!("{call} {name}")),
        _ => None,
    };
    events(signals).iter().filter_map(call).collect()
}

#[tokio::test]
async fn r93_a_call_of_the_pages_tool_reaches_the_page_and_its_answer_the_agent() {
    for args in [&["--tools-http"][..], &[]] {
        let steps = ["tools", "say :", r#"call paint {"n":1.50}"#];
        let mut stage = stage(args, &steps, &["paint"]);
        stage.options.carrier = Some(program().into());
        let mut calls = Vec::new();
        let (outcome, signals) = stage.play_asked(answering(&mut calls)).await;
        assert_eq!(outcome.unwrap(), StopReason::EndTurn, "{args:?}");
        let said = r#"AskUserQuestion,paint:paint {"n":1.50}"#;
        assert_eq!(text(&signals), said, "{args:?}");
        let [call] = &calls[..] else {
            panic!("{calls:?}");
        };
        assert_eq!((&*call.name, &*call.arguments), ("paint", r#"{"n":1.50}"#));
        assert!(opened(&signals).is_empty(), "the engine writes it");
    }
}

#[tokio::test]
async fn several_calls_are_open_at_once() {
    let calls = r#"calls [["paint",{"n":1},{}],["open",{},{}],["paint",{"n":2},{}]]"#;
    let stage = stage(&["--tools-http"], &[calls], &["paint", "open"]);
    let mut open = Vec::new();
    let answer_all = |ask: Ask| {
        let Ask::Tool(call, to) = ask else {
            panic!("it calls a tool");
        };
        open.push((call, to));
        if open.len() == 3 {
            for (call, to) in open.drain(..) {
                let content = Content::Text(call.call.to_string());
                let failed = call.name == "open";
                to.send(ToolAnswer::Answered { content, failed }).unwrap();
            }
        }
    };
    let (outcome, signals) = stage.play_asked(answer_all).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    let said = text(&signals);
    let mut words: Vec<_> = said.split(' ').filter(|it| *it != "failed:").collect();
    words.sort_unstable();
    assert_eq!(words, ["agui-1", "agui-2", "agui-3"], "{said}");
    assert!(said.contains("failed: "));
}

#[tokio::test]
async fn what_the_page_does_not_carry_out_is_told_to_the_agent() {
    let stage = stage(&["--tools-http"], &["call paint {}"], &["paint"]);
    let passed_over = |ask: Ask| {
        let Ask::Tool(_, to) = ask else {
            panic!("it calls a tool");
        };
        to.send(ToolAnswer::Unanswered(Unanswered::PassedOver))
            .unwrap();
    };
    let (_, signals) = stage.play_asked(passed_over).await;
    let why = Unanswered::PassedOver.of_tool();
    assert_eq!(text(&signals), format!("failed: {why}"));
}

/// It is seen twice, as the agent's call and as the request over MCP, and is one call.
#[tokio::test]
async fn report_r50_a_call_that_is_seen_twice_is_one_call() {
    let told = |status: &str| {
        let kind = if status == "pending" {
            "tool_call"
        } else {
            "tool_call_update"
        };
        let update = json!({"sessionUpdate": kind, "toolCallId": "own", "title": "agui_paint",
            "kind": "other", "status": status, "rawInput": {"n": 1}});
        format!("update {update}")
    };
    let steps = [
        &*told("pending"),
        r#"call paint {"n":1}"#,
        &*told("completed"),
    ];
    let stage = stage(&["--tools-http"], &steps, &["paint"]);
    let mut calls = Vec::new();
    let (_, signals) = stage.play_asked(answering(&mut calls)).await;
    assert_eq!(&*calls[0].call, "own");
    let is_of_a_call = |event: &&&CoreEvent| {
        !matches!(
            event,
            CoreEvent::Text(_) | CoreEvent::Model(_) | CoreEvent::Settings(_)
        )
    };
    let events = events(&signals);
    assert_eq!(
        events.iter().find(is_of_a_call),
        None,
        "the engine writes it"
    );
    // Told of and called exactly.
    let exact = r#"call-meta paint {"claudecode/toolUseId":"toolu_1"}"#;
    let mut exactly = stage;
    exactly.next(None, &[exact]);
    let mut calls = Vec::new();
    exactly.play_asked(answering(&mut calls)).await.0.unwrap();
    assert_eq!(&*calls[0].call, "toolu_1");
}

/// The two ways are not one after the other: the request can be faster than what was said before it.
#[tokio::test]
async fn report_r50_a_call_waits_for_what_is_said_before_it() {
    let steps = [r#"call-early paint {"n":1}"#];
    let stage = stage(&["--tools-http"], &steps, &["paint"]);
    let mut calls = Vec::new();
    let (_, signals) = stage.play_asked(answering(&mut calls)).await;
    assert_eq!(&*calls[0].call, "own", "the agent has told of it by then");
    assert_eq!(text(&signals), r#"before paint {"n":1}"#);
}

#[tokio::test]
async fn what_is_known_of_other_calls_goes_out_before_the_page_is_called() {
    let other = r#"update {"sessionUpdate":"tool_call","toolCallId":"slow","title":"Read","kind":"read","rawInput":{"path":"a"}}"#;
    let stage = stage(&["--tools-http"], &[other, "call paint {}"], &["paint"]);
    let mut calls = Vec::new();
    let (_, signals) = stage.play_asked(answering(&mut calls)).await;
    let said = events(&signals);
    let is_answer = |it: &&CoreEvent| matches!(it, CoreEvent::Text(_));
    let is_closed =
        |it: &&CoreEvent| matches!(it, CoreEvent::ToolCallClosed { call } if **call == *"slow");
    let mut before = said.iter().copied().take_while(|it| !is_answer(it));
    assert!(before.any(|it| is_closed(&it)), "{said:?}");
}

#[tokio::test]
async fn a_call_that_failed_before_it_was_made_does_not_vanish() {
    let failed = r#"update {"sessionUpdate":"tool_call","toolCallId":"own","title":"agui_paint","status":"failed","rawInput":{"n":1},"content":[{"type":"content","content":{"type":"text","text":"no such server"}}]}"#;
    let stage = stage(&["--tools-http"], &[failed], &["paint"]);
    let (_, signals) = stage.play().await;
    assert_eq!(opened(&signals), ["own agui_paint"]);
    let is_failure = |event: &&CoreEvent| {
        matches!(event, CoreEvent::ToolCallResult { failed: true, content, .. }
            if content.text() == "no such server")
    };
    assert!(events(&signals).iter().any(is_failure), "{signals:?}");
}

#[tokio::test]
async fn the_agents_own_prompt_for_a_tool_of_the_page_asks_nobody() {
    let own = r#"ask {"toolCallId":"c","title":"agui_paint","kind":"other"}"#;
    let evil = r#"ask {"toolCallId":"d","title":"agui_paint_evil","kind":"other"}"#;
    let stage = stage(&["--tools-http"], &[own, "say  ", evil], &["paint"]);
    let mut asked = 0;
    let (_, signals) = stage
        .play_asked(|ask| {
            assert!(matches!(ask, Ask::Permission(..)));
            asked += 1;
        })
        .await;
    let yes = json!({"outcome": "selected", "optionId": "yes"});
    let none = json!({"outcome": "cancelled"});
    assert_eq!(text(&signals), format!("{yes} {none}"));
    assert_eq!(asked, 1, "about the other one");
}

const ASKED: &str = r#"{"questions":[{"question":"Which?","header":"Which","options":[{"label":"A","description":""},{"label":"B","description":""}]}]}"#;

#[tokio::test]
async fn r100_a_question_reaches_the_person_and_the_answer_the_model() {
    let ask = format!("call AskUserQuestion {ASKED}");
    for (reply, said) in [
        (
            Reply::Answered(json!({"answers": [{"questionId": "q1", "selected": ["B"]}]})),
            "Which?: B",
        ),
        (Reply::Answered(json!("as you like")), "as you like"),
        (
            Reply::Answered(json!({"cancelled": true})),
            "failed: user cancelled the question",
        ),
        (
            Reply::Unanswered(Unanswered::TimedOut),
            "failed: user cancelled the question",
        ),
    ] {
        let stage = stage(&["--tools-http"], &[&ask], &[]);
        let mut questions = Vec::new();
        let (_, signals) = stage
            .play_asked(|ask| {
                let Ask::Question(question, to) = ask else {
                    panic!("it asks");
                };
                to.send(reply.clone()).unwrap();
                questions.push(question);
            })
            .await;
        assert_eq!(text(&signals), said);
        assert_eq!(questions[0].message, "Which?");
        assert!(matches!(&questions[0].form, Form::Choices(it) if it.contains_key("questions")));
        let call = questions[0].call.clone().unwrap();
        assert_eq!(opened(&signals), [format!("{call} AskUserQuestion")]);
        let results = events(&signals);
        let result = results.iter().find_map(|event| match event {
            CoreEvent::ToolCallResult {
                content, failed, ..
            } => Some((content.text(), *failed)),
            _ => None,
        });
        let (text, failed) = result.expect("it is said in the stream, too");
        assert_eq!(failed, said.starts_with("failed: "));
        assert!(said.ends_with(&text));
    }
}

#[tokio::test]
async fn r100_what_cannot_be_asked_is_asked_of_nobody() {
    let call = r#"call AskUserQuestion {"questions":[]}"#;
    let stage = stage(&["--tools-http"], &[call], &[]);
    let (_, signals) = stage.play_asked(|ask| panic!("{ask:?}")).await;
    assert_eq!(text(&signals), "failed: ask 1 to 4 questions");
}

#[tokio::test]
async fn an_agent_that_takes_no_tools_is_handed_none() {
    for (preset, args) in [(Some("pando"), "--tools-http"), (None, "--load")] {
        let mut stage = stage(&[args], &["told"], &["paint"]);
        stage.options.preset = preset.and_then(Preset::named);
        let (_, signals) = stage.play().await;
        let said = text(&signals);
        assert!(said.contains(r#""mcpServers":[]"#), "{said}");
    }
    // Nor is one for which there are none.
    let mut stage = stage(&["--tools-http"], &["told"], &[]);
    stage.options.questions = false;
    let (_, signals) = stage.play().await;
    assert!(text(&signals).contains(r#""mcpServers":[]"#));
}

/// Plays two turns in one session, the second with another page, and answers with what the second says.
async fn change(mut stage: Stage, first: &[&str], second: &[&str]) -> String {
    stage = stage.keeping(1);
    stage.tools = page(first);
    stage.next(None, &["tools"]);
    let (_, signals) = stage.play().await;
    assert_eq!(text(&signals), first.join(","));
    stage.tools = page(second);
    stage.next(Some("first"), &["tools", "say  ", "told"]);
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    stage.close().await;
    text(&signals)
}

#[tokio::test]
async fn the_agent_has_the_tools_that_the_page_has_now() {
    const RETURNING: [&str; 3] = ["--tools-http", "--close", "--resume"];
    for (preset, args, reopened) in [
        (Some("copilot"), &RETURNING[..], true),
        (
            Some("opencode"),
            &["--tools-http", "--heeds", "--close", "--resume"],
            false,
        ),
        (None, &RETURNING[..], true),
        (
            None,
            &["--tools-http", "--heeds", "--close", "--resume"],
            false,
        ),
    ] {
        let mut stage = Stage::new(args, &[]);
        stage.options.questions = false;
        stage.options.preset = preset.and_then(Preset::named);
        let said = change(stage, &["paint"], &["open", "close"]).await;
        assert!(said.starts_with("open,close "), "{preset:?}: {said}");
        assert_eq!(said.contains("session/close"), reopened, "{preset:?}");
        assert_eq!(said.contains("session/resume"), reopened, "{preset:?}");
    }
    // Nothing happens if nothing has changed.
    let mut stage = Stage::new(&RETURNING, &[]);
    stage.options.questions = false;
    let said = change(stage, &["paint"], &["paint"]).await;
    assert!(!said.contains("session/close"), "{said}");
}

#[tokio::test]
async fn an_agent_that_notices_nothing_gets_a_new_process() {
    let mut stage = Stage::new(&["--tools-http", "--resume"], &[]);
    stage.options.questions = false;
    stage.options.preset = Preset::named("qwen");
    let said = change(stage, &["paint"], &["open"]).await;
    assert!(said.starts_with("open "), "{said}");
    assert!(
        !said.contains("session/new"),
        "it is another process: {said}"
    );
}

#[tokio::test]
async fn codex_has_its_tools_from_its_process() {
    let mut stage = stage(
        &["--tools-codex"],
        &["tools", "say :", "call paint {}", "told"],
        &["paint"],
    );
    stage.options.preset = Preset::named("codex");
    let mut calls = Vec::new();
    let (_, signals) = stage.play_asked(answering(&mut calls)).await;
    let said = text(&signals);
    assert!(said.starts_with("AskUserQuestion,paint:paint {}"), "{said}");
    assert!(said.contains(r#""mcpServers":[]"#), "{said}");
}
