mod waits;
mod working;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::{sync::mpsc, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Demo, Script, Step};
use crate::{
    cores::Core,
    deps::{
        AgentName, Code, CoreEvent, PerSetting, Principal, Session, SessionRef, Signal, StopReason,
        TurnError, TurnIo, TurnRequest,
    },
    protocol::{Content, ContextEntry, RunAgentInput, RunId, ThreadId},
};

type Outcome = Result<StopReason, TurnError>;

fn request(prompt: &str) -> TurnRequest {
    TurnRequest {
        agent: AgentName::new("demo").unwrap(),
        principal: Principal::local(),
        session: Session::New,
        history: Arc::default(),
        prompt: Content::Text(prompt.into()),
        wishes: PerSetting::default(),
        input: Arc::new(RunAgentInput {
            thread_id: ThreadId::new("t").unwrap(),
            run_id: RunId::new("r").unwrap(),
            protocol_version: None,
            parent_run_id: None,
            state: None,
            messages: Vec::new(),
            tools: Vec::new(),
            context: Vec::new(),
            forwarded_props: None,
            resume: Vec::new(),
        }),
    }
}

/// Plays a turn to its end and takes all it says. What it waits for is answered as if it were being stopped.
async fn turn(demo: &Demo, request: TurnRequest) -> (Outcome, Vec<Signal>) {
    let (io, mut inbox) = TurnIo::channel(1, CancellationToken::new());
    let all = async {
        let mut signals = Vec::new();
        while let Some(signal) = inbox.recv().await {
            if !matches!(signal, Signal::Ask(_)) {
                signals.push(signal);
            }
        }
        signals
    };
    tokio::join!(demo.turn(request, io), all)
}

