//! The configuration as it is meant: checked, in the types of the parts that it is for.

use std::{
    fmt::Display,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use super::{
    Agent, Error, Source, agent, database,
    load::{Inputs, Loaded},
    log,
    raw::{self, Raw},
    scalar::{Deadline, Words},
    token, tokens,
};
use crate::{
    deps::Principal,
    engine,
    http::{self, Digest},
    store, telemetry,
};

/// What to serve, and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The settings of the engine.
    pub engine: engine::Options,
    /// The agents, the default one first.
    pub agents: Vec<Agent>,
    /// The settings of the listener.
    pub http: http::Options,
    /// Where the token of the local principal comes from; `None` if there is none.
    pub token: Option<token::Source>,
    /// The principals that have a token of their own. With neither, none is needed.
    pub tokens: Vec<(Principal, Digest)>,
    /// Where and how threads are kept.
    pub store: store::Options,
    /// How long live turns may go on once the daemon is told to stop.
    pub shutdown_grace: Duration,
    /// The settings of the log.
    pub log: telemetry::Options,
}

impl Settings {
    /// Checks what was loaded.
    pub(super) fn new(loaded: &Loaded, inputs: &Inputs) -> Result<Self, Error> {
        let raw = &loaded.raw;
        no_zeros(loaded)?;
        // Also where every agent works elsewhere, or in no folder as the demo.
        if let Some(common) = &raw.defaults.workdir {
            agent::folder(loaded, &["defaults", "workdir"], common)?;
        }
        let agents = agents(loaded, inputs)?;
        let tokens = tokens::read(loaded)?;
        let token = token(loaded, inputs, !tokens.is_empty())?;
        let has_configured =
            !tokens.is_empty() || token.as_ref().is_some_and(token::Source::is_configured);
        log::check(&raw.log.filter).map_err(|why| loaded.refuse(&["log", "filter"], why))?;
        Ok(Self {
            engine: engine_options(loaded, &agents)?,
            http: http_options(loaded, has_configured)?,
            agents,
            token,
            tokens,
            store: database::options(loaded, inputs)?,
            shutdown_grace: raw.shutdown_grace.0,
            log: telemetry::Options {
                format: raw.log.format,
                filter: raw.log.filter.clone(),
            },
        })
    }
}

/// The agents, the default one first, then by name.
fn agents(loaded: &Loaded, inputs: &Inputs) -> Result<Vec<Agent>, Error> {
    let mut agents = loaded
        .raw
        .agents
        .iter()
        .map(|(name, agent)| Agent::new(name, agent, loaded, inputs))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(default) = &loaded.raw.default_agent {
        let first = agents
            .iter()
            .position(|agent| agent.name.as_str() == default)
            .ok_or_else(|| {
                loaded.refuse(
                    &["default_agent"],
                    format!("no agent is called \"{default}\""),
                )
            })?;
        agents[..=first].rotate_right(1);
    }
    Ok(agents)
}

/// Refuses what would be of no use at all: a bound or a patience of nothing, a heartbeat without pause.
fn no_zeros(loaded: &Loaded) -> Result<(), Error> {
    let Raw {
        limits, defaults, ..
    } = &loaded.raw;
    let at_once = |deadline: Deadline| deadline.0.is_some_and(|span| span.is_zero());
    let mut zeros = vec![
        (vec!["max_body"], loaded.raw.max_body.0 == 0),
        (vec!["heartbeat"], loaded.raw.heartbeat.0.is_zero()),
        (vec!["limits", "max_turns"], limits.max_turns == 0),
        (vec!["limits", "run_bytes"], limits.run_bytes.0 == 0),
        (vec!["limits", "total_bytes"], limits.total_bytes.0 == 0),
        (vec!["limits", "max_threads"], limits.max_threads == 0),
        (vec!["limits", "thread_ttl"], at_once(limits.thread_ttl)),
        (
            vec!["limits", "transcript_bytes"],
            limits.transcript_bytes.0 == 0,
        ),
        (
            vec!["limits", "max_state_threads"],
            limits.max_state_threads == 0,
        ),
        (
            vec!["limits", "max_state_bytes"],
            limits.max_state_bytes.0 == 0,
        ),
        (
            vec!["limits", "max_connections"],
            limits.max_connections == 0,
        ),
        (
            vec!["defaults", "turn_timeout"],
            at_once(defaults.turn_timeout),
        ),
        (
            vec!["defaults", "silence_timeout"],
            at_once(defaults.silence_timeout),
        ),
        (
            vec!["defaults", "start_timeout"],
            defaults.start_timeout.0.is_zero(),
        ),
        (
            vec!["defaults", "client_tool_timeout"],
            defaults.client_tool_timeout.0.is_zero(),
        ),
        (
            vec!["defaults", "prompt_timeout"],
            defaults.prompt_timeout.0.is_zero(),
        ),
    ];
    for (name, agent) in &loaded.raw.agents {
        zeros.extend([
            (
                vec!["agents", name, "turn_timeout"],
                agent.turn_timeout.is_some_and(at_once),
            ),
            (
                vec!["agents", name, "silence_timeout"],
                agent.silence_timeout.is_some_and(at_once),
            ),
        ]);
        let spans = [
            ("start_timeout", agent.start_timeout),
            ("client_tool_timeout", agent.client_tool_timeout),
            ("prompt_timeout", agent.prompt_timeout),
        ];
        zeros.extend(spans.map(|(key, span)| {
            let is_zero = span.is_some_and(|span| span.0.is_zero());
            (vec!["agents", name, key], is_zero)
        }));
    }
    match zeros.into_iter().find(|(_, is_zero)| *is_zero) {
        Some((key, _)) => Err(loaded.refuse(&key, "zero would let nothing through")),
        None => Ok(()),
    }
}

