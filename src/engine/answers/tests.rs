use serde_json::json;

use super::*;
use crate::protocol::{Interrupt, InterruptId, ToolCallId, decode};

fn input(more: &Value) -> RunAgentInput {
    let mut body = json!({"threadId": "t", "runId": "r", "messages": []});
    let members = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    decode::run_input(body.to_string().as_bytes())
        .unwrap()
        .input
}

fn interrupt(id: &str) -> Prompt {
    Prompt::interrupt(Interrupt {
        id: InterruptId::new(id).unwrap(),
        reason: "x".into(),
        message: None,
        tool_call_id: Some(ToolCallId::new("blocked").unwrap()),
        response_schema: None,
        expires_at: None,
        metadata: None,
        subagent_run_id: None,
    })
}

fn call(id: &str) -> Prompt {
    Prompt::call(ToolCallId::new(id).unwrap())
}

fn asked(prompts: Vec<Prompt>) -> Asked {
    Asked {
        run: RunId::new("r0").unwrap(),
        prompts: prompts.into(),
    }
}

fn tool(id: &str, call: &str, text: &str) -> Value {
    json!({"id": id, "role": "tool", "toolCallId": call, "content": text})
}

#[test]
fn an_answer_is_found_by_the_id_of_what_it_answers_wherever_it_stands() {
    let asked = asked(vec![interrupt("i"), call("c")]);
    let user = |id: &str| json!({"id": id, "role": "user", "content": "x"});
    let given = input(&json!({
        "messages": [user("u1"), tool("t1", "c", "late"), user("u2")],
        "resume": [{"interruptId": "i", "status": "resolved", "payload": true}],
    }));
    let said = Given::of(&given).meet(&asked, false).unwrap();
    assert_eq!(said[0], Some(Said::Payload(Some(json!(true)))));
    assert!(matches!(&said[1], Some(Said::Result(message)) if message.id.as_str() == "t1"));
}

#[test]
fn a_call_can_be_answered_by_resume_too_but_an_interrupt_by_no_tool_message() {
    let given = input(&json!({
        "messages": [tool("t1", "blocked", "{\"approved\":true}"), tool("t2", "i", "true")],
        "resume": [{"interruptId": "c", "status": "cancelled"}],
    }));
    let given = Given::of(&given);
    assert_eq!(
        given.meet(&asked(vec![call("c")]), false),
        Ok(vec![Some(Said::GivenUp)])
    );
    let missing = Unmet::Nothing(vec!["i".into()]);
    assert_eq!(
        given.meet(&asked(vec![interrupt("i")]), false),
        Err(missing)
    );
}

#[test]
fn report_r28_the_first_result_of_a_call_counts() {
    let given = input(&json!({"messages": [tool("t1", "c", "one"), tool("t2", "c", "two")]}));
    let said = Given::of(&given)
        .meet(&asked(vec![call("c")]), false)
        .unwrap();
    assert!(matches!(&said[0], Some(Said::Result(message)) if message.id.as_str() == "t1"));
}

#[test]
fn what_is_typed_passes_over_calls_and_never_over_interrupts() {
    let nothing = input(&json!({}));
    let given = Given::of(&nothing);
    assert_eq!(given.meet(&asked(vec![call("c")]), true), Ok(vec![None]));
    let both = asked(vec![call("c"), interrupt("i")]);
    assert_eq!(
        given.meet(&both, true),
        Err(Unmet::Nothing(vec!["i".into()]))
    );
    assert_eq!(
        given.meet(&both, false),
        Err(Unmet::Nothing(vec!["c".into(), "i".into()]))
    );
}

#[test]
fn report_r41_the_named_answer_wins_over_the_one_without_a_name() {
    let given = input(&json!({
        "resume": [{"interruptId": "i", "status": "cancelled"}],
        "forwardedProps": {"command": {"resume": true}},
    }));
    let said = Given::of(&given).meet(&asked(vec![interrupt("i")]), false);
    assert_eq!(said, Ok(vec![Some(Said::GivenUp)]));
}

#[test]
fn the_same_is_known_again_in_another_order_and_nothing_else_is() {
    let digest = |payload: Value| Said::Payload(Some(payload)).digest();
    let one = digest(json!({"a": [1, {"x": 1, "y": null}], "b": "c"}));
    let same = digest(json!({"b": "c", "a": [1, {"y": null, "x": 1}]}));
    assert_eq!(one, same);
    let others = [
        digest(json!({"a": [{"x": 1, "y": null}, 1], "b": "c"})),
        digest(json!({"a": [1, {"x": "1", "y": null}], "b": "c"})),
        digest(json!("{\"a\":1}")),
        digest(json!({"a": 1})),
        Said::Payload(None).digest(),
        Said::GivenUp.digest(),
    ];
    let different: std::collections::HashSet<_> = others.iter().chain([&one]).collect();
    assert_eq!(different.len(), others.len() + 1);
}

#[test]
fn what_answers_are_worth_that_nothing_waits_for_is_told_by_their_fate() {
    let run = RunId::new("r1").unwrap();
    let yes = Said::Payload(Some(json!(true))).digest();
    let known = |id: &str, fate| store::Prompt {
        id: id.into(),
        fate,
    };
    let answered = |digest: &str| Fate::Answered {
        run: run.clone(),
        digest: digest.into(),
    };
    let known = [
        known("same", answered(&yes)),
        known("other", answered("x")),
        known("closed", Fate::Closed { run: run.clone() }),
        known("lost", Fate::Open),
    ];
    let entry = |id: &str| json!({"interruptId": id, "status": "resolved", "payload": true});
    let ids = ["same", "other", "closed", "lost", "new", "open"].map(entry);
    let given = input(&json!({ "resume": ids }));
    let given = Given::of(&given);
    assert_eq!(
        given.stale(&known, &["open".into()]),
        Stale {
            again: Some(run),
            otherwise: vec!["other".into()],
            over: vec!["closed".into()],
            lost: vec!["lost".into()],
            unknown: vec!["new".into()],
        }
    );
    // A history is full of results that were answered long ago, and is no contradiction.
    let history = input(&json!({"messages": [tool("t1", "other", "a"), tool("t2", "new", "b")]}));
    assert!(Given::of(&history).stale(&known, &[]).is_empty());
}
