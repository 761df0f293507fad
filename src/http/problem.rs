//! Every refusal, with its status, its stable code and the sentence that a client reads.
//!
//! This is the only file that knows statuses, those of answers that refuse nothing included. The body of a
//! refusal is `{"error":{"code","message","requestId"}}` as `application/json`, the one type whose body the
//! stock client takes apart (AG-UI 1.0, HTTP binding). A message names the place of what is wrong and
//! repeats nothing long of what was sent.

use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde::Serialize;
use serde_json::json;

use super::{
    reply::{self, Reply},
    route::Probe,
};
use crate::{
    engine::{BadWish, StartError, UnknownThread},
    protocol::decode::DecodeError,
};

/// The longest message, in bytes. What was sent may be quoted in it and be any length.
const MAX_MESSAGE: usize = 400;

/// Why a request is not served. Nothing was changed. `Display` is the sentence that a client reads, at
/// any length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    /// Not exactly one Host, or one that cannot be read.
    #[error("the request needs exactly one Host header that can be read")]
    BadHost,
    /// A Host that is not ours: somebody's name was made to resolve to this machine.
    #[error("this Host is neither this machine's nor in allowed_hosts")]
    ForeignHost,
    /// A page that is not listed.
    #[error("this Origin is not in allowed_origins")]
    ForeignOrigin,
    /// A process of an agent that is served here.
    #[error("an agent cannot call the daemon that runs it")]
    OwnAgent,
    /// No such route.
    #[error("there is nothing at this path")]
    NotFound,
    /// The route has no such method.
    #[error("this path answers {allow} only")]
    Method {
        /// Those that it has.
        allow: &'static str,
    },
    /// The body is not said to be JSON.
    #[error("the body must be sent as application/json, in UTF-8 and not compressed")]
    MediaType,
    /// No token, or the wrong one.
    #[error("the request needs the bearer token")]
    Unauthorized,
    /// HTTP/1.0, which has no chunked body: a stream could not be told from a broken one.
    #[error("a stream needs HTTP/1.1")]
    HttpVersion,
    /// The body is larger than it may be.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The body did not come in time.
    #[error("the body did not come in time")]
    BodyTimeout,
    /// The body ended before its end, or its framing is broken.
    #[error("the body ended too early or its framing is broken")]
    BodyBroken,
    /// The body is no `RunAgentInput`.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Something in the path or the query is not as it has to be.
    #[error("{place} {why}")]
    Parameter {
        /// What.
        place: &'static str,
        /// What it must be or must not be; repeats nothing of it.
        why: String,
    },
    /// No such thread, or somebody else's: the two are told the same.
    #[error("failed to {0}")]
    Thread(#[from] UnknownThread),
    /// The run cannot start.
    #[error("failed to {0}")]
    Start(#[from] StartError),
    /// A defect of ours.
    #[error("failed to serve the request")]
    Internal,
}

impl Problem {
    /// The status, and the code that stays the same for ever.
    fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            Self::BadHost => (StatusCode::BAD_REQUEST, "bad_host"),
            Self::ForeignHost => (StatusCode::FORBIDDEN, "host_not_allowed"),
            Self::ForeignOrigin => (StatusCode::FORBIDDEN, "origin_not_allowed"),
            Self::OwnAgent => (StatusCode::FORBIDDEN, "own_agent"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::Method { .. } => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::HttpVersion => (StatusCode::HTTP_VERSION_NOT_SUPPORTED, "http_version"),
            Self::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "body_timeout"),
            Self::BodyBroken => (StatusCode::BAD_REQUEST, "body_incomplete"),
            Self::Decode(error) => match error {
                DecodeError::Syntax(_) => (StatusCode::BAD_REQUEST, "invalid_json"),
                DecodeError::Invalid { .. } => (StatusCode::BAD_REQUEST, "invalid_input"),
            },
            Self::Parameter { .. } => (StatusCode::BAD_REQUEST, "invalid_input"),
            Self::Thread(UnknownThread) => (StatusCode::NOT_FOUND, "unknown_thread"),
            Self::Start(error) => match error {
                StartError::UnknownAgent => (StatusCode::NOT_FOUND, "unknown_agent"),
                StartError::UnknownThread => (StatusCode::NOT_FOUND, "unknown_thread"),
                StartError::TakenId => (StatusCode::BAD_REQUEST, "invalid_input"),
                StartError::NothingToDo => (StatusCode::BAD_REQUEST, "nothing_to_do"),
                StartError::Wish(BadWish::Malformed { .. }) => {
                    (StatusCode::BAD_REQUEST, "invalid_input")
                }
                StartError::Wish(BadWish::NotOffered { .. }) => {
                    (StatusCode::BAD_REQUEST, "not_offered")
                }
                StartError::Busy => (StatusCode::CONFLICT, "thread_busy"),
                StartError::Unanswered(_) => (StatusCode::CONFLICT, "answers_missing"),
                StartError::Answered(_) => (StatusCode::CONFLICT, "already_answered"),
                StartError::Collision(_) => (StatusCode::BAD_REQUEST, "tool_collision"),
                // The limit is the daemon's, not the caller's, so it is no 429.
                StartError::Full => (StatusCode::SERVICE_UNAVAILABLE, "too_many_runs"),
                StartError::Draining => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
                // The first is told on the stream of a run that waits.
                StartError::Stopped | StartError::Internal => {
                    (StatusCode::INTERNAL_SERVER_ERROR, "internal")
                }
            },
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }

    /// The status of the answer.
    pub(super) fn status(&self) -> StatusCode {
        self.kind().0
    }

    /// The stable `snake_case` code.
    pub(super) fn code(&self) -> &'static str {
        self.kind().1
    }

    /// What a client reads.
    pub(super) fn message(&self) -> String {
        clean(&self.to_string(), MAX_MESSAGE)
    }

    /// The headers that only this problem has.
    fn mark(&self, headers: &mut HeaderMap) {
        let (name, value) = match self {
            Self::Method { allow } => (ALLOW, *allow),
            Self::Unauthorized => (WWW_AUTHENTICATE, "Bearer"),
            Self::Start(StartError::Busy) => (RETRY_AFTER, "1"),
            Self::Start(StartError::Full | StartError::Draining) => (RETRY_AFTER, "5"),
            _ => return,
        };
        headers.insert(name, HeaderValue::from_static(value));
    }

    /// The answer.
    pub(super) fn reply(&self, request_id: &str) -> Reply {
        let body = Body {
            error: Detail {
                code: self.code(),
                message: self.message(),
                request_id,
            },
        };
        let mut reply = reply::json(&body);
        *reply.status_mut() = self.status();
        self.mark(reply.headers_mut());
        reply
    }
}

