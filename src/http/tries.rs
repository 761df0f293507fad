//! What agents try at their own daemon, said without being flooded with it.

use std::{collections::HashMap, time::Duration};

use http::{Method, request::Parts};
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::{
    BasePath,
    problem::{Problem, clean},
    route::{Page, Part, Route},
    service::MAX_LOGGED,
};

/// How long a kind of try is not said again.
const QUIET: Duration = Duration::from_mins(10);

/// When each kind of try was last said. There are as many as there are routes and methods.
#[derive(Debug, Default)]
pub(super) struct Tries(Mutex<HashMap<Kind, Instant>>);

/// What was tried: a method that we know, and a route.
type Kind = (&'static str, &'static str);

impl Tries {
    /// Says that a request of an agent's was refused: once, and again after some time.
    pub(super) fn log(&self, base: &BasePath, head: &Parts, id: &str, process: &str) {
        let (method, route) = kind(base, head);
        let path = clean(head.uri.path(), MAX_LOGGED);
        let code = Problem::OwnAgent.code();
        if self.is_new((method, route)) {
            let what = "an agent has called the daemon that runs it, and was refused";
            warn!(request = id, code, process, method, route, path, "{what}");
        } else {
            debug!(request = id, code, process, method, route, path, "again");
        }
    }

    fn is_new(&self, kind: Kind) -> bool {
        let now = Instant::now();
        let mut said = self.0.lock();
        let is_new = said.get(&kind).is_none_or(|last| now - *last >= QUIET);
        if is_new {
            said.insert(kind, now);
        }
        is_new
    }
}

fn kind(base: &BasePath, head: &Parts) -> Kind {
    let method = match head.method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    };
    let route = match Route::find(base, head.uri.path()) {
        Some(Route::Probe(_)) => "probe",
        Some(Route::Page(page)) => match page {
            Page::Info => "info",
            Page::Run(_) => "run",
            Page::Threads { .. } => "threads",
            Page::Thread { part, .. } => match part {
                Part::Whole => "thread",
                Part::Events => "events",
                Part::Cancel => "cancel",
            },
        },
        None => "none",
    };
    (method, route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_kind_of_try_is_said_once_and_again_after_a_while() {
        let tries = Tries::default();
        let [run, cancel] = ["run", "cancel"].map(|route| ("POST", route));
        assert!(tries.is_new(run) && tries.is_new(cancel));
        assert!(!tries.is_new(run));
        tokio::time::advance(QUIET).await;
        assert!(tries.is_new(run));
    }

    #[test]
    fn what_is_tried_has_a_bounded_number_of_kinds() {
        for (method, path, wanted) in [
            ("POST", "/agui/demo", ("POST", "run")),
            ("POST", "/agui/demo/threads/t/cancel", ("POST", "cancel")),
            ("DELETE", "/agui/demo/threads/t", ("DELETE", "thread")),
            ("BREW", "/agui/demo/threads/t/events", ("other", "events")),
            ("GET", "/etc/passwd", ("GET", "none")),
            ("PUT", "/healthz", ("other", "probe")),
        ] {
            let request = http::Request::builder().method(method).uri(path);
            let (head, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(kind(&BasePath::default(), &head), wanted, "{method} {path}");
        }
    }
}
