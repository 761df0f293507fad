//! The rows of what was asked for.

use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use super::threads;
use crate::{
    protocol::RunId,
    store::{Fate, Key, Prompt},
};

/// How many prompts of a thread are remembered.
pub(super) const MOST: u32 = 1000;

/// Notes prompts of a thread as open. One that is there already stays as it is.
pub(in crate::store) fn ask(db: &Connection, key: &Key, prompts: &[String]) -> Result<()> {
    let Some(thread) = threads::id(db, key)? else {
        return Ok(());
    };
    let open = |id: &String| Prompt {
        id: id.clone(),
        fate: Fate::Open,
    };
    put(db, thread, prompts.iter().map(open))
}

/// Writes prompts behind those that are there, and drops the oldest beyond the bound. One that is there already
/// keeps its place, and what it was settled with.
pub(super) fn put(
    db: &Connection,
    thread: i64,
    prompts: impl IntoIterator<Item = Prompt>,
) -> Result<()> {
    let mut write = db.prepare_cached(
        "INSERT INTO agui_prompts (thread, prompt, settled_by, answer) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (thread, prompt) DO UPDATE SET
             settled_by = excluded.settled_by, answer = excluded.answer
         WHERE settled_by IS NULL",
    )?;
    for Prompt { id, fate } in prompts {
        let (run, answer) = match &fate {
            Fate::Open => (None, None),
            Fate::Answered { run, digest } => (Some(run.as_str()), Some(digest)),
            Fate::Closed { run } => (Some(run.as_str()), None),
        };
        write.execute(params![thread, id, run, answer])?;
    }
    db.prepare_cached(
        "DELETE FROM agui_prompts WHERE thread = ?1 AND seq <=
         (SELECT seq FROM agui_prompts WHERE thread = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute(params![thread, MOST])?;
    Ok(())
}

/// Settles prompts of a thread, each with the digest of its answer or without one. What is settled already, or not
/// known, stays so.
pub(in crate::store) fn settle(
    db: &Connection,
    key: &Key,
    run: &RunId,
    settled: &[(String, Option<String>)],
) -> Result<()> {
    let Some(thread) = threads::id(db, key)? else {
        return Ok(());
    };
    let mut write = db.prepare_cached(
        "UPDATE agui_prompts SET settled_by = ?3, answer = ?4
         WHERE thread = ?1 AND prompt = ?2 AND settled_by IS NULL",
    )?;
    for (prompt, answer) in settled {
        write.execute(params![thread, prompt, run.as_str(), answer])?;
    }
    Ok(())
}

/// Those of these prompts that are known, in the order in which they are asked for.
pub(in crate::store) fn prompts(db: &Connection, key: &Key, ids: &[String]) -> Result<Vec<Prompt>> {
    let Some(thread) = threads::id(db, key)? else {
        return Ok(Vec::new());
    };
    let mut one = db.prepare_cached(
        "SELECT prompt, settled_by, answer FROM agui_prompts WHERE thread = ?1 AND prompt = ?2",
    )?;
    let mut found = Vec::new();
    for id in ids {
        let prompt = one.query_row(params![thread, id], prompt_of).optional()?;
        found.extend(prompt.flatten());
    }
    Ok(found)
}

/// All prompts, the first one first, as far as they can be read.
pub(super) fn all(db: &Connection, thread: i64, into: &mut Vec<Prompt>) -> Result<()> {
    let mut rows = db.prepare_cached(
        "SELECT prompt, settled_by, answer FROM agui_prompts WHERE thread = ?1 ORDER BY seq",
    )?;
    for prompt in rows.query_map([thread], prompt_of)? {
        into.extend(prompt?);
    }
    Ok(())
}

/// The prompt of a row; nothing if it was settled by a run whose id is none that a client can name.
fn prompt_of(row: &Row<'_>) -> Result<Option<Prompt>> {
    let run = row.get::<_, Option<String>>(1)?.map(RunId::new);
    let fate = match (run, row.get(2)?) {
        (None, _) => Fate::Open,
        (Some(Ok(run)), Some(digest)) => Fate::Answered { run, digest },
        (Some(Ok(run)), None) => Fate::Closed { run },
        (Some(Err(_)), _) => return Ok(None),
    };
    let id = row.get(0)?;
    Ok(Some(Prompt { id, fate }))
}
