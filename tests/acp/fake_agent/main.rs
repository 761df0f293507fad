//! An ACP agent that needs no model: it does what its arguments and its prompts say.
//!
//! Arguments shape the start: `--mute` (answers nothing), `--exit CODE`, `--version N`, `--auth` (wants a
//! login), `--logins AUTH_METHODS_JSON`, `--logging-in CODE` (says what it sees and ends so), `--no-eof` (stays
//! when its input ends), `--banner`, `--alive SOCKET` (holds a connection for as long as it lives), `--await-go` (waits
//! for a byte on that).
//!
//! What it leaves behind: `--child` (has a child that holds a connection too and never ends by itself),
//! `--far-child` (one in a session of its own), `--family` (has four such: in its group, in a session of its own,
//! one that has lost its parent too, and one that is deaf to `SIGTERM`).
//!
//! Its sessions: `--resume`, `--load`, `--load-late` (tells the history after its answer), `--gone` (knows no
//! session), `--replays UPDATES` (tells these too, one a line), `--resume-fails`, `--resume-hangs`, `--close`, `--close-hangs`, `--delete`, `--system-prompt` (takes one),
//! `--modes CURRENT,OTHER,...`, `--options` (offers a model and an effort), `--set-fails`, `--set-hangs` (answers nothing
//! to a mode).
//!
//! Its tools: those that it is handed as programs, and with `--tools-http` those at URLs, which it lists at once;
//! `--tools-codex` (those that `CODEX_CONFIG` names), `--heeds` (lists them again when it is told).
//!
//! What it does when it is hostile: `--strike` and `--escape SUPERVISOR`, see `hostile`.
//!
//! It works at as many prompts at once as it has sessions. What a prompt can say stands in `steps`.

use std::{
    env,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    panic,
    process::exit,
    sync::Arc,
};

use agent::Agent;
use family::leave_a_child;
use wire::print;

mod agent;
mod family;
mod hostile;
mod steps;
mod tools;
mod wire;

/// Said where the program is not used as it is meant to be.
const USAGE: &str = "see the head of this program's source";

fn main() {
    let args = Args(env::args().skip(1).collect());
    // A thread that has panicked would leave its prompt without an answer.
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |what| {
        report(what);
        exit(101);
    }));
    if let Some(code) = args.value("--logging-in") {
        let folder = env::current_dir().expect("it is there");
        println!("it logs in, in {}", folder.display());
        println!("it sees {}", variables().join(","));
        exit(code.parse().expect(USAGE));
    }
    if args.has("--strike") {
        println!("{}", hostile::strike().join("\n"));
        return;
    }
    if let Some(supervisor) = args.value("--escape") {
        return hostile::escape(supervisor);
    }
    let agent = Arc::new(Agent::new(args.clone()));
    let mut alive = args.value("--alive").map(|socket| {
        let mut stream = UnixStream::connect(socket).expect("somebody listens");
        writeln!(stream, "{}", std::process::id()).expect("it is connected");
        stream
    });
    if args.has("--orphan") {
        family::be_left_behind(&args, alive.as_mut().expect(USAGE));
        return;
    }
    if args.has("--await-go") {
        let alive = alive.as_mut().expect(USAGE);
        alive.read_exact(&mut [0]).expect("somebody lets it go");
    }
    if let Some(code) = args.value("--exit") {
        eprintln!("it cannot go on");
        exit(code.parse().expect(USAGE));
    }
    if args.has("--child") {
        leave_a_child(&args, &[]);
    }
    if args.has("--far-child") {
        leave_a_child(&args, &["--session"]);
    }
    if args.has("--family") {
        for how in [&[][..], &["--session"], &["--daemon"], &["--deaf"]] {
            leave_a_child(&args, how);
        }
    }
    if args.has("--banner") {
        print("Welcome!\r\n\u{1b}[32mready\u{1b}[0m");
    }
    agent.serve();
    drop(alive);
}

/// What the program was started with.
#[derive(Clone)]
struct Args(Vec<String>);

impl Args {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|arg| arg == name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|arg| arg == name)?;
        self.0.get(at + 1).map(String::as_str)
    }
}

/// The names of the variables that it was given.
#[expect(
    clippy::disallowed_methods,
    reason = "the agent tells what it was given"
)]
fn variables() -> Vec<String> {
    let mut names: Vec<_> = env::vars().map(|(name, _)| name).collect();
    names.sort();
    names
}
