//! Sub-agents, and the steps of each owner (the run itself, or a sub-agent).

use std::collections::HashMap;

use super::{Check, breach};
use crate::protocol::{Body, Event};

#[derive(Debug, Default)]
pub(super) struct Owners {
    subagents: HashMap<String, Life>,
    /// The open steps, each with its owner.
    steps: Vec<(Option<String>, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Something was attributed to it that nobody announced.
    Mentioned,
    Active,
    Ended,
}

impl Owners {
    pub(super) fn step(&mut self, event: &Event) -> Check {
        let tag = event.subagent_run_id.as_deref();
        match (&event.body, tag) {
            (
                Body::SubagentStarted {
                    parent_subagent_run_id,
                    ..
                },
                Some(id),
            ) => self.start(id, parent_subagent_run_id.as_deref()),
            (Body::SubagentFinished { .. } | Body::SubagentError { .. }, Some(id)) => self.end(id),
            (Body::StepStarted { step_name }, _) => {
                let step = (tag.map(str::to_owned), step_name.clone());
                if self.steps.contains(&step) {
                    return breach(format!("step `{step_name}` is open already"));
                }
                self.steps.push(step);
                self.mention(tag);
                Ok(())
            }
            (Body::StepFinished { step_name }, _) => {
                let open = |(owner, name): &(Option<String>, String)| {
                    owner.as_deref() == tag && name == step_name
                };
                let Some(at) = self.steps.iter().position(open) else {
                    return breach(format!("step `{step_name}` is not open for this owner"));
                };
                self.steps.swap_remove(at);
                Ok(())
            }
            _ => {
                self.mention(tag);
                Ok(())
            }
        }
    }

    pub(super) fn all_closed(&self) -> Check {
        if let Some((_, name)) = self.steps.first() {
            return breach(format!("step `{name}` is still open"));
        }
        match self
            .subagents
            .iter()
            .find(|(_, life)| **life == Life::Active)
        {
            Some((id, _)) => breach(format!("sub-agent `{id}` is still active")),
            None => Ok(()),
        }
    }

    fn mention(&mut self, tag: Option<&str>) {
        if let Some(id) = tag
            && !self.subagents.contains_key(id)
        {
            self.subagents.insert(id.to_owned(), Life::Mentioned);
        }
    }

    fn start(&mut self, id: &str, parent: Option<&str>) -> Check {
        let announced = |id| matches!(self.subagents.get(id), Some(Life::Active | Life::Ended));
        if let Some(parent) = parent
            && !announced(parent)
        {
            return breach(format!("parent sub-agent `{parent}` was not announced"));
        }
        match self.subagents.insert(id.to_owned(), Life::Active) {
            None => Ok(()),
            Some(Life::Mentioned) => breach(format!("sub-agent `{id}` is announced too late")),
            Some(_) => breach(format!("sub-agent `{id}` is announced twice")),
        }
    }

    fn end(&mut self, id: &str) -> Check {
        match self.subagents.get_mut(id) {
            Some(life @ Life::Active) => {
                *life = Life::Ended;
                Ok(())
            }
            _ => breach(format!("sub-agent `{id}` is not active")),
        }
    }
}
