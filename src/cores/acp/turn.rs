//! One turn: a process for it, the session's opening, the talk, and the end or the stop.

use std::{mem, sync::Arc};

use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::warn;

use super::{
    failure::{Explained, Failure},
    handover,
    leftovers::Before,
    options::Options,
    pool::{Lease, Pool},
    preset::Relists,
    session::{Opening, Origin},
    shelf::{Conversation, Verdict},
    talk::Talk,
};
use crate::cores::mcp::Place;
use crate::deps::{
    CoreEvent, Gone, Session, SessionRef, Settings, StopReason, TurnIo, TurnRequest,
};

/// A turn and what it needs.
pub(super) struct Turn {
    pub(super) options: Arc<Options>,
    pub(super) pool: Arc<Pool>,
    pub(super) request: TurnRequest,
    pub(super) io: TurnIo,
    /// Is told what can be chosen, each time it changes.
    pub(super) heard: Box<dyn Fn(Settings) + Send + Sync>,
}

/// Why a turn does not go on.
pub(super) enum Halt {
    /// Nobody listens any more.
    Gone,
    /// It failed.
    Failed(Failure),
}

impl From<Gone> for Halt {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// How the agent met a stop.
enum Met {
    /// The turn has come to its end.
    Ended(Result<StopReason, Halt>),
    /// It went on.
    NotAtAll,
}

impl Turn {
    /// Runs the turn in a process from the pool. A turn that was to stop never fails.
    ///
    /// # Errors
    /// What went wrong, with the end of the process where that explains it.
    pub(super) async fn run(self) -> Result<StopReason, Explained> {
        let bound = match &self.request.session {
            Session::Bound(session) => Some(self.conversation(session)),
            Session::New | Session::Rewound(_) => None,
        };
        let known = bound.as_ref();
        let mut lease = tokio::select! {
            biased;
            () = self.io.stopped() => return Ok(StopReason::Cancelled),
            lease = self.lease(known) => lease?,
        };
        let opened = tokio::select! {
            biased;
            () = self.io.stopped() => None,
            opened = self.open(&lease, known) => Some(opened),
        };
        let (ended, verdict) = match opened {
            None => (Ok(StopReason::Cancelled), Verdict::Doubtful),
            Some(Err(halt)) => (Err(halt), Verdict::Doubtful),
            Some(Ok(talk)) => self.talk(&mut lease, talk).await,
        };
        let end = lease.give_back(verdict).await;
        match ended {
            // Agents answer a cancelled prompt in many ways. It was stopped on purpose.
            _ if self.io.is_stopped() => Ok(StopReason::Cancelled),
            Ok(reason) => Ok(reason),
            Err(Halt::Gone) => Ok(StopReason::Cancelled),
            Err(Halt::Failed(failure)) => Err(match end {
                Some(end) => failure.explained_by(end),
                None => failure.into(),
            }),
        }
    }

    /// Gets a process: a new one where the one that has the session open would not notice that there are other tools.
    async fn lease(&self, known: Option<&Conversation>) -> Result<Lease, Explained> {
        let lease = self.pool.lease(known).await?;
        let open = known.and_then(|known| lease.known_session(known));
        let notices_no_change = handover::relists(&self.options) == Relists::Restarted;
        let tools = open.and_then(|open| open.tools);
        let is_stale = |place: Arc<Place>| place.set_tools(&self.io.tools());
        if notices_no_change && tools.is_some_and(is_stale) {
            lease.give_back(Verdict::Doubtful).await;
            return self.pool.lease(known).await;
        }
        Ok(lease)
    }

    fn conversation(&self, session: &SessionRef) -> Conversation {
        Conversation::new(&self.request.input.thread_id, session)
    }

    /// Opens the session and brings it to where it should be.
    async fn open(&self, lease: &Lease, known: Option<&Conversation>) -> Result<Talk<'_>, Halt> {
        let opening = Opening {
            lease,
            thread: &self.request.input.thread_id,
            options: &self.options,
            page: self.io.tools(),
        };
        let mut session = match (known, &self.request.session) {
            (Some(known), _) => opening.open(known).await?,
            // It cannot be made to forget (ACP has nothing for that).
            (None, Session::Rewound(_)) => opening.open_new(Origin::Rewound).await?,
            (None, _) => opening.open_new(Origin::New).await?,
        };
        let notice = match session.origin {
            Origin::Known | Origin::New => None,
            Origin::Replacement => Some("session_replaced"),
            Origin::Rewound => Some("session_rewound"),
        };
        if let Some(name) = notice {
            let id = &session.conversation.session;
            let previous = self.request.session.known().map(SessionRef::as_str);
            let value = json!({"session": id, "previous": previous});
            self.notice(name, value).await?;
        }
        let past = mem::take(&mut session.past);
        if !past.is_empty() {
            self.io.recall(past).await?;
        }
        let talk = Talk::begin(self, lease.worker(), session).await?;
        lease.note_session(talk.conversation(), talk.open());
        Ok(talk)
    }

    /// Says something of the turn itself.
    pub(super) async fn notice(&self, name: &str, value: Value) -> Result<(), Gone> {
        self.io.emit(CoreEvent::notice(name, value)).await
    }

    /// Says what happened, in order.
    pub(super) async fn emit(
        &self,
        events: impl IntoIterator<Item = CoreEvent>,
    ) -> Result<(), Gone> {
        for event in events {
            self.io.emit(event).await?;
        }
        Ok(())
    }

    /// Lets go of the session that another one has taken the place of.
    pub(super) fn let_go_of_rewound(&self, now: &Conversation) {
        if let Session::Rewound(previous) = &self.request.session {
            let previous = self.conversation(previous);
            // Agents may name the sessions of two processes alike.
            if previous != *now {
                self.pool.let_go(previous);
            }
        }
    }

    /// Sends the prompt and follows the answer. On a stop the agent is told, and what it still says passes
    /// on, for a while.
    async fn talk(
        &self,
        lease: &mut Lease,
        mut talk: Talk<'_>,
    ) -> (Result<StopReason, Halt>, Verdict) {
        // A process that is not kept anyway ends at once.
        let before = match self.options.pool_size {
            0 => None,
            _ => Some(Before::look(lease).await),
        };
        lease.set_verdict(Verdict::Stuck);
        let cancel = json!({"sessionId": talk.conversation().session});
        let peer = lease.worker().peer.clone();
        let stop = async {
            self.io.stopped().await;
            peer.notify("session/cancel", cancel);
            sleep(self.options.stop_grace).await;
        };
        let met = tokio::select! {
            biased;
            () = stop => Met::NotAtAll,
            ended = talk.prompt() => Met::Ended(ended),
        };
        lease.note_session(talk.conversation(), talk.open());
        match met {
            Met::NotAtAll => {
                let agent = &self.options.name;
                warn!(agent, "the agent did not stop when it was told to");
                (Ok(StopReason::Cancelled), Verdict::Stuck)
            }
            Met::Ended(Err(Halt::Gone)) => (Err(Halt::Gone), Verdict::Stuck),
            Met::Ended(ended) if self.io.is_stopped() => {
                let is_all = match before {
                    Some(before) => before.is_all(lease).await,
                    None => false,
                };
                let verdict = if is_all {
                    Verdict::Sound
                } else {
                    Verdict::Doubtful
                };
                (ended, verdict)
            }
            // It reads its login when it starts.
            Met::Ended(ended @ Err(Halt::Failed(Failure::Login(_)))) => (ended, Verdict::Doubtful),
            Met::Ended(ended) => (ended, Verdict::Sound),
        }
    }
}
