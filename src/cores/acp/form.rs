//! Questions that agents ask people (ACP `elicitation/create`, mode `form`): from the request to a question, and from
//! what people say to the answer.
//!
//! `jsonschema` was weighed to check an answer: the schema is the agent's, and all that ACP lets stand in it is a flat
//! object of five types, of which the patterns and formats of texts are left to the agent to judge. What else a schema
//! may have (references, recursion) is nothing that an agent should have us follow.

use serde_json::{Map, Value, json};

use super::translate::{clip, size};
use crate::deps::{Form, Question, Reply};

/// The longest message, in bytes.
const MESSAGE: usize = 16 * 1024;

/// The longest schema, in bytes of JSON.
const SCHEMA: usize = 256 * 1024;

/// What an agent that gets no answer is told.
pub(super) fn cancelled() -> Value {
    json!({"action": "cancel"})
}

/// What an agent is told whose question people do not want to answer, or not as it has to be answered.
fn declined() -> Value {
    json!({"action": "decline"})
}

/// The question that a request asks, about no call yet. `None` if it asks for no form, or a malformed or overlong one.
pub(super) fn question(params: &Value) -> Option<Question> {
    let schema = &params["requestedSchema"];
    let is_flat = schema["type"] == "object" || schema["type"].is_null();
    let properties = schema["properties"].as_object()?;
    let is_form = params["mode"] == "form" && is_flat;
    if !is_form || !properties.values().all(Value::is_object) || size(schema) > SCHEMA {
        return None;
    }
    Some(Question {
        call: None,
        message: clip(params["message"].as_str()?, MESSAGE).to_owned(),
        form: Form::Fields(schema.as_object()?.clone()),
    })
}

/// What an agent is told that wants such a form filled in.
pub(super) fn answer(schema: &Map<String, Value>, reply: Reply) -> Value {
    let said = match reply {
        Reply::Unanswered(_) => return cancelled(),
        Reply::Answered(Value::String(text)) => serde_json::from_str(&text).unwrap_or_default(),
        Reply::Answered(said) => said,
    };
    match said.as_object().and_then(|said| filled_in(schema, said)) {
        None => declined(),
        Some(content) if content.is_empty() => cancelled(),
        Some(content) => json!({"action": "accept", "content": content}),
    }
}

