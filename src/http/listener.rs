//! The listener: a socket that is bound at once or not at all, and served until told to stop.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, sync::watch, time::timeout};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{Access, Options, accept::Intake, conn::Rules};
use crate::{deps::AgentName, engine::Runtime};

/// A socket that a runtime is served on in the background, see [`Runtime::listen`]. Dropping it closes the
/// socket and ends its connections at once.
#[derive(Debug)]
pub struct Listener {
    addr: SocketAddr,
    url: String,
    /// How taking connections ended; nothing before it has, and no sender if it broke.
    ended: watch::Receiver<Option<Result<(), ServeError>>>,
    /// Takes the connections, and serves each.
    tasks: TaskTracker,
    /// Fires to take no more connections, and to end each after the answer that is under way.
    soft: CancellationToken,
    /// Fires to end all connections at once; it includes the soft one.
    kill: CancellationToken,
    _all_end: DropGuard,
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

/// Why a listener ended unasked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ServeError {
    /// The socket takes no more connections.
    #[error("go on listening")]
    Socket(#[source] Arc<io::Error>),
    /// A defect: the task that takes connections is gone.
    #[error("go on listening: the listener broke")]
    Broken,
}

/// An address that is bound, and on which nobody is answered yet, see [`Runtime::listen_on`].
#[derive(Debug)]
pub struct Bound {
    socket: std::net::TcpListener,
    addr: SocketAddr,
}

impl Bound {
    /// Binds the address of these options. A port that is taken is an error at once.
    ///
    /// # Errors
    /// The address cannot be bound, or others could reach it in a way that the options do not allow.
    pub fn new(options: &Options) -> Result<Self, BindError> {
        let addr = options.addr;
        if !addr.ip().is_loopback() && !options.allow_insecure_bind {
            return Err(BindError::Insecure(addr));
        }
        bind(addr).map_err(|source| BindError::Io { addr, source })
    }
}

impl Listener {
    pub(super) fn start(
        bound: Bound,
        runtime: &Runtime,
        options: Options,
        access: Access,
    ) -> Result<Self, BindError> {
        let Bound { socket, addr } = bound;
        let socket =
            TcpListener::from_std(socket).map_err(|source| BindError::Io { addr, source })?;
        Ok(Self::over(socket, addr, runtime, options, access))
    }

    fn over(
        socket: TcpListener,
        addr: SocketAddr,
        runtime: &Runtime,
        options: Options,
        access: Access,
    ) -> Self {
        let url = url(addr, options.service.path.prefix());
        let kill = CancellationToken::new();
        let soft = kill.child_token();
        let tasks = TaskTracker::new();
        let intake = Intake {
            service: runtime.service(options.service, access),
            rules: Rules {
                header_timeout: options.header_timeout,
                soft: soft.clone(),
                kill: kill.clone(),
            },
            fence: options.fence,
            stuck_timeout: options.stuck_timeout,
            max_connections: options.max_connections,
            tasks: tasks.clone(),
        };
        let (report, ended) = watch::channel(None);
        tasks.spawn(async move {
            let end = intake.run(socket).await;
            let end = end.map_err(|error| ServeError::Socket(Arc::new(error)));
            report.send_replace(Some(end));
        });
        // Which only means that waiting for the tasks ends with the last of them.
        tasks.close();
        Self {
            addr,
            url,
            ended,
            tasks,
            soft,
            _all_end: kill.clone().drop_guard(),
            kill,
        }
    }

    /// The address that is really bound.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What clients on this machine put before `/{agent}`; no slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a client on this machine is given for an agent.
    pub fn agent_url(&self, agent: &AgentName) -> String {
        format!("{}/{agent}", self.url)
    }

    /// Waits for the end: at once when the socket fails, and after a [`shutdown`](Self::shutdown) once the last
    /// connection has ended, which is a success. Cancel-safe, and any number may wait.
    ///
    /// # Errors
    /// The listener ended unasked. Connections that are open go on until it is shut down or dropped.
    pub async fn wait(&self) -> Result<(), ServeError> {
        let mut ended = self.ended.clone();
        let end = ended.wait_for(Option::is_some).await;
        let end = end.map(|end| end.clone()).unwrap_or_default();
        end.unwrap_or(Err(ServeError::Broken))?;
        self.tasks.wait().await;
        Ok(())
    }

