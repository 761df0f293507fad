//! What a request about threads comes to, once the guards have let it in; `list` and `one` are how they are shown.

mod list;
mod one;

use std::time::Duration;

use http::{HeaderMap, request::Parts};

use self::{
    list::{List, Wanted},
    one::{Shown, Stopped},
};
use super::{
    problem::{self, Problem},
    query::Query,
    reply::{self, Reply},
    sse::Sse,
};
use crate::{
    deps::{AgentName, Principal},
    engine::{Runtime, Watch},
    protocol::{Peer, ThreadId},
    store::Key,
};

/// The largest body of a cancel, in bytes: room for the id of a run, however it is written.
pub(super) const MAX_CANCEL: usize = 16 * 1024;

/// Lists the caller's threads with an agent.
pub(super) async fn list(
    runtime: &Runtime,
    agent: &AgentName,
    principal: &Principal,
    query: &Query<'_>,
) -> Result<Reply, Problem> {
    let Wanted { from, limit } = Wanted::of(query)?;
    let runs = runtime.live_runs();
    let page = runtime.threads(agent, principal, from, limit).await;
    let live = |thread: &ThreadId| runs.get(&Runtime::key(agent, principal, thread)).cloned();
    Ok(reply::json(&List::new(&page, live)))
}

/// Shows a thread.
pub(super) async fn show(runtime: &Runtime, key: &Key) -> Result<Reply, Problem> {
    let view = runtime.thread(key).await?;
    Ok(reply::json(&Shown::from(&view)))
}

/// Forgets a thread.
pub(super) async fn forget(runtime: &Runtime, key: &Key) -> Result<Reply, Problem> {
    runtime.forget(key).await?;
    Ok(problem::no_content())
}

/// Stops what is live on a thread, or one run of it if the body names one.
pub(super) async fn cancel(runtime: &Runtime, key: &Key, body: &[u8]) -> Result<Reply, Problem> {
    let only = one::only(body)?;
    let stopped = runtime.cancel(key, only.as_ref()).await?;
    Ok(reply::json(&Stopped {
        thread_id: &key.thread,
        cancelled: stopped.is_some(),
        run_id: stopped,
    }))
}

/// Streams a thread to a viewer. One that has seen everything is told so by an answer without a body, which
/// ends the tries of an `EventSource` (HTML standard, section 9.2.3); closing the stream would begin another.
pub(super) async fn watch(
    runtime: &Runtime,
    key: &Key,
    head: &Parts,
    heartbeat: Duration,
) -> Result<Reply, Problem> {
    let version = Query::of(&head.uri).get("protocolVersion");
    let peer = Peer::of(version.as_deref());
    let last = last_event_id(&head.headers);
    Ok(match runtime.watch(key, peer, last).await? {
        Watch::Stream(reader) => reply::stream(Sse::new(reader, heartbeat)),
        Watch::Seen => problem::no_content(),
    })
}

/// Up to where a viewer has read. One that cannot be read is as none: the viewer then gets everything.
fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all("last-event-id").iter();
    let value = std::str::from_utf8(values.next()?.as_bytes()).ok()?;
    (values.next().is_none() && !value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn where_a_viewer_goes_on_is_one_text_or_nothing() {
        for (values, expected) in [
            (&[][..], None),
            (&[&b"r1:7"[..]], Some("r1:7")),
            (&["ü:7".as_bytes()], Some("ü:7")),
            (&[b""], None),
            (&[b"\xff"], None),
            (&[b"r1:7", b"r1:8"], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("last-event-id", HeaderValue::from_bytes(value).unwrap());
            }
            assert_eq!(last_event_id(&headers), expected, "{values:?}");
        }
    }
}
