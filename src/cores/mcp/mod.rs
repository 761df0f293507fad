//! Tools for agents that take tools of others over the Model Context Protocol: those of the page that a turn is of,
//! and the one with which the person is asked.
//!
//! A core asks the [`Server`] for a [`Place`] in each of its conversations, and hands its agent what leads there: a
//! URL and a secret, or a program that carries bytes, see [`carry`]. While a turn is live it takes the calls from an
//! [`Attendance`], and answers each when it can; between turns nothing can be called. An agent is kept waiting for as
//! long as that takes, with a sign of life now and then.
//!
//! - [`Server`] and [`Place`] are what cores see, with [`Called`] and [`Outcome`]. `room` is what is behind a place,
//!   `offer` which tools there are, `call` what becomes of one.
//! - `handler` answers to MCP, over whatever carries it: `http`, or `line` for agents that take only stdio. `seats`
//!   finds places by their secrets (`secret`), `guard` says who is let in, `refusal` says who was not, and `listener`
//!   takes the connections.
//!
//! The protocol is that of the official SDK, `rmcp`. What it lacks for this is done around it: the secret, bounds on
//! what one agent can take, and a call that ends when nobody reads its answer. The SDK starts tasks of its own, which
//! end with the place that they are of.

mod call;
mod guard;
mod handler;
mod http;
mod line;
mod listener;
mod offer;
mod refusal;
mod room;
mod seats;
mod secret;

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

pub use self::{
    call::{Called, Outcome},
    line::{ADDRESS, Line, LineError, SECRET, WORD, carry},
    secret::Secret,
};
use self::{
    listener::{Common, listen},
    refusal::Refusals,
    room::Room,
    seats::Seat,
};
use crate::protocol::Tool;

/// What the server is called. Agents put it before the names of tools.
pub const NAME: &str = "agui";

/// How long an open call may be silent, unless it is configured. The most impatient agents wait for a minute.
pub const PROGRESS: Duration = Duration::from_secs(5);

/// Has tools for agents on this machine. Its clones are one server, which ends with the last of them, its places
/// included, or when it is closed.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    common: Common,
    progress: Duration,
    http: Mutex<Option<SocketAddr>>,
    line: Mutex<Option<SocketAddr>>,
    _all_ends: DropGuard,
}

/// Why there is no place.
#[derive(Debug, thiserror::Error)]
#[error("listen on the loopback interface for agents that call tools")]
pub struct Error(#[from] io::Error);

/// A place in one conversation. Dropped, its secret opens nothing any more, and what is open there ends.
pub struct Place {
    seat: Arc<Seat>,
    secret: Secret,
    server: Server,
    _closing: DropGuard,
}

/// A live turn's hold on a place. Dropped, nothing can be called there, and what was not answered was not
/// carried out.
pub struct Attendance {
    room: Arc<Room>,
    calls: mpsc::Sender<Called>,
    taken: mpsc::Receiver<Called>,
}

impl Server {
    /// A server that listens nowhere yet. `progress` is how long an open call may be silent.
    pub fn new(progress: Duration) -> Self {
        let closing = CancellationToken::new();
        Self(Arc::new(Inner {
            common: Common {
                seats: Arc::default(),
                refusals: Refusals::default(),
                tasks: TaskTracker::new(),
                closing: closing.clone(),
            },
            progress,
            http: Mutex::default(),
            line: Mutex::default(),
            _all_ends: closing.drop_guard(),
        }))
    }

    /// Makes a place. With `asks` there is a tool to ask the person with.
    pub fn place(&self, asks: bool) -> Place {
        let Inner {
            common, progress, ..
        } = &*self.0;
        let secret = Secret::generate();
        let closing = common.closing.child_token();
        let room = Room::new(asks, *progress, closing.clone(), common.tasks.clone());
        let seat = Arc::new(Seat::new(Arc::new(room)));
        common.seats.add(&secret, Arc::clone(&seat));
        Place {
            seat,
            secret,
            server: self.clone(),
            _closing: closing.drop_guard(),
        }
    }

    /// Ends all that is open and waits for it.
    pub async fn close(&self) {
        let Common { tasks, closing, .. } = &self.0.common;
        closing.cancel();
        tasks.close();
        tasks.wait().await;
    }
}

impl Place {
    /// Where the tools are for an agent that takes HTTP. The secret is to be sent along as a `Bearer`.
    ///
    /// # Errors
    /// No port can be bound.
    pub fn url(&self) -> Result<String, Error> {
        let Inner { common, http, .. } = &*self.server.0;
        let addr = bound(http, || listen(common, http::serve))?;
        Ok(format!("http://{addr}{}", guard::PATH))
    }

    /// The secret of the place.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Where the tools are for an agent that starts a program for them.
    ///
    /// # Errors
    /// No port can be bound.
    pub fn line(&self) -> Result<Line, Error> {
        let Inner { common, line, .. } = &*self.server.0;
        let address = bound(line, || listen(common, line::serve))?;
        Ok(Line {
            address,
            secret: self.secret.clone(),
        })
    }

    /// Offers the tools of a page from now on, in place of others, and says whether that is a change. Agents that are
    /// connected are told of one; not all of them listen.
    pub fn set_tools(&self, page: &[Tool]) -> bool {
        self.seat.room.set_tools(page)
    }

    /// Whether there is a tool to ask the person with.
    pub fn asks(&self) -> bool {
        self.seat.room.asks()
    }

    /// The names of the tools that are offered now.
    pub fn names(&self) -> Vec<String> {
        let offer = self.seat.room.offer();
        offer.names().map(ToOwned::to_owned).collect()
    }

    /// Ends once the agent has listed the tools that are offered now, and has had a moment to take them in; at once if
    /// it has. Cancel-safe.
    pub async fn listed(&self) {
        self.seat.room.listed().await;
    }

    /// Takes the calls from now on.
    pub fn attend(&self) -> Attendance {
        let room = Arc::clone(&self.seat.room);
        let (calls, taken) = room.begin();
        Attendance { room, calls, taken }
    }
}

impl Attendance {
    /// The next call. Cancel-safe.
    pub async fn next(&mut self) -> Called {
        let called = self.taken.recv().await;
        called.expect("the other end is held here")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.server.0.common.seats.remove(&self.secret);
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.room.end(&self.calls);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

/// What is bound, once somebody needs it.
fn bound(
    place: &Mutex<Option<SocketAddr>>,
    bind: impl FnOnce() -> io::Result<SocketAddr>,
) -> Result<SocketAddr, Error> {
    let mut place = place.lock();
    if let Some(addr) = *place {
        return Ok(addr);
    }
    let addr = bind()?;
    *place = Some(addr);
    Ok(addr)
}

#[cfg(test)]
mod tests;
