//! A core whose every move a test makes.

use agui_serve::{
    cores::Core,
    deps::{Code, CoreEvent, StopReason, TurnError, TurnIo, TurnRequest},
    protocol::AgentCapabilities,
};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::soon;

/// The core.
pub(crate) struct Puppet {
    turns: mpsc::Sender<Turn>,
}

/// One turn, in the hands of the test. Dropping it fails the turn.
pub(crate) struct Turn {
    pub(crate) request: TurnRequest,
    pub(crate) io: TurnIo,
    end: oneshot::Sender<Result<StopReason, TurnError>>,
}

impl Puppet {
    /// A core, and where its turns arrive.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Turn>) {
        let (turns, arrivals) = mpsc::channel(16);
        (Self { turns }, arrivals)
    }
}

impl Turn {
    /// Waits for the next one.
    pub(crate) async fn next(arrivals: &mut mpsc::Receiver<Self>) -> Self {
        soon("the turn", arrivals.recv()).await.unwrap()
    }

    /// Says some text.
    pub(crate) async fn say(&self, text: &str) {
        let event = CoreEvent::Text(text.into());
        soon("room for an event", self.io.emit(event))
            .await
            .unwrap();
    }

    /// Waits until the turn is to stop.
    pub(crate) async fn stopped(&self) {
        soon("the turn to be stopped", self.io.stopped()).await;
    }

    /// Ends the turn.
    pub(crate) fn end(self, result: Result<StopReason, TurnError>) {
        // Nobody may wait for it any more, when the turn was given up.
        let _ = self.end.send(result);
    }
}

impl Core for Puppet {
    fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities::default()
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        let turns = self.turns.clone();
        Box::pin(async move {
            let (end, ended) = oneshot::channel();
            let dropped = || TurnError::new(Code::Internal, "the test let go of the turn");
            turns
                .send(Turn { request, io, end })
                .await
                .map_err(|_| dropped())?;
            ended.await.unwrap_or_else(|_| Err(dropped()))
        })
    }
}
