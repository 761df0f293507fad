//! What a turn waits for: what is decided at once, what is kept open, and when a run ends with it.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::info;

use super::{Approval, Decision, Policy, rules, verdict, writer::ClosedCall};
use crate::{
    deps::{Ask, Denial, OptionKind, Permission, PermissionRequest, Reply, ToolAnswer, Unanswered},
    protocol::Tool,
};

/// How many things may be open in one turn. An agent that asks more is told that nobody is there.
const MOST: usize = 64;

/// How long nothing has to be heard before a run ends with what is open, so that what is asked together ends it
/// together.
const QUIET: Duration = Duration::from_millis(100);

/// How long it may take all the same.
const HOLD: Duration = Duration::from_secs(2);

/// What is open.
#[derive(Debug, Default)]
pub(super) struct Gate {
    open: Vec<Open>,
    /// Since when something is.
    since: Option<Instant>,
    heard: Option<Instant>,
}

/// Something that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) ask: Ask,
    /// By which id clients answer it; none while they have not been asked.
    pub(super) id: Option<Arc<str>>,
    /// The call of the page's prompt, where one was made for it.
    pub(super) call: Option<ClosedCall>,
}

/// In which circumstances something is asked.
pub(super) struct Circumstances<'a> {
    pub(super) policy: &'a Policy,
    /// The tools of the page.
    pub(super) tools: &'a [Tool],
    /// Where the agent works.
    pub(super) workdir: Option<&'a Path>,
    /// Whether a client is there who can be asked.
    pub(super) is_attended: bool,
}

/// A request that was denied without a person's saying so.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    /// The call that it was about.
    pub(super) call: Option<Arc<str>>,
    /// What is told of it.
    pub(super) value: Value,
}

impl Refused {
    pub(super) fn new(request: &PermissionRequest, why: Denial) -> Self {
        Self {
            call: request.call.clone(),
            value: json!({
                "title": request.title,
                "kind": request.action,
                "reason": why.as_str(),
            }),
        }
    }
}

impl Gate {
    /// Takes something that is asked: answers it at once, or keeps it open.
    pub(super) fn admit(
        &mut self,
        ask: Ask,
        now: Instant,
        when: &Circumstances<'_>,
    ) -> Option<Refused> {
        let is_full = self.open.len() >= MOST;
        let nobody = !when.is_attended || is_full;
        match ask {
            Ask::Tool(call, answer) => {
                let is_there = when.tools.iter().any(|tool| tool.name == call.name);
                // Of two calls under one id only one can be answered.
                let is_open = self.calls().any(|open| *open == call.call);
                if is_open || nobody || !when.policy.frontend_tools || !is_there {
                    let _ = answer.send(ToolAnswer::Unanswered(Unanswered::Nobody));
                    return None;
                }
                self.keep(Ask::Tool(call, answer), now);
                None
            }
            Ask::Question(question, answer) => {
                if nobody || !when.policy.prompts.questions {
                    let _ = answer.send(Reply::Unanswered(Unanswered::Nobody));
                    return None;
                }
                self.keep(Ask::Question(question, answer), now);
                None
            }
            Ask::Permission(request, answer) => {
                let decided = decide(&request, nobody, when);
                let Some((permission, by)) = decided else {
                    self.keep(Ask::Permission(request, answer), now);
                    return None;
                };
                note(&request, &permission, by);
                let refused = match &permission {
                    Permission::Denied(_, why) => Some(Refused::new(&request, *why)),
                    Permission::Allowed(_) => None,
                };
                let _ = answer.send(permission);
                refused
            }
        }
    }

    fn keep(&mut self, ask: Ask, now: Instant) {
        self.since.get_or_insert(now);
        self.open.push(Open {
            ask,
            id: None,
            call: None,
        });
    }

