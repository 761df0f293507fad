//! What a core holds for the length of one turn, and the adapter's end of it.

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

use super::{CoreEvent, SessionRef};
use crate::protocol::MessageBody;

/// Nobody listens to the turn any more; the core should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn is over")]
pub struct Gone;

/// What a core holds for the length of one turn.
#[derive(Debug, Clone)]
pub struct TurnIo {
    signals: mpsc::Sender<Signal>,
    stop: CancellationToken,
}

/// What comes out at the adapter's end of a [`TurnIo`], in order.
#[derive(Debug, Clone, PartialEq)]
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
}

impl TurnIo {
    /// A pair of ends. The core waits once `capacity` signals are not yet taken.
    pub fn channel(capacity: usize, stop: CancellationToken) -> (Self, mpsc::Receiver<Signal>) {
        let (signals, inbox) = mpsc::channel(capacity);
        (Self { signals, stop }, inbox)
    }

    /// Says what happened. Waits while the adapter is behind.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn emit(&self, event: CoreEvent) -> Result<(), Gone> {
        // Where there is room, nothing has to wait: a good part of the cost of a flood.
        match self.signals.try_send(Signal::Event(event)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(signal)) => self.signals.send(signal).await.map_err(|_| Gone),
            Err(TrySendError::Closed(_)) => Err(Gone),
        }
    }

    /// Binds the thread to a session of the core, for this turn and later ones. It may have another name than
    /// the one before, but goes on with it.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn bind(&self, session: SessionRef) -> Result<(), Gone> {
        self.signals
            .send(Signal::Bind(session))
            .await
            .map_err(|_| Gone)
    }

    /// Binds the thread to a session that stands in for the one before and knows nothing of it: what was noted
    /// of that one is dropped.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn rebind(&self, session: SessionRef) -> Result<(), Gone> {
        self.signals
            .send(Signal::Rebind(session))
            .await
            .map_err(|_| Gone)
    }

    /// Says what the thread is called from now on, for a list of threads.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn entitle(&self, title: String) -> Result<(), Gone> {
        self.signals
            .send(Signal::Title(title))
            .await
            .map_err(|_| Gone)
    }

    /// Tells what was said in the thread before this turn, as the session remembers it: the whole of it, in
    /// order. It is not streamed; it fills a transcript that is not whole. The ids of calls are the core's.
    ///
    /// # Errors
    /// The turn is over.
    pub async fn recall(&self, past: Vec<MessageBody>) -> Result<(), Gone> {
        self.signals
            .send(Signal::Recall(past))
            .await
            .map_err(|_| Gone)
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
