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
    deps::{Agent, AgentName, Deps, Settings, StopReason, TurnError, TurnIo, TurnRequest},
    engine::{self, Runtime},
    env::Env,
    http::{self, Access, Listener, Secret, ServeError, Shutdown},
};
use futures_util::future::BoxFuture;
use tokio::{sync::oneshot, task::yield_now};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Ask, Client, Puppet, Stream, Turn, input, soon};

/// The token of every daemon that has one.
pub(crate) const TOKEN: &str = "s3cret-token";

/// A running daemon. Dropping it ends its connections and turns; [`Daemon::stop`] also says whether
/// that went well.
pub(crate) struct Daemon {
    pub(crate) addr: SocketAddr,
    pub(crate) url: String,
    pub(crate) runtime: Runtime,
    pub(crate) soft: CancellationToken,
    pub(crate) hard: CancellationToken,
    turns: Arc<AtomicUsize>,
    served: oneshot::Receiver<Result<(), ServeError>>,
    base: String,
    first: String,
}

/// What a daemon is made of.
pub(crate) struct Builder {
    agents: Vec<Definition>,
    http: http::Options,
    engine: engine::Options,
    access: Access,
}

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

    /// A run of the first agent that says one thing on thread `t1`.
    pub(crate) async fn run(&self, prompt: &str) -> Stream {
        self.post(&input("t1", "r1", prompt)).stream().await
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

    /// Stops as the daemon does: no new connections, then no turns, then no connections.
    pub(crate) async fn stop(mut self) {
        self.soft.cancel();
        soon("the turns to end", self.runtime.close()).await;
        self.hard.cancel();
        self.served().await.unwrap();
    }

    /// Waits for the listener to end.
    pub(crate) async fn served(&mut self) -> Result<(), ServeError> {
        soon("the listener to end", &mut self.served)
            .await
            .expect("the listener's task did not panic")
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

impl Drop for Daemon {
    fn drop(&mut self) {
        self.hard.cancel();
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

    /// Changes the engine's settings.
    pub(crate) fn engine(mut self, change: impl FnOnce(&mut engine::Options)) -> Self {
        change(&mut self.engine);
        self
    }

    /// Lets everybody in.
    pub(crate) fn anyone(mut self) -> Self {
        self.access = Access::Anyone;
        self
    }

    /// Starts it, with a clock that stands and ids that count.
    pub(crate) fn start(self) -> Daemon {
        let base = self.http.path.prefix().to_owned();
        let turns = Arc::new(AtomicUsize::new(0));
        let deps = Counting {
            cores: Cores::new(self.agents),
            turns: Arc::clone(&turns),
        };
        let first = deps.agents()[0].name.to_string();
        let runtime = Runtime::with_env(Arc::new(deps), self.engine, Env::fixed(1_700_000_000_000));
        let listener = Listener::bind(self.http, self.access).unwrap();
        let hard = CancellationToken::new();
        let soft = hard.child_token();
        let (addr, url) = (listener.addr(), listener.url());
        let serving = listener.serve(
            runtime.clone(),
            Shutdown {
                soft: soft.clone(),
                hard: hard.clone(),
            },
        );
        let (report, served) = oneshot::channel();
        TaskTracker::new().spawn(async move {
            // Nobody may be left to tell, when a test ends without stopping its daemon.
            let _ = report.send(serving.await);
        });
        Daemon {
            addr,
            url,
            runtime,
            soft,
            hard,
            turns,
            served,
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

    fn settings(&self, agent: &AgentName) -> Settings {
        self.cores.settings(agent)
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        self.turns.fetch_add(1, Ordering::SeqCst);
        self.cores.turn(request, io)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.cores.close()
    }
}
