//! Updates that AG-UI has no event for: they become notices called `acp.` and the update's kind.

use serde_json::Value;
use tracing::debug;

use super::bounds::{clip, digest, fit};
use crate::{cores::acp::vendors, deps::CoreEvent};

/// The longest kind that is passed on, in bytes.
const KIND: usize = 64;

/// Kinds that say the whole of something each time, and so are no news when they repeat themselves.
/// They come at any time, also in the middle of a message.
const STANDING: [&str; 4] = [
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "session_info_update",
];

/// What was said last, of each kind that repeats itself.
#[derive(Debug, Default)]
pub(super) struct Notices {
    last: Vec<(String, u64)>,
}

impl Notices {
    /// The notice of an update, unless it says nothing, or nothing new.
    pub(super) fn of(&mut self, mut update: Value) -> Option<CoreEvent> {
        let Some(kind) = update["sessionUpdate"].as_str() else {
            debug!("an update without a kind is left out");
            return None;
        };
        let kind = clip(kind, KIND).to_owned();
        let info = vendors::session_info(&update);
        strip_meta(&mut update);
        let members = update.as_object_mut()?;
        members.shift_remove("sessionUpdate");
        if kind == "session_info_update" {
            members.extend(info);
            if members.is_empty() {
                return None;
            }
        }
        let event = CoreEvent::notice(format!("acp.{kind}"), fit(update));
        self.is_news(&event).then_some(event)
    }

    /// Whether an event is no repetition of something that is said as a whole each time.
    pub(super) fn is_news(&mut self, event: &CoreEvent) -> bool {
        let (name, now) = match event {
            CoreEvent::Notice {
                name,
                value,
                call: None,
            } if says_how_things_stand(name) => (name.as_str(), digest(value)),
            CoreEvent::Todos(todos) => ("todos", digest(&serde_json::json!(todos))),
            _ => return true,
        };
        if let Some((_, last)) = self.last.iter_mut().find(|(known, _)| known == name) {
            return std::mem::replace(last, now) != now;
        }
        self.last.push((name.to_owned(), now));
        true
    }
}

/// Whether updates of the kind say how things stand, whatever is being said at the moment.
pub(super) fn is_standing(kind: &str) -> bool {
    STANDING.contains(&kind)
}

/// Whether the notice of this name does.
pub(super) fn says_how_things_stand(name: &str) -> bool {
    name.strip_prefix("acp.").is_some_and(is_standing)
}

/// Takes vendors' additions out: they carry paths, commands and settings of the machine.
pub(super) fn strip_meta(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("_meta");
            members.values_mut().for_each(strip_meta);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_meta),
        _ => {}
    }
}
