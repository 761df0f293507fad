//! Carries messages between the program's pipes and the SDK, so that neither can bury the other.
//!
//! The SDK's channels have no bound: it takes every message that it is given, and queues those that it
//! cannot handle yet. So the bound is here. A message with a method passes only while fewer than
//! [`WINDOW`] of its kind are inside, and leaves when the turn is done with it or has begun to wait for people on its
//! behalf. Of requests, moreover, no more pass than can be answered: [`UNANSWERED`] have no answer yet that has been
//! written to the program. A message of a line
//! longer than [`LIGHT`] passes alone: no other is inside until it has left. An answer passes only if a
//! request of ours waits for one, and one at a time does. With the window full, nothing more is read from
//! the program, which then waits in its own `write`. So what is inside comes from [`WINDOW`] times [`LIGHT`]
//! bytes or from one longer line, and from one answer; as JSON values that is several times as much memory.
//! Beyond that there is one line at each end, and what people are asked.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::{
    Channel, RawJsonRpcId as Id, RawJsonRpcMessage as Message, TransportFrame as Frame,
};
use futures_util::{Stream, StreamExt as _};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::Semaphore,
};
use tracing::{debug, warn};

use super::{
    lines::{Line, Lines, object},
    messages,
    request::OPEN,
};

/// How many messages with a method are inside the SDK at most.
const WINDOW: u32 = 64;

/// How many requests of the program wait for an answer at most: those that people are asked, and as many of which nobody
/// is asked, so that a program that reads its answers is never held up by people.
const UNANSWERED: usize = 2 * OPEN;

/// The longest line, in bytes, whose message shares the window with others.
const LIGHT: usize = 64 * 1024;

/// Counts what is inside.
pub(super) struct Gate {
    room: Semaphore,
    /// For requests of the program, until their answers are written.
    answers: Semaphore,
    /// Requests of ours without an answer. One that comes twice, or to nothing, takes no other's place.
    awaited: Mutex<HashSet<Id>>,
    answered: AtomicBool,
}

/// The room of a message that is inside. Dropped when it has left.
pub(super) struct Room(Arc<Gate>);

impl Drop for Room {
    fn drop(&mut self) {
        self.0.left();
    }
}

/// What becomes of a message of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passage {
    /// It passes once there is room.
    WithRoom,
    /// It passes once there is room for it and its answer.
    WithAnswer,
    /// It passes.
    Freely,
    /// It is dropped, for the reason.
    Not(&'static str),
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            room: Semaphore::new(WINDOW as usize),
            answers: Semaphore::new(UNANSWERED),
            awaited: Mutex::default(),
            answered: AtomicBool::new(false),
        }
    }

    /// The room that a message takes, given back with what this returns.
    pub(super) fn room(self: &Arc<Self>) -> Room {
        Room(Arc::clone(self))
    }

    fn left(&self) {
        self.room.add_permits(1);
    }

    /// Waits until one more request can be answered.
    async fn expect_answer(&self) {
        // It comes back when the answer is written.
        if let Ok(answer) = self.answers.acquire().await {
            answer.forget();
        }
    }

    /// Sends a message that came in so many bytes once there is room, and answers with whether the SDK
    /// took it.
    async fn pass(&self, bytes: usize, send: impl FnOnce() -> bool) -> bool {
        let alone = bytes > LIGHT;
        let Ok(mut room) = self.room.acquire_many(if alone { WINDOW } else { 1 }).await else {
            return false;
        };
        // It comes back when the message leaves.
        room.split(1).expect("it has at least one").forget();
        let taken = send();
        if alone && taken {
            // Nothing else is inside, so what comes back is this message's own.
            let _ = self.room.acquire().await;
        }
        taken
    }

    fn judge(&self, message: &Message) -> Passage {
        match message {
            // The SDK refuses those without asking a handler, which would leak their room.
            Message::Request(_) | Message::Notification(_)
                if !self.answered.load(Ordering::Acquire) =>
            {
                Passage::Not("the two sides have not agreed on a version")
            }
            Message::Notification(_) => Passage::WithRoom,
            Message::Request(_) => Passage::WithAnswer,
            Message::Response(_) => {
                let id = message.response_id();
                if id.is_some_and(|id| self.awaited.lock().remove(id)) {
                    self.answered.store(true, Ordering::Release);
                    Passage::Freely
                } else {
                    Passage::Not("nobody waits for that answer")
                }
            }
        }
    }

    fn sent(&self, message: &Message) {
        match message {
            Message::Request(request) => {
                self.awaited.lock().insert(request.id.clone());
            }
            Message::Response(_) => self.answers.add_permits(1),
            Message::Notification(_) => {}
        }
    }
}

