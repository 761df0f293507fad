//! The body of a request: read up to a limit and in time, or left behind in good order.
//!
//! `http_body_util::Limited` caps a body but cannot say what to do with the rest, and a rest that nobody
//! reads resets the connection before the client has read why it was refused.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header::EXPECT};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::problem::Problem;

/// A rest up to this size is read to keep the connection in use.
const SMALL: u64 = 64 * 1024;

/// How long to wait for a small rest.
const PATIENCE: Duration = Duration::from_secs(1);

/// A body, and whether its end was seen.
pub(super) struct Inbound<B> {
    body: B,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client sends, or will.
    Open,
    /// The client sends only once we read, and would rather hear a refusal.
    Asking,
    /// All was read.
    Ended,
    /// What follows cannot be told from the next request.
    Broken,
}

impl<B> Inbound<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Takes over a body that nothing was read of.
    pub(super) fn new(headers: &HeaderMap, body: B) -> Self {
        let state = if body.is_end_stream() {
            State::Ended
        } else if headers.contains_key(EXPECT) {
            State::Asking
        } else {
            State::Open
        };
        Self { body, state }
    }

    /// Whether there is anything to read, or may be.
    pub(super) fn is_expected(&self) -> bool {
        self.state != State::Ended
    }

    /// Reads everything, holding no more than `limit` bytes. Called once.
    pub(super) async fn read(&mut self, limit: usize, within: Duration) -> Result<Bytes, Problem> {
        let declared = self.body.size_hint().lower();
        if declared > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(Problem::TooLarge { limit });
        }
        if self.state == State::Asking {
            self.state = State::Open;
        }
        let collected = timeout(within, self.collect(limit)).await;
        collected.unwrap_or_else(|_| {
            self.state = State::Broken;
            Err(Problem::BodyTimeout)
        })
    }

    async fn collect(&mut self, limit: usize) -> Result<Bytes, Problem> {
        let mut whole = BytesMut::new();
        while let Some(data) = self.data().await? {
            if data.len() > limit - whole.len() {
                return Err(Problem::TooLarge { limit });
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    /// The next piece; `None` at the end.
    async fn data(&mut self) -> Result<Option<Bytes>, Problem> {
        while self.state == State::Open {
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(_)) => {
                    self.state = State::Broken;
                    return Err(Problem::BodyBroken);
                }
                None => self.state = State::Ended,
            }
        }
        Ok(None)
    }

    /// Brings the body to its end if that costs little, and says whether the connection can be used
    /// for another request.
    pub(super) async fn settle(&mut self) -> bool {
        let small = self
            .body
            .size_hint()
            .upper()
            .is_some_and(|rest| rest <= SMALL);
        if self.state == State::Open && small {
            let drain = async { while let Ok(Some(_)) = self.data().await {} };
            // When it takes too long the state is still open, which says all there is to say.
            let _ = timeout(PATIENCE, drain).await;
        }
        self.state == State::Ended
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{StreamExt, stream};
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn pieces(sizes: &'static [usize]) -> Inbound<impl Body<Data = Bytes> + Unpin> {
        let frames = stream::iter(sizes)
            .map(|size| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; *size]))));
        Inbound::new(&HeaderMap::new(), StreamBody::new(frames))
    }

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn r34_a_body_is_read_whole_up_to_its_limit_and_refused_while_reading_above_it() {
        assert_eq!(pieces(&[]).read(8, LONG).await.unwrap().len(), 0);
        assert_eq!(pieces(&[3, 5]).read(8, LONG).await.unwrap().len(), 8);
        let mut large = pieces(&[3, 6, 1_000_000]);
        assert_eq!(
            large.read(8, LONG).await,
            Err(Problem::TooLarge { limit: 8 })
        );
        assert!(
            !large.settle().await,
            "a rest of unknown size is left behind"
        );
    }

    #[tokio::test]
    async fn a_declared_size_above_the_limit_is_refused_before_reading() {
        let full = Full::new(Bytes::from_static(b"123456789"));
        let mut body = Inbound::new(&HeaderMap::new(), full);
        assert_eq!(
            body.read(8, LONG).await,
            Err(Problem::TooLarge { limit: 8 })
        );
        assert_eq!(body.state, State::Open, "nothing was read");
        assert!(
            body.settle().await,
            "a small rest is read for the next request"
        );
    }

    #[tokio::test]
    async fn a_client_that_asks_first_is_not_told_to_go_on_when_it_is_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECT, http::HeaderValue::from_static("100-continue"));
        let mut body = Inbound::new(&headers, Full::new(Bytes::from_static(b"12")));
        assert!(!body.settle().await);
        assert_eq!(body.read(8, LONG).await.unwrap().len(), 2);
        assert!(body.settle().await);
    }

    #[tokio::test(start_paused = true)]
    async fn r25_a_body_that_does_not_come_is_given_up() {
        let never = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let mut body = Inbound::new(&HeaderMap::new(), never);
        assert_eq!(body.read(8, LONG).await, Err(Problem::BodyTimeout));
        assert!(!body.settle().await);
    }
}
