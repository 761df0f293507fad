//! What tool calls say of todos, files and sub-agents, whatever core they went through.
//!
//! A core tells of each call twice: with its arguments, and with what came of it. Some tools say what is of interest in
//! the one, some in the other, and nothing counts that failed; so what the arguments say is kept until the answer is there.
//! `todos`, `files` and `mesnada` each know one family of tools. They only read: nobody is asked for more.

mod files;
mod given;
mod mesnada;
mod path;
#[cfg(test)]
mod tests;
mod todos;

use std::sync::Arc;

use lru::LruCache;
use serde_json::Value;

pub(in crate::cores) use self::{path::path_in, todos::of_entries};
use crate::deps::{CoreEvent, MAX_CALLS, Todo};

/// How much of arguments is kept for calls without an answer, in bytes. Of more, what was called first goes, but never the
/// last one.
const MAX_KEPT: usize = 4 * 1024 * 1024;

/// What is remembered of the calls of one turn: those without an answer that will say something once they have one.
pub(in crate::cores) struct Traffic {
    workdir: Box<str>,
    calls: LruCache<Arc<str>, (Kept, usize)>,
    bytes: usize,
}

/// What a call's arguments say.
enum Kept {
    Todos(Vec<Todo>),
    Files(files::Call),
    Mesnada(mesnada::Call),
}

impl Traffic {
    /// Nothing was called yet. `workdir` is the agent's working directory, to tell paths apart; empty if there is none.
    pub(in crate::cores) fn new(workdir: &str) -> Self {
        // Grows as calls come: few turns have as many as there may be.
        let mut calls = LruCache::unbounded();
        calls.resize(MAX_CALLS);
        Self {
            workdir: workdir.into(),
            calls,
            bytes: 0,
        }
    }

    /// The arguments of a call are complete. Returns what follows at once. Of one call, the last that is said holds.
    pub(in crate::cores) fn called(
        &mut self,
        call: &Arc<str>,
        tool: &str,
        input: &Value,
    ) -> Vec<CoreEvent> {
        self.take(call);
        let kept = todos::called(tool, input)
            .map(Kept::Todos)
            .or_else(|| files::called(tool, input).map(Kept::Files))
            .or_else(|| mesnada::called(tool, input).map(Kept::Mesnada));
        if let Some(kept) = kept {
            self.keep(call, kept);
        }
        // No tool that is known does anything before it is answered.
        Vec::new()
    }

    /// A call was answered: with `output`, the tool's own text without anything around it, and with whatever `metadata`
    /// stands beside it, null if none. Returns what follows. A call is answered once; one of unknown arguments says nothing.
    pub(in crate::cores) fn answered(
        &mut self,
        call: &Arc<str>,
        output: &str,
        metadata: &Value,
        failed: bool,
    ) -> Vec<CoreEvent> {
        let Some(kept) = self.take(call).filter(|_| !failed) else {
            return Vec::new();
        };
        match kept {
            Kept::Todos(todos) => vec![CoreEvent::Todos(todos)],
            Kept::Files(files) => {
                let touched = files.answered(&self.workdir, metadata);
                let event = (!touched.is_empty()).then_some(CoreEvent::Files(touched));
                event.into_iter().collect()
            }
            Kept::Mesnada(asked) => {
                let updates = asked.answered(call, output, metadata).into_iter();
                let event = |update| CoreEvent::SubAgent(Box::new(update));
                updates.map(event).collect()
            }
        }
    }

    fn keep(&mut self, call: &Arc<str>, kept: Kept) {
        let size = kept.size();
        self.bytes += size;
        if let Some((_, (_, size))) = self.calls.push(call.clone(), (kept, size)) {
            self.bytes -= size;
        }
        while self.bytes > MAX_KEPT
            && self.calls.len() > 1
            && let Some((_, (_, size))) = self.calls.pop_lru()
        {
            self.bytes -= size;
        }
    }

    fn take(&mut self, call: &str) -> Option<Kept> {
        let (kept, size) = self.calls.pop(call)?;
        self.bytes -= size;
        Some(kept)
    }
}

impl Kept {
    /// How much memory it takes, in bytes, nearly.
    fn size(&self) -> usize {
        match self {
            Self::Todos(todos) => todos::size(todos),
            Self::Files(files) => files.size(),
            Self::Mesnada(asked) => asked.size(),
        }
    }
}
