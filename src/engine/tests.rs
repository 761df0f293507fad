//! The engine over a double, on paused time.

mod asking;
mod clients;
mod lasting;
pub(in crate::engine) mod stage;

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::{
    deps::{
        Agent, AgentName, Code, CoreEvent, Deps, Principal, SessionRef, StopReason, TurnError,
        TurnIo, TurnRequest,
    },
    env::Env,
    protocol::{Content, RunAgentInput, decode, grammar},
};

type Outcome = Result<StopReason, TurnError>;
type Play = dyn Fn(TurnRequest, TurnIo) -> BoxFuture<'static, Outcome> + Send + Sync;

struct Double {
    agents: Vec<Agent>,
    play: Box<Play>,
}

impl Deps for Double {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn turn(&self, request: TurnRequest, io: TurnIo) -> BoxFuture<'static, Outcome> {
        (self.play)(request, io)
    }
}

fn name() -> AgentName {
    AgentName::new("double").unwrap()
}

/// A runtime whose one agent plays `play` in each turn.
fn runtime<F, T>(policy: Policy, play: F) -> Runtime
where
    F: Fn(TurnRequest, TurnIo) -> T + Send + Sync + 'static,
    T: Future<Output = Outcome> + Send + 'static,
{
    let agent = Agent::new(name());
    let play = Box::new(move |request, io| Box::pin(play(request, io)) as BoxFuture<'static, _>);
    let deps = Arc::new(Double {
        agents: vec![agent],
        play,
    });
    let options = Options {
        policy,
        ..Options::default()
    };
    Runtime::with_env(deps, options, Env::fixed(7))
}

fn input(more: &Value) -> RunAgentInput {
    let mut body = json!({
        "threadId": "t", "runId": "r", "protocolVersion": "1.0",
        "messages": [{"id": "u", "role": "user", "content": "go"}],
    });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    decode::run_input(body.to_string().as_bytes())
        .unwrap()
        .input
}

async fn start(runtime: &Runtime, more: &Value) -> Result<Reader, StartError> {
    runtime
        .start(&name(), &Principal::local(), input(more))
        .await
}

/// Reads to the end, through the grammar, and gives the events.
async fn collect(reader: Reader) -> Vec<Value> {
    let body = read(reader).await;
    grammar::check_stream(&body).unwrap();
    events(&body)
}

/// Reads to the end.
async fn read(mut reader: Reader) -> String {
    let mut body = String::new();
    while let Some(frames) = reader.next().await {
        for frame in frames {
            body.push_str(std::str::from_utf8(&frame).unwrap());
        }
    }
    body
}

/// The events of a whole stream.
fn events(body: &str) -> Vec<Value> {
    body.split("\n\n")
        .filter(|frame| !frame.is_empty())
        .map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

fn last(events: &[Value]) -> &Value {
    events.last().unwrap()
}

fn text(text: &str) -> CoreEvent {
    CoreEvent::Text(text.into())
}

fn opened(call: &str) -> CoreEvent {
    CoreEvent::ToolCallOpened {
        call: call.into(),
        name: format!("tool_{call}"),
    }
}

fn result(call: &str) -> CoreEvent {
    let content = Content::Text(format!("result of {call}"));
    CoreEvent::ToolCallResult {
        call: call.into(),
        content,
        failed: false,
    }
}

/// Plays events and ends the turn.
fn playing(events: Vec<CoreEvent>, end: fn() -> Outcome) -> Runtime {
    runtime(Policy::default(), move |_, io| {
        let events = events.clone();
        async move {
            for event in events {
                io.emit(event).await.unwrap();
            }
            end()
        }
    })
}

#[test]
fn r23_building_a_runtime_needs_nothing_that_could_open_a_socket() {
    // There is no tokio runtime here, so a socket or a task would panic.
    let runtime = playing(vec![], || Ok(StopReason::EndTurn));
    assert_eq!(runtime.agents().len(), 1);
    assert!(!runtime.is_draining());
}

#[tokio::test]
async fn a_run_begins_with_the_state_and_ends_with_one_terminal_event() {
    let runtime = playing(vec![text("a"), text(""), text("b")], || {
        Ok(StopReason::EndTurn)
    });
    let events = collect(start(&runtime, &json!({"parentRunId": "p"})).await.unwrap()).await;
    assert_eq!(
        types(&events),
        [
            "RUN_STARTED",
            "STATE_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(
        (&events[0]["parentRunId"], &events[0]["protocolVersion"]),
        (&json!("p"), &json!("1.0"))
    );
    assert_eq!(last(&events)["outcome"], json!({"type": "success"}));
}

#[tokio::test]
async fn parallel_calls_share_a_parent_and_a_later_one_has_its_own() {
    let events = vec![
        text("x"),
        opened("a"),
        opened("b"),
        result("b"),
        result("a"),
        opened("c"),
    ];
    let events = collect(
        start(&playing(events, || Ok(StopReason::EndTurn)), &json!({}))
            .await
            .unwrap(),
    )
    .await;
    let starts: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_START")
        .collect();
    let said = events
        .iter()
        .find(|event| event["type"] == "TEXT_MESSAGE_START")
        .unwrap();
    assert_eq!(starts[0]["parentMessageId"], said["messageId"]);
    assert_eq!(starts[1]["parentMessageId"], said["messageId"]);
    assert_ne!(starts[2]["parentMessageId"], said["messageId"]);
}

#[tokio::test]
async fn a_call_left_open_is_closed_and_answered_on_every_ending() {
    let ends: [fn() -> Outcome; 4] = [
        || Ok(StopReason::EndTurn),
        || Ok(StopReason::Cancelled),
        || Err(TurnError::new(Code::DemoFailure, "it failed")),
        || panic!("on purpose"),
    ];
    let finished = ["RUN_FINISHED"].as_slice();
    // Why it failed is said once nothing is open.
    let failed = [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_ERROR",
    ]
    .as_slice();
    for (end, rest) in ends.into_iter().zip([finished, finished, failed, failed]) {
        let runtime = playing(vec![CoreEvent::Reasoning("hm".into()), opened("a")], end);
        let events = collect(start(&runtime, &json!({})).await.unwrap()).await;
        let call = [
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
        ];
        assert_eq!(types(&events)[7..11], call, "{events:?}");
        assert_eq!(types(&events)[11..], *rest, "{events:?}");
        assert_eq!(events[8]["delta"], "{}");
        assert_eq!(events[10]["metadata"], json!({"pando.isError": true}));
    }
}

#[tokio::test]
async fn a_result_for_an_unknown_call_opens_it_and_a_second_result_is_dropped() {
    let closed = CoreEvent::ToolCallClosed {
        call: "nobody".into(),
    };
    let runtime = playing(vec![closed, result("z"), result("z")], || {
        Ok(StopReason::EndTurn)
    });
    let events = collect(start(&runtime, &json!({})).await.unwrap()).await;
    assert_eq!(
        types(&events)[2..],
        [
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(
        (&events[2]["toolCallName"], &events[3]["delta"]),
        (&json!("tool"), &json!("{}"))
    );
}

#[tokio::test]
async fn the_session_stays_with_the_thread_and_is_told_as_a_delta() {
    let runtime = runtime(
        Policy::default(),
        |request: TurnRequest, io: TurnIo| async move {
            let known = request
                .session
                .known()
                .map_or("none".to_owned(), |session| session.as_str().into());
            io.emit(CoreEvent::Text(known)).await.unwrap();
            io.bind(SessionRef::new("s1")).await.unwrap();
            Ok(StopReason::EndTurn)
        },
    );
    let first = collect(start(&runtime, &json!({})).await.unwrap()).await;
    assert_eq!(first[3]["delta"], "none");
    assert_eq!(
        first[4]["delta"],
        json!([{"op": "replace", "path": "/session", "value": "s1"}])
    );
    let second = collect(start(&runtime, &json!({"runId": "r2"})).await.unwrap()).await;
    assert_eq!(second[1]["snapshot"]["session"], "s1");
    assert_eq!(second[3]["delta"], "s1");
    let other = collect(start(&runtime, &json!({"threadId": "t2"})).await.unwrap()).await;
    assert_eq!(
        other[3]["delta"], "none",
        "another thread has another session"
    );
}

/// A core that says one word and then waits to be stopped.
fn waiting(policy: Policy) -> Runtime {
    runtime(policy, |_, io: TurnIo| async move {
        io.emit(text("waiting")).await.unwrap();
        io.stopped().await;
        io.emit(text("stopped")).await.unwrap();
        Ok(StopReason::Cancelled)
    })
}

#[tokio::test(start_paused = true)]
async fn a_live_thread_is_busy_and_others_are_not() {
    let runtime = waiting(Policy::default());
    let reader = start(&runtime, &json!({})).await.unwrap();
    assert_eq!(
        start(&runtime, &json!({"runId": "r2"})).await.unwrap_err(),
        StartError::Busy
    );
    let other = start(&runtime, &json!({"threadId": "t2"})).await.unwrap();
    runtime.close().await;
    for reader in [reader, other] {
        assert_eq!(
            last(&collect(reader).await)["outcome"],
            json!({"type": "cancelled"})
        );
    }
    assert_eq!(
        start(&runtime, &json!({})).await.unwrap_err(),
        StartError::Draining
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_read_the_terminal_event_finds_the_thread_free() {
    let runtime = playing(vec![text("x")], || Ok(StopReason::EndTurn));
    for round in 0..200 {
        collect(
            start(&runtime, &json!({"runId": format!("r{round}")}))
                .await
                .unwrap(),
        )
        .await;
    }
}

/// How long a core without a reader goes on until it is told to stop, and whether it is at all.
async fn lingering(linger: Linger) -> Option<Duration> {
    let (told, mut tell) = mpsc::channel(1);
    let policy = Policy {
        linger,
        ..Policy::default()
    };
    let runtime = runtime(policy, move |_, io: TurnIo| {
        let told = told.clone();
        async move {
            let alone = tokio::time::Instant::now();
            let stopped = tokio::time::timeout(Duration::from_secs(100), io.stopped()).await;
            told.send(stopped.ok().map(|()| alone.elapsed()))
                .await
                .unwrap();
            Ok(StopReason::EndTurn)
        }
    });
    drop(start(&runtime, &json!({})).await.unwrap());
    tell.recv().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_its_reader_goes_on_for_as_long_as_it_may_linger() {
    assert_eq!(
        lingering(Linger::For(Duration::ZERO)).await,
        Some(Duration::ZERO)
    );
    let forgiven = lingering(Linger::For(Duration::from_secs(30)))
        .await
        .unwrap();
    assert_eq!(forgiven.as_secs(), 30);
    assert_eq!(lingering(Linger::Forever).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_takes_too_long_fails_with_its_code() {
    let policy = Policy {
        turn_timeout: Some(Duration::from_mins(1)),
        ..Policy::default()
    };
    let events = collect(start(&waiting(policy), &json!({})).await.unwrap()).await;
    assert_eq!(last(&events)["code"], "turn_timeout");
}

#[tokio::test(start_paused = true)]
async fn a_core_is_silent_only_once_it_said_nothing_for_the_whole_time() {
    let policy = Policy {
        silence_timeout: Some(Duration::from_mins(10)),
        explain_errors: false,
        ..Policy::default()
    };
    let runtime = runtime(policy, |_, io: TurnIo| async move {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_mins(9)).await;
            io.emit(text("still here ")).await.unwrap();
        }
        io.stopped().await;
        Ok(StopReason::Cancelled)
    });
    let events = collect(start(&runtime, &json!({})).await.unwrap()).await;
    assert_eq!(
        events
            .iter()
            .filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT")
            .count(),
        3
    );
    assert_eq!(last(&events)["code"], "agent_silent");
}

#[tokio::test(start_paused = true)]
async fn a_core_that_does_not_stop_is_dropped_after_the_grace() {
    let policy = Policy {
        turn_timeout: Some(Duration::from_mins(1)),
        ..Policy::default()
    };
    let runtime = runtime(policy, |_, _| std::future::pending());
    let began = tokio::time::Instant::now();
    let events = collect(start(&runtime, &json!({})).await.unwrap()).await;
    assert_eq!(began.elapsed().as_secs(), 70);
    assert_eq!(last(&events)["code"], "turn_timeout");
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_its_grace_and_then_stops_what_is_left() {
    let runtime = waiting(Policy::default());
    let reader = start(&runtime, &json!({})).await.unwrap();
    let began = tokio::time::Instant::now();
    runtime.drain(Duration::from_secs(30)).await;
    assert_eq!(began.elapsed().as_secs(), 30);
    assert_eq!(
        last(&collect(reader).await)["outcome"],
        json!({"type": "cancelled"})
    );

    let runtime = playing(vec![text("x")], || Ok(StopReason::EndTurn));
    let reader = start(&runtime, &json!({})).await.unwrap();
    runtime.drain(Duration::from_secs(30)).await;
    assert_eq!(
        last(&collect(reader).await)["outcome"],
        json!({"type": "success"})
    );
}

#[tokio::test]
async fn report_r66_a_reader_that_fell_too_far_behind_is_told_so_and_cut_off() {
    let agent = playing(vec![text(&"x".repeat(1000)); 100], || {
        Ok(StopReason::EndTurn)
    });
    let limits = Limits {
        run_bytes: 10_000,
        ..Limits::default()
    };
    let options = Options {
        limits,
        ..Options::default()
    };
    let runtime = Runtime::with_env(agent.deps(), options, Env::fixed(7));
    let mut reader = start(&runtime, &json!({})).await.unwrap();
    runtime.drain(Duration::from_secs(5)).await;
    let told = reader.next().await.unwrap().concat();
    insta::assert_snapshot!(
        std::str::from_utf8(&told).unwrap(),
        @r#"data: {"type":"RUN_ERROR","message":"the client read too slowly and missed events","code":"reader_too_slow","timestamp":7}"#
    );
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn a_failure_is_also_said_unless_the_policy_wants_it_not() {
    for explain_errors in [true, false] {
        let policy = Policy {
            explain_errors,
            ..Policy::default()
        };
        let runtime = runtime(policy, |_, _| async {
            Err(TurnError::new(Code::AgentError, "the model is away"))
        });
        let events = collect(start(&runtime, &json!({})).await.unwrap()).await;
        let said: Vec<_> = events
            .iter()
            .filter_map(|event| event.get("delta"))
            .collect();
        let expected = ["The run failed: the model is away."];
        assert_eq!(said, expected[..usize::from(explain_errors)]);
        assert_eq!(last(&events)["message"], "the model is away");
    }
}

#[tokio::test]
async fn a_suggestion_run_ends_at_once_and_asks_no_agent() {
    let runtime = runtime(Policy::default(), |_, _| async {
        panic!("an agent was asked")
    });
    let tools = json!({"tools": [{"name": "copilotkitSuggest", "description": ""}]});
    let events = collect(start(&runtime, &tools).await.unwrap()).await;
    assert_eq!(
        types(&events),
        ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]
    );
}

#[tokio::test]
async fn what_no_frame_could_carry_is_split_cut_or_left_out() {
    let long = "x".repeat(2_500_000);
    let answer = CoreEvent::ToolCallResult {
        call: "a".into(),
        content: Content::Text(long.clone()),
        failed: false,
    };
    let notice = CoreEvent::notice("long", json!([long]));
    let runtime = playing(vec![text(&long), answer, notice], || {
        Ok(StopReason::EndTurn)
    });
    let events = collect(
        start(&runtime, &json!({"state": {"big": "y".repeat(4_000_000)}}))
            .await
            .unwrap(),
    )
    .await;
    assert_eq!(events[1]["snapshot"].get("big"), None);
    assert_eq!(events[2]["value"]["code"], "state_too_large");
    let said: String = events
        .iter()
        .filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT")
        .map(|event| event["delta"].as_str().unwrap())
        .collect();
    assert_eq!(said.len(), long.len());
    let answered = events
        .iter()
        .find(|event| event["type"] == "TOOL_CALL_RESULT")
        .unwrap();
    assert_eq!(answered["metadata"], json!({"pando.truncated": true}));
    let noticed = &events[events.len() - 2];
    assert_eq!(noticed["name"], "pando.long");
    assert_eq!(noticed["value"], json!({"truncated": true}));
}
