//! A runtime with a tapped core, and the runs that are started on it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    Options,
    tap::{End, Notes, Tap, Turn},
};
use crate::{
    deps::{AgentName, Principal},
    engine::{self, Linger, Policy, Reader, Runtime, StartError},
    protocol::{
        Body, Outcome, PROTOCOL_VERSION, Peer, RunAgentInput, ThreadId, decode,
        grammar::{check_legacy_stream, check_stream},
    },
};

/// The longest stream that is read, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// How long the engine may take for what is its own business, such as to give a thread back.
const OURS: Duration = Duration::from_secs(5);

/// A runtime, and a way to see what its core does.
pub(super) struct Bench<'a> {
    pub(super) options: &'a Options,
    pub(super) agent: AgentName,
    pub(super) tap: Arc<Tap>,
    pub(super) runtime: Runtime,
    threads: AtomicU64,
}

/// A run that was started.
pub(super) struct Run {
    pub(super) turn: Arc<Turn>,
    pub(super) thread: ThreadId,
    reader: Reader,
    peer: Peer,
}

impl<'a> Bench<'a> {
    pub(super) fn new(tap: Arc<Tap>, agent: AgentName, options: &'a Options) -> Self {
        let policy = Policy {
            linger: Linger::For(Duration::ZERO),
            turn_timeout: None,
            silence_timeout: None,
            stop_grace: options.stop_grace,
            ..Policy::default()
        };
        let engine = engine::Options {
            policy,
            ..engine::Options::default()
        };
        Self {
            runtime: Runtime::new(Arc::clone(&tap) as _, engine),
            options,
            agent,
            tap,
            threads: AtomicU64::new(1),
        }
    }

    /// A thread that nothing was said on yet.
    pub(super) fn thread(&self) -> ThreadId {
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        ThreadId::new(format!("conformance-{number}")).expect("it is short and plain")
    }

    /// Starts a run with these messages on a thread, once the thread is free.
    async fn start(&self, thread: &ThreadId, messages: &Value, peer: Peer) -> Result<Run, String> {
        let turn = self.tap.expect(thread);
        let starting = async {
            loop {
                let input = input(thread, messages, peer);
                match self
                    .runtime
                    .start(&self.agent, &Principal::local(), input)
                    .await
                {
                    Err(StartError::Busy) => sleep(Duration::from_millis(10)).await,
                    started => return started,
                }
            }
        };
        match timeout(OURS, starting).await {
            Ok(Ok(reader)) => Ok(Run {
                turn,
                thread: thread.clone(),
                reader,
                peer,
            }),
            Ok(Err(error)) => Err(format!("a run could not start: failed to {error}")),
            Err(_) => Err("its thread was still busy after the turn had ended".into()),
        }
    }

    /// Starts a run with the long prompt on a thread of its own, and waits until it has begun to speak.
    pub(super) async fn busy(&self) -> Result<Run, String> {
        let long = say(self.options.long.as_str());
        let run = self.start(&self.thread(), &long, Peer::Current).await?;
        self.speaks(&run).await?;
        Ok(run)
    }

    /// Waits until a run with the long prompt has begun to speak.
    async fn speaks(&self, run: &Run) -> Result<(), String> {
        let patience = self.options.patience;
        let began = |notes: &Notes| (notes.spoke || notes.end.is_some()).then_some(());
        if run.turn.until(patience, began).await.is_none() {
            return Err(format!(
                "the long prompt brought no sign of life within {patience:?}: say or bind something early"
            ));
        }
        // If it is to end soon, it has the chance.
        let _ = run.turn.until(SHORTLY, |notes| notes.end).await;
        run.is_still_live()
    }

    /// Has the last of these messages answered on a thread, and gives the answer's text. The run must succeed, and
    /// nothing of it may stay behind.
    pub(super) async fn answer(
        &self,
        thread: &ThreadId,
        messages: &Value,
        peer: Peer,
    ) -> Result<(String, Arc<Turn>), String> {
        let run = self.start(thread, messages, peer).await?;
        let turn = Arc::clone(&run.turn);
        self.collect(run).await?;
        if let Some(breach) = turn.read(|notes| notes.breach.clone()) {
            return Err(breach);
        }
        self.let_go(&turn).await?;
        Ok((turn.read(|notes| notes.text.clone()), turn))
    }

    /// Reads a run to its end, which must be a success.
    async fn collect(&self, mut run: Run) -> Result<(), String> {
        let patience = self.options.patience;
        let reading = async {
            let mut body = Vec::new();
            while let Some(frames) = run.reader.next().await {
                body.extend(frames.into_iter().flatten());
                if body.len() > LONGEST {
                    return Err(format!("an answer is longer than {LONGEST} bytes"));
                }
            }
            judge(&String::from_utf8_lossy(&body), run.peer)
        };
        timeout(patience, reading)
            .await
            .unwrap_or_else(|_| Err(format!("a prompt was not answered within {patience:?}")))
    }

