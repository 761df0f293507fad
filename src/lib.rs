//! `agui-serve`: one daemon that puts any agent behind [AG-UI](https://docs.ag-ui.com) 1.0.
//!
//! A page posts a run; the daemon drives an agent and streams back what happens. The agent stays what
//! it is: the daemon adds the protocol, threads that last, a stop that stops, and a listener that is safe to
//! leave running on a laptop.
//!
//! # The house
//!
//! Arrows point down only, and a test reads the imports to hold that.
//!
//! ```text
//! main  cli  config  lifecycle  telemetry       assemble: settings in, a running daemon out
//! fence          keeps an agent from calling the daemon that runs it
//!   │
//! http           listener, guards, routes, the SSE body; the only floor that knows HTTP statuses
//!   │            (conformance, beside it, tries whether a core keeps the promises of the seam)
//! engine         threads, turns, runs, the log and its cursors, the writer; the only floor that makes events
//!   │
//! cores          demo, acp: what answers for an agent; each behind a cargo feature (mcp: the page's tools for acp)
//!   │
//! deps           the seam: what the adapter asks of a core, and a core of the adapter
//!   │
//! store          what is kept of threads, in a database
//! state          the document that clients see as shared state
//! json           reading what tools answer, however it is written
//!   │
//! protocol  env  AG-UI as plain data; the clock and the ids
//! ```
//!
//! `engine` and `cores` do not know each other: both know [`deps`], which says in one file what they owe
//! one another. `cores` never make an AG-UI event; `engine` and `http` do not know what an agent is.
//!
//! # A run, from the POST to its end
//!
//! 1. [`http`] checks the request (host, origin, method, content type, token, size) and
//!    [`protocol::decode`] reads it: leniently, but what is malformed is refused with its place. Until
//!    here a refusal is an HTTP status, and nothing has changed.
//! 2. [`engine::Runtime::start`] decides what is asked for and takes the thread's slot, or waits for it, or finds
//!    the same run there. It looks into the [`store`] for what the thread holds, sets the request's messages beside
//!    that, notes the run, begins its log with `RUN_STARTED` and the state, and hands back a [`engine::Reader`]. The
//!    turn goes on in a task of its own; the HTTP response is only a cursor on the log.
//! 3. The core runs its turn and says what happens as [`deps::CoreEvent`]s. The turn's task translates
//!    them; the writer opens and closes what the protocol wants opened and closed; their frames are
//!    appended to the log, whatever was ready as one entry. Messages are kept in the store as they are complete.
//!    Whoever looks on meanwhile visits the turn and is told what there is; then it reads the same log.
//! 4. Where the core needs the page or a person, it asks ([`deps::Ask`]) and waits. Unless the agent's policy decides at
//!    once, the run ends there and the turn does not: the run that brings the answer goes on with it.
//! 5. The turn ends: the core is done, has failed, has panicked, or was stopped because its reader is
//!    gone, it took too long, or the daemon shuts down. One synchronous function decides what that
//!    means; the end is noted in the store, the thread's slot is given back (to the run that waits for it first),
//!    then the one terminal event is written.
//!
//! # Embedding
//!
//! A Rust program can serve an agent of its own: it implements [`Deps`], which is one method and a list of
//! names, and hands it to a [`Runtime`], which opens no socket. In a turn it can say what happens, call the page's tools,
//! ask for permission and ask people ([`deps::TurnIo`]).
//!
//! - [`Runtime::listen`] binds one at once and gives a [`Listener`], which tells its address, waits, and
//!   shuts down without touching runs or state.
//! - [`Runtime::service`] gives the same routes as a [`Service`], for a server that is there already.
//! - [`Runtime::close`] is a step of its own and ends everything that runs.
//!
//! Threads are kept in memory unless the runtime is given a [`store::Store`] ([`Runtime::with_store`]).
//!
//! All of it takes plain options and knows nothing of configuration files; the daemon itself is put together in
//! the same way. `examples/embed.rs` and `examples/axum.rs` are whole programs, and [`conformance`] tries whether a
//! `Deps` keeps the promises that [`deps`] asks for.
//!
//! ```no_run
//! # use std::{sync::Arc, time::Duration};
//! # use agui_serve::{Access, Deps, Runtime, engine, http};
//! # async fn serve(agents: Arc<dyn Deps>) -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::new(agents, engine::Options::default());
//! let listener = runtime.listen(http::Options::default(), Access::Anyone)?;
//! println!("listening on {}", listener.url());
//! tokio::select! {
//!     ended = listener.wait() => ended?,
//!     pressed = tokio::signal::ctrl_c() => pressed?,
//! }
//! runtime.close().await;
//! listener.shutdown(Duration::from_secs(5)).await;
//! # Ok(())
//! # }
//! ```

pub mod cli;
pub mod config;
pub mod conformance;
pub mod cores;
pub mod deps;
pub mod engine;
pub mod env;
pub mod fence;
pub mod http;
pub mod json;
pub mod lifecycle;
pub mod protocol;
pub mod state;
pub mod store;
pub mod telemetry;

pub use deps::Deps;
pub use engine::Runtime;
pub use http::{Access, Listener, Service};
