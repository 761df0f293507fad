//! A token in clear text: what a client shows, and what one place stores or shows once.

use std::fmt;

use subtle::ConstantTimeEq;

/// A token. It never prints, and comparing it takes the same time wherever it differs.
#[derive(Clone)]
pub struct Secret(Box<str>);

/// Why a text cannot be a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a token is 1 to 4096 visible ASCII characters without spaces")]
pub struct BadSecret;

impl Secret {
    /// Takes over a token after checking that a client can send it in a header.
    ///
    /// # Errors
    /// The text is empty, very long, or holds a character that does not fit.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, BadSecret> {
        let text = text.into();
        let fits = (1..=4096).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then_some(Self(text)).ok_or(BadSecret)
    }

    /// The token itself, for the one place that shows or stores it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in constant time; only the length can be learned.
    pub(super) fn matches(&self, shown: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(shown).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_and_is_never_empty() {
        let secret = Secret::new("s3cret").unwrap();
        assert!(!format!("{secret:?}").contains("s3cret"));
        for bad in ["", "a b", "a\nb", "ü"] {
            assert_eq!(Secret::new(bad).err(), Some(BadSecret), "{bad:?}");
        }
    }
}
