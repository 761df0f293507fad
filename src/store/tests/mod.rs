//! What is asked of a store in its tests, in few words.

mod bounds;
mod failing;
mod opening;
mod property;
mod worker;

use std::{path::Path, time::Duration};

use super::{
    Begin, Fate, Key, Line, Location, Options, Outcome, Page, Prompt, Run, Thread, tables::Found,
    tiers::Tiers, written,
};
use crate::{
    env::Env,
    protocol::{Content, Message, MessageBody, MessageId, RunId, ThreadId},
};

/// Noon of some day.
const NOON: i64 = 1_700_000_000_000;

/// How most runs end.
const DONE: Outcome = Outcome::Success { stop_reason: None };

fn key(thread: &str) -> Key {
    Key {
        principal: "ann".into(),
        agent: "coder".into(),
        thread: ThreadId::new(thread).unwrap(),
    }
}

fn run(id: &str) -> RunId {
    RunId::new(id).unwrap()
}

fn message(id: &str, text: &str) -> Message {
    let body = MessageBody::User {
        content: Content::Text(text.into()),
        name: None,
    };
    Message::new(MessageId::new(id).unwrap(), body)
}

/// A run that says these things.
fn says(id: &str, messages: &[Message]) -> Begin {
    Begin {
        run: run(id),
        workdir: None,
        title: None,
        cut: None,
        lines: messages.iter().cloned().map(Line::from).collect(),
    }
}

fn options(path: &Path) -> Options {
    Options {
        at: Location::file(path),
        wait: Duration::ZERO,
        ..Options::default()
    }
}

/// The databases without their thread, trying a file that failed again at once.
fn tiers(options: Options) -> Tiers {
    let mut tiers = Tiers::open(options, Env::fixed(NOON)).unwrap();
    tiers.retry = Duration::ZERO;
    tiers
}

fn in_memory() -> Tiers {
    tiers(Options::default())
}

impl Tiers {
    /// Notes that a run begins, at a time.
    fn begin_at(&mut self, now_ms: i64, thread: &str, begin: Begin) {
        self.env = Env::fixed(now_ms);
        self.begin(&key(thread), &begin.written());
    }

    fn adds(&mut self, thread: &str, messages: Vec<Message>) {
        self.add(&key(thread), &written(messages));
    }

    /// Lets a run of that thread stop to ask for these.
    fn asks(&mut self, thread: &str, id: &str, prompts: &[&str]) {
        let prompts: Vec<_> = prompts.iter().map(ToString::to_string).collect();
        self.park(&key(thread), &run(id), &Outcome::Interrupted, &prompts, &[]);
    }

    fn settles(&mut self, thread: &str, id: &str, prompt: &str, answer: Option<&str>) {
        let settled = (prompt.to_owned(), answer.map(ToOwned::to_owned));
        self.settle(&key(thread), &run(id), &[settled]);
    }

    /// What became of these, without those that are not known.
    fn fates(&mut self, thread: &str, prompts: &[&str]) -> Vec<Prompt> {
        let ids: Vec<_> = prompts.iter().map(ToString::to_string).collect();
        self.prompts(&key(thread), &ids)
    }

    fn sees(&mut self, thread: &str) -> Option<Thread> {
        self.look(&key(thread), None).0.map(Found::read)
    }

    /// The ids of a transcript; none if there is no such thread.
    fn ids(&mut self, thread: &str) -> Vec<String> {
        let thread = self.sees(thread);
        let lines = thread.map(|thread| thread.transcript.lines);
        let ids = lines.unwrap_or_default().into_iter();
        ids.map(|line| line.message.id.to_string()).collect()
    }

    fn file(&self) -> &rusqlite::Connection {
        &self.file.as_ref().unwrap().connection
    }
}

fn names(page: &Page) -> Vec<&str> {
    let threads = page.threads.iter();
    threads.map(|summary| summary.thread.as_str()).collect()
}

fn open(id: &str) -> Prompt {
    let id = id.into();
    Prompt {
        id,
        fate: Fate::Open,
    }
}

fn answered(id: &str, by: &str, digest: &str) -> Prompt {
    let (run, digest) = (run(by), digest.into());
    Prompt {
        id: id.into(),
        fate: Fate::Answered { run, digest },
    }
}

fn closed(id: &str, by: &str) -> Prompt {
    Prompt {
        id: id.into(),
        fate: Fate::Closed { run: run(by) },
    }
}

/// A text that is so many bytes long.
fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A run that has ended, at the time at which it began.
fn ended(id: &str, outcome: Outcome, now_ms: i64) -> Run {
    let is_running = outcome == Outcome::Running;
    Run {
        id: run(id),
        outcome,
        started_ms: now_ms,
        ended_ms: (!is_running).then_some(now_ms),
    }
}
