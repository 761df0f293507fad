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
    Core,
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
        writer::{Carried, Writer},
    },
    protocol::{Content, RunAgentInput, RunId},
    store::Begin,
};

/// How much a core may say while it is parked before it has to wait.
const HELD: usize = 4096;

/// A turn that is parked.
pub(super) struct Parked {
    pub(super) ongoing: Ongoing,
    pub(super) carried: Carried,
    pub(super) asked: Arc<Asked>,
    /// The run that ended with it.
    pub(super) live: Arc<Live>,
    pub(super) resumed: oneshot::Receiver<Resumed>,
    pub(super) until: Instant,
    pub(super) held: Vec<Signal>,
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
    Over(Over),
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
        let why = loop {
            let has_room = self.held.len() < HELD;
            tokio::select! {
                biased;
                () = inner.abort.cancelled() => break Why::Over(Over::Cause(Cause::Shutdown)),
                () = inner.shutdown.cancelled() => break Why::Over(Over::Cause(Cause::Shutdown)),
                () = self.live.stop.cancelled() => break Why::Over(Over::Cause(Cause::Asked)),
                resumed = &mut self.resumed => break match resumed {
                    Ok(resumed) => Why::Resumed(Box::new(resumed)),
                    // The daemon takes no answers any more.
                    Err(_) => Why::Over(Over::Cause(Cause::Shutdown)),
                },
                () = sleep_until(self.until) => break Why::Late,
                Some(signal) = self.ongoing.inbox.recv(), if has_room => self.held.push(signal),
                end = core.as_mut() => {
                    let end = end.map_or(CoreEnd::Panicked, CoreEnd::Returned);
                    break Why::Over(Over::Core(end));
                }
            }
        };
        Woken { parked: self, why }
    }
}

