//! One process of an agent, from its start to its end, in a task of its own.
//!
//! Turns come and go; the process and the connection to it stay. The task ends when it is told to, when the
//! program ends, or when the program says nothing more; then the process ends, and with it whatever it has
//! started.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent_client_protocol::{Channel, ErrorCode};
use rustix::process::Pid;
use serde_json::{Value, json};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    board::Side,
    client::{self, Peer},
    failure::{End, Ended, Explained, Failure, describe},
    handover,
    options::Options,
    process::{Manner, Pipes, Process},
    shelf::{self, State},
    translate::Translator,
    transport::{self, Gate},
    usage::Meters,
    vendors::Vendor,
};
use crate::cores::mcp::Place;

/// A process that is ready, as those see it who use it. Cheap to clone.
#[derive(Clone)]
pub(super) struct Worker {
    /// The program.
    pub(super) peer: Peer,
    /// What it said of itself.
    pub(super) hello: Arc<Hello>,
    /// What its sessions have spent.
    pub(super) meters: Arc<Meters>,
    /// The folder that it works in, absolute.
    pub(super) workdir: PathBuf,
    /// The tools that the process has for all of its sessions.
    pub(super) tools: Option<Arc<Place>>,
    /// The process that everything it starts is below.
    pub(super) id: Option<Pid>,
    orders: Orders,
    end: watch::Receiver<Option<End>>,
}

/// What a program answers to `initialize`.
#[derive(Debug, Clone)]
pub(super) struct Hello {
    /// `agentCapabilities`.
    pub(super) capabilities: Value,
    /// `agentInfo`.
    pub(super) info: Value,
    /// `authMethods`.
    pub(super) logins: Value,
}

impl Hello {
    /// Whether it does this with sessions (ACP `sessionCapabilities`).
    pub(super) fn has(&self, what: &str) -> bool {
        self.capabilities["sessionCapabilities"][what].is_object()
    }
}

/// How a worker is told to end. The firm way includes the gentle one.
#[derive(Clone)]
struct Orders {
    gentle: CancellationToken,
    firm: CancellationToken,
}

/// What a worker's task needs.
pub(super) struct Work {
    pub(super) options: Arc<Options>,
    pub(super) side: Side,
    /// The tools that the process has for all of its sessions.
    pub(super) tools: Option<Arc<Place>>,
    /// Ends the worker, gently.
    pub(super) closing: CancellationToken,
}

/// A worker from its start on. Dropped before that is ready, the process ends.
pub(super) struct Starting {
    ready: watch::Receiver<Option<Result<Worker, Explained>>>,
    orders: Orders,
}

impl Starting {
    /// Waits until the program is ready. Any number may wait.
    ///
    /// # Errors
    /// It could not be started, or does not speak ACP; its process is gone by then.
    pub(super) async fn ready(&self) -> Result<Worker, Explained> {
        let mut ready = self.ready.clone();
        let said = ready.wait_for(Option::is_some).await;
        // Its task says something unless it has panicked.
        let said = said.ok().and_then(|said| said.clone());
        said.unwrap_or_else(|| Err(Failure::Crashed("its task is gone".into()).into()))
    }

    /// Tells the process to end. Telling it more firmly later makes it hurry.
    pub(super) fn order(&self, manner: Manner) {
        self.orders.give(manner);
    }
}

impl shelf::Process for Starting {
    fn state(&self) -> State {
        match &*self.ready.borrow() {
            Some(Ok(worker)) if worker.is_there() => State::Ready,
            None if !self.orders.are_given() && self.ready.has_changed().is_ok() => State::Starting,
            _ => State::Gone,
        }
    }

    fn closes_sessions(&self) -> bool {
        let ready = self.ready.borrow();
        let worker = ready.as_ref().and_then(|ready| ready.as_ref().ok());
        worker.is_some_and(|worker| worker.hello.has("close"))
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if self.ready.borrow().is_none() {
            self.order(Manner::Firm);
        }
    }
}

impl Orders {
    fn give(&self, manner: Manner) {
        match manner {
            Manner::Gentle => self.gentle.cancel(),
            Manner::Firm => self.firm.cancel(),
        }
    }

    fn are_given(&self) -> bool {
        self.gentle.is_cancelled() || self.firm.is_cancelled()
    }
}

