//! What an agent is told that asks for permission (ACP `session/request_permission`).
//!
//! Nobody can be asked yet, so the answer is no, in the agent's own words: the option is found by its
//! `kind`, never by its id or place.

use serde_json::{Value, json};

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// The agent's own option to refuse.
    Refused {
        /// The option's id.
        option: String,
    },
    /// The turn is being stopped, or the agent offers no way to refuse.
    Cancelled,
}

impl Decision {
    /// Decides on a request's parameters.
    pub(super) fn of(request: &Value, stopping: bool) -> Self {
        if stopping {
            return Self::Cancelled;
        }
        let options = request["options"].as_array().map_or(&[][..], Vec::as_slice);
        let option_of = |kind: &str| {
            options
                .iter()
                .find(|option| option["kind"] == kind)
                .and_then(|option| option["optionId"].as_str())
        };
        match option_of("reject_once").or_else(|| option_of("reject_always")) {
            Some(option) => Self::Refused {
                option: option.to_owned(),
            },
            None => Self::Cancelled,
        }
    }

    /// The decision as a log field.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::Cancelled => "cancelled",
        }
    }

    /// The decision as the result of the request.
    pub(super) fn answer(&self) -> Value {
        match self {
            Self::Refused { option } => {
                json!({"outcome": {"outcome": "selected", "optionId": option}})
            }
            Self::Cancelled => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_refused_by_the_kind_of_its_options() {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": "reject", "kind": kind});
        let allow = option("reject_once", "allow_once");
        let once = option("b", "reject_once");
        let always = option("c", "reject_always");
        for (options, wanted) in [
            (json!([allow, always, once]), Some("b")),
            (json!([allow, always]), Some("c")),
            (json!([allow]), None),
            (json!([]), None),
            (json!("nonsense"), None),
        ] {
            let wanted = wanted.map_or(Decision::Cancelled, |id| Decision::Refused {
                option: id.into(),
            });
            assert_eq!(Decision::of(&json!({"options": options}), false), wanted);
        }
    }

    #[test]
    fn report_r52_while_a_turn_stops_every_request_is_cancelled() {
        let request = json!({"options": [{"optionId": "a", "kind": "reject_once"}]});
        let decision = Decision::of(&request, true);
        assert_eq!(
            decision.answer(),
            json!({"outcome": {"outcome": "cancelled"}})
        );
    }
}
