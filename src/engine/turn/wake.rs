//! A turn that is parked, and how it goes on: in the run that brings the answers, or, where nobody brings them, in a
//! run that nobody has asked for, so that what comes of it is in the thread.
//!
//! While it is parked the core goes on; what it says is held back for the run that comes.

use std::{collections::HashMap, sync::Arc};

use serde_json::json;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};
use tracing::{Span, field::display, info, warn};

use super::{
    Core, Returned,
    held::Held,
    shell::{Ongoing, Shell, callable},
};
use crate::{
    deps::{Ask, Denial, Permission, Reply, Signal, ToolAnswer, Unanswered},
    engine::{
        Linger,
        answers::Said,
        asked::Asked,
        ending::{Cause, CoreEnd},
        ends::RunIds,
        gate::{self, Open, Refused},
        live::{Call, Live, Stage},
        parked::Resumed,
        verdict,
        writer::{Carried, ClosedCall, Writer},
    },
    protocol::{Content, RunAgentInput, RunId},
    store::Begin,
};

/// A turn that is parked.
pub(super) struct Parked {
    pub(super) ongoing: Ongoing,
    pub(super) carried: Carried,
    pub(super) asked: Arc<Asked>,
    /// The run that ended with it.
    pub(super) live: Arc<Live>,
    pub(super) resumed: oneshot::Receiver<Resumed>,
    pub(super) until: Instant,
    pub(super) held: Held,
}

/// What a turn comes to while it is parked, if no client goes on with it.
pub(super) enum Over {
    /// It is to stop.
    Cause(Cause),
    /// Its core has ended.
    Core(CoreEnd),
}

/// Why a turn is parked no longer.
enum Why {
    Resumed(Box<Resumed>),
    /// Nobody has answered in time.
    Late,
    /// Nobody waits for an answer any more.
    Withdrawn,
    Over(Over),
}

/// What a wait ended with.
enum Happened {
    Cause(Cause),
    /// `None`: nobody can answer any more.
    Resumed(Option<Box<Resumed>>),
    Late,
    Signal(Signal),
    End(Returned),
    Withdrawn,
}

/// A turn that is about to go on.
pub(super) struct Woken {
    parked: Parked,
    why: Why,
}

impl Parked {
    /// Waits for answers, or for what makes them needless.
    pub(super) async fn wait(mut self, mut core: Core<'_>) -> Woken {
        let inner = Arc::clone(&self.ongoing.runtime.0);
        loop {
            let Ongoing { gate, inbox, .. } = &mut self.ongoing;
            let happened = tokio::select! {
                biased;
                () = inner.abort.cancelled() => Happened::Cause(Cause::Shutdown),
                () = inner.shutdown.cancelled() => Happened::Cause(Cause::Shutdown),
                () = self.live.stop.cancelled() => Happened::Cause(Cause::Asked),
                resumed = &mut self.resumed => Happened::Resumed(resumed.ok().map(Box::new)),
                () = sleep_until(self.until) => Happened::Late,
                Some(signal) = inbox.recv() => Happened::Signal(signal),
                end = core.as_mut() => Happened::End(end),
                () = gate.withdrawn() => Happened::Withdrawn,
            };
            let why = match happened {
                Happened::Signal(signal) => {
                    self.held.push(signal);
                    continue;
                }
                Happened::Resumed(Some(resumed)) => Why::Resumed(resumed),
                Happened::Resumed(None) => Why::Over(Over::Cause(Cause::Shutdown)),
                Happened::Cause(cause) => Why::Over(Over::Cause(cause)),
                Happened::Late => Why::Late,
                Happened::Withdrawn => Why::Withdrawn,
                Happened::End(end) => {
                    while let Ok(signal) = self.ongoing.inbox.try_recv() {
                        self.held.push(signal);
                    }
                    let end = end.map_or(CoreEnd::Panicked, CoreEnd::Returned);
                    Why::Over(Over::Core(end))
                }
            };
            return Woken { parked: self, why };
        }
    }
}

impl Woken {
    /// Goes on in the run that comes. Says whether that is only to end.
    pub(super) async fn into_shell(self) -> (Shell, Option<Over>) {
        let Self { mut parked, why } = self;
        let (unanswered, over) = match why {
            Why::Resumed(resumed) => return (parked.answered(*resumed, true).await, None),
            Why::Late => (Unanswered::TimedOut, None),
            Why::Withdrawn => (Unanswered::Withdrawn, None),
            Why::Over(Over::Core(end)) => (Unanswered::Withdrawn, Some(Over::Core(end))),
            Why::Over(Over::Cause(cause)) => (Unanswered::Stopped, Some(Over::Cause(cause))),
        };
        let may_ask = over.is_none();
        let shell = match parked.seize().await {
            Ok(resumed) => parked.answered(*resumed, may_ask).await,
            Err(own) => {
                // What was lost with the daemon stays open, and whoever answers it later is told so.
                let is_lost = matches!(over, Some(Over::Cause(Cause::Shutdown)));
                parked.alone(own, unanswered, is_lost, may_ask).await
            }
        };
        (shell, over)
    }
}

