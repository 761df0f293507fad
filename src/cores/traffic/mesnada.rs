//! What the tools of Pando's orchestrator say of sub-agents.
//!
//! A task is asked for with arguments that its answer does not repeat, and answered with an id that everything later
//! goes by. What an answer leaves out is left as it is known. Answers are data in whatever encoding; prose says nothing,
//! but for the one tool that answers in nothing else (`mesnada_await`) and tells the ids in its metadata.
//!
//! Pando's own tool `agent` is none of these: nobody can be told of what it sends out.

mod name;
mod task;

use std::{iter, sync::Arc};

use serde_json::Value;

use self::name::{Operation, Sure};
use super::given;
use crate::{
    deps::{About, Role, SubAgentStatus, SubAgentUpdate},
    json::{Kind, decode_tool_result},
    protocol::JsonObject,
};

/// How many tasks of one call are read. Fewer are shown.
const MOST: usize = 200;

/// How the answer begins that says that an agent will be woken.
const REGISTERED: &str = "Await registered";

/// How the id of a task begins that Pando has made.
const OURS: &str = "task-";

/// A call of one of the tools.
pub(super) struct Call {
    asked: Asked,
    sure: Sure,
}

/// What it asks for, as far as the answer does not repeat it.
enum Asked {
    Spawn(About),
    Look { task: Option<String> },
    List,
    Await(Vec<String>),
    Swarm(Box<Swarm>),
}

/// Who is to work together.
struct Swarm {
    workers: Vec<About>,
    verifier: About,
    synthesizer: About,
}

/// What a call asks for, if it is one of these.
pub(super) fn called(tool: &str, input: &Value) -> Option<Call> {
    let (operation, sure) = name::operation(tool)?;
    let input = given::object(input).unwrap_or_default();
    let asked = match operation {
        Operation::Spawn => Asked::Spawn(task::asked(&input)),
        Operation::Look => Asked::Look {
            task: task::id(&input, "task_id").map(str::to_owned),
        },
        Operation::List => Asked::List,
        Operation::Await => {
            let ids = task::ids(&input, "task_ids").take(MOST);
            Asked::Await(ids.map(str::to_owned).collect())
        }
        Operation::Swarm => Asked::Swarm(Box::new(Swarm::asked(&input))),
    };
    Some(Call { asked, sure })
}

impl Swarm {
    fn asked(input: &JsonObject) -> Self {
        let of = |value: &Value| value.as_object().map(task::asked).unwrap_or_default();
        let one = |name: &str| input.get(name).map(of).unwrap_or_default();
        let workers = input.get("workers").and_then(Value::as_array);
        Self {
            workers: workers.into_iter().flatten().take(MOST).map(of).collect(),
            verifier: one("verifier"),
            synthesizer: one("synthesizer"),
        }
    }
}

impl Call {
    /// What became known with the answer.
    pub(super) fn answered(
        self,
        call: &Arc<str>,
        output: &str,
        metadata: &Value,
    ) -> Vec<SubAgentUpdate> {
        let mut updates = match self.asked {
            Asked::Spawn(asked) => spawned(asked, self.sure, call, output)
                .into_iter()
                .collect(),
            Asked::Look { task } => looked(task.as_deref(), output).into_iter().collect(),
            Asked::List => listed(output),
            Asked::Await(asked) => awaited(&asked, output, metadata),
            Asked::Swarm(asked) => swarmed(*asked, call, output),
        };
        if self.sure == Sure::No {
            // Any other server may have tasks, but not those that are known already.
            let unsent = updates.iter_mut().filter(|update| update.call.is_none());
            unsent.for_each(|update| update.known_only = true);
        }
        updates
    }

    /// How much memory it takes, in bytes, nearly.
    pub(super) fn size(&self) -> usize {
        let kept = match &self.asked {
            Asked::Spawn(about) => task::size(about),
            Asked::Look { task } => task.as_ref().map_or(0, String::len),
            Asked::List => 0,
            Asked::Await(ids) => given::size(ids),
            Asked::Swarm(swarm) => {
                let parts = [&swarm.verifier, &swarm.synthesizer];
                let all = swarm.workers.iter().chain(parts);
                all.map(task::size).sum()
            }
        };
        size_of::<Self>() + kept
    }
}

/// A task goes on when its agent's turn is stopped: the orchestrator runs it.
fn update(id: &str, status: Option<SubAgentStatus>, about: About) -> SubAgentUpdate {
    SubAgentUpdate {
        about,
        outlives_turn: true,
        ..SubAgentUpdate::new(id, status)
    }
}

