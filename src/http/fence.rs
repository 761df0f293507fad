//! Who is at the other end of a connection: an agent's own process must not be let in, whatever it shows.
//!
//! The listener knows neither agents nor processes. It is given somebody who does ([`Options::fence`](super::Options::fence)),
//! and asks once for each connection, before a byte of it is read.

use std::{fmt, net::SocketAddr, sync::Arc};

use futures_util::future::BoxFuture;

/// The two ends of a connection that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The client's.
    pub peer: SocketAddr,
    /// The listener's.
    pub local: SocketAddr,
}

/// Who is at the client's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Nobody that is to be kept out.
    Other,
    /// A process of an agent that is served here, or one that cannot be told from those. Probes are answered, and
    /// everything else is refused with 403 `own_agent`.
    Agent {
        /// Which one, for the log.
        process: Arc<str>,
    },
    /// Nobody any more: it has closed its end, so that it cannot be told who it was. Nothing is read.
    Gone,
}

/// Tells who calls.
pub trait Fence: fmt::Debug + Send + Sync {
    /// Looks who is at the client's end. Ends in bounded time, and can be dropped.
    fn caller(&self, ends: Ends) -> BoxFuture<'static, Caller>;
}
