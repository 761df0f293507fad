//! For tests: random runs, and a client that makes messages of a stream as the stock one does.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Namespace,
    ending::Ending,
    ends::RunIds,
    log::{Budget, Cursor, Log, Step},
    writer::{ClosedCall, OpenCall, Writer},
};
use crate::{
    deps::Code,
    env::Env,
    protocol::{
        Body, Content, Event, FunctionCall, FunctionType, Message, MessageBody, Operation, Part,
        Peer, Pointer, RunId, ThreadId, ToolCall,
    },
};

/// Something that a turn does to its writer. What it needs and is not there, is left out.
#[derive(Debug, Clone)]
pub(in crate::engine) enum Op {
    Text(String),
    Think(String),
    Open,
    Arguments(usize, String),
    Close(usize),
    Answer(usize, Content),
    /// Has a sub-agent begin.
    Begin,
    /// Has a sub-agent do what comes next, or the agent itself.
    HandOver(usize),
    /// Ends a sub-agent.
    End(usize),
    State,
    Notice,
    Flush,
}

/// A run as a turn writes it.
pub(in crate::engine) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let content = prop_oneof![
        "[a-z]{0,4}".prop_map(Content::Text),
        "[a-z]{0,4}".prop_map(|text| Content::Parts(vec![Part::text(text)])),
    ];
    let op = prop_oneof![
        3 => "[ -~é\u{2028}]{1,6}".prop_map(Op::Text),
        2 => "[a-z]{1,6}".prop_map(Op::Think),
        3 => Just(Op::Open),
        2 => (0usize..4, "[{}a-z\"]{0,5}").prop_map(|(at, text)| Op::Arguments(at, text)),
        3 => (0usize..4).prop_map(Op::Close),
        3 => (0usize..4, content).prop_map(|(at, content)| Op::Answer(at, content)),
        1 => Just(Op::Begin),
        3 => (0usize..4).prop_map(Op::HandOver),
        1 => (0usize..4).prop_map(Op::End),
        1 => Just(Op::State),
        1 => Just(Op::Notice),
        2 => Just(Op::Flush),
    ];
    proptest::collection::vec(op, 0..40)
}

/// How a run may end.
pub(in crate::engine) fn endings() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Done { stop_reason: None }),
        Just(Ending::Cancelled),
        Just(Ending::Failed {
            code: Code::Internal,
            message: "it broke".into()
        }),
    ]
}

pub(in crate::engine) fn ids() -> RunIds {
    RunIds {
        thread: ThreadId::new("t").unwrap(),
        run: RunId::new("r").unwrap(),
        parent: None,
    }
}

/// A run on a stage.
pub(in crate::engine) struct Stage {
    pub(in crate::engine) log: Arc<Log>,
    pub(in crate::engine) writer: Writer,
    open: Vec<OpenCall>,
    closed: Vec<ClosedCall>,
    sub_agents: Vec<Arc<str>>,
}

impl Stage {
    pub(in crate::engine) fn new() -> Self {
        Self::with(json!({"n": 0}))
    }

    /// Begins with this state document.
    pub(in crate::engine) fn with(state: Value) -> Self {
        let log = Log::new("log".into(), 1 << 24, Budget::new(1 << 24));
        let (env, namespace) = (Env::fixed(7), Namespace::default());
        let writer = Writer::begin(Arc::clone(&log), env, namespace, ids(), state);
        Self {
            log,
            writer,
            open: Vec::new(),
            closed: Vec::new(),
            sub_agents: Vec::new(),
        }
    }

    pub(in crate::engine) fn play(&mut self, op: Op) {
        let writer = &mut self.writer;
        match op {
            Op::Text(text) => writer.text(&text),
            Op::Think(text) => writer.reasoning(&text),
            Op::Open => self.open.push(writer.open_call("f")),
            Op::Arguments(at, text) if at < self.open.len() => {
                writer.arguments(&mut self.open[at], &text);
            }
            Op::Close(at) if at < self.open.len() => {
                self.closed.push(writer.close_call(self.open.remove(at)));
            }
            Op::Answer(at, content) if at < self.closed.len() => {
                writer.result(self.closed.remove(at), content, at == 1);
            }
            Op::Begin => {
                let run: Arc<str> = writer.id("subagent").into();
                let started = json!({"type": "SUBAGENT_STARTED", "name": "n"});
                let started = serde_json::from_value(started).unwrap();
                writer.begin_sub_agent(&run, started, self.sub_agents.is_empty());
                self.sub_agents.push(run);
            }
            Op::HandOver(at) => match self.sub_agents.get(at) {
                Some(run) => assert!(writer.hand_over(run)),
                None => writer.hand_back(),
            },
            Op::End(at) if at < self.sub_agents.len() => {
                let ended = Body::SubagentFinished {
                    result: None,
                    outcome: None,
                };
                writer.end_sub_agent(&self.sub_agents.remove(at), ended);
            }
            Op::Arguments(..) | Op::Close(_) | Op::Answer(..) | Op::End(_) => {}
            Op::State => writer.state_delta(vec![Operation::Replace {
                path: Pointer::root().child("n"),
                value: Value::from(1),
            }]),
            Op::Notice => writer.notice("notice", json!({"code": "x"})),
            Op::Flush => writer.flush(),
        }
    }
}

