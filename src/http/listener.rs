//! The socket: bound at once or not at all, served until told to stop.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use rustix::process::{Resource, getrlimit};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, error, warn};

use super::{
    Access, Options,
    conn::{self, Rules},
    service::{Service, Shared},
};
use crate::{deps::AgentName, engine::Runtime};

/// How long to wait when no connection can be taken, as when there is no file descriptor left.
const BACK_OFF: Duration = Duration::from_millis(100);

/// How long connections have after the hard stop, once the engine has closed their bodies.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// A bound socket that nothing is accepted on yet.
#[derive(Debug)]
pub struct Listener {
    socket: std::net::TcpListener,
    addr: SocketAddr,
    options: Options,
    access: Access,
}

/// Why a socket cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Others could read what is sent, the token included, or call without one.
    #[error("listen on {0}: other machines would reach it, and allow_insecure_bind is not set")]
    Insecure(SocketAddr),
    /// The system says no.
    #[error("listen on {addr}")]
    Io {
        /// Where.
        addr: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Why serving ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket cannot be waited for.
    #[error("wait for connections")]
    Register(#[from] io::Error),
}

/// How serving is told to stop.
#[derive(Debug, Clone)]
pub struct Shutdown {
    /// Take no more connections, and end each after the answer that is under way.
    pub soft: CancellationToken,
    /// End all connections, once the engine has ended their bodies.
    pub hard: CancellationToken,
}

impl Listener {
    /// Binds the socket. A port that is taken is an error, never another port.
    ///
    /// # Errors
    /// The address cannot be bound, or others could reach it in a way that the options do not allow.
    pub fn bind(options: Options, access: Access) -> Result<Self, BindError> {
        let addr = options.addr;
        if !addr.ip().is_loopback() && !options.allow_insecure_bind {
            return Err(BindError::Insecure(addr));
        }
        let bind = || {
            let socket = std::net::TcpListener::bind(addr)?;
            socket.set_nonblocking(true)?;
            let addr = socket.local_addr()?;
            Ok((socket, addr))
        };
        let (socket, addr) = bind().map_err(|source| BindError::Io { addr, source })?;
        Ok(Self {
            socket,
            addr,
            options,
            access,
        })
    }

    /// The address that is really bound.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What clients on this machine put before `/{agent}`; no slash at the end.
    pub fn url(&self) -> String {
        let mut addr = self.addr;
        match addr {
            SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
                addr.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
                addr.set_ip(Ipv6Addr::LOCALHOST.into());
            }
            _ => {}
        }
        format!("http://{addr}{}", self.options.path.prefix())
    }

    /// What a client on this machine is given for an agent.
    pub fn agent_url(&self, agent: &AgentName) -> String {
        format!("{}/{agent}", self.url())
    }

    /// Serves until told to stop, and until every connection has ended. A requested stop is a success;
    /// it leaves the engine's runs alone. Dropping the future ends all connections. It has to be polled
    /// within a tokio runtime.
    ///
    /// # Errors
    /// The socket cannot be waited for.
    pub async fn serve(self, runtime: Runtime, shutdown: Shutdown) -> Result<(), ServeError> {
        let kill = CancellationToken::new();
        let _all_end = kill.clone().drop_guard();
        let rules = Rules {
            header_timeout: self.options.header_timeout,
            soft: shutdown.soft.clone(),
            kill: kill.clone(),
        };
        let stuck_timeout = self.options.stuck_timeout;
        let permits = Arc::new(Semaphore::new(room(
            self.options.max_connections,
            getrlimit(Resource::Nofile).current,
        )));
        let socket = TcpListener::from_std(self.socket)?;
        let shared = Arc::new(Shared {
            options: self.options,
            access: self.access,
            runtime,
        });
        let connections = TaskTracker::new();
        while let Some((stream, permit)) = next(&socket, &permits, &shutdown.soft).await {
            prepare(&stream, stuck_timeout);
            let service = Service::new(Arc::clone(&shared));
            let rules = rules.clone();
            connections.spawn(async move {
                conn::serve(stream, service, rules).await;
                drop(permit);
            });
        }
        drop(socket);
        connections.close();
        tokio::select! {
            biased;
            () = connections.wait() => return Ok(()),
            () = shutdown.hard.cancelled() => {}
        }
        if timeout(LAST_WRITES, connections.wait()).await.is_err() {
            kill.cancel();
            connections.wait().await;
        }
        Ok(())
    }
}

/// Waits for the next connection and room for it; `None` once told to stop.
async fn next(
    socket: &TcpListener,
    permits: &Arc<Semaphore>,
    soft: &CancellationToken,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    tokio::select! {
        biased;
        () = soft.cancelled() => None,
        taken = take(socket, permits) => Some(taken),
    }
}

async fn take(socket: &TcpListener, permits: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    let permit = Arc::clone(permits)
        .acquire_owned()
        .await
        .expect("nobody closes the semaphore");
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => {
                debug!(%peer, "connection opened");
                return (stream, permit);
            }
            Err(error) if is_of_one_connection(&error) => {
                debug!(%error, "connection is gone already");
            }
            Err(error) => {
                error!(%error, "failed to accept a connection");
                sleep(BACK_OFF).await;
            }
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

/// Whether an error of `accept` is about the connection rather than the listener (accept(2)).
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{BasePath, Secret};

    fn bind(
        addr: &str,
        path: &str,
        change: impl FnOnce(&mut Options),
    ) -> Result<Listener, BindError> {
        let mut options = Options {
            addr: addr.parse().unwrap(),
            path: BasePath::new(path).unwrap(),
            ..Options::default()
        };
        change(&mut options);
        Listener::bind(options, Access::Token(Secret::new("t").unwrap()))
    }

    #[test]
    fn r19_a_taken_port_is_an_error_at_once_and_never_another_port() {
        let first = bind("127.0.0.1:0", "/", |_| {}).unwrap();
        assert_ne!(first.addr().port(), 0);
        let second = bind(&first.addr().to_string(), "/", |_| {}).unwrap_err();
        let BindError::Io { addr, source } = second else {
            panic!("{second}");
        };
        assert_eq!(
            (addr, source.kind()),
            (first.addr(), io::ErrorKind::AddrInUse)
        );
    }

    /// Requirement 20; field report R86.
    #[test]
    fn the_url_is_what_a_client_can_use() {
        for (addr, path, shown) in [
            ("127.0.0.1:0", "/agui/", "http://127.0.0.1:{port}/agui"),
            ("127.0.0.1:0", "/", "http://127.0.0.1:{port}"),
            ("0.0.0.0:0", "/x", "http://127.0.0.1:{port}/x"),
        ] {
            let listener = bind(addr, path, |options| options.allow_insecure_bind = true).unwrap();
            let shown = shown.replace("{port}", &listener.addr().port().to_string());
            assert_eq!(listener.url(), shown);
            let demo = AgentName::new("demo").unwrap();
            assert_eq!(listener.agent_url(&demo), format!("{shown}/demo"));
        }
    }

    #[test]
    fn r17_an_address_that_others_reach_needs_to_be_meant() {
        assert!(Options::default().addr.ip().is_loopback());
        for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let refused = bind(addr, "/", |_| {});
            assert!(matches!(refused, Err(BindError::Insecure(_))), "{addr}");
        }
    }

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
    fn only_a_connection_that_is_gone_lets_the_loop_go_on_at_once() {
        assert!(is_of_one_connection(
            &io::ErrorKind::ConnectionAborted.into()
        ));
        let no_descriptor = io::Error::from_raw_os_error(24);
        assert!(!is_of_one_connection(&no_descriptor));
    }
}