impl Worker {
    /// Tells the process to end. Telling it more firmly later makes it hurry.
    pub(super) fn order(&self, manner: Manner) {
        self.orders.give(manner);
    }

    /// What follows a session of this program.
    pub(super) fn translator(&self, session: &str) -> Translator {
        let workdir = self.workdir.to_string_lossy();
        Translator::new(session, &workdir, Vendor::of(&self.hello.info))
    }

    /// Whether it can be used: the program is there, and nobody has told it to end.
    pub(super) fn is_there(&self) -> bool {
        !self.orders.are_given() && !self.peer.is_closed()
    }

    /// Has the program close a session (ACP `session/close`), for as long as `patience` lasts.
    pub(super) async fn close_session(&self, session: &str, patience: Duration) {
        self.end_session("session/close", session, patience).await;
    }

    /// Has the program let go of a session: close it if it is open there, and delete it (ACP `session/close`,
    /// `session/delete`), as far as it does that.
    pub(super) async fn forget_session(&self, session: &str, is_open: bool, patience: Duration) {
        if is_open && self.hello.has("close") {
            self.close_session(session, patience).await;
        }
        if self.hello.has("delete") {
            self.end_session("session/delete", session, patience).await;
        }
    }

    async fn end_session(&self, method: &str, session: &str, patience: Duration) {
        let params = json!({"sessionId": session});
        match timeout(patience, self.peer.request(method, params)).await {
            Ok(Ok(_)) => {}
            // Whether there is room for another one, its opening will show.
            Ok(Err(error)) => {
                let detail = describe(&error);
                debug!(method, detail, "a session was not let go of");
            }
            Err(_) => debug!(method, "a session was not let go of in time"),
        }
    }

    /// Waits for its end, which somebody has ordered or which is near, and tells how it ended.
    pub(super) async fn ended(&self) -> End {
        end_of(self.end.clone()).await
    }
}

/// Waits until it is said how a process has ended. That its task is gone without a word is an end, too.
async fn end_of(mut end: watch::Receiver<Option<End>>) -> End {
    let said = end.wait_for(Option::is_some).await;
    let said = said.ok().and_then(|said| said.clone());
    said.unwrap_or_else(|| {
        End::Ended(Ended {
            status: None,
            said: String::new(),
        })
    })
}

/// Makes a worker's task, and what waits for it to be ready.
pub(super) fn start(work: Work) -> (Starting, impl Future<Output = ()> + Send + 'static) {
    let gentle = work.closing.child_token();
    let firm = CancellationToken::new();
    let orders = Orders { gentle, firm };
    let (said, ready) = watch::channel(None);
    let starting = Starting {
        ready,
        orders: orders.clone(),
    };
    (starting, run(work, orders, said))
}

/// Says that a worker is ready, or why it is not.
type Said = watch::Sender<Option<Result<Worker, Explained>>>;

async fn run(work: Work, orders: Orders, said: Said) {
    let Work {
        options,
        side,
        tools,
        ..
    } = work;
    let started = async {
        // Whoever closes does not wait for a process that is started later.
        if orders.are_given() {
            return Err(Failure::Crashed("it was told to end".into()));
        }
        let workdir = absolute(&options).await?;
        let more = match &tools {
            Some(place) => told_of(&options, place)?,
            None => None,
        };
        let (process, pipes) = Process::start(&options, &workdir, more)?;
        Ok::<_, Failure>((workdir, process, pipes))
    };
    let (workdir, mut process, mut pipes) = match started.await {
        Ok(started) => started,
        Err(failure) => {
            said.send_replace(Some(Err(failure.into())));
            return;
        }
    };
    let (ours, theirs) = Channel::duplex();
    let gate = Arc::new(Gate::new());
    let (end, ending) = watch::channel(None);
    let id = process.id();
    let conversation = client::connect(theirs, Arc::clone(&gate), side, async |peer| {
        let hello = timeout(options.start_timeout, initialize(&peer, &options));
        let hello = hello.await.unwrap_or_else(|_| {
            let patience = options.start_timeout;
            let why = format!("no answer to initialize in {patience:?}");
            Err(Failure::Handshake(why))
        })?;
        let worker = Worker {
            peer: peer.clone(),
            hello: Arc::new(hello),
            meters: Arc::default(),
            tools,
            workdir: workdir.clone(),
            id,
            orders: orders.clone(),
            end: ending,
        };
        said.send_replace(Some(Ok(worker)));
        peer.closed().await;
        Ok::<_, Failure>(())
    });
    let outcome = tokio::select! {
        biased;
        () = orders.firm.cancelled() => None,
        () = orders.gentle.cancelled() => None,
        outcome = conversation => Some(outcome),
        never = serve(&mut process, &mut pipes, ours, &gate, &options.name) => match never {},
    };
    let manner = if orders.firm.is_cancelled() {
        Manner::Firm
    } else {
        Manner::Gentle
    };
    let ended = process.end(pipes, manner, orders.firm.cancelled()).await;
    if said.borrow().is_none() {
        let failure = match outcome {
            Some(Ok(Err(failure))) => failure,
            Some(Err(error)) => Failure::Crashed(describe(&error)),
            Some(Ok(Ok(()))) | None => Failure::Crashed("it was told to end".into()),
        };
        said.send_replace(Some(Err(failure.explained_by(ended.clone()))));
    }
    end.send_replace(Some(ended));
}