    /// Stops listening: takes no more connections, lets the answers that are under way go on for `grace`, then
    /// ends what is left. Returns when no connection is left. Runs and state are left alone: the
    /// runtime goes on and can listen again. But a run whose stream is cut has lost its reader, and what
    /// that means is a policy of its agent ([`Linger`](crate::engine::Linger)); so to end everything in good
    /// order, close the runtime first.
    pub async fn shutdown(&self, grace: Duration) {
        self.soft.cancel();
        if timeout(grace, self.tasks.wait()).await.is_err() {
            self.kill.cancel();
            self.tasks.wait().await;
        }
    }
}

fn bind(addr: SocketAddr) -> io::Result<Bound> {
    let socket = std::net::TcpListener::bind(addr)?;
    socket.set_nonblocking(true)?;
    let addr = socket.local_addr()?;
    Ok(Bound { socket, addr })
}

/// The URL of a path at an address. What stands for every address of a machine is no place to call.
pub(crate) fn url(mut addr: SocketAddr, prefix: &str) -> String {
    match addr {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => addr.set_ip(Ipv4Addr::LOCALHOST.into()),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => addr.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{addr}{prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cores::Cores, engine, http::BasePath};

    fn listen(
        addr: &str,
        path: &str,
        change: impl FnOnce(&mut Options),
    ) -> Result<Listener, BindError> {
        let mut options = Options {
            addr: addr.parse().unwrap(),
            ..Options::default()
        };
        options.service.path = BasePath::new(path).unwrap();
        change(&mut options);
        idle().listen(options, Access::Anyone)
    }

    fn idle() -> Runtime {
        let deps = Arc::new(Cores::new(Vec::new()));
        Runtime::new(deps, engine::Options::default())
    }

    #[tokio::test]
    async fn r19_a_taken_port_is_an_error_at_once_and_never_another_port() {
        let first = listen("127.0.0.1:0", "/", |_| {}).unwrap();
        assert_ne!(first.addr().port(), 0);
        let second = listen(&first.addr().to_string(), "/", |_| {}).unwrap_err();
        let BindError::Io { addr, source } = second else {
            panic!("{second}");
        };
        assert_eq!(
            (addr, source.kind()),
            (first.addr(), io::ErrorKind::AddrInUse)
        );
    }

    /// Requirement 20; field report R86.
    #[tokio::test]
    async fn the_url_is_what_a_client_can_use() {
        for (addr, path, shown) in [
            ("127.0.0.1:0", "/agui/", "http://127.0.0.1:{port}/agui"),
            ("127.0.0.1:0", "/", "http://127.0.0.1:{port}"),
            ("0.0.0.0:0", "/x", "http://127.0.0.1:{port}/x"),
        ] {
            let listener = listen(addr, path, |options| options.allow_insecure_bind = true);
            let listener = listener.unwrap();
            let shown = shown.replace("{port}", &listener.addr().port().to_string());
            assert_eq!(listener.url(), shown);
            let demo = AgentName::new("demo").unwrap();
            assert_eq!(listener.agent_url(&demo), format!("{shown}/demo"));
        }
    }

    #[tokio::test]
    async fn r17_an_address_that_others_reach_needs_to_be_meant() {
        assert!(Options::default().addr.ip().is_loopback());
        for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let refused = listen(addr, "/", |_| {});
            assert!(matches!(refused, Err(BindError::Insecure(_))), "{addr}");
        }
    }

    #[tokio::test]
    async fn r22_a_requested_stop_is_a_success_for_whoever_waits() {
        let listener = listen("127.0.0.1:0", "/", |_| {}).unwrap();
        let stop = async {
            tokio::task::yield_now().await;
            listener.shutdown(Duration::MAX).await;
        };
        let (waited, again, ()) = tokio::join!(listener.wait(), listener.wait(), stop);
        assert!(waited.is_ok() && again.is_ok());
        assert!(listener.wait().await.is_ok(), "whoever comes late, too");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn r22_a_socket_that_breaks_is_a_failure_that_says_why() {
        let Bound { socket, addr } = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let same = socket.try_clone().unwrap();
        let socket = TcpListener::from_std(socket).unwrap();
        let listener = Listener::over(socket, addr, &idle(), Options::default(), Access::Anyone);
        rustix::net::shutdown(same, rustix::net::Shutdown::Both).unwrap();
        let ended = timeout(Duration::from_secs(20), listener.wait()).await;
        let ServeError::Socket(why) = ended.expect("it ends").unwrap_err() else {
            panic!("it was the socket");
        };
        assert_eq!(why.kind(), io::ErrorKind::InvalidInput);
        listener.shutdown(Duration::ZERO).await;
        assert!(listener.tasks.is_empty());
    }

    #[tokio::test]
    async fn a_listener_that_is_dropped_leaves_no_task() {
        let listener = listen("127.0.0.1:0", "/", |_| {}).unwrap();
        let (tasks, addr) = (listener.tasks.clone(), listener.addr());
        let _connection = tokio::net::TcpStream::connect(addr).await.unwrap();
        while tasks.len() < 2 {
            tokio::task::yield_now().await;
        }
        drop(listener);
        let ended = timeout(Duration::from_secs(20), tasks.wait()).await;
        assert!(ended.is_ok());
    }
}
