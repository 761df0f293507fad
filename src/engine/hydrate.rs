//! A thread as it is, as a stream: for a page that was reloaded, for any number of viewers, for a run that is asked
//! for again. While a run is live the stream follows it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use serde_json::{Value, json};
use tracing::info;

use super::{
    Reader, Runtime, StartError, UnknownThread, Watch,
    asked::Asked,
    ending::Ending,
    ends::RunIds,
    live::Stage,
    opening::{last_prompt, whole},
    restate::{self, Visit},
    start::Order,
};
use crate::{
    protocol::{Peer, RunAgentInput, RunId},
    state::Document,
    store::{Key, Outcome, Run, Thread},
};

impl Runtime {
    /// Answers a POST that brings nothing: the thread as it is, and the rest of the run that is live.
    pub(super) async fn hydrate(
        &self,
        key: &Key,
        input: &RunAgentInput,
    ) -> Result<Reader, StartError> {
        let peer = Peer::of(input.protocol_version.as_deref());
        let env = self.0.env.clone();
        if let Some(visit) = self.visit(key, peer).await {
            return Ok(visit.reader(env, peer));
        }
        let (Some(thread), _) = self.0.store.look(key, None).await else {
            return Err(StartError::UnknownThread);
        };
        let frames = self.at_rest(key, &RunIds::of(input), &thread, peer);
        Ok(Reader::of_frames(env, frames))
    }

    /// Follows a thread as a viewer: its state, its messages, what is open, and what is said from now on, to
    /// the end of the live run. Where `last` is the id of a place in the run, only what comes after that: the
    /// stream goes on with the one that the id was read from. Ids stand only where no message is open.
    ///
    /// # Errors
    /// There is no such thread.
    pub async fn watch(
        &self,
        key: &Key,
        peer: Peer,
        last: Option<&str>,
    ) -> Result<Watch, UnknownThread> {
        let env = self.0.env.clone();
        if let Some(last) = last {
            let live = self.0.slots.live(key).map(|live| live.log.clone());
            let log = live.or_else(|| self.0.recent.get(key).map(|(_, log)| log));
            if let Some(cursor) = log.and_then(|log| log.resume(peer, last)) {
                if cursor.is_at_end() {
                    return Ok(Watch::Seen);
                }
                let cursor = cursor.marked();
                return Ok(Watch::Stream(Reader::of_log(env, Vec::new(), cursor)));
            }
        }
        if let Some(visit) = self.visit(key, peer).await {
            return Ok(Watch::Stream(visit.marked().reader(env, peer)));
        }
        let (Some(thread), _) = self.0.store.look(key, None).await else {
            return Err(UnknownThread);
        };
        let place = place(&thread, self.0.slots.asked(key).as_deref());
        if last == Some(&place) {
            return Ok(Watch::Seen);
        }
        let ids = RunIds {
            thread: key.thread.clone(),
            // Nobody asked for one, and it is no run of the thread's.
            run: RunId::new(env.id("view")).expect("our own ids are legal"),
            parent: None,
        };
        let mut frames = self.at_rest(key, &ids, &thread, peer);
        frames.push(Bytes::from(format!("id: {place}\n\n")));
        Ok(Watch::Stream(Reader::of_frames(env, frames)))
    }

    /// Visits the run that is live on a thread, if one is.
    async fn visit(&self, key: &Key, peer: Peer) -> Option<Visit> {
        while let Some(live) = self.0.slots.live(key) {
            if live.opened().await == Stage::Open
                && let Some(visit) = live.visit(peer).await
            {
                return Some(visit);
            }
            live.ended().await;
        }
        None
    }

    /// A thread on which nothing runs, with a word on its last run if that did not end well.
    fn at_rest(&self, key: &Key, ids: &RunIds, thread: &Thread, peer: Peer) -> Vec<Bytes> {
        let mut notices = word_on_last(thread);
        // A failure is told as it was, but does not make showing it fail.
        let at_rest = Ending::Done { stop_reason: None };
        let asked = self.0.slots.asked(key);
        if let (None, Some(run)) = (&asked, &thread.last_run)
            && run.outcome == Outcome::Interrupted
        {
            // What it has asked went with the daemon that asked.
            let lost = json!({"runId": run.id, "outcome": "lost"});
            notices.push(("last_run".to_owned(), lost));
        }
        let ending = asked.map_or(at_rest, |asked| asked.shown());
        self.ended(key, ids, thread, notices, &ending, peer)
    }

    /// Looks whether a run has ended that is asked for while something else has its thread, so that nothing is
    /// stopped, refused or waited for only to tell that.
    pub(super) async fn told_again(&self, order: &Order) -> Option<Reader> {
        let Order {
            key, input, peer, ..
        } = order;
        let is_anothers = || self.0.slots.is_anothers(key, &input.run_id);
        // Most often it is a new one, for which no transcript needs to be read.
        if !is_anothers() || self.0.store.run(key, &input.run_id).await.is_none() {
            return None;
        }
        let (thread, run) = self.0.store.look(key, Some(&input.run_id)).await;
        // Looked at again: it may have begun meanwhile.
        let (thread, run) = (thread?, run.filter(|_| is_anothers())?);
        Some(self.replay(key, input, *peer, &thread, &run))
    }

