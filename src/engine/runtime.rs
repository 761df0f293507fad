//! The runtime: what all threads share, and its end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::info;

use super::{Options, documents::Documents, log::Budget, recent::Recent, slots::Slots};
use crate::{
    deps::{Agent, AgentName, Deps, Forgotten, Principal, SessionRef, Settings},
    env::Env,
    store::{Key, Store},
};

/// After how many runs threads are looked through.
const RUNS_A_SWEEP: usize = 256;

/// How many sessions are let go of at once.
const AT_ONCE: usize = 8;

/// The engine. Opens no socket; cheap to clone.
#[derive(Clone)]
pub struct Runtime(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) deps: Arc<dyn Deps>,
    pub(super) options: Options,
    pub(super) env: Env,
    pub(super) store: Store,
    pub(super) slots: Arc<Slots>,
    pub(super) documents: Documents,
    pub(super) recent: Recent,
    pub(super) budget: Arc<Budget>,
    pub(super) turns: TaskTracker,
    /// How many runs have ended since threads were looked through.
    ended: AtomicUsize,
    is_sweeping: AtomicBool,
    /// Ends every turn.
    pub(super) shutdown: CancellationToken,
    /// Ends every turn without waiting for its core.
    pub(super) abort: CancellationToken,
}

impl Runtime {
    /// Builds the engine over a set of agents. Starts nothing. Threads are kept in memory.
    pub fn new(deps: Arc<dyn Deps>, options: Options) -> Self {
        Self::with_env(deps, options, Env::system())
    }

    /// The same with a clock and ids of the caller's, as tests fix them.
    pub fn with_env(deps: Arc<dyn Deps>, options: Options, env: Env) -> Self {
        let store = Store::memory(env.clone());
        Self::with_store(deps, options, env, store)
    }

    /// The same with threads that are kept in this store.
    pub fn with_store(deps: Arc<dyn Deps>, options: Options, env: Env, store: Store) -> Self {
        let limits = &options.limits;
        Self(Arc::new(Inner {
            slots: Slots::new(limits.max_turns, limits.max_waiting),
            documents: Documents::new(limits.max_state_threads, limits.max_state_bytes),
            recent: Recent::new(limits.log_ttl),
            budget: Budget::new(limits.total_bytes),
            turns: TaskTracker::new(),
            ended: AtomicUsize::new(0),
            is_sweeping: AtomicBool::new(false),
            shutdown: CancellationToken::new(),
            abort: CancellationToken::new(),
            deps,
            options,
            env,
            store,
        }))
    }

    /// The agents that can be posted to, the default one first.
    pub fn agents(&self) -> &[Agent] {
        self.0.deps.agents()
    }

    /// What can be chosen in a session that an agent has for a principal, as far as those have told.
    pub fn settings(&self, agent: &AgentName, principal: &Principal) -> Settings {
        self.0.deps.settings(agent, principal)
    }

    #[cfg(test)]
    pub(super) fn deps(&self) -> Arc<dyn Deps> {
        Arc::clone(&self.0.deps)
    }

    /// The clock and the ids.
    pub fn env(&self) -> &Env {
        &self.0.env
    }

    /// How many turns are live.
    pub fn live_turns(&self) -> usize {
        self.0.turns.len()
    }

    /// Whether new runs are refused because the daemon is shutting down.
    pub fn is_draining(&self) -> bool {
        self.0.slots.is_draining()
    }

    /// Looks threads through after so many runs, so that a flood of new ones is bounded.
    pub(super) fn count_run(&self) {
        if self.0.ended.fetch_add(1, Ordering::Relaxed) >= RUNS_A_SWEEP {
            let runtime = self.clone();
            self.0.turns.spawn(async move { runtime.swept().await });
        }
    }

    /// Forgets what was kept for longer than it should be: threads that are too old or too many, and with them
    /// their sessions. Done after many runs without being asked; whoever wants threads to go by their age while
    /// nothing runs asks from time to time. It goes on also if nobody waits for it.
    pub async fn sweep(&self) {
        let runtime = self.clone();
        let sweeping = self.0.turns.spawn(async move { runtime.swept().await });
        // If it breaks, that was logged.
        let _ = sweeping.await;
    }

    async fn swept(&self) {
        if self.is_draining() || self.0.is_sweeping.swap(true, Ordering::Relaxed) {
            return;
        }
        self.0.ended.store(0, Ordering::Relaxed);
        self.0.recent.sweep();
        let slots = Arc::clone(&self.0.slots);
        let gone = self.0.store.sweep(move || slots.all()).await;
        if !gone.is_empty() {
            info!(threads = gone.len(), "threads were forgotten");
        }
        let letting_go = stream::iter(gone).for_each_concurrent(AT_ONCE, async |(key, session)| {
            self.let_go(&key, session).await;
        });
        tokio::select! {
            biased;
            () = self.0.shutdown.cancelled() => {}
            () = letting_go => {}
        }
        self.0.is_sweeping.store(false, Ordering::Relaxed);
    }

    /// Drops what is kept of a thread outside of the store, and lets its agent go of the session.
    pub(super) async fn let_go(&self, key: &Key, session: Option<String>) {
        self.0.documents.forget(key);
        self.0.recent.forget(key);
        let agent = self
            .agents()
            .iter()
            .find(|it| *it.name.as_str() == *key.agent);
        let local = Principal::local();
        let principal = match &*key.principal {
            name if name == local.as_str() => Some(local),
            name => Principal::new(name).ok(),
        };
        if let (Some(agent), Some(session), Some(principal)) = (agent, session, principal) {
            let forgotten = Forgotten {
                agent: agent.name.clone(),
                principal,
                thread: key.thread.clone(),
                session: SessionRef::new(&session),
            };
            self.0.deps.forget(forgotten).await;
        }
    }

    /// Refuses new runs, lets live ones go on for `grace`, then stops them. Returns when none is left.
    pub async fn drain(&self, grace: Duration) {
        self.0.slots.drain();
        self.0.turns.close();
        if tokio::time::timeout(grace, self.0.turns.wait())
            .await
            .is_err()
        {
            info!(
                turns = self.0.turns.len(),
                "the grace period is over: stopping live turns"
            );
        }
        self.close().await;
    }

    /// The same at once: no core is given time to end in order. Whoever may not wait asks for this.
    pub async fn abort(&self) {
        self.0.abort.cancel();
        self.close().await;
    }

    /// Refuses new runs, stops every turn at once, and ends what cores keep between turns. Returns when
    /// nothing of it is left and all is written.
    pub async fn close(&self) {
        self.0.slots.drain();
        self.0.turns.close();
        self.0.shutdown.cancel();
        self.0.turns.wait().await;
        tokio::select! {
            biased;
            () = self.0.deps.close() => {}
            // What is left of them ends with the process.
            () = self.0.abort.cancelled() => {}
        }
        self.0.store.close().await;
    }
}
