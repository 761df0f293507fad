//! From a request's answers to the turn that waits for them, or to what became of it.

use std::{collections::HashSet, sync::Arc};

use serde_json::json;
use tracing::{info, warn};

use super::{
    Reader, Runtime, StartError,
    answers::{Given, Said, Stale, Unmet},
    asked::Asked,
    ending::Ending,
    ends::RunIds,
    history,
    hydrate::word_on_last,
    live::{Live, Stage},
    parked::{Notice, Resumed},
    start::Order,
};
use crate::{
    protocol::{Message, MessageBody, MessageId, RunId, ThreadId},
    store::{self, Fate, Thread, Transcript},
};

/// How often it is looked what became of a prompt, while it may just be being settled.
const LOOKS: usize = 3;

/// What people are told whose answer was for what went with the daemon that asked.
const LOST: &str = "What you have answered was lost when the daemon ended, and nothing of it was done. Ask again if it is still wanted.";

impl Runtime {
    /// Goes on with the turn that a thread waits with, if the request brings what it waits for.
    ///
    /// # Errors
    /// It does not. All that is asked stays open.
    pub(super) async fn resume(
        &self,
        order: Order,
        asked: Arc<Asked>,
    ) -> Result<Reader, StartError> {
        let (thread, run) = self
            .0
            .store
            .look(&order.key, Some(&order.input.run_id))
            .await;
        let transcript = thread.as_ref().map(|thread| &thread.transcript);
        let next = transcript.map_or_else(Vec::new, |it| news(it, &order.input.messages));
        let given = Given::of(&order.input);
        let stale = self.stale(&order, &given, &asked.ids()).await;
        if !stale.otherwise.is_empty() {
            return Err(StartError::Answered(stale.otherwise));
        }
        let said = match given.meet(&asked, !next.is_empty()) {
            Ok(said) => said,
            Err(Unmet::Part(missing)) => return Err(unanswered(&missing)),
            Err(Unmet::Nothing(missing)) => {
                // What is new is not to be passed over for what an old result in its history has brought about.
                if let Some(run) = stale.again.filter(|_| next.is_empty()) {
                    return self.again(order, &run).await;
                }
                if let (Some(thread), Some(run), false) = (&thread, run, given.resumes()) {
                    let Order {
                        key, input, peer, ..
                    } = &order;
                    return Ok(self.replay(key, input, *peer, thread, &run));
                }
                let calls_only = asked.interrupts().is_empty();
                if calls_only && history::prompt(&order.input.messages).is_some() {
                    // Something is asked again, so what came of it goes, and the turn with it.
                    self.0.slots.call_off(&order.key, &asked);
                    return self.run(order).await;
                }
                return Err(unanswered(&missing));
            }
        };
        let said = own_ids(said, transcript, self);
        let notices = stale.notices(&order.key.thread);
        let policy = self.0.options.policy(&order.agent);
        let answers = asked.prompts.iter().zip(&said).map(|(prompt, said)| {
            let digest = said.as_ref().map(Said::digest);
            (Arc::clone(&prompt.id), digest)
        });
        let (live, door) = Live::answering(
            order.input.run_id.clone(),
            self.log(),
            policy.linger,
            answers.collect(),
        );
        let lease = live.lease();
        let cursor = live.log.cursor(order.peer);
        let Some(give) = self.0.slots.resume(&order.key, &asked, &live) else {
            // Somebody else was faster.
            return self.run(order).await;
        };
        let going = Arc::clone(&live);
        let resumed = Resumed {
            live,
            door,
            wishes: order.wishes,
            input: order.input,
            said,
            next,
            notices,
        };
        if give.send(resumed).is_err() {
            // The turn has broken; whoever waits for this run is not to wait for ever.
            going.enter(Stage::Over);
            return Err(StartError::Internal);
        }
        let reader = Reader::of_log(self.0.env.clone(), Vec::new(), cursor);
        Ok(reader.on(lease))
    }

    /// Looks what is to be said to answers that no turn waits for. `None`: the request brings something new beside
    /// them, which is served, with a word on them.
    ///
    /// # Errors
    /// They contradict what was answered before, or there is nothing in the request but them and nobody asked.
    pub(super) async fn belated(&self, order: &mut Order) -> Result<Option<Reader>, StartError> {
        let given = Given::of(&order.input);
        let has_prompt = history::prompt(&order.input.messages).is_some();
        if given.is_empty() || (has_prompt && !given.resumes()) {
            return Ok(None);
        }
        let stale = self.stale(order, &given, &[]).await;
        if !stale.otherwise.is_empty() {
            return Err(StartError::Answered(stale.otherwise));
        }
        let (thread, _) = self.0.store.look(&order.key, None).await;
        let stored = thread.as_ref().map(|thread| &thread.transcript);
        let none = Transcript::default();
        if !news(stored.unwrap_or(&none), &order.input.messages).is_empty() {
            order.notices = stale.notices(&order.key.thread);
            return Ok(None);
        }
        if let Some(run) = &stale.again {
            return self.again(order.clone(), run).await.map(Some);
        }
        if stale.is_empty() {
            return Err(StartError::NothingToDo);
        }
        let thread = thread.ok_or(StartError::UnknownThread)?;
        Ok(Some(self.too_late(order, thread, &stale)))
    }

