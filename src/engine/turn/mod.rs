//! The task of one turn. It owns the core's future, hands what the core says to the writer, and waits:
//! for the core, for a cause to stop it, for its silence, for answers of a client. What any of that means is decided
//! elsewhere ([`Ending`], [`Translator`](super::translate::Translator), [`Gate`](super::gate::Gate)).
//!
//! A turn writes to one run at a time (`shell`, `follow`). Where it needs the page or a person, that run ends
//! and the turn is parked (`park`, `wake`, `held`); the run that brings the answer goes on with it. What a person has said meanwhile is
//! asked in the same run once the turn is over, as a turn of its own.

mod follow;
mod held;
mod park;
mod shell;
mod timers;
mod wake;

use std::{any::Any, panic::AssertUnwindSafe, pin::Pin, pin::pin, sync::Arc};

use futures_util::FutureExt as _;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use self::{follow::Followed, shell::Shell};
use super::{Policy, Runtime, ending::Ending, live::Call, slots::Slot, writer::Writer};
use crate::{
    deps::{StopReason, TurnError, TurnIo, TurnRequest},
    protocol::Message,
    state::Document,
};

/// How many signals wait before the core does.
const CAPACITY: usize = 256;
/// How many signals become one write, at most.
const BATCH: usize = 256;

/// A turn that is about to run.
pub(super) struct Turn {
    /// Dropped, and with it given back, before the writer ends the run: see [`Turn::run`].
    pub(super) slot: Slot,
    pub(super) writer: Writer,
    pub(super) state: Document,
    pub(super) policy: Policy,
    pub(super) request: TurnRequest,
    /// Where visitors come in.
    pub(super) door: mpsc::Receiver<Call>,
    /// What was said in the thread before this run says anything; `None` if the daemon has not the whole of it.
    pub(super) past: Option<Vec<Message>>,
    /// What of that this request has brought.
    pub(super) asked: Vec<Message>,
}

/// What a core's future comes to.
type Returned = Result<Result<StopReason, TurnError>, Box<dyn Any + Send>>;

/// The future of a core, which may panic.
type Core<'a> = Pin<&'a mut (dyn Future<Output = Returned> + Send)>;

impl Turn {
    /// Runs the turn to its end and ends its run.
    pub(super) async fn run(self, runtime: Runtime) {
        let key = self.slot.key();
        let span = tracing::info_span!(
            "run",
            thread = %key.thread,
            run = %self.request.input.run_id,
            agent = %key.agent,
            turn = %self.slot.seq(),
        );
        Box::pin(self.drive(runtime)).instrument(span).await;
    }

    async fn drive(self, runtime: Runtime) {
        let deps = Arc::clone(&runtime.0.deps);
        let mut request = self.request.clone();
        let mut shell = Shell::new(self, runtime);
        loop {
            let stop = CancellationToken::new();
            let (io, inbox) = TurnIo::with_tools(CAPACITY, stop.clone(), shell.page_tools());
            shell.begin_turn(inbox);
            let turn = {
                let deps = Arc::clone(&deps);
                async move { deps.turn(request, io).await }
            };
            let core = AssertUnwindSafe(turn).catch_unwind();
            let (cause, end) = {
                let mut core = pin!(core);
                let mut cause = None;
                loop {
                    match shell.follow(core.as_mut(), cause, &stop).await {
                        Followed::Ended(cause, end) => break (cause, end),
                        Followed::Asks => {
                            let Some(asked) = shell.show() else { continue };
                            let woken = shell.park(asked).await.wait(core.as_mut()).await;
                            let (next, over) = woken.into_shell().await;
                            shell = next;
                            match over {
                                None => {}
                                Some(wake::Over::Cause(why)) => cause = Some(why),
                                Some(wake::Over::Core(end)) => break (None, end),
                            }
                        }
                    }
                }
            };
            let ending = Ending::decide(cause, &end);
            match shell.next_request(&ending).await {
                Some(next) => request = next,
                None => return shell.finish(ending, &end, cause).await,
            }
        }
    }
}
