//! What is recorded beside what a client has.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    engine::{
        ending::Ending,
        tests::stage::{self, Op, Stage},
    },
    protocol::{Content, Peer},
};

fn now<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

/// What the store makes of messages that are added: a known one is replaced in its place.
fn add(stored: &mut Vec<Message>, messages: Vec<Message>) {
    for message in messages {
        match stored.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message,
            None => stored.push(message),
        }
    }
}

proptest! {
    #[test]
    fn report_r12_and_r23_what_is_recorded_and_stored_is_what_a_client_has(
        ops in stage::ops(), every in 1usize..6,
        ending in stage::endings(), explains in any::<bool>()
    ) {
        let mut stage = Stage::new();
        let mut stored = Vec::new();
        for (at, op) in ops.into_iter().enumerate() {
            stage.play(op);
            if at % every == 0 {
                add(&mut stored, stage.writer.take_done());
            }
        }
        add(&mut stored, stage.writer.wind_up(&ending, explains));
        prop_assert!(stage.writer.take_done().is_empty());
        prop_assert!(!stage.writer.is_partial());
        stage.writer.finish(ending);
        let body = now(stage::whole(&stage.log, Peer::Current));
        prop_assert_eq!(stored, stage::fold(&body));
    }
}

fn op_open() -> Vec<Op> {
    vec![Op::Text("a".into()), Op::Open, Op::Arguments(0, "{".into())]
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

#[test]
fn what_is_said_behind_a_call_waits_for_its_result() {
    let mut stage = Stage::new();
    let answer = Op::Answer(0, Content::Text("r".into()));
    let mut done = Vec::new();
    for op in op_open().into_iter().chain([
        Op::Close(0),
        Op::Think("t".into()),
        Op::Text("b".into()),
        answer,
    ]) {
        done.push(stage.writer.take_done());
        stage.play(op);
    }
    assert!(done.iter().all(Vec::is_empty), "{done:?}");
    let taken = stage.writer.take_done();
    assert_eq!(taken.len(), 3, "{taken:?}");
    assert!(matches!(taken[1].body, MessageBody::Tool { .. }));
    assert!(matches!(taken[2].body, MessageBody::Reasoning { .. }));
    // The last text may still get a call.
    let last = stage.writer.wind_up(&Ending::Cancelled, true);
    assert_eq!(last.len(), 1);
    assert!(!ids(&taken).contains(&ids(&last)[0]));
}

#[test]
fn report_r15b_half_a_call_is_kept_with_what_was_streamed_of_it() {
    let mut stage = Stage::new();
    for op in op_open() {
        stage.play(op);
    }
    let done = stage.writer.wind_up(&Ending::Cancelled, true);
    let [said, result] = done.as_slice() else {
        panic!("{done:?}")
    };
    assert_eq!(
        serde_json::to_value(calls(said).collect::<Vec<_>>()).unwrap()[0]["function"],
        json!({"name": "f", "arguments": "{"})
    );
    assert!(matches!(&result.body, MessageBody::Tool { content, .. }
        if content.text() == Ending::Cancelled.unanswered()));
}

#[test]
fn metadata_stands_where_a_client_puts_it() {
    let mut recorder = Recorder::new(1 << 10);
    let id = |id: &str| MessageId::new(id).unwrap();
    let call = || ToolCallId::new("c").unwrap();
    let with = |recorder: &mut Recorder, body: Body, key: &str| {
        let metadata = [(key.to_owned(), json!(1))].into_iter().collect();
        recorder.event(&None, &body, Some(&metadata));
    };
    let start = Body::ToolCallStart {
        tool_call_id: call(),
        tool_call_name: "f".into(),
        parent_message_id: Some(id("m")),
    };
    with(&mut recorder, start, "a");
    let end = Body::ToolCallEnd {
        tool_call_id: call(),
    };
    with(&mut recorder, end, "b");
    let result = Body::ToolCallResult {
        message_id: id("r"),
        tool_call_id: call(),
        content: Content::Text("x".into()),
        role: None,
    };
    with(&mut recorder, result, "c");
    assert_eq!(
        serde_json::to_value(recorder.messages()).unwrap(),
        json!([
            {"id": "m", "role": "assistant", "toolCalls": [{"id": "c", "type": "function",
                "function": {"name": "f", "arguments": ""}, "metadata": {"a": 1, "b": 1}}]},
            {"id": "r", "role": "tool", "content": "x", "toolCallId": "c", "metadata": {"c": 1}},
        ])
    );
}

#[test]
fn what_is_kept_is_bounded_and_what_is_open_is_known_beyond_that() {
    let mut recorder = Recorder::new(OVERHEAD + 10);
    let start = |id: &str| Body::TextMessageStart {
        message_id: MessageId::new(id).unwrap(),
        role: None,
        name: None,
    };
    recorder.event(&None, &start("m"), None);
    recorder.delta(&None, "12345");
    assert!(!recorder.is_partial());
    recorder.delta(&None, "123456");
    recorder.delta(&None, "1");
    assert!(recorder.is_partial());
    recorder.event(
        &None,
        &Body::TextMessageEnd {
            message_id: MessageId::new("m").unwrap(),
        },
        None,
    );
    assert!(recorder.is_quiet());
    recorder.event(&None, &start("n"), None);
    recorder.delta(&None, "1");
    assert_eq!(recorder.reopen(), [(None, start("n"))]);
    let kept = serde_json::to_value(recorder.messages()).unwrap();
    assert_eq!(
        kept,
        json!([{"id": "m", "role": "assistant", "content": "12345"}])
    );
}
