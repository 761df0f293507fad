//! TOML, by the `toml` crate.

use serde_json::{Number, Value};
use toml::{Table, Value as Toml};

use crate::protocol::JsonObject;

/// The text as an object, if it is TOML. Dates are text; a float that JSON has no number for is null.
///
/// The crate refuses what is nested more than 80 deep, in brackets or in a dotted key.
pub(super) fn decode(text: &str) -> Option<JsonObject> {
    text.parse().ok().map(object)
}

fn object(table: Table) -> JsonObject {
    let members = table.into_iter();
    members.map(|(name, value)| (name, json(value))).collect()
}

fn json(value: Toml) -> Value {
    match value {
        Toml::String(text) => Value::String(text),
        Toml::Integer(number) => number.into(),
        Toml::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        Toml::Boolean(is_true) => Value::Bool(is_true),
        Toml::Datetime(time) => Value::String(time.to_string()),
        Toml::Array(items) => items.into_iter().map(json).collect(),
        Toml::Table(table) => Value::Object(object(table)),
    }
}
