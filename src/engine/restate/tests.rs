//! What those who come later read, beside what a reader from the beginning has.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    deps::Code,
    engine::tests::stage::{self, Op, Stage},
    protocol::{
        MessageBody,
        grammar::{check_legacy_stream, check_stream, check_viewer_stream},
        schema::Schema,
    },
};

fn past() -> Vec<Message> {
    let past = json!([
        {"id": "u", "role": "user", "content": [{"type": "text", "text": "go"}]},
        {"id": "c", "role": "assistant", "toolCalls": [
            {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"id": "p", "role": "tool", "toolCallId": "x", "content": [{"type": "text", "text": "r"}]},
        {"id": "v", "role": "user", "content": "more"},
    ]);
    serde_json::from_value(past).unwrap()
}

fn text(frames: &[Bytes]) -> String {
    String::from_utf8(frames.concat()).unwrap()
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of("Event"));

fn is_more(body: &Body) -> bool {
    matches!(
        body,
        Body::TextMessageContent { .. } | Body::ReasoningMessageContent { .. }
    )
}

fn is_legal(body: &str, peer: Peer) -> Result<(), TestCaseError> {
    let checked = match peer {
        Peer::Current => check_stream(body),
        Peer::Legacy => check_legacy_stream(body),
    };
    let events =
        checked.map_err(|violation| TestCaseError::fail(format!("{violation}: {body}")))?;
    // What follows is the log's, which others look at.
    for event in events.iter().take_while(|event| !is_more(&event.body)) {
        prop_assert_eq!(SCHEMA.errors(event), Vec::<String>::new());
    }
    Ok(())
}

/// The messages with content as a client from before 1.0 reads it.
fn as_read(messages: Vec<Message>, peer: Peer) -> Vec<Message> {
    let event = Event::from(Body::MessagesSnapshot { messages });
    let Some(frame) = frame(event, peer) else {
        panic!("messages are for everybody")
    };
    stage::fold(&text(&[frame]))
}

fn now<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whoever_comes_whenever_reads_a_legal_stream_to_the_same_messages(
        ops in stage::ops(), ending in stage::endings(), legacy in any::<bool>()
    ) {
        let peer = if legacy { Peer::Legacy } else { Peer::Current };
        let past = past();
        let mut stage = Stage::new();
        let mut visits = vec![stage.writer.visit(json!({"n": 0}), Some(&past), peer)];
        let mut without = Vec::new();
        for op in ops {
            stage.play(op);
            visits.push(stage.writer.visit(json!({"n": 0}), Some(&past), peer));
            without.push(stage.writer.visit(json!({"n": 0}), None, peer));
        }
        stage.writer.finish(ending);
        let direct = now(stage::whole(&stage.log, peer));
        is_legal(&direct, peer)?;
        let all = as_read([past, stage::fold(&direct)].concat(), peer);
        for visit in visits {
            let (begin, cursor) = visit.marked().begin(&Env::fixed(0), peer);
            let body = text(&begin) + &now(stage::rest(cursor));
            check_viewer_stream(&body, peer)
                .map_err(|violation| TestCaseError::fail(format!("{violation}: {body}")))?;
            prop_assert_eq!(stage::fold(&body), all.clone());
            // Who comes back to a place reads what came after it.
            prop_assert!(body.contains("id: log."), "the end of a run is a place");
            for (at, _) in body.match_indices("id: log.") {
                let (mark, rest) = body[at..].split_once("\n\n").unwrap();
                let id = mark.strip_prefix("id: ").unwrap();
                let Some(cursor) = stage.log.resume(peer, id) else {
                    return Err(TestCaseError::fail(format!("{id} is gone")));
                };
                prop_assert_eq!(now(stage::rest(cursor.marked())), rest);
            }
        }
        // Where not the whole is known, none of it is shown, and what follows is as legal.
        for visit in without {
            let (begin, cursor) = visit.begin(&Env::fixed(0), peer);
            let begin = text(&begin);
            prop_assert!(!begin.contains("MESSAGES_SNAPSHOT"));
            is_legal(&(begin + &now(stage::rest(cursor))), peer)?;
        }
    }
}

#[test]
fn report_r12b_the_messages_hold_what_was_thought_and_no_more_than_was_streamed() {
    let mut stage = Stage::new();
    for op in [Op::Think("hm".into()), Op::Text("so".into())] {
        stage.play(op);
    }
    let visit = stage.writer.visit(json!({}), Some(&[]), Peer::Legacy);
    let (begin, _) = visit.begin(&Env::fixed(0), Peer::Legacy);
    let messages = stage::fold(&text(&begin));
    let [thought, said] = messages.as_slice() else {
        panic!("{messages:?}")
    };
    assert!(matches!(&thought.body, MessageBody::Reasoning { content } if content == "hm"));
    assert!(
        matches!(&said.body, MessageBody::Assistant { content: Some(content), .. }
        if content == "so")
    );
    let direct = stage::fold(&now(async {
        stage.writer.finish(Ending::Cancelled);
        stage::whole(&stage.log, Peer::Current).await
    }));
    assert_eq!(direct, messages, "with the ids that were streamed");
}

#[test]
fn a_thread_that_is_only_looked_at_reads_as_a_run_that_is_over() {
    let env = Env::fixed(7);
    let failed = Ending::Failed {
        code: Code::Internal,
        message: "it broke".into(),
    };
    for ending in [
        Ending::Done { stop_reason: None },
        Ending::Cancelled,
        failed,
    ] {
        for peer in [Peer::Current, Peer::Legacy] {
            for messages in [Some(past()), None] {
                let notices = vec![("notice".to_owned(), json!({"code": "x"}))];
                let namespace = Namespace::default();
                let shown = messages.clone().map_or(vec![], |all| as_read(all, peer));
                let frames = ended(
                    &env,
                    &namespace,
                    &stage::ids(),
                    json!({}),
                    messages,
                    notices,
                    &ending,
                    peer,
                );
                is_legal(&text(&frames), peer).unwrap();
                assert_eq!(stage::fold(&text(&frames)), shown);
                let said = text(&frames[frames.len() - 2..]);
                assert!(said.contains("pando.notice"), "{said}");
            }
        }
    }
}

#[test]
fn messages_that_do_not_fit_into_a_frame_are_left_out() {
    let mut messages = past();
    let MessageBody::User { content, .. } = &mut messages[3].body else {
        unreachable!()
    };
    *content = crate::protocol::Content::Text("\u{2028}".repeat(sse::MAX_FRAME / 6 + 1));
    let frames = frames(
        &Env::fixed(7),
        &stage::ids(),
        json!({}),
        Some(messages),
        [],
        Peer::Current,
    );
    assert_eq!(frames.len(), 2);
}
