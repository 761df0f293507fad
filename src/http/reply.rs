//! Answers: a whole body, or a stream. Each is a 200 until [`super::problem`] says otherwise.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{
    HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use serde::Serialize;

use super::sse::Sse;

/// An answer.
pub(super) type Reply = Response<ReplyBody>;

/// The body of an answer. Dropping that of a run's answer is the client's hanging up.
pub struct ReplyBody(Kind);

enum Kind {
    Whole(Full<Bytes>),
    Stream(Sse),
}

impl ReplyBody {
    fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Whole(Full::new(bytes.into())))
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyBody").finish_non_exhaustive()
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Kind::Whole(body) => Pin::new(body).poll_frame(cx),
            Kind::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(body) => body.is_end_stream(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(body) => body.size_hint(),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}

/// An answer without a body.
pub(super) fn empty() -> Reply {
    Response::new(ReplyBody::whole(Bytes::new()))
}

/// An answer of JSON that nothing on the way may keep.
pub(super) fn json(value: &impl Serialize) -> Reply {
    let body = serde_json::to_vec(value).expect("plain structs with string keys serialise");
    let mut reply = Response::new(ReplyBody::whole(body));
    for (name, value) in [
        (CONTENT_TYPE, "application/json"),
        (CACHE_CONTROL, "no-store"),
    ] {
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    reply
}

/// An answer that streams. The type has no charset parameter: the format is UTF-8 by definition, and
/// clients that compare the whole value exist.
pub(super) fn stream(events: Sse) -> Reply {
    let mut reply = Response::new(ReplyBody(Kind::Stream(events)));
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache, no-transform"),
        (http::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    reply
}
