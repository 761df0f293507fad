//! `GET {path}/{agent}/threads`: the caller's threads with an agent, a page at a time.

use serde::Serialize;

use super::one::LastRun;
use crate::{
    http::{problem::Problem, query::Query},
    protocol::{RunId, ThreadId},
    store::{Page, Place, Summary},
};

/// How many threads a page has if nothing is said.
const USUAL: usize = 50;

/// How many it can have.
const MOST: usize = 200;

/// Which page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Where it begins; without one, at the thread that was written to last.
    pub(super) from: Option<Place>,
    /// How many threads it has at most.
    pub(super) limit: usize,
}

impl Wanted {
    /// Reads what is asked for.
    pub(super) fn of(query: &Query<'_>) -> Result<Self, Problem> {
        let limit = query.read("limit", "a whole number from 1 to 200", |text| {
            let number = text.parse().ok()?;
            (1..=MOST).contains(&number).then_some(number)
        })?;
        let from = query.read("cursor", "a nextCursor as it came", read)?;
        Ok(Self {
            from,
            limit: limit.unwrap_or(USUAL),
        })
    }
}

/// A place, as clients are told it and tell it back.
fn written(place: Place) -> String {
    format!("{}.{}", place.updated_ms, place.id)
}

fn read(cursor: &str) -> Option<Place> {
    let (updated_ms, id) = cursor.split_once('.')?;
    let place = Place {
        updated_ms: updated_ms.parse().ok()?,
        id: id.parse().ok()?,
    };
    (written(place) == cursor).then_some(place)
}

/// A page of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct List<'a> {
    threads: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    thread_id: &'a ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    created_at: i64,
    updated_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<LastRun<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    live: bool,
}

impl<'a> List<'a> {
    /// Shows a page; `live` answers with the run that is live on a thread.
    pub(super) fn new(page: &'a Page, live: impl Fn(&ThreadId) -> Option<RunId>) -> Self {
        let row = |summary: &'a Summary| {
            let live = live(&summary.thread);
            let last = summary.last_run.as_ref();
            Row {
                thread_id: &summary.thread,
                title: summary.title.as_deref(),
                created_at: summary.created_ms,
                updated_at: summary.updated_ms,
                last_run: last.map(|run| LastRun::new(run, live.as_ref())),
                live: live.is_some(),
            }
        };
        Self {
            threads: page.threads.iter().map(row).collect(),
            next_cursor: page.next.map(written),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::{Outcome, Run};

    fn wanted(query: &str) -> Result<(Option<(i64, i64)>, usize), String> {
        let target = format!("/x{query}").parse().unwrap();
        Wanted::of(&Query::of(&target))
            .map(|wanted| {
                let from = wanted.from.map(|place| (place.updated_ms, place.id));
                (from, wanted.limit)
            })
            .map_err(|problem| format!("{} {}", problem.code(), problem.message()))
    }

    #[test]
    fn a_page_is_asked_for_by_its_size_and_its_place() {
        for (query, expected) in [
            ("", (None, 50)),
            ("?", (None, 50)),
            ("?limit=&cursor=", (None, 50)),
            ("?limit=1", (None, 1)),
            ("?limit=200&other=x", (None, 200)),
            (
                "?cursor=1700000000000.7",
                (Some((1_700_000_000_000, 7)), 50),
            ),
            ("?limit=%32&cursor=1%2E2", (Some((1, 2)), 2)),
        ] {
            assert_eq!(wanted(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn what_is_no_size_or_place_is_refused_by_name() {
        for query in [
            "0",
            "201",
            "-1",
            "ten",
            "1.5",
            "%FF",
            "99999999999999999999",
        ] {
            let error = wanted(&format!("?limit={query}")).unwrap_err();
            assert_eq!(
                error,
                "invalid_input limit must be a whole number from 1 to 200"
            );
        }
        for query in [
            "x",
            "1",
            "1.",
            ".1",
            "1.2.3",
            "01.2",
            "%2B1.2",
            "1.2%0A",
            "1.99999999999999999999",
        ] {
            let error = wanted(&format!("?cursor={query}")).unwrap_err();
            assert_eq!(
                error,
                "invalid_input cursor must be a nextCursor as it came"
            );
        }
    }

    #[test]
    fn a_list_has_what_is_known_and_a_cursor_that_leads_on() {
        let summary = |thread: &str, outcome: Option<Outcome>| Summary {
            thread: ThreadId::new(thread).unwrap(),
            title: outcome.is_some().then(|| "A title".into()),
            created_ms: 1,
            updated_ms: 2,
            last_run: outcome.map(|outcome| Run {
                id: RunId::new("r1").unwrap(),
                ended_ms: (outcome != Outcome::Running).then_some(4),
                outcome,
                started_ms: 3,
            }),
        };
        let failed = Outcome::Failed {
            code: "agent_error".into(),
            message: "It failed.".into(),
        };
        let next = Place {
            updated_ms: -1,
            id: 9,
        };
        let page = Page {
            threads: vec![
                summary("live", Some(Outcome::Running)),
                summary("failed", Some(failed)),
                summary("bare", None),
            ],
            next: Some(next),
        };
        let run =
            |thread: &ThreadId| (thread.as_str() == "live").then(|| RunId::new("r1").unwrap());
        let list = List::new(&page, run);
        assert_eq!(
            serde_json::to_value(&list).unwrap(),
            json!({
                "threads": [
                    {
                        "threadId": "live", "title": "A title", "createdAt": 1, "updatedAt": 2,
                        "lastRun": {"runId": "r1", "outcome": "running", "startedAt": 3},
                        "live": true,
                    },
                    {
                        "threadId": "failed", "title": "A title", "createdAt": 1, "updatedAt": 2,
                        "lastRun": {
                            "runId": "r1", "outcome": "failed", "code": "agent_error",
                            "message": "It failed.", "startedAt": 3, "endedAt": 4,
                        },
                    },
                    {"threadId": "bare", "createdAt": 1, "updatedAt": 2},
                ],
                "nextCursor": "-1.9",
            })
        );
        assert_eq!(read(&written(next)), Some(next));
        let end = serde_json::to_value(List::new(&Page::default(), run)).unwrap();
        assert_eq!(end, json!({"threads": []}));
    }
}
