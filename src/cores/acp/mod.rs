//! Any agent that speaks the Agent Client Protocol, version 1, on its standard input and output.
//!
//! A turn starts the agent's program, agrees on the version, opens the thread's session, sends the
//! prompt, passes on what the agent says, and ends the program. All of it is one future without a task
//! of its own: dropping that future ends the program and whatever the program has started.
//!
//! From the program up: `process` owns the program, and `supervisor` is the process between the two that
//! leaves nothing of it behind; `lines` cuts its output into lines of
//! bounded length; `transport` carries messages between those and the SDK and bounds what is inside it;
//! `client` is the SDK with our handlers; `session` and `turn` hold the conversation; `translate` makes
//! events of updates, and decides nothing asynchronously.
//!
//! An adapter that is behind makes the program wait: between the two are so many bytes of its output at most
//! (see `transport`), besides what it has said of tool calls that have not ended.

mod client;
mod ending;
mod failure;
mod lines;
mod model;
mod options;
mod permission;
mod preset;
mod process;
mod prompt;
mod session;
mod stderr;
pub mod supervisor;
mod translate;
mod transport;
mod turn;
mod usage;

use std::{path::PathBuf, sync::Arc};

use agent_client_protocol::Channel;
use futures_util::future::BoxFuture;

use self::{
    failure::{Explained, Failure, describe},
    process::{Manner, Pipes, Process},
    transport::Gate,
    turn::Turn,
};
pub use self::{
    options::{Options, POOL_SIZE, POOL_TTL, STOP_GRACE},
    preset::{PRESETS, Preset},
};
use super::Core;
use crate::{
    deps::{StopReason, TurnError, TurnIo, TurnRequest},
    protocol::AgentCapabilities,
};

/// One agent behind ACP.
#[derive(Debug, Clone)]
pub struct Acp {
    options: Arc<Options>,
}

impl Acp {
    /// An agent that is started as the options say, at its first turn.
    pub fn new(options: Options) -> Self {
        Self {
            options: Arc::new(options),
        }
    }
}

impl Core for Acp {
    fn capabilities(&self) -> AgentCapabilities {
        capabilities()
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        let options = Arc::clone(&self.options);
        Box::pin(async move {
            let name = options.name.clone();
            let turn = Turn {
                options,
                request,
                io,
            };
            run(turn)
                .await
                .map_err(|failure| failure.into_turn_error(&name))
        })
    }
}

/// What any agent behind ACP can do. What one takes besides text is known only once it runs.
fn capabilities() -> AgentCapabilities {
    let mut capabilities = AgentCapabilities::default();
    capabilities.transport.streaming = Some(true);
    capabilities.tools.supported = Some(true);
    capabilities.reasoning.supported = Some(true);
    capabilities.reasoning.streaming = Some(true);
    capabilities
}

/// Starts the program, runs the turn, and ends the program whatever came of the turn.
async fn run(turn: Turn) -> Result<StopReason, Explained> {
    let options = Arc::clone(&turn.options);
    let io = turn.io.clone();
    let workdir = absolute(&options).await?;
    let (mut process, mut pipes) = Process::start(&options, &workdir)?;
    let (ours, theirs) = Channel::duplex();
    let gate = Arc::new(Gate::new());
    let conversation = client::connect(
        theirs,
        Arc::clone(&gate),
        io.clone(),
        options.name.clone(),
        async move |peer| turn.run(peer, &workdir).await,
    );
    let outcome = tokio::select! {
        biased;
        outcome = conversation => outcome,
        never = serve(&mut process, &mut pipes, ours, &gate, &options.name) => match never {},
    };
    let outcome = outcome.unwrap_or_else(|error| Err(Failure::Crashed(describe(&error))));
    let manner = if io.is_stopped() {
        Manner::Firm
    } else {
        Manner::Gentle
    };
    let end = process.end(pipes, manner).await;
    outcome.map_err(|failure| failure.explained_by(end))
}

/// Keeps the program's three streams going, for ever.
async fn serve(
    process: &mut Process,
    pipes: &mut Pipes,
    channel: Channel,
    gate: &Gate,
    agent: &str,
) -> std::convert::Infallible {
    let tail = process.tail();
    tokio::join!(
        tail.drain(&mut pipes.stderr, agent),
        transport::carry(
            channel,
            &mut pipes.stdout,
            &mut pipes.stdin,
            gate,
            process.over(),
            agent,
        ),
    );
    std::future::pending().await
}

/// The folder as the protocol wants it: absolute, and a folder for sure.
async fn absolute(options: &Options) -> Result<PathBuf, Failure> {
    let workdir = &options.workdir;
    // Only a folder has itself inside.
    tokio::fs::canonicalize(workdir.join("."))
        .await
        .map_err(|error| Failure::Unavailable(format!("{}: {error}", workdir.display())))
}
