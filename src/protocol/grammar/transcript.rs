//! Reads the body of a response as strictly as the daemon promises to write it.

use serde_json::Value;

use super::{Grammar, Violation, breach};
use crate::protocol::{Event, Peer, Pointer, sse};

/// Checks the whole body of a response to a client of 1.0: framing, shapes, order.
///
/// # Errors
/// The first breach, with the number of its frame, counted from 1.
pub fn check_stream(body: &str) -> Result<Vec<Event>, Violation> {
    read(Grammar::default(), body, false)
}

/// Checks the whole body of a response to a client from before 1.0.
///
/// # Errors
/// As [`check_stream`].
pub fn check_legacy_stream(body: &str) -> Result<Vec<Event>, Violation> {
    read(Grammar::legacy(), body, false)
}

/// Checks the whole body of a response to a viewer, in which the places are told that it can come back to.
///
/// # Errors
/// As [`check_stream`].
pub fn check_viewer_stream(body: &str, peer: Peer) -> Result<Vec<Event>, Violation> {
    let grammar = match peer {
        Peer::Current => Grammar::default(),
        Peer::Legacy => Grammar::legacy(),
    };
    read(grammar, body, true)
}

fn read(mut grammar: Grammar, body: &str, may_tell_places: bool) -> Result<Vec<Event>, Violation> {
    if let Some(end) = body.find(['\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        return Err(Violation(format!(
            "byte {end} ends a line for some readers"
        )));
    }
    let mut events = Vec::new();
    let mut rest = body;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let at = |violation: Violation| Violation(format!("frame {number}: {violation}"));
        let Some((frame, after)) = rest.split_once("\n\n") else {
            return Err(at(Violation("a frame ends with a blank line".to_owned())));
        };
        rest = after;
        if may_tell_places && frame.lines().count() == 1 && frame.starts_with("id: ") {
            if !grammar.is_place() {
                return Err(at(Violation(
                    "a place is told where no item is open".to_owned(),
                )));
            }
        } else if let Some(json) = data(frame).map_err(at)? {
            let event = event(json).map_err(at)?;
            grammar.step(&event).map_err(at)?;
            events.push(event);
        } else if grammar.finish().is_ok() {
            return Err(at(Violation(
                "a terminal event is the last frame".to_owned(),
            )));
        }
    }
    grammar.finish()?;
    Ok(events)
}

/// The JSON of a frame, or nothing if it is a comment.
fn data(frame: &str) -> Result<Option<&str>, Violation> {
    if frame.len() > sse::MAX_FRAME {
        return Err(Violation("a frame is well below 10 MiB".to_owned()));
    }
    if frame.contains('\n') {
        return Err(Violation("a frame is one line".to_owned()));
    }
    match frame.strip_prefix("data: ") {
        Some(json) => Ok(Some(json)),
        None if frame.starts_with(':') => Ok(None),
        None => Err(Violation(
            "a frame is a bare data line or a comment".to_owned(),
        )),
    }
}

/// Reads an event and writes it again: what differs is nothing that the protocol knows.
fn event(json: &str) -> Result<Event, Violation> {
    let value: Value = serde_json::from_str(json)
        .map_err(|error| Violation(format!("the data is no JSON: {error}")))?;
    if !value.is_object() {
        return Err(Violation("the data is no JSON object".to_owned()));
    }
    // From the text, as serde's buffer for tagged enums cannot take an integer of more than 64 bits
    // out of a `Value`.
    let event: Event = serde_json::from_str(json)
        .map_err(|error| Violation(format!("the data is no event: {error}")))?;
    let again = serde_json::to_value(&event).expect("an event has string keys");
    compare(&value, &again, &Pointer::root())?;
    Ok(event)
}

fn compare(given: &Value, known: &Value, place: &Pointer) -> Result<(), Violation> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given.iter().try_for_each(|(name, value)| {
                let place = place.child(name);
                match known.get(name) {
                    Some(known) => compare(value, known, &place),
                    None if value.is_null() => breach(format!("{place} is null, not absent")),
                    None => breach(format!("{place} is not of the protocol")),
                }
            })
        }
        (Value::Array(given), Value::Array(known)) if given.len() == known.len() => given
            .iter()
            .zip(known)
            .enumerate()
            .try_for_each(|(index, (given, known))| compare(given, known, &place.index(index))),
        _ if given == known => Ok(()),
        _ => breach(format!("{place} is not as the protocol writes it")),
    }
}
