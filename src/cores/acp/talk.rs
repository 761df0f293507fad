//! What goes on in an open session in one turn: what was said before it, the settings, the prompt, and what the
//! agent says.

mod asks;
mod calls;
mod setting;

use std::sync::Arc;

use agent_client_protocol as sdk;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tracing::warn;

use self::{asks::Asks, calls::Calls};
use super::{
    board::{Hearing, Incoming, Kept},
    client::Peer,
    failure::Failure,
    pool::Open,
    preface::{self, Earlier},
    prompt::{Prompt, Takes},
    session::{Origin, Session},
    settings::Offers,
    shelf::Conversation,
    translate::Translator,
    turn::{Halt, Turn},
    usage::{self, Meters},
    vendors::Vendor,
    worker::Worker,
};
use crate::deps::{CoreEvent, Gone, SessionRef, StopReason};

/// What goes on in an open session.
pub(super) struct Talk<'a> {
    turn: &'a Turn,
    peer: Peer,
    conversation: Conversation,
    takes: Takes,
    /// How the session came to be open.
    origin: Origin,
    /// Whether the agent takes instructions with the opening of a session.
    takes_instructions: bool,
    offers: Offers,
    hearing: Hearing,
    translator: Translator,
    /// What the session has spent, if the agent counts from its beginning.
    meters: Option<Arc<Meters>>,
    /// What the session was last said to be called.
    title: Option<String>,
    /// What people are asked at the moment.
    asks: Asks,
    /// The tools of the page that the agent can call.
    calls: Calls,
    /// Whether the agent was refused something.
    was_refused: bool,
    /// Whether it was said in the log that nobody could be asked something.
    has_warned: bool,
    vendor: Vendor,
}

impl<'a> Talk<'a> {
    /// Begins, with what is to be said before anything else: what was said while nobody listened, and what
    /// the session is set to.
    pub(super) async fn begin(
        turn: &'a Turn,
        worker: &Worker,
        session: Session,
    ) -> Result<Self, Halt> {
        let Session {
            conversation,
            origin,
            offers,
            hearing,
            before,
            news,
            past: _,
            tools,
            is_to_list,
        } = session;
        let capabilities = &worker.hello.capabilities;
        let vendor = Vendor::of(&worker.hello.info);
        let mut talk = Self {
            turn,
            peer: worker.peer.clone(),
            translator: worker.translator(&conversation.session),
            meters: vendor
                .counts_by_session()
                .then(|| Arc::clone(&worker.meters)),
            conversation,
            takes: Takes::of(capabilities),
            origin,
            takes_instructions: worker.hello.has("systemPrompt"),
            offers,
            hearing,
            title: None,
            asks: Asks::default(),
            calls: Calls::new(tools, is_to_list, &turn.io),
            was_refused: false,
            has_warned: false,
            vendor,
        };
        talk.show().await?;
        talk.catch_up(before).await?;
        let kept = talk.hearing.take_kept();
        talk.catch_up(kept).await?;
        talk.catch_up(news).await?;
        talk.set().await?;
        Ok(talk)
    }

    /// The thread, and the agent's id of the session.
    pub(super) fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What is to be known of the session while it is open.
    pub(super) fn open(&self) -> Open {
        Open {
            offers: self.offers.clone(),
            tools: self.calls.place(),
        }
    }

    /// Passes on what was said while nobody listened, as messages of their own. What it says of the settings
    /// was read when the session was opened.
    async fn catch_up(&mut self, kept: Kept) -> Result<(), Gone> {
        if kept.is_empty() {
            return Ok(());
        }
        for incoming in kept.said {
            match incoming {
                Incoming::Update(params) => {
                    self.entitle(&params).await?;
                    let events = self.translator.translate(params);
                    self.turn.emit(events).await?;
                }
                Incoming::Asked(request) => self.tell(*request).await?,
            }
        }
        if kept.lost > 0 {
            let value = json!({"updates": kept.lost});
            self.turn.notice("output_lost", value).await?;
        }
        self.turn.io.emit(CoreEvent::MessageEnd).await
    }

