//! Who is let in. Decides from the head of a request alone.
//!
//! The listener is for agents on this machine, never for a page: a page is told by its `Origin`, one that has made
//! a name of its own point here by its `Host`.

use http::{HeaderMap, Method, Request, header};

use super::refusal::Refusal;

/// Where the tools are.
pub(super) const PATH: &str = "/mcp";

/// The longest body that is read, in bytes.
pub(super) const LONGEST_BODY: usize = 4 * 1024 * 1024;

/// Takes the secret out of a request that may show one.
pub(super) fn secret_of<B>(request: &Request<B>, port: u16) -> Result<&str, Refusal> {
    let headers = request.headers();
    let host = request.uri().authority().map(http::uri::Authority::as_str);
    if !is_here(headers, host, port) {
        return Err(Refusal::Host);
    }
    if headers.contains_key(header::ORIGIN) {
        return Err(Refusal::Origin);
    }
    if request.uri().path() != PATH {
        return Err(Refusal::Path);
    }
    if !matches!(
        *request.method(),
        Method::DELETE | Method::GET | Method::POST
    ) {
        return Err(Refusal::Method);
    }
    let secret = bearer(headers).ok_or(Refusal::Secret)?;
    if length(headers).is_some_and(|length| length > LONGEST_BODY as u64) {
        return Err(Refusal::TooLong);
    }
    Ok(secret)
}

/// Whether whoever the request was meant for is this listener. There is exactly one `Host` (RFC 9112 section 3.2).
fn is_here(headers: &HeaderMap, authority: Option<&str>, port: u16) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let is_ours = |host: &str| {
        let parts = host.rsplit_once(':');
        parts.is_some_and(|(name, at)| {
            at.parse() == Ok(port)
                && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
        })
    };
    host.to_str().is_ok_and(is_ours) && authority.is_none_or(is_ours)
}

/// The one credential of the scheme `Bearer` (RFC 6750 section 2.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (shown.next(), shown.next()) else {
        return None;
    };
    let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
    let secret = secret.trim_matches(' ');
    let is_one = scheme.eq_ignore_ascii_case("bearer")
        && (1..=super::secret::LONGEST).contains(&secret.len());
    is_one.then_some(secret)
}

fn length(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn only_an_agent_on_this_machine_that_shows_one_secret_is_let_in() {
        const HOST: (&str, &str) = ("host", "127.0.0.1:7");
        const SHOWN: (&str, &str) = ("authorization", "Bearer s");
        let let_in = [
            request("POST", "/mcp", &[HOST, SHOWN]),
            request("GET", "/mcp", &[("host", "LocalHost:7"), SHOWN]),
            request("DELETE", "/mcp?x", &[HOST, ("authorization", "bearer  s")]),
            request("POST", "http://127.0.0.1:7/mcp", &[HOST, SHOWN]),
            request(
                "POST",
                "/mcp",
                &[HOST, SHOWN, ("content-length", "4194304")],
            ),
        ];
        for request in &let_in {
            assert_eq!(secret_of(request, 7), Ok("s"), "{request:?}");
        }
        let long = format!("Bearer {}", "s".repeat(129));
        for (wanted, request) in [
            (Refusal::Host, request("POST", "/mcp", &[SHOWN])),
            (Refusal::Host, request("POST", "/mcp", &[HOST, HOST, SHOWN])),
            (
                Refusal::Host,
                request("POST", "/mcp", &[("host", "127.0.0.1:8"), SHOWN]),
            ),
            (
                Refusal::Host,
                request("POST", "/mcp", &[("host", "127.0.0.1"), SHOWN]),
            ),
            (
                Refusal::Host,
                request("POST", "/mcp", &[("host", "evil.example:7"), SHOWN]),
            ),
            (
                Refusal::Host,
                request("POST", "http://evil.example:7/mcp", &[HOST, SHOWN]),
            ),
            (
                Refusal::Origin,
                request(
                    "POST",
                    "/mcp",
                    &[HOST, SHOWN, ("origin", "http://127.0.0.1:7")],
                ),
            ),
            (
                Refusal::Origin,
                request("POST", "/mcp", &[HOST, SHOWN, ("origin", "null")]),
            ),
            (Refusal::Path, request("POST", "/", &[HOST, SHOWN])),
            (Refusal::Path, request("POST", "/mcp/", &[HOST, SHOWN])),
            (Refusal::Method, request("OPTIONS", "/mcp", &[HOST, SHOWN])),
            (Refusal::Method, request("PUT", "/mcp", &[HOST, SHOWN])),
            (Refusal::Secret, request("POST", "/mcp", &[HOST])),
            (
                Refusal::Secret,
                request("POST", "/mcp", &[HOST, SHOWN, SHOWN]),
            ),
            (
                Refusal::Secret,
                request("POST", "/mcp", &[HOST, ("authorization", "Basic s")]),
            ),
            (
                Refusal::Secret,
                request("POST", "/mcp", &[HOST, ("authorization", "Bearer ")]),
            ),
            (
                Refusal::Secret,
                request("POST", "/mcp", &[HOST, ("authorization", &long)]),
            ),
            (
                Refusal::TooLong,
                request(
                    "POST",
                    "/mcp",
                    &[HOST, SHOWN, ("content-length", "4194305")],
                ),
            ),
        ] {
            assert_eq!(secret_of(&request, 7), Err(wanted), "{request:?}");
        }
    }
}
