//! Looks who calls, beside the threads that serve.

use std::{io, net::TcpListener, net::TcpStream, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::{
    holders::{self, Holder},
    sockets::{self, Peer},
};
use crate::{
    cores::acp::supervisor,
    http::{self, Caller, Ends},
};

/// How many look at once. A look takes some milliseconds of a processor.
const LOOKERS: usize = 4;

/// How long a look may take. An agent could make it long, by opening files without end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Keeps out what is below this process.
///
/// One look per connection: nothing while no agent has a process, then one pass over `/proc`, the system's table of
/// sockets and the files of the agents' processes. With 100 processes and 3000 sockets that was 15 ms of a processor
/// without optimisation, half of it the system's.
#[derive(Debug)]
pub struct Fence {
    places: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Fence {
    /// A fence around all that is below this process, see [`supervisor::adopt`], which it calls.
    ///
    /// # Errors
    /// It cannot be told here who calls, or orphans cannot be taken in.
    pub fn new() -> io::Result<Self> {
        try_out()?;
        supervisor::adopt()?;
        Ok(Self {
            places: Arc::new(Semaphore::new(LOOKERS)),
            tasks: TaskTracker::new(),
        })
    }
}

impl http::Fence for Fence {
    fn caller(&self, ends: Ends) -> BoxFuture<'static, Caller> {
        let (places, tasks) = (Arc::clone(&self.places), self.tasks.clone());
        Box::pin(async move {
            if !supervisor::is_anybody_there() {
                return Caller::Other;
            }
            let place = places.acquire_owned().await;
            let looking = tasks.spawn_blocking(move || {
                let seen = look(ends);
                drop(place);
                seen
            });
            let seen = match timeout(PATIENCE, looking).await {
                Ok(Ok(seen)) => seen,
                Ok(Err(_)) => Err(io::Error::other("the look has failed")),
                Err(late) => Err(late.into()),
            };
            judge(seen)
        })
    }
}

/// What one look has seen.
#[derive(Debug)]
enum Seen {
    /// It is nobody's on this machine.
    Elsewhere,
    Gone,
    Held(Holder),
}

fn look(ends: Ends) -> io::Result<Seen> {
    Ok(match sockets::find(ends)? {
        Peer::Elsewhere => Seen::Elsewhere,
        Peer::Gone => Seen::Gone,
        Peer::Here(socket) => Seen::Held(holders::find(socket, &supervisor::agents())),
    })
}

/// Who it is. What an agent may have kept from being seen counts as an agent's.
fn judge(seen: io::Result<Seen>) -> Caller {
    let agent = |process: String| Caller::Agent {
        process: process.into(),
    };
    match seen {
        Ok(Seen::Elsewhere | Seen::Held(Holder::Outside)) => Caller::Other,
        Ok(Seen::Gone) => Caller::Gone,
        Ok(Seen::Held(Holder::Inside(process))) => agent(holders::title(process)),
        Ok(Seen::Held(Holder::Hidden)) => agent("one that hides it".into()),
        Err(error) => {
            warn!(%error, "failed to look who calls, so it is refused");
            agent("unknown".into())
        }
    }
}

/// Tries whether a client can be found here.
fn try_out() -> io::Result<()> {
    let unseen = || io::Error::other("the system does not show whose a connection is");
    let listener = TcpListener::bind("127.0.0.1:0").or_else(|_| TcpListener::bind("[::1]:0"))?;
    let local = listener.local_addr()?;
    let client = TcpStream::connect(local)?;
    let peer = client.local_addr()?;
    let Peer::Here(socket) = sockets::find(Ends { peer, local })? else {
        return Err(unseen());
    };
    let me = rustix::process::getpid().as_raw_nonzero().get();
    match holders::find(socket, &[me]) {
        Holder::Inside(_) => Ok(()),
        Holder::Hidden | Holder::Outside => Err(unseen()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_seen_to_be_somebody_else_is_let_in() {
        let is_other = |seen| judge(seen) == Caller::Other;
        assert!(is_other(Ok(Seen::Elsewhere)));
        assert!(is_other(Ok(Seen::Held(Holder::Outside))));
        for seen in [
            Ok(Seen::Gone),
            Ok(Seen::Held(Holder::Inside(1))),
            Ok(Seen::Held(Holder::Hidden)),
            Err(io::ErrorKind::TimedOut.into()),
        ] {
            assert!(!is_other(seen));
        }
    }

    #[test]
    fn this_machine_shows_whose_a_connection_is() {
        try_out().unwrap();
    }
}