    /// Waits until a turn that was told to stop has ended by itself and is let go of.
    pub(super) async fn ends(&self, turn: &Turn) -> Result<(), String> {
        let grace = self.options.stop_grace;
        match turn.until(grace + OURS, |notes| notes.end).await {
            Some(End::Stopped) => self.let_go(turn).await,
            Some(End::Done) => Err(SHORT.into()),
            Some(End::Panicked) => Err("a turn panicked when it was told to stop".into()),
            Some(End::Dropped) | None => Err(format!(
                "a turn went on for {grace:?} after it was told to stop, and was dropped: end it when \
                 `TurnIo::stopped` ends"
            )),
        }
    }

    /// Waits until nothing holds on to a turn that is over.
    async fn let_go(&self, turn: &Turn) -> Result<(), String> {
        if turn.is_let_go(self.options.stop_grace).await {
            return Ok(());
        }
        Err(LEFT.into())
    }
}

/// How long after its first sign of life a turn must at least go on.
pub(super) const SHORTLY: Duration = Duration::from_millis(200);

/// Said of a turn that ended before it was told to.
const SHORT: &str =
    "the long prompt ended by itself before it was stopped: give one that goes on for longer";

/// Said of a turn that was not let go of.
pub(super) const LEFT: &str = "a turn is over, but something holds a clone of its `TurnIo`: a task or a thread was \
                               left behind";

impl Run {
    /// Fails if the long prompt turned out not to be long.
    pub(super) fn is_still_live(&self) -> Result<(), String> {
        match self.turn.read(|notes| notes.end) {
            None => Ok(()),
            Some(End::Panicked) => Err("a turn with the long prompt panicked".into()),
            Some(_) => Err(SHORT.into()),
        }
    }

    /// Hangs up, which stops the turn.
    pub(super) fn hang_up(self) -> (Arc<Turn>, ThreadId) {
        (self.turn, self.thread)
    }
}

/// The messages of a thread on which this is the first prompt.
pub(super) fn say(content: impl Into<Value>) -> Value {
    let content = content.into();
    json!([{"id": unique("said"), "role": "user", "content": content}])
}

/// The messages of a thread on which this prompt follows another and its answer.
pub(super) fn say_again(first: &str, answer: &str, then: &str) -> Value {
    json!([
        {"id": unique("said"), "role": "user", "content": first},
        {"id": unique("said"), "role": "assistant", "content": answer},
        {"id": unique("said"), "role": "user", "content": then},
    ])
}

/// An id that was not used before: neither a run nor a message may be taken for another one.
fn unique(what: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{what}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A request as a client of this kind would send it, with something of everything in it.
pub(super) fn input(thread: &ThreadId, messages: &Value, peer: Peer) -> RunAgentInput {
    let mut body = json!({
        "threadId": thread,
        "runId": unique("run"),
        "state": {"place": "page", "list": [1, 2.50, null]},
        "messages": messages,
        "tools": [{
            "name": "show_on_page",
            "description": "Shows something on the page.",
            "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
        }],
        "context": [{"description": "The page's language", "value": "English"}],
        "forwardedProps": {"something": ["of", "the", "page"]},
    });
    if peer == Peer::Current {
        body["protocolVersion"] = PROTOCOL_VERSION.into();
    }
    let decoded = decode::run_input(body.to_string().as_bytes());
    decoded.expect("it is a good request").input
}

/// Holds a whole stream against the grammar; the run in it must have succeeded.
fn judge(body: &str, peer: Peer) -> Result<(), String> {
    let checked = match peer {
        Peer::Current => check_stream(body),
        Peer::Legacy => check_legacy_stream(body),
    };
    let events = checked.map_err(|breach| {
        format!(
            "the stream breaks AG-UI ({breach}): this is a defect of agui-serve, please report it"
        )
    })?;
    match events.last().map(|event| &event.body) {
        Some(Body::RunFinished {
            outcome: None | Some(Outcome::Success { .. }),
            ..
        }) => Ok(()),
        Some(Body::RunError { code, message, .. }) => {
            let code = code.as_deref().unwrap_or("no code");
            Err(format!("a run failed: {message} ({code})"))
        }
        _ => Err("a run ended, but not by itself".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_judged_by_the_grammar_and_by_its_end() {
        let started =
            r#"data: {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#;
        let state = r#"data: {"type":"STATE_SNAPSHOT","snapshot":{}}"#;
        let finished = |more: &str| {
            format!(r#"data: {{"type":"RUN_FINISHED","threadId":"t","runId":"r"{more}}}"#)
        };
        let error = r#"data: {"type":"RUN_ERROR","message":"it broke","code":"agent_error"}"#;
        for (last, said) in [
            (finished(""), None),
            (finished(r#","outcome":{"type":"success"}"#), None),
            (
                finished(r#","outcome":{"type":"cancelled"}"#),
                Some("not by itself"),
            ),
            (
                error.to_owned(),
                Some("a run failed: it broke (agent_error)"),
            ),
            (state.to_owned(), Some("breaks AG-UI")),
        ] {
            let body = [started, state, &last]
                .map(|line| format!("{line}\n\n"))
                .concat();
            let judged = judge(&body, Peer::Current);
            match said {
                None => assert_eq!(judged, Ok(()), "{last}"),
                Some(said) => assert!(judged.unwrap_err().contains(said), "{last}"),
            }
        }
    }
}
