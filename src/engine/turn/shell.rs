//! What a turn writes with while a run of it is live, and how such a run ends for good.

use std::{path::PathBuf, sync::Arc};

use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tracing::{debug, info, warn};

use super::{
    Turn,
    timers::{Allowance, Draft},
};
use crate::{
    deps::{
        ASK_USER, AgentName, Ask, PerSetting, Principal, Session, SessionRef, Signal, TurnRequest,
    },
    engine::{
        Policy, Runtime,
        ending::{Cause, CoreEnd, Ending},
        ends::as_told,
        gate::{Circumstances, Gate},
        interrupts,
        live::{Call, Live, Sight},
        recall,
        runtime::Inner,
        slots::Slot,
        translate::Translator,
        writer::Writer,
    },
    protocol::{Content, Message, MessageBody, RunAgentInput, Tool},
    state::Document,
    store::Store,
};

/// A turn with a run that is live.
pub(super) struct Shell {
    // The slot, which is in here, stands before the writer: if this task breaks, the thread is free before its
    // client reads the end of the run.
    pub(super) ongoing: Ongoing,
    pub(super) writer: Writer,
    pub(super) door: mpsc::Receiver<Call>,
    /// When the run began.
    pub(super) began: Instant,
}

/// What a turn has in all of its runs.
pub(super) struct Ongoing {
    pub(super) slot: Slot,
    pub(super) state: Document,
    pub(super) translator: Translator,
    pub(super) gate: Gate,
    pub(super) inbox: mpsc::Receiver<Signal>,
    pub(super) past: Option<Vec<Message>>,
    pub(super) asked: Vec<Message>,
    pub(super) draft: Draft,
    pub(super) allowance: Allowance,
    pub(super) policy: Policy,
    pub(super) runtime: Runtime,
    /// What the present run was asked with.
    pub(super) input: Arc<RunAgentInput>,
    pub(super) tools: watch::Sender<Arc<[Tool]>>,
    /// Whether a client is there who can be asked.
    pub(super) is_attended: bool,
    /// What is asked once the turn is over.
    pub(super) next: Vec<Message>,
    session: Session,
    agent: AgentName,
    principal: Principal,
    pub(super) wishes: PerSetting<Option<String>>,
}

impl Shell {
    pub(super) fn new(turn: Turn, runtime: Runtime) -> Self {
        let Turn {
            slot,
            writer,
            state,
            policy,
            request,
            door,
            past,
            asked,
        } = turn;
        info!(principal = &*slot.key().principal, "run started");
        let (_, inbox) = mpsc::channel(1);
        let tools = watch::Sender::new(callable(&request.input, &policy, &runtime));
        let ongoing = Ongoing {
            slot,
            state,
            translator: Translator::new(),
            gate: Gate::default(),
            inbox,
            past,
            asked,
            draft: Draft::nothing(),
            allowance: Allowance::new(policy.turn_timeout),
            policy,
            runtime,
            input: Arc::clone(&request.input),
            tools,
            is_attended: true,
            next: Vec::new(),
            session: request.session.clone(),
            agent: request.agent.clone(),
            principal: request.principal,
            wishes: request.wishes,
        };
        Self {
            ongoing,
            writer,
            door,
            began: Instant::now(),
        }
    }

    /// The tools of the page, as a core follows them.
    pub(super) fn page_tools(&self) -> watch::Receiver<Arc<[Tool]>> {
        self.ongoing.tools.subscribe()
    }

    /// Begins to hear a core.
    pub(super) fn begin_turn(&mut self, inbox: mpsc::Receiver<Signal>) {
        let ongoing = &mut self.ongoing;
        ongoing.inbox = inbox;
        ongoing.translator = Translator::new();
        ongoing.allowance = Allowance::new(ongoing.policy.turn_timeout);
    }

    pub(super) fn live(&self) -> Arc<Live> {
        Arc::clone(self.ongoing.slot.live())
    }