/// The events of a turn, without the session.
async fn events(demo: &Demo, request: TurnRequest) -> Vec<CoreEvent> {
    let (_, signals) = turn(demo, request).await;
    signals
        .into_iter()
        .filter_map(|signal| match signal {
            Signal::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

async fn asked(prompt: &str) -> Vec<CoreEvent> {
    events(&Demo::new(), request(prompt)).await
}

fn text(events: &[CoreEvent]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            CoreEvent::Text(delta) => Some(delta.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn words_are_found_in_any_case_and_within_others() {
    let plain = asked("say hello").await;
    assert!(plain.len() > 3, "several deltas: {plain:?}");
    for prompt in [
        "Say Hello!",
        "  could you say   hello, please?\n",
        "SAY HELLO",
    ] {
        assert_eq!(asked(prompt).await, plain, "{prompt}");
    }
}

#[tokio::test]
async fn unknown_words_are_answered_with_the_list_of_the_known() {
    let help = text(&asked("what is love").await);
    for words in [
        "say hello",
        "use two tools at once",
        "stream N words",
        "repeat:",
    ] {
        assert!(help.contains(words), "{words:?}: {help}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_line_of_the_list_can_be_asked_and_is_not_answered_with_the_list() {
    let help = text(&asked("help").await);
    let lines: Vec<_> = help
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(": "))
        .collect();
    assert!(lines.len() > 20, "{help}");
    for (words, _) in lines {
        let prompt = format!("{}: 7", words.replace('N', "7"));
        let playing = AssertUnwindSafe(asked(&prompt)).catch_unwind();
        if let Ok(said) = playing.await {
            assert_ne!(text(&said), help, "{prompt}");
        } else {
            assert_eq!(words, "panic");
        }
    }
}

#[tokio::test]
async fn a_session_counts_its_turns() {
    for (before, after, words) in [
        (None, "demo:1", "This is turn 1 of the session."),
        (Some("demo:1"), "demo:2", "This is turn 2 of the session."),
        (
            Some("demo:41"),
            "demo:42",
            "This is turn 42 of the session.",
        ),
        (
            Some("of another core"),
            "demo:1",
            "This is turn 1 of the session.",
        ),
    ] {
        let request = TurnRequest {
            session: before.map(SessionRef::new).into(),
            ..request("How often?")
        };
        let (outcome, signals) = turn(&Demo::new(), request.clone()).await;
        assert_eq!(outcome.unwrap(), StopReason::EndTurn);
        assert_eq!(signals[0], Signal::Bind(SessionRef::new(after)));
        assert_eq!(text(&events(&Demo::new(), request).await), words);
    }
}

#[tokio::test]
async fn a_word_is_remembered_with_the_history_and_not_without() {
    let told = asked("Please remember »word-1a2b«, will you?").await;
    assert_eq!(text(&told), "I will remember word-1a2b.");
    let which = |history: serde_json::Value| TurnRequest {
        history: serde_json::from_value::<Vec<_>>(history).unwrap().into(),
        ..request("Which word?")
    };
    let user =
        |id: &str, said: &str| serde_json::json!({"id": id, "role": "user", "content": said});
    for (history, answer) in [
        (serde_json::json!([]), "I was told no word."),
        (
            serde_json::json!([user("1", "say hello"), user("2", "remember")]),
            "I was told no word.",
        ),
        (
            serde_json::json!([
                user("1", "remember one"),
                user("2", "Remember: two."),
                user("3", "be slow")
            ]),
            "The word is two.",
        ),
    ] {
        let said = events(&Demo::new(), which(history)).await;
        assert_eq!(text(&said), answer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_takes_as_long_as_it_was_asked_to() {
    let begin = Instant::now();
    let said = text(&asked("count slowly for 3 seconds").await);
    assert_eq!(said, "1 2 3 4 5 6 7 8 9 10 11 12 ");
    assert_eq!(begin.elapsed(), Duration::from_secs(3));
}

#[tokio::test]
async fn what_the_page_handed_over_can_be_asked_for() {
    let mut request = request("echo state");
    let input = Arc::make_mut(&mut request.input);
    input.state = Some(serde_json::json!({"a": [1]}));
    input.context = vec![ContextEntry {
        description: "where".into(),
        value: "here".into(),
    }];
    for (prompt, answer) in [
        ("echo state", r#"{"a":[1]}"#),
        ("echo context", "<context>\nwhere: here\n</context>"),
        (
            "echo prompt",
            "<context>\nwhere: here\n</context>\n\necho prompt",
        ),
        ("Repeat:  say hello twice ", "say hello twice"),
    ] {
        request.prompt = Content::Text(prompt.into());
        let said = events(&Demo::new(), request.clone()).await;
        assert_eq!(text(&said), answer, "{prompt}");
    }
    for (prompt, answer) in [
        ("echo state", "There is no state."),
        ("echo context", "There is no context."),
    ] {
        assert_eq!(text(&asked(prompt).await), answer);
    }
}

#[tokio::test]
async fn a_flood_has_as_many_deltas_as_were_asked_for() {
    for (prompt, count) in [("stream 2000 words", 2_000), ("stream 1 words", 1)] {
        assert_eq!(asked(prompt).await.len(), count);
    }
    assert_eq!(asked("stream 100000 words").await.len(), 100_000);
    assert_eq!(
        text(&asked("stream 100001 words").await),
        "I stream at most 100000 words."
    );
}

#[tokio::test]
async fn ends_are_told_apart() {
    for (prompt, reason) in [
        ("say nothing", StopReason::EndTurn),
        ("stop early", StopReason::MaxTokens),
        ("refuse", StopReason::Refusal),
    ] {
        let (outcome, _) = turn(&Demo::new(), request(prompt)).await;
        assert_eq!(outcome.unwrap(), reason, "{prompt}");
    }
    for (prompt, said) in [("fail half-way", true), ("fail at once", false)] {
        let (outcome, signals) = turn(&Demo::new(), request(prompt)).await;
        assert_eq!(outcome.unwrap_err().code(), Code::DemoFailure);
        assert_eq!(signals.len() > 1, said, "{prompt}");
    }
}

#[tokio::test]
async fn a_script_is_played_step_by_step() {
    let script = Script::new()
        .open("a", "one")
        .open("b", "two")
        .args("a", "{")
        .result("b", "early")
        .message_end()
        .step(Step::Finish(StopReason::Refusal))
        .say("never said");
    let expected: Vec<_> = script
        .clone()
        .into_iter()
        .filter_map(|step| match step {
            Step::Emit(event) => Some(Signal::Event(event)),
            _ => None,
        })
        .take(5)
        .collect();
    let (outcome, signals) = turn(&Demo::playing(script), request("anything")).await;
    assert_eq!(outcome.unwrap(), StopReason::Refusal);
    assert_eq!(signals[1..], expected);
}

/// A turn in a task of its own, whose adapter can tell it to stop.
struct Live {
    task: JoinSet<Outcome>,
    stop: CancellationToken,
    inbox: mpsc::Receiver<Signal>,
}

fn live(demo: &Demo, prompt: &str) -> Live {
    let stop = CancellationToken::new();
    let (io, inbox) = TurnIo::channel(1, stop.clone());
    let mut task = JoinSet::new();
    task.spawn(demo.turn(request(prompt), io));
    Live { task, stop, inbox }
}

impl Live {
    async fn end(&mut self) -> Outcome {
        self.task.join_next().await.unwrap().unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_pause_a_flood_and_a_wait_for_the_adapter_at_once() {
    for prompt in [
        "be slow",
        "be silent",
        "count slowly for 60 seconds",
        "stream 100000 words",
    ] {
        let mut live = live(&Demo::new(), prompt);
        live.inbox.recv().await.unwrap();
        let begin = Instant::now();
        live.stop.cancel();
        assert_eq!(live.end().await.unwrap(), StopReason::Cancelled, "{prompt}");
        assert_eq!(begin.elapsed(), Duration::ZERO, "{prompt}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_script_that_ignores_a_stop_goes_on_until_nobody_listens() {
    let mut live = live(&Demo::new(), "ignore stop");
    live.inbox.recv().await.unwrap();
    live.inbox.recv().await.unwrap();
    live.stop.cancel();
    for _ in 0..100 {
        assert!(matches!(live.inbox.recv().await, Some(Signal::Event(_))));
    }
    drop(live.inbox);
    let end = live.task.join_next().await.unwrap().unwrap();
    assert_eq!(end.unwrap(), StopReason::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn what_follows_the_wait_for_a_stop_is_played_after_it() {
    let script = Script::new()
        .await_stop()
        .pause(Duration::from_secs(3))
        .say("late")
        .finish(StopReason::Cancelled);
    let mut live = live(&Demo::playing(script), "");
    live.inbox.recv().await.unwrap();
    let begin = Instant::now();
    live.stop.cancel();
    assert_eq!(
        live.inbox.recv().await,
        Some(Signal::Event(CoreEvent::Text("late".into())))
    );
    assert_eq!(live.end().await.unwrap(), StopReason::Cancelled);
    assert_eq!(begin.elapsed(), Duration::from_secs(3));
}
