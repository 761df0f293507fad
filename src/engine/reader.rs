//! What an HTTP response is: a cursor on a run's log, perhaps with something to read first, perhaps not yet there.

use std::{fmt, mem};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::{
    frames::too_slow,
    live::Lease,
    log::{Cursor, Step},
};
use crate::env::Env;

/// The reader of a run. Dropping that of a POST is the client's hanging up.
pub struct Reader {
    source: Source,
    env: Env,
}

/// Where frames come from.
enum Source {
    /// What it reads is not there yet. Never locked: a future alone could not be shared.
    Waiting(Mutex<BoxFuture<'static, Reader>>, Lease),
    /// Frames that stand before the log's, or alone.
    Ready(Vec<Bytes>, Option<(Cursor, Option<Lease>)>),
    Reading(Cursor, Option<Lease>),
    Over,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    /// Reads these frames, then a log, and holds nobody up by it.
    pub(super) fn of_log(env: Env, frames: Vec<Bytes>, cursor: Cursor) -> Self {
        let source = Source::Ready(frames, Some((cursor, None)));
        Self { source, env }
    }

    /// Makes it the reader of a POST, if the run is still live.
    pub(super) fn on(mut self, reader: Lease) -> Self {
        if let Source::Ready(_, Some((_, lease))) | Source::Reading(_, lease) = &mut self.source {
            *lease = Some(reader);
        }
        self
    }

    /// Reads these frames.
    pub(super) fn of_frames(env: Env, frames: Vec<Bytes>) -> Self {
        let source = Source::Ready(frames, None);
        Self { source, env }
    }

    /// Reads what comes of this, as the reader of a POST.
    pub(super) fn waiting(env: Env, coming: BoxFuture<'static, Self>, lease: Lease) -> Self {
        let source = Source::Waiting(Mutex::new(coming), lease);
        Self { source, env }
    }

    /// Waits for the frames that come next, whole and ready for the wire; `None` after the last. A
    /// reader that fell too far behind gets a last frame that says so. Cancel-safe.
    pub async fn next(&mut self) -> Option<Vec<Bytes>> {
        loop {
            match &mut self.source {
                Source::Waiting(coming, _) => {
                    let come = coming.get_mut().as_mut().await;
                    if let Source::Waiting(_, lease) = mem::replace(&mut self.source, Source::Over)
                    {
                        self.source = come.on(lease).source;
                    }
                }
                Source::Ready(frames, _) => {
                    let frames = mem::take(frames);
                    self.source = match mem::replace(&mut self.source, Source::Over) {
                        Source::Ready(_, Some((cursor, lease))) => Source::Reading(cursor, lease),
                        _ => Source::Over,
                    };
                    if !frames.is_empty() {
                        return Some(frames);
                    }
                }
                Source::Reading(cursor, _) => match cursor.next().await {
                    Step::Frames(frames) => return Some(frames),
                    Step::Gap => {
                        self.source = Source::Over;
                        return Some(vec![too_slow(&self.env)]);
                    }
                    Step::End => self.source = Source::Over,
                },
                Source::Over => return None,
            }
        }
    }
}
