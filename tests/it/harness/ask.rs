//! A request, put together from good parts of which a test spoils some.

use std::{fmt::Write, net::SocketAddr};

use agui_serve::protocol::Peer;
use serde_json::Value;

use super::{Answer, Client, Stream, TOKEN};

/// A request that is not sent yet.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    addr: SocketAddr,
    method: String,
    path: String,
    version: &'static str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    /// A request with the daemon's own Host and token, and the media type of JSON.
    pub(crate) fn new(addr: SocketAddr, method: &str, path: &str) -> Self {
        let ask = Self {
            addr,
            method: method.into(),
            path: path.into(),
            version: "HTTP/1.1",
            headers: Vec::new(),
            body: Vec::new(),
        };
        ask.header("host", &addr.to_string())
            .header("authorization", &format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
    }

    /// Sets a header, in place of any of that name.
    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        self.without(name).add(name, value)
    }

    /// Adds a header beside any of that name.
    pub(crate) fn add(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Leaves a header out.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    /// Sets the method.
    pub(crate) fn method(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    /// Sets the target.
    pub(crate) fn path(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the version.
    pub(crate) fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// Sets the body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a body of JSON.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.body(body.to_string())
    }

    /// The head as it goes over the wire. The length is that of the body unless a header says otherwise.
    pub(crate) fn head(&self) -> String {
        let mut head = format!("{} {} {}\r\n", self.method, self.path, self.version);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        let framed = |name: &str| matches!(name, "content-length" | "transfer-encoding");
        if !self.body.is_empty() && !self.headers.iter().any(|(name, _)| framed(name)) {
            write!(head, "content-length: {}\r\n", self.body.len()).unwrap();
        }
        head + "\r\n"
    }

    /// Sends it on a connection.
    pub(crate) async fn on(&self, client: &mut Client) {
        let mut bytes = self.head().into_bytes();
        bytes.extend_from_slice(&self.body);
        client.send(&bytes).await;
    }

    /// Sends it on a connection of its own and reads the whole answer.
    pub(crate) async fn send(&self) -> Answer {
        let mut client = Client::connect(self.addr).await;
        self.on(&mut client).await;
        client.answer(&self.method).await
    }

    /// Sends it on a connection of its own, expecting a stream.
    pub(crate) async fn stream(&self) -> Stream {
        let mut client = Client::connect(self.addr).await;
        self.on(&mut client).await;
        Stream::open(client, self.peer(), self.method == "GET").await
    }

    /// What the client can read, by what the body declares, or the query where there is no body.
    fn peer(&self) -> Peer {
        if self.method == "GET" {
            let declared = self.path.split_once("protocolVersion=");
            return Peer::of(declared.map(|(_, version)| version));
        }
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        Peer::of(body["protocolVersion"].as_str())
    }
}
