//! A thread with all that belongs to it, to be taken from one database to another.

use rusqlite::{Connection, Result, params};

use super::{
    prompts, runs,
    threads::{self, Found},
    transcript,
};
use crate::store::{Key, Prompt, Run, Thread};

/// What could be read of a thread.
#[derive(Debug, Default)]
pub(in crate::store) struct Copy {
    found: Option<Found>,
    runs: Vec<Run>,
    prompts: Vec<Prompt>,
    /// Whether all of it could be read; also that there is no such thread is then certain.
    pub(in crate::store) is_whole: bool,
}

impl Copy {
    /// Whether there is such a thread, as far as is known.
    pub(in crate::store) fn is_there(&self) -> bool {
        self.found.is_some()
    }
}

/// Reads as much of a thread as can be read.
pub(in crate::store) fn read(db: &Connection, key: &Key) -> Copy {
    let mut copy = match threads::row(db, key) {
        Ok(found) => Copy {
            found,
            is_whole: true,
            ..Copy::default()
        },
        Err(_) => return Copy::default(),
    };
    let Some(found) = &mut copy.found else {
        return copy;
    };
    let has_runs = runs::all(db, found.id, &mut copy.runs).is_ok();
    let has_prompts = prompts::all(db, found.id, &mut copy.prompts).is_ok();
    copy.is_whole = has_runs && has_prompts;
    if let Ok(lines) = transcript::lines(db, found.id) {
        found.lines = lines;
    } else {
        copy.is_whole = false;
        found.thread.transcript.is_partial = true;
        found.lines = transcript::readable(db, found.id).unwrap_or_default();
    }
    copy
}

/// Puts a copy in the place of what is there. The thread's row keeps its number if that is below `numbers`.
pub(in crate::store) fn replace(
    db: &Connection,
    key: &Key,
    copy: &Copy,
    numbers: i64,
) -> Result<()> {
    threads::forget(db, key)?;
    let Some(found) = &copy.found else {
        return Ok(());
    };
    let Thread {
        session,
        workdir,
        title,
        created_ms,
        updated_ms,
        transcript: said,
        ..
    } = &found.thread;
    let id = db
        .prepare_cached(
            "INSERT INTO agui_threads (id, principal, agent, thread, session, workdir, title,
                 is_partial, created_ms, updated_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING id",
        )?
        .query_row(
            params![
                (found.id < numbers).then_some(found.id),
                &*key.principal,
                &*key.agent,
                key.thread.as_str(),
                session,
                workdir,
                title,
                said.is_partial,
                created_ms,
                updated_ms
            ],
            |row| row.get(0),
        )?;
    fill(db, id, copy, usize::MAX)
}

/// Adds what a copy knows to what is there, because it does not know all of that. What is there of the transcript
/// may now have gaps. The session is the copy's, also if that is none: it was unbound then, or a run went without it.
pub(in crate::store) fn merge(db: &Connection, key: &Key, copy: &Copy, most: usize) -> Result<()> {
    let Some(found) = &copy.found else {
        return Ok(());
    };
    let Some(id) = threads::id(db, key)? else {
        return replace(db, key, copy, 0);
    };
    db.prepare_cached(
        "UPDATE agui_threads SET session = ?2, workdir = ?3, title = coalesce(?4, title),
             updated_ms = ?5, is_partial = 1
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        found.thread.session,
        found.thread.workdir,
        found.thread.title,
        found.thread.updated_ms
    ])?;
    fill(db, id, copy, most)
}

fn fill(db: &Connection, id: i64, copy: &Copy, most: usize) -> Result<()> {
    for run in &copy.runs {
        runs::put(db, id, run)?;
    }
    prompts::put(db, id, copy.prompts.iter().cloned())?;
    let lines = copy.found.as_ref().map_or(&[][..], |found| &found.lines);
    transcript::put(db, id, lines, most)
}
