//! A whole daemon in the process, on a port of its own.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use agui_serve::{
    cores::{Core, Cores, Definition},
    deps::{
        Agent, AgentName, Deps, Forgotten, Principal, Settings, StopReason, TurnError, TurnIo,
        TurnRequest,
    },
    engine::{self, Runtime},
    env::Env,
    http::{self, Access, Digest, Listener, Secret, Tokens},
    store::Store,
};
use futures_util::future::BoxFuture;
use tokio::task::yield_now;

use super::{Ask, Client, PATIENCE, Puppet, Stream, Turn, input, soon};

/// The token of every daemon that has one.
pub(crate) const TOKEN: &str = "s3cret-token";

/// A running daemon. Dropping it ends its connections; [`Daemon::stop`] also ends its turns, and says whether
/// that went well.
pub(crate) struct Daemon {
    pub(crate) addr: SocketAddr,
    pub(crate) url: String,
    pub(crate) runtime: Runtime,
    pub(crate) listener: Listener,
    turns: Arc<AtomicUsize>,
    runs: AtomicUsize,
    base: String,
    first: String,
}

/// What a daemon is made of.
pub(crate) struct Builder {
    agents: Vec<Definition>,
    http: http::Options,
    engine: engine::Options,
    access: Access,
    store: Store,
    env: Env,
}

/// When it is, in every daemon.
pub(crate) const NOW: i64 = 1_700_000_000_000;

impl Daemon {
    /// Starts a daemon with one agent, `demo`, and everything else as it is by default.
    pub(crate) fn start(core: impl Core) -> Self {
        Self::build().agent("demo", core).start()
    }

    /// Starts a daemon whose one agent is in the hands of the test, and a run of it.
    pub(crate) async fn puppet() -> (Self, Stream, Turn) {
        let (puppet, mut turns) = Puppet::new();
        let daemon = Self::start(puppet);
        let stream = daemon.run("go").await;
        let turn = Turn::next(&mut turns).await;
        (daemon, stream, turn)
    }

    /// A daemon without agents, to be filled.
    pub(crate) fn build() -> Builder {
        Builder {
            agents: Vec::new(),
            http: http::Options {
                addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                ..http::Options::default()
            },
            engine: engine::Options::default(),
            access: Access::Token(Secret::new(TOKEN).unwrap()),
            store: Store::memory(Env::fixed(NOW)),
            env: Env::fixed(NOW),
        }
    }

    /// A request with everything that the guards ask for.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        Ask::new(self.addr, method, path)
    }

    /// A run of the first agent, ready to be sent.
    pub(crate) fn post(&self, input: &serde_json::Value) -> Ask {
        let path = format!("{}/{}", self.base, self.first);
        self.ask("POST", &path).json(input)
    }

    /// The next run of the first agent on thread `t1`, which says one thing. The first one is called `r1`.
    pub(crate) async fn run(&self, prompt: &str) -> Stream {
        let run = format!("r{}", self.runs.fetch_add(1, Ordering::SeqCst) + 1);
        self.post(&input("t1", &run, prompt)).stream().await
    }

    /// Sends a run until its thread is free, and returns the connection that reads it.
    pub(crate) async fn once_free(&self, ask: &Ask) -> Client {
        let asking = async {
            loop {
                let mut client = self.connect().await;
                ask.on(&mut client).await;
                let head = client.head().await;
                if head.status == 200 {
                    return client;
                }
                assert_eq!((head.status, head.header("retry-after")), (409, Some("1")));
            }
        };
        soon("the thread to be free", asking).await
    }

    /// A connection that nothing was sent on yet.
    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.addr).await
    }

    /// How many turns were started.
    pub(crate) fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }

    /// Stops as the daemon does: no turns, then no connections.
    pub(crate) async fn stop(self) {
        soon("the turns to end", self.runtime.close()).await;
        let ended = self.listener.shutdown(PATIENCE);
        soon("the listener to end", ended).await;
        self.listener.wait().await.unwrap();
    }

    /// Waits until no connection can be opened any more.
    pub(crate) async fn closed(&self) {
        let refused = async {
            loop {
                match tokio::net::TcpStream::connect(self.addr).await {
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return,
                    _ => yield_now().await,
                }
            }
        };
        soon("the port to close", refused).await;
    }
}

impl Builder {
    /// Adds an agent.
    pub(crate) fn agent(mut self, name: &str, core: impl Core) -> Self {
        self.agents.push(Definition {
            name: AgentName::new(name).unwrap(),
            description: Some(format!("the agent called {name}")),
            core: Arc::new(core),
        });
        self
    }

    /// Changes the listener's settings.
    pub(crate) fn http(mut self, change: impl FnOnce(&mut http::Options)) -> Self {
        change(&mut self.http);
        self
    }

    /// Takes the time and ids from elsewhere, where two daemons must not give the same ids.
    pub(crate) fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Changes the engine's settings.
    pub(crate) fn engine(mut self, change: impl FnOnce(&mut engine::Options)) -> Self {
        change(&mut self.engine);
        self
    }

    /// Lets in whoever has one of these tokens, each under its name.
    pub(crate) fn tokens(mut self, known: &[(&str, &str)]) -> Self {
        let known = known.iter().map(|(name, token)| {
            let token = Secret::new(*token).unwrap();
            (Principal::new(name).unwrap(), Digest::of(&token))
        });
        self.access = Access::Tokens(Tokens::new(known).unwrap());
        self
    }

    /// Lets everybody in.
    pub(crate) fn anyone(mut self) -> Self {
        self.access = Access::Anyone;
        self
    }

    /// Keeps threads in this store.
    pub(crate) fn store(mut self, store: &Store) -> Self {
        self.store = store.clone();
        self
    }

    /// Starts it, with a clock that stands and ids that count.
    pub(crate) fn start(self) -> Daemon {
        let base = self.http.service.path.prefix().to_owned();
        let turns = Arc::new(AtomicUsize::new(0));
        let deps = Counting {
            cores: Cores::new(self.agents),
            turns: Arc::clone(&turns),
        };
        let first = deps.agents()[0].name.to_string();
        let runtime = Runtime::with_store(Arc::new(deps), self.engine, self.env, self.store);
        let listener = runtime.listen(self.http, self.access).unwrap();
        Daemon {
            addr: listener.addr(),
            url: listener.url().to_owned(),
            runtime,
            listener,
            turns,
            runs: AtomicUsize::new(0),
            base,
            first,
        }
    }
}

/// The agents, counting the turns that they are asked for.
struct Counting {
    cores: Cores,
    turns: Arc<AtomicUsize>,
}

impl Deps for Counting {
    fn agents(&self) -> &[Agent] {
        self.cores.agents()
    }

    fn settings(&self, agent: &AgentName, principal: &Principal) -> Settings {
        self.cores.settings(agent, principal)
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        self.turns.fetch_add(1, Ordering::SeqCst);
        self.cores.turn(request, io)
    }

    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        self.cores.forget(forgotten)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.cores.close()
    }
}