    /// Tells again how a run ended, for a client that asks for it a second time.
    pub(super) fn replay(
        &self,
        key: &Key,
        input: &RunAgentInput,
        peer: Peer,
        thread: &Thread,
        run: &Run,
    ) -> Reader {
        info!(thread = %input.thread_id, run = %input.run_id, "a run was asked for again: told how it ended");
        // As it was, for one that asks the same; whoever asks something else should see that it is not answered.
        if is_known(thread, input)
            && let Some(kept) = self.kept(key, &run.id, peer)
        {
            return kept;
        }
        let notice = ("notice".to_owned(), json!({"code": "run_replayed"}));
        let ids = RunIds::of(input);
        let asked = self.0.slots.asked(key).filter(|asked| asked.run == run.id);
        let ending = asked.map_or_else(|| Ending::of(&run.outcome), |asked| asked.shown());
        let frames = self.ended(key, &ids, thread, vec![notice], &ending, peer);
        Reader::of_frames(self.0.env.clone(), frames)
    }

    /// A run that has just ended, as it was.
    pub(super) fn kept(&self, key: &Key, run: &RunId, peer: Peer) -> Option<Reader> {
        let (recent, log) = self.0.recent.get(key)?;
        let cursor = log.whole(peer).filter(|_| recent == *run)?;
        Some(Reader::of_log(self.0.env.clone(), Vec::new(), cursor))
    }

    /// A thread on which nothing runs, as a whole stream.
    pub(super) fn ended(
        &self,
        key: &Key,
        ids: &RunIds,
        thread: &Thread,
        notices: Vec<(String, Value)>,
        ending: &Ending,
        peer: Peer,
    ) -> Vec<Bytes> {
        let snapshot = self.kept_document(key, thread).snapshot();
        let messages = whole(&thread.transcript);
        let namespace = &self.0.options.namespace;
        restate::ended(
            &self.0.env,
            namespace,
            ids,
            snapshot,
            messages,
            notices,
            ending,
            peer,
        )
    }

    /// The document of a thread on which nothing runs.
    pub(super) fn kept_document(&self, key: &Key, thread: &Thread) -> Document {
        let mut document = self.document(key);
        if let Some(session) = &thread.session {
            document.set_session(session);
        }
        if let Some(said) = thread.prompts().next() {
            document.set_last_prompt(said.clone());
        }
        document
    }
}

/// The place at the end of a thread on which nothing runs: another one after every change, also of two in one
/// millisecond. Messages come with a run, so they need not be looked at.
fn place(thread: &Thread, asked: Option<&Asked>) -> String {
    let mut hasher = DefaultHasher::new();
    let is_partial = thread.transcript.is_partial;
    (thread.updated_ms, &thread.session, is_partial).hash(&mut hasher);
    thread.last_run.hash(&mut hasher);
    asked.map(Asked::ids).hash(&mut hasher);
    format!("rest.{:016x}", hasher.finish())
}

/// Whether what a request says last is in a thread as it says it.
fn is_known(thread: &Thread, input: &RunAgentInput) -> bool {
    let lines = &thread.transcript.lines;
    last_prompt(&input.messages).is_some_and(|asked| {
        let mut known = lines.iter().map(|line| &line.message);
        known.any(|known| known.id == asked.id && known.body == asked.body)
    })
}

/// A word on the last run of a thread on which nothing runs, if it did not end well.
pub(super) fn word_on_last(thread: &Thread) -> Vec<(String, Value)> {
    let is_well = |run: &Run| matches!(run.outcome, Outcome::Success { .. } | Outcome::Interrupted);
    let last = thread.last_run.iter().filter(|run| !is_well(run));
    last.map(|run| ("last_run".to_owned(), told(run))).collect()
}

/// A run that did not end well, for people.
fn told(run: &Run) -> Value {
    let outcome = run.outcome.at_rest();
    match &run.outcome {
        Outcome::Failed { code, message } => json!({
            "runId": run.id, "outcome": outcome, "code": code, "message": message,
        }),
        _ => json!({"runId": run.id, "outcome": outcome}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Transcript;

    #[test]
    fn two_changes_in_one_millisecond_are_two_places() {
        let run = |id: &str, outcome| Run {
            id: RunId::new(id).unwrap(),
            outcome,
            started_ms: 1,
            ended_ms: Some(1),
        };
        let thread = Thread {
            session: None,
            workdir: None,
            title: None,
            created_ms: 1,
            updated_ms: 1,
            transcript: Transcript::default(),
            last_run: Some(run("r1", Outcome::Cancelled)),
        };
        let next = Thread {
            last_run: Some(run("r2", Outcome::Cancelled)),
            ..thread.clone()
        };
        let ended = Thread {
            last_run: Some(run("r1", Outcome::Running)),
            ..thread.clone()
        };
        let mut lost = thread.clone();
        lost.transcript.is_partial = true;
        let places = [&thread, &next, &ended, &lost].map(|thread| place(thread, None));
        assert_eq!(place(&thread.clone(), None), places[0]);
        let different: std::collections::HashSet<_> = places.iter().collect();
        assert_eq!(different.len(), places.len());
    }
}
