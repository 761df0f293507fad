//! Forgetting what is too old or too much.

use rusqlite::{Connection, Result};

use super::transcript;
use crate::{protocol::ThreadId, store::Key};

/// Forgets threads that nothing was written to since `since`, and of the others the oldest beyond `most`; but none
/// that is to be `spared`. Answers with those that went, and their sessions.
pub(in crate::store) fn sweep(
    db: &Connection,
    most: usize,
    since: Option<i64>,
    spared: impl Fn(&Key) -> bool,
) -> Result<Vec<(Key, Option<String>)>> {
    let count: i64 = db
        .prepare_cached("SELECT count(*) FROM agui_threads")?
        .query_row([], |row| row.get(0))?;
    let mut too_many = usize::try_from(count)
        .unwrap_or_default()
        .saturating_sub(most);
    let mut oldest = db.prepare_cached(
        "SELECT id, principal, agent, thread, session, updated_ms FROM agui_threads
         ORDER BY updated_ms, id",
    )?;
    let mut rows = oldest.query([])?;
    let (mut gone, mut ids) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let updated_ms: i64 = row.get(5)?;
        if too_many == 0 && since.is_none_or(|since| updated_ms >= since) {
            break;
        }
        let Ok(thread) = ThreadId::new(row.get::<_, String>(3)?) else {
            continue;
        };
        let key = Key {
            principal: row.get(1)?,
            agent: row.get(2)?,
            thread,
        };
        if !spared(&key) {
            too_many = too_many.saturating_sub(1);
            ids.push(row.get::<_, i64>(0)?);
            gone.push((key, row.get(4)?));
        }
    }
    drop(rows);
    let mut forget = db.prepare_cached("DELETE FROM agui_threads WHERE id = ?1")?;
    for id in ids {
        forget.execute([id])?;
    }
    Ok(gone)
}

/// Drops the transcript of the thread that has one and that nothing was written to for the longest time. Answers
/// with the thread, or nothing if there is none.
pub(in crate::store) fn forget_transcripts(db: &Connection) -> Result<Option<Key>> {
    let mut oldest = db.prepare_cached(
        "SELECT id, principal, agent, thread FROM agui_threads WHERE bytes > 0
         ORDER BY updated_ms, id LIMIT 1",
    )?;
    let mut rows = oldest.query([])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let id = row.get(0)?;
    let key = ThreadId::new(row.get::<_, String>(3)?).map(|thread| Key {
        principal: row.get(1).unwrap_or_default(),
        agent: row.get(2).unwrap_or_default(),
        thread,
    });
    drop(rows);
    transcript::lose(db, id)?;
    Ok(key.ok())
}

/// Gives pages that are free to the system, so many at most that nobody waits for long.
pub(in crate::store) fn give_back(db: &Connection) -> Result<()> {
    // Each step of the statement gives back one page.
    let mut statement = db.prepare_cached("PRAGMA incremental_vacuum(4096)")?;
    let mut steps = statement.query([])?;
    while steps.next()?.is_some() {}
    Ok(())
}
