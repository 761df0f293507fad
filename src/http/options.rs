//! The settings: of the routes, wherever they are served, and of the listener, which serves them on a
//! socket of its own. Who may call is no setting with a default: see [`super::Access`].

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use super::{BasePath, Fence, HostName, Origin};

/// All settings of the listener but who may call.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen. Port 0 takes a free one.
    pub addr: SocketAddr,
    /// What is served there.
    pub service: ServiceOptions,
    /// The longest a connection may take for a request's head, idle time before it included.
    pub header_timeout: Duration,
    /// How long a client may take nothing of what is sent to it. Milliseconds up to 49 days.
    pub stuck_timeout: Duration,
    /// How many connections may be open at once, unless the system allows the process fewer than twice as
    /// many files. More wait in the kernel.
    pub max_connections: usize,
    /// Whether to listen where other machines reach it, without TLS and perhaps without a token.
    pub allow_insecure_bind: bool,
    /// Who tells an agent's own connections from all others. Without one nobody is kept out for what it is.
    pub fence: Option<Arc<dyn Fence>>,
}

/// All settings of the routes but who may call.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// What every AG-UI route starts with.
    pub path: BasePath,
    /// The pages that may call. Empty means that no browser may.
    pub origins: Vec<Origin>,
    /// Names that a request's Host may have beside those of the loopback.
    pub hosts: Vec<HostName>,
    /// The largest request body, in bytes.
    pub max_body: usize,
    /// The longest a request may take for its body.
    pub body_timeout: Duration,
    /// How long a stream may be silent before it gets a comment. The first comes after a second.
    pub heartbeat: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            service: ServiceOptions::default(),
            header_timeout: Duration::from_secs(30),
            stuck_timeout: Duration::from_mins(2),
            max_connections: 4096,
            allow_insecure_bind: false,
            fence: None,
        }
    }
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            path: BasePath::default(),
            origins: Vec::new(),
            hosts: Vec::new(),
            max_body: 32 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
        }
    }
}