/// Keeps the program's three streams going, for ever.
async fn serve(
    process: &mut Process,
    pipes: &mut Pipes,
    channel: Channel,
    gate: &Gate,
    agent: &str,
) -> Infallible {
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

/// The variable that tells the program of its tools.
fn told_of(options: &Options, place: &Place) -> Result<Option<(&'static str, String)>, Failure> {
    let variable = handover::variable(options, place)
        .map_err(|error| Failure::Unavailable(format!("no tools for it: {error}")))?;
    if variable.is_none() {
        let agent = &options.name;
        warn!(
            agent,
            "the agent has no tools of the page: it is configured in a way that nothing can be added to"
        );
    }
    Ok(variable)
}

/// The folder as the protocol wants it: absolute, and a folder for sure.
async fn absolute(options: &Options) -> Result<PathBuf, Failure> {
    let workdir: &Path = &options.workdir;
    // Only a folder has itself inside.
    tokio::fs::canonicalize(workdir.join("."))
        .await
        .map_err(|error| Failure::Unavailable(format!("{}: {error}", workdir.display())))
}

/// Agrees on a version (ACP `initialize`).
async fn initialize(peer: &Peer, options: &Options) -> Result<Hello, Failure> {
    let agent = &options.name;
    // Neither files nor terminals are offered: the agent is on the same machine and has its own.
    let params = json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false},
            "terminal": false,
            // A person can log in by one with `agui-serve login`.
            "auth": {"terminal": true},
            "session": {"notices": {}, "compaction": {}},
            "elicitation": {"form": {}},
            // Unstable. What is not known to an agent it passes over.
            "subagents": {},
        },
        "clientInfo": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
    });
    let answer = peer.request("initialize", params).await;
    let mut answer = answer.map_err(|error| match error.code {
        ErrorCode::AUTH_REQUIRED => Failure::of_answer(&error),
        _ => Failure::Handshake(describe(&error)),
    })?;
    if answer["protocolVersion"] != 1 {
        let version = &answer["protocolVersion"];
        return Err(Failure::Handshake(format!("it speaks version {version}")));
    }
    let version = answer["agentInfo"]["version"].as_str();
    // Anything else is none that a log should have.
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
    let version = version.filter(|it| it.len() <= 64 && it.chars().all(plain));
    info!(agent, version, "the agent is ready");
    if let (Some(preset), Some(version)) = (options.preset, version)
        && let Some(oldest) = preset.too_old(version)
    {
        let install = preset.install;
        warn!(
            agent,
            version, oldest, install, "the agent is older than what is known to work"
        );
    }
    Ok(Hello {
        capabilities: answer["agentCapabilities"].take(),
        info: answer["agentInfo"].take(),
        logins: answer["authMethods"].take(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_task_that_says_nothing_is_an_end() {
        let (said, end) = watch::channel(None);
        let waiting = end_of(end);
        drop(said);
        assert!(matches!(
            waiting.await,
            End::Ended(Ended { status: None, .. })
        ));
    }
}
