//! What follows from what an agent says, in order, and what that is read off.

use std::{mem, sync::Arc};

use parking_lot::Mutex;

use crate::{cores::traffic::Traffic, deps::CoreEvent};

/// What is told of one session.
pub(super) struct Told {
    pub(super) events: Vec<CoreEvent>,
    /// What calls do besides, by their tools; of all sessions of a turn, where each call has an id of its own.
    pub(super) traffic: Arc<Mutex<Traffic>>,
    /// The folder that the agent works in.
    pub(super) workdir: Arc<str>,
}

impl Told {
    /// Nothing yet, of an agent that works in this folder.
    pub(super) fn new(workdir: &str) -> Self {
        Self {
            events: Vec::new(),
            traffic: Arc::new(Mutex::new(Traffic::new(workdir))),
            workdir: workdir.into(),
        }
    }

    /// Nothing yet, of a sub-agent in the same turn.
    pub(super) fn of_child(&self) -> Self {
        Self {
            events: Vec::new(),
            traffic: Arc::clone(&self.traffic),
            workdir: Arc::clone(&self.workdir),
        }
    }

    /// What was told since the last time.
    pub(super) fn take(&mut self) -> Vec<CoreEvent> {
        mem::take(&mut self.events)
    }
}
