//! The routes: what a path stands for, and the methods it has.

use super::BasePath;

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// `GET /healthz`, `GET /readyz`, at the root and under the base path.
    Probe(Probe),
    /// What the guards stand in front of.
    Page(Page<'a>),
}

/// What a probe asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    /// Whether the daemon answers.
    Live,
    /// Whether it takes new runs.
    Ready,
}

/// What is asked for under the base path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page<'a> {
    /// `GET {path}/info`.
    Info,
    /// `POST {path}/{agent}`; without a name, the first agent.
    Run(Option<&'a str>),
    /// `GET {path}/{agent}/threads`.
    Threads {
        /// The agent's name.
        agent: &'a str,
    },
    /// Something at `{path}/{agent}/threads/{thread}`.
    Thread {
        /// The agent's name.
        agent: &'a str,
        /// The thread's id, as it is encoded.
        thread: &'a str,
        /// What of it.
        part: Part,
    },
}

/// What of a thread is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The thread itself, to be shown or forgotten.
    Whole,
    /// `GET …/events`: a viewer's stream.
    Events,
    /// `POST …/cancel`.
    Cancel,
}

impl Probe {
    /// The methods, as `Allow` lists them.
    pub(super) const METHODS: &'static str = "GET, HEAD";

    /// The probe of a path segment.
    pub(super) fn of(segment: &str) -> Option<Self> {
        match segment {
            "healthz" => Some(Self::Live),
            "readyz" => Some(Self::Ready),
            _ => None,
        }
    }
}

impl Page<'_> {
    /// The methods, as `Allow` lists them.
    pub(super) fn methods(self) -> &'static str {
        match self {
            Self::Info | Self::Threads { .. } => "GET, HEAD, OPTIONS",
            Self::Run(_) => "POST, OPTIONS",
            Self::Thread { part, .. } => match part {
                Part::Whole => "GET, HEAD, DELETE, OPTIONS",
                Part::Events => "GET, OPTIONS",
                Part::Cancel => "POST, OPTIONS",
            },
        }
    }

    /// The page at what stands below the base path. An agent's name is always the first segment, so one that is
    /// called like a later segment is in nobody's way.
    fn find(below: &str) -> Option<Page<'_>> {
        let segments: Vec<&str> = below.splitn(5, '/').collect();
        if below.is_empty() {
            return Some(Page::Run(None));
        }
        if segments.contains(&"") {
            return None;
        }
        let thread = |agent, thread, part| Page::Thread {
            agent,
            thread,
            part,
        };
        Some(match *segments.as_slice() {
            ["info"] => Page::Info,
            [agent] => Page::Run(Some(agent)),
            [agent, "threads"] => Page::Threads { agent },
            [agent, "threads", id] => thread(agent, id, Part::Whole),
            [agent, "threads", id, "events"] => thread(agent, id, Part::Events),
            [agent, "threads", id, "cancel"] => thread(agent, id, Part::Cancel),
            _ => return None,
        })
    }
}

impl<'a> Route<'a> {
    /// Finds the route of a request's path.
    pub(super) fn find(base: &BasePath, path: &'a str) -> Option<Self> {
        let at_root = path.strip_prefix('/').and_then(Probe::of);
        let below = base.below(path);
        if let Some(probe) = at_root.or_else(|| Probe::of(below?)) {
            return Some(Self::Probe(probe));
        }
        Page::find(below?).map(Self::Page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deps::AgentName;

    fn thread<'a>(agent: &'a str, thread: &'a str, part: Part) -> Route<'a> {
        Route::Page(Page::Thread {
            agent,
            thread,
            part,
        })
    }

    /// Requirements 7 and 9; field report R86.
    #[test]
    fn a_path_is_a_route_or_nothing() {
        let live = Some(Route::Probe(Probe::Live));
        let ready = Some(Route::Probe(Probe::Ready));
        let info = Some(Route::Page(Page::Info));
        let run = |agent| Some(Route::Page(Page::Run(agent)));
        let threads = |agent| Some(Route::Page(Page::Threads { agent }));
        for (base, path, route) in [
            ("/agui", "/healthz", live),
            ("/agui", "/agui/healthz", live),
            ("/agui/", "/agui/readyz", ready),
            ("/", "/readyz", ready),
            ("/agui", "/agui", run(None)),
            ("/agui", "/agui/", run(None)),
            ("/", "/", run(None)),
            ("/agui", "/agui/demo", run(Some("demo"))),
            ("/agui", "/agui/demo/", run(Some("demo"))),
            ("/", "/demo", run(Some("demo"))),
            ("/a/b", "/a/b/demo", run(Some("demo"))),
            ("/agui", "/agui/info", info),
            ("/", "/info", info),
            ("/agui", "/agui/demo/threads", threads("demo")),
            ("/agui", "/agui/demo/threads/", threads("demo")),
            ("/", "/demo/threads", threads("demo")),
            (
                "/agui",
                "/agui/demo/threads/t1",
                Some(thread("demo", "t1", Part::Whole)),
            ),
            (
                "/",
                "/demo/threads/t1/",
                Some(thread("demo", "t1", Part::Whole)),
            ),
            (
                "/agui",
                "/agui/demo/threads/a%2Fb/events",
                Some(thread("demo", "a%2Fb", Part::Events)),
            ),
            (
                "/",
                "/demo/threads/../cancel",
                Some(thread("demo", "..", Part::Cancel)),
            ),
            ("/agui", "/agui/demo/threads/t1/other", None),
            ("/agui", "/agui/demo/threads/t1/events/x", None),
            ("/agui", "/agui/demo/threads//events", None),
            ("/agui", "/agui/demo/threads//", None),
            ("/agui", "/agui//threads/t1", None),
            ("/agui", "/agui/demo/thread/t1", None),
            ("/agui", "/", None),
            ("/agui", "/demo", None),
            ("/agui", "/agui/demo/x", None),
            ("/agui", "/agui//demo", None),
            ("/agui", "//agui/demo", None),
            ("/agui", "//healthz", None),
            ("/agui", "/aguidemo", None),
            ("/agui", "*", None),
        ] {
            let base = BasePath::new(base).unwrap();
            assert_eq!(Route::find(&base, path), route, "{base} {path}");
        }
    }

    #[test]
    fn an_agent_and_a_thread_may_be_called_like_a_segment_of_a_route() {
        let base = BasePath::default();
        for (path, route) in [
            (
                "/agui/threads",
                Some(Route::Page(Page::Run(Some("threads")))),
            ),
            (
                "/agui/threads/threads/threads",
                Some(thread("threads", "threads", Part::Whole)),
            ),
            (
                "/agui/events/threads/cancel/events",
                Some(thread("events", "cancel", Part::Events)),
            ),
            (
                "/agui/cancel/threads/events/cancel",
                Some(thread("cancel", "events", Part::Cancel)),
            ),
        ] {
            assert_eq!(Route::find(&base, path), route, "{path}");
        }
        for word in ["threads", "events", "cancel"] {
            assert!(AgentName::new(word).is_ok(), "{word}");
        }
    }

    #[test]
    fn no_agent_can_have_the_name_of_a_route() {
        let base = BasePath::default();
        for word in ["healthz", "readyz", "info"] {
            let path = format!("/agui/{word}");
            let found = Route::find(&base, &path);
            assert!(!matches!(found, None | Some(Route::Page(Page::Run(_)))));
            assert!(AgentName::new(word).is_err(), "{word}");
        }
    }
}
