//! Readers of one value: what it must be, or an error at the place where the reader stands.

use serde::{
    Deserialize,
    de::{IntoDeserializer, value},
};
use serde_json::Value;

use super::reader::{Read, Reader, Step};
use crate::protocol::{IdError, JsonObject};

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Any JSON, as it is.
#[expect(
    clippy::unnecessary_wraps,
    reason = "it stands where readers that can fail stand"
)]
pub(super) fn any(value: Value, _: &mut Reader) -> Read<Value> {
    Ok(value)
}

pub(super) fn text(value: Value, reader: &mut Reader) -> Read<String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(reader.invalid(format!("must be a string, not {}", kind(&other)))),
    }
}

pub(super) fn object(value: Value, reader: &mut Reader) -> Read<JsonObject> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(reader.invalid(format!("must be an object, not {}", kind(&other)))),
    }
}

/// An id, checked by its own type.
pub(super) fn id<T>(
    make: impl FnOnce(String) -> Result<T, IdError>,
) -> impl FnOnce(Value, &mut Reader) -> Read<T> {
    move |value, reader| {
        make(text(value, reader)?).map_err(|error| reader.invalid(error.to_string()))
    }
}

/// A list, without the elements for which `item` says `None`.
pub(super) fn list<T>(
    item: impl Fn(Value, &mut Reader) -> Read<Option<T>>,
) -> impl FnOnce(Value, &mut Reader) -> Read<Vec<T>> {
    move |value, reader| {
        let Value::Array(items) = value else {
            return Err(reader.invalid(format!("must be an array, not {}", kind(&value))));
        };
        let mut read = Vec::with_capacity(items.len());
        for (index, value) in items.into_iter().enumerate() {
            read.extend(reader.within(Step::Index(index), |reader| item(value, reader))?);
        }
        Ok(read)
    }
}

/// The variant of a plain enum that has this wire name.
pub(super) fn named<'de, T: Deserialize<'de>>(name: &'de str) -> Option<T> {
    let name: value::StrDeserializer<'de, value::Error> = name.into_deserializer();
    T::deserialize(name).ok()
}
