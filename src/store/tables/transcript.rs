//! The rows of messages, and the bound on them.

use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use crate::{protocol::MessageId, store::written::Written};

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

/// Writes lines that are not as they stay, in the place of those that were written so before.
pub(super) fn draft(db: &Connection, thread: i64, lines: &[Written], most: usize) -> Result<()> {
    drop_draft(db, thread)?;
    put(db, thread, lines, most)?;
    let mut mark = db.prepare_cached(
        "UPDATE agui_messages SET is_draft = 1 WHERE thread = ?1 AND message = ?2",
    )?;
    for line in lines {
        mark.execute(params![thread, line.message])?;
    }
    Ok(())
}

/// Drops the lines that are not as they stay: those that are come now.
pub(super) fn drop_draft(db: &Connection, thread: i64) -> Result<()> {
    let freed: Option<i64> = db
        .prepare_cached(
            "SELECT sum(octet_length(body)) FROM agui_messages WHERE thread = ?1 AND is_draft",
        )?
        .query_row([thread], |row| row.get(0))?;
    let Some(freed) = freed else { return Ok(()) };
    db.prepare_cached("DELETE FROM agui_messages WHERE thread = ?1 AND is_draft")?
        .execute([thread])?;
    grow(db, thread, -freed).map(drop)
}

/// Takes a draft for what it is: nobody will say more of it.
pub(super) fn settle_draft(db: &Connection, thread: i64) -> Result<()> {
    db.prepare_cached("UPDATE agui_messages SET is_draft = 0 WHERE thread = ?1 AND is_draft")?
        .execute([thread])?;
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
    say_partial(db, thread)?;
    grow(db, thread, -freed).map(drop)
}

/// Drops what stands behind a message, or all. Where the message itself is gone, nobody can tell what stood behind it:
/// then all goes, and this is said of the thread.
pub(super) fn cut(db: &Connection, thread: i64, behind: Option<&MessageId>) -> Result<()> {
    let Some(behind) = behind else {
        return drop_behind(db, thread, 0);
    };
    let place = db
        .prepare_cached("SELECT place FROM agui_messages WHERE thread = ?1 AND message = ?2")?
        .query_row(params![thread, behind.as_str()], |row| row.get(0))
        .optional()?;
    match place {
        Some(place) => drop_behind(db, thread, place),
        None => lose(db, thread),
    }
}

fn drop_behind(db: &Connection, thread: i64, place: i64) -> Result<()> {
    let freed: i64 = db
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(body)), 0) FROM agui_messages
             WHERE thread = ?1 AND place > ?2",
        )?
        .query_row([thread, place], |row| row.get(0))?;
    db.prepare_cached("DELETE FROM agui_messages WHERE thread = ?1 AND place > ?2")?
        .execute([thread, place])?;
    grow(db, thread, -freed).map(drop)
}

/// Drops all lines, as if nothing had been said.
pub(super) fn clear(db: &Connection, thread: i64) -> Result<()> {
    empty(db, thread)?;
    db.prepare_cached("UPDATE agui_threads SET is_partial = 0 WHERE id = ?1")?
        .execute([thread])?;
    Ok(())
}

/// Drops all lines, and says of the thread that it had some.
pub(super) fn lose(db: &Connection, thread: i64) -> Result<()> {
    empty(db, thread)?;
    say_partial(db, thread)
}

fn empty(db: &Connection, thread: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM agui_messages WHERE thread = ?1")?
        .execute([thread])?;
    db.prepare_cached("UPDATE agui_threads SET bytes = 0 WHERE id = ?1")?
        .execute([thread])?;
    Ok(())
}

/// Says of a thread that its transcript is not the whole of what was said.
fn say_partial(db: &Connection, thread: i64) -> Result<()> {
    db.prepare_cached("UPDATE agui_threads SET is_partial = 1 WHERE id = ?1")?
        .execute([thread])?;
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
