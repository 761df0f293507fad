//! One connection of a client that hides nothing: HTTP/1.1 as it stands on the wire.

use std::net::SocketAddr;

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    Answer,
    answer::{Framing, Head},
    soon,
};

/// A connection.
pub(crate) struct Client {
    socket: TcpStream,
    unread: BytesMut,
}

impl Client {
    /// Connects.
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        let socket = soon("a connection", TcpStream::connect(addr))
            .await
            .unwrap();
        Self {
            socket,
            unread: BytesMut::new(),
        }
    }

    /// Sends bytes as they are.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        soon("the daemon to read", self.socket.write_all(bytes))
            .await
            .unwrap();
    }

    /// Sends as many of these bytes as the daemon takes before it closes.
    pub(crate) async fn send_in_vain(&mut self, bytes: &[u8]) {
        // That the daemon stops reading is what the caller is about.
        let _ = soon("the daemon to read", self.socket.write_all(bytes)).await;
    }

    /// Reads an answer with its whole body. HEAD has none, whatever its length says.
    pub(crate) async fn answer(&mut self, method: &str) -> Answer {
        let head = self.head().await;
        let mut body = Vec::new();
        match head.framing(method) {
            Framing::Length(length) => {
                while self.unread.len() < length {
                    assert!(self.more().await, "the body ended early");
                }
                body.extend_from_slice(&self.unread.split_to(length));
            }
            Framing::Chunked => {
                while let Some(chunk) = self.chunk().await {
                    body.extend_from_slice(&chunk);
                }
            }
            Framing::Close => {
                while self.more().await {}
                body.extend_from_slice(&self.unread.split());
            }
        }
        Answer::new(head, body)
    }

    /// Reads the head of an answer.
    pub(crate) async fn head(&mut self) -> Head {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                let bytes = self.unread.split_to(end + 4);
                return Head::parse(std::str::from_utf8(&bytes[..end]).unwrap());
            }
            assert!(
                self.more().await,
                "no answer, but {:?}",
                String::from_utf8_lossy(&self.unread)
            );
        }
    }

    /// Reads one chunk of a chunked body; `None` for the one that ends it.
    pub(crate) async fn chunk(&mut self) -> Option<Bytes> {
        let line = loop {
            if let Some(end) = find(&self.unread, b"\r\n") {
                break end;
            }
            assert!(self.more().await, "the body ended without its last chunk");
        };
        let size = std::str::from_utf8(&self.unread[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        self.unread.advance(line + 2);
        while self.unread.len() < size + 2 {
            assert!(self.more().await, "a chunk ended early");
        }
        let chunk = self.unread.split_to(size).freeze();
        assert_eq!(&self.unread.split_to(2)[..], b"\r\n");
        (size > 0).then_some(chunk)
    }

    /// Waits until the daemon closes the connection in good order, with nothing more sent.
    pub(crate) async fn closed(&mut self) {
        assert!(
            !self.more().await,
            "more than was expected: {:?}",
            self.unread
        );
        assert!(self.unread.is_empty(), "{:?}", self.unread);
    }

    /// Whether nothing has arrived so far.
    pub(crate) fn heard_nothing(&self) -> bool {
        let waits = |error: std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        self.unread.is_empty() && self.socket.try_read(&mut [0]).is_err_and(waits)
    }

    /// Reads more; `false` at the end.
    async fn more(&mut self) -> bool {
        let read = soon("bytes", self.socket.read_buf(&mut self.unread)).await;
        read.expect("the connection was not reset") > 0
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
