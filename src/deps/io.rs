//! What a core holds for the length of one turn, and the adapter's end of it.

use std::sync::Arc;

use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot, watch,
};
use tokio_util::sync::CancellationToken;

use super::{
    Ask, CoreEvent, Denial, Permission, PermissionRequest, Question, Reply, SessionRef, ToolAnswer,
    ToolCall, Unanswered,
};
use crate::protocol::{MessageBody, Tool};

/// Nobody listens to the turn any more; the core should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn is over")]
pub struct Gone;

/// What a core holds for the length of one turn.
#[derive(Debug, Clone)]
pub struct TurnIo {
    signals: mpsc::Sender<Signal>,
    stop: CancellationToken,
    tools: watch::Receiver<Arc<[Tool]>>,
}

/// What comes out at the adapter's end of a [`TurnIo`], in order.
#[derive(Debug, PartialEq)]
pub enum Signal {
    /// Something happened.
    Event(CoreEvent),
    /// The thread is bound to this session from now on.
    Bind(SessionRef),
    /// The thread is bound to this session from now on, which knows nothing of the one before.
    Rebind(SessionRef),
    /// The thread is called this from now on.
    Title(String),
    /// This was said in the thread before this turn.
    Recall(Vec<MessageBody>),
    /// The turn waits for this. Unless it is answered, it is told that the turn is being stopped.
    Ask(Ask),
}

impl TurnIo {
    /// A pair of ends. The core waits once `capacity` signals are not yet taken.
    pub fn channel(capacity: usize, stop: CancellationToken) -> (Self, mpsc::Receiver<Signal>) {
        let (_, tools) = watch::channel(Arc::default());
        Self::with_tools(capacity, stop, tools)
    }

    /// The same, with the tools that the page has, which may change when the turn goes on in another run.
    pub fn with_tools(
        capacity: usize,
        stop: CancellationToken,
        tools: watch::Receiver<Arc<[Tool]>>,
    ) -> (Self, mpsc::Receiver<Signal>) {
        let (signals, inbox) = mpsc::channel(capacity);
        let io = Self {
            signals,
            stop,
            tools,
        };
        (io, inbox)
    }

    /// Another pair of ends for the same turn, for whoever stands between a core and the adapter: the page's tools are
    /// the same, what comes out is to be handed on with [`TurnIo::send`].
    pub fn between(
        &self,
        capacity: usize,
        stop: CancellationToken,
    ) -> (Self, mpsc::Receiver<Signal>) {
        Self::with_tools(capacity, stop, self.tools.clone())
    }

    /// Says what happened. Waits while the adapter is behind.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn emit(&self, event: CoreEvent) -> Result<(), Gone> {
        // Where there is room, nothing has to wait: a good part of the cost of a flood.
        match self.signals.try_send(Signal::Event(event)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(signal)) => self.send(signal).await,
            Err(TrySendError::Closed(_)) => Err(Gone),
        }
    }

    /// Hands a signal on. Waits while the adapter is behind.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn send(&self, signal: Signal) -> Result<(), Gone> {
        self.signals.send(signal).await.map_err(|_| Gone)
    }

    /// Binds the thread to a session of the core, for this turn and later ones. It may have another name than
    /// the one before, but goes on with it.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn bind(&self, session: SessionRef) -> Result<(), Gone> {
        self.send(Signal::Bind(session)).await
    }

    /// Binds the thread to a session that stands in for the one before and knows nothing of it: what was noted
    /// of that one is dropped.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn rebind(&self, session: SessionRef) -> Result<(), Gone> {
        self.send(Signal::Rebind(session)).await
    }

    /// Says what the thread is called from now on, for a list of threads.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn entitle(&self, title: String) -> Result<(), Gone> {
        self.send(Signal::Title(title)).await
    }

    /// Tells what was said in the thread before this turn, as the session remembers it: the whole of it, in
    /// order. It is not streamed; it fills a transcript that is not whole. The ids of calls are the core's.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn recall(&self, past: Vec<MessageBody>) -> Result<(), Gone> {
        self.send(Signal::Recall(past)).await
    }

    /// Has a tool of the page called, and waits until the page has answered, its time is over, or the turn is
    /// stopped. The run ends meanwhile; the turn goes on with the next one.
    pub async fn call_frontend_tool(&self, call: ToolCall) -> ToolAnswer {
        let answer = self.ask(|answer| Ask::Tool(call, answer)).await;
        answer.unwrap_or(ToolAnswer::Unanswered(Unanswered::Stopped))
    }

    /// Asks for permission, and waits likewise. Only an explicit yes is one; whatever else becomes of it denies.
    pub async fn request_permission(&self, request: PermissionRequest) -> Permission {
        let no = request.option(false).map(|option| Arc::clone(&option.id));
        let ask = |answer| Ask::Permission(Box::new(request), answer);
        let answer = self.ask(ask).await;
        answer.unwrap_or(Permission::Denied(
            no,
            Denial::Unanswered(Unanswered::Stopped),
        ))
    }

    /// Asks the person something, and waits likewise.
    pub async fn ask_user(&self, question: Question) -> Reply {
        let answer = self.ask(|answer| Ask::Question(question, answer)).await;
        answer.unwrap_or(Reply::Unanswered(Unanswered::Stopped))
    }

    async fn ask<A>(&self, ask: impl FnOnce(oneshot::Sender<A>) -> Ask) -> Option<A> {
        let (answer, answered) = oneshot::channel();
        self.send(Signal::Ask(ask(answer))).await.ok()?;
        answered.await.ok()
    }

    /// The tools that the page has now, as far as this turn may call them.
    pub fn tools(&self) -> Arc<[Tool]> {
        Arc::clone(&self.tools.borrow())
    }

    /// Ends once the page has other tools than those that were last asked for with [`TurnIo::tools_changed`] by this
    /// clone; never, if they cannot change any more.
    pub async fn tools_changed(&mut self) -> Arc<[Tool]> {
        match self.tools.changed().await {
            Ok(()) => Arc::clone(&self.tools.borrow_and_update()),
            Err(_) => std::future::pending().await,
        }
    }

    /// Ends when the turn is to stop. The core then has a short time to end in order.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Whether the turn is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }
}
