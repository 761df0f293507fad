//! The AG-UI routes and nothing else: as a service that any server can mount ([`Service`]), and on a socket
//! of their own, over HTTP/1.1 ([`Listener`]).
//!
//! Who calls may be asked for each connection (`fence`), so that an agent does not call its own daemon.
//!
//! A request passes the guards in one fixed order, which `guard` decides in a synchronous function:
//! health routes, Host, Origin, path, method, content type, token, agent, HTTP version, thread. Only then is a
//! byte of the body read, up to a limit, decoded, and given to the engine. A refusal is a status and a
//! small JSON body, changes nothing, and lives in `problem`, the only file that knows statuses.
//!
//! An answer to a run is a cursor on that run's log (`sse`): the run does not know the connection, and
//! dropping the body is how the engine learns that the client hung up. A client that closes only its
//! sending side hung up, too: from here the two look the same, and one that left must not keep its turn.
//! So does, after some time, one that takes nothing of what is sent to it.
//!
//! hyper is driven by hand rather than by `axum` or `tower-http`: there are ten routes, the guards must
//! run before any of them in an order that CORS layers do not offer (they withhold headers, a listener
//! on a laptop has to refuse), and a refusal has to stay readable for a client that is still sending.
//! What hyper itself refuses (a request line or header that cannot be parsed) is a bare 400, 414 or 431.

mod accept;
mod auth;
mod body;
mod conn;
mod cors;
mod fence;
mod guard;
mod host;
mod info;
mod listener;
mod options;
mod path;
mod problem;
mod query;
mod reply;
mod route;
mod runtime;
mod secret;
mod segment;
mod service;
mod sse;
mod threads;
mod tokens;
mod tries;

pub use auth::Access;
pub use cors::{BadOrigin, Origin};
pub use fence::{Caller, Ends, Fence};
pub use host::{BadHostName, HostName};
pub(crate) use listener::url;
pub use listener::{BindError, Bound, Listener, ServeError};
pub use options::{Options, ServiceOptions};
pub use path::{BadPath, BasePath};
pub use reply::ReplyBody;
pub use secret::{BadSecret, Secret};
pub use service::Service;
pub use tokens::{BadTokens, Digest, Tokens};