/// The members that the form has. `None` if one does not fit, or one that has to be there is not.
fn filled_in(schema: &Map<String, Value>, said: &Map<String, Value>) -> Option<Map<String, Value>> {
    let properties = schema.get("properties").and_then(Value::as_object)?;
    // A form may have a member of that name.
    if said.get("declined") == Some(&Value::Bool(true)) && !properties.contains_key("declined") {
        return None;
    }
    let mut content = Map::new();
    for (name, property) in properties {
        if let Some(value) = said.get(name).filter(|value| !value.is_null()) {
            content.insert(name.clone(), fitting(property, value)?);
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    required
        .all(|name| content.contains_key(name))
        .then_some(content)
}

/// The value as the property wants it.
fn fitting(property: &Value, value: &Value) -> Option<Value> {
    let within = |number: f64, least: &str, most: &str| {
        property[least].as_f64().is_none_or(|it| number >= it)
            && property[most].as_f64().is_none_or(|it| number <= it)
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "no text and no list is that long"
    )]
    let length = |length: usize| length as f64;
    let fits = match property["type"].as_str()? {
        "string" => {
            let text = value.as_str()?;
            let count = length(text.chars().count());
            within(count, "minLength", "maxLength") && is_choice(property, "oneOf", text)
        }
        "number" => within(value.as_f64()?, "minimum", "maximum"),
        "integer" => {
            let number = value.as_f64()?;
            number.fract() == 0.0 && within(number, "minimum", "maximum")
        }
        "boolean" => value.is_boolean(),
        "array" => {
            let items = value.as_array()?;
            let is_item = |item: &Value| {
                let item = item.as_str();
                item.is_some_and(|item| is_choice(&property["items"], "anyOf", item))
            };
            within(length(items.len()), "minItems", "maxItems") && items.iter().all(is_item)
        }
        _ => false,
    };
    fits.then(|| value.clone())
}

/// Whether a text is among the choices, if there are any: `enum`, or the `const`s of the options in a member.
fn is_choice(property: &Value, options: &str, text: &str) -> bool {
    let listed = property["enum"].as_array();
    let titled = property[options].as_array();
    listed.is_none_or(|values| values.iter().any(|value| value == text))
        && titled.is_none_or(|options| options.iter().any(|option| option["const"] == text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deps::Unanswered;

    fn form() -> Map<String, Value> {
        let schema = json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 3},
            "colour": {"type": "string", "enum": ["red", "green"]},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "parts": {"type": "array", "maxItems": 2, "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}},
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["x"]}},
            "place": {"type": "_map"},
        }});
        schema.as_object().unwrap().clone()
    }

    #[test]
    fn an_answer_is_accepted_as_far_as_the_form_has_it_and_declined_if_it_does_not_fit() {
        let accepted = |content: Value| json!({"action": "accept", "content": content});
        let whole = json!({"name": "Éva", "colour": "red", "size": "s", "count": 9, "share": 0.5,
            "sure": false, "parts": ["a", "b"], "tags": ["x"]});
        let mut more = whole.clone();
        more["more"] = json!(1);
        more["__proto__"] = json!({});
        for (said, wanted) in [
            (whole.clone(), accepted(whole.clone())),
            (more, accepted(whole.clone())),
            (json!(whole.to_string()), accepted(whole)),
            (
                json!({"name": "Bo", "colour": null}),
                accepted(json!({"name": "Bo"})),
            ),
            (
                json!({"name": "Bo", "count": 2.0}),
                accepted(json!({"name": "Bo", "count": 2.0})),
            ),
            (json!({}), declined()),
            (json!({"name": null}), declined()),
            (json!({"name": 1}), declined()),
            (json!({"name": "Anna"}), declined()),
            (json!({"name": "É"}), declined()),
            (json!({"name": "Bo", "colour": "blue"}), declined()),
            (json!({"name": "Bo", "size": "Small"}), declined()),
            (json!({"name": "Bo", "count": 1.5}), declined()),
            (json!({"name": "Bo", "count": 10}), declined()),
            (json!({"name": "Bo", "count": "2"}), declined()),
            (json!({"name": "Bo", "sure": "yes"}), declined()),
            (json!({"name": "Bo", "parts": ["c"]}), declined()),
            (json!({"name": "Bo", "parts": ["a", "a", "b"]}), declined()),
            (json!({"name": "Bo", "tags": []}), declined()),
            (json!({"name": "Bo", "tags": [{}]}), declined()),
            (json!({"name": "Bo", "place": {}}), declined()),
            (json!({"name": "Bo", "declined": true}), declined()),
            (json!({"declined": true}), declined()),
            (json!("no"), declined()),
            (json!(true), declined()),
            (json!([]), declined()),
        ] {
            assert_eq!(
                answer(&form(), Reply::Answered(said.clone())),
                wanted,
                "{said}"
            );
        }
    }

    #[test]
    fn r100_a_question_that_nobody_answers_or_that_gets_an_empty_answer_is_cancelled() {
        let unanswered = Reply::Unanswered(Unanswered::TimedOut);
        assert_eq!(answer(&form(), unanswered), cancelled());
        let mut form = form();
        form.shift_remove("required");
        for said in [json!({}), json!({"cancelled": true}), json!({"name": null})] {
            assert_eq!(answer(&form, Reply::Answered(said)), cancelled());
        }
    }

    #[test]
    fn only_a_form_of_a_flat_object_is_asked() {
        let asked = |mode: &str, schema: &Value| {
            let params = json!({"mode": mode, "message": "Which?", "requestedSchema": schema});
            question(&params).is_some()
        };
        let flat = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert!(asked("form", &flat));
        assert!(!asked("url", &flat));
        assert!(!asked("form", &json!({"type": "array", "properties": {}})));
        assert!(!asked("form", &json!({"type": "object"})));
        assert!(!asked("form", &json!({"properties": {"a": 1}})));
        let long = json!({"properties": {"a": {"title": "x".repeat(SCHEMA)}}});
        assert!(!asked("form", &long));
        assert_eq!(
            question(&json!({"mode": "form", "requestedSchema": flat})),
            None
        );
    }
}
