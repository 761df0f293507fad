//! What can be asked of the databases, each with the statements that do it.

use std::{cmp::Reverse, collections::HashSet};

use rusqlite::Connection;

use super::{
    Begin, Key, Outcome, Page, Place, Prompt, Run, tables,
    tables::Found,
    tiers::{Tiers, at_once, or_default},
    written::Written,
};
use crate::protocol::{RunId, ThreadId};

impl Tiers {
    pub(super) fn knows(&mut self, key: &Key) -> bool {
        self.read(key, |db| tables::knows(db, key))
    }

    pub(super) fn run(&mut self, key: &Key, run: &RunId) -> Option<Run> {
        self.read(key, |db| tables::run(db, key, run))
    }

    pub(super) fn look(&mut self, key: &Key, run: Option<&RunId>) -> (Option<Found>, Option<Run>) {
        self.read(key, |db| tables::look(db, key, run))
    }

    pub(super) fn begin(&mut self, key: &Key, begin: &Begin<Written>) {
        let (most, now) = (self.options.transcript_bytes, self.env.now_ms());
        self.write(key, |db| tables::begin(db, key, begin, most, now));
    }

    pub(super) fn bind(&mut self, key: &Key, session: &str) {
        self.write(key, |db| tables::bind(db, key, session));
    }

    pub(super) fn entitle(&mut self, key: &Key, title: &str) {
        self.write(key, |db| tables::entitle(db, key, title));
    }

    pub(super) fn add(&mut self, key: &Key, lines: &[Written]) {
        let (most, now) = (self.options.transcript_bytes, self.env.now_ms());
        self.write(key, |db| tables::add(db, key, lines, most, now));
    }

    pub(super) fn draft(&mut self, key: &Key, lines: &[Written]) {
        let most = self.options.transcript_bytes;
        self.write(key, |db| tables::draft(db, key, lines, most));
    }

    pub(super) fn refill(&mut self, key: &Key, lines: &[Written]) {
        let most = self.options.transcript_bytes;
        self.write(key, |db| tables::refill(db, key, lines, most));
    }

    pub(super) fn lose(&mut self, key: &Key) {
        self.write(key, |db| tables::lose(db, key));
    }

    pub(super) fn end(&mut self, key: &Key, run: &RunId, outcome: &Outcome) {
        let now = self.env.now_ms();
        self.write(key, |db| tables::end(db, key, run, outcome, now));
    }

    pub(super) fn park(
        &mut self,
        key: &Key,
        run: &RunId,
        outcome: &Outcome,
        prompts: &[String],
        lines: &[Written],
    ) {
        let (most, now) = (self.options.transcript_bytes, self.env.now_ms());
        self.write(key, |db| {
            tables::end(db, key, run, outcome, now)?;
            tables::ask(db, key, prompts)?;
            tables::draft(db, key, lines, most)
        });
    }

    pub(super) fn settle(&mut self, key: &Key, run: &RunId, settled: &[(String, Option<String>)]) {
        self.write(key, |db| tables::settle(db, key, run, settled));
    }

    pub(super) fn prompts(&mut self, key: &Key, ids: &[String]) -> Vec<Prompt> {
        self.read(key, |db| tables::prompts(db, key, ids))
    }

    pub(super) fn list(
        &mut self,
        principal: &str,
        agent: &str,
        from: Option<Place>,
        limit: usize,
    ) -> Page {
        self.mend();
        // One more, which is where the next part begins.
        let most = limit.saturating_add(1);
        let part = |db: &Connection, wanted: &dyn Fn(&ThreadId) -> bool| {
            tables::newest(db, principal, agent, from, most, wanted)
        };
        let key = |thread: &ThreadId| Key {
            principal: principal.into(),
            agent: agent.into(),
            thread: thread.clone(),
        };
        let in_file = self.file.as_ref().map(|file| {
            let is_there =
                |thread: &ThreadId| self.away.is_empty() || !self.away.contains_key(&key(thread));
            part(&file.connection, &is_there)
        });
        let mut found = in_file.unwrap_or(Ok(Vec::new())).unwrap_or_else(|error| {
            let (principal, agent) = (principal.to_owned(), agent.to_owned());
            let again = move |db: &Connection| {
                tables::newest(db, &principal, &agent, from, most, |_| true).map(drop)
            };
            self.stumble(&error, Some(Box::new(again)));
            Vec::new()
        });
        found.extend(or_default(part(&self.memory, &|_| true)));
        found.sort_by_key(|(place, _)| Reverse((place.updated_ms, place.id)));
        let next = found.get(limit).map(|(place, _)| *place);
        found.truncate(limit);
        Page {
            threads: found.into_iter().map(|(_, summary)| summary).collect(),
            next,
        }
    }

    pub(super) fn forget(&mut self, key: &Key) -> bool {
        let was_there = self.write(key, |db| tables::forget(db, key));
        self.note_forgotten(key);
        self.give_back();
        was_there
    }

    pub(super) fn sweep(&mut self, live: &[Key]) -> Vec<(Key, Option<String>)> {
        self.mend();
        let live: HashSet<Key> = live.iter().cloned().collect();
        let most = self.options.max_threads;
        let since = self.options.max_age.map(|age| {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            self.env.now_ms().saturating_sub(age)
        });
        let mut gone = Vec::new();
        if let Some(file) = self.file.as_ref().filter(|_| !self.is_quiet()) {
            let is_spared = |key: &Key| live.contains(key) || self.away.contains_key(key);
            match at_once(&file.connection, |db| {
                tables::sweep(db, most, since, is_spared)
            }) {
                Ok(old) => gone = old,
                Err(error) => {
                    let live = live.clone();
                    let again = move |db: &Connection| {
                        tables::sweep(db, most, since, |key| live.contains(key)).map(drop)
                    };
                    self.keep_quiet(&error, Some(Box::new(again)));
                }
            }
        }
        let old = or_default(at_once(&self.memory, |db| {
            tables::sweep(db, most, since, |key| live.contains(key))
        }));
        for (key, _) in &old {
            self.note_forgotten(key);
        }
        gone.extend(old);
        if !gone.is_empty() {
            self.give_back();
        }
        gone
    }

    /// Gives freed pages back to the system. Where it fails there is nothing lost.
    fn give_back(&self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.trouble.is_none()) {
            let _ = tables::give_back(&file.connection);
        }
    }
}
