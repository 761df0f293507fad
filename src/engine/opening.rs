//! The beginning of a run on a thread that is its own: what the thread holds, what the request adds, and the turn
//! that follows from both.

use std::{collections::HashSet, sync::Arc};

use serde_json::json;
use tokio::sync::mpsc;
use tracing::warn;

use super::{
    Namespace, Reader, Runtime, StartError,
    ends::{RunIds, as_told},
    history::{self, Told},
    live::{Call, Stage},
    log::Log,
    missed, plan,
    slots::Slot,
    start::Order,
    turn::Turn,
    writer::Writer,
};
use crate::{
    deps::{Agent, Session, SessionRef, TurnRequest},
    protocol::{Message, RunAgentInput, ThreadId},
    state::Document,
    store::{Begin, Cut, Key, Remembers, Thread, Transcript},
};

/// What becomes of a thread at the beginning of a run.
struct Beginning {
    session: Session,
    /// Whether the session was left where it is, because the agent works elsewhere now.
    is_moved: bool,
    begin: Begin,
    /// What stands in the transcript before the prompt, as an agent is told it.
    history: Arc<[Message]>,
    /// The transcript with what the request adds; `None` if the daemon has not the whole of it.
    past: Option<Vec<Message>>,
    /// What the request adds.
    asked: Vec<Message>,
    /// The results that the client has not got.
    missed: Vec<Message>,
}

impl Beginning {
    /// Decides.
    fn of(
        agent: &Agent,
        input: &RunAgentInput,
        thread: Option<Thread>,
        told: Told,
        namespace: &Namespace,
    ) -> Self {
        let workdir = agent
            .workdir
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let (bound, stored, home) = match thread {
            Some(thread) => (thread.session, thread.transcript, thread.workdir),
            None => (None, Transcript::default(), None),
        };
        let is_moved = bound.is_some() && home != workdir;
        let session = match bound.filter(|_| !is_moved) {
            None => Session::New,
            Some(session) if told.is_cut => Session::Rewound(SessionRef::new(&session)),
            Some(session) => Session::Bound(SessionRef::new(&session)),
        };
        let cut = cut(&told, &stored);
        let past = told.after(&stored);
        let missed = missed::results(&past, &input.messages);
        let past = past.into_iter().map(|line| line.message);
        Self {
            session,
            is_moved,
            history: as_told(told.before(&stored).into_iter(), namespace),
            missed,
            past: (!stored.is_partial).then(|| past.collect()),
            asked: told.lines.iter().map(|line| line.message.clone()).collect(),
            begin: Begin {
                run: input.run_id.clone(),
                workdir,
                title: plan::title(&told.prompt),
                cut,
                lines: told.lines,
            },
        }
    }
}

/// What is taken back of a transcript. Said by the message behind which it goes: the store may have lines that are
/// not among these.
fn cut(told: &Told, stored: &Transcript) -> Option<Cut> {
    let session = if told.is_cut {
        Remembers::TooMuch
    } else {
        told.keep?;
        Remembers::Nothing
    };
    let stays = told.keep.unwrap_or(stored.lines.len());
    let last = stored.lines[..stays].last();
    Some(Cut {
        behind: last.map(|line| line.message.id.clone()),
        session,
    })
}

/// The messages of a transcript, if the daemon has the whole of it.
pub(super) fn whole(transcript: &Transcript) -> Option<Vec<Message>> {
    let messages = transcript.lines.iter().map(|line| line.message.clone());
    (!transcript.is_partial).then(|| messages.collect())
}

/// The last thing that a person said.
pub(super) fn last_prompt(messages: &[Message]) -> Option<&Message> {
    messages.iter().rfind(|message| message.is_users())
}

