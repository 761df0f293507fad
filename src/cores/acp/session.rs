//! From a process to an open session: the one that a thread has, by `session/resume` or `session/load`, or else
//! a new one.

use std::{path::Path, time::Duration};

use agent_client_protocol as sdk;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{debug, info};

use super::{
    board::{Hearing, Incoming, Kept},
    failure::{Failure, describe, is_closed},
    options::Options,
    pool::Lease,
    settings::Offers,
    shelf::Conversation,
};
use crate::{deps::TurnIo, protocol::ThreadId};

/// An agent may answer `session/load` before it has told the whole history. So much silence means that
/// it has.
const REPLAY_SILENCE: Duration = Duration::from_millis(200);

/// How long the rest of a history is waited for.
const REPLAY_LIMIT: Duration = Duration::from_secs(10);

/// An open session.
pub(super) struct Session {
    /// The thread that it is of, and the agent's id for it.
    pub(super) conversation: Conversation,
    /// How it came to be open.
    pub(super) origin: Origin,
    /// What can be chosen in it.
    pub(super) offers: Offers,
    /// What is said in it from now on.
    pub(super) hearing: Hearing,
    /// What was said in it, or in the one that it replaces, while nobody listened.
    pub(super) kept: Kept,
}

/// How a session came to be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is the thread's.
    Known,
    /// The thread had none.
    New,
    /// It stands in for the thread's, which is gone.
    Replacement,
}

/// Where and how sessions are opened.
pub(super) struct Opening<'a> {
    pub(super) lease: &'a Lease,
    pub(super) thread: &'a ThreadId,
    pub(super) io: &'a TurnIo,
    pub(super) options: &'a Options,
}

/// How a known session is returned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Resume,
    Load,
}

impl Way {
    /// The ways that an agent has, by its capabilities. Resuming is better: it tells no history.
    fn of(capabilities: &Value) -> impl Iterator<Item = Self> {
        let resume = capabilities["sessionCapabilities"]["resume"].is_object();
        let load = capabilities["loadSession"] == true;
        let ways = [(Self::Resume, resume), (Self::Load, load)];
        ways.into_iter().filter(|(_, has)| *has).map(|(way, _)| way)
    }

    fn method(self) -> &'static str {
        match self {
            Self::Resume => "session/resume",
            Self::Load => "session/load",
        }
    }
}

impl Opening<'_> {
    /// Opens the conversation `known`, or else a new one.
    ///
    /// # Errors
    /// Any [`Failure`] but [`Failure::Unavailable`].
    pub(super) async fn open(&self, known: Option<&Conversation>) -> Result<Session, Failure> {
        let patience = self.options.start_timeout;
        timeout(patience, self.open_patiently(known))
            .await
            .unwrap_or_else(|_| Err(Failure::Handshake(format!("no session in {patience:?}"))))
    }

    async fn open_patiently(&self, known: Option<&Conversation>) -> Result<Session, Failure> {
        let Some(known) = known else {
            return self.open_new(Origin::New, Kept::default()).await;
        };
        let (hearing, kept) = self.lease.listen(known, self.io.clone());
        let mut session = Session {
            conversation: known.clone(),
            origin: Origin::Known,
            offers: Offers::default(),
            hearing,
            kept,
        };
        if let Some(offers) = self.lease.open_session(known) {
            session.offers = offers;
            return Ok(session);
        }
        if self.return_to(&mut session).await? {
            return Ok(session);
        }
        let Session { hearing, kept, .. } = session;
        drop(hearing);
        self.open_new(Origin::Replacement, kept).await
    }

    async fn open_new(&self, origin: Origin, mut kept: Kept) -> Result<Session, Failure> {
        let peer = &self.lease.worker().peer;
        let answer = peer.request("session/new", self.params(None)).await;
        let shown = answer.map_err(|error| Failure::of_answer(&error))?;
        let id = shown["sessionId"].as_str().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| Failure::Agent("the new session has no id".into()))?;
        let conversation = Conversation {
            thread: self.thread.clone(),
            session: id.to_owned(),
        };
        let (hearing, more) = self.lease.listen(&conversation, self.io.clone());
        kept.append(more);
        let mut offers = Offers::default();
        offers.read(&shown);
        self.lease.note_session(&conversation, &offers);
        Ok(Session {
            conversation,
            origin,
            offers,
            hearing,
            kept,
        })
    }

    /// Goes back to a session, by the first way that works. Answers with whether one did.
    async fn return_to(&self, session: &mut Session) -> Result<bool, Failure> {
        let agent = &self.options.name;
        let worker = self.lease.worker();
        for way in Way::of(&worker.hello.capabilities) {
            let method = way.method();
            let answer = worker
                .peer
                .request(method, self.params(Some(&session.conversation.session)));
            match session.forget_until(answer).await {
                Ok(shown) => {
                    if way == Way::Load {
                        session.forget_history().await;
                    }
                    session.offers.read(&shown);
                    self.lease
                        .note_session(&session.conversation, &session.offers);
                    return Ok(true);
                }
                Err(error) if is_closed(&error) || error.code == sdk::ErrorCode::AUTH_REQUIRED => {
                    return Err(Failure::of_answer(&error));
                }
                Err(error) => {
                    let code = error.code.value();
                    info!(agent, method, code, "the session cannot be returned to so");
                    debug!(
                        agent,
                        detail = describe(&error),
                        "the session cannot be returned to"
                    );
                }
            }
        }
        info!(
            agent,
            "a new session takes the place of one that cannot be returned to"
        );
        Ok(false)
    }

    /// The parameters of a request that opens a session.
    fn params(&self, session: Option<&str>) -> Value {
        let worker = self.lease.worker();
        let workdir: &Path = &worker.workdir;
        let mut params = json!({"cwd": workdir, "mcpServers": []});
        if let Some(id) = session {
            params["sessionId"] = json!(id);
        }
        if let Some(text) = &self.options.instructions
            && takes_instructions(&worker.hello.capabilities)
        {
            // ACP `SystemPrompt`; the same is sent each time the session is opened.
            let content = json!([{"type": "text", "text": text}]);
            params["systemPrompt"] = json!({"mode": "append", "content": content});
        }
        params
    }
}

