//! Which tools are those of the orchestrator.
//!
//! In Pando they are called `mesnada_<operation>`, and an agent that has them through an MCP server puts that server's
//! name before (`mcp__x__mesnada_get_task`). Pando itself, as an MCP server, calls them by the operation alone, so
//! that another agent has `<server>_spawn_agent`: words that any other server may use for something else.

/// What is asked of the orchestrator. `mesnada_note` is about no task, and so is none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// To send out a sub-agent, or the same one again.
    Spawn,
    /// To do something about one task and tell of it.
    Look,
    /// To tell of several.
    List,
    /// To wake the agent once tasks have ended.
    Await,
    /// To send out several sub-agents that work together.
    Swarm,
}

/// Whether a name can only be one of the orchestrator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sure {
    /// It says so.
    Yes,
    /// Others may be called the same.
    No,
}

/// The operation that a tool's name stands for.
pub(super) fn operation(tool: &str) -> Option<(Operation, Sure)> {
    const FAMILY: &str = "mesnada_";

    let ends_before = |at: usize| !tool[..at].ends_with(char::is_alphanumeric);
    let family = tool.rfind(FAMILY).filter(|at| ends_before(*at));
    if let Some(operation) = family.and_then(|at| of(&tool[at + FAMILY.len()..])) {
        return Some((operation, Sure::Yes));
    }
    let is_mounted = |name: &str| {
        let server = tool.strip_suffix(name);
        server.is_some_and(|server| server.len() > 1 && !server.ends_with(char::is_alphanumeric))
    };
    let mounted = MOUNTED.into_iter().find(|name| is_mounted(name))?;
    Some((of(mounted)?, Sure::No))
}

/// The operations that Pando offers as an MCP server.
const MOUNTED: [&str; 8] = [
    "spawn_agent",
    "get_task",
    "list_tasks",
    "wait_task",
    "wait_multiple",
    "cancel_task",
    "resume_task",
    "get_task_output",
];

fn of(name: &str) -> Option<Operation> {
    match name {
        "spawn_agent" => Some(Operation::Spawn),
        "get_task" | "wait_task" | "cancel_task" | "resume_task" | "get_task_output" => {
            Some(Operation::Look)
        }
        "list_tasks" | "wait_multiple" => Some(Operation::List),
        "await" => Some(Operation::Await),
        "swarm" => Some(Operation::Swarm),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r88_a_name_that_ends_in_the_familys_is_one_of_it() {
        let prefixes = ["", "mcp__x__", "pando_", "mcp.pando.", "pando/", "pando:"];
        let operations = [
            ("spawn_agent", Operation::Spawn),
            ("get_task", Operation::Look),
            ("get_task_output", Operation::Look),
            ("wait_task", Operation::Look),
            ("cancel_task", Operation::Look),
            ("list_tasks", Operation::List),
            ("await", Operation::Await),
            ("swarm", Operation::Swarm),
        ];
        for prefix in prefixes {
            for (name, expected) in operations {
                let name = format!("{prefix}mesnada_{name}");
                assert_eq!(operation(&name), Some((expected, Sure::Yes)), "{name}");
            }
        }
        assert_eq!(
            operation("pando_spawn_agent"),
            Some((Operation::Spawn, Sure::No))
        );
        assert_eq!(
            operation("mcp__pando__get_task"),
            Some((Operation::Look, Sure::No))
        );
    }

    #[test]
    fn r88_other_names_are_no_operations() {
        let others = [
            "",
            "agent",
            "task",
            "spawn_agent",
            "_spawn_agent",
            "get_task",
            "respawn_agent",
            "pando_respawn_agent",
            "await",
            "pando_await",
            "pando_swarm",
            "mesnada_",
            "mesnada_note",
            "mesnada_spawn_agent_now",
            "xmesnada_swarm",
            "mesnada_ünknown",
            "üspawn_agent",
        ];
        for name in others {
            assert_eq!(operation(name), None, "{name}");
        }
    }
}
