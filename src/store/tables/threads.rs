//! The rows of threads, and what is done to a thread as a whole.

use rusqlite::{Connection, OptionalExtension as _, Result, params};

use super::{runs, transcript};
use crate::{
    protocol::RunId,
    store::{Begin, Key, Remembers, Run, Thread, Transcript, written::Written},
};

/// A thread as it is kept: its transcript is still to be read.
#[derive(Debug)]
pub(in crate::store) struct Found {
    pub(super) id: i64,
    pub(super) thread: Thread,
    pub(super) lines: Vec<Written>,
}

impl Found {
    /// Reads the transcript. What this program does not understand is left out of it.
    pub(in crate::store) fn read(self) -> Thread {
        let mut thread = self.thread;
        let lines: Vec<_> = self.lines.iter().filter_map(Written::read).collect();
        thread.transcript.is_partial |= lines.len() < self.lines.len();
        thread.transcript.lines = lines;
        thread
    }
}

/// The number of a thread's row.
pub(super) fn id(db: &Connection, key: &Key) -> Result<Option<i64>> {
    db.prepare_cached(
        "SELECT id FROM agui_threads WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
    )?
    .query_row(
        params![&*key.principal, &*key.agent, key.thread.as_str()],
        |row| row.get(0),
    )
    .optional()
}

/// Notes when a thread was written to.
pub(super) fn touch(db: &Connection, id: i64, now: i64) -> Result<()> {
    db.prepare_cached("UPDATE agui_threads SET updated_ms = ?2 WHERE id = ?1")?
        .execute([id, now])?;
    Ok(())
}

/// The row of a thread, without its transcript and its runs.
pub(super) fn row(db: &Connection, key: &Key) -> Result<Option<Found>> {
    db.prepare_cached(
        "SELECT id, session, workdir, title, is_partial, created_ms, updated_ms
         FROM agui_threads WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
    )?
    .query_row(
        params![&*key.principal, &*key.agent, key.thread.as_str()],
        |row| {
            let transcript = Transcript {
                lines: Vec::new(),
                is_partial: row.get(4)?,
            };
            let thread = Thread {
                session: row.get(1)?,
                workdir: row.get(2)?,
                title: row.get(3)?,
                created_ms: row.get(5)?,
                updated_ms: row.get(6)?,
                transcript,
                last_run: None,
            };
            Ok(Found {
                id: row.get(0)?,
                thread,
                lines: Vec::new(),
            })
        },
    )
    .optional()
}

/// Whether there is such a thread.
pub(in crate::store) fn knows(db: &Connection, key: &Key) -> Result<bool> {
    Ok(id(db, key)?.is_some())
}

/// What is kept of a run.
pub(in crate::store) fn run(db: &Connection, key: &Key, run: &RunId) -> Result<Option<Run>> {
    match id(db, key)? {
        Some(id) => runs::get(db, id, run),
        None => Ok(None),
    }
}

/// What is kept of a thread, and of one of its runs.
pub(in crate::store) fn look(
    db: &Connection,
    key: &Key,
    run: Option<&RunId>,
) -> Result<(Option<Found>, Option<Run>)> {
    let Some(mut found) = row(db, key)? else {
        return Ok((None, None));
    };
    found.thread.last_run = runs::last(db, found.id)?;
    found.lines = transcript::lines(db, found.id)?;
    let asked = match run {
        Some(run) => runs::get(db, found.id, run)?,
        None => None,
    };
    Ok((Some(found), asked))
}

