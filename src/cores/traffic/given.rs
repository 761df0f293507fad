//! Reading what is given as JSON.

use std::borrow::Cow;

use serde_json::Value;

use crate::protocol::JsonObject;

/// The longest JSON in a text that is read, in bytes.
const LONGEST: usize = 1024 * 1024;

/// An object. It may be written in a text: Pando gives metadata so, and some agents arguments.
pub(super) fn object(value: &Value) -> Option<Cow<'_, JsonObject>> {
    match value {
        Value::Object(object) => Some(Cow::Borrowed(object)),
        Value::String(text) if text.len() <= LONGEST => {
            serde_json::from_str(text).ok().map(Cow::Owned)
        }
        _ => None,
    }
}

/// A member that is a text and not blank.
pub(super) fn text<'a>(object: &'a JsonObject, name: &str) -> Option<&'a str> {
    said(object.get(name)?)
}

/// The texts in a list that are not blank.
pub(super) fn texts<'a>(object: &'a JsonObject, name: &str) -> impl Iterator<Item = &'a str> {
    let items = object.get(name).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(said)
}

/// A text that is not blank.
pub(super) fn said(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// How much memory texts take, in bytes, nearly.
pub(super) fn size(texts: &[String]) -> usize {
    size_of_val(texts) + texts.iter().map(String::len).sum::<usize>()
}