impl Runtime {
    /// Begins a run: notes it, writes its beginning, and starts its turn.
    pub(super) async fn opened(
        self,
        order: Order,
        slot: Slot,
        door: mpsc::Receiver<Call>,
    ) -> Result<Reader, StartError> {
        let Order {
            agent,
            principal,
            key,
            wishes,
            peer,
            seen,
            notices,
            input,
        } = order;
        let agent = self.agent(&agent).ok_or(StartError::UnknownAgent)?;
        let (thread, run) = self.0.store.look(&key, Some(&input.run_id)).await;
        if let (Some(thread), Some(run)) = (&thread, run) {
            return Ok(self.replay(&key, &input, peer, thread, &run));
        }
        let told = {
            let none = Transcript::default();
            let stored = thread.as_ref().map_or(&none, |thread| &thread.transcript);
            history::read(stored, &input.messages, seen.as_deref())?
        };
        let prompt = told.prompt.clone();
        let Beginning {
            session,
            is_moved,
            begin,
            history,
            past,
            asked,
            missed,
        } = Beginning::of(agent, &input, thread, told, &self.0.options.namespace);
        self.0.store.begin(&key, begin).await;
        let missed = self.not_of_the_page(&key, missed).await;

        if is_moved {
            self.0.documents.forget(&key);
        }
        let mut document = self.document(&key);
        if let Some(session) = session.known() {
            document.set_session(session.as_str());
        }
        if let Some(said) = last_prompt(&input.messages) {
            document.set_last_prompt(said.id.clone());
        }
        let live = Arc::clone(slot.live());
        let cursor = live.log.cursor(peer);
        let (mut writer, state) = self.begin(&input, document, Arc::clone(&live.log));
        for result in missed {
            writer.missed(result);
        }
        if is_moved {
            writer.notice("notice", json!({"code": "workdir_changed"}));
        }
        for (name, value) in notices {
            writer.notice(name, value);
        }
        if !input.tools.is_empty() && !self.0.options.policy(&agent.name).frontend_tools {
            writer.notice("frontend_tools_disabled", json!({}));
        }
        live.enter(Stage::Open);
        let policy = self.0.options.policy(&agent.name).clone();
        let turn = Turn {
            slot,
            writer,
            state,
            policy,
            door,
            past,
            asked,
            request: TurnRequest {
                agent: agent.name.clone(),
                principal,
                session,
                history,
                prompt,
                wishes,
                input: Arc::new(input),
            },
        };
        self.0.turns.spawn(turn.run(self.clone()));
        Ok(Reader::of_log(self.0.env.clone(), Vec::new(), cursor))
    }

    /// Those results that answer no call by which the page was asked: what came of such a one the page says.
    async fn not_of_the_page(&self, key: &Key, mut results: Vec<Message>) -> Vec<Message> {
        if results.is_empty() {
            return results;
        }
        let calls = results.iter().filter_map(missed::answered);
        let calls = calls.map(|call| call.as_str().to_owned()).collect();
        let prompts = self.0.store.prompts(key, calls).await;
        let prompts: HashSet<_> = prompts.iter().map(|prompt| prompt.id.as_str()).collect();
        results.retain(|result| {
            missed::answered(result).is_some_and(|call| !prompts.contains(call.as_str()))
        });
        results
    }

    /// A document of which nothing is known but whose it is.
    pub(super) fn new_document(&self, agent: &str, thread: &ThreadId) -> Document {
        let namespace = self.0.options.namespace.as_str();
        let mut document = Document::new(thread.as_str(), agent, namespace);
        let agent = self.agents().iter().find(|it| it.name.as_str() == agent);
        if let Some(model) = agent.and_then(|agent| agent.model.as_ref()) {
            document.set_model(model.clone());
        }
        document
    }

    /// The document that a run begins with, before the client's state.
    pub(super) fn document(&self, key: &Key) -> Document {
        match self.0.documents.get(key) {
            Some(kept) => Document::clone(&kept),
            None => self.new_document(&key.agent, &key.thread),
        }
    }

    pub(super) fn log(&self) -> Arc<Log> {
        let budget = Arc::clone(&self.0.budget);
        Log::new(
            budget.name(self.0.env.now_ms()),
            self.0.options.limits.run_bytes,
            budget,
        )
    }

    /// Writes the beginning of a run.
    pub(super) fn begin(
        &self,
        input: &RunAgentInput,
        mut state: Document,
        log: Arc<Log>,
    ) -> (Writer, Document) {
        let shown = state.adopt(input.state.as_ref());
        let (env, options) = (self.0.env.clone(), &self.0.options);
        let snapshot = state.snapshot();
        let namespace = options.namespace.clone();
        let mut writer = Writer::begin(log, env, namespace, RunIds::of(input), snapshot);
        if let Err(error) = shown {
            warn!(thread = %input.thread_id, %error, "the client's state is left out");
            writer.too_large(error.part);
        }
        (writer, state)
    }
}
