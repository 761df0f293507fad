//! One process of an agent, from its start to its end, in a task of its own.
//!
//! Turns come and go; the process and the connection to it stay. The task ends when it is told to, when the
//! program ends, or when the program says nothing more; then the process ends, and with it whatever it has
//! started.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
};

use agent_client_protocol::{Channel, ErrorCode};
use rustix::process::Pid;
use serde_json::{Value, json};
use tokio::{
    sync::{SetOnce, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    board::Side,
    client::{self, Peer},
    failure::{End, Explained, Failure, describe},
    options::Options,
    process::{Manner, Pipes, Process},
    transport::{self, Gate},
    usage::Meters,
};

/// A process that is ready, as those see it who use it.
pub(super) struct Worker {
    /// The program.
    pub(super) peer: Peer,
    /// What it said of itself.
    pub(super) hello: Hello,
    /// What its sessions have spent.
    pub(super) meters: Arc<Meters>,
    /// The folder that it works in, absolute.
    pub(super) workdir: PathBuf,
    /// The process that everything it starts is below.
    pub(super) id: Option<Pid>,
    orders: Orders,
    end: Arc<SetOnce<End>>,
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
    /// Ends the worker, gently.
    pub(super) closing: CancellationToken,
}

/// A worker that gets ready. Dropped before it is, the process ends.
pub(super) struct Starting {
    ready: oneshot::Receiver<Result<Worker, Explained>>,
    orders: Orders,
}

impl Starting {
    /// Waits until the program is ready.
    ///
    /// # Errors
    /// It could not be started, or does not speak ACP; its process is gone by then.
    pub(super) async fn ready(self) -> Result<Worker, Explained> {
        let Self { ready, orders } = self;
        let guard = orders.firm.drop_guard();
        let ready = ready.await;
        guard.disarm();
        // Its task says something unless it has panicked.
        ready.unwrap_or_else(|_| Err(Failure::Crashed("its task is gone".into()).into()))
    }
}

impl Worker {
    /// Tells the process to end. Telling it more firmly later makes it hurry.
    pub(super) fn order(&self, manner: Manner) {
        match manner {
            Manner::Gentle => self.orders.gentle.cancel(),
            Manner::Firm => self.orders.firm.cancel(),
        }
    }

    /// Whether it can be used: the program is there, and nobody has told it to end.
    pub(super) fn is_there(&self) -> bool {
        let Orders { gentle, firm } = &self.orders;
        !gentle.is_cancelled() && !firm.is_cancelled() && !self.peer.is_closed()
    }

    /// Waits for its end, which somebody has ordered or which is near, and tells how it ended.
    pub(super) async fn ended(&self) -> End {
        self.end.wait().await.clone()
    }
}

/// Makes a worker's task, and what waits for it to be ready.
pub(super) fn start(work: Work) -> (Starting, impl Future<Output = ()> + Send + 'static) {
    let gentle = work.closing.child_token();
    let firm = CancellationToken::new();
    let orders = Orders { gentle, firm };
    let (said, ready) = oneshot::channel();
    let starting = Starting {
        ready,
        orders: orders.clone(),
    };
    (starting, run(work, orders, said))
}

/// Says that a worker is ready, or why it is not.
type Said = oneshot::Sender<Result<Worker, Explained>>;

async fn run(work: Work, orders: Orders, said: Said) {
    let Work { options, side, .. } = work;
    let started = async {
        let workdir = absolute(&options).await?;
        let (process, pipes) = Process::start(&options, &workdir)?;
        Ok::<_, Failure>((workdir, process, pipes))
    };
    let (workdir, mut process, mut pipes) = match started.await {
        Ok(started) => started,
        Err(failure) => {
            let _ = said.send(Err(failure.into()));
            return;
        }
    };
    let (ours, theirs) = Channel::duplex();
    let gate = Arc::new(Gate::new());
    let end = Arc::new(SetOnce::new());
    let mut said = Some(said);
    let id = process.id();
    let conversation = client::connect(
        theirs,
        Arc::clone(&gate),
        side,
        options.name.clone(),
        async |peer| {
            let hello = timeout(options.start_timeout, initialize(&peer, &options));
            let hello = hello.await.unwrap_or_else(|_| {
                let patience = options.start_timeout;
                let why = format!("no answer to initialize in {patience:?}");
                Err(Failure::Handshake(why))
            })?;
            let worker = Worker {
                peer: peer.clone(),
                hello,
                meters: Arc::default(),
                workdir: workdir.clone(),
                id,
                orders: orders.clone(),
                end: Arc::clone(&end),
            };
            if let Some(said) = said.take() {
                let _ = said.send(Ok(worker));
            }
            peer.closed().await;
            Ok::<_, Failure>(())
        },
    );
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
    if let Some(said) = said {
        let failure = match outcome {
            Some(Ok(Err(failure))) => failure,
            Some(Err(error)) => Failure::Crashed(describe(&error)),
            Some(Ok(Ok(()))) | None => Failure::Crashed("it was told to end".into()),
        };
        let _ = said.send(Err(failure.explained_by(ended.clone())));
    }
    let _ = end.set(ended);
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
