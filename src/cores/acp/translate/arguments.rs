//! The arguments of one call. An ACP `rawInput` is a snapshot: an object goes out once, when it is final;
//! the text of one, as some agents let it grow, goes out as it grows.

use serde::de::IgnoredAny;
use serde_json::{Value, error::Category};

use super::bounds::{digest, size};
use crate::cores::acp::vendors;

/// What is known of a call's arguments, and how much of them was passed on.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    known: Option<Known>,
    /// What was passed on of a growing text.
    sent: String,
    /// What the arguments were when they were closed, or what was told of them since.
    told: Option<u64>,
    /// The arguments that were closed, if they are short enough to be kept for whoever asks about the call.
    closed: Option<(Value, usize)>,
}

/// The longest arguments that are kept after they were closed, in bytes of JSON.
const CLOSED: usize = 64 * 1024;

#[derive(Debug)]
enum Known {
    /// Arguments, and the length of their JSON.
    Value(Value, usize),
    /// The text of arguments or the beginning of one.
    Text(String),
}

impl Arguments {
    /// Takes over a snapshot.
    pub(super) fn take(&mut self, input: &Value) {
        match input {
            Value::Null => {}
            Value::String(text) if is_beginning(text) => {
                self.known = Some(Known::Text(text.clone()));
            }
            value => self.known = Some(Known::Value(value.clone(), size(value))),
        }
    }

    /// Whether they were closed.
    pub(super) fn are_closed(&self) -> bool {
        self.told.is_some()
    }

    /// Whether they are known, as far as they will ever be.
    pub(super) fn are_whole(&self) -> bool {
        self.are_settled(true)
    }

    /// The arguments, as far as they are known.
    pub(super) fn value(&self) -> Option<Value> {
        match &self.known {
            Some(Known::Value(value, _)) if !vendors::is_placeholder(value) => Some(value.clone()),
            Some(Known::Text(text)) => serde_json::from_str(text).ok(),
            _ => self.closed.as_ref().map(|(value, _)| value.clone()),
        }
    }

    /// The arguments, as far as they are known while they are open.
    pub(super) fn open(&self) -> Option<&Value> {
        match &self.known {
            Some(Known::Value(value, _)) if !self.are_closed() => Some(value),
            _ => None,
        }
    }

    /// Whether they are open, and nothing is known but that there are some to come.
    pub(super) fn are_awaited(&self) -> bool {
        !self.are_closed() && self.are_placeholder()
    }

    fn are_placeholder(&self) -> bool {
        match &self.known {
            None => true,
            Some(Known::Value(value, _)) => vendors::is_placeholder(value),
            Some(Known::Text(_)) => false,
        }
    }

    /// Whether they are all there although the call has not ended.
    pub(super) fn are_settled(&self, under_way: bool) -> bool {
        under_way
            && match &self.known {
                Some(Known::Text(text)) => is_whole(text),
                _ => !self.are_placeholder(),
            }
    }

    /// What has come since the last look, if a text grows.
    pub(super) fn growth(&mut self) -> Option<String> {
        let Some(Known::Text(text)) = &self.known else {
            return None;
        };
        let more = text.strip_prefix(self.sent.as_str())?.to_owned();
        self.sent.push_str(&more);
        (!more.is_empty()).then_some(more)
    }