/// The answer of a probe, which learns nothing but this. A daemon that drains lives, but takes nothing new.
pub(super) fn health(probe: Probe, draining: bool) -> Reply {
    let (status, word) = match (draining, probe) {
        (false, _) => (StatusCode::OK, "ok"),
        (true, Probe::Live) => (StatusCode::OK, "draining"),
        (true, Probe::Ready) => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
    };
    let mut reply = reply::json(&json!({ "status": word }));
    *reply.status_mut() = status;
    reply
}

/// The answer that is all headers.
pub(super) fn no_content() -> Reply {
    let mut reply = reply::empty();
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply
}

#[derive(Serialize)]
struct Body<'a> {
    error: Detail<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail<'a> {
    code: &'static str,
    message: String,
    request_id: &'a str,
}

/// A text that is short and has no control character, for answers and logs.
pub(super) fn clean(text: &str, max: usize) -> String {
    let end = text.floor_char_boundary(max);
    let mut short: String = text[..end]
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if end < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write, iter};

    use super::*;
    use crate::protocol::Pointer;

    /// The problem that is listed after another. The match makes a new variant fail to compile until
    /// it has its place.
    fn after(problem: Option<&Problem>) -> Option<Problem> {
        use Problem as P;
        let Some(problem) = problem else {
            return Some(P::BadHost);
        };
        Some(match problem {
            P::BadHost => P::ForeignHost,
            P::ForeignHost => P::ForeignOrigin,
            P::ForeignOrigin => P::OwnAgent,
            P::OwnAgent => P::NotFound,
            P::NotFound => P::Method { allow: "POST" },
            P::Method { .. } => P::MediaType,
            P::MediaType => P::Unauthorized,
            P::Unauthorized => P::Start(StartError::UnknownAgent),
            P::Start(StartError::UnknownAgent) => P::HttpVersion,
            P::HttpVersion => P::TooLarge { limit: 7 },
            P::TooLarge { .. } => P::BodyTimeout,
            P::BodyTimeout => P::BodyBroken,
            P::BodyBroken => P::Decode(DecodeError::Syntax("x".into())),
            P::Decode(DecodeError::Syntax(_)) => P::Decode(invalid("/threadId".into())),
            P::Decode(DecodeError::Invalid { .. }) => P::Parameter {
                place: "limit",
                why: "must be a number".into(),
            },
            P::Parameter { .. } => P::Thread(UnknownThread),
            P::Thread(_) => P::Start(StartError::UnknownThread),
            P::Start(StartError::UnknownThread) => P::Start(StartError::TakenId),
            P::Start(StartError::TakenId) => P::Start(StartError::NothingToDo),
            P::Start(StartError::NothingToDo) => P::Start(bad_wish()),
            P::Start(StartError::Wish(_)) => P::Start(StartError::Busy),
            P::Start(StartError::Busy) => P::Start(StartError::Unanswered(vec!["ask_1".into()])),
            P::Start(StartError::Unanswered(_)) => {
                P::Start(StartError::Answered(vec!["ask_1".into()]))
            }
            P::Start(StartError::Answered(_)) => P::Start(StartError::Collision("chart".into())),
            P::Start(StartError::Collision(_)) => P::Start(StartError::Full),
            P::Start(StartError::Full) => P::Start(StartError::Draining),
            P::Start(StartError::Draining) => P::Start(StartError::Stopped),
            P::Start(StartError::Stopped) => P::Start(StartError::Internal),
            P::Start(StartError::Internal) => P::Internal,
            P::Internal => return None,
        })
    }

    fn bad_wish() -> StartError {
        let place = Pointer::root().child("forwardedProps");
        let value = "yolo".into();
        BadWish::NotOffered { place, value }.into()
    }

    fn all() -> impl Iterator<Item = Problem> {
        iter::successors(after(None), |problem| after(Some(problem)))
    }

    fn invalid(pointer: String) -> DecodeError {
        let reason = "must be a string".into();
        DecodeError::Invalid { pointer, reason }
    }

    #[test]
    fn the_codes_and_their_statuses_stay_as_they_are() {
        let mut list = String::new();
        for problem in all() {
            let mut headers = HeaderMap::new();
            problem.mark(&mut headers);
            let extra: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
            let (status, code) = problem.kind();
            let line = format!("{} {code} {}", status.as_u16(), extra.join(" "));
            writeln!(list, "{}", line.trim_end()).unwrap();
        }
        insta::assert_snapshot!(list, @r"
        400 bad_host
        403 host_not_allowed
        403 origin_not_allowed
        403 own_agent
        404 not_found
        405 method_not_allowed allow
        415 unsupported_media_type
        401 unauthorized www-authenticate
        404 unknown_agent
        505 http_version
        413 body_too_large
        408 body_timeout
        400 body_incomplete
        400 invalid_json
        400 invalid_input
        400 invalid_input
        404 unknown_thread
        404 unknown_thread
        400 invalid_input
        400 nothing_to_do
        400 not_offered
        409 thread_busy retry-after
        409 answers_missing
        409 already_answered
        400 tool_collision
        503 too_many_runs retry-after
        503 draining retry-after
        500 internal
        500 internal
        500 internal
        ");
    }

    #[test]
    fn each_code_is_listed_in_the_readme_with_its_status() {
        let readme = include_str!("../../README.md");
        for problem in all() {
            let (status, code) = problem.kind();
            let row = format!("| {} | `{code}` |", status.as_u16());
            assert!(readme.contains(&row), "README.md has no row {row}");
        }
    }

    #[test]
    fn a_message_is_short_and_cannot_forge_a_line() {
        let long = format!("/threadId é\n{}", "a".repeat(1 << 20));
        let message = Problem::Decode(invalid(long)).message();
        assert!(message.len() < MAX_MESSAGE + 8, "{}", message.len());
        assert!(
            message.starts_with("/threadId é a") && !message.contains('\n'),
            "{message}"
        );
        assert_eq!(clean("éé", 3), "é…");
    }
}
