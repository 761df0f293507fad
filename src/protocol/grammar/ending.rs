//! How a run may say that it ended.

use std::collections::HashSet;

use super::{Check, breach, calls::Calls};
use crate::protocol::{Interrupt, Outcome};

/// `calls` are those of the run, or nothing if the client is not told which of them are pending.
pub(super) fn check(outcome: Option<&Outcome>, has_result: bool, calls: Option<&Calls>) -> Check {
    match outcome {
        None => calls.map_or(Ok(()), |calls| calls.pending_are(&[])),
        Some(Outcome::Success {
            pending_tool_call_ids,
        }) => calls.map_or(Ok(()), |calls| calls.pending_are(pending_tool_call_ids)),
        Some(Outcome::Interrupt { interrupts }) => check_interrupts(interrupts),
        Some(Outcome::Cancelled) if has_result => breach("a cancelled run has no result"),
        Some(Outcome::Cancelled) => Ok(()),
    }
}

fn check_interrupts(interrupts: &[Interrupt]) -> Check {
    if interrupts.is_empty() {
        return breach("an interrupted run has an interrupt");
    }
    let mut seen = HashSet::new();
    match interrupts
        .iter()
        .find(|interrupt| !seen.insert(&interrupt.id))
    {
        Some(twice) => breach(format!("interrupt `{}` is there twice", twice.id)),
        None => Ok(()),
    }
}