/// A run of the daemon's own.
struct Own {
    live: Arc<Live>,
    door: Door,
}

/// Where visitors of a run come in.
type Door = mpsc::Receiver<Call>;

impl Parked {
    /// Takes the turn back for a run of its own, unless a client was faster.
    async fn seize(&mut self) -> Result<Box<Resumed>, Own> {
        let runtime = &self.ongoing.runtime;
        let run = RunId::new(runtime.0.env.id("run")).expect("our own ids are legal");
        let closed = self
            .asked
            .prompts
            .iter()
            .map(|it| (Arc::clone(&it.id), None));
        let (live, door) = Live::answering(run, runtime.log(), Linger::Forever, closed.collect());
        if !self.ongoing.slot.unpark(&live) {
            // Whoever goes on with it says so at once, or never; that it is never may be known already.
            if !self.resumed.is_terminated()
                && let Ok(resumed) = (&mut self.resumed).await
            {
                return Ok(Box::new(resumed));
            }
            self.ongoing.slot.go_on_alone(&live);
        }
        Err(Own { live, door })
    }

    /// Goes on in the run of a client.
    async fn answered(mut self, resumed: Resumed, may_ask: bool) -> Shell {
        let Resumed {
            live,
            door,
            input,
            wishes,
            said,
            next,
            notices,
        } = resumed;
        let ongoing = &mut self.ongoing;
        ongoing.slot.go_on(&live);
        ongoing.is_attended = true;
        ongoing.wishes = wishes;
        for message in &next {
            ongoing.state.set_last_prompt(message.id.clone());
        }
        ongoing.next = next;
        let tools = callable(&input, &ongoing.policy, &ongoing.runtime);
        ongoing.tools.send_if_modified(|known| {
            let is_other = *known != tools;
            *known = tools;
            is_other
        });
        let too_large = ongoing.state.adopt(input.state.as_ref()).err();
        let shown = ongoing.gate.take_shown(Instant::now());
        let asked = Arc::clone(&self.asked);
        let (mut shell, held) = self.begin(&live, door, input);
        if let Some(error) = too_large {
            warn!(%error, "the client's state is left out");
            shell.writer.too_large(error.part);
        }
        for (name, value) in notices {
            shell.writer.notice(name, value);
        }
        shell.note().await;
        shell.note_settled().await;
        live.enter(Stage::Open);
        let mut said: HashMap<_, _> = asked.prompts.iter().map(|it| &it.id).zip(said).collect();
        for open in shown {
            let said = open.id.as_ref().and_then(|id| said.remove(id)).flatten();
            shell.settle(open, said.as_ref().ok_or(Unanswered::PassedOver));
        }
        shell.go_on(held, may_ask).await
    }

    /// Goes on in a run of its own, without answers. What was lost with the daemon stays open in the store, so
    /// that whoever answers it later is told.
    async fn alone(mut self, own: Own, why: Unanswered, is_lost: bool, may_ask: bool) -> Shell {
        let Own { live, door } = own;
        self.ongoing.is_attended = false;
        let open = self.ongoing.gate.take_all();
        let mut input = RunAgentInput::clone(&self.ongoing.input);
        input.run_id = live.run.clone();
        input.parent_run_id = None;
        let ids = self.asked.ids();
        info!(run = %live.run, why = why.as_str(), "a turn goes on without answers");
        let (mut shell, held) = self.begin(&live, door, input);
        shell.note().await;
        if !is_lost {
            shell.note_settled().await;
        }
        live.enter(Stage::Open);
        if why == Unanswered::TimedOut {
            let value = json!({"interruptIds": ids});
            shell.writer.notice("interrupt_expired", value);
        }
        for open in open {
            let why = open.id.as_ref().map_or(Unanswered::Nobody, |_| why);
            shell.settle(open, Err(why));
        }
        shell.go_on(held, may_ask).await
    }