/// Notes that a run begins, and makes the thread if there is none. A thread that is now worked on in another folder
/// loses its session, which lives in the old one, and so does one whose session remembers what is taken back.
pub(in crate::store) fn begin(
    db: &Connection,
    key: &Key,
    begin: &Begin<Written>,
    most: usize,
    now: i64,
) -> Result<()> {
    let remembers = begin.cut.as_ref().map(|cut| cut.session);
    let id = db
        .prepare_cached(
            "INSERT INTO agui_threads (principal, agent, thread, workdir, title, created_ms, updated_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
             ON CONFLICT (principal, agent, thread) DO UPDATE SET
                 session = CASE WHEN workdir IS excluded.workdir AND NOT ?7 THEN session END,
                 workdir = excluded.workdir,
                 title = coalesce(title, excluded.title),
                 updated_ms = excluded.updated_ms
             RETURNING id",
        )?
        .query_row(
            params![
                &*key.principal,
                &*key.agent,
                key.thread.as_str(),
                begin.workdir,
                begin.title,
                now,
                remembers == Some(Remembers::TooMuch)
            ],
            |row| row.get(0),
        )?;
    transcript::settle_draft(db, id)?;
    if let Some(cut) = &begin.cut {
        transcript::cut(db, id, cut.behind.as_ref())?;
    }
    transcript::put(db, id, &begin.lines, most)?;
    runs::start(db, id, &begin.run, now)
}

/// Binds a thread to a session.
pub(in crate::store) fn bind(db: &Connection, key: &Key, session: &str) -> Result<()> {
    db.prepare_cached(
        "UPDATE agui_threads SET session = ?4 WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
    )?
    .execute(params![
        &*key.principal,
        &*key.agent,
        key.thread.as_str(),
        session
    ])?;
    Ok(())
}

/// Names a thread.
pub(in crate::store) fn entitle(db: &Connection, key: &Key, title: &str) -> Result<()> {
    db.prepare_cached(
        "UPDATE agui_threads SET title = ?4 WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
    )?
    .execute(params![
        &*key.principal,
        &*key.agent,
        key.thread.as_str(),
        title
    ])?;
    Ok(())
}

/// Adds to a transcript.
pub(in crate::store) fn add(
    db: &Connection,
    key: &Key,
    lines: &[Written],
    most: usize,
    now: i64,
) -> Result<()> {
    let Some(id) = id(db, key)? else {
        return Ok(());
    };
    transcript::drop_draft(db, id)?;
    transcript::put(db, id, lines, most)?;
    touch(db, id, now)
}

/// Adds what is not complete yet, in the place of what was added so before.
pub(in crate::store) fn draft(
    db: &Connection,
    key: &Key,
    lines: &[Written],
    most: usize,
) -> Result<()> {
    let Some(id) = id(db, key)? else {
        return Ok(());
    };
    transcript::draft(db, id, lines, most)
}

/// Puts a whole transcript in the place of what is there.
pub(in crate::store) fn refill(
    db: &Connection,
    key: &Key,
    lines: &[Written],
    most: usize,
) -> Result<()> {
    let Some(id) = id(db, key)? else {
        return Ok(());
    };
    transcript::clear(db, id)?;
    transcript::put(db, id, lines, most)
}

/// Notes that the transcript is not the whole of what was said.
pub(in crate::store) fn lose(db: &Connection, key: &Key) -> Result<()> {
    db.prepare_cached(
        "UPDATE agui_threads SET is_partial = 1 WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
    )?
    .execute(params![&*key.principal, &*key.agent, key.thread.as_str()])?;
    Ok(())
}

/// Forgets a thread with all that belongs to it. Answers with whether there was one.
pub(in crate::store) fn forget(db: &Connection, key: &Key) -> Result<bool> {
    let gone = db
        .prepare_cached(
            "DELETE FROM agui_threads WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
        )?
        .execute(params![&*key.principal, &*key.agent, key.thread.as_str()])?;
    Ok(gone > 0)
}

/// Lets the rows of new threads be counted from a number on, so that they are told from those of another database.
pub(in crate::store) fn count_from(db: &Connection, first: i64) -> Result<()> {
    db.execute(
        "INSERT INTO sqlite_sequence (name, seq) VALUES ('agui_threads', ?1)",
        [first],
    )?;
    Ok(())
}
