//! The thread that has the database: it does one thing after the other, in the order in which it is asked.

use std::{sync::Arc, thread};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::sql::Db;

/// How many callers wait before the next one waits for its turn to wait.
const CAPACITY: usize = 1024;

type Job = Box<dyn FnOnce(&mut Db) + Send>;

/// The caller's end.
#[derive(Clone)]
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
    thread: Arc<Mutex<Option<thread::JoinHandle<()>>>>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Worker")
    }
}

impl Worker {
    pub(super) fn start(mut db: Db) -> Self {
        let (jobs, mut inbox) = mpsc::channel::<Job>(CAPACITY);
        let thread = thread::Builder::new()
            .name("store".into())
            .spawn(move || {
                while let Some(job) = inbox.blocking_recv() {
                    job(&mut db);
                }
            })
            .expect("the system can start a thread");
        Self {
            jobs,
            thread: Arc::new(Mutex::new(Some(thread))),
        }
    }

    /// Does something with the database. What was begun is done even if nobody waits for it.
    pub(super) async fn call<T: Default + Send + 'static>(
        &self,
        job: impl FnOnce(&mut Db) -> T + Send + 'static,
    ) -> T {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(move |db: &mut Db| {
            let _ = answer.send(job(db));
        });
        if self.jobs.send(job).await.is_err() {
            return T::default();
        }
        answered.await.unwrap_or_default()
    }

    pub(super) async fn close(&self) {
        let _ = self.thread.lock().take();
        self.call(|_| ()).await;
    }
}