/// Carries messages until the SDK has let go of its end and the program's output is over, be it closed
/// or, since the program has ended, given up.
pub(super) async fn carry(
    channel: Channel,
    stdout: &mut Lines<impl AsyncRead + Unpin>,
    stdin: &mut (impl AsyncWrite + Unpin),
    gate: &Gate,
    over: impl Future<Output = ()>,
    agent: &str,
) {
    let (from_us, to_us) = channel.into_parts();
    let reading = async move {
        while let Ok(Some(line)) = stdout.next().await {
            let Some((message, bytes)) = parse(&line, agent) else {
                continue;
            };
            let passage = gate.judge(&message);
            let send = || to_us.unbounded_send(Frame::Single(message)).is_ok();
            let taken = match passage {
                Passage::Not(reason) => {
                    debug!(agent, reason, "a message of the agent is dropped");
                    continue;
                }
                Passage::WithRoom => gate.pass(bytes, send).await,
                Passage::WithAnswer => {
                    gate.expect_answer().await;
                    gate.pass(bytes, send).await
                }
                Passage::Freely => send(),
            };
            if !taken {
                break;
            }
        }
        // Dropping the sender tells the SDK that nothing more comes.
        drop(to_us);
    };
    let reading = async {
        tokio::select! {
            biased;
            () = reading => {}
            () = over => {}
        }
    };
    tokio::join!(reading, write(from_us, stdin, gate));
}

/// Writes what the SDK sends, a line each. A program that does not read any more is noticed by its end,
/// so what cannot be written is dropped.
async fn write(
    mut frames: impl Stream<Item = Frame> + Unpin,
    stdin: &mut (impl AsyncWrite + Unpin),
    gate: &Gate,
) {
    let mut open = true;
    while let Some(frame) = frames.next().await {
        // Malformed frames are only ever relayed, and nothing is relayed here.
        let Frame::Single(message) = frame else {
            continue;
        };
        let Ok(mut line) = serde_json::to_vec(&message) else {
            continue;
        };
        line.push(b'\n');
        // Counted first: the answer may come before the write is seen to have ended.
        gate.sent(&message);
        open = open && stdin.write_all(&line).await.is_ok() && stdin.flush().await.is_ok();
    }
}

