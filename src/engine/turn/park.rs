//! From a live run to a turn that is parked: clients are shown what is open, and the run ends with it.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;
use tracing::info;

use super::{held::Held, shell::Shell, wake::Parked};
use crate::{
    deps::Ask,
    engine::{
        asked::{Asked, Prompt, Shape},
        ending::Ending,
        gate::{Open, Refused},
        interrupts::{self, Asker},
        writer::Writer,
    },
    protocol::{Interrupt, Tool, ToolCallId},
};

/// How clients are asked.
enum Means {
    /// By an interrupt.
    Interrupt,
    /// By a call of the page's tool, which the core may have opened.
    Call,
}

impl Shell {
    /// Has clients asked what is open. `None` if nobody waits for an answer any more.
    ///
    /// An interrupt ends a run alone: a page's tool that is not called yet is called in the run after it, so that the
    /// page does not act, and post, while a person decides.
    pub(super) fn show(&mut self) -> Option<Asked> {
        let ongoing = &mut self.ongoing;
        let options = &ongoing.runtime.0.options;
        let asker = Asker {
            namespace: &options.namespace,
            prompts: &ongoing.policy.prompts,
            env: &ongoing.runtime.0.env,
        };
        let input = Arc::clone(&ongoing.input);
        let prompt_tool = interrupts::permission_tool(asker.namespace);
        let means = |open: &Open| means(open, &input.tools, &prompt_tool);
        let (translator, writer) = (&mut ongoing.translator, &mut self.writer);
        let open = ongoing.gate.showing();
        let a_person = open.iter().any(|it| matches!(means(it), Means::Interrupt));
        let mut prompts = Vec::new();
        for open in open {
            let means = means(open);
            let call = open.ask.call();
            let is_there = call.is_some_and(|call| translator.is_waiting(call));
            let id = call.and_then(|call| translator.id(call));
            let asking = call.and_then(|call| translator.speaker(call));
            let asking = asking.filter(|run| writer.is_active(run));
            let interrupt = |interrupt| {
                Prompt::interrupt(Interrupt {
                    subagent_run_id: asking.as_deref().map(Into::into),
                    ..interrupt
                })
            };
            let prompt = match (&means, &open.ask) {
                (Means::Interrupt, Ask::Permission(request, _)) => {
                    interrupt(asker.permission(request, id))
                }
                (Means::Interrupt, Ask::Question(question, _)) => {
                    interrupt(asker.question(question, id))
                }
                (_, Ask::Tool(call, _)) if is_there || !a_person => Prompt::call(
                    translator.page_call(&call.call, &call.name, &call.arguments, writer),
                ),
                (Means::Call, Ask::Question(question, _)) if !a_person || is_there => {
                    let Some((name, arguments)) = interrupts::question_tool(question) else {
                        continue;
                    };
                    match &question.call {
                        Some(call) => {
                            Prompt::call(translator.page_call(call, name, &arguments, writer))
                        }
                        None => Prompt::call(open.call_page(name, &arguments, writer)),
                    }
                }
                (Means::Call, Ask::Permission(request, _)) if !a_person => {
                    let arguments = interrupts::permission_arguments(request, id.as_ref());
                    Prompt::call(open.call_page(&prompt_tool, &arguments, writer))
                }
                _ => continue,
            };
            open.id = Some(Arc::clone(&prompt.id));
            prompts.push(prompt);
        }
        let patience = ongoing.gate.patience(&ongoing.policy);
        for prompt in &mut prompts {
            if let Shape::Interrupt(interrupt) = &mut prompt.shape {
                asker.tell_expiry(interrupt, patience);
            }
        }
        (!prompts.is_empty()).then(|| Asked {
            run: ongoing.slot.live().run.clone(),
            prompts: prompts.into(),
        })
    }

    /// Ends the run with what clients are asked. The thread is parked before a client reads that.
    pub(super) async fn park(mut self, asked: Asked) -> Parked {
        self.ongoing.translator.close_all(&mut self.writer);
        let said = self.writer.pause();
        let ending = Ending::asking(asked.interrupts(), self.writer.pending());
        info!(
            outcome = ending.as_str(),
            prompts = asked.prompts.len(),
            ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "run ended"
        );
        let Self {
            mut ongoing,
            writer,
            door,
            ..
        } = self;
        // From here on there is nothing to visit: who comes is shown what is kept.
        drop(door);
        let inner = &ongoing.runtime.0;
        let (key, live) = (ongoing.slot.key().clone(), Arc::clone(ongoing.slot.live()));
        inner
            .store
            .park(&key, &live.run, ending.outcome(), asked.ids(), said)
            .await;
        inner.documents.put(&key, ongoing.state.clone());
        inner
            .recent
            .put(&key, live.run.clone(), Arc::clone(&live.log));
        ongoing.draft.is_saved();
        ongoing.allowance.pause();
        let patience = ongoing.gate.patience(&ongoing.policy);
        if live.is_ending() {
            // Its reader has gone, or somebody has stopped it, while that was written.
            live.stop.cancel();
        }
        let asked = Arc::new(asked);
        let resumed = ongoing.slot.park(Arc::clone(&asked));
        let carried = writer.park(ending);
        ongoing.runtime.count_run();
        Parked {
            ongoing,
            carried,
            asked,
            live,
            resumed,
            until: Instant::now() + patience,
            held: Held::default(),
        }
    }

    /// Says that something was denied which no person has denied.
    pub(super) fn tell_refused(&mut self, refused: Refused) {
        let Refused { call, mut value } = refused;
        let id = call.and_then(|call| self.ongoing.translator.id(&call));
        if let (Some(id), Some(members)) = (id, value.as_object_mut()) {
            members.insert("toolCallId".into(), json!(id.as_str()));
        }
        self.writer.notice("permission_refused", value);
    }
}

impl Open {
    /// Calls the page's own prompt.
    fn call_page(&mut self, name: &str, arguments: &str, writer: &mut Writer) -> ToolCallId {
        let mut open = writer.open_call(name);
        writer.arguments(&mut open, arguments);
        let closed = writer.close_call(open);
        let id = closed.id().clone();
        self.call = Some(closed);
        id
    }
}

/// How clients are asked something: a page that declares the prompt's tool shows the prompt itself.
fn means(open: &Open, tools: &[Tool], prompt_tool: &str) -> Means {
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    let has_own = match &open.ask {
        Ask::Tool(..) => true,
        Ask::Permission(..) => has(prompt_tool),
        Ask::Question(question, _) => {
            interrupts::question_tool(question).is_some_and(|(name, _)| has(name))
        }
    };
    if has_own {
        Means::Call
    } else {
        Means::Interrupt
    }
}
