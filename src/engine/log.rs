//! The log of one run: appended to by its writer, read by any number of cursors.
//!
//! It keeps a window of encoded frames. The writer never waits for a reader; a reader that falls out
//! of the window is told so ([`Step::Gap`]), it never skips silently. Replay and live are one code path:
//! a cursor marks the head as seen, then reads under the lock, then waits for the head to move, and
//! in that order nothing can be missed.
//!
//! A place in the log where nothing is open has an id, so that a reader can come back to it: see
//! [`Cursor::marked`] and [`Log::resume`].
//!
//! `tokio::sync::broadcast` was weighed: with it, catching up and following are two mechanisms.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::protocol::Peer;

/// How many entries a reader gets at once.
const READ_ENTRIES: usize = 64;
/// How many bytes a reader gets at once, unless a single entry is larger.
const READ_BYTES: usize = 64 * 1024;

/// What a reader gets next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Whole frames, ready for the wire. Never empty.
    Frames(Vec<Bytes>),
    /// Frames were dropped before this reader had them; it cannot go on.
    Gap,
    /// The run is over and everything was read.
    End,
}

/// One or several whole frames.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// As a client of 1.0 gets them.
    pub(super) current: Bytes,
    /// As a client from before 1.0 gets them.
    pub(super) legacy: Form,
    /// Whether no item is open behind it.
    pub(super) is_quiet: bool,
}

/// The form in which a client from before 1.0 gets an entry.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// The current one.
    Same,
    /// None at all.
    Omitted,
    /// One of its own.
    Instead(Bytes),
}

impl Entry {
    fn len(&self) -> usize {
        let legacy = match &self.legacy {
            Form::Same | Form::Omitted => 0,
            Form::Instead(legacy) => legacy.len(),
        };
        self.current.len() + legacy
    }

    /// What a peer gets, if anything.
    fn frames(&self, peer: Peer) -> Option<&Bytes> {
        match (peer, &self.legacy) {
            (Peer::Legacy, Form::Omitted) => None,
            (Peer::Legacy, Form::Instead(legacy)) => Some(legacy),
            _ => Some(&self.current),
        }
    }
}

/// The bytes that all logs of a runtime keep together. When they are too many, the log that keeps the
/// most gives way: a reader that takes nothing costs the window of its own run, not that of another.
#[derive(Debug, Default)]
pub(super) struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// How many logs were named.
    names: AtomicU64,
    /// Bounded by the logs that live.
    logs: Mutex<Vec<Weak<Log>>>,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            ..Self::default()
        })
    }

    /// An id for a log that is made now: no other one has it, of this process by the count, of an earlier one by
    /// the time.
    pub(super) fn name(&self, now_ms: i64) -> String {
        let count = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{now_ms:x}-{count:x}")
    }

    fn register(&self, log: &Arc<Log>) {
        let mut logs = self.logs.lock();
        logs.retain(|known| known.strong_count() > 0);
        logs.push(Arc::downgrade(log));
    }

    fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit
    }

    /// Halves the largest log until all fit, or each is down to its last entry.
    fn enforce(&self) {
        while self.is_exceeded() {
            // Taken out of the lock: a log that is dropped here gives its bytes back.
            let logs: Vec<_> = self.logs.lock().iter().filter_map(Weak::upgrade).collect();
            let sizes = logs.iter().map(|log| (log.shrinkable(), log));
            match sizes.max_by_key(|(bytes, _)| *bytes) {
                Some((bytes, log)) if bytes > 0 => log.shrink(bytes / 2),
                _ => return,
            }
        }
    }
}

/// The write side's handle and what cursors share.
#[derive(Debug)]
pub(super) struct Log {
    /// What its places are called by.
    id: String,
    window: Mutex<Window>,
    /// Moves whenever the window does. Carries nothing: the window is the truth.
    head: watch::Sender<()>,
    /// The most that this log keeps, in bytes.
    limit: usize,
    budget: Arc<Budget>,
    /// Whether any reader is a client from before 1.0.
    has_older: AtomicBool,
}

#[derive(Debug, Default)]
struct Window {
    entries: VecDeque<Entry>,
    /// The position of the first entry that is kept.
    first: u64,
    /// Whether no item was open before that entry.
    begins_quiet: bool,
    bytes: usize,
    closed: bool,
}

impl Window {
    /// The position that the next entry gets.
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Whether the position is one that is still here and where no item is open.
    fn is_quiet_at(&self, at: u64) -> bool {
        match at.checked_sub(self.first).map(usize::try_from) {
            Some(Ok(0)) => self.begins_quiet,
            Some(Ok(kept)) => self
                .entries
                .get(kept - 1)
                .is_some_and(|entry| entry.is_quiet),
            _ => false,
        }
    }

    /// Drops entries from the front while they are more than `keep` bytes, and says how many bytes went.
    /// The last one always stays.
    fn shrink(&mut self, keep: usize) -> usize {
        let before = self.bytes;
        while self.bytes > keep
            && self.entries.len() > 1
            && let Some(entry) = self.entries.pop_front()
        {
            self.bytes -= entry.len();
            self.first += 1;
            self.begins_quiet = entry.is_quiet;
        }
        before - self.bytes
    }
}

impl Log {
    /// A log under an id of its own, which is printable ASCII.
    pub(super) fn new(id: String, limit: usize, budget: Arc<Budget>) -> Arc<Self> {
        let log = Arc::new(Self {
            id,
            window: Mutex::default(),
            head: watch::Sender::new(()),
            limit,
            budget,
            has_older: AtomicBool::new(false),
        });
        log.budget.register(&log);
        log
    }

