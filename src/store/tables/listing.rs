//! Lists of threads, the one that was written to last first.

use rusqlite::{Connection, Result, params};

use super::runs;
use crate::{
    protocol::ThreadId,
    store::{Place, Summary},
};

/// The threads of a principal and an agent from a place on, each with its own place, at most `limit` of those that
/// are `wanted`.
pub(in crate::store) fn newest(
    db: &Connection,
    principal: &str,
    agent: &str,
    from: Option<Place>,
    limit: usize,
    wanted: impl Fn(&ThreadId) -> bool,
) -> Result<Vec<(Place, Summary)>> {
    let from = from.unwrap_or(Place {
        updated_ms: i64::MAX,
        id: i64::MAX,
    });
    let mut rows = db.prepare_cached(
        "SELECT id, thread, title, created_ms, updated_ms FROM agui_threads
         WHERE principal = ?1 AND agent = ?2 AND (updated_ms, id) <= (?3, ?4)
         ORDER BY updated_ms DESC, id DESC",
    )?;
    let mut rows = rows.query(params![principal, agent, from.updated_ms, from.id])?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next()? else { break };
        let Ok(thread) = ThreadId::new(row.get::<_, String>(1)?) else {
            continue;
        };
        if !wanted(&thread) {
            continue;
        }
        let place = Place {
            updated_ms: row.get(4)?,
            id: row.get(0)?,
        };
        let summary = Summary {
            thread,
            title: row.get(2)?,
            created_ms: row.get(3)?,
            updated_ms: place.updated_ms,
            last_run: runs::last(db, place.id)?,
        };
        found.push((place, summary));
    }
    Ok(found)
}