    /// Notes that the core said something.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    /// Whether something is open.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// When the run is to end with what is open. `is_busy`: other calls of this run have no result yet. For those
    /// a page's tool waits a little, so that the client has them before it goes on; a person does not.
    pub(super) fn due(&self, is_busy: bool) -> Option<Instant> {
        let since = self.since.filter(|_| self.is_open())?;
        let limit = since + HOLD;
        let are_tools = || {
            self.open
                .iter()
                .all(|open| matches!(open.ask, Ask::Tool(..)))
        };
        if is_busy && are_tools() {
            return Some(limit);
        }
        let quiet = self.heard.map_or(since, |heard| heard.max(since)) + QUIET;
        Some(quiet.min(limit))
    }

    /// Drops what nobody waits for any more, and gives what is left to be shown.
    pub(super) fn showing(&mut self) -> &mut Vec<Open> {
        self.open.retain(|open| !open.ask.is_withdrawn());
        self.since = None;
        &mut self.open
    }

    /// Takes out what clients were asked, in the order of that.
    pub(super) fn take_shown(&mut self, now: Instant) -> Vec<Open> {
        let (shown, left): (Vec<_>, Vec<_>) = self.open.drain(..).partition(|it| it.id.is_some());
        self.open = left;
        self.since = self.is_open().then_some(now);
        shown
    }

    /// How long there is to answer what clients are asked.
    pub(super) fn patience(&self, policy: &Policy) -> Duration {
        let shown = self.open.iter().filter(|open| open.id.is_some());
        let patience = shown.map(|open| match &open.ask {
            Ask::Tool(..) => policy.client_tool_timeout,
            Ask::Permission(..) | Ask::Question(..) => policy.prompts.timeout,
        });
        patience.min().unwrap_or(policy.prompts.timeout)
    }

    /// Ends once nobody waits for any answer that clients were asked for.
    pub(super) async fn withdrawn(&mut self) {
        for open in self.open.iter_mut().filter(|open| open.id.is_some()) {
            open.ask.withdrawn().await;
        }
    }

    /// Takes out all that is open.
    pub(super) fn take_all(&mut self) -> Vec<Open> {
        self.since = None;
        std::mem::take(&mut self.open)
    }

    /// The core's ids of the calls that wait here.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Arc<str>> {
        self.open.iter().filter_map(|open| open.ask.call())
    }
}

/// What is decided of a request for permission without asking, and by what; `None` if people are to be asked.
fn decide(
    request: &PermissionRequest,
    nobody: bool,
    when: &Circumstances<'_>,
) -> Option<(Permission, &'static str)> {
    let prompts = &when.policy.prompts;
    let rule = rules::decide(&prompts.permissions, request, when.workdir);
    let no = |why| verdict::denied(request, why);
    let unasked = Denial::Unanswered(Unanswered::Nobody);
    // One that held for ever would pass over the rules for what comes later.
    let once = request
        .option(true)
        .filter(|it| it.kind == OptionKind::AllowOnce);
    let yes = once.map(|option| Permission::Allowed(Arc::clone(&option.id)));
    match (rule, prompts.approval, yes) {
        (Some(Decision::Allow), _, Some(yes)) => Some((yes, "rule")),
        (Some(Decision::Deny), ..) => Some((no(Denial::Rule), "rule")),
        (None, Approval::Granted, Some(yes)) => Some((yes, "auto_approve")),
        (_, Approval::Denied, _) => Some((no(unasked), "nobody")),
        // Where people are asked nothing, they are not asked that.
        _ if !prompts.questions => Some((no(unasked), "nobody")),
        // A rule that says "ask" is there so that somebody looks, whatever holds for the rest.
        _ => nobody.then(|| (no(unasked), "nobody")),
    }
}

/// Logs what was decided and by what; nothing of what it was about.
pub(super) fn note(request: &PermissionRequest, permission: &Permission, by: &str) {
    let (decision, why) = match permission {
        Permission::Allowed(_) => ("allowed", None),
        Permission::Denied(_, why) => ("denied", Some(why.as_str())),
    };
    let (tool, kind) = (&*request.tool, &*request.action);
    info!(
        decision,
        by, why, tool, kind, "the agent asked for permission"
    );
}

#[cfg(test)]
mod tests;
