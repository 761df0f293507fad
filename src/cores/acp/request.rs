//! Something that an agent asks of people, with the place for its answer.
//!
//! ACP wants each answered, and each as cancelled once a turn is stopped. So a request that is let go of, wherever that
//! is, answers itself so.

use std::{fmt, sync::Arc};

use agent_client_protocol::{self as sdk, v1::Responder};
use futures_util::future::OptionFuture;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{form, permission::Decision};
use crate::deps::Question;

/// How many requests of one process people are asked at a time. For more nobody is asked.
pub(super) const OPEN: usize = 64;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Subject {
    /// Whether a call may go on (`session/request_permission`).
    Permission,
    /// What only people know (`elicitation/create`).
    Question(Box<Question>),
}

impl Subject {
    /// What a method with these parameters asks of people.
    ///
    /// # Errors
    /// It asks nothing of them, or in a way that is not offered.
    pub(super) fn of(method: &str, params: &Value) -> Result<Self, sdk::Error> {
        match method {
            "session/request_permission" => Ok(Self::Permission),
            "elicitation/create" => {
                let question = form::question(params).map(Box::new);
                let question = question.map(Self::Question);
                question
                    .ok_or_else(|| sdk::Error::invalid_params().data("only flat forms are asked"))
            }
            _ => Err(sdk::Error::method_not_found()),
        }
    }

    fn cancelled(&self) -> Value {
        match self {
            Self::Permission => Decision::Cancelled.result(),
            Self::Question(_) => form::cancelled(),
        }
    }
}

/// A request. Dropped without an answer, it is answered as cancelled.
pub(super) struct Request {
    pub(super) subject: Subject,
    pub(super) params: Value,
    /// Until it is answered.
    responder: Option<Responder>,
    /// Its place among those that are open, if there was one.
    place: Option<OwnedSemaphorePermit>,
}

impl Request {
    /// A request that was just made, by a process with these places for open ones.
    pub(super) fn new(
        subject: Subject,
        params: Value,
        responder: Responder,
        places: &Arc<Semaphore>,
    ) -> Self {
        Self {
            subject,
            params,
            responder: Some(responder),
            place: Arc::clone(places).try_acquire_owned().ok(),
        }
    }

    /// Whether it may wait for people.
    pub(super) fn may_wait(&self) -> bool {
        self.responder.is_some() && self.place.is_some()
    }

    /// Answers it.
    pub(super) fn answer(mut self, result: Value) {
        self.respond(result);
    }

    /// Answers it as cancelled, and leaves what it asked.
    pub(super) fn cancel(&mut self) {
        self.respond(self.subject.cancelled());
        self.place = None;
    }

    fn respond(&mut self, result: Value) {
        if let Some(responder) = self.responder.take() {
            // That the program is gone is noticed where an answer is awaited.
            let _ = responder.respond(result);
        }
    }

    /// Ends once the agent does not want an answer any more (ACP `$/cancel_request`), or has one.
    pub(super) fn withdrawn(&self) -> impl Future<Output = ()> + use<> {
        let mark = self.responder.as_ref().map(Responder::cancellation);
        let withdrawn = mark.map(|mark| async move { mark.cancelled().await });
        async { OptionFuture::from(withdrawn).await.unwrap_or_default() }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}
