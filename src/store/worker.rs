//! Who has the database: for a file a thread, which does one thing after the other, in the order in which it is
//! asked. What is in memory alone is done where it is asked for, under a lock: mostly that takes microseconds, for the
//! longest transcripts some milliseconds, and it waits for no disk.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::tiers::Tiers;

/// How many callers wait before the next one waits for its turn to wait.
const CAPACITY: usize = 1024;

enum Job {
    Do(Box<dyn FnOnce(&mut Tiers) + Send>),
    /// What was asked for before is still done, nothing after it.
    Close,
}

/// The caller's end.
#[derive(Clone)]
pub(super) enum Worker {
    /// The database is here, until it is closed.
    Here(Arc<Mutex<Option<Tiers>>>),
    /// A thread has it.
    Thread(Thread),
}

/// A thread that has the database.
#[derive(Clone)]
pub(super) struct Thread {
    jobs: mpsc::Sender<Job>,
    /// Fires when the thread has let go of the database.
    gone: CancellationToken,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
    }
}

impl Worker {
    /// Does everything in the caller's thread.
    pub(super) fn here(tiers: Tiers) -> Self {
        Self::Here(Arc::new(Mutex::new(Some(tiers))))
    }

    /// Gives the database to a thread of its own. It lets go of it when told to, or once nobody can ask it for
    /// anything any more.
    pub(super) fn start(tiers: Tiers) -> Self {
        let (jobs, inbox) = mpsc::channel(CAPACITY);
        let gone = CancellationToken::new();
        let last = gone.clone().drop_guard();
        thread::Builder::new()
            .name("store".into())
            .spawn(move || {
                work(tiers, inbox);
                drop(last);
            })
            .expect("the system can start a thread");
        Self::Thread(Thread { jobs, gone })
    }

    /// Does something with the database. What was begun is done even if nobody waits for it. Answers with the
    /// default once the store is closed, or if the job breaks.
    pub(super) async fn call<T: Default + Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tiers) -> T + Send + 'static,
    ) -> T {
        let thread = match self {
            Self::Here(tiers) => {
                let mut tiers = tiers.lock();
                return tiers
                    .as_mut()
                    .and_then(|tiers| survived(|| job(tiers)))
                    .unwrap_or_default();
            }
            Self::Thread(thread) => thread,
        };
        let (answer, answered) = oneshot::channel();
        let job = Job::Do(Box::new(move |tiers| {
            let _ = answer.send(job(tiers));
        }));
        if thread.jobs.send(job).await.is_err() {
            return T::default();
        }
        answered.await.unwrap_or_default()
    }

    /// Lets all be done that was asked for, and the database be closed.
    pub(super) async fn close(&self) {
        match self {
            Self::Here(tiers) => {
                if let Some(tiers) = tiers.lock().take() {
                    tiers.close();
                }
            }
            Self::Thread(Thread { jobs, gone }) => {
                let _ = jobs.send(Job::Close).await;
                gone.cancelled().await;
            }
        }
    }
}

fn work(mut tiers: Tiers, mut inbox: mpsc::Receiver<Job>) {
    while let Some(job) = inbox.blocking_recv() {
        match job {
            Job::Close => inbox.close(),
            Job::Do(job) => {
                survived(|| job(&mut tiers));
            }
        }
    }
    tiers.close();
}

/// Does something that may be broken. A transaction that is under way then is rolled back on the way out.
fn survived<T>(job: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(job));
    if done.is_err() {
        warn!("the store panicked; it goes on");
    }
    done.ok()
}