    /// Begins the run. It is in the log before anything is waited for, so that a run whose task breaks is ended.
    fn begin(self, live: &Live, door: Door, input: RunAgentInput) -> (Shell, Held) {
        let Self {
            mut ongoing,
            carried,
            held,
            ..
        } = self;
        Span::current().record("run", display(&live.run));
        info!("run started");
        let runtime = &ongoing.runtime.0;
        let writer = Writer::go_on(
            Arc::clone(&live.log),
            runtime.env.clone(),
            runtime.options.namespace.clone(),
            RunIds::of(&input),
            ongoing.state.snapshot(),
            carried,
        );
        ongoing.input = Arc::new(input);
        ongoing.allowance.go_on();
        let shell = Shell {
            ongoing,
            writer,
            door,
            began: Instant::now(),
        };
        (shell, held)
    }
}

impl Shell {
    /// Notes the run.
    async fn note(&self) {
        let workdir = self.workdir();
        let begin = Begin {
            run: self.live().run.clone(),
            workdir: workdir.map(|path| path.to_string_lossy().into_owned()),
            title: None,
            cut: None,
            lines: Vec::new(),
        };
        self.store().begin(self.ongoing.slot.key(), begin).await;
    }

    /// Notes what the run settles.
    async fn note_settled(&self) {
        let live = self.live();
        let settled = live.answers.iter();
        let settled = settled.map(|(id, digest)| (id.as_ref().to_owned(), digest.clone()));
        let key = self.ongoing.slot.key();
        self.store().settle(key, &live.run, settled.collect()).await;
    }

    /// Goes on with what the core has said meanwhile. `may_ask`: whether the turn goes on, too.
    async fn go_on(mut self, held: Held, may_ask: bool) -> Self {
        let (mut held, lost) = held.take();
        self.take(&mut held, may_ask).await;
        if lost > 0 {
            self.writer.notice("output_lost", json!({"updates": lost}));
        }
        self
    }

    /// Hands an answer, or that there is none, to whoever waits for it.
    pub(super) fn settle(&mut self, open: Open, said: Result<&Said, Unanswered>) {
        self.settle_call(&open, said);
        let Open { ask, call, .. } = open;
        if let Some(closed) = call {
            self.close_prompt(&ask, closed, said);
        }
        match ask {
            Ask::Tool(_, answer) => {
                let said = said.map_or_else(ToolAnswer::Unanswered, verdict::result);
                let _ = answer.send(said);
            }
            Ask::Question(question, answer) => {
                let reply = |said| verdict::reply(said, &question.form);
                let _ = answer.send(said.map_or_else(Reply::Unanswered, reply));
            }
            Ask::Permission(request, answer) => {
                let permission = match said {
                    Ok(said) => verdict::permission(said, &request),
                    Err(why) => verdict::denied(&request, Denial::Unanswered(why)),
                };
                let by = if said.is_ok() { "client" } else { "nobody" };
                gate::note(&request, &permission, by);
                if let Permission::Denied(_, why @ Denial::Unanswered(_)) = &permission {
                    self.tell_refused(Refused::new(&request, *why));
                }
                let _ = answer.send(permission);
            }
        }
    }

    /// Settles the core's own call, where clients were asked by that. Of a question that nobody answers the core
    /// tells the result itself.
    fn settle_call(&mut self, open: &Open, said: Result<&Said, Unanswered>) {
        let call = match &open.ask {
            Ask::Permission(..) => None,
            Ask::Question(..) if said.is_err_and(|why| why != Unanswered::PassedOver) => None,
            ask => ask.call(),
        };
        let translator = &mut self.ongoing.translator;
        let id = call.and_then(|call| translator.id(call));
        let is_asked = id.is_some_and(|id| open.id.as_deref() == Some(id.as_str()));
        if let Some(call) = call.filter(|_| is_asked)
            && let Some(closed) = translator.settle(call, &mut self.writer)
        {
            self.close_prompt(&open.ask, closed, said);
        }
    }

    /// Gives the call by which clients were asked its result, as far as it has one and the page does not have it.
    fn close_prompt(&mut self, ask: &Ask, closed: ClosedCall, said: Result<&Said, Unanswered>) {
        let nothing = match (ask, said) {
            (_, Ok(Said::Result(message))) => return self.writer.adopt(&closed, message.clone()),
            (_, Err(Unanswered::PassedOver)) => return self.writer.leave(&closed),
            (_, Ok(said)) => {
                let text = Content::Text(said.text());
                return self.writer.result(closed, text, false);
            }
            (Ask::Tool(..), Err(why)) => why.of_tool(),
            (Ask::Permission(..), Err(_)) => "denied: nobody answered",
            (Ask::Question(..), Err(_)) => "nobody answered",
        };
        self.writer
            .result(closed, Content::Text(nothing.into()), true);
    }
}
