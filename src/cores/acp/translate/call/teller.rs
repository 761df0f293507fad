//! The events of one call.

use std::sync::Arc;

use serde_json::Value;

use crate::{deps::CoreEvent, protocol::Content};

/// Tells of one call.
pub(super) struct Teller<'a> {
    call: &'a Arc<str>,
    events: &'a mut Vec<CoreEvent>,
}

impl<'a> Teller<'a> {
    /// Of the call of this id; what is told goes to the end of `events`.
    pub(super) fn new(call: &'a Arc<str>, events: &'a mut Vec<CoreEvent>) -> Self {
        Self { call, events }
    }

    /// More of its arguments.
    pub(super) fn arguments(&mut self, fragment: String) {
        self.events.push(CoreEvent::ToolCallArguments {
            call: Arc::clone(self.call),
            fragment,
        });
    }

    /// That its arguments are complete.
    pub(super) fn closed(&mut self) {
        self.events.push(CoreEvent::ToolCallClosed {
            call: Arc::clone(self.call),
        });
    }

    /// What came of it.
    pub(super) fn result(&mut self, content: Content, failed: bool) {
        self.events.push(CoreEvent::ToolCallResult {
            call: Arc::clone(self.call),
            content,
            failed,
        });
    }

    /// What there is no event for.
    pub(super) fn notice(&mut self, name: &str, value: Value) {
        self.events.push(CoreEvent::Notice {
            name: name.to_owned(),
            call: Some(Arc::clone(self.call)),
            value,
        });
    }

    /// Several notices of one name.
    pub(super) fn notices(&mut self, name: &str, values: impl IntoIterator<Item = Value>) {
        for value in values {
            self.notice(name, value);
        }
    }

    /// The plan that it makes, which is not of the call alone.
    pub(super) fn plan(&mut self, plan: Value) {
        self.events.push(CoreEvent::notice("acp.plan", plan));
    }
}
