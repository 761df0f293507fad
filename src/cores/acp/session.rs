//! From a process to an open session: the one that a thread has, by `session/resume` or `session/load`, or else
//! a new one.

use std::{path::Path, sync::Arc, time::Duration};

use agent_client_protocol as sdk;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{debug, info};

use super::{
    board::{Hearing, Incoming, Kept, is_usable},
    failure::{Failure, describe, is_closed},
    handover,
    options::Options,
    past::Past,
    pool::{Lease, Open},
    preset::Relists,
    settings::Offers,
    shelf::Conversation,
    vendors::Vendor,
    worker::Hello,
};
use crate::{
    cores::mcp::Place,
    protocol::{MessageBody, ThreadId, Tool},
};

/// An agent may answer `session/load` before it has told the whole history. So much silence means that
/// it has.
const REPLAY_SILENCE: Duration = Duration::from_millis(200);

/// How long an agent of which nobody knows whether it notices other tools has for that.
const NOTICING: Duration = Duration::from_secs(3);

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
    /// What is said in it from now on, and what was said while nobody listened.
    pub(super) hearing: Hearing,
    /// What was said in the one that it replaces while nobody listened.
    pub(super) before: Kept,
    /// What was told with its opening of how it is set.
    pub(super) news: Kept,
    /// What was said in it until now, if its opening has told that.
    pub(super) past: Vec<MessageBody>,
    /// Where its tools are, if it was handed any.
    pub(super) tools: Option<Arc<Place>>,
    /// Whether the agent may not know yet which tools there are.
    pub(super) is_to_list: bool,
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
    /// It stands in for the thread's, which has heard what was taken back.
    Rewound,
}

/// Where and how sessions are opened.
pub(super) struct Opening<'a> {
    pub(super) lease: &'a Lease,
    pub(super) thread: &'a ThreadId,
    pub(super) options: &'a Options,
    /// The tools that the page has.
    pub(super) page: Arc<[Tool]>,
}

/// How a known session is returned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Resume,
    Load,
}