/// `{task_id, status, …}`, with `exit_code` and `error` if it has ended meanwhile.
fn spawned(asked: About, sure: Sure, call: &Arc<str>, output: &str) -> Option<SubAgentUpdate> {
    let answer = decode_tool_result(output, &[("task_id", Kind::Text)])?;
    let id = task::id(&answer, "task_id")?;
    let status = task::status(&answer);
    if sure == Sure::No && !(id.starts_with(OURS) && status.is_some()) {
        return None;
    }
    let status = status.unwrap_or(SubAgentStatus::Pending);
    let about = task::told_or_asked(task::about(&answer), asked);
    let spawned = update(id, Some(status), about);
    Some(SubAgentUpdate {
        call: Some(call.clone()),
        ..spawned
    })
}

/// `{task}`, or `{task_id, status, …}`, or `{task_id, cancelled}`. An error beside a task is that of waiting for it.
fn looked(asked: Option<&str>, output: &str) -> Option<SubAgentUpdate> {
    let expected = [
        ("task", Kind::Object),
        ("task_id", Kind::Text),
        ("cancelled", Kind::Bool),
    ];
    let answer = decode_tool_result(output, &expected)?;
    let is_cancelled = answer.get("cancelled") == Some(&Value::Bool(true));
    let inner = answer.get("task").and_then(Value::as_object);
    let id = inner
        .and_then(|task| task::id(task, "id"))
        .or_else(|| task::id(&answer, "task_id"))
        .or(asked)?;
    let told = inner.unwrap_or(&answer);
    let cancelled = is_cancelled.then_some(SubAgentStatus::Cancelled);
    let status = cancelled.or_else(|| task::status(told));
    Some(update(id, status, task::about(told)))
}

/// `{tasks}`: a list of `{id, status, …}` from the whole store, or what each of several came to, by its id. The prompts in
/// it are cut shorter than those that are known.
fn listed(output: &str) -> Vec<SubAgentUpdate> {
    let expected = [("tasks", Kind::Array), ("tasks", Kind::Object)];
    let answer = decode_tool_result(output, &expected).unwrap_or_default();
    let of = |id: &str, task: &JsonObject| {
        let about = About {
            prompt: None,
            ..task::about(task)
        };
        SubAgentUpdate {
            known_only: true,
            ..update(id, task::status(task), about)
        }
    };
    match answer.get("tasks") {
        Some(Value::Array(tasks)) => {
            let tasks = tasks.iter().filter_map(Value::as_object);
            let updates = tasks.filter_map(|task| Some(of(task::id(task, "id")?, task)));
            updates.take(MOST).collect()
        }
        Some(Value::Object(tasks)) => {
            let updates = tasks
                .iter()
                .filter_map(|(id, task)| Some(of(id, task.as_object()?)));
            updates.take(MOST).collect()
        }
        _ => Vec::new(),
    }
}

/// Prose. The ids are in the metadata, or else those of the call, unless there is nothing to wait for: then the agent goes
/// on at once, and nobody is awaited.
fn awaited(asked: &[String], output: &str, metadata: &Value) -> Vec<SubAgentUpdate> {
    let of = |id: &str| SubAgentUpdate {
        known_only: true,
        ..update(id, Some(SubAgentStatus::Awaited), About::default())
    };
    let metadata = given::object(metadata).unwrap_or_default();
    let told = task::ids(&metadata, "awaited_task_ids").take(MOST);
    let told: Vec<_> = told.map(of).collect();
    if told.is_empty() && output.trim_start().starts_with(REGISTERED) {
        return asked.iter().map(|id| of(id)).collect();
    }
    told
}

/// `{worker_ids, verifier_id, synthesizer_id, …}`, the workers in the order in which they were asked for.
fn swarmed(asked: Swarm, call: &Arc<str>, output: &str) -> Vec<SubAgentUpdate> {
    let expected = [("worker_ids", Kind::Array)];
    let Some(answer) = decode_tool_result(output, &expected) else {
        return Vec::new();
    };
    let status = task::status(&answer).unwrap_or(SubAgentStatus::Pending);
    let of = |id: &str, role, asked: About| {
        let about = About {
            role: Some(role),
            ..asked
        };
        SubAgentUpdate {
            call: Some(call.clone()),
            ..update(id, Some(status), about)
        }
    };
    let ids = answer.get("worker_ids").and_then(Value::as_array);
    let ids = ids.into_iter().flatten().take(MOST).map(task::as_id);
    // Who has no id is one of the workers nevertheless.
    let asked_workers = asked
        .workers
        .into_iter()
        .map(Some)
        .chain(iter::repeat(None));
    let workers = ids.zip(asked_workers);
    let mut updates: Vec<_> = workers
        .filter_map(|(id, asked)| Some(of(id?, Role::Worker, asked.unwrap_or_default())))
        .collect();
    let others = [
        ("verifier_id", Role::Verifier, asked.verifier),
        ("synthesizer_id", Role::Synthesizer, asked.synthesizer),
    ];
    for (name, role, asked) in others {
        updates.extend(task::id(&answer, name).map(|id| of(id, role, asked)));
    }
    updates
}
