//! The places that there are, found by their secrets.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use http::Response;
use parking_lot::Mutex;
use rmcp::transport::{
    StreamableHttpServerConfig, StreamableHttpService,
    streamable_http_server::session::{SessionId, SessionManager, local::LocalSessionManager},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    guard::LONGEST_BODY,
    handler::Handler,
    room::Room,
    secret::{Digested, Secret},
};

/// How many requests of one place may be under way: an agent has one for each open call, and one to be told of
/// changes.
const UNDER_WAY: usize = 64;

/// How many connections, as MCP counts them, an agent may have with one place. Those that open again and again do not
/// always close; the oldest goes.
const SESSIONS: usize = 16;

/// The header in which an agent is told the name of its connection (MCP, Streamable HTTP).
const SESSION: &str = "mcp-session-id";

/// What a secret opens.
pub(super) struct Seat {
    pub(super) room: Arc<Room>,
    http: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    order: Mutex<VecDeque<SessionId>>,
    room_for: Arc<Semaphore>,
}

/// The places that there are.
#[derive(Default)]
pub(super) struct Seats(Mutex<HashMap<Digested, Arc<Seat>>>);

impl Seats {
    /// Adds one.
    pub(super) fn add(&self, secret: &Secret, seat: Arc<Seat>) {
        self.0.lock().insert(secret.digest(), seat);
    }

    /// Removes one: its secret opens nothing any more.
    pub(super) fn remove(&self, secret: &Secret) {
        self.0.lock().remove(&secret.digest());
    }

    /// The one that a secret opens.
    pub(super) fn find(&self, shown: &str) -> Option<Arc<Seat>> {
        let shown = Digested::of(shown);
        let seats = self.0.lock();
        let (kept, seat) = seats.get_key_value(&shown)?;
        kept.is(&shown).then(|| Arc::clone(seat))
    }
}

impl Seat {
    pub(super) fn new(room: Arc<Room>) -> Self {
        let mut sessions = LocalSessionManager::default();
        let config = &mut sessions.session_config;
        // An agent is silent for as long as its thread is.
        config.keep_alive = None;
        // Nothing is told twice: a call whose answer nobody reads is given up.
        config.sse_retry = None;
        config.completed_cache_ttl = std::time::Duration::ZERO;
        let sessions = Arc::new(sessions);
        let handler = Handler::new(Arc::clone(&room));
        let config = StreamableHttpServerConfig::default()
            .enforce_origin_validation()
            .with_sse_retry(None)
            .with_max_request_body_bytes(LONGEST_BODY)
            .with_cancellation_token(room.closing().clone());
        let make = move || Ok(handler.clone());
        Self {
            http: StreamableHttpService::new(make, Arc::clone(&sessions), config),
            room,
            sessions,
            order: Mutex::default(),
            room_for: Arc::new(Semaphore::new(UNDER_WAY)),
        }
    }

    /// Room for a request that is to be under way, if there is some.
    pub(super) fn admit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room_for).try_acquire_owned().ok()
    }

    /// What answers to HTTP.
    pub(super) fn http(&self) -> &StreamableHttpService<Handler, LocalSessionManager> {
        &self.http
    }

    /// Notes the connection that an answer opens, and ends the oldest of too many.
    pub(super) async fn note_session<B>(&self, response: &Response<B>, is_new: bool) {
        let id = response.headers().get(SESSION);
        let Some(id) = id.and_then(|id| id.to_str().ok()).filter(|_| is_new) else {
            return;
        };
        let oldest = {
            let mut order = self.order.lock();
            order.push_back(id.into());
            (order.len() > SESSIONS)
                .then(|| order.pop_front())
                .flatten()
        };
        if let Some(oldest) = oldest {
            // It may be gone already.
            let _ = self.sessions.close_session(&oldest).await;
        }
    }
}

/// Whether a request is to open a connection.
pub(super) fn opens_session<B>(request: &http::Request<B>) -> bool {
    !request.headers().contains_key(SESSION)
}
