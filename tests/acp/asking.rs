//! What an agent asks of people: each request reaches the turn that hears its session, and has one answer.

use std::sync::Arc;

use agui_serve::deps::{
    Ask, Code, CoreEvent, Denial, OptionKind, Permission, PermissionRequest, Signal, StopReason,
};
use serde_json::json;
use tokio::time::timeout;

use crate::stage::{PATIENCE, Stage, events, text};

const RM: &str =
    r#"ask {"toolCallId":"c","title":"rm x","kind":"execute","rawInput":{"command":"rm x"}}"#;

const CANCELLED: &str = r#"{"outcome":"cancelled"}"#;

fn selected(option: &str) -> String {
    json!({"outcome": "selected", "optionId": option}).to_string()
}

/// Answers every request for permission, and keeps what was asked.
fn answering<'a>(
    asked: &'a mut Vec<PermissionRequest>,
    answer: impl Fn(&PermissionRequest) -> Permission + 'a,
) -> impl FnMut(Ask) + 'a {
    move |ask| {
        let Ask::Permission(request, to) = ask else {
            panic!("it asks for permission");
        };
        to.send(answer(&request)).unwrap();
        asked.push(*request);
    }
}

fn yes(request: &PermissionRequest) -> Permission {
    Permission::Allowed(Arc::clone(&request.option(true).unwrap().id))
}

fn no(request: &PermissionRequest) -> Permission {
    Permission::Denied(
        request.option(false).map(|it| Arc::clone(&it.id)),
        Denial::Said,
    )
}

/// Waits for both, and not for ever.
async fn both<A, B>(turn: impl Future<Output = A>, hear: impl Future<Output = B>) -> (A, B) {
    let both = async { tokio::join!(turn, hear) };
    timeout(PATIENCE, both).await.expect("the turn ends")
}

