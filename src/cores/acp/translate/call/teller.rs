//! The events of one call.

use std::sync::Arc;

use serde_json::Value;

use super::super::told::Told;
use crate::{
    deps::{About, CoreEvent, File, SubAgentStatus, SubAgentUpdate},
    protocol::{Content, JsonObject},
};

/// Tells of one call.
pub(super) struct Teller<'a> {
    call: &'a Arc<str>,
    told: &'a mut Told,
}

impl<'a> Teller<'a> {
    /// Of the call of this id; what is told goes to the end of `told`.
    pub(super) fn new(call: &'a Arc<str>, told: &'a mut Told) -> Self {
        Self { call, told }
    }

    /// The folder that the agent works in.
    pub(super) fn workdir(&self) -> &str {
        &self.told.workdir
    }

    fn tell(&mut self, event: CoreEvent) {
        self.told.events.push(event);
    }

    /// More of its arguments.
    pub(super) fn arguments(&mut self, fragment: String) {
        self.tell(CoreEvent::ToolCallArguments {
            call: Arc::clone(self.call),
            fragment,
        });
    }

    /// That its arguments are complete.
    pub(super) fn closed(&mut self) {
        self.tell(CoreEvent::ToolCallClosed {
            call: Arc::clone(self.call),
        });
    }

    /// What it is made with, as far as more than the call follows from that.
    pub(super) fn called(&mut self, tool: &str, input: &Value) {
        let follows = self.told.traffic.lock().called(self.call, tool, input);
        self.told.events.extend(follows);
    }

    /// What came of it.
    pub(super) fn result(&mut self, content: Content, failed: bool) {
        self.tell(CoreEvent::ToolCallResult {
            call: Arc::clone(self.call),
            content,
            failed,
        });
    }

    /// What it returned, as far as more than the result follows from that. Answers with whether it says which files
    /// were touched.
    pub(super) fn answered(&mut self, output: &str, metadata: &Value, failed: bool) -> bool {
        let mut traffic = self.told.traffic.lock();
        let follows = traffic.answered(self.call, output, metadata, failed);
        drop(traffic);
        let tells_files = |event: &CoreEvent| matches!(event, CoreEvent::Files(_));
        let told = follows.iter().any(tells_files);
        self.told.events.extend(follows);
        told
    }

    /// The files that it has touched.
    pub(super) fn files(&mut self, files: Vec<File>) {
        if !files.is_empty() {
            self.tell(CoreEvent::Files(files));
        }
    }

    /// A change of a file.
    pub(super) fn diff(&mut self, path: String, content: JsonObject) {
        self.tell(CoreEvent::Diff {
            call: Arc::clone(self.call),
            path,
            content,
        });
    }

    /// The sub-agent that it has sent out, which is called as the call is.
    pub(super) fn sub_agent(&mut self, status: SubAgentStatus, about: About) {
        let update = SubAgentUpdate {
            about,
            call: Some(Arc::clone(self.call)),
            ..SubAgentUpdate::new(Arc::clone(self.call), Some(status))
        };
        self.tell(CoreEvent::SubAgent(update.into()));
    }

    /// What there is no event for.
    pub(super) fn notice(&mut self, name: &str, value: Value) {
        self.tell(CoreEvent::Notice {
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
}