impl Way {
    /// The ways that an agent has, by its capabilities. Resuming is better: it tells no history.
    fn of(hello: &Hello) -> impl Iterator<Item = Self> {
        let resume = hello.has("resume");
        let load = hello.capabilities["loadSession"] == true;
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
    /// Opens the conversation `known`. If that cannot be, a new one.
    ///
    /// # Errors
    /// Any [`Failure`] but [`Failure::Unavailable`].
    pub(super) async fn open(&self, known: &Conversation) -> Result<Session, Failure> {
        // Another thread's session may have that name in this process.
        let Some(hearing) = self.lease.listen(known) else {
            return self.open_new(Origin::Replacement).await;
        };
        let mut session = Session::new(known.clone(), Origin::Known, hearing);
        if let Some(Open { offers, tools }) = self.lease.known_session(known) {
            session.offers = offers;
            session.tools = tools;
            session.read_kept();
            if !self.is_to_reopen(&mut session).await {
                return Ok(session);
            }
            let patience = self.options.start_timeout;
            let worker = self.lease.worker();
            worker.close_session(&known.session, patience).await;
        }
        if self.return_to(&mut session).await? {
            return Ok(session);
        }
        let mut new = self.open_new(Origin::Replacement).await?;
        new.before = session.hearing.take_kept();
        Ok(new)
    }

    /// Opens a new one.
    ///
    /// # Errors
    /// Any [`Failure`] but [`Failure::Unavailable`].
    pub(super) async fn open_new(&self, origin: Origin) -> Result<Session, Failure> {
        let peer = &self.lease.worker().peer;
        let patience = self.options.start_timeout;
        let tools = self.tools();
        let params = self.params(None, tools.as_deref())?;
        let answer = timeout(patience, peer.request("session/new", params)).await;
        let answer =
            answer.map_err(|_| Failure::Handshake(format!("no session in {patience:?}")))?;
        let shown = answer.map_err(|error| Failure::of_answer(&error))?;
        let wrong = |what: &str| Failure::Agent(format!("the new session's id is {what}"));
        let id = shown["sessionId"].as_str().filter(|id| is_usable(id));
        let conversation = Conversation {
            thread: self.thread.clone(),
            session: id.ok_or_else(|| wrong("missing or too long"))?.to_owned(),
        };
        let hearing = self.lease.listen(&conversation);
        let hearing = hearing.ok_or_else(|| wrong("that of another session"))?;
        let mut session = Session::new(conversation, origin, hearing);
        session.offers.read(&shown);
        session.read_kept();
        session.is_to_list = tools.is_some();
        session.tools = tools;
        self.lease
            .note_session(&session.conversation, session.open());
        Ok(session)
    }

    /// Goes back to a session, by the first way that works. Answers with whether one did.
    async fn return_to(&self, session: &mut Session) -> Result<bool, Failure> {
        let agent = &self.options.name;
        let worker = self.lease.worker();
        // What was said before is older than the answer.
        session.read_kept();
        let tools = session.tools.take().or_else(|| self.tools());
        for way in Way::of(&worker.hello) {
            let method = way.method();
            let params = self.params(Some(&session.conversation.session), tools.as_deref())?;
            let id = &session.conversation.session;
            let mut past = (way == Way::Load).then(|| Past::new(worker.translator(id)));
            let answer = worker.peer.request(method, params);
            let answer = timeout(self.options.start_timeout, answer);
            let answer = session.hear_until(answer, past.as_mut());
            // One that answers nothing may know another way.
            let Ok(answer) = answer.await else {
                info!(agent, method, "no answer in time");
                continue;
            };
            match answer {
                Ok(shown) => {
                    session.offers.read(&shown);
                    if let Some(mut past) = past {
                        session.hear_rest(&mut past).await;
                        session.past = past.finish().unwrap_or_default();
                    }
                    session.is_to_list = tools.is_some();
                    session.tools = tools;
                    self.lease
                        .note_session(&session.conversation, session.open());
                    return Ok(true);
                }
                Err(error) if is_closed(&error) || error.code == sdk::ErrorCode::AUTH_REQUIRED => {
                    return Err(Failure::of_answer(&error));
                }
                Err(error) => {
                    let code = error.code.value();
                    info!(agent, method, code, "the session cannot be returned to so");
                    let detail = describe(&error);
                    debug!(agent, detail, "the session cannot be returned to so");
                }
            }
        }
        info!(
            agent,
            "a new session takes the place of one that cannot be returned to"
        );
        Ok(false)
    }

    /// Whether the person can be asked with a tool of ours.
    fn asks(&self) -> bool {
        self.options.questions && !Vendor::of(&self.lease.worker().hello.info).asks_by_itself()
    }

    /// Where the tools of a session are that is to be opened: those of its process, or else its own, if there is any
    /// and the agent takes them.
    fn tools(&self) -> Option<Arc<Place>> {
        let worker = self.lease.worker();
        let of_process = worker.tools.clone();
        let is_wanted = self.asks() || !self.page.is_empty();
        let is_taken = handover::Way::of(self.options, &worker.hello) != handover::Way::None;
        let own = || (is_wanted && is_taken).then(|| self.lease.place(self.asks()));
        let place = of_process.or_else(own)?;
        place.set_tools(&self.page);
        Some(place)
    }

    /// Offers the page's tools in a session that is open, and says whether the agent notices only once the session is
    /// opened again.
    async fn is_to_reopen(&self, session: &mut Session) -> bool {
        let hello = &self.lease.worker().hello;
        let can_reopen = hello.has("close") && Way::of(hello).next().is_some();
        let Some(place) = &session.tools else {
            // It has none, and was handed no place for some.
            let takes = handover::Way::of(self.options, hello) != handover::Way::None;
            return takes && can_reopen && !self.page.is_empty();
        };
        if !place.set_tools(&self.page) {
            return false;
        }
        session.is_to_list = true;
        match handover::relists(self.options) {
            Relists::Told | Relists::Restarted => false,
            Relists::Reopened => can_reopen,
            Relists::Unknown => can_reopen && timeout(NOTICING, place.listed()).await.is_err(),
        }
    }

    /// The parameters of a request that opens a session.
    fn params(&self, session: Option<&str>, tools: Option<&Place>) -> Result<Value, Failure> {
        let worker = self.lease.worker();
        let way = handover::Way::of(self.options, &worker.hello);
        let servers = handover::servers(self.options, way, tools)
            .map_err(|error| Failure::Handshake(format!("no tools for it: {error}")))?;
        let mut params = params(&worker.workdir, session, &servers);
        if let Some(text) = &self.options.instructions
            && worker.hello.has("systemPrompt")
        {
            // ACP `SystemPrompt`; the same is sent each time the session is opened.
            let content = json!([{"type": "text", "text": text}]);
            params["systemPrompt"] = json!({"mode": "append", "content": content});
        }
        Ok(params)
    }
}

/// The parameters of a request that opens a session, a new one or that of an id (ACP `session/new`, `session/load`,
/// `session/resume`).
pub(super) fn params(workdir: &Path, session: Option<&str>, servers: &Value) -> Value {
    let mut params = json!({"cwd": workdir, "mcpServers": servers});
    if let Some(id) = session {
        params["sessionId"] = json!(id);
    }
    params
}

impl Session {
    fn new(conversation: Conversation, origin: Origin, hearing: Hearing) -> Self {
        Self {
            conversation,
            origin,
            offers: Offers::default(),
            hearing,
            before: Kept::default(),
            news: Kept::default(),
            past: Vec::new(),
            tools: None,
            is_to_list: false,
        }
    }