/// The results of calls: what they say, and whether they failed.
fn results(events: &[&CoreEvent]) -> Vec<(String, String, bool)> {
    let result = |event: &&CoreEvent| match event {
        CoreEvent::ToolCallResult {
            call,
            content,
            failed,
        } => Some((call.to_string(), content.text(), *failed)),
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

const NOT_RUN: &str = "not run: permission was not granted";

#[tokio::test]
async fn report_r47_a_decision_is_handed_to_the_agent_that_asked_in_its_own_words() {
    for (answer, said, results_are) in [
        (
            yes as fn(&PermissionRequest) -> Permission,
            selected("yes"),
            vec![],
        ),
        (no, selected("no"), vec![("c".into(), NOT_RUN.into(), true)]),
        (
            |_| Permission::Denied(None, Denial::Rule),
            CANCELLED.into(),
            vec![("c".into(), NOT_RUN.into(), true)],
        ),
    ] {
        let mut asked = Vec::new();
        let stage = Stage::new(&[], &["say before ", RM]);
        let (outcome, signals) = stage.play_asked(answering(&mut asked, answer)).await;
        assert_eq!(outcome.unwrap(), StopReason::EndTurn);
        assert_eq!(text(&signals), format!("before {said}"));
        assert_eq!(results(&events(&signals)), results_are);
        let [request] = &asked[..] else {
            panic!("{asked:?}");
        };
        assert_eq!(request.call.as_deref(), Some("c"));
        assert_eq!(
            (&*request.tool, &*request.action, &*request.title),
            ("execute", "execute", "rm x")
        );
        assert_eq!(request.params, Some(json!({"command": "rm x"})));
        let options: Vec<_> = request
            .options
            .iter()
            .map(|it| (&*it.id, it.kind))
            .collect();
        assert_eq!(
            options,
            [
                ("yes", OptionKind::AllowOnce),
                ("no", OptionKind::RejectOnce)
            ]
        );
    }
}

#[tokio::test]
async fn r98_a_blocked_call_is_opened_and_closed_before_anybody_is_asked() {
    // As Gemini, the request is all that is heard of the call; others were announced and wait for it.
    let other = r#"update {"sessionUpdate":"tool_call","toolCallId":"o","name":"read","status":"pending","rawInput":{"path":"a"}}"#;
    let growing = r#"update {"sessionUpdate":"tool_call","toolCallId":"g","name":"write","status":"pending","rawInput":"{\"pa"}"#;
    let stage = Stage::new(&[], &[other, growing, RM]);
    let (turn, mut inbox) = stage.start();
    let hear = async {
        let (mut closed, mut answer) = (Vec::new(), None);
        while let Some(signal) = inbox.recv().await {
            match signal {
                Signal::Event(CoreEvent::ToolCallClosed { call }) => closed.push(call),
                Signal::Ask(Ask::Permission(request, to)) => {
                    assert_eq!(request.call.as_deref(), Some("c"));
                    assert_eq!(closed, ["c".into(), "o".into()]);
                    answer = to.send(yes(&request)).ok();
                }
                _ => {}
            }
        }
        answer
    };
    let (outcome, answer) = both(turn, hear).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(answer, Some(()));
}

#[tokio::test]
async fn r99_what_cannot_be_asked_without_doubt_is_denied_and_nobody_is_asked() {
    let always =
        r#"options [{"optionId":"1","kind":"allow_always"},{"optionId":"1","kind":"reject_once"}]"#;
    let no_yes = r#"options [{"optionId":"never","kind":"reject_always"},{"optionId":"maybe","kind":"unheard_of"}]"#;
    for (steps, said) in [
        ([always, RM], CANCELLED.to_owned()),
        ([no_yes, RM], selected("never")),
        (["options []", RM], CANCELLED.into()),
        (["options 7", RM], CANCELLED.into()),
        (["say ", "ask {}"], selected("no")),
    ] {
        let stage = Stage::new(&[], &steps);
        let (outcome, signals) = stage.play_asked(|ask| panic!("{ask:?}")).await;
        assert_eq!(outcome.unwrap(), StopReason::EndTurn);
        assert_eq!(text(&signals), said, "{steps:?}");
    }
}

#[tokio::test]
async fn several_options_of_a_kind_are_all_offered_and_the_chosen_one_is_told() {
    let options = r#"options [{"optionId":"tool","name":"This tool","kind":"allow_always"},
        {"optionId":"server","name":"This server","kind":"allow_always"},{"optionId":"no","kind":"reject_once"}]"#;
    let stage = Stage::new(&[], &[&options.replace('\n', " "), RM]);
    let mut asked = Vec::new();
    let server = |_: &PermissionRequest| Permission::Allowed("server".into());
    let (_, signals) = stage.play_asked(answering(&mut asked, server)).await;
    assert_eq!(text(&signals), selected("server"));
    assert_eq!(asked[0].options.len(), 3);
}

#[tokio::test]
async fn two_requests_at_once_are_answered_in_any_order_while_the_agent_goes_on() {
    let open = |id: &str| format!(r#"open 1 {{"toolCallId":"{id}","name":"sh"}}"#);
    let steps = [&open("a"), &open("b"), "say both ", "answers"];
    let stage = Stage::new(&[], &steps);
    let (turn, mut inbox) = stage.start();
    let hear = async {
        let (mut open, mut said) = (Vec::new(), String::new());
        while let Some(signal) = inbox.recv().await {
            match signal {
                Signal::Ask(Ask::Permission(request, to)) => open.push((request, to)),
                Signal::Event(CoreEvent::Text(text)) => said.push_str(&text),
                _ => {}
            }
            // What it says meanwhile is heard while both are open.
            if said == "both " && open.len() == 2 {
                let (second, first) = (open.pop().unwrap(), open.pop().unwrap());
                assert_eq!(first.0.call.as_deref(), Some("a"));
                second.1.send(no(&second.0)).unwrap();
                first.1.send(yes(&first.0)).unwrap();
            }
        }
        said
    };
    let (outcome, said) = both(turn, hear).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said, format!("both {} {}", selected("yes"), selected("no")));
}

#[tokio::test]
async fn more_requests_than_can_be_open_are_denied_at_once_and_hold_nothing_up() {
    let open = r#"open 100 {"toolCallId":"c","name":"sh"}"#;
    let stage = Stage::new(&[], &[open, "say asked ", "answers"]);
    let (turn, mut inbox) = stage.start();
    let hear = async {
        let (mut open, mut said) = (Vec::new(), String::new());
        while let Some(signal) = inbox.recv().await {
            match signal {
                Signal::Ask(Ask::Permission(request, to)) => open.push((request, to)),
                Signal::Event(CoreEvent::Text(text)) => said.push_str(&text),
                _ => {}
            }
            if said == "asked " {
                for (request, to) in open.drain(..) {
                    to.send(yes(&request)).unwrap();
                }
            }
        }
        said
    };
    let (outcome, said) = both(turn, hear).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(said.matches(&selected("yes")).count(), 64);
    assert_eq!(said.matches(&selected("no")).count(), 36);
}

/// A long line passes alone, and would wait for ever if those that are open were in its way.
#[tokio::test]
async fn report_r66_a_long_line_is_heard_while_people_are_asked() {
    let stage = Stage::new(
        &[],
        &[
            r#"open 1 {"toolCallId":"c","name":"sh"}"#,
            "long 100000",
            "answers",
        ],
    );
    let (turn, mut inbox) = stage.start();
    let hear = async {
        let mut open = None;
        while let Some(signal) = inbox.recv().await {
            match signal {
                Signal::Ask(Ask::Permission(request, to)) => open = Some((request, to)),
                Signal::Event(CoreEvent::Text(text)) if text.len() == 100_000 => {
                    let (request, to) = open.take().unwrap();
                    to.send(yes(&request)).unwrap();
                }
                _ => {}
            }
        }
    };
    let (outcome, ()) = both(turn, hear).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
}

#[tokio::test]
async fn report_r52_a_stop_answers_what_is_open_as_cancelled_and_ends_with_the_prompts_answer() {
    let elicit = r#"elicit {"mode":"form","message":"Which?","requestedSchema":{"properties":{"a":{"type":"string"}}}}"#;
    for (step, said) in [(RM, CANCELLED), (elicit, r#"{"action":"cancel"}"#)] {
        let stage = Stage::new(&[], &["say one ", step, "await-cancel"]);
        let mut open = Vec::new();
        let stop = |ask| {
            open.push(ask);
            stage.stop.cancel();
        };
        let (outcome, signals) = stage.play_asked(stop).await;
        assert_eq!(outcome.unwrap(), StopReason::Cancelled);
        assert_eq!(text(&signals), format!("one {said}"));
    }
}

#[tokio::test]
async fn report_r52_a_yes_that_comes_with_the_stop_is_none() {
    let stage = Stage::new(&[], &[RM, "await-cancel"]);
    let stop = |ask| {
        let Ask::Permission(request, to) = ask else {
            panic!("it asks for permission");
        };
        stage.stop.cancel();
        to.send(yes(&request)).unwrap();
    };
    let (outcome, signals) = stage.play_asked(stop).await;
    assert_eq!(outcome.unwrap(), StopReason::Cancelled);
    assert_eq!(text(&signals), CANCELLED);
}

#[tokio::test]
async fn an_agent_that_dies_while_people_are_asked_ends_the_turn_and_the_question() {
    let stage = Stage::new(&[], &[r#"open 1 {"toolCallId":"c","name":"sh"}"#, "crash"]);
    let mut open = Vec::new();
    let (outcome, _) = stage.play_asked(|ask| open.push(ask)).await;
    assert_eq!(outcome.unwrap_err().code(), Code::AgentCrashed);
    for ask in open {
        let Ask::Permission(request, to) = ask else {
            panic!("it asks for permission");
        };
        assert!(to.send(yes(&request)).is_err(), "nobody waits for it");
    }
}

#[tokio::test]
async fn r4_what_is_asked_in_a_sub_agents_session_is_asked_of_whoever_hears_its_parent() {
    let child = r#"update {"sessionUpdate":"subagent_update","sessionId":"child"}"#;
    let ask = r#"ask-in child {"toolCallId":"c","title":"rm x","kind":"execute"}"#;
    let stage = Stage::new(&[], &[child, ask]);
    let mut asked = Vec::new();
    let (_, signals) = stage.play_asked(answering(&mut asked, yes)).await;
    assert_eq!(text(&signals), selected("yes"));
    let about = (asked[0].call.as_deref(), &*asked[0].title);
    assert_eq!(about, (Some("child/c"), "rm x"));
}

#[tokio::test]
async fn r4_what_is_asked_in_a_session_that_nobody_hears_is_cancelled() {
    let ask = r#"ask-in stranger {"toolCallId":"c","name":"sh"}"#;
    let stage = Stage::new(&[], &[ask]);
    let (outcome, signals) = stage.play_asked(|ask| panic!("{ask:?}")).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&signals), CANCELLED);
}

#[tokio::test]
async fn what_is_asked_between_two_turns_is_cancelled_and_told_all_the_same() {
    let afterwards = r#"ask-afterwards {"toolCallId":"late","name":"sh"}"#;
    let mut stage = Stage::new(&[], &[afterwards]).keeping(1);
    // The turn may still be there to hear it, but it waits for nobody any more.
    let mut open = Vec::new();
    let (outcome, mut signals) = stage.play_asked(|ask| open.push(ask)).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    // By the end of this one, on another thread, it was asked and answered.
    let (outcome, _) = stage.play_beside("other", &["meet"]).end().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    stage.thread = "t";
    stage.next(Some("first"), &["told"]);
    signals.extend(stage.play_asked(|ask| panic!("{ask:?}")).await.1);
    assert!(text(&signals).contains(&format!(r#"{{"answer":{CANCELLED}}}"#)));
    let told = results(&events(&signals));
    assert_eq!(told, [("late".into(), NOT_RUN.into(), true)]);
    stage.close().await;
}

#[tokio::test]
async fn a_request_that_its_agent_takes_back_is_asked_of_nobody_any_more() {
    let stage = Stage::new(
        &[],
        &[
            r#"open 1 {"toolCallId":"c","name":"sh"}"#,
            "withdraw",
            "answers",
        ],
    );
    let mut open = Vec::new();
    let (outcome, signals) = stage.play_asked(|ask| open.push(ask)).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&signals), CANCELLED);
}

#[tokio::test]
async fn a_request_that_is_open_when_its_prompt_is_answered_is_over() {
    let stage = Stage::new(&[], &[r#"open 1 {"toolCallId":"c","name":"sh"}"#]);
    let mut open = Vec::new();
    let (outcome, signals) = stage.play_asked(|ask| open.push(ask)).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(
        results(&events(&signals)),
        [("c".into(), NOT_RUN.into(), true)]
    );
}

#[tokio::test]
async fn an_agent_that_gives_up_because_it_was_refused_something_was_not_stopped() {
    let steps = [RM, "stop cancelled"];
    let (outcome, _) = Stage::new(&[], &steps)
        .play_asked(answering(&mut Vec::new(), no))
        .await;
    assert_eq!(outcome.unwrap(), StopReason::Refusal);
    let (outcome, _) = Stage::new(&[], &steps)
        .play_asked(answering(&mut Vec::new(), yes))
        .await;
    assert_eq!(outcome.unwrap_err().code(), Code::AgentError);
    let (outcome, _) = Stage::new(&[], &["stop cancelled"]).play().await;
    assert_eq!(outcome.unwrap_err().code(), Code::AgentError);
}

/// Qwen asks its questions so. What it adds for its own pages goes to nobody, and answers nothing.
#[tokio::test]
async fn r99_a_question_that_comes_as_a_request_for_permission_is_one() {
    let ask = r#"ask {"toolCallId":"q","title":"Ask user","kind":"other","_meta":{"toolName":"ask_user_question","qwenQuestions":[{"question":"Which?"}]}}"#;
    let mut asked = Vec::new();
    let (_, signals) = Stage::new(&[], &[ask])
        .play_asked(answering(&mut asked, no))
        .await;
    assert_eq!(text(&signals), selected("no"));
    assert!(!format!("{asked:?}").contains("qwenQuestions"));
    assert_eq!(asked[0].tool, "ask_user_question");
}
