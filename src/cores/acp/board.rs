//! Who hears what a program says, by session.
//!
//! Sessions are told apart by their process as well: agents may count them anew in each. A turn listens to its session. What is said of a session while no turn listens is kept for the next one,
//! up to a bound: some agents go on after they have answered a prompt, and what they say then belongs to the
//! thread all the same. What is said in a sub-agent's session goes to whoever hears its parent.

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
    shelf::{Conversation, Number},
    transport::Room,
};
use crate::deps::TurnIo;

/// How many updates wait for a turn at most.
const QUEUE: usize = 16;

/// Of how many sessions something is kept, and how many sessions of sub-agents are known. The longest unheard
/// of is forgotten.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// How much is kept of all sessions together, in bytes of JSON.
const KEPT: usize = 4 * 1024 * 1024;

/// What the program tells or asks within a session, in order.
#[derive(Debug)]
pub(super) enum Incoming {
    /// Parameters of `session/update`.
    Update(Value),
    /// Parameters of `session/request_permission`, which was answered or is about to be.
    Asked(Value),
}

impl Incoming {
    fn params(&self) -> &Value {
        let (Self::Update(params) | Self::Asked(params)) = self;
        params
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
    /// Keeps something, or counts it if that would be too much.
    pub(super) fn push(&mut self, incoming: Incoming) {
        self.push_within(KEPT - self.bytes, incoming);
    }

    fn push_within(&mut self, room: usize, incoming: Incoming) {
        let bytes = incoming.params().to_string().len();
        if bytes > room {
            self.lost += 1;
            return;
        }
        self.bytes += bytes;
        self.said.push_back(incoming);
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
pub(super) struct Ear {
    queue: mpsc::Sender<(Incoming, Option<Room>)>,
    io: TurnIo,
}

/// What a turn hears. Dropping it is not to listen any more.
pub(super) struct Hearing {
    board: Arc<Board>,
    place: Place,
    inbox: mpsc::Receiver<(Incoming, Option<Room>)>,
}

/// Who hears what.
#[derive(Default)]
pub(super) struct Board {
    lines: Mutex<Lines>,
}

/// A session in one process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
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
    ears: HashMap<Place, Ear>,
    kept: LruCache<Place, Kept>,
    bytes: usize,
    /// Sub-agents' sessions with those that they were announced in.
    parents: LruCache<Place, Place>,
    /// In which process each conversation was heard last.
    homes: LruCache<Conversation, Number>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            ears: HashMap::new(),
            kept: LruCache::new(SESSIONS),
            bytes: 0,
            parents: LruCache::new(SESSIONS),
            homes: LruCache::new(SESSIONS),
        }
    }
}

impl Board {
    /// Begins to listen to a conversation in a process, for a turn. Answers with what was said of it
    /// meanwhile, too, be it in a process that is gone.
    pub(super) fn listen(
        self: &Arc<Self>,
        process: Number,
        conversation: &Conversation,
        io: TurnIo,
    ) -> (Hearing, Kept) {
        let (queue, inbox) = mpsc::channel(QUEUE);
        let session = conversation.session.clone();
        let place = Place { process, session };
        let mut lines = self.lines.lock();
        lines.ears.insert(place.clone(), Ear { queue, io });
        let mut kept = Kept::default();
        if let Some(before) = lines.homes.put(conversation.clone(), process)
            && before != process
        {
            kept.append(lines.take(&Place {
                process: before,
                ..place.clone()
            }));
        }
        kept.append(lines.take(&place));
        drop(lines);
        let hearing = Hearing {
            board: Arc::clone(self),
            place,
            inbox,
        };
        (hearing, kept)
    }

    fn keep(&self, place: Option<Place>, incoming: Incoming) {
        let Some(place) = place else {
            debug!("what belongs to no session is left out");
            return;
        };
        let mut lines = self.lines.lock();
        if !lines.kept.contains(&place)
            && let Some((_, oldest)) = lines.kept.push(place.clone(), Kept::default())
        {
            debug!("what an agent said of a session is forgotten");
            lines.bytes -= oldest.bytes;
        }
        let room = KEPT - lines.bytes;
        if let Some(kept) = lines.kept.get_mut(&place) {
            let before = kept.bytes;
            kept.push_within(room, incoming);
            lines.bytes += kept.bytes - before;
        }
    }

    fn hang_up(&self, place: &Place) {
        self.lines.lock().ears.remove(place);
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

    /// Whoever hears what is said with these parameters.
    pub(super) fn ear(&self, params: &Value) -> Option<Ear> {
        let mut lines = self.board.lines.lock();
        let place = lines.owner(self.process, params)?;
        lines.ears.get(&place).cloned()
    }

    /// Hands something on to the turn that hears it, or keeps it.
    pub(super) async fn hand_on(&self, incoming: Incoming, room: Option<Room>) {
        let (place, ear) = {
            let mut lines = self.board.lines.lock();
            let place = lines.owner(self.process, incoming.params());
            let ear = place
                .as_ref()
                .and_then(|place| lines.ears.get(place))
                .cloned();
            (place, ear)
        };
        let unheard = match ear {
            // It may have stopped listening meanwhile.
            Some(ear) => match ear.queue.send((incoming, room)).await {
                Ok(()) => return,
                Err(mpsc::error::SendError((incoming, _))) => incoming,
            },
            None => incoming,
        };
        self.board.keep(place, unheard);
    }
}

impl Lines {
    fn take(&mut self, place: &Place) -> Kept {
        let kept = self.kept.pop(place).unwrap_or_default();
        self.bytes -= kept.bytes;
        kept
    }

