//! AG-UI 1.0 as plain data: what a client sends, what a run streams, and the rules of both.
//!
//! The rule of this floor is to be lenient with what comes in and strict with what goes out (AG-UI 1.0,
//! processing): [`decode`] strips what it does not know and names the place of what is malformed; the
//! types serialise to what the 1.0 schema allows and nothing else. What a client from before 1.0 cannot read is told apart in one
//! place, [`downgrade`]. [`grammar`] is the legal order of events; tests and debug builds put every
//! stream through it. Nothing here knows tokio, HTTP or an agent.
//!
//! Crates weighed: `ag-ui-core` 0.1 (uuid ids, two thirds of the events, no multimodal content) and
//! `ag-ui` 0.5-alpha (no gating on the peer's version, drops legacy parts). Neither can carry this.

pub mod capabilities;
mod content;
pub mod decode;
pub mod downgrade;
mod event;
pub mod grammar;
mod ids;
mod input;
mod interrupt;
mod message;
mod patch;
mod peer;
#[cfg(test)]
pub(crate) mod schema;
pub mod sse;
mod usage;

pub use capabilities::AgentCapabilities;
pub use content::{Content, Part, PartKind, Source};
pub use event::{
    Body, Event, JsonObject, ReasoningRole, SubagentOutcome, Subtype, TextRole, ToolRole,
};
pub use ids::{IdError, InterruptId, MessageId, RunId, ThreadId, ToolCallId};
pub use input::{ContextEntry, ResumeEntry, ResumeStatus, RunAgentInput, Tool};
pub use interrupt::{Interrupt, Outcome};
pub use message::{FunctionCall, FunctionType, Message, MessageBody, ToolCall};
pub use patch::{Operation, Patch, Pointer, PointerError};
pub use peer::{PROTOCOL_VERSION, Peer};
pub use usage::TokenUsage;
