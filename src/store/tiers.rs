//! The file, and memory for when there is none or it does not work.
//!
//! Everything is done by the same statements on one of two databases of the same shape. A thread is in one place at
//! a time: in the file, or, once something of it could not be written there, in memory. On its way its rows are
//! copied as far as they can be read, and how far that was decides how it goes back (`Origin`). Without a file all threads are in
//! memory and stay there.
//!
//! The failure is said once, and its end once. Meanwhile the file is tried again now and then, when somebody asks for
//! something anyway, and not oftener than every few seconds: a disk that fails may take long to say so.

use std::{collections::HashMap, time::Duration};

use rusqlite::{Connection, Result, Transaction, TransactionBehavior};
use tokio::time::Instant;
use tracing::warn;

use super::{Error, Key, Location, Options, open, open::File, schema, tables};
use crate::env::Env;

/// How long after a failure the file is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// How much memory is taken for threads that are not in a file, in bytes.
const MEMORY: i64 = 256 * 1024 * 1024;

/// Where the numbers of threads begin that were never in the file.
pub(super) const NUMBERS: i64 = 1 << 40;

/// Both databases, in the hands of the store's thread.
pub(super) struct Tiers {
    pub(super) file: Option<File>,
    pub(super) memory: Connection,
    /// The threads that are in memory although there is a file. Bounded as the threads in memory are, and by how
    /// many there are in the file.
    pub(super) away: HashMap<Key, Away>,
    /// What is wrong with the file.
    pub(super) trouble: Option<Trouble>,
    pub(super) retry: Duration,
    pub(super) most_memory: i64,
    pub(super) options: Options,
    pub(super) env: Env,
}

/// A thread that is in memory although there is a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Away {
    pub(super) origin: Origin,
    /// Whether it was changed since it came.
    pub(super) is_changed: bool,
}

/// How what is in memory of a thread stands to what is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// There is nothing in the file.
    New,
    /// It is all that is in the file.
    Whole,
    /// It is only a part of that.
    Part,
    /// What is in the file is forgotten.
    Forgotten,
}

/// The file does not work.
pub(super) struct Trouble {
    /// When the file is tried again.
    pub(super) next: Instant,
    /// Until when nothing is written to the file.
    quiet: Instant,
    /// What did not work and keeps no thread away: the file works again only once it does that.
    pub(super) failed: Option<Statements>,
}

/// What can be asked of a database once more.
pub(super) type Statements = Box<dyn Fn(&Connection) -> Result<()> + Send>;