fn engine_options(loaded: &Loaded, agents: &[Agent]) -> Result<engine::Options, Error> {
    let raw = &loaded.raw;
    let policy = agent::policy(&raw::Agent::default(), Vec::new(), loaded)?;
    let differing = agents.iter().filter(|agent| agent.policy != policy);
    Ok(engine::Options {
        agents: differing
            .map(|agent| (agent.name.clone(), agent.policy.clone()))
            .collect(),
        policy,
        limits: engine::Limits {
            max_turns: raw.limits.max_turns,
            run_bytes: raw.limits.run_bytes.0,
            total_bytes: raw.limits.total_bytes.0,
            max_waiting: raw.limits.max_waiting,
            max_state_threads: raw.limits.max_state_threads,
            max_state_bytes: raw.limits.max_state_bytes.0,
            log_ttl: raw.limits.log_ttl.0,
        },
        namespace: engine::Namespace::new(&raw.namespace)
            .map_err(|why| loaded.refuse(&["namespace"], why))?,
    })
}

/// Where the token comes from, if one is needed: where there are named ones, only one that somebody chose.
fn token(
    loaded: &Loaded,
    inputs: &Inputs,
    has_named: bool,
) -> Result<Option<token::Source>, Error> {
    let Raw {
        require_token,
        token_file,
        state_dir,
        ..
    } = &loaded.raw;
    for (key, path) in [("token_file", token_file), ("state_dir", state_dir)] {
        if path
            .as_ref()
            .is_some_and(|path| path.as_os_str().is_empty())
        {
            return Err(loaded.refuse(&[key], "it is empty"));
        }
    }
    if !require_token && has_named {
        return Err(loaded.refuse(
            &["require_token"],
            "[tokens] says who may call, so one has to be asked for",
        ));
    }
    if !require_token {
        return Ok(None);
    }
    let source = loaded.find(&["token_file"]).map(|(_, source)| source);
    if matches!(source, Some(Source::Environment)) && inputs.environ.get("AGUI_TOKEN").is_some() {
        return Err(loaded.refuse(
            &["token_file"],
            "AGUI_TOKEN is set as well; keep one of the two",
        ));
    }
    let is_flagged = matches!(source, Some(Source::Flags(_)));
    match token::configured(token_file.as_deref(), is_flagged, &inputs.environ) {
        None if !has_named => Ok(Some(token::generated(
            state_dir.as_deref(),
            &inputs.environ,
        )?)),
        chosen => Ok(chosen),
    }
}

/// The settings of the listener.
fn http_options(loaded: &Loaded, has_configured_token: bool) -> Result<http::Options, Error> {
    let raw = &loaded.raw;
    Ok(http::Options {
        addr: SocketAddr::new(host(loaded, has_configured_token)?, raw.port),
        service: http::ServiceOptions {
            path: http::BasePath::new(&raw.path).map_err(|why| loaded.refuse(&["path"], why))?,
            origins: each(&raw.allowed_origins, http::Origin::new)
                .map_err(|why| loaded.refuse(&["allowed_origins"], why))?,
            hosts: each(&raw.allowed_hosts, http::HostName::new)
                .map_err(|why| loaded.refuse(&["allowed_hosts"], why))?,
            max_body: raw.max_body.0,
            heartbeat: raw.heartbeat.0,
            ..http::ServiceOptions::default()
        },
        max_connections: raw.limits.max_connections,
        allow_insecure_bind: raw.allow_insecure_bind,
        ..http::Options::default()
    })
}

/// Takes over each word of a list; an error names the word.
fn each<T, E: Display>(words: &Words, new: fn(&str) -> Result<T, E>) -> Result<Vec<T>, String> {
    let one = |word: &String| new(word).map_err(|why| format!("\"{word}\": {why}"));
    words.0.iter().map(one).collect()
}

/// The address to listen on. Other machines are let in only when the configuration says so by name:
/// what they send is in clear text.
fn host(loaded: &Loaded, has_configured_token: bool) -> Result<IpAddr, Error> {
    let raw = &loaded.raw;
    let refuse = |why: &str| loaded.refuse(&["host"], why);
    let bare = raw.host.trim_start_matches('[').trim_end_matches(']');
    let host: IpAddr = match bare {
        "localhost" => IpAddr::from([127, 0, 0, 1]),
        bare => bare
            .parse()
            .map_err(|_| refuse("it is no IP address, nor \"localhost\""))?,
    };
    if host.is_loopback() || raw.allow_insecure_bind {
        return Ok(host);
    }
    Err(refuse(if has_configured_token {
        "other machines would reach it without TLS; allow_insecure_bind says that this is meant"
    } else {
        "other machines would reach it without a configured token and without TLS; \
         allow_insecure_bind says that this is meant"
    }))
}
