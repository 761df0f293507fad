//! What is behind a place: the tools that are offered now, the turn that takes calls, and who is told of changes.
//! Decides, and waits for nothing but the agent.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::Mutex;
use rmcp::{RoleServer, service::Peer};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::debug;

use super::{
    call::{Called, Outcome},
    offer::Offer,
};
use crate::protocol::{JsonObject, Tool};

/// How many calls a turn may leave untaken.
const WAITING: usize = 64;

/// How many connections of an agent are told of changes. An agent that opens more than it closes is told on the
/// latest.
const PEERS: usize = 16;

/// How long after it has listed the tools an agent may still prompt its model with those before (Gemini).
const SETTLING: Duration = Duration::from_millis(300);

/// What is behind a place.
pub(super) struct Room {
    offer: watch::Sender<Numbered>,
    listed: watch::Sender<Listed>,
    /// Takes the calls, while a turn is live.
    turn: Mutex<Option<mpsc::Sender<Called>>>,
    peers: Mutex<Peers>,
    asks: bool,
    progress: Duration,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// An offer and its number: each that differs from the one before has the next.
#[derive(Clone)]
struct Numbered {
    number: u64,
    offer: Arc<Offer>,
}

/// The number of the offer that the agent has listed last, and when it did so first; zero before it has.
#[derive(Clone, Copy)]
struct Listed {
    number: u64,
    at: Instant,
}

/// The connections that are told of changes, each with a number of its own.
#[derive(Default)]
struct Peers {
    last: u64,
    open: VecDeque<(u64, Peer<RoleServer>)>,
}

/// Why a call is not taken. The texts are for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotTaken {
    /// Between turns there is nobody who could carry it out.
    #[error("not executed: no turn is live")]
    NoTurn,
    /// There is no such tool now.
    #[error("not executed: the page does not have this tool now")]
    Unknown,
    /// The turn does not take more.
    #[error("not executed: too many calls are waiting")]
    TooMany,
}

impl Room {
    pub(super) fn new(
        asks: bool,
        progress: Duration,
        closing: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        let first = Numbered {
            number: 1,
            offer: Arc::new(if asks {
                Offer::new(&[], true)
            } else {
                Offer::none()
            }),
        };
        Self {
            offer: watch::Sender::new(first),
            listed: watch::Sender::new(Listed {
                number: 0,
                at: Instant::now(),
            }),
            turn: Mutex::default(),
            peers: Mutex::default(),
            asks,
            progress,
            closing,
            tasks,
        }
    }

    /// Whether the person can be asked.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// How long a call may be open without a word.
    pub(super) fn progress(&self) -> Duration {
        self.progress
    }

    /// Fires when the place is given up.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// What is offered.
    pub(super) fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.borrow().offer)
    }

    /// Offers these tools from now on, and says whether that is a change. Agents are told of one.
    pub(super) fn set_tools(self: &Arc<Self>, page: &[Tool]) -> bool {
        let offer = Offer::new(page, self.asks);
        let has_changed = self.offer.send_if_modified(|now| {
            let has_changed = *now.offer != offer;
            if has_changed {
                now.number += 1;
                now.offer = Arc::new(offer);
            }
            has_changed
        });
        if has_changed {
            let room = Arc::clone(self);
            self.tasks.spawn(async move {
                let closing = room.closing.clone();
                closing.run_until_cancelled(room.tell()).await;
            });
        }
        has_changed
    }

    /// Tells the agent that the tools have changed.
    async fn tell(&self) {
        let peers: Vec<_> = self.peers.lock().open.iter().cloned().collect();
        for (number, peer) in peers {
            if peer.notify_tool_list_changed().await.is_err() {
                debug!("an agent's connection for tools is gone");
                let mut peers = self.peers.lock();
                peers.open.retain(|(other, _)| *other != number);
            }
        }
    }

    /// Notes a connection that is told of changes.
    pub(super) fn meet(&self, peer: Peer<RoleServer>) {
        let mut peers = self.peers.lock();
        if peers.open.len() == PEERS {
            peers.open.pop_front();
        }
        peers.last += 1;
        let number = peers.last;
        peers.open.push_back((number, peer));
    }

    /// What is offered, for an agent that wants to know.
    pub(super) fn list(&self) -> Arc<Offer> {
        let Numbered { number, offer } = self.offer.borrow().clone();
        self.listed.send_if_modified(|listed| {
            let is_newer = listed.number < number;
            if is_newer {
                let at = Instant::now();
                *listed = Listed { number, at };
            }
            is_newer
        });
        offer
    }

    /// Ends once the agent knows what is offered now.
    pub(super) async fn listed(&self) {
        let mut listed = self.listed.subscribe();
        let is_known = |listed: &Listed| listed.number >= self.offer.borrow().number;
        let known = listed.wait_for(is_known).await.map(|listed| listed.at);
        let at = known.expect("the sender is ours");
        sleep_until(at + SETTLING).await;
    }

    /// Has a turn take the calls from now on.
    pub(super) fn begin(&self) -> (mpsc::Sender<Called>, mpsc::Receiver<Called>) {
        let (calls, taken) = mpsc::channel(WAITING);
        *self.turn.lock() = Some(calls.clone());
        (calls, taken)
    }

    /// Has a turn take no more, unless another one does by now.
    pub(super) fn end(&self, calls: &mpsc::Sender<Called>) {
        let mut turn = self.turn.lock();
        if turn.as_ref().is_some_and(|now| now.same_channel(calls)) {
            *turn = None;
        }
    }

    /// Has the live turn take a call.
    pub(super) fn call(
        &self,
        name: &str,
        arguments: JsonObject,
        meta: JsonObject,
    ) -> Result<oneshot::Receiver<Outcome>, NotTaken> {
        let turn = self.turn.lock().clone().ok_or(NotTaken::NoTurn)?;
        if !self.offer.borrow().offer.has(name) {
            return Err(NotTaken::Unknown);
        }
        let (called, answered) = Called::new(name.to_owned(), arguments, meta);
        match turn.try_send(called) {
            Ok(()) => Ok(answered),
            Err(mpsc::error::TrySendError::Full(_)) => Err(NotTaken::TooMany),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(NotTaken::NoTurn),
        }
    }
}