impl Tiers {
    /// Opens the file, if there is one, and memory.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(super) fn open(options: Options, env: Env) -> std::result::Result<Self, Error> {
        let file = match &options.at {
            Location::Memory => None,
            Location::File { path, folder } => Some(File::open(path, *folder, options.wait)?),
        };
        let memory = memory().map_err(|source| Error::Database {
            path: ":memory:".into(),
            source,
        })?;
        Ok(Self {
            file,
            memory,
            away: HashMap::new(),
            trouble: None,
            retry: RETRY,
            most_memory: MEMORY,
            options,
            env,
        })
    }

    /// The file, if that is where the thread is.
    fn file_of(&self, key: &Key) -> Option<&File> {
        self.file.as_ref().filter(|_| !self.away.contains_key(key))
    }

    /// Reads something of a thread.
    pub(super) fn read<T: Default>(
        &mut self,
        key: &Key,
        statements: impl Fn(&Connection) -> Result<T>,
    ) -> T {
        self.mend();
        match self.file_of(key).map(|file| statements(&file.connection)) {
            Some(Ok(found)) => return found,
            Some(Err(error)) => {
                self.stumble(&error, None);
                self.take_in(key);
            }
            None => {}
        }
        or_default(statements(&self.memory))
    }

    /// Changes something of a thread, wholly or not at all.
    pub(super) fn write<T: Default>(
        &mut self,
        key: &Key,
        statements: impl Fn(&Connection) -> Result<T>,
    ) -> T {
        self.mend();
        if let Some(file) = self.file_of(key) {
            if !self.is_quiet() {
                match at_once(&file.connection, &statements) {
                    Ok(done) => return done,
                    Err(error) => self.keep_quiet(&error, None),
                }
            }
            self.take_in(key);
        }
        if let Some(away) = self.away.get_mut(key) {
            away.is_changed = true;
        }
        let done = or_default(at_once(&self.memory, &statements));
        self.save_memory();
        done
    }

    /// Whether the file is left alone for now.
    pub(super) fn is_quiet(&self) -> bool {
        let trouble = self.trouble.as_ref();
        trouble.is_some_and(|trouble| Instant::now() < trouble.quiet)
    }

    /// Notes that the file does not work; `failed`: what it did not do, unless that keeps a thread away. That a thread is
    /// kept away is worse, and said also where something else did not work before.
    pub(super) fn stumble(&mut self, error: &rusqlite::Error, failed: Option<Statements>) {
        let is_worse = |known: &Trouble| known.failed.is_some() && failed.is_none();
        let is_said = self.trouble.as_ref().is_some_and(|known| !is_worse(known));
        let Some(file) = self.file.as_ref().filter(|_| !is_said) else {
            return;
        };
        let path = file.path.display();
        warn!(
            %path, %error,
            "the database does not work: what it does not take is kept in memory until it does"
        );
        let now = Instant::now();
        self.trouble = Some(Trouble {
            next: now + self.retry,
            quiet: now,
            failed,
        });
    }

    /// Notes that the file cannot be written to, and leaves it alone for a while.
    pub(super) fn keep_quiet(&mut self, error: &rusqlite::Error, failed: Option<Statements>) {
        self.stumble(error, failed);
        if let Some(trouble) = &mut self.trouble {
            trouble.quiet = Instant::now() + self.retry;
        }
    }

    /// Copies a thread into memory.
    fn take_in(&mut self, key: &Key) {
        let Some(file) = self.file_of(key) else {
            return;
        };
        let copy = tables::read(&file.connection, key);
        let origin = match (copy.is_whole, copy.is_there()) {
            (false, _) => Origin::Part,
            (true, true) => Origin::Whole,
            (true, false) => Origin::New,
        };
        or_default(at_once(&self.memory, |db| {
            tables::replace(db, key, &copy, NUMBERS)
        }));
        let away = Away {
            origin,
            is_changed: false,
        };
        self.away.insert(key.clone(), away);
    }

    /// Notes that a thread is no longer in memory because it was forgotten.
    pub(super) fn note_forgotten(&mut self, key: &Key) {
        let Some(away) = self.away.get_mut(key) else {
            return;
        };
        if away.origin == Origin::New {
            self.away.remove(key);
        } else {
            *away = Away {
                origin: Origin::Forgotten,
                is_changed: true,
            };
        }
    }

    /// Drops transcripts from memory, those of the threads that were written to longest ago, until it is small enough.
    fn save_memory(&mut self) {
        while or_default(size(&self.memory)) > self.most_memory {
            let Some(key) = or_default(at_once(&self.memory, tables::forget_transcripts)) else {
                return;
            };
            if let Some(away) = self.away.get_mut(&key)
                && away.origin == Origin::Whole
            {
                away.origin = Origin::Part;
                away.is_changed = true;
            }
        }
    }
}

/// A database in memory.
fn memory() -> Result<Connection> {
    let mut memory = Connection::open_in_memory()?;
    open::settle(&memory)?;
    schema::migrate(&mut memory)?;
    tables::count_from(&memory, NUMBERS)?;
    Ok(memory)
}

/// How many bytes of a database are in use.
fn size(db: &Connection) -> Result<i64> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?)
}

/// Does several things to a database or none of them.
pub(super) fn at_once<T>(
    db: &Connection,
    statements: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let done = statements(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// What memory answers; it fails only where no memory is left, or by a defect.
pub(super) fn or_default<T: Default>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| {
        warn!(%error, "the store cannot keep something in memory");
        T::default()
    })
}
