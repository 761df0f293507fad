//! How a stream begins for somebody who was not there from the beginning: the state, the messages, and what is
//! open, opened again. What follows in the log then goes on where the messages stop, and the two make one
//! legal stream.
//!
//! An item that is open stands in the messages as far as it goes; its second opening makes no second message
//! (AG-UI 1.0, the reducer of the stock client), and what comes then is added to it.

#[cfg(test)]
mod tests;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use super::{
    Namespace, Reader,
    ending::Ending,
    ends::{self, RunIds},
    frames::Speaker,
    log::Cursor,
};
use crate::{
    env::Env,
    protocol::{
        Body, Event, Message, Peer,
        downgrade::{self, Legacy},
        sse,
    },
};

/// What a viewer of a live run is handed. It makes the frames itself: a turn does not wait for that.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) ids: RunIds,
    pub(super) snapshot: Value,
    pub(super) messages: Option<Vec<Message>>,
    /// What is open, opened again, and whose it is.
    pub(super) open: Vec<(Speaker, Body)>,
    pub(super) cursor: Cursor,
}

impl Visit {
    /// The same visit, with the places in the log that can be come back to.
    pub(super) fn marked(self) -> Self {
        Self {
            cursor: self.cursor.marked(),
            ..self
        }
    }

    /// The stream: the beginning, then the log.
    pub(super) fn reader(self, env: Env, peer: Peer) -> Reader {
        let (frames, cursor) = self.begin(&env, peer);
        Reader::of_log(env, frames, cursor)
    }

    fn begin(self, env: &Env, peer: Peer) -> (Vec<Bytes>, Cursor) {
        let Self {
            ids,
            snapshot,
            messages,
            open,
            cursor,
        } = self;
        (frames(env, &ids, snapshot, messages, open, peer), cursor)
    }
}

/// The whole stream of a run that is over, or of a thread that is only looked at. `messages`: what was said in
/// the thread, if the whole of it is known.
#[expect(
    clippy::too_many_arguments,
    reason = "each is said once and in this order"
)]
pub(super) fn ended(
    env: &Env,
    namespace: &Namespace,
    ids: &RunIds,
    snapshot: Value,
    messages: Option<Vec<Message>>,
    notices: Vec<(String, Value)>,
    ending: &Ending,
    peer: Peer,
) -> Vec<Bytes> {
    let notices = notices.into_iter();
    let rest = notices
        .map(|(name, value)| ends::notice(namespace, &name, value))
        .chain([ends::ended(ids, ending.clone(), Vec::new())])
        .map(|body| (None, body));
    frames(env, ids, snapshot, messages, rest, peer)
}

/// The frames of a beginning and of what comes right after.
fn frames(
    env: &Env,
    ids: &RunIds,
    snapshot: Value,
    messages: Option<Vec<Message>>,
    rest: impl IntoIterator<Item = (Speaker, Body)>,
    peer: Peer,
) -> Vec<Bytes> {
    let now = env.now_ms();
    let frame = |(speaker, body): (Speaker, Body)| {
        let mut event = Event::at(now, body);
        event.subagent_run_id = speaker.as_deref().map(Into::into);
        frame(event, peer)
    };
    let said = messages
        .map(|messages| (None, Body::MessagesSnapshot { messages }))
        .and_then(frame)
        // The messages are sent whole or not at all.
        .filter(|frame| frame.len() <= sse::MAX_FRAME);
    let begin = [ends::started(ids), Body::StateSnapshot { snapshot }];
    begin
        .into_iter()
        .map(|body| (None, body))
        .filter_map(frame)
        .chain(said)
        .chain(rest.into_iter().filter_map(frame))
        .collect()
}

fn frame(event: Event, peer: Peer) -> Option<Bytes> {
    let event = match peer {
        Peer::Current => event,
        Peer::Legacy => match downgrade::legacy(&event) {
            Legacy::Same => event,
            Legacy::Omitted => return None,
            Legacy::Instead(other) => *other,
        },
    };
    let mut frame = BytesMut::new();
    sse::encode(&event, &mut frame);
    Some(frame.freeze())
}