    /// What is to be known of it while it is open.
    fn open(&self) -> Open {
        Open {
            offers: self.offers.clone(),
            tools: self.tools.clone(),
        }
    }

    /// Reads what was said while nobody listened, as far as it says how the session is set.
    fn read_kept(&mut self) {
        let Self {
            conversation,
            offers,
            hearing,
            ..
        } = self;
        hearing.look_at_kept(|kept| {
            for update in kept.updates(&conversation.session) {
                offers.read(update);
            }
        });
    }

    /// Waits for an answer, and hears the history that is told meanwhile.
    async fn hear_until<T>(
        &mut self,
        answer: impl Future<Output = T>,
        mut past: Option<&mut Past>,
    ) -> T {
        tokio::pin!(answer);
        loop {
            tokio::select! {
                biased;
                Some((incoming, _room)) = self.hearing.next() => {
                    self.hear(incoming, past.as_deref_mut());
                }
                answer = &mut answer => return answer,
            }
        }
    }

    /// Hears what is still told of the history.
    async fn hear_rest(&mut self, past: &mut Past) {
        let limit = Instant::now() + REPLAY_LIMIT;
        while let Ok(Ok(Some((incoming, _room)))) =
            timeout_at(limit, timeout(REPLAY_SILENCE, self.hearing.next())).await
        {
            self.hear(incoming, Some(past));
        }
    }

    /// Takes what says how the session is now, and apart from that what was said in it.
    fn hear(&mut self, incoming: Incoming, past: Option<&mut Past>) {
        if is_news(&incoming) {
            if let Incoming::Update(params) = &incoming {
                self.offers.read(&params["update"]);
            }
            self.news.push(incoming);
        } else if let (Incoming::Update(params), Some(past)) = (incoming, past)
            && params["sessionId"] == self.conversation.session
        {
            past.hear(params);
        }
    }
}

/// Whether an update that comes with a history is no part of it.
fn is_news(incoming: &Incoming) -> bool {
    const HISTORY: [&str; 9] = [
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "plan_update",
        "subagent_update",
        "session_message",
    ];
    let Incoming::Update(params) = incoming else {
        return false;
    };
    let kind = params["update"]["sessionUpdate"].as_str();
    kind.is_some_and(|kind| !HISTORY.contains(&kind))
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
            let hello = Hello {
                capabilities,
                info: json!({}),
                logins: json!([]),
            };
            let found: Vec<_> = Way::of(&hello).collect();
            assert_eq!(found, ways, "{hello:?}");
        }
    }

    #[test]
    fn of_a_history_only_what_says_how_things_are_now_is_news() {
        for (kind, wanted) in [
            ("user_message_chunk", false),
            ("available_commands_update", true),
            ("plan", false),
            ("tool_call", false),
        ] {
            let update = json!({"sessionUpdate": kind});
            let update = Incoming::Update(json!({"sessionId": "s", "update": update}));
            assert_eq!(is_news(&update), wanted, "{kind}");
        }
    }
}