/// Whether an agent takes instructions with the opening of a session (ACP `sessionCapabilities.systemPrompt`).
pub(super) fn takes_instructions(capabilities: &Value) -> bool {
    capabilities["sessionCapabilities"]["systemPrompt"].is_object()
}

impl Session {
    /// Waits for an answer, and forgets the history that is told meanwhile.
    async fn forget_until<T>(&mut self, answer: impl Future<Output = T>) -> T {
        tokio::pin!(answer);
        loop {
            tokio::select! {
                biased;
                Some((incoming, _room)) = self.hearing.next() => self.kept.push_news(incoming),
                answer = &mut answer => return answer,
            }
        }
    }

    /// Forgets what is still told of the history.
    async fn forget_history(&mut self) {
        let limit = Instant::now() + REPLAY_LIMIT;
        while let Ok(Ok(Some((incoming, _room)))) =
            timeout_at(limit, timeout(REPLAY_SILENCE, self.hearing.next())).await
        {
            self.kept.push_news(incoming);
        }
    }
}

impl Kept {
    /// Keeps what says how the session is now, and nothing of what was said in it.
    fn push_news(&mut self, incoming: Incoming) {
        const HISTORY: [&str; 6] = [
            "user_message_chunk",
            "agent_message_chunk",
            "agent_thought_chunk",
            "tool_call",
            "tool_call_update",
            "plan",
        ];
        if let Incoming::Update(params) = &incoming
            && params["update"]["sessionUpdate"]
                .as_str()
                .is_some_and(|kind| !HISTORY.contains(&kind))
        {
            self.push(incoming);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_session_is_resumed_rather_than_loaded_and_loaded_if_that_fails() {
        use Way::{Load, Resume};
        for (capabilities, ways) in [
            (
                json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}),
                &[Resume, Load][..],
            ),
            (
                json!({"loadSession": true, "sessionCapabilities": {"resume": null}}),
                &[Load],
            ),
            (json!({"loadSession": true}), &[Load]),
            (json!({"sessionCapabilities": {"list": {}}}), &[]),
            (json!(null), &[]),
        ] {
            let found: Vec<_> = Way::of(&capabilities).collect();
            assert_eq!(found, ways, "{capabilities}");
        }
    }

    #[test]
    fn of_a_history_only_what_says_how_things_are_now_is_kept() {
        let mut kept = Kept::default();
        for kind in [
            "user_message_chunk",
            "available_commands_update",
            "plan",
            "tool_call",
        ] {
            let update = json!({"sessionUpdate": kind});
            kept.push_news(Incoming::Update(
                json!({"sessionId": "s", "update": update}),
            ));
        }
        assert_eq!(kept.said.len(), 1);
    }
}