    /// Sends the prompt, and passes on what the agent says until it answers.
    ///
    /// # Errors
    /// It answers with an error, or nobody listens any more.
    pub(super) async fn prompt(&mut self) -> Result<StopReason, Halt> {
        let Turn {
            options,
            request,
            io,
            ..
        } = self.turn;
        let earlier = self.earlier();
        let mut prefix = match &options.instructions {
            Some(text) if self.is_first() && !self.takes_instructions => {
                preface::instructions(text)
            }
            _ => String::new(),
        };
        prefix.extend(earlier.as_ref().map(|earlier| earlier.text.as_str()));
        if self.vendor.hides_tools() {
            prefix.push_str(&preface::tools(&self.calls.news()));
        }
        prefix.push_str(&request.context_block());
        let prompt = Prompt::new(&prefix, &request.prompt, self.takes);
        if !prompt.skipped.is_empty() {
            let count = prompt.skipped.len();
            let agent = &options.name;
            warn!(agent, count, "the agent does not take these attachments");
            let value = json!({"skipped": prompt.skipped});
            self.turn.notice("attachments_skipped", value).await?;
        }
        if let Some(listed) = self.calls.listed() {
            self.hear_until(listed).await?;
        }
        if io.is_stopped() {
            // The stop was told before the prompt, to which it would not apply.
            return Ok(StopReason::Cancelled);
        }
        let session = &self.conversation.session;
        let params = json!({"sessionId": session, "prompt": prompt.blocks});
        let answer = self.peer.request("session/prompt", params);
        // Not sooner: a session that was never prompted was told nothing, neither its instructions nor what was
        // said before.
        let bound = SessionRef::new(session);
        if matches!(self.origin, Origin::Replacement | Origin::Rewound) {
            io.rebind(bound).await?;
        } else {
            io.bind(bound).await?;
        }
        self.turn.let_go_of_rewound(&self.conversation);
        if let Some(Earlier {
            messages, omitted, ..
        }) = earlier
        {
            let value = json!({"messages": messages, "omitted": omitted});
            self.turn.notice("history_told", value).await?;
        }
        let answer = self.hear_until(answer).await?;
        // An answer never overtakes an update, but both can be there at once. What comes later is for the
        // next turn.
        self.hearing.stop();
        // It waits for nobody any more.
        self.asks.clear();
        while let Some((incoming, _room)) = self.hearing.next().await {
            match incoming {
                Incoming::Asked(request) => self.tell(*request).await?,
                update @ Incoming::Update(_) => self.pass_on(update).await?,
            }
        }
        for params in self.calls.end() {
            let events = self.translator.translate(params);
            self.turn.emit(events).await?;
        }
        let left = self.translator.finish();
        self.turn.emit(left).await?;
        if let Ok(answer) = &answer {
            let offered = self.offers.model().map(|model| model.id);
            let model = self.translator.model().or(offered.as_deref());
            let mut spent = usage::of_answer(answer, model);
            if let Some(meters) = &self.meters {
                spent = meters.since(&self.conversation.session, spent);
            }
            let context = self.translator.settle(&spent);
            let spent = spent.into_iter().map(|it| CoreEvent::Usage(it.into()));
            self.turn.emit(spent.chain(context)).await?;
        }
        match stop_reason(answer)? {
            StopReason::Cancelled if !self.turn.io.is_stopped() => self.gave_up(),
            reason => Ok(reason),
        }
    }

    /// Whether the prompt is the first of the session.
    fn is_first(&self) -> bool {
        self.origin != Origin::Known
    }

    /// What the session has not heard of the conversation, if it is to be told.
    fn earlier(&self) -> Option<Earlier> {
        let Turn {
            options, request, ..
        } = self.turn;
        let is_told = self.is_first() && options.seed_history;
        is_told.then(|| Earlier::of(&request.history)).flatten()
    }

    /// What it means that the agent calls its turn cancelled, which nobody has asked for. Some do so when they
    /// give up because they were refused something, others when something of theirs has crashed.
    fn gave_up(&self) -> Result<StopReason, Halt> {
        if self.was_refused {
            return Ok(StopReason::Refusal);
        }
        Err(Failure::Agent("it has cancelled the turn by itself".into()).into())
    }

    /// Passes on what the agent says, and what people say to it, until it answers.
    async fn hear_until<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, Gone> {
        tokio::pin!(answer);
        loop {
            tokio::select! {
                biased;
                Some(settled) = self.asks.next() => self.settle(settled),
                Some((incoming, _room)) = self.hearing.next() => self.pass_on(incoming).await?,
                event = self.calls.next() => self.follow(event).await?,
                answer = &mut answer => return Ok(answer),
            }
        }
    }

    /// Passes on what the agent says.
    async fn pass_on(&mut self, incoming: Incoming) -> Result<(), Gone> {
        let params = match incoming {
            Incoming::Update(params) => params,
            Incoming::Asked(request) => return self.ask(*request).await,
        };
        let is_own = params["sessionId"] == self.conversation.session;
        let has_changed = is_own && {
            let update = &params["update"];
            let text = update["content"]["text"].as_str();
            let aside = text.and_then(|text| self.vendor.aside(update, text));
            self.offers.read(aside.as_ref().unwrap_or(update))
        };
        self.entitle(&params).await?;
        let Some(params) = self.calls.hear(params) else {
            return self.begin_calls().await;
        };
        let events = self.translator.translate(params);
        self.turn.emit(events).await?;
        if has_changed {
            self.show().await?;
        }
        Ok(())
    }

    /// Passes on what the session is called, if that is what is said (ACP `session_info_update`).
    async fn entitle(&mut self, params: &Value) -> Result<(), Gone> {
        let update = &params["update"];
        if params["sessionId"] != self.conversation.session
            || update["sessionUpdate"] != "session_info_update"
        {
            return Ok(());
        }
        let title = update["title"].as_str().and_then(preface::title);
        let Some(title) = title.filter(|title| self.title.as_deref() != Some(*title)) else {
            return Ok(());
        };
        self.title = Some(title.to_owned());
        self.turn.io.entitle(title.to_owned()).await
    }
}

/// What the answer to a prompt means. A reason that nobody knows is not taken for a success.
fn stop_reason(answer: Result<Value, sdk::Error>) -> Result<StopReason, Failure> {
    let answer = answer.map_err(|error| Failure::of_answer(&error))?;
    match answer["stopReason"].as_str() {
        Some("end_turn") => Ok(StopReason::EndTurn),
        Some("max_tokens") => Ok(StopReason::MaxTokens),
        Some("max_turn_requests") => Ok(StopReason::MaxTurnRequests),
        Some("refusal") => Ok(StopReason::Refusal),
        Some("cancelled") => Ok(StopReason::Cancelled),
        other => Err(Failure::Agent(format!(
            "it stopped for the reason {other:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_r69_only_a_known_reason_ends_a_turn_well() {
        let known = [
            StopReason::EndTurn,
            StopReason::MaxTokens,
            StopReason::MaxTurnRequests,
            StopReason::Refusal,
            StopReason::Cancelled,
        ];
        for reason in known {
            let answer = json!({"stopReason": reason.as_str()});
            assert_eq!(stop_reason(Ok(answer)).unwrap(), reason);
        }
        for answer in [json!({}), json!(null), json!({"stopReason": "error"})] {
            assert!(stop_reason(Ok(answer)).is_err());
        }
    }
}
