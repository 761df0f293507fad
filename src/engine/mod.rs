//! Turns, runs, threads, and the logs that clients read.
//!
//! A turn is one piece of work of a core; a run is what AG-UI calls one POST. One task drives each
//! turn (`turn`): it translates what the core says (`translate`), writes that as events in a legal order
//! (`writer`), also of its sub-agents (`sub_agents`), and appends their frames (`frames`) to the log of the current run (`log`). An HTTP response
//! is only a cursor on such a log (`reader`), so a run outlives its request, a slow reader delays nobody, and
//! replay and live are one code path.
//!
//! A request is a run, a look, or nothing (`plan`). A run needs its thread (`start`): the thread is free, or the
//! run waits in the line for it (`slots`), or the same run is there already and gets one more reader (`live`). On a
//! thread of its own it begins (`opening`) with what the store holds and what the request adds or takes back
//! (`history`); the client is told what it has not read of earlier runs (`missed`). Who looks on visits the turn (`live`, `restate`), or is shown what is kept (`hydrate`, `recent`,
//! `documents`). `recorder` folds what a run says into the messages that are kept.
//!
//! A core may need the page or a person. `gate` decides at once where `rules` and the policy do, and keeps the rest
//! open; clients are asked by `interrupts` or by calls of the page's tools. Then the run ends and its turn is parked
//! (`asked`, `parked`). A request that brings answers (`answers`) goes on with it (`resume`); what an answer
//! means `verdict` says.
//!
//! What holds, always:
//! 1. A run's log begins with `RUN_STARTED`, ends with exactly one terminal event and is then closed,
//!    also when a core or a task panics.
//! 2. At most one turn is live on a thread, and it writes to one run at a time.
//! 3. A thread's slot is taken before the first event and given back, or noted as parked, before the terminal one, by
//!    the turn that holds it and no other.
//! 4. No reader can delay a writer, and no writer can make a reader skip silently.
//! 5. A change of the state document is noted before its delta is written.
//! 6. No decision is taken while waiting: `plan`, `history`, `answers`, `gate`, `verdict` and `ending` decide, `start`,
//!    `resume` and `turn` wait.
//! 7. Every turn is counted by a tracker and ends with the runtime.
//! 8. A run is noted in the store before its core hears of it, and its end before its thread is free: for
//!    as long as the store remembers it, the same run never reaches a core twice, also if the daemon is killed.
//! 9. A prompt is settled once, by whoever takes the parked turn under the lock of its slot: a run with answers, or the
//!    turn itself. Nothing but an explicit yes of that thread's own client, a rule or the policy allows anything.
//! 10. What a viewer is shown and what it reads after that fit without a gap and without an overlap.

mod abilities;
mod answers;
mod asked;
mod bounds;
mod documents;
mod ending;
mod ends;
mod frames;
mod gate;
mod history;
mod hydrate;
mod interrupts;
mod live;
mod log;
mod missed;
mod opening;
mod options;
mod parked;
mod plan;
mod reader;
mod recall;
mod recent;
mod recorder;
mod restate;
mod resume;
mod rules;
mod runtime;
mod slots;
mod start;
mod sub_agents;
#[cfg(test)]
mod tests;
mod threads;
mod translate;
mod turn;
mod verdict;
mod wishes;
mod writer;

pub use options::{
    Approval, BadNamespace, Busy, Limits, Linger, Namespace, Options, Policy, Prompts, Reason,
};
pub use reader::Reader;
pub use rules::{BadRule, Decision, Matcher, Rule};
pub use runtime::Runtime;
pub use slots::StartError;
pub use threads::{UnknownThread, View, Watch};
pub use wishes::BadWish;
