//! Halves of characters: JavaScript cuts a text inside an emoji and writes `"\ud83d"`, which JSON's
//! grammar allows (RFC 8259, section 8.2) and no Rust string can hold. A page sends its whole history
//! with every run, so one such text must not lock the thread.

/// The body with `\ufffd` in place of every lone half, or nothing if there is none.
pub(super) fn mended(body: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    // In JSON a backslash stands in strings only.
    while let Some(found) = body.get(at..)?.iter().position(|byte| *byte == b'\\') {
        at += found;
        at += match (code_unit(body, at), code_unit(body, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                let digits = at + 2..at + 6;
                mended.get_or_insert_with(|| body.to_vec())[digits].copy_from_slice(b"fffd");
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        at = at.min(body.len());
    }
    mended
}

/// The number of the `\uXXXX` escape that begins here.
fn code_unit(body: &[u8], at: usize) -> Option<u16> {
    let digits = body.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number * 16 + u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_halves_are_replaced() {
        for (given, expected) in [
            (r#""plain \\ \n \u0041""#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\uDE00 x""#, Some(r#""\ufffd x""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83d\n\\\ude00""#, Some(r#""\ufffd\n\\\ufffd""#)),
            (r"\", None),
            (r"\ud83", None),
            (r"\ud83d", Some(r"\ufffd")),
        ] {
            let mended = mended(given.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(mended.as_deref(), expected, "{given}");
        }
    }
}
