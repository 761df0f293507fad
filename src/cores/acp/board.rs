//! Who hears what a program says, by session.
//!
//! A turn listens to its session. What is said of a session while no turn listens is kept for the next one, up
//! to a bound: some agents go on after they have answered a prompt, and what they say then belongs to the
//! thread all the same. What is said in a sub-agent's session goes to whoever hears its parent. Sessions are
//! told apart by their process as well, and belong to a thread: agents may name those of two processes alike.

use std::{
    collections::{HashMap, VecDeque},
    num::NonZeroUsize,
    sync::Arc,
};

use lru::LruCache;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::debug;

use super::{
    request::{Request, Subject},
    shelf::{Conversation, Number},
    transport::Room,
};
use crate::protocol::ThreadId;

/// How many updates wait for a turn at most.
const QUEUE: usize = 16;

/// Of how many sessions something is kept, and how many sessions of sub-agents are known. The longest unheard
/// of is forgotten.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// How much is kept of a session, in bytes of JSON.
const KEPT: usize = 1024 * 1024;

/// How much is kept of all sessions together. For more the longest unheard of is forgotten.
const KEPT_IN_ALL: usize = 16 * 1024 * 1024;

/// What the program tells or asks within a session, in order.
#[derive(Debug)]
pub(super) enum Incoming {
    /// Parameters of `session/update`.
    Update(Value),
    /// Something is asked of people.
    Asked(Box<Request>),
}

impl Incoming {
    fn params(&self) -> &Value {
        match self {
            Self::Update(params) => params,
            Self::Asked(request) => &request.params,
        }
    }
}

/// What was said while nobody listened.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// In order.
    pub(super) said: VecDeque<Incoming>,
    /// How much more there was.
    pub(super) lost: usize,
    bytes: usize,
}

impl Kept {
    /// Keeps something, or counts it if that would be too much. What is asked is answered as cancelled; that permission
    /// was asked for is part of the story.
    pub(super) fn push(&mut self, mut incoming: Incoming) {
        if let Incoming::Asked(request) = &mut incoming {
            request.cancel();
            if request.subject != Subject::Permission {
                return;
            }
        }
        let bytes = incoming.params().to_string().len();
        if self.bytes + bytes > KEPT {
            self.lost += 1;
            return;
        }
        self.bytes += bytes;
        self.said.push_back(incoming);
    }

    /// What was told, as far as it says how the session `session` is set.
    pub(super) fn updates(&self, session: &str) -> impl Iterator<Item = &Value> {
        let of_session = move |it: &&Incoming| it.params()["sessionId"] == session;
        let said = self.said.iter().filter(of_session);
        said.map(|incoming| &incoming.params()["update"])
    }

    /// Whether there is nothing to say of it.
    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty() && self.lost == 0
    }

    /// Keeps what was said later, too.
    pub(super) fn append(&mut self, later: Self) {
        self.lost += later.lost;
        for incoming in later.said {
            self.push(incoming);
        }
    }
}

/// What a turn hears with, as the program's side of it.
#[derive(Clone)]
struct Ear {
    /// Which turn's it is.
    number: u64,
    queue: mpsc::Sender<(Incoming, Option<Room>)>,
}

/// What a turn hears. Dropping it is not to listen any more.
///
/// Whoever awaits something of the agent has to take what is heard meanwhile: while this is full, the program's
/// messages wait, to all turns, answers included.
pub(super) struct Hearing {
    board: Arc<Board>,
    address: Address,
    number: u64,
    inbox: mpsc::Receiver<(Incoming, Option<Room>)>,
}

/// Who hears what.
#[derive(Default)]
pub(super) struct Board {
    lines: Mutex<Lines>,
}

/// A session in one process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Address {
    process: Number,
    session: String,
}

/// The board as a process's side of it.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) board: Arc<Board>,
    pub(super) process: Number,
}

struct Lines {
    /// Those that are listened to: one for each turn.
    ears: HashMap<Address, Ear>,
    kept: LruCache<Address, Kept>,
    bytes: usize,
    /// Sub-agents' sessions with those that they were announced in.
    parents: LruCache<Address, Address>,
    /// In which process each conversation was heard last.
    homes: LruCache<Conversation, Number>,
    /// Which thread has which session. Agents may name those of two processes alike.
    owners: LruCache<Address, ThreadId>,
    /// The number of the latest ear.
    last: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            ears: HashMap::new(),
            kept: LruCache::new(SESSIONS),
            bytes: 0,
            parents: LruCache::new(SESSIONS),
            homes: LruCache::new(SESSIONS),
            owners: LruCache::new(SESSIONS),
            last: 0,
        }
    }
}

impl Board {
    /// Begins to listen to a conversation in a process, for a turn. What was said of it meanwhile, be it in a
    /// process that is gone, waits to be taken. `None` if the session is another thread's in that process.
    pub(super) fn listen(
        self: &Arc<Self>,
        process: Number,
        conversation: &Conversation,
    ) -> Option<Hearing> {
        let Conversation { thread, session } = conversation;
        let address = Address {
            process,
            session: session.clone(),
        };
        let (queue, inbox) = mpsc::channel(QUEUE);
        let mut lines = self.lines.lock();
        let owner = lines.owners.get(&address);
        if owner.is_some_and(|owner| owner != thread) {
            return None;
        }
        lines.owners.put(address.clone(), thread.clone());
        lines.last += 1;
        let number = lines.last;
        lines.ears.insert(address.clone(), Ear { number, queue });
        if let Some(before) = lines.homes.put(conversation.clone(), process)
            && before != process
        {
            let mut kept = lines.take(&Address {
                process: before,
                session: session.clone(),
            });
            kept.append(lines.take(&address));
            lines.put(&address, kept);
        }
        drop(lines);
        Some(Hearing {
            board: Arc::clone(self),
            address,
            number,
            inbox,
        })
    }