/// The message of a line, if it is one, and how long the line is.
fn parse(line: &Line<'_>, agent: &str) -> Option<(Message, usize)> {
    let line = match line {
        Line::Whole(line) => line,
        Line::TooLong(bytes) => {
            warn!(agent, bytes, "a line of the agent is too long and skipped");
            return None;
        }
    };
    let message = object(line).and_then(messages::read);
    if message.is_none() && !line.is_empty() {
        debug!(
            agent,
            bytes = line.len(),
            "a line of the agent is no message"
        );
    }
    Some((message?, line.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: serde_json::Value) -> Message {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn nothing_with_a_method_passes_before_the_first_answer() {
        let gate = Gate::new();
        let update = message(json!({"jsonrpc": "2.0", "method": "session/update", "params": {}}));
        let answer = message(json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
        let request =
            message(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}));
        assert!(matches!(gate.judge(&update), Passage::Not(_)));
        assert!(matches!(gate.judge(&answer), Passage::Not(_)), "unasked");
        gate.sent(&request);
        for id in [json!(1), json!("0"), json!(null)] {
            let stray = message(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
            assert!(matches!(gate.judge(&stray), Passage::Not(_)), "{id}");
        }
        assert_eq!(gate.judge(&answer), Passage::Freely);
        assert_eq!(gate.judge(&update), Passage::WithRoom);
        assert!(matches!(gate.judge(&answer), Passage::Not(_)), "twice");
    }

    /// What a program writes that is answered, and then sends updates of so many bytes each.
    fn output(updates: impl IntoIterator<Item = usize>) -> String {
        let mut output = String::from("{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n");
        for bytes in updates {
            let long = "x".repeat(bytes);
            let params =
                json!({"jsonrpc": "2.0", "method": "session/update", "params": {"x": long}});
            output.push_str(&params.to_string());
            output.push('\n');
        }
        output
    }

    /// A gate that lets one answer pass, and with it what comes after.
    fn asked() -> Gate {
        let gate = Gate::new();
        gate.sent(&message(
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}),
        ));
        gate
    }

    #[tokio::test]
    async fn report_r66_a_flood_waits_in_the_pipe_once_the_window_is_full() {
        let (ours, theirs) = Channel::duplex();
        let gate = asked();
        let output = output([0; 1000]);
        let mut stdout = Lines::new(output.as_bytes(), 1024);
        let mut stdin = tokio::io::sink();
        let (mut inside, _keep) = theirs.into_parts();
        let carrying = carry(
            ours,
            &mut stdout,
            &mut stdin,
            &gate,
            std::future::pending(),
            "test",
        );
        let mut carrying = std::pin::pin!(carrying);
        assert!(futures_util::poll!(&mut carrying).is_pending());
        let mut count = 0;
        while futures_util::poll!(inside.next()).is_ready() {
            count += 1;
        }
        assert_eq!(count, 1 + WINDOW);
        gate.left();
        assert!(futures_util::poll!(&mut carrying).is_pending());
        assert!(futures_util::poll!(inside.next()).is_ready());
        assert!(futures_util::poll!(inside.next()).is_pending());
    }

    #[tokio::test]
    async fn report_r66_a_long_line_passes_alone() {
        let (ours, theirs) = Channel::duplex();
        let gate = asked();
        let output = output([0, 0, LIGHT, 0, 0, LIGHT]);
        let mut stdout = Lines::new(output.as_bytes(), 2 * LIGHT);
        let mut stdin = tokio::io::sink();
        let (mut inside, _keep) = theirs.into_parts();
        let never = std::future::pending();
        let carrying = carry(ours, &mut stdout, &mut stdin, &gate, never, "test");
        let mut carrying = std::pin::pin!(carrying);
        for (left, more) in [(0, 1 + 2), (1, 0), (1, 1), (0, 0), (1, 2), (1, 0)] {
            (0..left).for_each(|_| gate.left());
            assert!(futures_util::poll!(&mut carrying).is_pending());
            for _ in 0..more {
                assert!(futures_util::poll!(inside.next()).is_ready());
            }
            assert!(futures_util::poll!(inside.next()).is_pending());
        }
    }

    #[tokio::test]
    async fn no_more_requests_pass_than_can_be_answered_and_those_that_wait_hold_up_nothing_else() {
        let (ours, theirs) = Channel::duplex();
        let gate = asked();
        let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {}});
        let ask = format!("{ask}\n");
        let start = output([LIGHT]);
        let (answer, long) = start.split_once('\n').unwrap();
        let output = format!("{answer}\n{}{long}{ask}", ask.repeat(UNANSWERED));
        let mut stdout = Lines::new(output.as_bytes(), 2 * LIGHT);
        let mut stdin = tokio::io::sink();
        let (mut inside, _keep) = theirs.into_parts();
        let never = std::future::pending();
        let carrying = carry(ours, &mut stdout, &mut stdin, &gate, never, "test");
        let mut carrying = std::pin::pin!(carrying);
        let mut count = 0;
        loop {
            // The runtime lets a task do only so much at a time.
            tokio::task::yield_now().await;
            assert!(futures_util::poll!(&mut carrying).is_pending());
            let mut taken = 0;
            while futures_util::poll!(inside.next()).is_ready() {
                taken += 1;
            }
            // A turn takes each, and has people asked.
            (0..taken).for_each(|_| gate.left());
            count += taken;
            if taken == 0 {
                break;
            }
        }
        // The answer, the requests, and the long line, but not the last request.
        assert_eq!(count, 1 + UNANSWERED + 1);
        gate.sent(&message(json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
        assert!(futures_util::poll!(&mut carrying).is_pending());
        assert!(futures_util::poll!(inside.next()).is_ready());
    }
}
