//! Sockets on the loopback interface, and the connections that come in.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::debug;

use super::{refusal::Refusals, seats::Seats};

/// How many connections may be open at one socket.
const CONNECTIONS: usize = 512;

/// How long to wait when no connection can be taken, as when there is no file descriptor left.
const BACK_OFF: Duration = Duration::from_millis(100);

/// What the connections have in common.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) seats: Arc<Seats>,
    pub(super) refusals: Refusals,
    pub(super) tasks: TaskTracker,
    pub(super) closing: CancellationToken,
}

/// Binds a port that is free, and has each connection served in a task of its own.
///
/// # Errors
/// No port can be bound.
pub(super) fn listen<F>(
    common: &Common,
    serve: impl Fn(TcpStream, SocketAddr, Common) -> F + Send + Sync + 'static,
) -> io::Result<SocketAddr>
where
    F: Future<Output = ()> + Send + 'static,
{
    let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_nonblocking(true)?;
    let here = socket.local_addr()?;
    let socket = TcpListener::from_std(socket)?;
    let common = common.clone();
    let closing = common.closing.clone();
    common.tasks.clone().spawn(async move {
        let taking = take(socket, here, common, serve);
        closing.run_until_cancelled(taking).await;
    });
    Ok(here)
}

async fn take<F>(
    socket: TcpListener,
    here: SocketAddr,
    common: Common,
    serve: impl Fn(TcpStream, SocketAddr, Common) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await;
        let permit = permit.expect("nobody closes the semaphore");
        match socket.accept().await {
            Ok((stream, _)) => {
                let serving = serve(stream, here, common.clone());
                let closing = common.closing.clone();
                common.tasks.spawn(async move {
                    closing.run_until_cancelled(serving).await;
                    drop(permit);
                });
            }
            Err(error) => {
                debug!(%error, "failed to accept a connection of an agent");
                sleep(BACK_OFF).await;
            }
        }
    }
}
