//! Turns, runs, and the logs that clients read.
//!
//! A turn is one piece of work of a core; a run is what AG-UI calls one POST. One task drives each
//! turn (`turn`): it translates what the core says (`translate`), writes that as events in a legal order
//! (`writer`), and appends their frames (`frames`) to the log of the current run (`log`). An HTTP response
//! is only a cursor on such a log, so a run outlives its request, a slow reader delays nobody, and replay
//! and live are one code path.
//!
//! What holds, always:
//! 1. A run's log begins with `RUN_STARTED`, ends with exactly one terminal event and is then closed,
//!    also when a core or a task panics.
//! 2. At most one turn is live on a thread, and it writes to one run.
//! 3. A thread's slot is taken before the first event and given back before the terminal one, by the
//!    turn that holds it and no other.
//! 4. No reader can delay a writer, and no writer can make a reader skip silently.
//! 5. A change of the state document is noted before its delta is written.
//! 6. No decision is taken while waiting: `plan` and `ending` decide, `turn` waits.
//! 7. Every turn is counted by a tracker and ends with the runtime.

mod bounds;
mod ending;
mod ends;
mod frames;
#[cfg_attr(not(test), expect(dead_code, reason = "the turns that ask it follow"))]
mod history;
mod log;
mod options;
mod plan;
mod recorder;
#[cfg_attr(not(test), expect(dead_code, reason = "who visits follows"))]
mod restate;
mod runtime;
mod slot;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod tests;
mod threads;
mod translate;
mod turn;
mod wishes;
mod writer;

pub use options::{BadNamespace, Busy, Limits, Linger, Namespace, Options, Policy};
pub use runtime::{Reader, Runtime};
pub use slot::StartError;
pub use threads::{UnknownThread, View, Watch};
pub use wishes::BadWish;
