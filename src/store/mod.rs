//! What outlives a run: which session a thread is bound to, its runs and how they ended, its transcript.
//!
//! SQLite, in a file or in memory, behind a thread of its own (`worker`): callers wait for an answer, never for
//! a lock. Nothing here fails for a caller. What cannot be written to the file is kept in memory instead, said
//! once in the log, and written when the file takes it again; so a run never fails because of a disk.
//!
//! `rusqlite` was chosen over `sqlx`: there is one connection, and no query needs checking against a server.

mod record;
mod schema;
mod sql;
mod worker;

use std::{path::PathBuf, time::Duration};

pub use record::{Begin, Key, Line, Outcome, Page, Place, Run, Summary, Thread, Transcript};

use self::worker::Worker;
use crate::{
    env::Env,
    protocol::{Message, RunId},
};

/// Where and how threads are kept.
#[derive(Debug, Clone)]
pub struct Options {
    /// The database file; `None` keeps all in memory.
    pub path: Option<PathBuf>,
    /// How long to wait for another daemon to let go of the file.
    pub wait: Duration,
    /// How many threads are kept; the one that was written to longest ago goes first.
    pub max_threads: usize,
    /// How long a thread is kept that nothing is written to; `None`: for ever.
    pub max_age: Option<Duration>,
    /// How many bytes of one transcript are kept.
    pub transcript_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path: None,
            wait: Duration::from_secs(10),
            max_threads: 10_000,
            max_age: None,
            transcript_bytes: 8 * 1024 * 1024,
        }
    }
}

/// Why a store cannot be opened. Nothing in the file was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refuses.
    #[error("open the database {path}")]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
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
        let path = options.path.clone().unwrap_or_default();
        let db = sql::Db::open(options, env).map_err(|source| Error::Database { path, source })?;
        Ok(Self(Worker::start(db)))
    }

    /// A store that is gone with the process.
    pub fn memory(env: Env) -> Self {
        Self::open(Options::default(), env).expect("memory is there")
    }

    /// What is kept of a thread, and of one of its runs.
    pub async fn look(&self, key: &Key, run: Option<&RunId>) -> (Option<Thread>, Option<Run>) {
        let (key, run) = (key.clone(), run.cloned());
        self.0.call(move |db| db.look(&key, run.as_ref())).await
    }

    /// Notes that a run begins, and makes the thread if there is none.
    pub async fn begin(&self, key: &Key, begin: Begin) {
        let key = key.clone();
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

    /// Adds messages to a transcript; one that is there already is replaced in its place.
    pub async fn add(&self, key: &Key, messages: Vec<Message>) {
        let key = key.clone();
        self.0.call(move |db| db.add(&key, &messages)).await;
    }

    /// Puts a whole transcript in the place of one that is not.
    pub async fn refill(&self, key: &Key, messages: Vec<Message>) {
        let key = key.clone();
        self.0.call(move |db| db.refill(&key, &messages)).await;
    }

    /// Notes how a run ended.
    pub async fn end(&self, key: &Key, run: &RunId, outcome: Outcome) {
        let (key, run) = (key.clone(), run.clone());
        self.0.call(move |db| db.end(&key, &run, &outcome)).await;
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

    /// Forgets threads that are too old or too many, but none of `live`. Answers with those that went, and the
    /// sessions that they were bound to.
    pub async fn sweep(&self, live: Vec<Key>) -> Vec<(Key, Option<String>)> {
        self.0.call(move |db| db.sweep(&live)).await
    }

    /// Writes what is not yet written and lets go of the file.
    pub async fn close(&self) {
        self.0.close().await;
    }
}
