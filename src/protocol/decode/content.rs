//! Reads content: a text or parts, those of 1.0 and the two shapes that came before them.

use serde_json::Value;

use super::{
    reader::{Members, Read, Reader},
    value::{any, list, object, text},
};
use crate::protocol::{Content, JsonObject, Part, PartKind, Source};

pub(super) fn content(value: Value, reader: &mut Reader) -> Read<Content> {
    match value {
        Value::String(text) => Ok(Content::Text(text)),
        parts @ Value::Array(_) => list(part)(parts, reader).map(Content::Parts),
        _ => Err(reader.invalid("must be a string or an array of parts")),
    }
}

/// `None` for a part that is left out: of an unknown type, of an unknown source, or not convertible.
fn part(value: Value, reader: &mut Reader) -> Read<Option<Part>> {
    let mut members = Members::of(value, reader)?;
    let name = members.required("type", reader, text)?;
    let kind = match (name.as_str(), media(&name)) {
        ("text", _) => Some(PartKind::Text {
            text: members.required("text", reader, text)?,
        }),
        ("binary", _) => return binary(members, reader),
        (_, Some(media)) => media_source(&mut members, reader)?.map(media),
        _ => {
            reader.warn("part of an unknown type left out");
            None
        }
    };
    let Some(kind) = kind else { return Ok(None) };
    let part = Part {
        kind,
        id: members.optional("id", reader, text)?,
        metadata: members.optional("metadata", reader, any)?,
    };
    members.ignore_rest(reader);
    Ok(Some(part))
}

/// What makes the part of this type out of its source.
fn media(name: &str) -> Option<fn(Source) -> PartKind> {
    match name {
        "image" => Some(|source| PartKind::Image { source }),
        "audio" => Some(|source| PartKind::Audio { source }),
        "video" => Some(|source| PartKind::Video { source }),
        "document" => Some(|source| PartKind::Document { source }),
        _ => None,
    }
}

/// The source of a media part, which before `source` existed stood flat beside the type.
fn media_source(members: &mut Members, reader: &mut Reader) -> Read<Option<Source>> {
    if let Some(source) = members.optional("source", reader, source)? {
        return Ok(source);
    }
    let Flat { data, url, mime } = Flat::read(members, reader)?;
    let source = match (data, url, mime) {
        (Some(value), _, Some(mime_type)) => Source::Data { value, mime_type },
        (Some(_), _, None) => return members.required("mimeType", reader, text).map(|_| None),
        (None, Some(value), mime_type) => Source::Url { value, mime_type },
        (None, None, _) => return members.required("source", reader, source),
    };
    reader.warn("flat media part read as one with a source");
    Ok(Some(source))
}

/// `None` for a type of source that the protocol does not know.
fn source(value: Value, reader: &mut Reader) -> Read<Option<Source>> {
    let mut members = Members::of(value, reader)?;
    let source = match members.required("type", reader, text)?.as_str() {
        "data" => Source::Data {
            value: members.required("value", reader, text)?,
            mime_type: members.required("mimeType", reader, text)?,
        },
        "url" => Source::Url {
            value: members.required("value", reader, text)?,
            mime_type: members.optional("mimeType", reader, text)?,
        },
        "file" => Source::File {
            value: members.required("value", reader, text)?,
            provider: members.optional("provider", reader, text)?,
            mime_type: members.optional("mimeType", reader, text)?,
        },
        _ => {
            reader.warn("part with a source of an unknown type left out");
            return Ok(None);
        }
    };
    members.ignore_rest(reader);
    Ok(Some(source))
}

/// The `binary` part of clients before 1.0, read as the stock 1.0 client reads it.
fn binary(mut members: Members, reader: &mut Reader) -> Read<Option<Part>> {
    let Flat { data, url, mime } = Flat::read(&mut members, reader)?;
    let file_name = members.optional("filename", reader, text)?;
    let metadata = members.optional("metadata", reader, object)?;
    // The id of such a part is a handle at some provider, no id of a part.
    members.optional("id", reader, text)?;
    members.ignore_rest(reader);
    let Some(mime_type) = mime else {
        reader.warn("binary part without a media type left out");
        return Ok(None);
    };
    let top_level = mime_type.split('/').next().unwrap_or_default();
    let media =
        media(&top_level.to_ascii_lowercase()).unwrap_or(|source| PartKind::Document { source });
    let source = match (data, url) {
        (Some(value), _) => Source::Data { value, mime_type },
        (None, Some(value)) => Source::Url {
            value,
            mime_type: Some(mime_type),
        },
        (None, None) => {
            reader.warn("binary part with neither data nor url left out");
            return Ok(None);
        }
    };
    reader.warn("legacy binary part upgraded");
    Ok(Some(Part {
        kind: media(source),
        id: None,
        metadata: with_file_name(metadata, file_name).map(Value::Object),
    }))
}

fn with_file_name(metadata: Option<JsonObject>, file_name: Option<String>) -> Option<JsonObject> {
    let Some(file_name) = file_name else {
        return metadata;
    };
    let mut metadata = metadata.unwrap_or_default();
    metadata.insert("filename".to_owned(), Value::String(file_name));
    Some(metadata)
}

/// Where the bytes are, in the words of the older shapes.
struct Flat {
    data: Option<String>,
    url: Option<String>,
    mime: Option<String>,
}

impl Flat {
    fn read(members: &mut Members, reader: &mut Reader) -> Read<Self> {
        Ok(Self {
            data: members.optional("data", reader, text)?,
            url: members.optional("url", reader, text)?,
            mime: members.optional("mimeType", reader, text)?,
        })
    }
}
