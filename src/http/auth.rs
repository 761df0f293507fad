//! Who may call: the token, and the principal that it stands for (RFC 6750, section 2.1).

use http::{HeaderMap, header::AUTHORIZATION};

use super::{Secret, Tokens, problem::Problem};
use crate::deps::Principal;

/// Who may call. There is no state in which a token is asked for and none is known.
#[derive(Debug, Clone)]
pub enum Access {
    /// Whoever shows the token: the one principal that there is.
    Token(Secret),
    /// Whoever shows one of these: the principal that it stands for.
    Tokens(Tokens),
    /// Whoever reaches the socket.
    Anyone,
}

impl Access {
    /// Says who calls.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Problem> {
        let known = match self {
            Self::Anyone => Some(Principal::local()),
            Self::Token(secret) => bearer(headers)
                .filter(|shown| secret.matches(shown))
                .map(|_| Principal::local()),
            Self::Tokens(tokens) => bearer(headers).and_then(|shown| tokens.whose(shown).cloned()),
        };
        known.ok_or(Problem::Unauthorized)
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

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::http::Digest;

    /// Who is let in with these headers where one token is known, and where two are.
    fn judge(values: &[&'static str]) -> [Option<String>; 2] {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_static(value));
        }
        let secret = Secret::new("s3cret").unwrap();
        let known = ["s3cret", "other"].map(|token| {
            let principal = Principal::new(&format!("who-has-{token}")).unwrap();
            (principal, Digest::of(&Secret::new(token).unwrap()))
        });
        let tokens = Tokens::new(known).unwrap();
        [Access::Token(secret), Access::Tokens(tokens)].map(|access| {
            let principal = access.principal(&headers).ok()?;
            Some(principal.as_str().to_owned())
        })
    }

    #[test]
    fn r14_only_the_one_right_bearer_token_is_let_in() {
        for good in ["Bearer s3cret", "bearer s3cret", "BEARER   s3cret"] {
            let who = ["local", "who-has-s3cret"].map(|name| Some(name.to_owned()));
            assert_eq!(judge(&[good]), who, "{good}");
        }
        assert_eq!(
            judge(&["Bearer other"]),
            [None, Some("who-has-other".into())]
        );
        for bad in [
            "",
            "s3cret",
            "Bearer",
            "Bearer ",
            "Bearer s3cre",
            "Bearer s3cret2",
            "Basic s3cret",
        ] {
            assert_eq!(judge(&[bad]), [None, None], "{bad}");
        }
        assert_eq!(judge(&[]), [None, None]);
        assert_eq!(judge(&["Bearer s3cret", "Bearer s3cret"]), [None, None]);
    }

    #[test]
    fn who_may_call_prints_no_token() {
        let access = Access::Token(Secret::new("s3cret").unwrap());
        assert!(!format!("{access:?}").contains("s3cret"));
    }
}
