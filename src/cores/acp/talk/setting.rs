//! How an open session is set: what is wished for or configured is brought about, and what can be chosen is shown.

use serde_json::json;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::{
    super::{
        failure::{Failure, describe, is_closed},
        settings::Step,
        turn::{Halt, Turn},
    },
    Talk,
};
use crate::deps::{CoreEvent, Gone, SettingKind};

impl Talk<'_> {
    /// Sets what is wished for or configured.
    pub(super) async fn set(&mut self) -> Result<(), Halt> {
        let Turn {
            options, request, ..
        } = self.turn;
        let plan = self
            .offers
            .plan(&self.conversation.session, &request.wishes, &options.set);
        for (kind, value) in plan.missing {
            let (agent, setting) = (&options.name, kind.as_str());
            warn!(agent, setting, "the agent does not offer this");
            self.tell_not_set(kind, &value).await?;
        }
        if let Some(mode) = plan.unattended {
            let agent = &options.name;
            warn!(
                agent,
                "the agent acts without asking, and offers no other mode"
            );
            self.turn
                .notice("unattended", json!({"mode": mode}))
                .await?;
        }
        if plan.steps.is_empty() {
            return Ok(());
        }
        for step in plan.steps {
            self.take(step).await?;
        }
        Ok(self.show().await?)
    }

    async fn take(&mut self, step: Step) -> Result<(), Halt> {
        let agent = &self.turn.options.name;
        let setting = step.kind.map_or("permissions", SettingKind::as_str);
        let patience = self.turn.options.start_timeout;
        let answer = self.peer.request(step.method, step.params.clone());
        let answer = self.hear_until(answer);
        let answer = timeout(patience, answer).await.map_err(|_| {
            Failure::Handshake(format!("no answer to {} in {patience:?}", step.method))
        })??;
        match answer {
            Ok(shown) => {
                debug!(agent, setting, "set");
                self.offers.note(&step);
                self.offers.read(&shown);
                if self.offers.denies(&step) {
                    let why = format!("{} has no effect", step.method);
                    return Err(Failure::Agent(why).into());
                }
                Ok(())
            }
            Err(error) if is_closed(&error) => Err(Failure::of_answer(&error).into()),
            Err(error) => match step.kind {
                Some(kind @ (SettingKind::Model | SettingKind::Effort)) => {
                    let code = error.code.value();
                    warn!(agent, setting, code, "the agent does not take this");
                    Ok(self.tell_not_set(kind, &step.value).await?)
                }
                // It would go on and ask nobody.
                Some(SettingKind::Mode) | None => {
                    let why = format!("{} is not granted: {}", step.method, describe(&error));
                    Err(Failure::Agent(why).into())
                }
            },
        }
    }

    async fn tell_not_set(&mut self, kind: SettingKind, value: &str) -> Result<(), Gone> {
        let value = json!({"setting": kind.as_str(), "value": value});
        self.turn.notice("not_set", value).await
    }

    /// Shows what is chosen and can be chosen.
    pub(super) async fn show(&mut self) -> Result<(), Gone> {
        if let Some(model) = self.offers.model() {
            self.turn.io.emit(CoreEvent::Model(model.into())).await?;
        }
        let shown = self.offers.shown(&self.turn.options.choices);
        if shown.is_empty() {
            return Ok(());
        }
        (self.turn.heard)(shown.clone());
        self.turn.io.emit(CoreEvent::Settings(shown.into())).await
    }
}
