//! The rows of runs.

use rusqlite::{Connection, OptionalExtension as _, Result, Row, params};

use super::threads;
use crate::{
    protocol::RunId,
    store::{Key, Outcome, Run},
};

/// How many runs of a thread are remembered, besides those that have not ended.
pub(super) const MOST: u32 = 1000;

const COLUMNS: &str = "run, outcome, stop_reason, code, message, started_ms, ended_ms";

/// Notes that a run begins; one of the same id before it is no longer known.
pub(super) fn start(db: &Connection, thread: i64, run: &RunId, now: i64) -> Result<()> {
    let run = Run {
        id: run.clone(),
        outcome: Outcome::Running,
        started_ms: now,
        ended_ms: None,
    };
    put(db, thread, &run)?;
    db.prepare_cached(
        "DELETE FROM agui_runs WHERE thread = ?1 AND outcome <> 'running' AND seq <=
         (SELECT seq FROM agui_runs WHERE thread = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute(params![thread, MOST])?;
    Ok(())
}

/// Writes a run behind all others.
pub(super) fn put(db: &Connection, thread: i64, run: &Run) -> Result<()> {
    db.prepare_cached("DELETE FROM agui_runs WHERE thread = ?1 AND run = ?2")?
        .execute(params![thread, run.id.as_str()])?;
    let Details {
        stop_reason,
        code,
        message,
    } = Details::of(&run.outcome);
    db.prepare_cached(
        "INSERT INTO agui_runs (thread, run, outcome, stop_reason, code, message, started_ms, ended_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        thread,
        run.id.as_str(),
        run.outcome.as_str(),
        stop_reason,
        code,
        message,
        run.started_ms,
        run.ended_ms
    ])?;
    Ok(())
}

/// Notes how a run of a thread ended.
pub(in crate::store) fn end(
    db: &Connection,
    key: &Key,
    run: &RunId,
    outcome: &Outcome,
    now: i64,
) -> Result<()> {
    let Some(thread) = threads::id(db, key)? else {
        return Ok(());
    };
    let Details {
        stop_reason,
        code,
        message,
    } = Details::of(outcome);
    db.prepare_cached(
        "UPDATE agui_runs SET outcome = ?3, stop_reason = ?4, code = ?5, message = ?6, ended_ms = ?7
         WHERE thread = ?1 AND run = ?2",
    )?
    .execute(params![
        thread,
        run.as_str(),
        outcome.as_str(),
        stop_reason,
        code,
        message,
        now
    ])?;
    threads::touch(db, thread, now)
}

/// The run of that id.
pub(super) fn get(db: &Connection, thread: i64, run: &RunId) -> Result<Option<Run>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM agui_runs WHERE thread = ?1 AND run = ?2"
    ))?
    .query_row(params![thread, run.as_str()], run_of)
    .optional()
    .map(Option::flatten)
}

/// The run that was started last: not by the clock, which may be put back, but by the order of the rows.
pub(super) fn last(db: &Connection, thread: i64) -> Result<Option<Run>> {
    db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM agui_runs WHERE thread = ?1 ORDER BY seq DESC LIMIT 1"
    ))?
    .query_row([thread], run_of)
    .optional()
    .map(Option::flatten)
}

/// All runs, the first one first, as far as they can be read.
pub(super) fn all(db: &Connection, thread: i64, into: &mut Vec<Run>) -> Result<()> {
    let mut rows = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM agui_runs WHERE thread = ?1 ORDER BY seq"
    ))?;
    for run in rows.query_map([thread], run_of)? {
        into.extend(run?);
    }
    Ok(())
}

/// What is written of an outcome besides its word.
#[derive(Default)]
struct Details<'a> {
    stop_reason: Option<&'a str>,
    code: Option<&'a str>,
    message: Option<&'a str>,
}

impl<'a> Details<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        match outcome {
            Outcome::Running | Outcome::Interrupted | Outcome::Cancelled => Self::default(),
            Outcome::Success { stop_reason } => Self {
                stop_reason: stop_reason.as_deref(),
                ..Self::default()
            },
            Outcome::Failed { code, message } => Self {
                code: Some(code),
                message: Some(message),
                ..Self::default()
            },
        }
    }
}

/// The run of a row; nothing if its id is none that a client can name.
fn run_of(row: &Row<'_>) -> Result<Option<Run>> {
    let Ok(id) = RunId::new(row.get::<_, String>(0)?) else {
        return Ok(None);
    };
    let outcome: String = row.get(1)?;
    let outcome = match &*outcome {
        "success" => Outcome::Success {
            stop_reason: row.get(2)?,
        },
        "interrupt" => Outcome::Interrupted,
        "cancelled" => Outcome::Cancelled,
        "failed" => Outcome::Failed {
            code: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            message: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        },
        _ => Outcome::Running,
    };
    Ok(Some(Run {
        id,
        outcome,
        started_ms: row.get(5)?,
        ended_ms: row.get(6)?,
    }))
}
