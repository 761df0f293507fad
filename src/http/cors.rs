//! The Origin guard and what an allowed page is told (Fetch standard, CORS protocol).
//!
//! A request without `Origin` comes from no browser and is the token's business. One with it has to be
//! listed, whole; otherwise it is refused rather than answered without headers, since a page that cannot
//! read an answer has still started a run.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ORIGIN, VARY,
    },
};

use super::problem::Problem;

const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");
const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");

/// How many header names a preflight may ask for.
const MAX_ASKED: usize = 64;

/// A page that may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(Rule);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    Any,
    Exact(String),
}

/// Why a text cannot be an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an origin is `scheme://host` or `scheme://host:port` without a slash at the end, or `*`")]
pub struct BadOrigin;

impl Origin {
    /// Takes over an origin as browsers send it, or `*` for every page there is.
    ///
    /// # Errors
    /// The text is no origin; `null` is none, since every sandboxed page has it.
    pub fn new(text: &str) -> Result<Self, BadOrigin> {
        if text == "*" {
            return Ok(Self(Rule::Any));
        }
        let (scheme, host) = text.split_once("://").ok_or(BadOrigin)?;
        let scheme_fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
        let host_fits = !host.is_empty()
            && host.bytes().all(|b| {
                b.is_ascii_graphic() && !matches!(b, b'/' | b'?' | b'#' | b'@' | b',' | b'*')
            });
        if !scheme_fits || !host_fits {
            return Err(BadOrigin);
        }
        Ok(Self(Rule::Exact(text.to_ascii_lowercase())))
    }
}

/// What lets an allowed page read an answer.
#[derive(Debug, Clone)]
pub(super) struct Grant(HeaderValue);

/// Judges a request's `Origin`. `None` is a request that no page made.
pub(super) fn check(allowed: &[Origin], headers: &HeaderMap) -> Result<Option<Grant>, Problem> {
    let mut values = headers.get_all(ORIGIN).iter();
    let Some(origin) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Problem::ForeignOrigin);
    }
    let exact = |own: &Origin| matches!(&own.0, Rule::Exact(text) if text.as_bytes().eq_ignore_ascii_case(origin.as_bytes()));
    if allowed.iter().any(exact) {
        Ok(Some(Grant(origin.clone())))
    } else if allowed.contains(&Origin(Rule::Any)) {
        Ok(Some(Grant(HeaderValue::from_static("*"))))
    } else {
        Err(Problem::ForeignOrigin)
    }
}

impl Grant {
    /// Adds what every answer to the page carries.
    pub(super) fn mark(self, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.0);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("retry-after"),
        );
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}

/// Answers a preflight: the route's methods, and the headers that the page asks for, since pages add
/// their own and the token guards what they do.
pub(super) fn preflight(asked: &HeaderMap, methods: &'static str, answer: &mut HeaderMap) {
    answer.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static(methods),
    );
    answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(names) = names(asked) {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, names);
    }
    if asked
        .get(REQUEST_PRIVATE_NETWORK)
        .is_some_and(|value| value == "true")
    {
        answer.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
}

/// The header names that are asked for, as far as they are names.
fn names(asked: &HeaderMap) -> Option<HeaderValue> {
    let list: Vec<&str> = asked
        .get_all(ACCESS_CONTROL_REQUEST_HEADERS)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|name| HeaderName::from_bytes(name.as_bytes()).is_ok())
        .take(MAX_ASKED)
        .collect();
    if list.is_empty() {
        return None;
    }
    HeaderValue::from_str(&list.join(", ")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(allowed: &[&str], origins: &[&'static str]) -> Result<Option<String>, u16> {
        let allowed: Vec<_> = allowed.iter().map(|o| Origin::new(o).unwrap()).collect();
        let mut headers = HeaderMap::new();
        for origin in origins {
            headers.append(ORIGIN, HeaderValue::from_static(origin));
        }
        check(&allowed, &headers)
            .map(|grant| grant.map(|Grant(value)| value.to_str().unwrap().to_owned()))
            .map_err(|problem| problem.status().as_u16())
    }

    /// Requirements 11, 12 and 13.
    #[test]
    fn an_origin_is_listed_whole_or_refused() {
        let page = "https://app.example:8443";
        let echoed = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(judge(&[], &[page]), Err(403));
        assert_eq!(judge(&[], &[]), Ok(None));
        assert_eq!(judge(&[page], &[]), Ok(None));
        assert_eq!(judge(&[page], &[page]), echoed(page));
        assert_eq!(judge(&["HTTPS://App.Example:8443"], &[page]), echoed(page));
        assert_eq!(
            judge(&[page], &["https://APP.example:8443"]),
            echoed("https://APP.example:8443")
        );
        for foreign in [
            "https://app.example",
            "https://app.example:84430",
            "http://app.example:8443",
            "null",
            "",
            "https://evil.example,https://app.example:8443",
        ] {
            assert_eq!(judge(&[page], &[foreign]), Err(403), "{foreign}");
        }
        assert_eq!(judge(&[page], &[page, page]), Err(403));
        assert_eq!(judge(&["*"], &[page]), echoed("*"));
        assert_eq!(judge(&["*", page], &[page]), echoed(page));
    }

    #[test]
    fn only_a_whole_origin_can_be_configured() {
        for bad in [
            "",
            "null",
            "app.example",
            "https://",
            "https://app.example/",
            "https://*.app.example",
            "https://u@app.example",
            "://x",
        ] {
            assert_eq!(Origin::new(bad), Err(BadOrigin), "{bad}");
        }
    }

    #[test]
    fn report_r77_a_preflight_allows_exactly_the_header_names_that_it_asks_for() {
        let ask = |value: &'static str| {
            let mut asked = HeaderMap::new();
            asked.insert(
                ACCESS_CONTROL_REQUEST_HEADERS,
                HeaderValue::from_static(value),
            );
            names(&asked).map(|names| names.to_str().unwrap().to_owned())
        };
        assert_eq!(
            ask("authorization, x-Copilotcloud-Key").as_deref(),
            Some("authorization, x-Copilotcloud-Key")
        );
        assert_eq!(ask("a b, x-ok, (, ").as_deref(), Some("x-ok"));
        assert_eq!(ask(""), None);
    }
}
