//! The process between the daemon and an agent's program, which leaves nothing of the program behind.
//!
//! Agents start commands in sessions and process groups of their own, and some daemonise, so that
//! neither the program's process id nor its group reaches them all. The supervisor is their subreaper
//! (`PR_SET_CHILD_SUBREAPER`): whatever loses its parent becomes its child, so everything the program has
//! ever started is below it, and once it has no child left, nothing is.
//!
//! It promises: when the program ends, when the program's input is closed, which the end of the daemon
//! does too, however that came, and when it gets `SIGTERM`, then everything below it ends, step by step
//! and within five seconds. What it cannot end, because it runs as another user or the system holds on to
//! it, is said on standard error. Killing the supervisor itself with `SIGKILL` is the one way to leave
//! processes behind; the program still sees the end of its input once the daemon closes it, and a daemon that
//! has asked for it ([`adopt`]) ends them.
//!
//! It is not dumpable, as the daemon is not: an agent that runs as the same user can neither read its memory nor
//! take its files, which lead to the daemon and to the agent's own input.
//!
//! The program has the supervisor's own input, output and environment, so nothing is copied and nothing
//! slows down. The supervisor only watches its input for a hang-up.
//!
//! What was weighed: `command-group` and `process-wrap` end a process group, which is what is not enough.
//! `PR_SET_PDEATHSIG` reaches one process, is lost with a change of user, and has to be set between fork
//! and exec, for which Rust wants `unsafe`. A cgroup would do, but a daemon without privileges gets one
//! only from a service manager that delegates it. A pidfd names one process without mistaking it for
//! another, but not its descendants, and older kernels and sandboxes lack it.

#[cfg(target_os = "linux")]
mod adopted;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod tree;

use std::{collections::HashSet, process::ExitStatus};

use rustix::process::Pid;

#[cfg(target_os = "linux")]
pub(super) use adopted::spawn;
#[cfg(target_os = "linux")]
pub use adopted::{adopt, agents, end_orphans, is_anybody_there};
#[cfg(target_os = "linux")]
pub use run::supervise;

/// The processes below one, as one look finds them. `None` where nobody can tell.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other systems cannot tell")]
pub(super) fn below(root: Pid) -> Option<HashSet<i32>> {
    Some(tree::below(root).into_iter().collect())
}

/// Nobody can tell.
#[cfg(not(target_os = "linux"))]
pub(super) fn below(_: Pid) -> Option<HashSet<i32>> {
    None
}

/// Starts what an agent is started with.
#[cfg(not(target_os = "linux"))]
pub(super) fn spawn(
    command: &mut tokio::process::Command,
) -> std::io::Result<tokio::process::Child> {
    command.spawn()
}

/// The word after the program's name that makes it a supervisor; `--`, a program and its arguments follow.
pub const WORD: &str = "supervise";

/// The exit code that says that the program was not started, as shells have it.
const NOT_STARTED: u8 = 127;

/// How a supervisor's complaints begin. A program has its own way to end with [`NOT_STARTED`].
const COMPLAINT: &str = "the supervisor failed to ";

/// Whether a supervisor that has ended so, and said this, has not started its program.
pub(super) fn not_started(status: ExitStatus, said: &str) -> bool {
    status.code() == Some(NOT_STARTED.into()) && said.starts_with(COMPLAINT)
}
