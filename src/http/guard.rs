//! The guards, in their one order, before a byte of the body is read.
//!
//! Health routes come first (a probe knows neither name nor token and learns nothing else), then Host,
//! Origin, path, method, content type, token, agent and HTTP version. Host before Origin, because a page
//! whose name was made to resolve to this machine calls its own origin, as far as its browser knows, and need
//! not send an Origin at all; content type before the token, because a request
//! that needs no preflight must be refused whatever it shows.

use http::{
    HeaderMap, Method, Version,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
    request::Parts,
};

use super::{
    Access, ServiceOptions,
    cors::{self, Grant},
    host,
    problem::Problem,
    route::{Page, Probe, Route},
};
use crate::{
    deps::{Agent, AgentName, Principal},
    engine::StartError,
};

/// What the guards say.
#[derive(Debug)]
pub(super) struct Verdict<'a> {
    /// What lets the page read the answer, whatever the answer is.
    pub(super) grant: Option<Grant>,
    /// What is asked for, or why it is refused.
    pub(super) outcome: Result<Admitted<'a>, Problem>,
}

/// What a request may have.
#[derive(Debug)]
pub(super) enum Admitted<'a> {
    /// The state of the daemon.
    Probe(Probe),
    /// What a browser wants to know before it asks.
    Preflight {
        /// The methods of the route.
        methods: &'static str,
    },
    /// The description of the agents, in URLs with this Host.
    Info {
        /// As it came.
        host: &'a str,
    },
    /// A run.
    Run {
        /// Of which agent.
        agent: &'a AgentName,
        /// For whom.
        principal: Principal,
    },
}

/// Judges a request by its head.
pub(super) fn admit<'a>(
    options: &'a ServiceOptions,
    access: &Access,
    agents: &'a [Agent],
    head: &'a Parts,
) -> Verdict<'a> {
    let refuse = |problem| Verdict {
        grant: None,
        outcome: Err(problem),
    };
    let page = match Route::find(&options.path, head.uri.path()) {
        Some(Route::Probe(probe)) => {
            return Verdict {
                grant: None,
                outcome: method(Probe::METHODS, &head.method).map(|()| Admitted::Probe(probe)),
            };
        }
        Some(Route::Page(page)) => Some(page),
        None => None,
    };
    let host = match host::check(&options.hosts, head) {
        Ok(host) => host,
        Err(problem) => return refuse(problem),
    };
    let grant = match cors::check(&options.origins, &head.headers) {
        Ok(grant) => grant,
        Err(problem) => return refuse(problem),
    };
    Verdict {
        grant,
        outcome: page
            .ok_or(Problem::NotFound)
            .and_then(|page| enter(page, host, access, agents, head)),
    }
}

/// The guards that an allowed page may read the answers of.
fn enter<'a>(
    page: Page<'_>,
    host: &'a str,
    access: &Access,
    agents: &'a [Agent],
    head: &Parts,
) -> Result<Admitted<'a>, Problem> {
    let methods = page.methods();
    method(methods, &head.method)?;
    if head.method == Method::OPTIONS {
        return Ok(Admitted::Preflight { methods });
    }
    match page {
        Page::Info => access
            .principal(&head.headers)
            .map(|_| Admitted::Info { host }),
        Page::Run(name) => {
            media_type(&head.headers)?;
            let principal = access.principal(&head.headers)?;
            let agent = find(agents, name).ok_or(StartError::UnknownAgent)?;
            if head.version < Version::HTTP_11 {
                return Err(Problem::HttpVersion);
            }
            Ok(Admitted::Run { agent, principal })
        }
    }
}

fn method(allow: &'static str, method: &Method) -> Result<(), Problem> {
    if allow.split(", ").any(|own| own == method.as_str()) {
        Ok(())
    } else {
        Err(Problem::Method { allow })
    }
}

/// JSON in UTF-8, not compressed: what a page can send only after a preflight.
fn media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(Problem::MediaType);
    };
    let text = value.to_str().map_err(|_| Problem::MediaType)?;
    let mut parts = text.split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    let utf8 = parts
        .filter_map(|parameter| parameter.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .all(|(_, value)| value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"));
    let plain = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if json && utf8 && plain {
        Ok(())
    } else {
        Err(Problem::MediaType)
    }
}

/// The agent of a name; the first without one.
fn find<'a>(agents: &'a [Agent], name: Option<&str>) -> Option<&'a AgentName> {
    agents
        .iter()
        .map(|agent| &agent.name)
        .find(|own| name.is_none_or(|name| name == own.as_str()))
}

#[cfg(test)]
mod tests;
