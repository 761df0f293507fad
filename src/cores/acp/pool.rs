//! The processes of one agent and one principal: started when a turn needs one, kept between turns, ended when
//! none has needed them for too long. [`Shelf`] decides, under one short lock; here it is waited for.

use std::{collections::HashSet, future::pending, pin::pin, sync::Arc};

use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    board::{Board, Hearing, Side},
    failure::{End, Explained},
    options::Options,
    settings::Offers,
    shelf::{Conversation, Ending, Limits, Number, Shelf, Taken, Verdict},
    supervisor,
    worker::{self, Work, Worker},
};
use crate::deps::TurnIo;

/// The processes of one agent and one principal.
pub(super) struct Pool {
    options: Arc<Options>,
    board: Arc<Board>,
    shelf: Mutex<Shelf<Worker, Offers>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// A process for the length of a turn. Dropped unfinished, as when its turn is, it is left as
/// [`Lease::set_verdict`] has said.
pub(super) struct Lease {
    place: Place,
    worker: Arc<Worker>,
}

/// A place on the shelf, given back when dropped.
struct Place {
    pool: Arc<Pool>,
    number: Number,
    verdict: Verdict,
}

impl Pool {
    /// Starts nothing. What it starts later counts with `tasks`, and ends with `closing`.
    pub(super) fn new(
        options: Arc<Options>,
        tasks: TaskTracker,
        closing: CancellationToken,
    ) -> Self {
        let shelf = Shelf::new(Limits {
            kept: options.pool_size,
            ttl: options.pool_ttl,
            sessions: options.preset.and_then(|preset| preset.sessions),
        });
        Self {
            options,
            board: Arc::default(),
            shelf: Mutex::new(shelf),
            tasks,
            closing,
        }
    }

    /// Gets a process for a turn of the conversation `known`, if there is one already.
    ///
    /// # Errors
    /// One had to be started, and could not be.
    pub(super) async fn lease(
        self: &Arc<Self>,
        known: Option<&Conversation>,
    ) -> Result<Lease, Explained> {
        let Taken {
            number,
            worker,
            until,
        } = self.shelf.lock().take(known, Worker::is_there);
        let place = Place {
            pool: Arc::clone(self),
            number,
            verdict: Verdict::Doubtful,
        };
        let worker = if let Some(worker) = worker {
            worker
        } else {
            let worker = Arc::new(self.start(number, until).await?);
            self.shelf.lock().fill(number, &worker);
            worker
        };
        Ok(Lease { place, worker })
    }

    /// Starts a process in a task of its own. It stays on the shelf until it ends.
    async fn start(
        self: &Arc<Self>,
        number: Number,
        until: watch::Receiver<Option<Instant>>,
    ) -> Result<Worker, Explained> {
        let (starting, run) = worker::start(Work {
            options: Arc::clone(&self.options),
            side: Side {
                board: Arc::clone(&self.board),
                process: number,
            },
            closing: self.closing.clone(),
        });
        let pool = Arc::clone(self);
        self.tasks.spawn(async move {
            let mut run = pin!(run);
            tokio::select! {
                biased;
                () = &mut run => {}
                () = pool.watch(number, until) => run.await,
            }
            pool.shelf.lock().remove(number);
        });
        starting.ready().await
    }

    /// Ends once a process was not used for too long and was told to end.
    async fn watch(&self, number: Number, mut until: watch::Receiver<Option<Instant>>) {
        loop {
            let time = *until.borrow_and_update();
            let time_is_up = async {
                match time {
                    Some(time) => sleep_until(time).await,
                    None => pending().await,
                }
            };
            let is_over = tokio::select! {
                biased;
                changed = until.changed() => changed.is_err(),
                () = time_is_up => {
                    let ending = self.shelf.lock().expire(number, Instant::now());
                    order(ending)
                }
            };
            if is_over {
                return;
            }
        }
    }
}

impl Lease {
    /// The process.
    pub(super) fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Begins to listen to a conversation. `None` if its session is another thread's in this process.
    pub(super) fn listen(&self, conversation: &Conversation, io: TurnIo) -> Option<Hearing> {
        let Place { pool, number, .. } = &self.place;
        pool.board.listen(*number, conversation, io)
    }

    /// What a session offers that the process has open.
    pub(super) fn open_session(&self, session: &Conversation) -> Option<Offers> {
        let Place { pool, number, .. } = &self.place;
        pool.shelf.lock().open_session(*number, session)
    }

    /// Notes that the process has a session open, and what that offers.
    pub(super) fn note_session(&self, session: &Conversation, offers: &Offers) {
        let Place { pool, number, .. } = &self.place;
        pool.shelf
            .lock()
            .note_session(*number, session.clone(), offers.clone());
    }

    /// What the process has started and is still there. `None` where nobody can tell.
    pub(super) async fn below(&self) -> Option<HashSet<i32>> {
        let id = self.worker.id?;
        let looking = self
            .place
            .pool
            .tasks
            .spawn_blocking(move || supervisor::below(id));
        looking.await.ok()?
    }

    /// Says as what the process is left if the lease is dropped from here on.
    pub(super) fn set_verdict(&mut self, verdict: Verdict) {
        self.place.verdict = verdict;
    }

    /// Gives the process back. If that ends it, or it has ended, waits for the end and tells how it was.
    pub(super) async fn give_back(mut self, verdict: Verdict) -> Option<End> {
        self.place.verdict = verdict;
        let Self { place, worker } = self;
        drop(place);
        if worker.is_there() {
            return None;
        }
        Some(worker.ended().await)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let now = Instant::now();
        let ending = self
            .pool
            .shelf
            .lock()
            .give_back(self.number, self.verdict, now);
        order(ending);
    }
}

/// Tells processes to end, and whether there were any.
fn order(ending: Ending<Worker>) -> bool {
    let there_are_some = !ending.is_empty();
    for (worker, manner) in ending {
        worker.order(manner);
    }
    there_are_some
}
