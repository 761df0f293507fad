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
            Self::Info => "GET, HEAD, OPTIONS",
            Self::Run(_) => "POST, OPTIONS",
        }
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
        let page = match below? {
            "" => Page::Run(None),
            "info" => Page::Info,
            agent if !agent.contains('/') => Page::Run(Some(agent)),
            _ => return None,
        };
        Some(Self::Page(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deps::AgentName;

    /// Requirements 7 and 9; field report R86.
    #[test]
    fn a_path_is_a_route_or_nothing() {
        let live = Some(Route::Probe(Probe::Live));
        let ready = Some(Route::Probe(Probe::Ready));
        let info = Some(Route::Page(Page::Info));
        let run = |agent| Some(Route::Page(Page::Run(agent)));
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
