//! How single values are written: durations, sizes and lists of words.
//!
//! Durations are read by `humantime`. Sizes are read here: `bytesize` was weighed, but it prints
//! rounded values that do not read back, and it takes fractions of a byte.

use std::{fmt, str::FromStr, time::Duration};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

/// The word for a duration without an end.
const FOREVER: &str = "forever";

/// The longest duration. What lies further ahead than a clock counts would break whoever waits for it.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

/// A length of time: `"30s"`, `"10m"`, `"0s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

/// A length of time, or `"forever"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline(pub(super) Option<Duration>);

/// A number of bytes: `"32MiB"`, `"64KiB"`, or a plain integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) usize);

/// Several words: an array, or one text with commas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Words(pub(super) Vec<String>);

fn duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text)
        .ok()
        .filter(|span| *span <= LONGEST)
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        duration(text).map(Self).ok_or_else(|| {
            format!("\"{text}\" is no duration of up to a century, such as \"30s\" or \"10m\"")
        })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl FromStr for Deadline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == FOREVER {
            return Ok(Self(None));
        }
        duration(text).map(|span| Self(Some(span))).ok_or_else(|| {
            format!(
                "\"{text}\" is no duration of up to a century, such as \"30s\" or \"{FOREVER}\""
            )
        })
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(span) => Span(span).fmt(f),
            None => f.write_str(FOREVER),
        }
    }
}

impl Size {
    /// Suffixes and what they stand for, the largest first.
    const UNITS: [(&str, usize); 4] = [
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
        ("B", 1),
    ];
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, factor) = Self::UNITS
            .iter()
            .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
            .unwrap_or((text, 1));
        digits
            .trim()
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .map(Self)
            .ok_or_else(|| format!("\"{text}\" is no size, such as \"32MiB\" or 65536"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |factor: usize| self.0 >= factor && self.0.is_multiple_of(factor);
        match Self::UNITS.iter().find(|(_, factor)| whole(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

/// Reads what is written as text, and sizes also as integers.
struct Scalar<T> {
    expecting: &'static str,
    whole: fn(u64) -> Option<T>,
}

impl<T: FromStr<Err = String>> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.whole)(number).ok_or_else(|| E::invalid_type(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
        }
    }
}

macro_rules! scalar {
    ($type:ty, $expecting:literal, $whole:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(Scalar {
                    expecting: $expecting,
                    whole: $whole,
                })
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
    };
}

scalar!(Span, "a duration with its unit, such as \"30s\"", |_| None);
scalar!(
    Deadline,
    "a duration with its unit, such as \"30s\", or \"forever\"",
    |_| None
);
scalar!(Size, "a size, such as \"32MiB\" or 65536", |number| {
    usize::try_from(number).ok().map(Size)
});

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of texts, or one text with commas")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Words, E> {
                let words = text.split(',').map(str::trim);
                Ok(Words(
                    words
                        .filter(|word| !word.is_empty())
                        .map(str::to_owned)
                        .collect(),
                ))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = seq.next_element()? {
                    words.push(word);
                }
                Ok(Words(words))
            }
        }

        from.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit() {
        for (text, seconds) in [("30s", 30), ("10m", 600), ("0s", 0), ("1h 30m", 5400)] {
            assert_eq!(
                text.parse::<Span>(),
                Ok(Span(Duration::from_secs(seconds))),
                "{text}"
            );
        }
        for text in [
            "",
            "30",
            "-1s",
            "soon",
            "forever",
            "101y",
            "18446744073709551615s",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_a_deadline_may_be_forever() {
        assert_eq!("forever".parse(), Ok(Deadline(None)));
        assert_eq!("2s".parse(), Ok(Deadline(Some(Duration::from_secs(2)))));
        for text in ["never", "101y", "18446744073709551615s"] {
            assert!(text.parse::<Deadline>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_read_and_written_in_the_same_words() {
        for (text, bytes) in [
            ("32MiB", 32 << 20),
            ("64KiB", 65536),
            ("7B", 7),
            ("2GiB", 2 << 30),
            ("0B", 0),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)));
            assert_eq!(Size(bytes).to_string(), text);
        }
        assert_eq!("65537".parse(), Ok(Size(65537)));
        for text in ["", "MiB", "-1", "1.5MiB", "32MB", "99999999999999999999GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
