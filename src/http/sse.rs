//! The body of a run's answer: frames as they come, and a comment when nothing comes.
//!
//! The stream is a cursor on the run's log and holds nothing else; dropping it drops the cursor. What is
//! ready is written at once and in one piece: a client that keeps up gets each frame as it comes, one
//! that is behind gets many in one chunk, which was measured at a fifth of the time that a chunk for each
//! takes (142 bytes a frame, hyper 1.12, loopback). A comment stands only where a frame ended, and a
//! client that is behind gets none: hyper asks for more only when it can write.

use std::{
    convert::Infallible,
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{engine::Reader, protocol::sse};

/// How long the first silence may last: a client should see life before the model answers.
const FIRST_BEAT: Duration = Duration::from_secs(1);

/// Where frames come from.
pub(super) trait Source: Send + 'static {
    /// Waits for what comes next; `None` after the last. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<Vec<Bytes>>> + Send;
}

impl Source for Reader {
    fn next(&mut self) -> impl Future<Output = Option<Vec<Bytes>>> + Send {
        Reader::next(self)
    }
}

/// A run's frames as the body of an answer.
pub(super) struct Sse(BoxStream<'static, Bytes>);

impl Sse {
    /// Streams what `source` has, with a comment after each `heartbeat` of silence.
    pub(super) fn new(source: impl Source, heartbeat: Duration) -> Self {
        let feed = Feed::new(source, heartbeat);
        let pieces = stream::unfold(feed, async |mut feed| {
            feed.next().await.map(|piece| (piece, feed))
        });
        Self(pieces.fuse().boxed())
    }
}

impl Body for Sse {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = ready!(self.0.poll_next_unpin(cx));
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Waits for frames and for silence.
struct Feed<S> {
    source: S,
    silence: Silence,
    alarm: Pin<Box<Sleep>>,
    over: bool,
}

/// What ended a wait.
enum Woken {
    Source(Option<Vec<Bytes>>),
    Alarm,
}

impl<S: Source> Feed<S> {
    fn new(source: S, heartbeat: Duration) -> Self {
        let silence = Silence::new(Instant::now(), heartbeat);
        Self {
            source,
            alarm: Box::pin(sleep_until(silence.deadline())),
            silence,
            over: false,
        }
    }

    /// The next whole frames to write; `None` at the end of the body.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.over {
            let woken = tokio::select! {
                biased;
                frames = self.source.next() => Woken::Source(frames),
                () = self.alarm.as_mut() => Woken::Alarm,
            };
            if let Some(piece) = self.handle(woken, Instant::now()) {
                return Some(piece);
            }
        }
        None
    }

    fn handle(&mut self, woken: Woken, now: Instant) -> Option<Bytes> {
        match woken {
            Woken::Source(Some(frames)) => {
                self.silence.broken(now);
                Some(join(frames))
            }
            Woken::Source(None) => {
                self.over = true;
                None
            }
            Woken::Alarm => {
                let beat = self.silence.beat(now);
                self.alarm.as_mut().reset(self.silence.deadline());
                beat.then_some(Bytes::from_static(sse::HEARTBEAT))
            }
        }
    }
}

/// The frames in one piece; a single one is not copied.
fn join(mut frames: Vec<Bytes>) -> Bytes {
    match frames.as_mut_slice() {
        [one] => mem::take(one),
        many => many.concat().into(),
    }
}

/// Decides when a comment is due. Frames only note the time, so that no timer is set again for each.
#[derive(Debug)]
struct Silence {
    since: Instant,
    patience: Duration,
    heartbeat: Duration,
}

impl Silence {
    fn new(now: Instant, heartbeat: Duration) -> Self {
        Self {
            since: now,
            patience: heartbeat.min(FIRST_BEAT),
            heartbeat,
        }
    }

    /// When to look again.
    fn deadline(&self) -> Instant {
        self.since + self.patience
    }

    /// Something was written.
    fn broken(&mut self, now: Instant) {
        self.since = now;
    }

    /// Whether a comment is due, which then counts as written.
    fn beat(&mut self, now: Instant) -> bool {
        let due = now >= self.deadline();
        if due {
            self.since = now;
            self.patience = self.heartbeat;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::sync::mpsc;

    use super::*;

    struct Script(mpsc::Receiver<Vec<Bytes>>);

    impl Source for Script {
        async fn next(&mut self) -> Option<Vec<Bytes>> {
            self.0.recv().await
        }
    }

    fn open() -> (mpsc::Sender<Vec<Bytes>>, Sse) {
        let (steps, inbox) = mpsc::channel(16);
        (steps, Sse::new(Script(inbox), Duration::from_secs(15)))
    }

    async fn text(body: &mut Sse) -> Option<String> {
        let data = body.frame().await?.unwrap().into_data().unwrap();
        Some(String::from_utf8(data.to_vec()).unwrap())
    }

    fn frames(texts: &[&'static str]) -> Vec<Bytes> {
        let frame = |text: &&'static str| Bytes::from_static(text.as_bytes());
        texts.iter().map(frame).collect()
    }

    /// Requirement 53; field report R60.
    #[tokio::test(start_paused = true)]
    async fn silence_gets_a_comment_after_a_second_and_then_each_heartbeat() {
        let (steps, mut body) = open();
        let start = Instant::now();
        steps.send(frames(&["a"])).await.unwrap();
        assert_eq!(text(&mut body).await.as_deref(), Some("a"));
        let mut at = Vec::new();
        for _ in 0..3 {
            assert_eq!(text(&mut body).await.as_deref(), Some(": keep-alive\n\n"));
            at.push(start.elapsed().as_secs());
        }
        assert_eq!(at, [1, 16, 31]);
    }

    #[tokio::test(start_paused = true)]
    async fn r53_a_frame_puts_the_next_comment_off() {
        let (steps, mut body) = open();
        let start = Instant::now();
        assert_eq!(text(&mut body).await.as_deref(), Some(": keep-alive\n\n"));
        tokio::time::advance(Duration::from_secs(14)).await;
        steps.send(frames(&["a", "b"])).await.unwrap();
        assert_eq!(text(&mut body).await.as_deref(), Some("ab"));
        assert_eq!(text(&mut body).await.as_deref(), Some(": keep-alive\n\n"));
        assert_eq!(start.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn the_body_ends_right_after_the_last_frame() {
        let (steps, mut body) = open();
        steps.send(frames(&["a"])).await.unwrap();
        drop(steps);
        assert_eq!(text(&mut body).await.as_deref(), Some("a"));
        assert_eq!(text(&mut body).await, None);
        assert_eq!(text(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_the_body_drops_the_reader() {
        let (steps, mut body) = open();
        steps.send(frames(&["a"])).await.unwrap();
        assert_eq!(text(&mut body).await.as_deref(), Some("a"));
        drop(body);
        assert!(steps.is_closed());
    }
}