    /// Writes a batch of what the core said, in one go. `may_ask`: whether somebody can still be asked.
    pub(super) async fn take(&mut self, batch: &mut Vec<Signal>, may_ask: bool) {
        for signal in batch.drain(..) {
            let ongoing = &mut self.ongoing;
            match signal {
                Signal::Event(event) => {
                    ongoing
                        .translator
                        .apply(event, &mut self.writer, &mut ongoing.state);
                }
                Signal::Bind(session) => {
                    if let Some(delta) = ongoing.state.set_session(session.as_str()) {
                        self.writer.state_delta(delta);
                    }
                    self.bind(session).await;
                }
                Signal::Rebind(session) => {
                    ongoing.state.renew(session.as_str());
                    self.writer.state_snapshot(ongoing.state.snapshot());
                    self.bind(session).await;
                }
                Signal::Title(title) => {
                    self.store().entitle(self.ongoing.slot.key(), &title).await;
                }
                Signal::Recall(past) => self.recall(past).await,
                Signal::Ask(ask) if may_ask => self.admit(ask),
                // Whoever asked is told that the turn is being stopped.
                Signal::Ask(ask) => drop(ask),
            }
        }
        self.ongoing.gate.heard(Instant::now());
        self.writer.flush();
        self.keep().await;
        self.ongoing.draft.is_wanted();
    }

    /// Takes something that is asked.
    fn admit(&mut self, ask: Ask) {
        let workdir = self.workdir();
        let ongoing = &mut self.ongoing;
        let tools = Arc::clone(&ongoing.tools.borrow());
        let when = Circumstances {
            policy: &ongoing.policy,
            tools: &tools,
            workdir: workdir.as_deref(),
            is_attended: ongoing.is_attended,
        };
        if let Some(refused) = ongoing.gate.admit(ask, Instant::now(), &when) {
            self.tell_refused(refused);
        }
    }

    async fn bind(&mut self, session: SessionRef) {
        self.store()
            .bind(self.ongoing.slot.key(), session.as_str())
            .await;
        self.ongoing.session = Session::Bound(session);
    }

    /// Where the agent works.
    pub(super) fn workdir(&self) -> Option<PathBuf> {
        let agent = self.ongoing.runtime.agent(&self.ongoing.agent)?;
        agent.workdir.clone()
    }

    /// Keeps what is not complete yet, as far as it goes: if the daemon is killed, little is lost of it.
    pub(super) async fn save_draft(&mut self) {
        let draft = self.writer.draft();
        self.store().draft(self.ongoing.slot.key(), draft).await;
        self.ongoing.draft.is_saved();
    }

    pub(super) fn store(&self) -> &Store {
        &self.ongoing.runtime.0.store
    }

    /// Keeps the messages that are complete.
    async fn keep(&mut self) {
        let done = self.writer.take_done();
        if !done.is_empty() {
            self.store().add(self.ongoing.slot.key(), done).await;
        }
    }

    /// Takes what the session remembers for a transcript that is not whole. What this request has brought stays
    /// at the end.
    async fn recall(&mut self, past: Vec<MessageBody>) {
        if self.ongoing.past.is_some() {
            return;
        }
        let mut messages = recall::messages(past, &self.ongoing.runtime.0.env);
        messages.extend(self.ongoing.asked.iter().cloned());
        self.store()
            .refill(self.ongoing.slot.key(), messages.clone())
            .await;
        self.ongoing.past = Some(messages);
    }

    /// Answers a visitor.
    pub(super) fn answer(&mut self, call: Call) {
        let (state, past) = (&self.ongoing.state, self.ongoing.past.as_deref());
        match call {
            Call::Follow { peer, answer } => {
                let _ = answer.send(self.writer.visit(state.snapshot(), past, peer));
            }
            Call::Look { answer } => {
                let state = state.snapshot();
                let messages = self.writer.messages(past);
                let _ = answer.send(Sight { state, messages });
            }
        }
    }

