//! A client of a few lines, so that what is measured is the server.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// How a chunked body ends.
const END: &[u8] = b"0\r\n\r\n";

/// A request of a 1.0 client for a run of the demo agent, as it goes over the wire.
pub(crate) fn run(token: &str, thread: &str, prompt: &str) -> Vec<u8> {
    let body = serde_json::json!({
        "threadId": thread,
        "runId": "run",
        "protocolVersion": "1.0",
        "state": {},
        "messages": [{"id": "u", "role": "user", "content": prompt}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    })
    .to_string();
    format!(
        "POST /agui/demo HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends a request and hands what comes back to `seen`, up to the end of the chunked body.
///
/// # Errors
/// The connection failed, or ended before the body did.
pub(crate) async fn exchange(
    address: SocketAddr,
    request: &[u8],
    mut seen: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request).await?;
    let mut buffer = vec![0; 256 * 1024];
    let mut tail = Vec::new();
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let bytes = &buffer[..read];
        seen(bytes);
        tail.extend_from_slice(&bytes[read.saturating_sub(END.len())..]);
        tail.drain(..tail.len().saturating_sub(END.len()));
        if tail == END {
            return Ok(());
        }
    }
}

/// The chunks of a response's body. A server writes one for each frame of its body.
pub(crate) fn chunks(response: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = split(response, b"\r\n\r\n")?.1;
    let mut chunks = Vec::new();
    loop {
        let (size, after) = split(rest, b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()?;
        if size == 0 {
            return Some(chunks);
        }
        let (chunk, after) = after.split_at_checked(size)?;
        chunks.push(chunk);
        rest = after.strip_prefix(b"\r\n")?;
    }
}

fn split<'a>(bytes: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let found = bytes.windows(at.len()).position(|window| window == at)?;
    Some((&bytes[..found], &bytes[found + at.len()..]))
}

/// The median of some times.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
