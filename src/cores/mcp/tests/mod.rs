//! The server as an agent sees it: with the SDK's own client, over real sockets.

mod calls;
mod strangers;

use std::time::Duration;

use rmcp::{
    ClientHandler, RoleClient, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam, Request,
    },
    service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::mpsc,
    time::timeout,
};

use super::{Called, Outcome, Place, Server};
use crate::{deps::ASK_USER, protocol::Tool};

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What an agent is told unasked.
#[derive(Debug)]
enum Told {
    Changed,
    Progress,
}

/// An agent that notes what it is told.
struct Agent(mpsc::UnboundedSender<Told>);

impl ClientHandler for Agent {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.0.send(Told::Changed);
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.0.send(Told::Progress);
    }
}

/// An agent that is connected.
struct Connected {
    service: RunningService<RoleClient, Agent>,
    told: mpsc::UnboundedReceiver<Told>,
}

impl Connected {
    /// Over HTTP, with a secret.
    async fn http(url: String, secret: &str) -> Option<Self> {
        let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(secret);
        let (tell, told) = mpsc::unbounded_channel();
        let transport = StreamableHttpClientTransport::from_config(config);
        let service = soon(Agent(tell).serve(transport)).await.ok()?;
        Some(Self { service, told })
    }

    async fn to(place: &Place) -> Self {
        let agent = Self::http(place.url().unwrap(), place.secret().expose()).await;
        agent.expect("it is let in")
    }

    async fn names(&self) -> Vec<String> {
        let tools = soon(self.service.list_all_tools()).await.unwrap();
        tools
            .into_iter()
            .map(|tool| tool.name.into_owned())
            .collect()
    }

    /// Calls a tool, and waits for nothing.
    async fn call(&self, name: &str, arguments: Value) -> RequestHandle<RoleClient> {
        let mut params = CallToolRequestParams::new(name.to_owned());
        params.arguments = serde_json::from_value(arguments).unwrap();
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self
            .service
            .send_cancellable_request(request, options)
            .await;
        sent.unwrap()
    }

    async fn told(&mut self) -> Told {
        soon(self.told.recv()).await.expect("the agent is there")
    }
}

/// What a call has brought: the text, and whether it failed.
async fn result(call: RequestHandle<RoleClient>) -> (String, bool) {
    let result = soon(call.await_response()).await.unwrap();
    let result: CallToolResult =
        serde_json::from_value(serde_json::to_value(result).unwrap()).unwrap();
    let text = result.content.first().and_then(|block| block.as_text());
    let text = text.map(|text| text.text.clone()).unwrap_or_default();
    (text, result.is_error == Some(true))
}

fn outcome(text: &str) -> Outcome {
    Outcome {
        content: crate::protocol::Content::Text(text.into()),
        failed: false,
    }
}

fn page(names: &[&str]) -> Vec<Tool> {
    let tool = |name: &&str| Tool {
        name: (*name).to_owned(),
        description: format!("does {name}"),
        parameters: Some(json!({"type": "object", "properties": {"a": {"type": "number"}}})),
        metadata: None,
    };
    names.iter().map(tool).collect()
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it comes in time")
}

/// What is answered to bytes, until the other side has no more to say.
async fn raw(place: &Place, request: &str) -> String {
    let url = place.url().unwrap();
    let addr = url.strip_prefix("http://").unwrap().split('/').next();
    let mut stream = TcpStream::connect(addr.unwrap()).await.unwrap();
    let port = stream.peer_addr().unwrap().port().to_string();
    let request = request.replace("{port}", &port);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    soon(stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}