    /// What is asked next in the same run, if somebody has said something meanwhile and the turn has ended well.
    pub(super) async fn next_request(&mut self, ending: &Ending) -> Option<TurnRequest> {
        if !matches!(ending, Ending::Done { .. }) || self.ongoing.next.is_empty() {
            return None;
        }
        self.writer.settle(ending);
        self.keep().await;
        let said = std::mem::take(&mut self.ongoing.next);
        let key = self.ongoing.slot.key().clone();
        let (thread, _) = self.store().look(&key, None).await;
        let lines = thread.map(|thread| thread.transcript.lines);
        let history = lines.unwrap_or_default().into_iter();
        let namespace = &self.ongoing.runtime.0.options.namespace;
        let history = history.map(|line| line.message);
        let history: Vec<_> = as_told(history, namespace);
        let contents = said.iter().filter_map(|message| match &message.body {
            MessageBody::User { content, .. } => Some(content),
            _ => None,
        });
        let prompt = Content::together(contents);
        for message in said {
            self.writer.said(message);
        }
        self.save_draft().await;
        let ongoing = &self.ongoing;
        Some(TurnRequest {
            agent: ongoing.agent.clone(),
            principal: ongoing.principal.clone(),
            session: ongoing.session.clone(),
            history: history.into(),
            prompt,
            wishes: ongoing.wishes.clone(),
            input: Arc::clone(&ongoing.input),
        })
    }

    /// Notes how it ended and frees the thread, then ends the run: a client that posts again the moment it reads
    /// the terminal event finds the thread free.
    pub(super) async fn finish(mut self, ending: Ending, end: &CoreEnd, cause: Option<Cause>) {
        if let CoreEnd::Returned(Err(error)) = end {
            let code = error.code().as_str();
            warn!(code, hint = error.hint(), "the agent failed");
            debug!(%error, "the agent failed");
        }
        info!(
            outcome = ending.as_str(),
            cause = cause.map(Cause::as_str),
            ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "run ended"
        );
        let outcome = ending.outcome();
        self.writer.settle(&ending);
        if matches!(ending, Ending::Cancelled | Ending::Failed { .. }) {
            let ongoing = &mut self.ongoing;
            ongoing
                .translator
                .stop(&mut self.writer, &mut ongoing.state);
        }
        let explains = self.ongoing.policy.explain_errors;
        let last = self.writer.wind_up(&ending, explains);
        if !last.is_empty() {
            self.store().add(self.ongoing.slot.key(), last).await;
        }
        if self.writer.is_partial() {
            self.store().lose(self.ongoing.slot.key()).await;
        }
        // Dropped in the other order, so that the slot still goes before the writer if this breaks.
        let Self {
            writer,
            ongoing,
            door,
            ..
        } = self;
        // From here on there is nothing to visit: who comes is shown what is kept.
        drop(door);
        let Ongoing {
            slot,
            state,
            runtime,
            ..
        } = ongoing;
        let Inner {
            store,
            documents,
            recent,
            ..
        } = &*runtime.0;
        let (key, live) = (slot.key().clone(), Arc::clone(slot.live()));
        store.end(&key, &live.run, outcome).await;
        documents.put(&key, state);
        recent.put(&key, live.run.clone(), Arc::clone(&live.log));
        drop(slot);
        writer.finish(ending);
        runtime.count_run();
    }
}

/// The tools of the page that the agent may call. Those with which a page shows prompts itself are the daemon's.
pub(super) fn callable(input: &RunAgentInput, policy: &Policy, runtime: &Runtime) -> Arc<[Tool]> {
    let prompt = interrupts::permission_tool(&runtime.0.options.namespace);
    let is_callable = |tool: &&Tool| tool.name != prompt && tool.name != ASK_USER;
    let tools = input.tools.iter().filter(is_callable);
    tools.filter(|_| policy.frontend_tools).cloned().collect()
}
