//! One stream of 100,000 deltas: the daemon's listener, engine and demo core against bare hyper servers
//! that write the same bytes in the same body frames. One replays them from memory, so it shows what the
//! socket alone costs; one encodes each event with `serde_json` when its frame is asked for, which is
//! the least that a server has to do whose events are not known before.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    bare::{self, Body},
    ours,
    wire::{chunks, exchange, median, run},
};

/// How many deltas a stream has.
pub(crate) const DELTAS: usize = 100_000;
/// How often each server is measured.
const ROUNDS: usize = 15;

/// The medians, and what was streamed.
pub(crate) struct Figures {
    pub(crate) ours: Duration,
    pub(crate) replaying: Duration,
    pub(crate) encoding: Duration,
    /// How many bytes the body has.
    pub(crate) bytes: usize,
    /// In how many body frames.
    pub(crate) frames: usize,
}

/// Measures the servers in turns.
pub(crate) async fn measure() -> anyhow::Result<Figures> {
    let mut servers = JoinSet::new();
    let daemon = ours::serve(&mut servers)?;
    let frames = record(daemon).await?;
    let events: Vec<_> = frames.iter().map(events).collect::<Result<_, _>>()?;
    let (bytes, count) = (frames.iter().map(Bytes::len).sum(), frames.len());
    let addresses = [
        daemon,
        bare::serve(&mut servers, Replaying(frames.into())).await?,
        bare::serve(&mut servers, Encoding(events.into())).await?,
    ];
    let mut times = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        for (address, times) in addresses.into_iter().zip(&mut times) {
            times.push(time(address, round).await?);
        }
    }
    let [ours, replaying, encoding] = times.map(median);
    Ok(Figures {
        ours,
        replaying,
        encoding,
        bytes,
        frames: count,
    })
}

#[derive(Clone)]
struct Replaying(Arc<[Bytes]>);

impl Body for Replaying {
    fn frame(&self, at: usize) -> Option<Bytes> {
        self.0.get(at).cloned()
    }
}

#[derive(Clone)]
struct Encoding(Arc<[Vec<Event>]>);

impl Body for Encoding {
    fn frame(&self, at: usize) -> Option<Bytes> {
        let mut frame = Vec::new();
        for event in self.0.get(at)? {
            match event {
                Event::Other(bytes) => frame.extend_from_slice(bytes),
                Event::Delta(delta) => {
                    frame.extend_from_slice(b"data: ");
                    serde_json::to_writer(&mut frame, delta).expect("texts and a number");
                    frame.extend_from_slice(b"\n\n");
                }
            }
        }
        Some(frame.into())
    }
}

/// One event of a body frame.
enum Event {
    Delta(Content),
    Other(Bytes),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    r#type: String,
    message_id: String,
    delta: String,
    timestamp: i64,
}

/// The events of a body frame.
fn events(frame: &Bytes) -> anyhow::Result<Vec<Event>> {
    let text = std::str::from_utf8(frame)?;
    let mut events = Vec::new();
    for frame in text.split_inclusive("\n\n") {
        let json = frame
            .trim_end()
            .strip_prefix("data: ")
            .context("a bare data line")?;
        events.push(if json.starts_with("{\"type\":\"TEXT_MESSAGE_CONTENT\"") {
            Event::Delta(serde_json::from_str(json)?)
        } else {
            Event::Other(Bytes::copy_from_slice(frame.as_bytes()))
        });
    }
    Ok(events)
}

/// A request for the stream, each on a thread of its own.
fn request(round: usize) -> Vec<u8> {
    let thread = format!("thread-{round}");
    run(ours::TOKEN, &thread, &format!("stream {DELTAS} words"))
}

/// The body frames of one answer.
async fn record(address: SocketAddr) -> anyhow::Result<Vec<Bytes>> {
    let mut response = Vec::new();
    exchange(address, &request(usize::MAX), |bytes| {
        response.extend_from_slice(bytes);
    })
    .await?;
    let chunks = chunks(&response).context("the answer has no chunks")?;
    let deltas = chunks
        .iter()
        .flat_map(|chunk| chunk.split(|byte| *byte == b'\n'))
        .filter(|line| line.starts_with(b"data: {\"type\":\"TEXT_MESSAGE_CONTENT\""))
        .count();
    anyhow::ensure!(deltas == DELTAS, "the answer has {deltas} deltas");
    Ok(chunks.into_iter().map(Bytes::copy_from_slice).collect())
}

/// The time from the request to the last byte.
async fn time(address: SocketAddr, round: usize) -> anyhow::Result<Duration> {
    let request = request(round);
    let begin = Instant::now();
    exchange(address, &request, |_| ()).await?;
    Ok(begin.elapsed())
}
