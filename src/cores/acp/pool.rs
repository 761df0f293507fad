//! The processes of one agent and one principal: started when a turn needs one, kept between turns, ended when
//! none has needed them for too long. [`Shelf`] decides, under one short lock; here it is waited for.

use std::{
    collections::HashSet,
    future::pending,
    pin::pin,
    sync::{Arc, OnceLock},
};

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    board::{Board, Hearing, Side},
    failure::{End, Explained},
    handover,
    options::Options,
    settings::Offers,
    shelf::{Conversation, Farewell, Limits, Number, Order, Shelf, Taken, Verdict},
    supervisor,
    worker::{self, Starting, Work, Worker},
};
use crate::cores::mcp::{Place, Server};

/// The processes of one agent and one principal.
pub(super) struct Pool {
    options: Arc<Options>,
    board: Arc<Board>,
    shelf: Mutex<Shelf<Starting, Open>>,
    tools: Server,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// What is known of a session that a process has open.
#[derive(Clone)]
pub(super) struct Open {
    /// What can be chosen in it.
    pub(super) offers: Offers,
    /// Where its tools are, if it was handed any.
    pub(super) tools: Option<Arc<Place>>,
}

/// A process for the length of a turn. Dropped unfinished, as when its turn is, it is left as
/// [`Lease::set_verdict`] has said.
pub(super) struct Lease {
    hold: Hold,
    worker: Worker,
}

/// A turn's hold on a process, given back when dropped.
struct Hold {
    pool: Arc<Pool>,
    number: Number,
    verdict: Verdict,
    /// The session that the turn uses, once it is open.
    session: OnceLock<Conversation>,
}

impl Pool {
    /// Starts nothing. What it starts later counts with `tasks`, and ends with `closing`.
    pub(super) fn new(
        options: Arc<Options>,
        tools: Server,
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
            tools,
            tasks,
            closing,
        }
    }

    /// Gets a process for a turn of the conversation `known`, if there is one already. Waits for one that gets
    /// ready, whoever has had it started. Dropped meanwhile, it leaves the process to the others who wait.
    ///
    /// # Errors
    /// It had to be started, and could not be. Those who have waited for the same one fail alike: what kept it
    /// from starting keeps others, too.
    pub(super) async fn lease(
        self: &Arc<Self>,
        known: Option<&Conversation>,
    ) -> Result<Lease, Explained> {
        let start = |number, until| self.start(number, until);
        let Taken {
            number,
            process,
            is_open,
            given_up,
        } = self.shelf.lock().take(known, start);
        let session = known.filter(|_| is_open).cloned();
        let mut hold = Hold {
            pool: Arc::clone(self),
            number,
            verdict: Verdict::Unused,
            session: session.map_or_else(OnceLock::new, OnceLock::from),
        };
        let worker = process.ready().await?;
        if let Some(Conversation { session, .. }) = given_up {
            let patience = self.options.start_timeout;
            worker.close_session(&session, patience).await;
        }
        hold.verdict = Verdict::Doubtful;
        Ok(Lease { hold, worker })
    }

    /// Lets go of a conversation that no turn uses, in the processes that are there.
    pub(super) async fn forget(&self, conversation: &Conversation) {
        let Farewell {
            open_in,
            other,
            ending,
        } = self.shelf.lock().forget(conversation);
        // To close it and to delete it.
        let patience = self.options.stop_grace / 2;
        let open_in = open_in.iter().map(|process| (process, true));
        let other = other.filter(|(number, _)| !self.board.is_of_another(*number, conversation));
        let asked = open_in.chain(other.iter().map(|(_, process)| (process, false)));
        let asking = asked.map(async |(process, is_open)| {
            if let Ok(worker) = process.ready().await {
                let session = &conversation.session;
                worker.forget_session(session, is_open, patience).await;
            }
        });
        join_all(asking).await;
        order(ending);
        self.board.forget(conversation);
    }

    /// The same, in a task of its own.
    pub(super) fn let_go(self: &Arc<Self>, conversation: Conversation) {
        let pool = Arc::clone(self);
        let forget = async move { pool.forget(&conversation).await };
        self.tasks.spawn(forget);
    }

    /// Starts a process in a task of its own. It stays on the shelf until it ends.
    fn start(
        self: &Arc<Self>,
        number: Number,
        until: watch::Receiver<Option<Instant>>,
    ) -> Starting {
        let of_process = handover::is_of_process(&self.options);
        let (starting, run) = worker::start(Work {
            options: Arc::clone(&self.options),
            tools: of_process.then(|| Arc::new(self.tools.place(self.options.questions))),
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
        starting
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
    pub(super) fn listen(&self, conversation: &Conversation) -> Option<Hearing> {
        let Hold { pool, number, .. } = &self.hold;
        pool.board.listen(*number, conversation)
    }

    /// Makes a place for the tools of a session. With `asks` there is one to ask the person with.
    pub(super) fn place(&self, asks: bool) -> Arc<Place> {
        Arc::new(self.hold.pool.tools.place(asks))
    }

    /// What is known of a session that the process has open.
    pub(super) fn known_session(&self, session: &Conversation) -> Option<Open> {
        let Hold { pool, number, .. } = &self.hold;
        pool.shelf.lock().known_session(*number, session)
    }

    /// Notes that the process has a session open, and what is known of it.
    pub(super) fn note_session(&self, session: &Conversation, open: Open) {
        let Hold { pool, number, .. } = &self.hold;
        let mut shelf = pool.shelf.lock();
        if self.hold.session.set(session.clone()).is_ok() {
            shelf.use_session(*number, session.clone());
        }
        shelf.note_session(*number, session.clone(), open);
    }

    /// What the process has started and is still there. `None` where nobody can tell.
    pub(super) async fn below(&self) -> Option<HashSet<i32>> {
        let id = self.worker.id?;
        let tasks = &self.hold.pool.tasks;
        let looking = tasks.spawn_blocking(move || supervisor::below(id));
        looking.await.ok()?
    }

    /// Says as what the process is left if the lease is dropped from here on.
    pub(super) fn set_verdict(&mut self, verdict: Verdict) {
        self.hold.verdict = verdict;
    }

    /// Gives the process back. If that ends it, or it has ended, waits for the end and tells how it was.
    pub(super) async fn give_back(mut self, verdict: Verdict) -> Option<End> {
        self.hold.verdict = verdict;
        let Self { hold, worker } = self;
        drop(hold);
        if worker.is_there() {
            return None;
        }
        Some(worker.ended().await)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut shelf = self.pool.shelf.lock();
        let session = self.session.get();
        let ending = shelf.give_back(self.number, session, self.verdict, Instant::now());
        drop(shelf);
        order(ending);
    }
}

/// Tells processes to end, and whether there were any.
fn order(ending: Vec<Order<Starting>>) -> bool {
    let there_are_some = !ending.is_empty();
    for (process, manner) in ending {
        process.order(manner);
    }
    there_are_some
}
