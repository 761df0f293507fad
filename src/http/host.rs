//! The Host guard: a name that resolves to this machine is no permission to drive it.
//!
//! A page whose own name is made to resolve to the loopback sends that name as Host, so only names that
//! nobody else can own are taken, and those that the configuration adds (RFC 9110, section 7.2).

use std::net::{Ipv4Addr, Ipv6Addr};

use http::{Version, header::HOST, request::Parts};

use super::problem::Problem;

/// A name, without a port, that a request's Host may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName(String);

/// Why a text cannot be a Host name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a host is a name or an address without a scheme, port or path, an IPv6 address in brackets"
)]
pub struct BadHostName;

impl HostName {
    /// Takes over a name after checking it.
    ///
    /// # Errors
    /// The text holds something that no name or address has.
    pub fn new(text: &str) -> Result<Self, BadHostName> {
        match split(text) {
            Some((name, None)) => Ok(Self(name.to_ascii_lowercase())),
            _ => Err(BadHostName),
        }
    }
}

/// Checks the names under which a request asks for this daemon, and returns its Host as it came. From HTTP/2
/// on, that is the target's (RFC 9113, section 8.3.1).
pub(super) fn check<'a>(allowed: &[HostName], head: &'a Parts) -> Result<&'a str, Problem> {
    // A target in absolute form names a host of its own, which some would believe over the header.
    let target = head.uri.authority().map(http::uri::Authority::as_str);
    let mut values = head.headers.get_all(HOST).iter();
    let host = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().map_err(|_| Problem::BadHost)?,
        (None, _) if head.version >= Version::HTTP_2 => target.ok_or(Problem::BadHost)?,
        _ => return Err(Problem::BadHost),
    };
    for text in [Some(host), target].into_iter().flatten() {
        let (name, _) = split(text).ok_or(Problem::BadHost)?;
        if !is_loopback(name) && !allowed.iter().any(|own| own.0.eq_ignore_ascii_case(name)) {
            return Err(Problem::ForeignHost);
        }
    }
    Ok(host)
}

/// Takes `name[:port]` apart. The brackets of an IPv6 address stay.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    let end = if text.starts_with('[') {
        text.find(']')? + 1
    } else {
        text.find(':').unwrap_or(text.len())
    };
    let (name, rest) = text.split_at(end);
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let known = match name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.bytes().all(plain),
    };
    let port = match rest.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
        None if rest.is_empty() => None,
        _ => return None,
    };
    known.then_some((name, port))
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || name
            .strip_prefix('[')
            .and_then(|n| n.strip_suffix(']'))
            .and_then(|n| n.parse::<Ipv6Addr>().ok())
            .is_some_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use http::{Request, Uri};

    use super::*;

    fn judge(uri: &str, hosts: &[&str]) -> Result<(), u16> {
        let mut request = Request::builder().uri(uri.parse::<Uri>().unwrap());
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let own = [HostName::new("Agents.example").unwrap()];
        check(&own, &head)
            .map(drop)
            .map_err(|p| p.status().as_u16())
    }

    #[test]
    fn report_r76_only_names_that_nobody_else_can_own_are_taken() {
        for good in [
            "localhost",
            "LOCALHOST:8787",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:8787",
            "agents.example",
            "agents.EXAMPLE:443",
        ] {
            assert_eq!(judge("/", &[good]), Ok(()), "{good}");
        }
        for foreign in [
            "evil",
            "evil.example:8787",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "0.0.0.0",
            "10.0.0.1",
            "[::2]:8787",
            "2130706433",
            "0177.0.0.1",
            "localhost.",
        ] {
            assert_eq!(judge("/", &[foreign]), Err(403), "{foreign}");
        }
    }

    #[test]
    fn a_request_needs_exactly_one_host_that_can_be_read() {
        for bad in [
            &[][..],
            &["localhost", "localhost"],
            &[""],
            &["a b"],
            &["u@localhost"],
            &["localhost:x"],
            &["[::1"],
            &["localhost:99999"],
        ] {
            assert_eq!(judge("/", bad), Err(400), "{bad:?}");
        }
        assert_eq!(judge("http://evil.example/agui", &["localhost"]), Err(403));
        assert_eq!(judge("http://localhost:1/agui", &["localhost"]), Ok(()));
    }

    #[test]
    fn from_http_2_on_the_target_names_the_host() {
        for (uri, judged) in [
            ("https://localhost:8787/agui", Ok("localhost:8787")),
            ("https://evil.example/agui", Err(403)),
            ("https://user@localhost/agui", Err(400)),
            ("/agui", Err(400)),
        ] {
            let request = Request::builder().version(Version::HTTP_2).uri(uri);
            let (head, ()) = request.body(()).unwrap().into_parts();
            let host = check(&[], &head).map_err(|p| p.status().as_u16());
            assert_eq!(host, judged, "{uri}");
        }
    }

    #[test]
    fn a_configured_name_has_no_port_scheme_or_path() {
        for bad in ["", "a:1", "http://a", "a/b", "[::1]x"] {
            assert_eq!(HostName::new(bad), Err(BadHostName), "{bad}");
        }
    }
}
