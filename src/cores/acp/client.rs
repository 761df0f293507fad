//! Our side of the connection: the SDK with what it may ask of us, and requests without types.
//!
//! Updates and answers are taken as plain JSON. The SDK's types would drop an update of a kind that they
//! do not know, swallow vendors' members, and, with numbers kept to the digit, refuse some floats.
//!
//! The SDK runs its handlers inside its dispatch loop, one after the other. Here that is what is wanted:
//! a handler that waits for a turn to take an update holds back the answer behind it, so that an answer
//! never overtakes an update. No handler waits for anything but that queue. It is one loop for all turns of a
//! process: a turn that takes nothing holds up the others, so none may wait for an answer without taking what
//! it hears meanwhile. What is asked of people goes on in that queue, with the place for its answer.

use std::sync::Arc;

use agent_client_protocol::{
    self as sdk, Agent, Channel, Client, UntypedMessage as Untyped,
    v1::{ConnectionTo, Responder},
};
use serde_json::Value;
use tokio::sync::Semaphore;
use tracing::debug;

use super::{
    board::{Incoming, Side},
    request::{OPEN, Request, Subject},
    transport::Gate,
};

/// The program, as whoever asks something of it sees it. Cheap to clone.
#[derive(Clone)]
pub(super) struct Peer(ConnectionTo<Agent>);

impl Peer {
    /// Sends a request, now. The future waits for the answer; dropping it takes the request back.
    ///
    /// # Errors
    /// The program's error, or that it is gone.
    pub(super) fn request(
        &self,
        method: &str,
        params: Value,
    ) -> impl Future<Output = Result<Value, sdk::Error>> + use<> {
        self.0.send_request(untyped(method, params)).block_task()
    }

    /// Sends a notification. That the program is gone is noticed where an answer is awaited.
    pub(super) fn notify(&self, method: &str, params: Value) {
        let _ = self.0.send_notification(untyped(method, params));
    }

    /// Ends once the program says nothing more.
    pub(super) async fn closed(&self) {
        self.0.incoming_closed().await;
    }

    /// Whether the program says nothing more, or the connection is over.
    pub(super) fn is_closed(&self) -> bool {
        self.0.is_incoming_closed() || self.0.termination().is_some()
    }
}

fn untyped(method: &str, params: Value) -> Untyped {
    Untyped {
        method: method.to_owned(),
        params,
    }
}

/// Runs the connection until `main` has ended.
///
/// # Errors
/// The connection broke in a way that `main` could not see.
pub(super) async fn connect<R: Send>(
    channel: Channel,
    gate: Arc<Gate>,
    side: Side,
    main: impl AsyncFnOnce(Peer) -> R,
) -> Result<R, sdk::Error> {
    let (asked, gates) = (side.clone(), Arc::clone(&gate));
    let places = Arc::new(Semaphore::new(OPEN));
    Client
        .v1()
        .on_receive_notification(
            async move |message: Untyped, _: ConnectionTo<Agent>| {
                let room = gate.room();
                let (method, params) = message.into_parts();
                if method == "session/update" {
                    side.hand_on(Incoming::Update(params), Some(room)).await;
                } else {
                    debug!(method, "a notification of the agent is ignored");
                }
                Ok(())
            },
            sdk::on_receive_notification!(),
        )
        .on_receive_request(
            async move |message: Untyped, responder: Responder, _: ConnectionTo<Agent>| {
                let room = gates.room();
                let (method, params) = message.into_parts();
                let subject = match Subject::of(&method, &params) {
                    Ok(subject) => subject,
                    Err(error) => {
                        debug!(method, "a request of the agent is refused");
                        return responder.respond_with_error(error);
                    }
                };
                let request = Request::new(subject, params, responder, &places);
                asked
                    .hand_on(Incoming::Asked(Box::new(request)), Some(room))
                    .await;
                Ok(())
            },
            sdk::on_receive_request!(),
        )
        .connect_with(channel, async move |connection: ConnectionTo<Agent>| {
            Ok(main(Peer(connection)).await)
        })
        .await
}
