//! From a request to a reader: what is asked for, and whether its thread is free, taken, or the same run's.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tracing::info;

use super::{
    Reader, Runtime, StartError,
    ending::Ending,
    live::{Call, Lease, Live, Stage},
    parked::Notice,
    plan::Plan,
    slots::{Claim, Served, Slot, Ticket},
    wishes,
};
use crate::{
    deps::{Agent, AgentName, Code, PerSetting, Principal},
    protocol::{Peer, RunAgentInput},
    state::Document,
    store::Key,
};

/// A run that is asked for.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) agent: AgentName,
    pub(super) principal: Principal,
    pub(super) key: Key,
    pub(super) wishes: PerSetting<Option<String>>,
    pub(super) peer: Peer,
    /// The last message of a person's that the client can have seen, if it is known.
    pub(super) seen: Option<String>,
    /// What the client is told of answers that it brings beside what it asks.
    pub(super) notices: Vec<Notice>,
    pub(super) input: RunAgentInput,
}

/// What is needed to tell on its stream that a run does not begin.
struct Refusal {
    key: Key,
    input: RunAgentInput,
    peer: Peer,
}

impl Refusal {
    fn of(order: &Order) -> Self {
        Self {
            key: order.key.clone(),
            input: order.input.clone(),
            peer: order.peer,
        }
    }
}

impl Runtime {
    /// Starts what a request asks for and returns its reader, from the first frame on. The turn goes
    /// on in a task of its own; it must be called within a tokio runtime.
    ///
    /// A run that is there already is not started again: its reader is one more on the same log, or is told
    /// how it ended.
    ///
    /// # Errors
    /// The run cannot start.
    pub async fn start(
        &self,
        agent: &AgentName,
        principal: &Principal,
        input: RunAgentInput,
    ) -> Result<Reader, StartError> {
        let agent = self.agent(agent).ok_or(StartError::UnknownAgent)?;
        let key = Runtime::key(&agent.name, principal, &input.thread_id);
        match Plan::of(&input)? {
            Plan::Suggestions => self.suggest(agent, &input),
            Plan::Hydrate => self.hydrate(&key, &input).await,
            Plan::Run => {
                let namespace = &self.0.options.namespace;
                let state = input.state.as_ref();
                let seen = Document::last_prompt_in(state, namespace.as_str());
                let props = input.forwarded_props.as_ref();
                let order = Order {
                    wishes: wishes::read(props, namespace, &agent.choices)?,
                    agent: agent.name.clone(),
                    principal: principal.clone(),
                    peer: Peer::of(input.protocol_version.as_deref()),
                    seen: seen.map(str::to_owned),
                    notices: Vec::new(),
                    key,
                    input,
                };
                self.run(order).await
            }
        }
    }

    pub(super) fn agent(&self, name: &AgentName) -> Option<&Agent> {
        self.agents().iter().find(|agent| agent.name == *name)
    }

    /// Ends a suggestion run at once.
    fn suggest(&self, agent: &Agent, input: &RunAgentInput) -> Result<Reader, StartError> {
        if self.is_draining() {
            return Err(StartError::Draining);
        }
        info!(thread = %input.thread_id, agent = %agent.name, "suggestions were asked for: none");
        let peer = Peer::of(input.protocol_version.as_deref());
        let document = self.new_document(agent.name.as_str(), &input.thread_id);
        Ok(self.at_once(input, peer, document, Ending::Done { stop_reason: None }))
    }

