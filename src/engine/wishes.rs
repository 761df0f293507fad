//! What a client wishes to be set for its turns: `{"model", "mode", "effort"}` in the member of
//! `forwardedProps` that is called as the namespace is. Decides, changes nothing.

use serde_json::Value;

use super::Namespace;
use crate::{
    deps::{PerSetting, SettingKind},
    protocol::Pointer,
};

/// The longest name of a value that is repeated in an error, in characters.
const SHOWN: usize = 64;

/// A wish that is not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadWish {
    /// It is no wish at all.
    #[error("read {}: it must be {wanted}", place.as_str())]
    Malformed {
        /// Where in the request it stands.
        place: Pointer,
        /// What it must be.
        wanted: &'static str,
    },
    /// Clients of the agent may not choose it.
    #[error("grant {}: {value:?} is none of the values that clients of this agent may choose", place.as_str())]
    NotOffered {
        /// Where in the request it stands.
        place: Pointer,
        /// The beginning of what was wished for.
        value: String,
    },
}

/// Reads the wishes off a request and holds them against what the agent's clients may choose. What is
/// absent, or `null`, is no wish; other members are nobody's wish.
///
/// # Errors
/// A wish is malformed, or not among the choices.
pub(super) fn read(
    forwarded: Option<&Value>,
    namespace: &Namespace,
    choices: &PerSetting<Vec<String>>,
) -> Result<PerSetting<Option<String>>, BadWish> {
    let mut wishes = PerSetting::default();
    let name = namespace.as_str();
    let Some(ours) = forwarded.and_then(|props| props.get(name)) else {
        return Ok(wishes);
    };
    let place = Pointer::root().child("forwardedProps").child(name);
    if !ours.is_object() && !ours.is_null() {
        let wanted = "an object";
        return Err(BadWish::Malformed { place, wanted });
    }
    for kind in SettingKind::ALL {
        let place = place.child(kind.as_str());
        let wish = match &ours[kind.as_str()] {
            Value::Null => continue,
            Value::String(wish) => wish,
            _ => {
                let wanted = "a string";
                return Err(BadWish::Malformed { place, wanted });
            }
        };
        if !choices.get(kind).contains(wish) {
            let value = wish.chars().take(SHOWN).collect();
            return Err(BadWish::NotOffered { place, value });
        }
        *wishes.get_mut(kind) = Some(wish.clone());
    }
    Ok(wishes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wishes(forwarded: &Value) -> Result<PerSetting<Option<String>>, String> {
        let choices = PerSetting {
            mode: vec!["ask".into(), "plan".into()],
            ..PerSetting::default()
        };
        read(Some(forwarded), &Namespace::default(), &choices).map_err(|error| error.to_string())
    }

    #[test]
    fn a_listed_value_is_granted_and_what_is_not_ours_is_no_wish() {
        let asked = json!({"pando": {"mode": "plan", "model": null, "other": 1}, "mode": "yolo"});
        assert_eq!(wishes(&asked).unwrap().mode.as_deref(), Some("plan"));
        for none in [
            json!(null),
            json!("x"),
            json!({"mode": "plan"}),
            json!({"pando": null}),
        ] {
            assert_eq!(wishes(&none).unwrap(), PerSetting::default(), "{none}");
        }
    }

    /// Requirement 44: what is forwarded changes no policy, only what the operator has listed.
    #[test]
    fn whatever_is_not_listed_is_refused_with_its_place() {
        for (asked, place) in [
            (
                json!({"pando": {"mode": "yolo"}}),
                "/forwardedProps/pando/mode: \"yolo\"",
            ),
            (
                json!({"pando": {"model": "any"}}),
                "/forwardedProps/pando/model: \"any\"",
            ),
            (
                json!({"pando": {"effort": 3}}),
                "/forwardedProps/pando/effort: it must be",
            ),
            (
                json!({"pando": ["plan"]}),
                "/forwardedProps/pando: it must be",
            ),
        ] {
            let error = wishes(&asked).unwrap_err();
            assert!(error.contains(place), "{error}");
        }
    }
}
