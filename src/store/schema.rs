//! The database's shape, by numbered steps that only go forward.

use rusqlite::{Connection, TransactionBehavior};

/// The number of the last step.
pub(super) const NEWEST: u32 = 2;

/// The steps, the first one first. A step that was released is never changed.
const MIGRATIONS: [&str; NEWEST as usize] = [
    include_str!("../../migrations/0001_threads.sql"),
    include_str!("../../migrations/0002_prompts.sql"),
];

/// Says in a database's header whose it is (`PRAGMA application_id`): "AGUI".
pub(super) const APPLICATION_ID: u32 = u32::from_be_bytes(*b"AGUI");

/// Brings a database to the newest shape. A step is done wholly or not at all.
pub(super) fn migrate(db: &mut Connection) -> rusqlite::Result<()> {
    let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (step, number) in MIGRATIONS.iter().zip(1u32..).skip(version as usize) {
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute_batch(step)?;
        change.pragma_update(None, "application_id", APPLICATION_ID)?;
        note(&change, number)?;
        change.commit()?;
    }
    Ok(())
}

/// Notes the number of the shape that a database has.
pub(super) fn note(db: &Connection, number: u32) -> rusqlite::Result<()> {
    db.pragma_update(None, "user_version", number)
}

/// The tables that a database has.
pub(super) fn tables(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    names.query_map([], |row| row.get(0))?.collect()
}
