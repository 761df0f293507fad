//! A run's stream, read frame by frame and held against the grammar.

use agui_serve::protocol::{
    Peer,
    grammar::{check_legacy_stream, check_stream, check_viewer_stream},
};
use serde_json::Value;

use super::{Client, answer::Head};

/// A stream that is being read.
pub(crate) struct Stream {
    pub(crate) head: Head,
    client: Client,
    text: String,
    read: usize,
    peer: Peer,
    is_viewer: bool,
    /// How many comments were met.
    pub(crate) comments: usize,
    /// The id that was met last.
    pub(crate) last_id: Option<String>,
    ended: bool,
}

impl Stream {
    /// Reads the head of an answer that has to be a stream.
    pub(super) async fn open(mut client: Client, peer: Peer, is_viewer: bool) -> Self {
        let head = client.head().await;
        assert_eq!(head.status, 200, "no stream");
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        Self {
            head,
            client,
            text: String::new(),
            read: 0,
            peer,
            is_viewer,
            comments: 0,
            last_id: None,
            ended: false,
        }
    }

    /// The next event; `None` at the end of the body. Comments are counted and passed over.
    pub(crate) async fn next_event(&mut self) -> Option<Value> {
        loop {
            match self.next_frame().await? {
                frame if frame.starts_with(':') => self.comments += 1,
                frame => match frame.strip_prefix("id: ") {
                    Some(id) => self.last_id = Some(id.to_owned()),
                    None => return Some(event(&frame)),
                },
            }
        }
    }

    /// The next frame as it is on the wire, without the blank line that ends it.
    pub(crate) async fn next_frame(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text[self.read..].find("\n\n") {
                let frame = self.text[self.read..self.read + end].to_owned();
                self.read += end + 2;
                return Some(frame);
            }
            if self.ended {
                assert_eq!(self.read, self.text.len(), "the body ended within a frame");
                return None;
            }
            if let Some(chunk) = self.client.chunk().await {
                self.text.push_str(std::str::from_utf8(&chunk).unwrap());
            } else {
                self.ended = true;
                self.check();
            }
        }
    }

    /// Reads on until an event of this type, and returns it.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next_event().await;
            let event = event.unwrap_or_else(|| panic!("no {kind} in {}", self.text));
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// Reads everything.
    pub(crate) async fn collect(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next_event().await {
            events.push(event);
        }
        events
    }

    /// Hangs up.
    pub(crate) fn drop_connection(self) {
        drop(self);
    }

    /// The connection, once the body has ended.
    pub(crate) fn into_client(self) -> Client {
        assert!(self.ended, "the body has not ended");
        self.client
    }

    /// Holds the whole stream against the grammar. Only a viewer's has places to come back to.
    fn check(&self) {
        let checked = match (self.is_viewer, self.peer) {
            (true, peer) => check_viewer_stream(&self.text, peer),
            (false, Peer::Current) => check_stream(&self.text),
            (false, Peer::Legacy) => check_legacy_stream(&self.text),
        };
        if let Err(violation) = checked {
            panic!("{violation} in {}", self.text);
        }
    }
}

fn event(frame: &str) -> Value {
    let json = frame
        .strip_prefix("data: ")
        .unwrap_or_else(|| panic!("no data line: {frame}"));
    serde_json::from_str(json).unwrap()
}
