//! One event to one SSE frame: a bare `data:` line of compact JSON and a blank line, LF only.
//!
//! Crates weighed: `sse-stream` and axum's `Sse` build a frame from fields and split lines; a compact
//! JSON object has no newline, so a frame is one write. What is ours is the escaping: U+0085, U+2028
//! and U+2029 are line ends to some readers, so they leave as `\u` escapes (AG-UI 1.0, HTTP binding).

use std::io;

use bytes::{BufMut, BytesMut};
use serde::{Serialize, Serializer as _};
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::Event;

/// A comment that no client sees as an event.
pub const HEARTBEAT: &[u8] = b": keep-alive\n\n";

/// A frame must stay well below this: a stock client fails on 10 MiB without a frame's end.
pub const MAX_FRAME: usize = 8 * 1024 * 1024;

/// Appends the event's frame to `out`.
pub fn encode(event: &Event, out: &mut BytesMut) {
    out.extend_from_slice(b"data: ");
    let mut serializer = Serializer::with_formatter(out.writer(), LineSafe);
    event
        .serialize(&mut serializer)
        .expect("an event has string keys and is written to memory");
    out.extend_from_slice(b"\n\n");
}

/// How long a value is in a frame, in bytes.
pub fn size(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut serializer = Serializer::with_formatter(Counter(0), LineSafe);
    value
        .serialize(&mut serializer)
        .expect("a value has string keys, and counting never fails");
    serializer.into_inner().0
}

/// The frames of deltas that follow one another: they differ in nothing but the delta, so what stands
/// around it is encoded once. Deltas are nearly all that a long stream has, and most of a frame is what
/// does not change.
#[derive(Debug)]
pub struct DeltaFrames {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl DeltaFrames {
    /// Takes an event whose `delta` is an empty text as the pattern; nothing if it has no such member.
    pub fn of(event: &Event) -> Option<Self> {
        const EMPTY: &[u8] = br#""delta":"""#;
        let mut frame = BytesMut::new();
        encode(event, &mut frame);
        // Within a text the quotes would be escaped, so what is found is the member.
        let found = frame
            .windows(EMPTY.len())
            .position(|window| window == EMPTY)?;
        let end = found + EMPTY.len();
        Some(Self {
            before: frame[..end - 2].to_vec(),
            after: frame[end..].to_vec(),
        })
    }

    /// Appends the frame of the pattern with this delta to `out`.
    pub fn encode(&self, delta: &str, out: &mut BytesMut) {
        out.reserve(self.before.len() + delta.len() + 2 + self.after.len());
        out.extend_from_slice(&self.before);
        if delta.bytes().all(is_plain) {
            out.put_u8(b'"');
            out.extend_from_slice(delta.as_bytes());
            out.put_u8(b'"');
        } else {
            Serializer::with_formatter(out.writer(), LineSafe)
                .serialize_str(delta)
                .expect("a text is written to memory");
        }
        out.extend_from_slice(&self.after);
    }
}

/// Whether a byte of a text stands in JSON as it is, and ends no line for anybody.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\'
}

/// Compact JSON without any character that a line reader could take for a line's end.
struct LineSafe;

impl Formatter for LineSafe {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        if fragment.is_ascii() {
            return writer.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(['\u{85}', '\u{2028}', '\u{2029}']) {
            let (before, found) = rest.split_at(at);
            let mut found = found.chars();
            writer.write_all(before.as_bytes())?;
            if let Some(end) = found.next() {
                write!(writer, "\\u{:04x}", u32::from(end))?;
            }
            rest = found.as_str();
        }
        CompactFormatter.write_string_fragment(writer, rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::protocol::{Body, MessageId};

    fn frame(delta: &str) -> String {
        let mut out = BytesMut::new();
        let message_id = MessageId::new("m").unwrap();
        encode(
            &Event::at(
                7,
                Body::TextMessageContent {
                    message_id,
                    delta: delta.into(),
                },
            ),
            &mut out,
        );
        String::from_utf8(out.to_vec()).unwrap()
    }

    #[test]
    fn a_frame_is_one_data_line_and_a_blank_line() {
        assert_eq!(
            frame("hi\r\n\"you\""),
            "data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"hi\\r\\n\\\"you\\\"\",\"timestamp\":7}\n\n"
        );
    }

    #[test]
    fn a_value_is_as_long_as_it_is_in_a_frame() {
        for text in ["", "a\"\n", "\u{85}\u{2028}", "é😀"] {
            let event = Event::from(Body::Custom {
                name: "a".into(),
                value: text.into(),
            });
            let mut out = BytesMut::new();
            encode(&event, &mut out);
            assert_eq!(size(&event), out.len() - "data: \n\n".len(), "{text:?}");
        }
    }

    #[test]
    fn what_some_readers_take_for_a_line_end_is_escaped_and_reads_back() {
        let text = "a\u{85}b\u{2028}c\u{2029}dé😀";
        let frame = frame(text);
        assert!(
            !frame.contains(['\u{85}', '\u{2028}', '\u{2029}']),
            "{frame}"
        );
        let json = frame.trim_start_matches("data: ").trim_end();
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(value["delta"], text);
    }

    proptest! {
        #[test]
        fn a_delta_frame_is_the_frame_of_its_event(id in "\\PC{1,20}", delta in any::<String>()) {
            let text = |delta: &str| Body::TextMessageContent {
                message_id: MessageId::new(format!("\"delta\":\"\"{id}")).unwrap(),
                delta: delta.into(),
            };
            let (mut whole, mut quick) = (BytesMut::new(), BytesMut::new());
            encode(&Event::at(7, text(&delta)), &mut whole);
            let frames = DeltaFrames::of(&Event::at(7, text(""))).unwrap();
            frames.encode(&delta, &mut quick);
            prop_assert_eq!(whole, quick);
        }
    }

    #[test]
    fn an_event_without_a_delta_is_no_pattern() {
        let body = Body::TextMessageEnd {
            message_id: MessageId::new("\"delta\":\"\"").unwrap(),
        };
        assert!(DeltaFrames::of(&body.into()).is_none());
    }
}