    /// Whether a process has a session of that name that is another thread's.
    pub(super) fn is_of_another(&self, process: Number, conversation: &Conversation) -> bool {
        let Conversation { thread, session } = conversation;
        let address = Address {
            process,
            session: session.clone(),
        };
        let lines = self.lines.lock();
        let owner = lines.owners.peek(&address);
        owner.is_some_and(|owner| owner != thread)
    }

    /// Forgets a conversation that no turn listens to, with all that was kept of it.
    pub(super) fn forget(&self, conversation: &Conversation) {
        let Conversation { thread, session } = conversation;
        let mut lines = self.lines.lock();
        lines.homes.pop(conversation);
        let owned = lines.owners.iter();
        let owned: Vec<_> = owned
            .filter(|(address, owner)| address.session == *session && *owner == thread)
            .map(|(address, _)| address.clone())
            .collect();
        for address in owned {
            lines.owners.pop(&address);
            lines.take(&address);
        }
    }

    fn keep(&self, address: Option<Address>, incoming: Incoming) {
        let Some(address) = address else {
            debug!("what belongs to no session is left out");
            return;
        };
        let mut lines = self.lines.lock();
        let mut kept = lines.take(&address);
        kept.push(incoming);
        lines.put(&address, kept);
    }
}

impl Side {
    /// The side of a process that shares its board with no other.
    pub(super) fn alone() -> Self {
        Self {
            board: Arc::default(),
            process: Number(0),
        }
    }

    /// Hands something on to the turn that hears it, or keeps it.
    pub(super) async fn hand_on(&self, incoming: Incoming, room: Option<Room>) {
        let (address, ear) = {
            let mut lines = self.board.lines.lock();
            let address = lines.owner(self.process, incoming.params());
            let ear = address
                .as_ref()
                .and_then(|address| lines.ears.get(address))
                .cloned();
            (address, ear)
        };
        let unheard = match ear {
            // It may have stopped listening meanwhile.
            Some(ear) => match ear.queue.send((incoming, room)).await {
                Ok(()) => return,
                Err(mpsc::error::SendError((incoming, _))) => incoming,
            },
            None => incoming,
        };
        self.board.keep(address, unheard);
    }
}

impl Lines {
    fn take(&mut self, address: &Address) -> Kept {
        let kept = self.kept.pop(address).unwrap_or_default();
        self.bytes -= kept.bytes;
        kept
    }

    /// Keeps what was taken, or made of it.
    fn put(&mut self, address: &Address, kept: Kept) {
        if kept.is_empty() {
            return;
        }
        self.bytes += kept.bytes;
        let mut forgotten = self.kept.push(address.clone(), kept);
        while self.bytes > KEPT_IN_ALL || forgotten.is_some() {
            let Some((_, kept)) = forgotten.take().or_else(|| self.kept.pop_lru()) else {
                return;
            };
            debug!("what an agent said of a session is forgotten");
            self.bytes -= kept.bytes;
        }
    }

    /// The session whose turn is to hear something that a process says: the one it is about, or the one that
    /// is known as the root of that. Learns which session is whose.
    fn owner(&mut self, process: Number, params: &Value) -> Option<Address> {
        let session = params["sessionId"].as_str().filter(|id| is_usable(id))?;
        let address = |session: &str| Address {
            process,
            session: session.to_owned(),
        };
        let spoken = address(session);
        let owner = self.parents.get(&spoken).cloned().unwrap_or(spoken);
        let update = &params["update"];
        if update["sessionUpdate"] == "subagent_update"
            && let Some(child) = update["sessionId"].as_str().map(address)
            && child != owner
            && !self.ears.contains_key(&child)
        {
            self.parents.put(child, owner.clone());
        }
        Some(owner)
    }
}

/// Whether an id can name a session. Agents make them up, and they are kept.
pub(super) fn is_usable(id: &str) -> bool {
    const LONGEST: usize = 1024;
    !id.is_empty() && id.len() <= LONGEST
}

impl Hearing {
    /// What is said next, and the room that it takes until then.
    pub(super) async fn next(&mut self) -> Option<(Incoming, Option<Room>)> {
        self.inbox.recv().await
    }

    /// Shows what was said while nobody listened.
    pub(super) fn look_at_kept(&self, look: impl FnOnce(&Kept)) {
        if let Some(kept) = self.board.lines.lock().kept.peek(&self.address) {
            look(kept);
        }
    }

    /// What was said while nobody listened.
    pub(super) fn take_kept(&mut self) -> Kept {
        self.board.lines.lock().take(&self.address)
    }

    /// Stops listening. What was said until now can still be taken; what comes later is kept.
    pub(super) fn stop(&mut self) {
        let mut lines = self.board.lines.lock();
        let is_own = |ear: &Ear| ear.number == self.number;
        if lines.ears.get(&self.address).is_some_and(is_own) {
            lines.ears.remove(&self.address);
        }
        drop(lines);
        self.inbox.close();
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
