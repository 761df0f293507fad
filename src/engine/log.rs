//! The log of one run: appended to by its writer, read by any number of cursors.
//!
//! It keeps a window of encoded frames. The writer never waits for a reader; a reader that falls out
//! of the window is told so ([`Step::Gap`]), it never skips silently. Replay and live are one code path:
//! a cursor marks the head as seen, then reads under the lock, then waits for the head to move, and
//! in that order nothing can be missed.
//!
//! `tokio::sync::broadcast` was weighed: with it, catching up and following are two mechanisms.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
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
    bytes: usize,
    closed: bool,
}

impl Window {
    /// The position that the next entry gets.
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
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
        }
        before - self.bytes
    }
}

impl Log {
    pub(super) fn new(limit: usize, budget: Arc<Budget>) -> Arc<Self> {
        let log = Arc::new(Self {
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

    /// A reader of what is appended from now on.
    pub(super) fn tail(self: &Arc<Self>, peer: Peer) -> Cursor {
        let end = self.window.lock().end();
        self.cursor_at(end, peer)
    }

    fn cursor_at(self: &Arc<Self>, at: u64, peer: Peer) -> Cursor {
        self.has_older
            .fetch_or(peer == Peer::Legacy, Ordering::Relaxed);
        Cursor {
            log: Arc::clone(self),
            at,
            peer,
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
    head: watch::Receiver<()>,
}

impl Cursor {
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
                let full = frames.len() == READ_ENTRIES || bytes + next.len() > READ_BYTES;
                if full && !frames.is_empty() {
                    break;
                }
                bytes += next.len();
                frames.push(next.clone());
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &'static str) -> Entry {
        Entry {
            current: Bytes::from_static(text.as_bytes()),
            legacy: Form::Same,
        }
    }

    fn log(limit: usize) -> Arc<Log> {
        Log::new(limit, Budget::new(1 << 20))
    }

    async fn rest(cursor: &mut Cursor) -> (String, Step) {
        let mut text = String::new();
        loop {
            match cursor.next().await {
                Step::Frames(frames) => {
                    for frame in frames {
                        text.push_str(std::str::from_utf8(&frame).unwrap());
                    }
                }
                end => return (text, end),
            }
        }
    }

    #[tokio::test]
    async fn early_and_late_readers_see_the_same() {
        let log = log(1 << 20);
        let mut early = log.cursor(Peer::Current);
        log.append([entry("a"), entry("b")].into_iter());
        let mut late = log.cursor(Peer::Current);
        log.append([entry("c")].into_iter());
        log.close();
        assert_eq!(rest(&mut early).await, ("abc".into(), Step::End));
        assert_eq!(rest(&mut late).await, ("abc".into(), Step::End));
    }

    #[tokio::test]
    async fn a_reader_that_falls_out_of_the_window_is_told() {
        let log = log(3);
        let mut behind = log.cursor(Peer::Current);
        let mut beside = log.cursor(Peer::Current);
        log.append([entry("aa")].into_iter());
        assert!(matches!(beside.next().await, Step::Frames(_)));
        log.append([entry("bb")].into_iter());
        log.close();
        assert_eq!(behind.next().await, Step::Gap);
        assert_eq!(rest(&mut beside).await, ("bb".into(), Step::End));
    }

    #[tokio::test]
    async fn an_older_client_reads_its_own_form_and_skips_what_it_cannot_read() {
        let log = log(1 << 20);
        let mut legacy = log.cursor(Peer::Legacy);
        let differs = |legacy| Entry {
            current: Bytes::from_static(b"new"),
            legacy,
        };
        log.append([differs(Form::Omitted)].into_iter());
        log.append(
            [
                entry("a"),
                differs(Form::Instead(Bytes::from_static(b"old"))),
            ]
            .into_iter(),
        );
        log.append([differs(Form::Omitted)].into_iter());
        log.close();
        assert_eq!(rest(&mut legacy).await, ("aold".into(), Step::End));
        assert_eq!(rest(&mut log.cursor(Peer::Current)).await.0, "newanewnew");
    }

    #[tokio::test]
    async fn report_r66_all_logs_are_bounded_and_the_one_that_keeps_the_most_gives_way() {
        let budget = Budget::new(10);
        let stuck = Log::new(100, Arc::clone(&budget));
        let mut asleep = stuck.cursor(Peer::Current);
        for _ in 0..9 {
            stuck.append([entry("x")].into_iter());
        }
        let log = Log::new(100, Arc::clone(&budget));
        let mut awake = log.cursor(Peer::Current);
        for text in ["a", "b", "c"] {
            log.append([entry(text)].into_iter());
        }
        log.close();
        assert_eq!(rest(&mut awake).await, ("abc".into(), Step::End));
        assert_eq!(asleep.next().await, Step::Gap);
        assert!(!budget.is_exceeded());
        drop((stuck, asleep, log, awake));
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn racing_readers_see_every_entry_once_and_in_order() {
        let log = log(1 << 20);
        let readers: Vec<_> = (0..8)
            .map(|_| {
                let log = Arc::clone(&log);
                tokio_util::task::TaskTracker::new()
                    .spawn(async move { rest(&mut log.cursor(Peer::Current)).await })
            })
            .collect();
        let mut all = String::new();
        for i in 0..500 {
            let text = format!("{i};");
            all.push_str(&text);
            log.append(
                [Entry {
                    current: Bytes::from(text),
                    legacy: Form::Same,
                }]
                .into_iter(),
            );
            if i % 16 == 0 {
                tokio::task::yield_now().await;
            }
        }
        log.close();
        for reader in readers {
            assert_eq!(reader.await.unwrap(), (all.clone(), Step::End));
        }
    }
}
