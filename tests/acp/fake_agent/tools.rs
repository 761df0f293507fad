//! The tools that the agent was handed, over the SDK that many agents use.

use std::{
    collections::HashMap,
    env,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::join_all;
use rmcp::{
    ClientHandler, RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult, ClientRequest, Request, RequestMetaObject},
    service::{NotificationContext, PeerRequestOptions, RunningService},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Map, Value, json};
use tokio::{process::Command, runtime::Runtime};

use crate::{Args, USAGE};

/// The connections of the sessions.
pub(crate) struct Tools {
    runtime: Runtime,
    open: Mutex<HashMap<String, Arc<Connection>>>,
}

struct Connection {
    service: RunningService<RoleClient, Heeding>,
    /// What it has listed.
    names: Names,
}

type Names = Arc<Mutex<Vec<String>>>;

/// Lists the tools again when it is told that there are others, if it is an agent that does.
struct Heeding(Option<Names>);

impl ClientHandler for Heeding {
    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        let Some(names) = &self.0 else { return };
        let tools = context.peer.list_all_tools().await.expect("it is there");
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        *names = tools.into_iter().map(|it| it.name.into_owned()).collect();
    }
}

impl Tools {
    pub(crate) fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build();
        Self {
            runtime: runtime.expect("a thread can be started"),
            open: Mutex::default(),
        }
    }

    /// Connects to what a session is opened with, and lists it.
    pub(crate) fn open(&self, args: &Args, session: &Value, params: &Value) {
        let codex = codex_config();
        let server = if args.has("--tools-codex") {
            codex.as_ref()
        } else {
            params["mcpServers"].get(0)
        };
        let Some(server) = server else { return };
        let takes = args.has("--tools-codex")
            || server["command"].is_string()
            || (args.has("--tools-http") && server["type"] == "http");
        assert!(takes, "it is handed what it does not take: {server}");
        let names = Names::default();
        let heeding = Heeding(args.has("--heeds").then(|| Arc::clone(&names)));
        let connection = self.runtime.block_on(async {
            let service = connect(server, heeding).await;
            let tools = service.list_all_tools().await.expect("it has tools");
            *names.lock().unwrap_or_else(PoisonError::into_inner) =
                tools.into_iter().map(|it| it.name.into_owned()).collect();
            Connection { service, names }
        });
        let session = session.as_str().expect(USAGE).to_owned();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(session, Arc::new(connection));
    }

    fn of(&self, session: &Value) -> Option<Arc<Connection>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(session.as_str()?).cloned()
    }

    /// What was listed last.
    pub(crate) fn names(&self, session: &Value) -> Vec<String> {
        let Some(connection) = self.of(session) else {
            return vec!["none".to_owned()];
        };
        let names = connection.names.lock();
        names.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls tools, all at once: each with its name, its arguments and what is said of the call.
    pub(crate) fn call(&self, session: &Value, calls: &Value) -> Vec<String> {
        self.call_and(session, calls, || {})
    }

    /// The same, and does something once a call is made and before it is answered.
    pub(crate) fn call_and(
        &self,
        session: &Value,
        calls: &Value,
        meanwhile: impl Fn(),
    ) -> Vec<String> {
        let connection = self.of(session).expect("it was handed tools");
        let calls = calls.as_array().expect(USAGE).iter();
        let calling = calls.map(async |call| {
            let name = call[0].as_str().expect(USAGE).to_owned();
            let mut params = CallToolRequestParams::new(name);
            params.arguments = serde_json::from_value(call[1].clone()).expect(USAGE);
            let meta: Map<String, Value> = serde_json::from_value(call[2].clone()).expect(USAGE);
            let options = PeerRequestOptions::no_options().with_meta(RequestMetaObject::from(meta));
            let request = ClientRequest::CallToolRequest(Request::new(params));
            let service = &connection.service;
            let sent = service.send_cancellable_request(request, options).await;
            let sent = sent.expect("it is there");
            meanwhile();
            let result = sent.await_response().await;
            said(&json!(result.expect("it is answered")))
        });
        self.runtime.block_on(join_all(calling))
    }
}

/// What came of a call.
fn said(result: &Value) -> String {
    let result: CallToolResult = serde_json::from_value(result.clone()).expect("it is a result");
    let texts = result.content.iter().filter_map(|it| it.as_text());
    let text = texts
        .map(|it| it.text.as_str())
        .collect::<Vec<_>>()
        .join("+");
    if result.is_error == Some(true) {
        format!("failed: {text}")
    } else {
        text
    }
}

async fn connect(server: &Value, heeding: Heeding) -> RunningService<RoleClient, Heeding> {
    if let Some(command) = server["command"].as_str() {
        let mut command = Command::new(command);
        for arg in server["args"].as_array().expect(USAGE) {
            command.arg(arg.as_str().expect(USAGE));
        }
        command.env_clear();
        for variable in server["env"].as_array().expect(USAGE) {
            let text = |name: &str| variable[name].as_str().expect(USAGE);
            command.env(text("name"), text("value"));
        }
        let pipe = std::process::Stdio::piped;
        let child = command.stdin(pipe()).stdout(pipe()).spawn();
        let mut child = child.expect("it starts");
        let pipes = (
            child.stdout.take().expect(USAGE),
            child.stdin.take().expect(USAGE),
        );
        return heeding.serve(pipes).await.expect("it is let in");
    }
    let url = server["url"].as_str().expect(USAGE);
    let header = server["headers"][0]["value"].as_str();
    let header = header
        .and_then(|it| it.strip_prefix("Bearer "))
        .expect(USAGE);
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(header);
    let transport = StreamableHttpClientTransport::from_config(config);
    heeding.serve(transport).await.expect("it is let in")
}

/// The server that `CODEX_CONFIG` names, as a session would be handed it.
#[expect(
    clippy::disallowed_methods,
    reason = "the agent is configured by its environment"
)]
fn codex_config() -> Option<Value> {
    let config: Value = serde_json::from_str(&env::var("CODEX_CONFIG").ok()?).expect("it is JSON");
    let server = &config["mcp_servers"]["agui"];
    assert_eq!(server["tool_timeout_sec"], 36000);
    let header = json!({"value": server["http_headers"]["Authorization"]});
    Some(json!({"type": "http", "url": server["url"], "headers": [header]}))
}
