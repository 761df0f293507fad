//! What outlives a run: which session a thread is bound to, its runs and how they ended, what they asked for, its
//! transcript.
//!
//! `SQLite`, in memory, or in a file behind a thread of its own (`worker`). Whoever asks for something of a file waits
//! until that thread has done it, which may take as long as the disk does; no other task is held up by that. Nothing
//! here fails for a caller. What cannot be written to the file is kept in memory instead, said
//! once in the log, and written when the file takes it again (`tiers`, `mend`); so a run never fails because of a disk.
//! What the file has taken outlives a crash of the process; a power cut may take what was written last.
//! What can be wrong with a file before it is used is found when it is opened (`open`), and refused then.
//!
//! `rusqlite` was chosen over `sqlx`: there is one connection in one thread, and neither a pool nor queries that are checked
//! against a server while compiling are of use to it. `redb` was weighed, which is Rust alone: but then lists, bounds and migrations
//! would be code of ours, and nobody could look into the file with a tool that everybody has.

mod error;
mod header;
mod lock;
mod mend;
mod open;
mod probe;
mod record;
mod requests;
mod schema;
mod tables;
#[cfg(test)]
mod tests;
mod tiers;
mod worker;
mod written;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

pub use error::Error;
pub use open::is_exposed;
pub use probe::{Probe, probe};
pub use record::{
    Begin, Cut, Fate, Key, Line, Outcome, Page, Place, Prompt, Remembers, Run, Summary, Thread,
    Transcript,
};

use self::{tables::Found, tiers::Tiers, worker::Worker, written::Written};
use crate::{
    env::Env,
    protocol::{Message, RunId},
};

/// Where and how threads are kept.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where they are kept.
    pub at: Location,
    /// How long to wait for another daemon to let go of the file.
    pub wait: Duration,
    /// How many threads are kept; the one that was written to longest ago goes first.
    pub max_threads: usize,
    /// How long a thread is kept that nothing is written to; `None`: for ever.
    pub max_age: Option<Duration>,
    /// How many bytes of one transcript are kept, as JSON.
    pub transcript_bytes: usize,
}

/// Where threads are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In memory.
    Memory,
    /// In a database file.
    File {
        /// The file.
        path: PathBuf,
        /// What of its folder.
        folder: Folder,
    },
}

/// What becomes of a folder that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// It is an error.
    Expected,
    /// It is made, for this user alone.
    Made,
}

impl Location {
    /// A file in a folder that is there.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File {
            path: path.into(),
            folder: Folder::Expected,
        }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::File { path, .. } => Some(path),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            at: Location::Memory,
            wait: Duration::from_secs(10),
            max_threads: 10_000,
            max_age: None,
            transcript_bytes: 8 * 1024 * 1024,
        }
    }
}

/// The threads that are kept. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store(Worker);

