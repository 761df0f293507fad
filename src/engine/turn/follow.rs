//! Following a core while a run of its turn is live.

use std::pin::{Pin, pin};

use futures_util::future::OptionFuture;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    BATCH, Core, Returned,
    shell::Shell,
    timers::{Silence, first_cause},
};
use crate::{
    deps::Unanswered,
    engine::{
        ending::{Cause, CoreEnd},
        live::Call,
    },
};

/// What following a core ends with.
pub(super) enum Followed {
    /// The turn is over; with the cause, if it was stopped.
    Ended(Option<Cause>, CoreEnd),
    /// The turn goes on once what is open is answered.
    Asks,
}

/// What a wait ended with.
enum Happened {
    Signals,
    Call(Call),
    Draft,
    Asks,
    Cause(Cause),
    GraceOver,
    End(Returned),
}

impl Shell {
    /// Follows the core to its end, or to the end of the grace that it has once there is a cause to
    /// stop it, or to where it waits for a client. `cause`: why it is to be stopped, if that is known already.
    pub(super) async fn follow(
        &mut self,
        mut core: Core<'_>,
        cause: Option<Cause>,
        stop: &CancellationToken,
    ) -> Followed {
        let live = self.live();
        let inner = &self.ongoing.runtime.0;
        let (abort, shutdown) = (inner.abort.clone(), inner.shutdown.clone());
        let deadline = self.ongoing.allowance.deadline();
        let mut causes = pin!(async {
            match cause {
                Some(cause) => cause,
                None => first_cause(deadline, &live, shutdown).await,
            }
        });
        let mut batch = Vec::with_capacity(BATCH);
        let mut stopping: Option<(Cause, Pin<Box<Sleep>>)> = None;
        let mut silence = Silence::new(self.ongoing.policy.silence_timeout);
        loop {
            let running = stopping.is_none();
            let grace = OptionFuture::from(stopping.as_mut().map(|(_, grace)| grace.as_mut()));
            let is_open = self.ongoing.gate.is_open();
            let asks = OptionFuture::from(self.asks_at().map(sleep_until));
            let happened = tokio::select! {
                biased;
                cause = causes.as_mut(), if running => Happened::Cause(cause),
                Some(()) = grace => Happened::GraceOver,
                () = abort.cancelled() => Happened::GraceOver,
                // Rare, and not to wait for a core that never stops talking.
                Some(call) = self.door.recv() => Happened::Call(call),
                () = self.ongoing.draft.due(), if running => Happened::Draft,
                Some(()) = asks, if running => Happened::Asks,
                // Cancel-safe: what was not returned stays in the channel.
                1.. = self.ongoing.inbox.recv_many(&mut batch, BATCH) => Happened::Signals,
                end = core.as_mut() => Happened::End(end),
                () = silence.wait(), if running && !is_open => Happened::Cause(Cause::Silence),
            };
            match happened {
                Happened::Signals => {
                    silence.heard();
                    self.take(&mut batch, running).await;
                }
                Happened::Call(call) => self.answer(call),
                Happened::Draft => self.save_draft().await,
                Happened::Asks => return Followed::Asks,
                Happened::Cause(cause) => {
                    live.stops();
                    stop.cancel();
                    for open in self.ongoing.gate.take_all() {
                        self.settle(open, Err(Unanswered::Stopped));
                    }
                    let grace = self.ongoing.policy.stop_grace;
                    stopping = Some((cause, Box::pin(sleep(grace))));
                }
                Happened::GraceOver => {
                    warn!("the agent did not stop in time and was dropped");
                    let cause = stopping.map_or(Cause::Shutdown, |(cause, _)| cause);
                    return Followed::Ended(Some(cause), CoreEnd::Dropped);
                }
                Happened::End(end) => {
                    while let Ok(signal) = self.ongoing.inbox.try_recv() {
                        batch.push(signal);
                    }
                    self.take(&mut batch, false).await;
                    let end = end.map_or(CoreEnd::Panicked, CoreEnd::Returned);
                    return Followed::Ended(stopping.map(|(cause, _)| cause), end);
                }
            }
        }
    }

    /// When the run ends with what is open.
    fn asks_at(&self) -> Option<Instant> {
        let gate = &self.ongoing.gate;
        if !gate.is_open() {
            return None;
        }
        let translator = &self.ongoing.translator;
        let waiting: Vec<_> = gate
            .calls()
            .filter_map(|call| translator.id(call))
            .collect();
        let pending = self.writer.pending();
        gate.due(pending.iter().any(|call| !waiting.contains(call)))
    }
}