    /// Appends entries, in one step for every reader. What no longer fits is dropped from the front;
    /// the last entry always stays.
    pub(super) fn append(&self, entries: impl Iterator<Item = Entry>) {
        let mut window = self.window.lock();
        let before = window.bytes;
        for entry in entries {
            window.bytes += entry.len();
            window.entries.push_back(entry);
        }
        // Counted before anybody else can drop from it, so that the count never falls below zero.
        let added = window.bytes - before;
        self.budget.used.fetch_add(added, Ordering::Relaxed);
        let dropped = window.shrink(self.limit);
        drop(window);
        self.budget.used.fetch_sub(dropped, Ordering::Relaxed);
        if self.budget.is_exceeded() {
            self.budget.enforce();
        }
        self.head.send_replace(());
    }

    /// How many bytes it keeps, if any of them can be dropped.
    fn shrinkable(&self) -> usize {
        let window = self.window.lock();
        if window.entries.len() > 1 {
            window.bytes
        } else {
            0
        }
    }

    fn shrink(&self, keep: usize) {
        let dropped = self.window.lock().shrink(keep);
        self.budget.used.fetch_sub(dropped, Ordering::Relaxed);
        self.head.send_replace(());
    }

    /// Ends the log. Readers get what is left and then [`Step::End`].
    pub(super) fn close(&self) {
        self.window.lock().closed = true;
        self.head.send_replace(());
    }

    /// Whether a client from before 1.0 reads what is written, or has read it.
    pub(super) fn has_older_readers(&self) -> bool {
        self.has_older.load(Ordering::Relaxed)
    }

    /// A reader from the first frame on.
    pub(super) fn cursor(self: &Arc<Self>, peer: Peer) -> Cursor {
        self.cursor_at(0, peer)
    }

    /// How many bytes it keeps.
    pub(super) fn bytes(&self) -> usize {
        self.window.lock().bytes
    }

    /// A reader from the first frame on, if that is still here.
    pub(super) fn whole(self: &Arc<Self>, peer: Peer) -> Option<Cursor> {
        let cursor = self.cursor(peer);
        let is_whole = self.window.lock().first == 0;
        is_whole.then_some(cursor)
    }

    /// A reader of what is appended from now on.
    pub(super) fn tail(self: &Arc<Self>, peer: Peer) -> Cursor {
        let end = self.window.lock().end();
        self.cursor_at(end, peer)
    }

    /// A reader from a place on that a marked cursor told, if it is still here and one of this log.
    pub(super) fn resume(self: &Arc<Self>, peer: Peer, last: &str) -> Option<Cursor> {
        let (id, at) = last.rsplit_once('.')?;
        let at = at.parse().ok().filter(|_| id == self.id)?;
        let is_place = self.window.lock().is_quiet_at(at);
        is_place.then(|| self.cursor_at(at, peer))
    }

    /// A block that tells a place: a reader of server-sent events remembers the id and dispatches nothing, as
    /// there are no data in it.
    fn mark(&self, at: u64) -> Bytes {
        format!("id: {}.{at}\n\n", self.id).into()
    }

    fn cursor_at(self: &Arc<Self>, at: u64, peer: Peer) -> Cursor {
        self.has_older
            .fetch_or(peer == Peer::Legacy, Ordering::Relaxed);
        Cursor {
            log: Arc::clone(self),
            at,
            peer,
            is_marked: false,
            head: self.head.subscribe(),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.budget
            .used
            .fetch_sub(self.window.get_mut().bytes, Ordering::Relaxed);
    }
}

/// A place in a log.
#[derive(Debug)]
pub(super) struct Cursor {
    log: Arc<Log>,
    at: u64,
    peer: Peer,
    is_marked: bool,
    head: watch::Receiver<()>,
}

impl Cursor {
    /// Whether everything was read and nothing will come.
    pub(super) fn is_at_end(&self) -> bool {
        let window = self.log.window.lock();
        window.closed && self.at >= window.end()
    }

    /// The same cursor, which tells the places that a reader can come back to.
    pub(super) fn marked(self) -> Self {
        Self {
            is_marked: true,
            ..self
        }
    }

    /// Waits for what comes next. Cancel-safe: what was not returned is returned next time.
    pub(super) async fn next(&mut self) -> Step {
        loop {
            self.head.mark_unchanged();
            if let Some(step) = self.read() {
                return step;
            }
            // The sender lives in the log, which this cursor holds, so this cannot fail.
            let _ = self.head.changed().await;
        }
    }

    /// What is there now; nothing if the reader has all that there is of a live run.
    fn read(&mut self) -> Option<Step> {
        let window = self.log.window.lock();
        let Some(skip) = self.at.checked_sub(window.first) else {
            return Some(Step::Gap);
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let mut frames = Vec::new();
        let mut bytes = 0;
        for entry in window.entries.iter().skip(skip) {
            if let Some(next) = entry.frames(self.peer) {
                let full = frames.len() >= READ_ENTRIES || bytes + next.len() > READ_BYTES;
                if full && !frames.is_empty() {
                    break;
                }
                bytes += next.len();
                frames.push(next.clone());
                if self.is_marked && entry.is_quiet {
                    frames.push(self.log.mark(self.at + 1));
                }
            }
            self.at += 1;
        }
        match (frames.is_empty(), window.closed) {
            (false, _) => Some(Step::Frames(frames)),
            (true, true) => Some(Step::End),
            (true, false) => None,
        }
    }
}
