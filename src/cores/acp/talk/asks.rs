//! What the agent asks of people in one turn. Each request waits beside whatever else the agent says, and is answered
//! once: by people, or as cancelled when the turn is stopped, the agent takes it back, or the talk ends.

use std::{mem, sync::Arc};

use futures_util::{
    future::{BoxFuture, FutureExt as _},
    stream::FuturesUnordered,
};
use tokio::sync::oneshot;
use tracing::{debug, warn};

use super::{
    super::{
        form,
        permission::{self, Decision, Unfit},
        request::{Request, Subject},
        turn::Turn,
    },
    Talk,
};
use crate::{
    deps::{
        Ask, Form, Gone, Permission, PermissionOption, PermissionRequest, Question, Reply, Signal,
        TurnIo,
    },
    protocol::JsonObject,
};

/// The requests that are open.
pub(super) type Asks = FuturesUnordered<BoxFuture<'static, Settled>>;

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// The call may go on, if it is one of this session.
    Allowed(Option<Arc<str>>),
    /// The agent may not do what it asked for.
    NotAllowed,
    /// A question has its answer, or will get none.
    Told,
}

impl Talk<'_> {
    /// Shows what the agent asked permission for when there was no turn to ask anybody. It is denied.
    pub(super) async fn tell(&mut self, request: Request) -> Result<(), Gone> {
        if request.subject != Subject::Permission {
            return Ok(());
        }
        let (events, _) = self.translator.ask(&request.params);
        self.turn.emit(events).await
    }

    /// Shows what the agent asks about, and has people asked.
    pub(super) async fn ask(&mut self, request: Request) -> Result<(), Gone> {
        match &request.subject {
            Subject::Permission => self.ask_permission(request).await,
            Subject::Question(question) => {
                let question = Question::clone(question);
                self.ask_question(request, question).await
            }
        }
    }

    async fn ask_permission(&mut self, request: Request) -> Result<(), Gone> {
        if let Some(option) = self.calls.allowed(&request.params) {
            let agent = &self.turn.options.name;
            debug!(agent, "a tool of ours is called: nobody is asked");
            request.answer(Decision::Allowed(option).result());
            return Ok(());
        }
        let (events, wanted) = self.translator.ask(&request.params);
        self.turn.emit(events).await?;
        match fit(&request, wanted) {
            Ok(wanted) => {
                let Turn { io, options, .. } = self.turn;
                let (to, answer) = oneshot::channel();
                let permit = Permit {
                    request,
                    call: wanted.call.clone(),
                    options: wanted.options.clone(),
                    agent: options.name.clone(),
                };
                // Now, and not when its answer is awaited: what is said after it must not be heard before it.
                if !io.is_stopped() {
                    let ask = Ask::Permission(Box::new(wanted), to);
                    io.send(Signal::Ask(ask)).await?;
                }
                self.asks.push(permit.wait(io.clone(), answer).boxed());
            }
            Err(why) => {
                let agent = &self.turn.options.name;
                let decision = if self.turn.io.is_stopped() {
                    Decision::Cancelled
                } else {
                    Decision::without_asking(&request.params, why)
                };
                let decided = decision.as_str();
                // It may go on like that.
                if mem::replace(&mut self.has_warned, true) {
                    debug!(agent, decided, %why, "a request for permission reaches nobody");
                } else {
                    warn!(agent, decided, %why, "a request for permission reaches nobody");
                }
                request.answer(decision.result());
                self.settle(Settled::NotAllowed);
            }
        }
        Ok(())
    }

    async fn ask_question(&mut self, request: Request, question: Question) -> Result<(), Gone> {
        let member = |name: &str| request.params[name].as_str();
        let session = member("sessionId").unwrap_or_default();
        let (events, call) = self.translator.question(session, member("toolCallId"));
        self.turn.emit(events).await?;
        let io = &self.turn.io;
        if request.may_wait() && !io.is_stopped() {
            let (to, answer) = oneshot::channel();
            let schema = match &question.form {
                Form::Fields(schema) | Form::Choices(schema) => schema.clone(),
            };
            let ask = Ask::Question(Question { call, ..question }, to);
            io.send(Signal::Ask(ask)).await?;
            self.asks
                .push(fill_in(io.clone(), request, schema, answer).boxed());
        }
        Ok(())
    }

    /// Takes note of what became of a request.
    pub(super) fn settle(&mut self, settled: Settled) {
        match settled {
            Settled::Allowed(Some(call)) => self.translator.allow(&call),
            Settled::Allowed(None) | Settled::Told => {}
            Settled::NotAllowed => self.was_refused = true,
        }
    }
}

/// What people are asked, if they can be.
fn fit(request: &Request, wanted: Option<PermissionRequest>) -> Result<PermissionRequest, Unfit> {
    let wanted = wanted.ok_or(Unfit::Malformed)?;
    let options = permission::options(&request.params)?;
    if !request.may_wait() {
        return Err(Unfit::TooMany);
    }
    Ok(PermissionRequest { options, ..wanted })
}

/// A request for permission that people are asked.
struct Permit {
    request: Request,
    call: Option<Arc<str>>,
    options: Vec<PermissionOption>,
    agent: String,
}

impl Permit {
    /// Waits for what people say, and answers.
    async fn wait(self, io: TurnIo, answer: oneshot::Receiver<Permission>) -> Settled {
        let answer = tokio::select! {
            biased;
            () = io.stopped() => None,
            () = self.request.withdrawn() => None,
            answer = answer => answer.ok(),
        };
        let of = |answer| Decision::of(&self.options, answer);
        let decision = answer.map_or(Decision::Cancelled, of);
        let (agent, decided) = (&self.agent, decision.as_str());
        debug!(agent, decided, "a request for permission was answered");
        self.request.answer(decision.result());
        match decision {
            Decision::Allowed(_) => Settled::Allowed(self.call),
            Decision::Refused(_) | Decision::Cancelled => Settled::NotAllowed,
        }
    }
}

/// Waits for what people say to a question, and answers.
async fn fill_in(
    io: TurnIo,
    request: Request,
    schema: JsonObject,
    answer: oneshot::Receiver<Reply>,
) -> Settled {
    let reply = tokio::select! {
        biased;
        () = io.stopped() => None,
        () = request.withdrawn() => None,
        reply = answer => reply.ok(),
    };
    request.answer(reply.map_or_else(form::cancelled, |it| form::answer(&schema, it)));
    Settled::Told
}
