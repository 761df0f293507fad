//! One turn: the session's opening, the prompt, what the agent says, and the end or the stop.

use std::{path::Path, sync::Arc};

use agent_client_protocol as sdk;
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::warn;

use super::{
    client::Peer,
    failure::Failure,
    model,
    options::Options,
    prompt::Prompt,
    session::{self, Session},
    translate::Translator,
    usage,
};
use crate::deps::{CoreEvent, Gone, SessionRef, StopReason, TurnIo, TurnRequest};

/// A turn and what it needs, besides the program.
pub(super) struct Turn {
    pub(super) options: Arc<Options>,
    pub(super) request: TurnRequest,
    pub(super) io: TurnIo,
}

/// Why a turn does not go on.
enum Halt {
    /// Nobody listens any more.
    Gone,
    /// It failed.
    Failed(Failure),
}

impl From<Gone> for Halt {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Turn {
    /// Runs the turn against a started program that works in `workdir`, an absolute path.
    ///
    /// # Errors
    /// Any [`Failure`] but [`Failure::Unavailable`]. A turn that was to stop never fails.
    pub(super) async fn run(self, mut peer: Peer, workdir: &Path) -> Result<StopReason, Failure> {
        let ended = tokio::select! {
            biased;
            () = self.io.stopped() => Ok(StopReason::Cancelled),
            opened = self.open(&mut peer, workdir) => match opened {
                Ok(session) => self.prompt_until_stopped(peer, workdir, &session).await,
                Err(halt) => Err(halt),
            },
        };
        match ended {
            // Agents answer a cancelled prompt in many ways. It was stopped on purpose.
            _ if self.io.is_stopped() => Ok(StopReason::Cancelled),
            Ok(reason) => Ok(reason),
            Err(Halt::Gone) => Ok(StopReason::Cancelled),
            Err(Halt::Failed(failure)) => Err(failure),
        }
    }

    async fn open(&self, peer: &mut Peer, workdir: &Path) -> Result<Session, Halt> {
        let known = self.request.session.as_ref().map(SessionRef::as_str);
        let session = session::open(peer, &self.options, workdir, known).await?;
        self.io.bind(SessionRef::new(&session.id)).await?;
        if session.replaces {
            let value = json!({"session": session.id, "previous": known});
            self.emit_notice("session_replaced", value).await?;
        }
        if let Some(model) = model::visible(&session.shown) {
            self.io.emit(CoreEvent::Model(model.into())).await?;
        }
        Ok(session)
    }

    /// On a stop the agent is told, and what it still says passes on, for a while.
    async fn prompt_until_stopped(
        &self,
        peer: Peer,
        workdir: &Path,
        session: &Session,
    ) -> Result<StopReason, Halt> {
        let notify = peer.notifier();
        let stop = async {
            self.io.stopped().await;
            notify("session/cancel", json!({"sessionId": session.id}));
            sleep(self.options.stop_grace).await;
        };
        tokio::select! {
            biased;
            () = stop => {
                warn!(agent = self.options.name, "the agent did not stop when it was told to");
                Ok(StopReason::Cancelled)
            }
            ended = self.prompt(peer, workdir, session) => ended,
        }
    }

    async fn prompt(
        &self,
        mut peer: Peer,
        workdir: &Path,
        session: &Session,
    ) -> Result<StopReason, Halt> {
        let context = self.request.context_block();
        let prompt = Prompt::new(&context, &self.request.prompt, session.takes);
        if !prompt.skipped.is_empty() {
            let count = prompt.skipped.len();
            warn!(
                agent = self.options.name,
                count, "the agent does not take these attachments"
            );
            let value = json!({"skipped": prompt.skipped});
            self.emit_notice("attachments_skipped", value).await?;
        }
        let params = json!({"sessionId": session.id, "prompt": prompt.blocks});
        let answer = peer.request("session/prompt", params);
        tokio::pin!(answer);
        let mut translator = Translator::new(&session.id, &workdir.to_string_lossy());
        let answer = loop {
            tokio::select! {
                biased;
                Some((incoming, _room)) = peer.inbox.recv() => {
                    self.emit(translator.translate(incoming)).await?;
                }
                answer = &mut answer => break answer,
            }
        };
        // An answer never overtakes an update, but both can be there at once.
        while let Ok((incoming, _room)) = peer.inbox.try_recv() {
            self.emit(translator.translate(incoming)).await?;
        }
        self.emit(translator.finish()).await?;
        let model = model::visible(&session.shown).map(|model| model.id);
        if let Ok(answer) = &answer {
            let spent = usage::of_answer(answer, model.as_deref());
            self.emit(
                spent
                    .into_iter()
                    .map(|spent| CoreEvent::Usage(spent.into())),
            )
            .await?;
        }
        Ok(stop_reason(answer)?)
    }

    async fn emit(&self, events: impl IntoIterator<Item = CoreEvent>) -> Result<(), Gone> {
        for event in events {
            self.io.emit(event).await?;
        }
        Ok(())
    }

    async fn emit_notice(&self, name: &str, value: Value) -> Result<(), Gone> {
        self.io.emit(CoreEvent::notice(name, value)).await
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
