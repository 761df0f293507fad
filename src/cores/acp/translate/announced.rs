//! What agents tell of their sub-agents besides what these say (ACP, unstable: `subagent_update`, `session_message`, and
//! the `config_option_update` of a sub-agent's session).

use serde_json::Value;

use super::{
    bounds::{ABOUT, NAME, clip},
    shown,
};
use crate::{
    cores::acp::vendors::Vendor,
    deps::{About, SubAgentStatus},
    protocol::PartKind,
};

/// What became known of a sub-agent.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Announced {
    pub(super) about: About,
    /// How far it is, if that is said.
    pub(super) status: Option<SubAgentStatus>,
}

impl Announced {
    /// How far it is, and nothing else.
    pub(super) fn of_status(status: SubAgentStatus) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// As a `subagent_update` has it. What it is described by is its part, or what it is told (Codex).
    pub(super) fn of_update(update: &Value, vendor: Vendor) -> Self {
        let text = |name: &str, most| said(update[name].as_str(), most);
        let (title, description) = (text("title", NAME), text("description", ABOUT));
        let (persona, prompt) = if vendor.describes_by_prompt() {
            (title, description)
        } else {
            let part = description.map(|it| clip(&it, NAME).to_owned());
            (part.or(title), None)
        };
        let state = &update["state"];
        let (status, error) = outcome(state);
        let about = About {
            persona,
            prompt,
            error: error.map(|error| clip(error, ABOUT).to_owned()),
            ..About::default()
        };
        Self { about, status }
    }

    /// What the text of a `session_message` is to a sub-agent: what it is told, or what it has to say in the end.
    pub(super) fn of_message(message: &Value, is_told: bool) -> Self {
        let blocks = message["content"].as_array().into_iter().flatten();
        let texts = blocks.filter_map(|block| match shown::part(block)?.kind {
            PartKind::Text { text } => Some(text),
            _ => None,
        });
        let text = said(Some(&texts.collect::<Vec<_>>().join("\n")), ABOUT);
        let (prompt, summary) = if is_told { (text, None) } else { (None, text) };
        let about = About {
            prompt,
            summary,
            ..About::default()
        };
        Self {
            about,
            status: None,
        }
    }

    /// Its model, if an update in its session says that.
    pub(super) fn of_model(update: &Value) -> Option<Self> {
        let options = update["configOptions"].as_array().into_iter().flatten();
        let mut models = options.filter(|option| option["category"] == "model");
        let model = models.find_map(|option| option["currentValue"].as_str());
        let about = About {
            model: Some(said(model, NAME)?),
            ..About::default()
        };
        Some(Self {
            about,
            status: None,
        })
    }
}

fn said(text: Option<&str>, most: usize) -> Option<String> {
    let text = text.filter(|text| !text.trim().is_empty())?;
    Some(clip(text, most).to_owned())
}

/// How far a sub-agent is by the state of its session, and why it failed. One that rests has done what it was told,
/// unless it says why not.
fn outcome(state: &Value) -> (Option<SubAgentStatus>, Option<&str>) {
    use SubAgentStatus::{Cancelled, Completed, Failed, Paused, Running};
    match (state["state"].as_str(), state["stopReason"].as_str()) {
        (Some("running"), _) => (Some(Running), None),
        // It waits for a person.
        (Some("requires_action"), _) => (Some(Paused), None),
        (Some("idle"), Some("error")) => (Some(Failed), state["error"]["message"].as_str()),
        (Some("idle"), Some("refusal")) => (Some(Failed), Some("it would not go on")),
        (Some("idle"), Some("cancelled")) => (Some(Cancelled), None),
        (Some("idle"), _) => (Some(Completed), None),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sub_agent_stands_as_its_session_does() {
        use SubAgentStatus::{Cancelled, Completed, Failed, Paused, Running};
        let error = json!({"code": -32603, "message": "no model"});
        for (state, status, why) in [
            (json!({"state": "running"}), Some(Running), None),
            (json!({"state": "requires_action"}), Some(Paused), None),
            (
                json!({"state": "idle", "stopReason": "end_turn"}),
                Some(Completed),
                None,
            ),
            (json!({"state": "idle"}), Some(Completed), None),
            (
                json!({"state": "idle", "stopReason": "cancelled"}),
                Some(Cancelled),
                None,
            ),
            (
                json!({"state": "idle", "stopReason": "error", "error": error}),
                Some(Failed),
                Some("no model"),
            ),
            (
                json!({"state": "idle", "stopReason": "refusal"}),
                Some(Failed),
                Some("it would not go on"),
            ),
            (json!({"state": "unknown"}), None, None),
            (json!(null), None, None),
        ] {
            let update = json!({"sessionId": "c", "state": state});
            let told = Announced::of_update(&update, Vendor::Other);
            assert_eq!(
                (told.status, told.about.error.as_deref()),
                (status, why),
                "{state}"
            );
        }
    }

    #[test]
    fn what_describes_a_sub_agent_is_its_part_or_what_it_is_told() {
        let update = json!({"title": "look around", "description": "Explore"});
        let other = Announced::of_update(&update, Vendor::Claude).about;
        assert_eq!(other.persona.as_deref(), Some("Explore"));
        assert_eq!(other.prompt, None);
        let codex = Announced::of_update(&update, Vendor::Codex).about;
        assert_eq!(codex.persona.as_deref(), Some("look around"));
        assert_eq!(codex.prompt.as_deref(), Some("Explore"));
        let bare = Announced::of_update(&json!({"title": "x", "description": null}), Vendor::Other);
        assert_eq!(bare.about.persona.as_deref(), Some("x"));
    }
}
