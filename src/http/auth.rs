//! Who may call: the token, and the principal that it stands for (RFC 6750, section 2.1).

use std::fmt;

use http::{HeaderMap, header::AUTHORIZATION};
use subtle::ConstantTimeEq;

use super::problem::Problem;
use crate::deps::Principal;

/// Who may call. There is no state in which a token is asked for and none is known.
#[derive(Debug, Clone)]
pub enum Access {
    /// Whoever shows the token.
    Token(Secret),
    /// Whoever reaches the socket.
    Anyone,
}

impl Access {
    /// Says who calls.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        match self {
            Self::Anyone => Ok(Principal::local()),
            Self::Token(secret) => {
                let shown = bearer(headers).ok_or(Problem::Unauthorized)?;
                if secret.matches(shown) {
                    Ok(Principal::local())
                } else {
                    Err(Problem::Unauthorized)
                }
            }
        }
    }
}

/// The one bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.as_bytes();
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

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
    fn matches(&self, shown: &[u8]) -> bool {
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
    use http::HeaderValue;

    use super::*;

    fn judge(values: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        let access = Access::Token(Secret::new("s3cret").unwrap());
        access.principal(&headers).is_ok()
    }

    #[test]
    fn r14_only_the_one_right_bearer_token_is_let_in() {
        for good in ["Bearer s3cret", "bearer s3cret", "BEARER   s3cret"] {
            assert!(judge(&[good]), "{good}");
        }
        for bad in [
            "",
            "s3cret",
            "Bearer",
            "Bearer ",
            "Bearer s3cre",
            "Bearer s3cret2",
            "Basic s3cret",
        ] {
            assert!(!judge(&[bad]), "{bad}");
        }
        assert!(!judge(&[]));
        assert!(!judge(&["Bearer s3cret", "Bearer s3cret"]));
    }

    #[test]
    fn a_secret_does_not_print_and_is_never_empty() {
        let secret = Secret::new("s3cret").unwrap();
        assert!(!format!("{secret:?} {:?}", Access::Token(secret.clone())).contains("s3cret"));
        for bad in ["", "a b", "a\nb", "ü"] {
            assert_eq!(Secret::new(bad).err(), Some(BadSecret), "{bad:?}");
        }
    }
}
