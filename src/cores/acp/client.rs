//! Our side of the connection: the SDK with what it may ask of us, and requests without types.
//!
//! Updates and answers are taken as plain JSON. The SDK's types would drop an update of a kind that they
//! do not know, swallow vendors' members, and, with numbers kept to the digit, refuse some floats.
//!
//! The SDK runs its handlers inside its dispatch loop, one after the other. Here that is what is wanted:
//! a handler that waits for the turn to take an update holds back the answer behind it, so that an answer
//! never overtakes an update. No handler waits for anything but that queue.

use std::sync::Arc;

use agent_client_protocol::{
    self as sdk, Agent, Channel, Client, UntypedMessage as Untyped,
    v1::{ConnectionTo, Responder},
};
use serde_json::Value;
use tokio::sync::mpsc;
use tracing::{debug, info};

use super::{
    permission::Decision,
    transport::{Gate, Room},
};
use crate::deps::TurnIo;

/// How many updates wait for the turn at most.
const QUEUE: usize = 16;

/// What the program tells or asks within a session, in order.
#[derive(Debug)]
pub(super) enum Incoming {
    /// Parameters of `session/update`.
    Update(Value),
    /// Parameters of `session/request_permission`, which was answered.
    Asked(Value),
}

/// The program as a turn sees it.
pub(super) struct Peer {
    connection: ConnectionTo<Agent>,
    /// What it says, in order, each with the room that it takes until then.
    pub(super) inbox: mpsc::Receiver<(Incoming, Option<Room>)>,
}

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
        self.connection
            .send_request(Untyped {
                method: method.to_owned(),
                params,
            })
            .block_task()
    }

    /// A way to send notifications that outlives borrows of the peer.
    pub(super) fn notifier(&self) -> impl Fn(&str, Value) + use<> {
        let connection = self.connection.clone();
        move |method, params| {
            let message = Untyped {
                method: method.to_owned(),
                params,
            };
            // That the program is gone is noticed where an answer is awaited.
            let _ = connection.send_notification(message);
        }
    }

    /// Sends a request and forgets what the program says until it answers.
    ///
    /// # Errors
    /// As [`Peer::request`].
    pub(super) async fn request_quietly(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<Value, sdk::Error> {
        let answer = self.request(method, params);
        tokio::pin!(answer);
        loop {
            tokio::select! {
                biased;
                Some(_) = self.inbox.recv() => {}
                answer = &mut answer => return answer,
            }
        }
    }
}

/// Runs the connection until `main` has ended.
///
/// # Errors
/// The connection broke in a way that `main` could not see.
pub(super) async fn connect<R: Send>(
    channel: Channel,
    gate: Arc<Gate>,
    io: TurnIo,
    agent: String,
    main: impl AsyncFnOnce(Peer) -> R,
) -> Result<R, sdk::Error> {
    let (queue, inbox) = mpsc::channel(QUEUE);
    let updates = queue.clone();
    Client
        .v1()
        .on_receive_notification(
            async move |message: Untyped, _: ConnectionTo<Agent>| {
                let room = gate.room();
                let (method, params) = message.into_parts();
                if method == "session/update" {
                    // That nobody listens any more is seen by whoever stopped listening.
                    let _ = updates.send((Incoming::Update(params), Some(room))).await;
                } else {
                    debug!(method, "a notification of the agent is ignored");
                }
                Ok(())
            },
            sdk::on_receive_notification!(),
        )
        .on_receive_request(
            async move |message: Untyped, responder: Responder, _: ConnectionTo<Agent>| {
                let (method, params) = message.into_parts();
                if method != "session/request_permission" {
                    debug!(method, "a request of the agent is refused");
                    return responder.respond_with_error(sdk::Error::method_not_found());
                }
                let decision = Decision::of(&params, io.is_stopped());
                info!(
                    agent,
                    decision = decision.as_str(),
                    "the agent asked for permission"
                );
                debug!(agent, kind = %params["toolCall"]["kind"], "the agent asked for permission");
                let answer = decision.answer();
                let _ = queue.send((Incoming::Asked(params), None)).await;
                // Answered once the turn has taken it: an answer gives the room back.
                let _ = queue.reserve_many(QUEUE).await;
                responder.respond(answer)
            },
            sdk::on_receive_request!(),
        )
        .connect_with(channel, async move |connection: ConnectionTo<Agent>| {
            Ok(main(Peer { connection, inbox }).await)
        })
        .await
}