impl Store {
    /// Opens the database, and waits for it if another daemon still has it. Blocks.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(options: Options, env: Env) -> Result<Self, Error> {
        let tiers = Tiers::open(options, env)?;
        Ok(Self(match tiers.options.at {
            Location::Memory => Worker::here(tiers),
            Location::File { .. } => Worker::start(tiers),
        }))
    }

    /// A store that is gone with the process.
    pub fn memory(env: Env) -> Self {
        Self::open(Options::default(), env).expect("memory is there")
    }

    /// Whether there is such a thread. Costs next to nothing, however much was said in it.
    pub async fn knows(&self, key: &Key) -> bool {
        let key = key.clone();
        self.0.call(move |db| db.knows(&key)).await
    }

    /// What is kept of a run.
    pub async fn run(&self, key: &Key, run: &RunId) -> Option<Run> {
        let (key, run) = (key.clone(), run.clone());
        self.0.call(move |db| db.run(&key, &run)).await
    }

    /// What is kept of a thread, and of one of its runs.
    pub async fn look(&self, key: &Key, run: Option<&RunId>) -> (Option<Thread>, Option<Run>) {
        let (key, run) = (key.clone(), run.cloned());
        let look = move |db: &mut Tiers| db.look(&key, run.as_ref());
        let (found, asked) = self.0.call(look).await;
        (found.map(Found::read), asked)
    }

    /// Notes that a run begins, and makes the thread if there is none. A session of another folder than this
    /// run's is no longer bound, nor is one that remembers what is taken back. Of the runs that have ended the last thousand are remembered.
    pub async fn begin(&self, key: &Key, begin: Begin) {
        let (key, begin) = (key.clone(), begin.written());
        self.0.call(move |db| db.begin(&key, &begin)).await;
    }

    /// Binds a thread to a session.
    pub async fn bind(&self, key: &Key, session: &str) {
        let (key, session) = (key.clone(), session.to_owned());
        self.0.call(move |db| db.bind(&key, &session)).await;
    }

    /// Names a thread.
    pub async fn entitle(&self, key: &Key, title: &str) {
        let (key, title) = (key.clone(), title.to_owned());
        self.0.call(move |db| db.entitle(&key, &title)).await;
    }

    /// Adds messages to a transcript; one that is there already is replaced in its place. Of a transcript that grows too
    /// long the oldest messages go, and it is partial until it is filled again.
    pub async fn add(&self, key: &Key, messages: Vec<Message>) {
        let (key, lines) = (key.clone(), written(messages));
        self.0.call(move |db| db.add(&key, &lines)).await;
    }

    /// Keeps messages that are not complete yet, as far as they go, behind all others and in the place of what was
    /// kept so before. They go when something is added, and stay if that never happens.
    pub async fn draft(&self, key: &Key, messages: Vec<Message>) {
        let (key, lines) = (key.clone(), written(messages));
        self.0.call(move |db| db.draft(&key, &lines)).await;
    }

    /// Puts a whole transcript in the place of one that is not.
    pub async fn refill(&self, key: &Key, messages: Vec<Message>) {
        let (key, lines) = (key.clone(), written(messages));
        self.0.call(move |db| db.refill(&key, &lines)).await;
    }

    /// Notes that more was said than the transcript has: it is partial until it is filled again.
    pub async fn lose(&self, key: &Key) {
        let key = key.clone();
        self.0.call(move |db| db.lose(&key)).await;
    }

    /// Notes how a run ended.
    pub async fn end(&self, key: &Key, run: &RunId, outcome: Outcome) {
        let (key, run) = (key.clone(), run.clone());
        self.0.call(move |db| db.end(&key, &run, &outcome)).await;
    }

    /// Notes how a run ended whose turn waits for answers, what it asks for, and what was said so far: all of it or
    /// nothing. Prompts that are not known yet are open; `said` is kept as [`Store::draft`] keeps it. Of the prompts
    /// of a thread the last thousand are remembered.
    pub async fn park(
        &self,
        key: &Key,
        run: &RunId,
        outcome: Outcome,
        prompts: Vec<String>,
        said: Vec<Message>,
    ) {
        let (key, run, lines) = (key.clone(), run.clone(), written(said));
        let park = move |db: &mut Tiers| db.park(&key, &run, &outcome, &prompts, &lines);
        self.0.call(park).await;
    }

    /// Notes which prompts a run has settled, each with the digest of its answer, or none if nobody answered. The first one
    /// to settle a prompt stays; what is not known is left out.
    pub async fn settle(&self, key: &Key, run: &RunId, settled: Vec<(String, Option<String>)>) {
        let (key, run) = (key.clone(), run.clone());
        self.0.call(move |db| db.settle(&key, &run, &settled)).await;
    }

    /// What became of these prompts, in that order; one that is not known is left out. It is looked for once for
    /// each of them, so whoever asks bounds how many there are.
    pub async fn prompts(&self, key: &Key, ids: Vec<String>) -> Vec<Prompt> {
        let key = key.clone();
        self.0.call(move |db| db.prompts(&key, &ids)).await
    }

    /// Lists the threads of a principal and an agent, at most `limit` from `from` on.
    pub async fn list(
        &self,
        principal: &str,
        agent: &str,
        from: Option<Place>,
        limit: usize,
    ) -> Page {
        let (principal, agent) = (principal.to_owned(), agent.to_owned());
        self.0
            .call(move |db| db.list(&principal, &agent, from, limit))
            .await
    }

    /// Forgets a thread. Answers with whether there was one.
    pub async fn forget(&self, key: &Key) -> bool {
        let key = key.clone();
        self.0.call(move |db| db.forget(&key)).await
    }

    /// Forgets threads that are too old or too many, but none of `live`, which is asked at that moment: a run whose
    /// thread was live then may have looked, one that comes later will find nothing. Answers with those that went,
    /// and the sessions that they were bound to. Nothing else holds the number of threads down, so this is to be asked for now
    /// and then.
    pub async fn sweep(
        &self,
        live: impl FnOnce() -> Vec<Key> + Send + 'static,
    ) -> Vec<(Key, Option<String>)> {
        self.0.call(move |db| db.sweep(&live())).await
    }

    /// Writes what is not yet written and lets go of the file. Whatever is asked for later is answered as if there
    /// were nothing.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

fn written(messages: Vec<Message>) -> Vec<Written> {
    let lines = messages.into_iter().map(Line::from);
    lines.map(|line| Written::from(&line)).collect()
}