    /// What the answers of a request are worth, besides those to what is open.
    async fn stale(&self, order: &Order, given: &Given<'_>, open: &[String]) -> Stale {
        let mut ids = given.ids();
        ids.retain(|id| !open.contains(id));
        let mut known = Vec::new();
        for _ in 0..LOOKS {
            let before = self.0.slots.live(&order.key);
            known = self.0.store.prompts(&order.key, ids.clone()).await;
            let after = self.0.slots.live(&order.key);
            for live in before.iter().chain(&after) {
                for prompt in &mut known {
                    overlay(prompt, live);
                }
            }
            // What seems to be open may just be being settled, as long as something is live.
            let is_open = known.iter().any(|prompt| prompt.fate == Fate::Open);
            if !is_open || (before.is_none() && after.is_none()) {
                break;
            }
        }
        given.stale(&known, open)
    }

    /// One more reader of the run that took the same answers before.
    async fn again(&self, order: Order, run: &RunId) -> Result<Reader, StartError> {
        info!(thread = %order.key.thread, %run, "the same was answered again: told what came of it");
        if let Some(live) = self.0.slots.live(&order.key)
            && live.run == *run
        {
            return self.attach_answered(order, live).await;
        }
        let Order {
            key, input, peer, ..
        } = &order;
        if let Some(kept) = self.kept(key, run, *peer) {
            return Ok(kept);
        }
        match self.0.store.look(key, Some(run)).await {
            (Some(thread), Some(run)) => Ok(self.replay(key, input, *peer, &thread, &run)),
            _ => Err(StartError::NothingToDo),
        }
    }

    /// The thread as it is, for a client whose answers come too late.
    fn too_late(&self, order: &Order, thread: Thread, stale: &Stale) -> Reader {
        let Order {
            key, input, peer, ..
        } = order;
        let notices = stale.notices(&key.thread).into_iter();
        let notices = notices.map(|(name, value)| (name.to_owned(), value));
        let notices = notices.chain(word_on_last(&thread)).collect();
        let explains = self.0.options.policy(&order.agent).explain_errors;
        let (thread, ending) = match stale.lost.is_empty() {
            true => (thread, Ending::Done { stop_reason: None }),
            // A client whose answer fails goes on waiting for it, and says nothing else any more.
            false if explains => (self.with_loss(thread), Ending::Done { stop_reason: None }),
            false => (thread, Ending::lost()),
        };
        let frames = self.ended(key, &RunIds::of(input), &thread, notices, &ending, *peer);
        Reader::of_frames(self.0.env.clone(), frames)
    }

    /// The thread with a word for people on what was lost with the daemon that asked.
    fn with_loss(&self, mut thread: Thread) -> Thread {
        let id = MessageId::new(self.0.env.id("msg")).expect("our own ids are legal");
        let body = MessageBody::Assistant {
            content: Some(LOST.into()),
            name: None,
            tool_calls: Vec::new(),
        };
        thread.transcript.lines.push(Message::new(id, body).into());
        thread
    }
}

/// Notes what a live run settles: that may not be written yet.
fn overlay(prompt: &mut store::Prompt, live: &Live) {
    let taken = live.answers.iter().find(|(id, _)| **id == *prompt.id);
    let run = live.run.clone();
    match taken {
        Some((_, Some(digest))) => {
            let digest = digest.clone();
            prompt.fate = Fate::Answered { run, digest };
        }
        Some((_, None)) => prompt.fate = Fate::Closed { run },
        None => {}
    }
}

impl Stale {
    /// What clients are told of them. The log is told as well: it may be an attempt.
    fn notices(&self, thread: &ThreadId) -> Vec<Notice> {
        let (lost, over, unknown) = (self.lost.len(), self.over.len(), self.unknown.len());
        if lost + over + unknown > 0 {
            warn!(%thread, lost, over, unknown, "nothing waits for an answer that came");
        }
        let told = [
            ("interrupt_lost", &self.lost),
            ("interrupt_expired", &self.over),
            ("interrupt_unknown", &self.unknown),
        ];
        let told = told.into_iter().filter(|(_, ids)| !ids.is_empty());
        told.map(|(name, ids)| (name, json!({"interruptIds": ids})))
            .collect()
    }
}

fn unanswered(missing: &[Arc<str>]) -> StartError {
    StartError::Unanswered(missing.iter().map(|id| id.as_ref().to_owned()).collect())
}

/// What a person has said at the end of a history that a thread does not have, in order.
fn news(stored: &Transcript, shown: &[Message]) -> Vec<Message> {
    let Some((last, _)) = history::prompt(shown) else {
        return Vec::new();
    };
    let known: HashSet<&MessageId> = stored.lines.iter().map(|line| &line.message.id).collect();
    let mut seen = HashSet::new();
    let before = shown[..=last]
        .iter()
        .rev()
        .filter(|message| history::is_said(message));
    let mut news: Vec<_> = before
        .take_while(|it| it.is_users() && !known.contains(&it.id) && seen.insert(&it.id))
        .cloned()
        .collect();
    news.reverse();
    news
}

/// Gives results ids of their own, where the client's are those of other messages.
fn own_ids(
    said: Vec<Option<Said>>,
    transcript: Option<&Transcript>,
    runtime: &Runtime,
) -> Vec<Option<Said>> {
    let lines = transcript.map_or(&[][..], |it| &it.lines);
    let mut taken: HashSet<MessageId> = lines.iter().map(|it| it.message.id.clone()).collect();
    let mut own = |said| match said {
        Said::Result(mut message) => {
            if !taken.insert(message.id.clone()) {
                let id = runtime.env().id("msg");
                message.id = MessageId::new(id).expect("our own ids are legal");
            }
            Said::Result(message)
        }
        other => other,
    };
    said.into_iter().map(|said| said.map(&mut own)).collect()
}
