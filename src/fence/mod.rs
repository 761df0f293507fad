//! What keeps an agent from approving its own requests, as far as the daemon and the agent are one user.
//!
//! - Nothing of the daemon is for others to read: [`hide`] makes it not dumpable, so that no other process of its user
//!   reads its environment or memory, takes its files or traces it.
//! - What an agent starts stays below the daemon, whatever it kills on the way: see
//!   [`supervisor::adopt`](crate::cores::acp::supervisor::adopt).
//! - A connection whose client is below the daemon is refused: `sockets` finds the client's socket in the system's
//!   table, `holders` who holds it, and [`Fence`] waits for both.
//!
//! Only Linux tells all of that. What is not seen is written down in the README, under "Threat model".
//!
//! What was weighed: the crates `procfs` and `netstat2` read the same tables, but whole and into types of everything
//! that is in them, where one line is looked for, and neither looks into the tasks of a process. Peer credentials
//! (`SO_PEERCRED`) are for Unix sockets. Landlock can close a port to an agent for good, and takes `sudo` from it with the
//! same step; that is for agents that are confined.

#[cfg(all(target_os = "linux", feature = "acp"))]
mod holders;
#[cfg(all(target_os = "linux", feature = "acp"))]
mod look;
#[cfg(all(target_os = "linux", feature = "acp"))]
mod sockets;

use std::{convert::Infallible, io, sync::Arc};

#[cfg(all(target_os = "linux", feature = "acp"))]
pub use look::Fence;

use crate::http;

/// A fence around the agents of this process, which from now on takes in what they leave behind. Where there cannot
/// be one, says so and why, and nobody is kept out.
pub fn around_agents() -> Option<Arc<dyn http::Fence>> {
    #[cfg(all(target_os = "linux", feature = "acp"))]
    let made = Fence::new().map(|fence| Arc::new(fence) as Arc<dyn http::Fence>);
    #[cfg(not(all(target_os = "linux", feature = "acp")))]
    let made = Err(io::Error::from(io::ErrorKind::Unsupported));
    made.inspect_err(|error: &io::Error| {
        let what = "an agent that can read the token can approve its own requests: who calls cannot be told here";
        tracing::warn!(%error, "{what}");
    })
    .ok()
}

/// Ends what killed supervisors leave behind, for as long as it is polled.
pub async fn end_orphans() -> Infallible {
    #[cfg(all(target_os = "linux", feature = "acp"))]
    return crate::cores::acp::supervisor::end_orphans().await;
    #[cfg(not(all(target_os = "linux", feature = "acp")))]
    std::future::pending().await
}

/// Makes this process one that no other of its user can read or trace. Does nothing where systems do not know that.
///
/// # Errors
/// The system refuses.
pub fn hide() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    Ok(())
}
