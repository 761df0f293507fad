//! What a supervisor does, from its start to its exit code.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write as _},
    os::fd::AsFd as _,
    pin::pin,
    process::{Child, Command},
};

use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper,
    set_dumpable_behavior, wait,
};
use tokio::{
    io::Interest,
    net::unix::pipe::Receiver,
    signal::unix::{SignalKind, signal},
    time::{Duration, Instant, sleep, sleep_until},
};

use super::{
    super::ending::{Cause, Step},
    COMPLAINT, NOT_STARTED, tree,
};

/// How long until it looks again for what was started while others were killed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Runs a program until it and everything that it has started have ended, and answers with the exit code
/// to end with: the program's own, or 128 and the number of the signal that has ended it, or 127, with a
/// line on standard error, if it was not started.
///
/// Standard input has to be a pipe. It takes over the process: standard output and all children.
pub fn supervise(command: &[OsString]) -> u8 {
    let supervised = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(run(command)));
    supervised.unwrap_or_else(|error| {
        complain(&format!("start {}: {error}", shown(command)));
        NOT_STARTED
    })
}

async fn run(command: &[OsString]) -> io::Result<u8> {
    // It is started through a link, and would be called by the link's name.
    let _ = rustix::thread::set_name(c"agui-supervise");
    // All of it before the program is started: from then on nothing may go wrong.
    let me = getpid();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(me))?;
    let mut orders = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::hangup())?,
    ];
    let mut ends = signal(SignalKind::child())?;
    // Not made non-blocking: the program's input would be too. It is never read here.
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let input = Receiver::from_owned_fd_unchecked(input)?;
    let nowhere = File::options().write(true).open("/dev/null")?;
    let mut family = Family::of(&start(command)?);
    // The end of the program's output must be seen where it is read.
    let _ = rustix::stdio::dup2_stdout(&nowhere);

    let mut hangup = pin!(hangup(&input));
    let (mut step, mut until) = (Step::Running, None);
    while family.is_there() && step != Step::GivenUp {
        if step == Step::Killed {
            tree::signal(me, Signal::KILL);
        }
        let [term, int, hup] = &mut orders;
        let cause = tokio::select! {
            biased;
            _ = term.recv() => Some(Cause::Order),
            _ = int.recv() => Some(Cause::Order),
            _ = hup.recv() => Some(Cause::Order),
            () = &mut hangup, if step == Step::Running => Some(Cause::InputClosed),
            () = at(until) => Some(Cause::TimeUp),
            _ = ends.recv() => None,
            () = sleep(LOOK_AGAIN), if step == Step::Killed => None,
        };
        let cause = cause.or_else(|| family.reap());
        let next = cause.map_or(step, |cause| step.after(cause));
        if next != step {
            step = next;
            until = step.grace().map(|grace| Instant::now() + grace);
            if let Some(signal) = step.signal() {
                tree::signal(me, signal);
            }
        }
    }
    if family.is_there() {
        let left = tree::signal(me, Signal::KILL);
        complain(&format!("end {left} processes of {}", shown(command)));
    }
    Ok(family.code())
}

/// Starts the program in a group of its own, so that it cannot signal the supervisor with its group.
fn start(command: &[OsString]) -> io::Result<Child> {
    use std::os::unix::process::CommandExt as _;

    let Some((program, args)) = command.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    Command::new(program).args(args).process_group(0).spawn()
}

/// Ends once nobody can write to the input any more. Nothing of it is read.
async fn hangup(input: &Receiver) {
    // A pipe carries nothing urgent, so that this wakes up for nothing but the end.
    while let Ok(ready) = input.ready(Interest::PRIORITY).await {
        if ready.is_read_closed() {
            return;
        }
    }
}

/// Ends at that time; never if there is none.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The supervisor's children: the program, and what has lost its parent.
struct Family {
    program: Option<Pid>,
    is_there: bool,
    status: Option<WaitStatus>,
}

impl Family {
    fn of(program: &Child) -> Self {
        let id = i32::try_from(program.id()).ok();
        Self {
            program: id.and_then(Pid::from_raw),
            is_there: true,
            status: None,
        }
    }

    /// Whether there is a child, and so whether there is anything below.
    fn is_there(&self) -> bool {
        self.is_there
    }

    /// Waits for those that have ended, which is what makes their number free again.
    fn reap(&mut self) -> Option<Cause> {
        let mut cause = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((child, status))) if Some(child) == self.program => {
                    self.status = Some(status);
                    cause = Some(Cause::ProgramEnded);
                }
                Ok(Some(_)) => {}
                Ok(None) => return cause,
                Err(_) => {
                    self.is_there = false;
                    return cause;
                }
            }
        }
    }

    fn code(&self) -> u8 {
        // What could not be ended counts as killed.
        self.status.map_or(128 + 9, code)
    }
}

fn code(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    let code = status.exit_status().or(signal);
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

/// The program alone: an argument may be a secret.
fn shown(command: &[OsString]) -> String {
    command.first().map_or_else(String::new, |program| {
        program.to_string_lossy().into_owned()
    })
}

/// Says it on standard error, where perhaps nobody reads any more.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "{COMPLAINT}{what}");
}
