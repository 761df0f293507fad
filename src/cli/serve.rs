//! Puts the parts together and serves.

use std::{
    io::{self, IsTerminal},
    path::Path,
    sync::Arc,
};

use anyhow::Context;
use tracing::{info, warn};

use super::{args, screen::Screen, show};
use crate::{
    config::{self, Agent, Core, token, tokens},
    cores::{self, Cores, Definition},
    engine::Runtime,
    env::Env,
    fence,
    http::Bound,
    lifecycle,
    store::Store,
    telemetry,
};

/// Serves until asked to stop.
pub(super) fn serve(inputs: &config::Inputs, env: &Env) -> anyhow::Result<()> {
    let (mut settings, _) = config::load(inputs)?;
    telemetry::start(&settings.log, args::terminal(&inputs.environ))?;
    for agent in &settings.agents {
        for why in agent.unasked() {
            warn!(agent = %agent.name, "{why}");
        }
    }
    for why in config::within_reach(&settings, inputs) {
        warn!("{why}");
    }
    // Before anything is made: a port that is taken is an error and nothing else.
    let bound = Bound::new(&settings.http)?;
    let token = settings
        .token
        .as_ref()
        .map(|source| token::obtain(source, &inputs.environ))
        .transpose()?;
    let access = tokens::access(token.as_ref(), &settings.tokens)?;

    // Waits for the daemon that has it.
    let database = settings.store.at.path().map(Path::to_owned);
    let store = Store::open(settings.store, env.clone())?;
    let carrier = std::env::current_exe().context("find this program's own file")?;
    let definitions = definitions(&settings.agents, &carrier);
    let deps = Arc::new(Cores::new(definitions));
    let runtime = Runtime::with_store(deps, settings.engine, env.clone(), store);

    if settings
        .agents
        .iter()
        .any(|agent| agent.workdir().is_some())
    {
        settings.http.fence = fence::around_agents();
    }
    let workers = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("start the threads that serve")?;
    workers.block_on(async {
        // A signal that comes while the screen is written is already ours.
        let stops = lifecycle::stops().context("listen for signals")?;
        let listener = runtime.listen_on(bound, settings.http, access)?;
        let url = listener.url();
        let screen = Screen {
            url,
            agents: &settings.agents,
            token: token.as_ref(),
            tokens: &settings.tokens,
            is_terminal: io::stdout().is_terminal(),
            database: database.as_deref(),
            thread: &short(&env.id("try")),
        };
        show(&screen.to_string());
        let source = token
            .as_ref()
            .map(|found| tracing::field::display(&found.source));
        let names = (!settings.tokens.is_empty()).then(|| tokens::names(&settings.tokens));
        let threads = database.as_deref().unwrap_or(Path::new("memory")).display();
        if source.is_some() || names.is_some() {
            info!(url, token = source, tokens = names, %threads, "listening");
        } else {
            info!(url, %threads, "listening, without a token");
        }
        let serving = lifecycle::run(&runtime, &listener, stops, settings.shutdown_grace);
        tokio::select! {
            biased;
            ended = serving => Ok(ended?),
            never = fence::end_orphans() => match never {},
        }
    })
}

/// What is served under the agents' names. `carrier` is this program's own file, for agents that start it for tools.
#[cfg_attr(
    not(feature = "acp"),
    expect(unused_variables, reason = "no other core needs it")
)]
fn definitions(agents: &[Agent], carrier: &Path) -> Vec<Definition> {
    #[cfg(feature = "acp")]
    let tools = cores::mcp::Server::new(cores::mcp::PROGRESS);
    let core = |agent: &Agent| -> Arc<dyn cores::Core> {
        match &agent.core {
            #[cfg(feature = "demo")]
            Core::Demo => Arc::new(cores::demo::Demo::new()),
            #[cfg(feature = "acp")]
            Core::Acp(options) => {
                let options = cores::acp::Options {
                    carrier: Some(carrier.to_owned()),
                    ..supervised(options)
                };
                Arc::new(cores::acp::Acp::with_tools(options, tools.clone()))
            }
        }
    };
    let definition = |agent: &Agent| Definition {
        name: agent.name.clone(),
        description: agent.description.clone(),
        core: core(agent),
    };
    agents.iter().map(definition).collect()
}

/// The options with this very program as the supervisor, also once its file was replaced by a newer one or
/// removed.
#[cfg(feature = "acp")]
pub(super) fn supervised(options: &cores::acp::Options) -> cores::acp::Options {
    cores::acp::Options {
        supervisor: cfg!(target_os = "linux").then(|| "/proc/self/exe".into()),
        ..options.clone()
    }
}

/// An id that is easy to type and hardly used before: the end of a long one, which is the random part.
fn short(id: &str) -> String {
    format!("try-{}", &id[id.len().saturating_sub(6)..])
}
