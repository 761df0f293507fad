//! Forms that an agent has people fill in.

use agui_serve::deps::{Ask, Form, Question, Reply, Signal, StopReason, Unanswered};
use serde_json::{Value, json};

use crate::stage::{Stage, text};

const SCHEMA: &str = r#"{"type":"object","properties":{"colour":{"type":"string","enum":["red","green"]}},"required":["colour"]}"#;

/// Plays a turn that asks such a question, and answers with what was asked and what the agent was told.
async fn play(params: &str, reply: Reply) -> (Option<Question>, String) {
    let call = r#"update {"sessionUpdate":"tool_call","toolCallId":"c","name":"AskUserQuestion","status":"pending","rawInput":{"n":1}}"#;
    let stage = Stage::new(&[], &[call, &format!("elicit {params}")]);
    let (mut asked, mut reply) = (None, Some(reply));
    let answer = |ask| {
        let Ask::Question(question, to) = ask else {
            panic!("it asks a question");
        };
        asked = Some(question);
        to.send(reply.take().expect("it asks once")).unwrap();
    };
    let (outcome, signals) = stage.play_asked(answer).await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    (asked, text(&signals))
}

fn form(call: &str) -> String {
    format!(
        r#"{{"mode":"form","message":"Which?","toolCallId":"{call}","requestedSchema":{SCHEMA}}}"#
    )
}

#[tokio::test]
async fn r100_a_form_reaches_people_and_what_they_say_reaches_the_agent() {
    let red = json!({"colour": "red", "more": 1});
    let accepted = r#"{"action":"accept","content":{"colour":"red"}}"#;
    let declined = r#"{"action":"decline"}"#;
    for (reply, told) in [
        (Reply::Answered(red.clone()), accepted),
        (Reply::Answered(red.to_string().into()), accepted),
        (Reply::Answered(json!({"colour": "blue"})), declined),
        (Reply::Answered(json!({"declined": true})), declined),
        (Reply::Answered(json!("red")), declined),
        (
            Reply::Unanswered(Unanswered::TimedOut),
            r#"{"action":"cancel"}"#,
        ),
    ] {
        let (asked, said) = play(&form("c"), reply).await;
        assert_eq!(said, told);
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let question = Question {
            call: Some("c".into()),
            message: "Which?".into(),
            form: Form::Fields(schema.as_object().unwrap().clone()),
        };
        assert_eq!(asked, Some(question));
    }
}

#[tokio::test]
async fn a_question_about_a_call_that_nobody_knows_is_about_none() {
    let (asked, _) = play(&form("unknown"), Reply::Unanswered(Unanswered::Nobody)).await;
    assert_eq!(asked.unwrap().call, None);
}

#[tokio::test]
async fn what_is_not_offered_to_be_asked_is_an_error() {
    let url =
        r#"{"mode":"url","elicitationId":"1","url":"https://example.org","message":"Log in"}"#;
    let nested = r#"{"mode":"form","message":"Which?","requestedSchema":{"type":"array"}}"#;
    for params in [url, nested, "{}"] {
        let (asked, said) = play(params, Reply::Unanswered(Unanswered::Nobody)).await;
        assert_eq!((asked, &*said), (None, "-32602"), "{params}");
    }
}

#[tokio::test]
async fn forms_are_offered_and_pages_to_open_are_not() {
    let (_, signals) = Stage::new(&[], &["offered"]).play().await;
    let offered: Value = serde_json::from_str(&text(&signals)).unwrap();
    assert_eq!(offered["elicitation"], json!({"form": {}}));
    assert!(
        !signals
            .iter()
            .any(|signal| matches!(signal, Signal::Ask(_)))
    );
}
