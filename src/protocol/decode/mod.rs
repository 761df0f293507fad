//! Reads a request body leniently: unknown is stripped with a warning, malformed is refused with its place.
//!
//! What is forgiven, beyond what the 1.0 schema allows (AG-UI 1.0, processing and run input):
//! members, roles, part types and source types that the protocol does not know; `null` for a whole
//! optional member; member names in `snake_case`; the `binary` part and the flat media part of older
//! clients; a tool call without `type`; activity messages; half a character in a text.
//!
//! Repetition is judged by what can come of it. A JSON member given twice counts as given last, as in
//! every JavaScript client. Two messages of one id, or two calls, are both kept: clients make such
//! histories themselves. The same answer to an interrupt given twice counts once; two different answers
//! to one interrupt are refused, for one of them would be acted upon against the other.
//!
//! Written by hand over [`serde_json::Value`]: a derive can neither strip an element of a list nor warn,
//! `serde_ignored` sees unknown members only, and `serde_path_to_error` loses its way inside tagged
//! enums, which is where most places are.

mod content;
mod input;
mod message;
mod reader;
mod surrogate;
#[cfg(test)]
mod tests;
mod value;

use super::RunAgentInput;
use reader::Reader;

/// A request that was read, with what was stripped on the way.
#[derive(Debug)]
pub struct Decoded {
    /// The input.
    pub input: RunAgentInput,
    /// What was stripped or upgraded, each with its place. At most a few dozen.
    pub warnings: Vec<Warning>,
}

/// Something that was left out or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// A JSON pointer into the request, in wire names.
    pub pointer: String,
    /// What was done about it, and why. Of the request it repeats nothing but the start of a member's
    /// name.
    pub message: String,
}

/// Why a body is no `RunAgentInput`. The texts repeat no value of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is not JSON at all, or JSON nested too deep.
    #[error("{0}")]
    Syntax(String),
    /// A known member is missing or malformed.
    #[error("{} {reason}", if pointer.is_empty() { "body" } else { pointer.as_str() })]
    Invalid {
        /// A JSON pointer, in wire names. Empty for the body itself.
        pointer: String,
        /// What is wrong there.
        reason: String,
    },
}

/// Decodes a request body.
///
/// # Errors
/// The body is not JSON, or a member that the protocol knows is missing or malformed, or the client
/// speaks another major version.
pub fn run_input(body: &[u8]) -> Result<Decoded, DecodeError> {
    // Some .NET writers put a byte order mark in front (RFC 8259, section 8.1, allows to ignore it).
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let mut reader = Reader::default();
    let value = serde_json::from_slice(body).or_else(|error| {
        let mended = surrogate::mended(body).ok_or(error)?;
        reader.warn("halves of characters replaced");
        serde_json::from_slice(&mended)
    });
    let value =
        value.map_err(|error| DecodeError::Syntax(format!("body is not valid JSON: {error}")))?;
    let input = input::run_agent_input(value, &mut reader)?;
    Ok(Decoded {
        input,
        warnings: reader.into_warnings(),
    })
}
