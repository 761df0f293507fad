//! Any agent that speaks the Agent Client Protocol, version 1, on its standard input and output.
//!
//! A turn gets a process from a pool, which starts one if need be; opens the thread's session in it, brings
//! the session's settings to where they should be, sends the prompt, passes on what the agent says, and gives
//! the process back. The process stays for later turns, for a while.
//!
//! From the program up:
//!
//! - The program: `process` owns it, and `supervisor` is the process between the two that leaves nothing of it
//!   behind; `ending` has the steps of that. `stderr` is what it complains about.
//! - The wire: `lines` cuts its output into lines of bounded length, of which `messages` reads the messages;
//!   `transport` carries them to the SDK and bounds what is inside it; `client` is the SDK with our handlers,
//!   and `board` knows who hears what is said. A `request` is something that is asked of people, with the place for its
//!   answer.
//! - The pool: `worker` is the task that all of that runs in; `pool` hands out workers, as `shelf` decides;
//!   `leftovers` looks whether a stop was one.
//! - Tools of the page: `handover` says how the agent is handed them, and `ours` which of its calls are of them.
//! - The conversation: `turn`, `session`, `settings` and `talk` hold it. `prompt`, `preface`, `translate`, `past` and
//!   `usage` are synchronous: they turn what people say into what agents take, and what agents say into events, or,
//!   of what a session remembers, into messages. So are `permission` and `form`, which read what is asked of people and
//!   make answers of what they say. `vendors` has what agents add to the protocol, `preset` knows
//!   agents by name.
//! - Beside it: `probe` is an agent outside of any turn, for whoever wants to know whether it works.
//!
//! An adapter that is behind makes the program wait: between the two are so many bytes of its output at most
//! (see `transport`), besides what it has said of tool calls that have not ended, and what it has said while no
//! turn was there to hear it (see `board`).

mod board;
mod client;
mod ending;
mod failure;
mod form;
mod handover;
mod leftovers;
mod lines;
mod messages;
mod options;
mod ours;
mod past;
mod permission;
mod pool;
mod preface;
mod preset;
pub mod probe;
mod process;
mod prompt;
mod request;
mod session;
mod settings;
mod shelf;
mod stderr;
pub mod supervisor;
mod talk;
mod translate;
mod transport;
mod turn;
mod usage;
mod vendors;
mod worker;

use std::{collections::HashMap, fmt, path::Path, sync::Arc};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    options::{Options, STOP_GRACE},
    preset::{PRESETS, Preset, Relists, Tools, approves_by_itself},
};
use self::{pool::Pool, settings::configured, shelf::Conversation, turn::Turn};
use super::{
    Core,
    mcp::{PROGRESS, Server},
};
use crate::{
    deps::{
        Forgotten, PerSetting, Principal, Settings, StopReason, TurnError, TurnIo, TurnRequest,
    },
    protocol::AgentCapabilities,
};

/// One agent behind ACP. Dropping the last of its clones ends its processes.
#[derive(Clone)]
pub struct Acp(Arc<Inner>);

struct Inner {
    options: Arc<Options>,
    /// What there is for each principal that has asked for a turn; there are as many as there are tokens.
    served: Mutex<HashMap<Principal, Served>>,
    /// Has the page's tools for it.
    tools: Server,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// What one principal has of an agent. Nobody else sees anything of it.
#[derive(Clone)]
struct Served {
    pool: Arc<Pool>,
    /// What sessions have told of what can be chosen.
    heard: Arc<Mutex<Settings>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Acp {
    /// An agent that is started as the options say, at its first turn, with a server of its own for tools.
    pub fn new(options: Options) -> Self {
        Self::with_tools(options, Server::new(PROGRESS))
    }

    /// The same with a server that it may share. Whoever closes the agent closes that, too.
    pub fn with_tools(options: Options, tools: Server) -> Self {
        Self(Arc::new(Inner {
            options: Arc::new(options),
            served: Mutex::default(),
            tools,
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }))
    }

    fn served(&self, principal: &Principal) -> Served {
        let mut served = self.0.served.lock();
        let new = || {
            let Inner {
                options,
                tools,
                tasks,
                closing,
                ..
            } = &*self.0;
            let (tasks, closing) = (tasks.clone(), closing.clone());
            let pool = Pool::new(Arc::clone(options), tools.clone(), tasks, closing);
            Served {
                pool: Arc::new(pool),
                heard: Arc::new(Mutex::new(self.configured())),
            }
        };
        served.entry(principal.clone()).or_insert_with(new).clone()
    }

    /// What is known of what can be chosen before a session has told.
    fn configured(&self) -> Settings {
        let Options { set, choices, .. } = &*self.0.options;
        configured(set, choices)
    }
}

impl Core for Acp {
    fn capabilities(&self) -> AgentCapabilities {
        capabilities(&self.0.options)
    }

    fn workdir(&self) -> Option<&Path> {
        Some(&self.0.options.workdir)
    }

    fn choices(&self) -> PerSetting<Vec<String>> {
        self.0.options.choices.clone()
    }

    fn settings(&self, principal: &Principal) -> Settings {
        let served = self.0.served.lock().get(principal).cloned();
        served.map_or_else(|| self.configured(), |served| served.heard.lock().clone())
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        // A turn keeps its agent, and so the processes that it uses.
        let agent = self.clone();
        let Served { pool, heard } = self.served(&request.principal);
        let turn = Turn {
            options: Arc::clone(&agent.0.options),
            pool,
            request,
            io,
            heard: Box::new(move |settings| *heard.lock() = settings),
        };
        Box::pin(async move {
            let ended = turn.run().await;
            ended.map_err(|failure| failure.into_turn_error(&agent.0.options))
        })
    }

    /// Closes the session where it is open and deletes it, as far as the agent does such things (ACP
    /// `session/close`, `session/delete`) and within the time that a turn has to stop. Starts no process for that:
    /// without one that is kept, what the agent has written down of the session stays.
    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        let served = self.0.served.lock().get(&forgotten.principal).cloned();
        let conversation = Conversation::new(&forgotten.thread, &forgotten.session);
        Box::pin(async move {
            if let Some(Served { pool, .. }) = served {
                pool.forget(&conversation).await;
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.closing.cancel();
        self.0.tasks.close();
        Box::pin(async {
            self.0.tasks.wait().await;
            self.0.tools.close().await;
        })
    }
}

impl fmt::Debug for Acp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Acp").field(&self.0.options).finish()
    }
}

/// What any agent behind ACP can do. What one takes besides text is known only once it runs.
fn capabilities(options: &Options) -> AgentCapabilities {
    let mut capabilities = AgentCapabilities::default();
    capabilities.transport.streaming = Some(true);
    capabilities.tools.supported = Some(true);
    capabilities.tools.client_provided = Some(handover::may_take(options));
    capabilities.reasoning.supported = Some(true);
    capabilities.reasoning.streaming = Some(true);
    capabilities.human_in_the_loop.approvals = Some(true);
    capabilities.human_in_the_loop.interrupts = Some(true);
    capabilities
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deps::Setting;

    #[test]
    fn what_a_session_has_told_is_known_to_its_own_principal_only() {
        let acp = Acp::new(Options::new("agent", "program", "."));
        let [alice, bob] = ["alice", "bob"].map(|name| Principal::new(name).unwrap());
        let told = Settings {
            model: Some(Setting::default()),
            ..Settings::default()
        };
        *acp.served(&alice).heard.lock() = told.clone();
        assert_eq!(acp.settings(&alice), told);
        assert_eq!(acp.settings(&bob), Settings::default());
    }
}
