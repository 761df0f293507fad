//! The model behind an agent, where the agent shows it.

use serde_json::Value;

use crate::deps::Model;

/// The model that the opening of a session or an update of its options names: a config option of the
/// category `model`, or the older `models`.
pub(super) fn visible(shown: &Value) -> Option<Model> {
    let options = shown["configOptions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let option = options
        .iter()
        .find(|option| option["category"] == "model" && option["currentValue"].is_string());
    let (id, name) = if let Some(option) = option {
        let id = option["currentValue"].as_str()?;
        (id, named(&option["options"], "value", id))
    } else {
        let models = &shown["models"];
        let id = models["currentModelId"].as_str()?;
        (id, named(&models["availableModels"], "modelId", id))
    };
    (!id.is_empty()).then(|| Model {
        id: id.to_owned(),
        name,
        ..Model::default()
    })
}

/// The name of the entry that has the id under `key`. Entries may stand in groups.
fn named(entries: &Value, key: &str, id: &str) -> Option<String> {
    entries.as_array()?.iter().find_map(|entry| {
        if entry[key] == id {
            entry["name"].as_str().map(str::to_owned)
        } else {
            named(&entry["options"], key, id)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_is_found_wherever_agents_put_it() {
        let flat = json!([{"value": "m1", "name": "One"}]);
        let grouped = json!([{"group": "g", "name": "G", "options": flat}]);
        let option = |options: &Value| {
            json!({"configOptions": [
                {"id": "mode", "category": "mode", "currentValue": "ask", "options": []},
                {"id": "model", "category": "model", "currentValue": "m1", "options": options},
            ]})
        };
        let legacy = json!({"models": {"currentModelId": "m1",
            "availableModels": [{"modelId": "m1", "name": "One"}]}});
        for shown in [option(&flat), option(&grouped), legacy] {
            let model = visible(&shown).unwrap();
            assert_eq!(
                (model.id.as_str(), model.name.as_deref()),
                ("m1", Some("One"))
            );
        }
        assert_eq!(visible(&json!({"sessionId": "s"})), None);
    }
}
