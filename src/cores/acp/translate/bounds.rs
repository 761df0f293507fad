//! How much of what an agent says goes into one notice, and how much of it is kept. A stock client gives
//! up on a frame of 10 MiB, and the engine lets a mebibyte of JSON through; what is cut says so.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io,
};

use serde_json::Value;

/// The longest notice, in bytes of its JSON.
pub(super) const NOTICE: usize = 512 * 1024;
/// The longest text that is kept of a call's result, in bytes. A little more than the engine lets
/// through, so that it marks the result as cut.
pub(super) const TEXT: usize = 1024 * 1024 + 4;
/// The longest text about a sub-agent, in bytes.
pub(super) const ABOUT: usize = 4 * 1024;
/// The longest name, path or title, in bytes.
pub(in crate::cores::acp) const NAME: usize = 1024;

/// How long the value is as JSON, in bytes.
pub(in crate::cores::acp) fn size(value: &Value) -> usize {
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
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).expect("a value is JSON, and counting never fails");
    counter.0
}

/// Tells values apart without keeping them. The order of members makes no difference.
pub(super) fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The beginning of a text, as far as it fits into so many bytes.
pub(in crate::cores::acp) fn clip(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The beginning of a text, as far as it fits into so many bytes of JSON.
pub(super) fn clip_json(text: &str, most: usize) -> &str {
    let mut left = most;
    let end = text.char_indices().find(|(_, c)| {
        let cost = match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => 6,
            c => c.len_utf8(),
        };
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        !fits
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// The value if it fits into a notice. Else its long texts and lists are cut, and if it is an object it
/// says so: `truncated`, and in `bytes` how long it was.
pub(super) fn fit(value: Value) -> Value {
    let whole = size(&value);
    if whole <= NOTICE {
        return value;
    }
    let mut value = cut(value, NOTICE - 64);
    if let Value::Object(members) = &mut value {
        members.insert("truncated".into(), true.into());
        members.insert("bytes".into(), whole.into());
    }
    value
}

fn cut(value: Value, most: usize) -> Value {
    match value {
        Value::String(text) => clip_json(&text, most.saturating_sub(2)).into(),
        Value::Array(items) => {
            let mut left = most.saturating_sub(2);
            let mut kept = Vec::new();
            for item in items {
                let item = cut(item, left.saturating_sub(1));
                let cost = size(&item) + 1;
                if cost > left {
                    break;
                }
                left -= cost;
                kept.push(item);
            }
            kept.into()
        }
        Value::Object(members) => cut_members(members, most.saturating_sub(2)).into(),
        other => other,
    }
}

/// Short members stay whole; the long ones share what is left.
fn cut_members(
    members: serde_json::Map<String, Value>,
    most: usize,
) -> serde_json::Map<String, Value> {
    let fair = most / members.len().max(1);
    let cost = |key: &str, value: &Value| key.len() * 6 + 4 + size(value);
    let short =
        |(key, value): (&String, &Value)| Some(cost(key, value)).filter(|cost| *cost <= fair);
    let all_short: usize = members.iter().filter_map(short).sum();
    let long = members
        .iter()
        .filter(|member| short(*member).is_none())
        .count();
    let share = most.saturating_sub(all_short) / long.max(1);
    let mut kept = serde_json::Map::new();
    for (key, value) in members {
        if short((&key, &value)).is_some() {
            kept.insert(key, value);
        } else if let Some(room) = share.checked_sub(key.len() * 6 + 4) {
            let value = cut(value, room);
            if size(&value) <= room {
                kept.insert(key, value);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_is_cut_and_says_so() {
        let fitting = json!({"a": "x".repeat(1000), "b": [1, {"c": null}]});
        assert_eq!(fit(fitting.clone()), fitting);
        let quotes = "\"\u{1}é".repeat(NOTICE / 4);
        for long in [
            json!({"kind": "k", "text": quotes, "more": quotes}),
            json!({"kind": "k", "list": vec![json!({"text": "x".repeat(100)}); 10_000]}),
            json!({"kind": "k", "deep": {"deeper": [{"text": quotes}]}}),
            Value::Object((0..50_000).map(|n| (format!("{n:09}"), json!(n))).collect()),
        ] {
            let whole = size(&long);
            let value = fit(long);
            assert!(size(&value) <= NOTICE, "{}", size(&value));
            assert_eq!(value["truncated"], true);
            assert_eq!(value["bytes"], whole);
            if !value["kind"].is_null() {
                assert_eq!(value["kind"], "k");
                assert!(size(&value) > NOTICE / 2);
            }
        }
    }

    #[test]
    fn the_order_of_members_makes_no_difference() {
        let of = |text: &str| digest(&serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(
            of(r#"{"a":1,"b":{"c":2,"d":3}}"#),
            of(r#"{"b":{"d":3,"c":2},"a":1}"#)
        );
        assert_ne!(of(r#"{"a":1}"#), of(r#"{"a":2}"#));
    }
}
