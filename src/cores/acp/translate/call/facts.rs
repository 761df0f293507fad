//! What people are told of a call besides what goes in and comes out.

use serde_json::{Map, Value};

use super::super::{
    asked,
    bounds::{NAME, clip},
};
use crate::{cores::acp::vendors, deps::PermissionRequest};

/// What a call is called, and how far it is; each of at most [`NAME`] bytes.
#[derive(Debug, Default, PartialEq, Hash)]
pub(super) struct Facts {
    name: Option<String>,
    title: Option<String>,
    kind: Option<String>,
    status: Option<String>,
}

impl Facts {
    /// As the first that is said of a call has them. Only then is a title that looks like a tool's name one.
    pub(super) fn of_first(first: &Value) -> Self {
        let mut facts = Self::default();
        facts.merge(first);
        facts.name = facts
            .name
            .or_else(|| vendors::name_in_title(first).map(str::to_owned));
        facts
    }

    /// Takes over those that an update names.
    pub(super) fn merge(&mut self, update: &Value) {
        let merge = |known: &mut Option<String>, told: Option<&str>| {
            if let Some(told) = told.filter(|told| !told.is_empty()) {
                *known = Some(clip(told, NAME).to_owned());
            }
        };
        merge(&mut self.name, vendors::tool_name(update));
        merge(&mut self.title, update["title"].as_str());
        merge(&mut self.kind, update["kind"].as_str());
        merge(&mut self.status, update["status"].as_str());
    }

    /// What its tool is called, if that is said.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What it is called for people.
    pub(super) fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What its tool is called, as far as anything says so.
    pub(super) fn tool(&self) -> &str {
        let name = self.name.as_deref().or(self.kind.as_deref());
        name.unwrap_or("tool")
    }

    /// Its kind, as far as anything says so.
    pub(super) fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or_default()
    }

    /// The facts as members, the name only if the call was opened under another.
    pub(super) fn told(&self, opened_as: &str) -> Map<String, Value> {
        let name = self.name.as_ref().filter(|name| *name != opened_as);
        [
            ("name", name),
            ("title", self.title.as_ref()),
            ("kind", self.kind.as_ref()),
            ("status", self.status.as_ref()),
        ]
        .into_iter()
        .filter_map(|(key, told)| Some((key.to_owned(), told?.clone().into())))
        .collect()
    }

    /// Says in a request for permission what it leaves out.
    pub(super) fn complete(&self, request: &mut PermissionRequest) {
        if request.title.is_empty() {
            request.title = self.title.clone().unwrap_or_default();
        }
        if request.action == asked::OTHER
            && let Some(kind) = &self.kind
        {
            asked::action(kind).clone_into(&mut request.action);
        }
    }

    /// Whether the call is at work.
    pub(super) fn is_under_way(&self) -> bool {
        self.status.as_deref() == Some("in_progress")
    }

    /// Whether the call has ended, and then whether it failed.
    pub(super) fn ended(&self) -> Option<bool> {
        match self.status.as_deref() {
            Some("completed") => Some(false),
            Some("failed") => Some(true),
            _ => None,
        }
    }
}
