//! The database's shape, by numbered steps that only go forward.

use rusqlite::Connection;

/// The steps, the first one first. A step that was released is never changed.
const MIGRATIONS: [&str; 1] = [include_str!("../../migrations/0001_threads.sql")];

/// Brings a database to the newest shape.
pub(super) fn migrate(db: &mut Connection) -> rusqlite::Result<()> {
    let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (step, number) in MIGRATIONS.iter().zip(1u32..).skip(version as usize) {
        let change = db.transaction()?;
        change.execute_batch(step)?;
        change.pragma_update(None, "user_version", number)?;
        change.commit()?;
    }
    Ok(())
}