    /// Ends the text: what is still to come of it, and the arguments as they are known. The whole is JSON
    /// in any case: of arguments that are not what had begun only the beginning is written, and
    /// [`Arguments::news`] has the rest.
    pub(super) fn close(&mut self) -> (Option<String>, Option<Value>) {
        let begun = self.growth().unwrap_or_default();
        let sent = std::mem::take(&mut self.sent);
        let known = self.known.take().map(|known| match known {
            Known::Value(value, _) => value,
            Known::Text(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        });
        let (rest, written) = if sent.is_empty() {
            let text = known.as_ref().map(Value::to_string);
            (text.unwrap_or_default(), known.clone())
        } else {
            let ending = ending_of(&sent);
            let whole = format!("{sent}{ending}");
            (
                format!("{begun}{ending}"),
                serde_json::from_str(&whole).ok(),
            )
        };
        self.told = Some(digest(&written));
        self.keep_closed(known.as_ref());
        if written != known {
            self.known = known.clone().map(|value| Known::Value(value, 0));
        }
        ((!rest.is_empty()).then_some(rest), known)
    }

    fn keep_closed(&mut self, value: Option<&Value>) {
        let sized = value.map(|value| (value, size(value)));
        let short = sized.filter(|(_, size)| *size <= CLOSED);
        self.closed = short.map(|(value, size)| (value.clone(), size));
    }

    /// Arguments that differ from what was said of them, after they were closed.
    pub(super) fn news(&mut self) -> Option<Value> {
        let told = self.told?;
        let value = match self.known.take()? {
            Known::Value(value, _) => value,
            Known::Text(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        };
        let now = digest(&Some(&value));
        self.told = Some(now);
        self.keep_closed(Some(&value));
        (now != told && !vendors::is_placeholder(&value)).then_some(value)
    }

    /// Whether the call is made with exactly these.
    pub(super) fn are(&self, input: &Value) -> bool {
        let known = matches!(&self.known, Some(Known::Value(known, _)) if known == input);
        known || self.told == Some(digest(&Some(input)))
    }

    /// How much is kept, in bytes.
    pub(super) fn size(&self) -> usize {
        let known = match &self.known {
            Some(Known::Value(_, size)) => *size,
            Some(Known::Text(text)) => text.len(),
            None => 0,
        };
        known + self.sent.len() + self.closed.as_ref().map_or(0, |(_, size)| *size)
    }

    /// Forgets what was closed.
    pub(super) fn forget(&mut self) {
        self.closed = None;
    }
}

/// Whether a text is the JSON of an object or list, or the beginning of one.
fn is_beginning(text: &str) -> bool {
    let may_go_on = |text: &str| {
        let read = serde_json::from_str::<IgnoredAny>(text);
        read.map_or_else(|error| error.classify() == Category::Eof, |_| true)
    };
    // A number that has only begun is taken for a wrong one.
    text.trim_start().starts_with(['{', '[']) && (may_go_on(text) || may_go_on(&format!("{text}0")))
}

fn is_whole(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// What makes JSON of the beginning of one: the literal, string or member that it stops in, and the
/// brackets that are open.
fn ending_of(text: &str) -> String {
    const MIDDLES: [&str; 19] = [
        "",
        "\"",
        "null",
        "\":null",
        ":null",
        "\"\":null",
        "0",
        "rue",
        "ue",
        "e",
        "alse",
        "lse",
        "se",
        "ull",
        "ll",
        "l",
        "\\\"",
        "\\\":null",
        "]",
    ];
    let (mut brackets, mut in_string, mut escaped) = (Vec::new(), false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' => brackets.push('}'),
            '[' => brackets.push(']'),
            '}' | ']' => drop(brackets.pop()),
            _ => {}
        }
    }
    let closing: String = brackets.iter().rev().collect();
    // An escape by number that was not finished may be any; half of a pair needs its other half.
    let numbers = ["0000", "000", "00", "0", "\\uDC00", "uDC00", "DC00", "C00"];
    let fits = |ending: &String| is_whole(&format!("{text}{ending}"));
    let plain = MIDDLES.iter().map(|middle| format!("{middle}{closing}"));
    let numbered = numbers
        .iter()
        .flat_map(|number| ["\"", "\":null"].map(|rest| format!("{number}{rest}{closing}")));
    plain.chain(numbered).find(fits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_beginning_of_json_can_be_ended() {
        let text = r#" {"pa\"th": "a\\\u00e9\ud83d\ude00b", "n": [-1.5e-3, true, false, null, {}, []], "m": {"k": [{"x": ""}]}} "#;
        assert!(is_whole(text));
        for (end, _) in text.char_indices().skip(2) {
            let beginning = &text[..end];
            assert!(is_beginning(beginning), "{beginning}");
            let whole = format!("{beginning}{}", ending_of(beginning));
            assert!(is_whole(&whole), "{whole}");
        }
    }

    proptest! {
        #[test]
        fn r68_a_growing_text_is_passed_on_as_it_grows(
            members in prop::collection::vec((".{0,6}", ".{0,12}"), 0..6),
            cuts in prop::collection::vec(0..100_usize, 0..6),
        ) {
            let input: Value = Value::Object(
                members.into_iter().map(|(key, value)| (key, value.into())).collect(),
            );
            let text = serde_json::to_string_pretty(&input).unwrap();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| text.floor_char_boundary(text.len() * cut / 100)).collect();
            cuts.sort_unstable();
            let mut arguments = Arguments::default();
            let mut sent = String::new();
            for cut in cuts.into_iter().chain([text.len()]) {
                arguments.take(&json!(text[..cut]));
                sent.extend(arguments.growth());
            }
            // Agents send the arguments themselves in the end.
            arguments.take(&input);
            sent.extend(arguments.close().0);
            prop_assert_eq!(sent, text);
            prop_assert_eq!(arguments.news(), None);
        }
    }

    #[test]
    fn a_snapshot_that_does_not_go_on_from_what_was_sent_is_told_afterwards() {
        let mut arguments = Arguments::default();
        arguments.take(&json!(r#"{"path": "a"#));
        let begun = arguments.growth().unwrap();
        arguments.take(&json!(r#"{"file": "b"}"#));
        assert_eq!(arguments.growth(), None);
        let (rest, known) = arguments.close();
        assert_eq!(begun + &rest.unwrap(), r#"{"path": "a"}"#);
        assert_eq!(known, Some(json!({"file": "b"})));
        assert_eq!(arguments.news(), Some(json!({"file": "b"})));
        assert_eq!(arguments.news(), None);
    }

    #[test]
    fn a_text_that_is_no_json_is_an_argument_of_its_own() {
        let mut arguments = Arguments::default();
        arguments.take(&json!("*** Begin"));
        arguments.take(&json!("*** Begin Patch {"));
        assert_eq!(arguments.growth(), None);
        let (text, _) = arguments.close();
        assert_eq!(text.as_deref(), Some(r#""*** Begin Patch {""#));
    }
}
