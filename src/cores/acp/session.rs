//! From a started program to an open session: `initialize`, then `session/resume`, `session/load` or
//! `session/new`.

use std::{path::Path, time::Duration};

use agent_client_protocol as sdk;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{debug, info};

use super::{
    client::Peer,
    failure::{Failure, describe, is_closed},
    options::Options,
    prompt::Takes,
};

/// An agent may answer `session/load` before it has told the whole history. So much silence means that
/// it has.
const REPLAY_SILENCE: Duration = Duration::from_millis(200);

/// How long the rest of a history is waited for.
const REPLAY_LIMIT: Duration = Duration::from_secs(10);

/// An open session.
#[derive(Debug)]
pub(super) struct Session {
    /// The agent's id for it.
    pub(super) id: String,
    /// Whether it stands in for a known one that is gone.
    pub(super) replaces: bool,
    /// What the agent takes in a prompt.
    pub(super) takes: Takes,
    /// What the agent said when it opened the session.
    pub(super) shown: Value,
}

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Resume,
    Load,
    New,
}

impl Way {
    /// The way to a known session, by what the agent can do. Resuming is better: it tells no history.
    fn to_known(capabilities: &Value) -> Self {
        if capabilities["sessionCapabilities"]["resume"].is_object() {
            Self::Resume
        } else if capabilities["loadSession"] == true {
            Self::Load
        } else {
            Self::New
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Resume => "session/resume",
            Self::Load => "session/load",
            Self::New => "session/new",
        }
    }
}

/// Agrees on a version and opens the session `known`, or else a new one.
///
/// # Errors
/// Any [`Failure`] but [`Failure::Unavailable`].
pub(super) async fn open(
    peer: &mut Peer,
    options: &Options,
    workdir: &Path,
    known: Option<&str>,
) -> Result<Session, Failure> {
    let late = |what: &str| Failure::Handshake(format!("no {what} in {:?}", options.start_timeout));
    let capabilities = timeout(options.start_timeout, initialize(peer, &options.name))
        .await
        .map_err(|_| late("answer to initialize"))??;
    let opening = open_session(peer, &options.name, workdir, known, &capabilities);
    timeout(options.start_timeout, opening)
        .await
        .map_err(|_| late("session"))?
}

/// Answers with the agent's capabilities.
async fn initialize(peer: &mut Peer, agent: &str) -> Result<Value, Failure> {
    // Neither files nor terminals are offered: the agent is on the same machine and has its own.
    let params = json!({
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
        "clientInfo": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
    });
    let mut answer = peer
        .request_quietly("initialize", params)
        .await
        .map_err(|error| match Failure::of_answer(&error) {
            login @ Failure::Login(_) => login,
            _ => Failure::Handshake(describe(&error)),
        })?;
    if answer["protocolVersion"] != 1 {
        let version = &answer["protocolVersion"];
        return Err(Failure::Handshake(format!("it speaks version {version}")));
    }
    let version = answer["agentInfo"]["version"].as_str();
    // A longer one is none.
    let version = version.filter(|version| version.len() <= 64);
    info!(agent, version, "the agent is ready");
    Ok(answer["agentCapabilities"].take())
}

async fn open_session(
    peer: &mut Peer,
    agent: &str,
    workdir: &Path,
    known: Option<&str>,
    capabilities: &Value,
) -> Result<Session, Failure> {
    let takes = Takes::of(capabilities);
    if let Some(id) = known {
        match return_to(peer, Way::to_known(capabilities), workdir, id).await {
            Ok(Some(shown)) => {
                return Ok(Session {
                    id: id.to_owned(),
                    replaces: false,
                    takes,
                    shown,
                });
            }
            Ok(None) => info!(agent, "the agent cannot return to a session"),
            Err(error) if is_closed(&error) || error.code == sdk::ErrorCode::AUTH_REQUIRED => {
                return Err(Failure::of_answer(&error));
            }
            Err(error) => {
                let code = error.code.value();
                info!(
                    agent,
                    code, "the session is gone, a new one takes its place"
                );
                debug!(agent, detail = describe(&error), "the session is gone");
            }
        }
    }
    let params = json!({"cwd": workdir, "mcpServers": []});
    let shown = peer
        .request_quietly(Way::New.method(), params)
        .await
        .map_err(|error| Failure::of_answer(&error))?;
    let id = shown["sessionId"].as_str().filter(|id| !id.is_empty());
    let id = id.ok_or_else(|| Failure::Agent("the new session has no id".into()))?;
    Ok(Session {
        id: id.to_owned(),
        replaces: known.is_some(),
        takes,
        shown,
    })
}

/// Goes back to a session. `None` if the agent has no way to do so.
async fn return_to(
    peer: &mut Peer,
    way: Way,
    workdir: &Path,
    id: &str,
) -> Result<Option<Value>, sdk::Error> {
    if way == Way::New {
        return Ok(None);
    }
    let params = json!({"sessionId": id, "cwd": workdir, "mcpServers": []});
    let shown = peer.request_quietly(way.method(), params).await?;
    if way == Way::Load {
        let limit = Instant::now() + REPLAY_LIMIT;
        while let Ok(Ok(Some(_))) =
            timeout_at(limit, timeout(REPLAY_SILENCE, peer.inbox.recv())).await
        {}
    }
    Ok(Some(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_session_is_resumed_rather_than_loaded() {
        for (capabilities, way) in [
            (
                json!({"loadSession": true, "sessionCapabilities": {"resume": {}}}),
                Way::Resume,
            ),
            (
                json!({"loadSession": true, "sessionCapabilities": {"resume": null}}),
                Way::Load,
            ),
            (json!({"loadSession": true}), Way::Load),
            (json!({"sessionCapabilities": {"list": {}}}), Way::New),
            (json!(null), Way::New),
        ] {
            assert_eq!(Way::to_known(&capabilities), way, "{capabilities}");
        }
    }
}
