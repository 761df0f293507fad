//! Answers: a whole body, or a stream. Each is a 200 until [`super::problem`] says otherwise.

use bytes::Bytes;
use http::{
    HeaderValue, Response,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use http_body_util::{Either, Full};
use serde::Serialize;

use super::sse::Sse;

/// An answer.
pub(super) type Reply = Response<Either<Full<Bytes>, Sse>>;

/// An answer without a body.
pub(super) fn empty() -> Reply {
    Response::new(Either::Left(Full::default()))
}

/// An answer of JSON that nothing on the way may keep.
pub(super) fn json(value: &impl Serialize) -> Reply {
    let body = serde_json::to_vec(value).expect("plain structs with string keys serialise");
    let mut reply = Response::new(Either::Left(Full::from(body)));
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
    let mut reply = Response::new(Either::Right(events));
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
