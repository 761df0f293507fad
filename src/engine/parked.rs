//! How the turn of a thread goes on that was parked.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    answers::Said,
    live::{Call, Live},
};
use crate::{
    deps::PerSetting,
    protocol::{Message, RunAgentInput},
};

/// The run that goes on with a turn, and what it brings.
#[derive(Debug)]
pub(super) struct Resumed {
    pub(super) live: Arc<Live>,
    pub(super) door: mpsc::Receiver<Call>,
    pub(super) input: RunAgentInput,
    pub(super) wishes: PerSetting<Option<String>>,
    /// What it says to each prompt, in their order; `None`: the person went on without answering.
    pub(super) said: Vec<Option<Said>>,
    /// What the person has said besides, to be asked once the turn is over.
    pub(super) next: Vec<Message>,
    /// What clients are told of the answers.
    pub(super) notices: Vec<Notice>,
}

/// Something that a client is told beside what it asked: a name without the namespace, and what there is to say.
pub(super) type Notice = (&'static str, Value);
