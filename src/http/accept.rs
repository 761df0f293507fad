//! Takes connections from a bound socket until told to stop, no more at once than there is room for.

use std::{io, sync::Arc, time::Duration};

use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};
use tokio_util::task::TaskTracker;
use tracing::{debug, error, warn};

use super::{
    Caller, Ends, Fence, Service,
    conn::{self, Rules},
};

/// How long to wait when no connection can be taken, as when there is no file descriptor left.
const BACK_OFF: Duration = Duration::from_millis(100);

/// What the connections of a socket have in common.
pub(super) struct Intake {
    pub(super) service: Service,
    pub(super) rules: Rules,
    pub(super) fence: Option<Arc<dyn Fence>>,
    pub(super) stuck_timeout: Duration,
    pub(super) max_connections: usize,
    /// Holds each connection's task.
    pub(super) tasks: TaskTracker,
}

impl Intake {
    /// Takes connections and has each served in a task of its own. A requested stop is a success; the
    /// connections hear of it, too, and are not waited for here.
    ///
    /// # Errors
    /// The socket broke.
    pub(super) async fn run(self, socket: TcpListener) -> io::Result<()> {
        let files = getrlimit(Resource::Nofile).current;
        let permits = Arc::new(Semaphore::new(room(self.max_connections, files)));
        while let Some(taken) = self.next(&socket, &permits).await {
            let (stream, permit) = taken?;
            prepare(&stream, self.stuck_timeout);
            let (service, rules) = (self.service.clone(), self.rules.clone());
            let fence = self.fence.clone();
            self.tasks.spawn(async move {
                let caller = look(fence.as_deref(), &stream, &rules).await;
                match caller {
                    Caller::Other => conn::serve(stream, service, rules).await,
                    Caller::Agent { process } => {
                        conn::serve(stream, service.fenced(process), rules).await;
                    }
                    Caller::Gone => debug!("the client has left before it was known who it is"),
                }
                drop(permit);
            });
        }
        Ok(())
    }

    /// Waits for the next connection; `None` once told to stop.
    async fn next(
        &self,
        socket: &TcpListener,
        permits: &Arc<Semaphore>,
    ) -> Option<io::Result<(TcpStream, OwnedSemaphorePermit)>> {
        tokio::select! {
            biased;
            () = self.rules.soft.cancelled() => None,
            taken = take(socket, permits) => Some(taken),
        }
    }
}

/// Looks who is at the other end, unless the connections are to end meanwhile.
async fn look(fence: Option<&dyn Fence>, stream: &TcpStream, rules: &Rules) -> Caller {
    let Some(fence) = fence else {
        return Caller::Other;
    };
    let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else {
        return Caller::Gone;
    };
    tokio::select! {
        biased;
        () = rules.kill.cancelled() => Caller::Gone,
        caller = fence.caller(Ends { peer, local }) => caller,
    }
}

/// Waits for room and for a connection; an error is the end of the socket.
async fn take(
    socket: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits)
        .acquire_owned()
        .await
        .expect("nobody closes the semaphore");
    loop {
        let error = match socket.accept().await {
            Ok((stream, peer)) => {
                debug!(%peer, "connection opened");
                return Ok((stream, permit));
            }
            Err(error) => error,
        };
        match Trouble::of(&error) {
            Trouble::Connection => debug!(%error, "connection is gone already"),
            Trouble::Passing => {
                error!(%error, "failed to accept a connection");
                sleep(BACK_OFF).await;
            }
            Trouble::Socket => return Err(error),
        }
    }
}

/// What an error of `accept` is about (accept(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// The connection alone.
    Connection,
    /// The system, as when there is no file descriptor left.
    Passing,
    /// The socket, which will never listen again.
    Socket,
}

impl Trouble {
    fn of(error: &io::Error) -> Self {
        if let Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK) = Errno::from_io_error(error) {
            return Self::Socket;
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted => Self::Connection,
            _ => Self::Passing,
        }
    }
}

/// How many connections may be open: what is configured, but no more than half of the files that the
/// process may have, since agents need some as well and none left would mean that nothing works.
fn room(configured: usize, files: Option<u64>) -> usize {
    let half = files.map_or(usize::MAX, |files| {
        usize::try_from(files / 2).unwrap_or(usize::MAX).max(1)
    });
    if half < configured {
        warn!(
            connections = half,
            "fewer connections than configured: the system allows too few open files"
        );
    }
    configured.min(half).min(Semaphore::MAX_PERMITS)
}

/// Sends at once, and lets the system end a connection whose client takes nothing for too long
/// (`TCP_USER_TIMEOUT`). Nothing above would notice: a body is asked for more only when there is room.
fn prepare(stream: &TcpStream, stuck_timeout: Duration) {
    let done = stream
        .set_nodelay(true)
        .and_then(|()| limit_stuck(stream, stuck_timeout));
    if let Err(error) = done {
        debug!(%error, "connection is gone already");
    }
}

#[cfg(target_os = "linux")]
fn limit_stuck(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    let millis = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, millis)?)
}

#[cfg(not(target_os = "linux"))]
fn limit_stuck(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_agents() {
        for (configured, files, allowed) in [
            (4096, Some(1024), 512),
            (100, Some(1024), 100),
            (4096, None, 4096),
            (7, Some(0), 1),
            (usize::MAX, None, Semaphore::MAX_PERMITS),
        ] {
            assert_eq!(room(configured, files), allowed, "{configured} {files:?}");
        }
    }

    #[test]
    fn an_error_says_whether_to_go_on_to_wait_or_to_end() {
        for (errno, trouble) in [
            (Errno::CONNABORTED, Trouble::Connection),
            (Errno::INTR, Trouble::Connection),
            (Errno::MFILE, Trouble::Passing),
            (Errno::NETDOWN, Trouble::Passing),
            (Errno::INVAL, Trouble::Socket),
            (Errno::BADF, Trouble::Socket),
        ] {
            assert_eq!(Trouble::of(&errno.into()), trouble, "{errno}");
        }
    }
}