    /// The session whose turn is to hear something that a process says: the one it is about, or the one that
    /// is known as the root of that. Learns which session is whose.
    fn owner(&mut self, process: Number, params: &Value) -> Option<Place> {
        let session = params["sessionId"].as_str().filter(|id| !id.is_empty())?;
        let place = |session: &str| Place {
            process,
            session: session.to_owned(),
        };
        let spoken = place(session);
        let owner = self.parents.get(&spoken).cloned().unwrap_or(spoken);
        let update = &params["update"];
        if update["sessionUpdate"] == "subagent_update"
            && let Some(child) = update["sessionId"].as_str().map(place)
            && child != owner
            && !self.ears.contains_key(&child)
        {
            self.parents.put(child, owner.clone());
        }
        Some(owner)
    }
}

impl Ear {
    /// Whether the turn is to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.io.is_stopped()
    }

    /// Hands something on, and returns once the turn has taken it and all before it, or does not listen any
    /// more.
    pub(super) async fn hand_over(&self, incoming: Incoming) {
        let _ = self.queue.send((incoming, None)).await;
        let _ = self.queue.reserve_many(QUEUE).await;
    }
}

impl Hearing {
    /// What is said next, and the room that it takes until then.
    pub(super) async fn next(&mut self) -> Option<(Incoming, Option<Room>)> {
        self.inbox.recv().await
    }

    /// What has been said by now.
    pub(super) fn now(&mut self) -> Option<(Incoming, Option<Room>)> {
        self.inbox.try_recv().ok()
    }

    /// Stops listening. What was said until now can still be taken; what comes later is kept.
    pub(super) fn stop(&mut self) {
        self.board.hang_up(&self.place);
        self.inbox.close();
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::protocol::ThreadId;

    fn io() -> TurnIo {
        TurnIo::channel(1, CancellationToken::new()).0
    }

    fn said(session: &str, text: &str) -> Incoming {
        Incoming::Update(json!({"sessionId": session, "update": {"text": text}}))
    }

    fn texts(kept: &Kept) -> Vec<&str> {
        let updates = kept.said.iter().map(|it| &it.params()["update"]);
        updates
            .map(|update| update["text"].as_str().unwrap())
            .collect()
    }

    fn conversation(session: &str) -> Conversation {
        Conversation {
            thread: ThreadId::new("t").unwrap(),
            session: session.into(),
        }
    }

    /// A process's side of a board.
    fn side(process: u64) -> Side {
        Side {
            board: Arc::default(),
            process: Number(process),
        }
    }

    fn listen(side: &Side, session: &str) -> (Hearing, Kept) {
        side.board
            .listen(side.process, &conversation(session), io())
    }

    #[tokio::test]
    async fn what_is_said_while_nobody_listens_is_kept_for_the_next_who_does() {
        let side = side(1);
        side.hand_on(said("a", "one"), None).await;
        side.hand_on(said("b", "other"), None).await;
        let (mut hearing, kept) = listen(&side, "a");
        assert_eq!(texts(&kept), ["one"]);
        side.hand_on(said("a", "two"), None).await;
        hearing.stop();
        side.hand_on(said("a", "three"), None).await;
        let (Incoming::Update(two), _) = hearing.next().await.unwrap() else {
            panic!("it was said before");
        };
        assert_eq!(two["update"]["text"], "two");
        assert!(hearing.next().await.is_none());
        let (_, kept) = listen(&side, "a");
        assert_eq!(texts(&kept), ["three"]);
    }

    #[tokio::test]
    async fn a_sub_agent_is_heard_by_whoever_hears_the_session_that_has_announced_it() {
        let side = side(1);
        let (mut hearing, _) = listen(&side, "root");
        let announced = |parent: &str, child: &str| {
            let update = json!({"sessionUpdate": "subagent_update", "sessionId": child});
            Incoming::Update(json!({"sessionId": parent, "update": update}))
        };
        side.hand_on(announced("root", "child"), None).await;
        side.hand_on(announced("child", "grandchild"), None).await;
        side.hand_on(said("grandchild", "deep"), None).await;
        let mut heard = Vec::new();
        while let Some((it, _)) = hearing.now() {
            heard.push(it.params()["sessionId"].as_str().unwrap().to_owned());
        }
        assert_eq!(heard, ["root", "child", "grandchild"]);
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded_and_what_is_lost_is_counted() {
        let side = side(1);
        let long = "x".repeat(KEPT / 4);
        for _ in 0..5 {
            side.hand_on(said("a", &long), None).await;
        }
        let (_, kept) = listen(&side, "a");
        assert_eq!((kept.said.len(), kept.lost), (3, 2));
        assert_eq!(side.board.lines.lock().bytes, 0);
        for n in 0..2 * SESSIONS.get() {
            side.hand_on(said(&n.to_string(), ""), None).await;
        }
        assert_eq!(side.board.lines.lock().kept.len(), SESSIONS.get());
    }

    #[tokio::test]
    async fn processes_that_name_their_sessions_alike_are_told_apart() {
        let (one, two) = (side(1), side(2));
        let two = Side {
            board: Arc::clone(&one.board),
            ..two
        };
        let (_, kept) = listen(&one, "a");
        assert!(kept.said.is_empty());
        two.hand_on(said("a", "theirs"), None).await;
        one.hand_on(said("a", "late"), None).await;
        let other = Conversation {
            thread: ThreadId::new("other").unwrap(),
            ..conversation("a")
        };
        let (_, kept) = one.board.listen(Number(2), &other, io());
        assert_eq!(texts(&kept), ["theirs"]);
        let (_, kept) = one.board.listen(Number(3), &conversation("a"), io());
        assert_eq!(
            texts(&kept),
            ["late"],
            "it follows its thread to another process"
        );
    }
}