    /// Takes the order's thread, or waits for it, or finds the run there. Boxed, because a run that was found may
    /// turn out to be over.
    pub(super) fn run(&self, mut order: Order) -> BoxFuture<'static, Result<Reader, StartError>> {
        let runtime = self.clone();
        Box::pin(async move {
            if let Some(asked) = runtime.0.slots.asked(&order.key) {
                return runtime.resume(order, asked).await;
            }
            if let Some(told) = runtime.belated(&mut order).await? {
                return Ok(told);
            }
            if let Some(told) = runtime.told_again(&order).await {
                return Ok(told);
            }
            let policy = runtime.0.options.policy(&order.agent);
            let run = order.input.run_id.clone();
            let (live, door) = Live::new(run, runtime.log(), policy.linger);
            let lease = live.lease();
            // Counted before the slot is claimed: whoever drains either refuses the turn or waits for it.
            let _counted = runtime.0.turns.token();
            let slots = &runtime.0.slots;
            match slots.claim(&order.key, &live, policy.busy)? {
                Claim::Mine(slot) => runtime.open(order, slot, door, lease).await,
                // Just now; so what it waits for is looked at.
                Claim::Parked => runtime.run(order).await,
                Claim::Same(same) if same.stage() == Stage::Open => {
                    runtime.attach(order, same).await
                }
                Claim::Same(same) => {
                    // From now on, so that the run does not leave the line with its first reader.
                    let lease = same.lease();
                    let again = runtime.clone();
                    let (refusal, asked) = (Refusal::of(&order), order);
                    let coming = async move { again.once_opened(asked, same).await };
                    Ok(runtime.later(refusal, Box::pin(coming), lease))
                }
                Claim::Waiting(ticket) => {
                    let refusal = Refusal::of(&order);
                    let waiting = runtime.clone().wait(order, ticket, live, door);
                    let waiting = runtime.0.turns.spawn(waiting);
                    let coming = async { waiting.await.unwrap_or(Err(StartError::Internal)) };
                    Ok(runtime.later(refusal, Box::pin(coming), lease))
                }
            }
        })
    }

    /// Waits in the line for a thread, for as long as somebody waits for the run. In a task of its own, so that a
    /// thread that is handed over is never left lying.
    async fn wait(
        self,
        mut order: Order,
        ticket: Ticket,
        live: Arc<Live>,
        door: mpsc::Receiver<Call>,
    ) -> Result<Reader, StartError> {
        let before = self.0.slots.live(&order.key);
        if order.seen.is_none() && before.is_some_and(|before| !before.is_ending()) {
            // It waits for what is being said, so it can take back neither that nor what comes after it.
            let (thread, _) = self.0.store.look(&order.key, None).await;
            let seen = thread.as_ref().and_then(|thread| thread.prompts().nth(1));
            order.seen = seen.map(|id| id.as_str().into());
        }
        let served = tokio::select! {
            biased;
            served = ticket.wait() => served?,
            () = live.left() => {
                live.enter(Stage::Over);
                return Err(StartError::Stopped);
            }
        };
        match served {
            Served::Slot(slot) => self.opened(order, slot, door).await,
            Served::Parked => {
                live.enter(Stage::Over);
                self.run(order).await
            }
        }
    }

    /// One more reader of a run that has not begun yet.
    async fn once_opened(self, order: Order, live: Arc<Live>) -> Result<Reader, StartError> {
        match live.opened().await {
            Stage::Refused(why) => Err(why),
            _ => self.attach(order, live).await,
        }
    }

    /// A reader of what comes later. What goes wrong then is told on its stream.
    fn later(
        &self,
        refusal: Refusal,
        coming: BoxFuture<'static, Result<Reader, StartError>>,
        lease: Lease,
    ) -> Reader {
        let runtime = self.clone();
        let coming = async move {
            match coming.await {
                Ok(reader) => reader,
                Err(why) => runtime.refuse(refusal, &why).await,
            }
        };
        Reader::waiting(self.0.env.clone(), Box::pin(coming), lease)
    }

    /// A run that ends before it has begun.
    async fn refuse(&self, refusal: Refusal, why: &StartError) -> Reader {
        let Refusal { key, input, peer } = refusal;
        // The client takes over what it is shown, so it is shown what holds.
        let document = match self.0.store.look(&key, None).await {
            (Some(thread), _) => self.kept_document(&key, &thread),
            (None, _) => self.document(&key),
        };
        info!(thread = %input.thread_id, run = %input.run_id, %why, "a run that waited does not start");
        let ending = match why {
            StartError::Stopped | StartError::Draining => Ending::Cancelled,
            why => Ending::Failed {
                code: Code::NotStarted,
                message: format!("failed to {why}"),
            },
        };
        self.at_once(&input, peer, document, ending)
    }

    /// A whole run that no agent has a part in.
    fn at_once(
        &self,
        input: &RunAgentInput,
        peer: Peer,
        document: Document,
        ending: Ending,
    ) -> Reader {
        let log = self.log();
        let cursor = log.cursor(peer);
        self.begin(input, document, log).0.finish(ending);
        Reader::of_log(self.0.env.clone(), Vec::new(), cursor)
    }

    /// One more reader of a run that is there already.
    async fn attach(&self, order: Order, live: Arc<Live>) -> Result<Reader, StartError> {
        let env = self.0.env.clone();
        if live.stage() == Stage::Open {
            let lease = live.lease();
            if let Some(cursor) = live.log.whole(order.peer) {
                return Ok(Reader::of_log(env, Vec::new(), cursor).on(lease));
            }
            if let Some(visit) = live.visit(order.peer).await {
                return Ok(visit.reader(env, order.peer).on(lease));
            }
        }
        // It is over, so it is told how; or nobody waited for its beginning any more, so it begins now.
        live.ended().await;
        self.run(order).await
    }

    /// One more reader of the run that took the same answers, which is there or about to be.
    pub(super) async fn attach_answered(
        &self,
        order: Order,
        live: Arc<Live>,
    ) -> Result<Reader, StartError> {
        live.opened().await;
        self.attach(order, live).await
    }

    /// Begins a run on a slot. In a task of its own: a client that leaves now must not leave a run behind
    /// that is noted and never begins.
    async fn open(
        self,
        order: Order,
        slot: Slot,
        door: mpsc::Receiver<Call>,
        lease: Lease,
    ) -> Result<Reader, StartError> {
        let runtime = self.clone();
        let opening = self
            .0
            .turns
            .spawn(async move { runtime.opened(order, slot, door).await });
        let opened = opening.await.unwrap_or(Err(StartError::Internal));
        opened.map(|reader| reader.on(lease))
    }
}
