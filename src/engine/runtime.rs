//! The runtime: starts turns, knows which threads are live, drains.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::{info, warn};

use super::{
    Options, StartError,
    ending::Ending,
    ends::RunIds,
    frames::too_slow,
    log::{Budget, Cursor, Log, Step},
    plan::Plan,
    slot::{Key, Threads},
    turn::Turn,
    wishes,
    writer::Writer,
};
use crate::{
    deps::{Agent, AgentName, Deps, Principal, SessionRef, Settings, TurnRequest},
    env::Env,
    protocol::{Content, Peer, RunAgentInput},
    state::Document,
    store::Store,
};

/// The engine. Opens no socket; cheap to clone.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    deps: Arc<dyn Deps>,
    options: Options,
    env: Env,
    store: Store,
    threads: Arc<Threads>,
    budget: Arc<Budget>,
    turns: TaskTracker,
    /// Ends every turn.
    shutdown: CancellationToken,
}

impl Runtime {
    /// Builds the engine over a set of agents. Starts nothing.
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
        let threads = Threads::new(options.limits.max_turns, 10_000);
        let budget = Budget::new(options.limits.total_bytes);
        let (turns, shutdown) = (TaskTracker::new(), CancellationToken::new());
        Self(Arc::new(Inner {
            deps,
            options,
            env,
            store,
            threads,
            budget,
            turns,
            shutdown,
        }))
    }

    /// The agents that can be posted to, the default one first.
    pub fn agents(&self) -> &[Agent] {
        self.0.deps.agents()
    }

    /// What can be chosen in a session of an agent, as far as sessions have told.
    pub fn settings(&self, agent: &AgentName) -> Settings {
        self.0.deps.settings(agent)
    }

    #[cfg(test)]
    pub(super) fn deps(&self) -> Arc<dyn Deps> {
        Arc::clone(&self.0.deps)
    }

    /// The clock and the ids.
    pub fn env(&self) -> &Env {
        &self.0.env
    }

    pub(super) fn store(&self) -> &Store {
        &self.0.store
    }

    /// How many turns are live.
    pub fn live_turns(&self) -> usize {
        self.0.turns.len()
    }

    /// Whether new runs are refused because the daemon is shutting down.
    pub fn is_draining(&self) -> bool {
        self.0.threads.is_draining()
    }

    /// Starts what a request asks for and returns its reader, from the first frame on. The turn goes
    /// on in a task of its own; it must be called within a tokio runtime.
    ///
    /// # Errors
    /// The run cannot start; nothing was changed.
    #[expect(clippy::unused_async, reason = "it will look into the store")]
    pub async fn start(
        &self,
        agent: &AgentName,
        principal: &Principal,
        input: RunAgentInput,
    ) -> Result<Reader, StartError> {
        let agent = self
            .agents()
            .iter()
            .find(|known| known.name == *agent)
            .ok_or(StartError::UnknownAgent)?;
        let id = self.0.budget.name(self.0.env.now_ms());
        let limit = self.0.options.limits.run_bytes;
        let log = Log::new(id, limit, Arc::clone(&self.0.budget));
        let cursor = log.cursor(Peer::of(input.protocol_version.as_deref()));
        let lease = CancellationToken::new();
        match Plan::of(&input)? {
            Plan::Prompt(prompt) => {
                self.turn(agent, principal, prompt, input, log, lease.clone())?;
            }
            Plan::Suggestions => {
                if self.is_draining() {
                    return Err(StartError::Draining);
                }
                info!(thread = %input.thread_id, agent = %agent.name, "suggestions were asked for: none");
                let (writer, _) = self.begin(agent, &input, None, log);
                writer.finish(Ending::Done { stop_reason: None });
            }
        }
        Ok(Reader {
            cursor,
            env: self.0.env.clone(),
            over: false,
            _lease: lease.drop_guard(),
        })
    }

    fn turn(
        &self,
        agent: &Agent,
        principal: &Principal,
        prompt: Content,
        input: RunAgentInput,
        log: Arc<Log>,
        reader_gone: CancellationToken,
    ) -> Result<(), StartError> {
        let namespace = &self.0.options.namespace;
        let wishes = wishes::read(input.forwarded_props.as_ref(), namespace, &agent.choices)?;
        // Counted before the slot is claimed: whoever drains either refuses the turn or waits for it.
        let _counted = self.0.turns.token();
        let slot = self.0.threads.claim(Key {
            principal: principal.clone(),
            agent: agent.name.clone(),
            thread: input.thread_id.clone(),
        })?;
        let session = slot.session();
        let known = session.as_ref().map(SessionRef::as_str);
        let (writer, state) = self.begin(agent, &input, known, log);
        let policy = self.0.options.policy(&agent.name).clone();
        let request = TurnRequest {
            agent: agent.name.clone(),
            principal: principal.clone(),
            session: session.into(),
            history: Arc::default(),
            prompt,
            wishes,
            input: Arc::new(input),
        };
        let shutdown = self.0.shutdown.clone();
        let turn = Turn {
            slot,
            writer,
            state,
            policy,
            request,
            reader_gone,
            shutdown,
        };
        self.0.turns.spawn(turn.run(Arc::clone(&self.0.deps)));
        Ok(())
    }

    /// Writes the beginning of a run.
    fn begin(
        &self,
        agent: &Agent,
        input: &RunAgentInput,
        session: Option<&str>,
        log: Arc<Log>,
    ) -> (Writer, Document) {
        let Inner { env, options, .. } = &*self.0;
        let (thread, namespace) = (input.thread_id.as_str(), options.namespace.as_str());
        let mut state = Document::new(thread, agent.name.as_str(), namespace);
        let shown = state.adopt(input.state.as_ref());
        if let Some(session) = session {
            state.set_session(session);
        }
        if let Some(model) = &agent.model {
            state.set_model(model.clone());
        }
        let ids = RunIds {
            thread: input.thread_id.clone(),
            run: input.run_id.clone(),
            parent: input.parent_run_id.clone(),
        };
        let snapshot = state.snapshot();
        let mut writer = Writer::begin(log, env.clone(), options.namespace.clone(), ids, snapshot);
        if let Err(error) = shown {
            warn!(thread = %input.thread_id, %error, "the client's state is left out");
            writer.notice("notice", serde_json::json!({"code": "state_too_large"}));
        }
        (writer, state)
    }

    /// Refuses new runs, lets live ones go on for `grace`, then stops them. Returns when none is left.
    pub async fn drain(&self, grace: Duration) {
        self.0.threads.drain();
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

    /// Refuses new runs, stops every turn at once, and ends what cores keep between turns. Returns when
    /// nothing of it is left.
    pub async fn close(&self) {
        self.0.threads.drain();
        self.0.turns.close();
        self.0.shutdown.cancel();
        self.0.turns.wait().await;
        self.0.deps.close().await;
    }
}

/// The reader of a POST: a place in a run's log. Dropping it is the client's hanging up.
#[derive(Debug)]
pub struct Reader {
    cursor: Cursor,
    env: Env,
    over: bool,
    _lease: DropGuard,
}

impl Reader {
    /// Waits for the frames that come next, whole and ready for the wire; `None` after the last. A
    /// reader that fell too far behind gets a last frame that says so. Cancel-safe.
    pub async fn next(&mut self) -> Option<Vec<Bytes>> {
        if self.over {
            return None;
        }
        match self.cursor.next().await {
            Step::Frames(frames) => Some(frames),
            Step::Gap => {
                self.over = true;
                Some(vec![too_slow(&self.env)])
            }
            Step::End => None,
        }
    }
}
