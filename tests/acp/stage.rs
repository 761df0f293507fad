//! Plays turns against the fake agent and watches its processes.

use std::{cell::OnceCell, path::PathBuf, sync::Arc, time::Duration};

use agui_serve::{
    cores::{
        Core as _,
        acp::{Acp, Options},
    },
    deps::{
        AgentName, Ask, CoreEvent, Forgotten, PerSetting, Principal, Session, SessionRef, Signal,
        StopReason, TurnError, TurnIo, TurnRequest,
    },
    protocol::{Content, ContextEntry, Message, ThreadId, Tool, decode},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// How many processes a fake agent with a `--family` starts, itself included: the one that daemonises is two.
pub(crate) const FAMILY: usize = 6;

/// A fake agent that is ready to be started.
pub(crate) struct Stage {
    pub(crate) options: Options,
    /// The thread of the next turn.
    pub(crate) thread: &'static str,
    pub(crate) prompt: Content,
    pub(crate) session: Session,
    pub(crate) history: Vec<Message>,
    pub(crate) stop: CancellationToken,
    pub(crate) context: Vec<ContextEntry>,
    pub(crate) wishes: PerSetting<Option<String>>,
    /// The tools that the page has.
    pub(crate) tools: Vec<Tool>,
    agent: OnceCell<Acp>,
    tasks: TaskTracker,
    _folder: tempfile::TempDir,
    alive: UnixListener,
}

/// What came of a turn.
pub(crate) type Outcome = Result<StopReason, TurnError>;

impl Stage {
    /// The agent with these arguments, asked to play these steps.
    pub(crate) fn new(args: &[&str], steps: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("alive");
        let alive = UnixListener::bind(&socket).unwrap();
        let mut options = Options::new("fake", fake_agent(), folder.path());
        options.supervisor = Some(program().into());
        options.pool_size = 0;
        options.args = args.iter().map(Into::into).collect();
        options.args.extend(["--alive".into(), socket.into()]);
        Self {
            options,
            thread: "t",
            prompt: Content::Text(steps.join("\n")),
            session: Session::New,
            history: Vec::new(),
            stop: CancellationToken::new(),
            context: Vec::new(),
            wishes: PerSetting::default(),
            tools: Vec::new(),
            agent: OnceCell::new(),
            tasks: TaskTracker::new(),
            _folder: folder,
            alive,
        }
    }

    /// The same, with processes that are kept between turns.
    pub(crate) fn keeping(mut self, pool_size: usize) -> Self {
        self.options.pool_size = pool_size;
        self
    }

    /// The same without a supervisor, as where the library is embedded.
    pub(crate) fn unsupervised(mut self) -> Self {
        self.options.supervisor = None;
        self
    }

    /// Lets a shell run this script before it becomes the agent, which is `"$0" "$@"` there.
    pub(crate) fn wrap(&mut self, script: &str) {
        let agent = std::mem::replace(&mut self.options.command, PathBuf::from("/bin/sh"));
        let wrapper = ["-c".into(), script.into(), agent.into()];
        self.options.args.splice(0..0, wrapper);
    }

    /// Waits for a process that was started, and answers with its connection.
    pub(crate) async fn started(&self) -> UnixStream {
        let accepted = timeout(PATIENCE, self.alive.accept()).await;
        accepted.expect("it starts").unwrap().0
    }

    /// Asserts that no process was started but those that were waited for.
    pub(crate) async fn assert_none_started(&self) {
        // A connection of our own is behind all that are there.
        let address = self.alive.local_addr().unwrap();
        let path = address.as_pathname().unwrap();
        let mut ours = UnixStream::connect(path).await.unwrap();
        ours.write_all(b"ours").await.unwrap();
        drop(ours);
        let mut first = String::new();
        self.started()
            .await
            .read_to_string(&mut first)
            .await
            .unwrap();
        assert_eq!(first, "ours");
    }

    /// Starts the turn without running it.
    pub(crate) fn start(
        &self,
    ) -> (
        impl Future<Output = Outcome> + Send + 'static,
        mpsc::Receiver<Signal>,
    ) {
        let body = br#"{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[]}"#;
        let mut input = decode::run_input(body).unwrap().input;
        input.thread_id = ThreadId::new(self.thread).unwrap();
        input.context.clone_from(&self.context);
        let request = TurnRequest {
            agent: AgentName::new("fake").unwrap(),
            principal: Principal::local(),
            session: self.session.clone(),
            history: self.history.clone().into(),
            prompt: self.prompt.clone(),
            wishes: self.wishes.clone(),
            input: Arc::new(input),
        };
        let (_, tools) = watch::channel(self.tools.clone().into());
        let (io, inbox) = TurnIo::with_tools(1, self.stop.clone(), tools);
        let agent = self.agent.get_or_init(|| Acp::new(self.options.clone()));
        (agent.turn(request, io), inbox)
    }

    /// Has a turn of these steps played on a thread, and goes on.
    pub(crate) fn play_beside(&mut self, thread: &'static str, steps: &[&str]) -> Live {
        self.next(None, steps);
        self.thread = thread;
        let (turn, inbox) = self.start();
        Live {
            turn: self.tasks.spawn(turn),
            inbox,
            stop: self.stop.clone(),
            said: String::new(),
        }
    }

    /// Has the agent let go of a session of this thread.
    pub(crate) async fn forget(&self, session: &str) {
        let agent = self.agent.get_or_init(|| Acp::new(self.options.clone()));
        let forgotten = Forgotten {
            agent: AgentName::new("fake").unwrap(),
            principal: Principal::local(),
            thread: ThreadId::new(self.thread).unwrap(),
            session: SessionRef::new(session),
        };
        let forgetting = timeout(PATIENCE, agent.forget(forgotten));
        forgetting.await.expect("it is let go of");
    }

    /// Ends what the agent keeps between turns.
    pub(crate) async fn close(&self) {
        if let Some(agent) = self.agent.get() {
            timeout(PATIENCE, agent.close()).await.expect("it closes");
        }
    }

    /// Asks for another turn, of these steps, on this session.
    pub(crate) fn next(&mut self, session: Option<&str>, steps: &[&str]) {
        self.session = session.map(SessionRef::new).into();
        self.stop = CancellationToken::new();
        self.prompt = Content::Text(steps.join("\n"));
    }

    /// Plays the turn to its end, and stops it at the event for which `stops` says so.
    pub(crate) async fn play_until(
        &self,
        stops: impl Fn(&CoreEvent) -> bool,
    ) -> (Outcome, Vec<Signal>) {
        let (turn, mut inbox) = self.start();
        let watch = async {
            let mut signals = Vec::new();
            while let Some(signal) = inbox.recv().await {
                if matches!(&signal, Signal::Event(event) if stops(event)) {
                    self.stop.cancel();
                }
                signals.push(signal);
            }
            signals
        };
        timeout(PATIENCE, async { tokio::join!(turn, watch) })
            .await
            .expect("the turn ends")
    }

    /// Plays the turn to its end, and hands what it asks to `ask`, which need not answer. Answers with whatever else it says.
    pub(crate) async fn play_asked(&self, mut ask: impl FnMut(Ask)) -> (Outcome, Vec<Signal>) {
        let (turn, mut inbox) = self.start();
        let watch = async {
            let mut signals = Vec::new();
            while let Some(signal) = inbox.recv().await {
                match signal {
                    Signal::Ask(asked) => ask(asked),
                    signal => signals.push(signal),
                }
            }
            signals
        };
        timeout(PATIENCE, async { tokio::join!(turn, watch) })
            .await
            .expect("the turn ends")
    }

    /// Plays the turn to its end.
    pub(crate) async fn play(&self) -> (Outcome, Vec<Signal>) {
        self.play_until(|_| false).await
    }

    /// Waits until `count` processes that were started are gone, and answers with their ids.
    pub(crate) async fn gone(&self, count: usize) -> Vec<i32> {
        let all = async {
            let mut ids = Vec::new();
            for _ in 0..count {
                ids.push(end_of(self.started().await).await);
            }
            ids
        };
        timeout(PATIENCE, all).await.expect("the processes end")
    }

    /// Asserts that the agent's own process is gone and waited for.
    pub(crate) async fn assert_reaped(&self) {
        assert_reaped(self.started().await).await;
    }
}

/// A turn that is played beside others.
pub(crate) struct Live {
    turn: JoinHandle<Outcome>,
    inbox: mpsc::Receiver<Signal>,
    pub(crate) stop: CancellationToken,
    said: String,
}

impl Live {
    /// Waits until this was said.
    pub(crate) async fn says(&mut self, text: &str) {
        let hears = async {
            while !self.said.contains(text) {
                let signal = self.inbox.recv().await.expect("it goes on");
                self.said.push_str(&text_of(&signal));
            }
        };
        timeout(PATIENCE, hears).await.expect("it says so");
    }

    /// Drops it wherever it is.
    pub(crate) async fn abort(self) {
        self.turn.abort();
        assert!(self.turn.await.unwrap_err().is_cancelled());
    }

    /// Waits for the end, and answers with all that was said.
    pub(crate) async fn end(mut self) -> (Outcome, String) {
        let ends = async {
            while let Some(signal) = self.inbox.recv().await {
                self.said.push_str(&text_of(&signal));
            }
            self.turn.await.unwrap()
        };
        let outcome = timeout(PATIENCE, ends).await.expect("the turn ends");
        (outcome, self.said)
    }
}

/// Waits for the end of a process, whoever its parent is by then: that is the end of its connection.
async fn end_of(mut process: UnixStream) -> i32 {
    let mut id = String::new();
    process.read_to_string(&mut id).await.unwrap();
    id.trim().parse().unwrap()
}

/// Asserts that an agent's own process is gone and waited for.
pub(crate) async fn assert_reaped(process: UnixStream) {
    let id = timeout(PATIENCE, end_of(process)).await;
    let id = rustix::process::Pid::from_raw(id.expect("it ends")).unwrap();
    let found = rustix::process::test_kill_process(id);
    assert_eq!(found, Err(rustix::io::Errno::SRCH), "no zombie is left");
}

/// The events among the signals.
pub(crate) fn events(signals: &[Signal]) -> Vec<&CoreEvent> {
    signals
        .iter()
        .filter_map(|signal| match signal {
            Signal::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

/// The text that was said, in one piece.
pub(crate) fn text(signals: &[Signal]) -> String {
    signals.iter().map(text_of).collect()
}

fn text_of(signal: &Signal) -> String {
    match signal {
        Signal::Event(CoreEvent::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// The daemon's program.
pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_agui-serve")
}

/// Cargo puts examples beside the folder of the tests.
pub(crate) fn fake_agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let agent = test
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/fake_acp_agent");
    assert!(agent.is_file(), "cargo build --example fake_acp_agent");
    agent
}
