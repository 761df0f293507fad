//! What a turn waits for while no run of it is live, as those see it who are not the turn.

use std::sync::Arc;

use super::ending::Ending;
use crate::protocol::{Interrupt, RunId, ToolCallId};

/// The prompts with which a run has ended, all of them open. A new value each time that a turn is parked.
#[derive(Debug)]
pub(super) struct Asked {
    /// The run that ended with them.
    pub(super) run: RunId,
    /// In the order in which they were asked; never empty.
    pub(super) prompts: Box<[Prompt]>,
}

/// Something that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prompt {
    /// What an answer refers to: the id of the interrupt, or of the call.
    pub(super) id: Arc<str>,
    /// How clients are asked.
    pub(super) shape: Shape,
}

/// How clients are asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// By an interrupt, which ends a run (AG-UI 1.0, interrupts).
    Interrupt(Box<Interrupt>),
    /// By a call of a tool of the page, which is left open (AG-UI 1.0, tools).
    Call(ToolCallId),
}

impl Prompt {
    pub(super) fn interrupt(interrupt: Interrupt) -> Self {
        Self {
            id: interrupt.id.as_str().into(),
            shape: Shape::Interrupt(interrupt.into()),
        }
    }

    pub(super) fn call(call: ToolCallId) -> Self {
        Self {
            id: call.as_str().into(),
            shape: Shape::Call(call),
        }
    }
}

impl Asked {
    /// The interrupts among them.
    pub(super) fn interrupts(&self) -> Vec<Interrupt> {
        let interrupts = self
            .prompts
            .iter()
            .filter_map(|prompt| match &prompt.shape {
                Shape::Interrupt(interrupt) => Some(Interrupt::clone(interrupt)),
                Shape::Call(_) => None,
            });
        interrupts.collect()
    }

    /// The calls among them.
    pub(super) fn calls(&self) -> Vec<ToolCallId> {
        let calls = self
            .prompts
            .iter()
            .filter_map(|prompt| match &prompt.shape {
                Shape::Call(call) => Some(call.clone()),
                Shape::Interrupt(_) => None,
            });
        calls.collect()
    }

    /// How a run ends that only shows them.
    pub(super) fn shown(&self) -> Ending {
        Ending::asking(self.interrupts(), self.calls())
    }

    /// Their ids.
    pub(super) fn ids(&self) -> Vec<String> {
        let ids = self
            .prompts
            .iter()
            .map(|prompt| prompt.id.as_ref().to_owned());
        ids.collect()
    }
}
