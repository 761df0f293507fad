//! The rows of messages, and the bound on them.

use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use crate::store::written::Written;

/// Writes lines behind those that are there; one whose message is there already takes its place. Then drops the
/// oldest lines until no more than `most` bytes are left, and says of the thread that this is not all.
pub(super) fn put(db: &Connection, thread: i64, lines: &[Written], most: usize) -> Result<()> {
    let mut grown = 0;
    for line in lines {
        let before = db
            .prepare_cached(
                "SELECT octet_length(body) FROM agui_messages WHERE thread = ?1 AND message = ?2",
            )?
            .query_row(params![thread, line.message], |row| row.get::<_, i64>(0))
            .optional()?;
        db.prepare_cached(
            "INSERT INTO agui_messages (thread, message, after, body) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (thread, message) DO UPDATE SET body = excluded.body",
        )?
        .execute(params![thread, line.message, line.after, line.body])?;
        grown += i64::try_from(line.body.len()).unwrap_or(i64::MAX) - before.unwrap_or(0);
    }
    let bytes = grow(db, thread, grown)?;
    let too_many = bytes.saturating_sub(i64::try_from(most).unwrap_or(i64::MAX));
    if too_many > 0 {
        trim(db, thread, too_many)?;
    }
    Ok(())
}

/// Drops the oldest lines, so many bytes of them at least.
fn trim(db: &Connection, thread: i64, bytes: i64) -> Result<()> {
    let (mut freed, mut last) = (0, 0);
    let mut oldest = db.prepare_cached(
        "SELECT place, octet_length(body) FROM agui_messages WHERE thread = ?1 ORDER BY place",
    )?;
    let mut rows = oldest.query([thread])?;
    while freed < bytes {
        let Some(row) = rows.next()? else { break };
        last = row.get(0)?;
        freed += row.get::<_, i64>(1)?;
    }
    drop(rows);
    db.prepare_cached("DELETE FROM agui_messages WHERE thread = ?1 AND place <= ?2")?
        .execute(params![thread, last])?;
    db.prepare_cached("UPDATE agui_threads SET is_partial = 1 WHERE id = ?1")?
        .execute([thread])?;
    grow(db, thread, -freed).map(drop)
}

/// Keeps the first lines, so many of them.
pub(super) fn cut(db: &Connection, thread: i64, keep: usize) -> Result<()> {
    let keep = i64::try_from(keep).unwrap_or(i64::MAX);
    let first_gone = db
        .prepare_cached(
            "SELECT place FROM agui_messages WHERE thread = ?1 ORDER BY place LIMIT 1 OFFSET ?2",
        )?
        .query_row([thread, keep], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(first_gone) = first_gone else {
        return Ok(());
    };
    let freed: i64 = db
        .prepare_cached(
            "SELECT sum(octet_length(body)) FROM agui_messages WHERE thread = ?1 AND place >= ?2",
        )?
        .query_row([thread, first_gone], |row| row.get(0))?;
    db.prepare_cached("DELETE FROM agui_messages WHERE thread = ?1 AND place >= ?2")?
        .execute([thread, first_gone])?;
    grow(db, thread, -freed).map(drop)
}

/// Drops all lines; `is_partial`: whether the thread is said to have had some.
pub(super) fn clear(db: &Connection, thread: i64, is_partial: bool) -> Result<()> {
    db.prepare_cached("DELETE FROM agui_messages WHERE thread = ?1")?
        .execute([thread])?;
    db.prepare_cached("UPDATE agui_threads SET is_partial = ?2, bytes = 0 WHERE id = ?1")?
        .execute(params![thread, is_partial])?;
    Ok(())
}

/// The lines, in order.
pub(super) fn lines(db: &Connection, thread: i64) -> Result<Vec<Written>> {
    let mut rows = db.prepare_cached(
        "SELECT message, after, body FROM agui_messages WHERE thread = ?1 ORDER BY place",
    )?;
    rows.query_map([thread], line_of)?.collect()
}

/// The lines that can be read, each by itself, of a transcript of which some cannot.
pub(super) fn readable(db: &Connection, thread: i64) -> Result<Vec<Written>> {
    // An index has all that this asks for.
    let mut places =
        db.prepare_cached("SELECT place FROM agui_messages WHERE thread = ?1 ORDER BY place")?;
    let mut line =
        db.prepare_cached("SELECT message, after, body FROM agui_messages WHERE place = ?1")?;
    let mut found = Vec::new();
    for place in places.query_map([thread], |row| row.get::<_, i64>(0))? {
        found.extend(line.query_row([place?], line_of).ok());
    }
    Ok(found)
}

fn line_of(row: &Row<'_>) -> Result<Written> {
    Ok(Written {
        message: row.get(0)?,
        after: row.get(1)?,
        body: row.get(2)?,
    })
}

/// Counts bytes that have come, and answers with how many there are now.
fn grow(db: &Connection, thread: i64, by: i64) -> Result<i64> {
    db.prepare_cached("UPDATE agui_threads SET bytes = bytes + ?2 WHERE id = ?1 RETURNING bytes")?
        .query_row([thread, by], |row| row.get(0))
}