/// Reads what is left of a log that was closed.
pub(in crate::engine) async fn rest(mut cursor: Cursor) -> String {
    let mut body = String::new();
    loop {
        match cursor.next().await {
            Step::Frames(frames) => {
                for frame in frames {
                    body.push_str(std::str::from_utf8(&frame).unwrap());
                }
            }
            Step::End => return body,
            Step::Gap => panic!("the log was large enough"),
        }
    }
}

/// What a reader that was there from the beginning reads.
pub(in crate::engine) async fn whole(log: &Arc<Log>, peer: Peer) -> String {
    rest(log.cursor(peer)).await
}

/// The events of a stream.
pub(in crate::engine) fn events(body: &str) -> Vec<Event> {
    body.split("\n\n")
        .filter_map(|frame| frame.strip_prefix("data: "))
        .map(|json| serde_json::from_str(json).unwrap())
        .collect()
}

/// The messages of a client that has read a stream (AG-UI 1.0, and what the stock client makes of it).
pub(in crate::engine) fn fold(body: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    for event in events(body) {
        apply(&mut messages, event);
    }
    messages
}

fn apply(messages: &mut Vec<Message>, event: Event) {
    let more = event.metadata;
    let whose = event.subagent_run_id;
    match event.body {
        Body::MessagesSnapshot { messages: all } => *messages = all,
        Body::TextMessageStart { message_id, .. } => {
            let body = json!({"id": message_id, "role": "assistant", "content": ""});
            let message = find_or_push(messages, body);
            message.metadata = more;
            message.subagent_run_id = whose;
        }
        Body::ReasoningMessageStart { message_id, .. } => {
            let body = json!({"id": message_id, "role": "reasoning", "content": ""});
            find_or_push(messages, body).subagent_run_id = whose;
        }
        Body::TextMessageContent { message_id, delta }
        | Body::ReasoningMessageContent { message_id, delta } => {
            let known = messages.iter_mut().find(|known| known.id == message_id);
            match &mut known.unwrap().body {
                MessageBody::Assistant {
                    content: Some(content),
                    ..
                }
                | MessageBody::Reasoning { content } => content.push_str(&delta),
                other => panic!("no text goes into {other:?}"),
            }
        }
        Body::ToolCallStart {
            tool_call_id,
            tool_call_name,
            parent_message_id,
        } => {
            let parent = json!({"id": parent_message_id.unwrap(), "role": "assistant"});
            let parent = find_or_push(messages, parent);
            parent.subagent_run_id = whose;
            let calls = calls(parent).unwrap();
            match calls.iter_mut().find(|call| call.id == tool_call_id) {
                Some(call) => call.function.name = tool_call_name,
                None => calls.push(ToolCall {
                    id: tool_call_id,
                    kind: FunctionType::Function,
                    function: FunctionCall {
                        name: tool_call_name,
                        arguments: String::new(),
                    },
                    encrypted_value: None,
                    metadata: more,
                }),
            }
        }
        Body::ToolCallArgs {
            tool_call_id,
            delta,
        } => {
            let mut all = messages.iter_mut().filter_map(calls).flatten();
            let call = all.find(|call| call.id == tool_call_id).unwrap();
            call.function.arguments.push_str(&delta);
        }
        Body::ToolCallResult {
            message_id,
            tool_call_id,
            content,
            ..
        } => {
            let owns = |message: &mut Message| {
                calls(message).is_some_and(|calls| calls.iter().any(|call| call.id == tool_call_id))
            };
            let owner = messages.iter_mut().position(owns);
            let behind = |owner: usize| {
                let is_result = |at: &usize| matches!(messages[*at].body, MessageBody::Tool { .. });
                (owner + 1..messages.len()).take_while(is_result).count() + owner + 1
            };
            let place = owner.map_or(messages.len(), behind);
            let body = json!({
                "id": message_id, "role": "tool", "toolCallId": tool_call_id, "content": content,
            });
            let mut message: Message = serde_json::from_value(body).unwrap();
            message.metadata = more;
            message.subagent_run_id = whose;
            messages.insert(place, message);
        }
        _ => {}
    }
}

fn find_or_push(messages: &mut Vec<Message>, body: Value) -> &mut Message {
    let message: Message = serde_json::from_value(body).unwrap();
    let known = messages.iter().position(|known| known.id == message.id);
    let at = known.unwrap_or_else(|| {
        messages.push(message);
        messages.len() - 1
    });
    &mut messages[at]
}

fn calls(message: &mut Message) -> Option<&mut Vec<ToolCall>> {
    match &mut message.body {
        MessageBody::Assistant { tool_calls, .. } => Some(tool_calls),
        _ => None,
    }
}
