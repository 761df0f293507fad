//! What fits into one event. A stock client gives up on a frame of 10 MiB, and JSON can make a text six
//! times as long, so texts are kept to a mebibyte an event.

use std::borrow::Cow;

use crate::protocol::{Content, TokenUsage};

/// The longest text in one event, in bytes.
pub(super) const TEXT: usize = 1024 * 1024;
/// The longest name, in bytes.
pub(super) const NAME: usize = 256;
/// The longest sentence for people, in bytes.
pub(super) const MESSAGE: usize = 4 * 1024;
/// How much of what a run says is kept for its transcript, in bytes.
pub(super) const RECORD: usize = 8 * 1024 * 1024;
/// How many models' tokens are counted apart in one run.
pub(super) const USAGES: usize = 64;

/// A text in pieces that fit into one event each. An empty text has none.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, left) = rest.split_at(rest.floor_char_boundary(TEXT));
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The beginning of a text, as far as it fits.
pub(super) fn clip(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The counts of one model, under names that fit.
pub(super) fn usage(spent: &TokenUsage) -> TokenUsage {
    let fit = |name: &Option<String>| name.as_deref().map(|name| clip(name, NAME).to_owned());
    TokenUsage {
        provider: fit(&spent.provider),
        model: fit(&spent.model),
        ..spent.clone()
    }
}

/// A result that fits into one event, and whether something was cut off.
pub(super) fn content(content: Content) -> (Content, bool) {
    let text = match &content {
        Content::Text(text) if text.len() > TEXT => Cow::Borrowed(text.as_str()),
        Content::Parts(parts)
            if serde_json::to_string(parts).is_ok_and(|json| json.len() > TEXT) =>
        {
            Cow::Owned(content.text())
        }
        _ => return (content, false),
    };
    (Content::Text(clip(&text, TEXT).into()), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Part;

    #[test]
    fn a_long_text_comes_in_pieces_that_end_between_characters() {
        let text = format!("a{}", "é".repeat(TEXT));
        let all: Vec<_> = pieces(&text).collect();
        assert!(all.len() == 3 && all.iter().all(|piece| piece.len() <= TEXT));
        assert_eq!(all.concat(), text);
        assert_eq!(pieces("").count(), 0);
    }

    #[test]
    fn a_result_that_does_not_fit_is_cut_and_says_so() {
        let short = Content::Text("x".into());
        assert_eq!(content(short.clone()), (short, false));
        for long in [
            Content::Text("x".repeat(TEXT + 1)),
            Content::Parts(vec![Part::text("x".repeat(TEXT + 1))]),
        ] {
            let (fits, cut) = content(long);
            assert!(cut && fits.text().len() == TEXT);
        }
    }
}
