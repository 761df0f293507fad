//! The guards, in their one order, before a byte of the body is read.
//!
//! Health routes come first (a probe knows neither name nor token and learns nothing else), then Host,
//! Origin, path, method, content type, token, agent, HTTP version and thread. Host before Origin, because a page
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
    route::{Page, Part, Probe, Route},
    segment,
};
use crate::{
    deps::{Agent, AgentName, Principal},
    engine::{Runtime, StartError},
    store::Key,
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
        /// For whom.
        principal: Principal,
    },
    /// A run.
    Run {
        /// Of which agent.
        agent: &'a AgentName,
        /// For whom.
        principal: Principal,
    },
    /// The caller's threads.
    Threads {
        /// With which agent.
        agent: &'a AgentName,
        /// Whose.
        principal: Principal,
    },
    /// Something with one thread of the caller's.
    Thread {
        /// Which one. It need not be there.
        key: Key,
        /// What.
        deed: Deed,
    },
}

/// What can be done with a thread besides running something on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Show,
    Forget,
    Watch,
    Cancel,
}

/// Judges a request by its head, and by whether a body follows.
pub(super) fn admit<'a>(
    options: &'a ServiceOptions,
    access: &Access,
    agents: &'a [Agent],
    head: &'a Parts,
    has_body: bool,
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
            .and_then(|page| enter(page, host, access, agents, head, has_body)),
    }
}

/// Judges a request of an agent's own process, which may have nothing but the state of the daemon. No page is
/// behind it that could read why.
pub(super) fn admit_agent<'a>(options: &ServiceOptions, head: &Parts) -> Verdict<'a> {
    let outcome = match Route::find(&options.path, head.uri.path()) {
        Some(Route::Probe(probe)) => {
            method(Probe::METHODS, &head.method).map(|()| Admitted::Probe(probe))
        }
        Some(Route::Page(_)) | None => Err(Problem::OwnAgent),
    };
    Verdict {
        grant: None,
        outcome,
    }
}

/// The guards that an allowed page may read the answers of.
fn enter<'a>(
    page: Page<'_>,
    host: &'a str,
    access: &Access,
    agents: &'a [Agent],
    head: &Parts,
    has_body: bool,
) -> Result<Admitted<'a>, Problem> {
    let methods = page.methods();
    method(methods, &head.method)?;
    if head.method == Method::OPTIONS {
        return Ok(Admitted::Preflight { methods });
    }
    let caller = |name: Option<&str>| {
        let principal = access.principal(&head.headers)?;
        let agent = find(agents, name).ok_or(StartError::UnknownAgent)?;
        Ok::<_, Problem>((agent, principal))
    };
    match page {
        Page::Info => access
            .principal(&head.headers)
            .map(|principal| Admitted::Info { host, principal }),
        Page::Run(name) => {
            media_type(&head.headers)?;
            let (agent, principal) = caller(name)?;
            can_stream(head.version)?;
            Ok(Admitted::Run { agent, principal })
        }
        Page::Threads { agent } => {
            let (agent, principal) = caller(Some(agent))?;
            Ok(Admitted::Threads { agent, principal })
        }
        Page::Thread {
            agent,
            thread,
            part,
        } => {
            // Without a body a page can send it unasked; but not without its Origin, which was looked at.
            if part == Part::Cancel && has_body {
                media_type(&head.headers)?;
            }
            let (agent, principal) = caller(Some(agent))?;
            let deed = match part {
                Part::Whole if head.method == Method::DELETE => Deed::Forget,
                Part::Whole => Deed::Show,
                Part::Events => Deed::Watch,
                Part::Cancel => Deed::Cancel,
            };
            if deed == Deed::Watch {
                can_stream(head.version)?;
            }
            let key = Runtime::key(agent, &principal, &segment::thread(thread)?);
            Ok(Admitted::Thread { key, deed })
        }
    }
}

/// A stream has no length, and before HTTP/1.1 its end could not be told from a broken one.
fn can_stream(version: Version) -> Result<(), Problem> {
    if version < Version::HTTP_11 {
        Err(Problem::HttpVersion)
    } else {
        Ok(())
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