impl Woken {
    /// Goes on in the run that comes. Says whether that is only to end.
    pub(super) async fn into_shell(self) -> (Shell, Option<Over>) {
        let Self { mut parked, why } = self;
        let (resumed, over) = match why {
            Why::Resumed(resumed) => return (parked.answered(*resumed).await, None),
            Why::Late => (parked.seize().await, None),
            Why::Over(over) => (parked.seize().await, Some(over)),
        };
        match resumed {
            Ok(resumed) => (parked.answered(*resumed).await, over),
            Err(own) => {
                let why = match &over {
                    None => Unanswered::TimedOut,
                    Some(_) => Unanswered::Stopped,
                };
                // What was lost with the daemon stays open, and whoever answers it later is told so.
                let is_lost = matches!(over, Some(Over::Cause(Cause::Shutdown)));
                (parked.alone(own, why, is_lost).await, over)
            }
        }
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
        let (live, door) = Live::new(run, runtime.log(), Linger::Forever);
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
    async fn answered(mut self, resumed: Resumed) -> Shell {
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
        let too_large = ongoing.state.adopt(input.state.as_ref()).is_err();
        let shown = ongoing.gate.take_shown(Instant::now());
        let asked = Arc::clone(&self.asked);
        let (mut shell, held) = self.begin(&live, door, input);
        if too_large {
            warn!("the client's state is left out");
            shell
                .writer
                .notice("notice", json!({"code": "state_too_large"}));
        }
        for (name, value) in notices {
            shell.writer.notice(name, value);
        }
        let settled = asked.prompts.iter().zip(&said).map(|(prompt, said)| {
            let digest = said.as_ref().map(Said::digest);
            (prompt.id.as_ref().to_owned(), digest)
        });
        shell.note(settled.collect()).await;
        let mut said: HashMap<_, _> = asked.prompts.iter().map(|it| &it.id).zip(said).collect();
        for open in shown {
            let said = open.id.as_ref().and_then(|id| said.remove(id)).flatten();
            shell.hand_over(open, said.as_ref());
        }
        shell.go_on(held).await
    }

    /// Goes on in a run of its own, without answers. What was lost with the daemon stays open in the store, so
    /// that whoever answers it later is told.
    async fn alone(mut self, own: Own, why: Unanswered, is_lost: bool) -> Shell {
        let Own { live, door } = own;
        self.ongoing.is_attended = false;
        let shown = match why {
            Unanswered::TimedOut => self.ongoing.gate.take_shown(Instant::now()),
            _ => self.ongoing.gate.take_all(),
        };
        let mut input = RunAgentInput::clone(&self.ongoing.input);
        input.run_id = live.run.clone();
        input.parent_run_id = None;
        let ids = self.asked.ids();
        info!(run = %live.run, why = why.as_str(), "a turn goes on without answers");
        let (mut shell, held) = self.begin(&live, door, input);
        let settled = ids.iter().filter(|_| !is_lost);
        shell
            .note(settled.map(|id| (id.clone(), None)).collect())
            .await;
        if why == Unanswered::TimedOut {
            let value = json!({"interruptIds": ids});
            shell.writer.notice("interrupt_expired", value);
        }
        for open in shown {
            shell.give_up(open, why);
        }
        shell.go_on(held).await
    }

    /// Begins the run. It is in the log before anything is waited for, so that a run whose task breaks is ended.
    fn begin(self, live: &Live, door: Door, input: RunAgentInput) -> (Shell, Vec<Signal>) {
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
    /// Notes the run, and what it settles.
    async fn note(&self, settled: Vec<(String, Option<String>)>) {
        let (key, live) = (self.ongoing.slot.key(), self.live());
        let workdir = self.workdir();
        let begin = Begin {
            run: live.run.clone(),
            workdir: workdir.map(|path| path.to_string_lossy().into_owned()),
            title: None,
            cut: None,
            lines: Vec::new(),
        };
        self.store().begin(key, begin).await;
        self.store().settle(key, &live.run, settled).await;
        live.enter(Stage::Open);
    }

    /// Goes on with what the core has said meanwhile.
    async fn go_on(mut self, mut held: Vec<Signal>) -> Self {
        self.take(&mut held, true).await;
        self
    }

    /// Hands what a client says to whoever waits for it; `None`: the person went on without saying anything.
    fn hand_over(&mut self, open: Open, said: Option<&Said>) {
        let is_call = |call: &Arc<str>| {
            let id = self.ongoing.translator.id(call);
            id.is_some_and(|id| open.id.as_deref() == Some(id.as_str()))
        };
        let own = match &open.ask {
            Ask::Tool(tool, _) => Some(&tool.call),
            Ask::Question(question, _) => question.call.as_ref(),
            Ask::Permission(..) => None,
        };
        let own = own.filter(|call| is_call(call)).cloned();
        let Open { ask, call, .. } = open;
        let closed = match own {
            Some(own) => self.ongoing.translator.settle(&own, &mut self.writer),
            None => call,
        };
        if let Some(closed) = closed {
            match said {
                Some(Said::Result(message)) => self.writer.adopt(&closed, message.clone()),
                // The page has no message of it.
                Some(other) => {
                    let text = other.text();
                    self.writer.result(closed, Content::Text(text), false);
                }
                None => self.writer.leave(&closed),
            }
        }
        match ask {
            Ask::Tool(_, answer) => {
                let passed_over = ToolAnswer::Unanswered(Unanswered::PassedOver);
                let _ = answer.send(said.map_or(passed_over, verdict::result));
            }
            Ask::Question(_, answer) => {
                let passed_over = Reply::Unanswered(Unanswered::PassedOver);
                let _ = answer.send(said.map_or(passed_over, verdict::reply));
            }
            Ask::Permission(request, answer) => {
                let passed_over = || {
                    let why = Denial::Unanswered(Unanswered::PassedOver);
                    verdict::denied(&request, why)
                };
                let said = said.map(|said| verdict::permission(said, &request));
                let permission = said.unwrap_or_else(passed_over);
                gate::note(&request, &permission, "client");
                if let Permission::Denied(_, why @ Denial::Unanswered(_)) = &permission {
                    self.tell_refused(Refused::new(&request, *why));
                }
                let _ = answer.send(permission);
            }
        }
    }

    /// Tells whoever waits that no answer comes.
    fn give_up(&mut self, open: Open, why: Unanswered) {
        let Open { ask, call, .. } = open;
        let closed = match &ask {
            Ask::Tool(tool, _) => self.ongoing.translator.settle(&tool.call, &mut self.writer),
            Ask::Permission(..) | Ask::Question(..) => call,
        };
        if let Some(closed) = closed {
            let text = match &ask {
                Ask::Tool(..) => why.of_tool(),
                Ask::Permission(..) => "denied: nobody answered",
                Ask::Question(..) => "nobody answered",
            };
            self.writer.result(closed, Content::Text(text.into()), true);
        }
        match ask {
            Ask::Tool(_, answer) => {
                let _ = answer.send(ToolAnswer::Unanswered(why));
            }
            Ask::Question(_, answer) => {
                let _ = answer.send(Reply::Unanswered(why));
            }
            Ask::Permission(request, answer) => {
                let permission = verdict::denied(&request, Denial::Unanswered(why));
                gate::note(&request, &permission, "nobody");
                self.tell_refused(Refused::new(&request, Denial::Unanswered(why)));
                let _ = answer.send(permission);
            }
        }
    }
}
