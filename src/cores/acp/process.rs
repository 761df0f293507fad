//! The agent's program, which ends with its owner, and everything that it has started with it.
//!
//! The SDK's own way to start an agent was weighed: it knows no working directory, cannot clear the
//! environment, and keeps the process id and the exit status to itself. `command-group` and
//! `process-wrap` add a group to a command; with [`Command::process_group`] that is one line here, and
//! neither gives the order of ends below.
//!
//! With a supervisor (see [`super::supervisor`]) nothing outlives it, not even when the daemon is killed
//! without a chance to clean up; here it is only asked to do its work. Without one, only the program's
//! process group ends: what leaves the group (`setsid`) outlives it, and so does the group when the daemon
//! is killed.

use std::{
    path::{Path, PathBuf},
    pin::pin,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{Either, select},
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

use super::{
    ending::{Cause, Step, WHOLE},
    failure::{End, Ended, Failure},
    lines::Lines,
    options::Options,
    stderr::{self, Tail},
    supervisor,
};

/// How long the output may go on after the program's end. It is held open only by what outlives it.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);

/// How long a supervisor may take for all its steps, with room for a machine that is busy.
const SUPERVISOR_GRACE: Duration = WHOLE.saturating_add(Duration::from_secs(2));

/// A running program. Dropping it ends it and what it has started, as far as it can be reached.
pub(super) struct Process {
    child: Child,
    reach: Reach,
    tail: Arc<Tail>,
    /// Whose it is, for the log.
    agent: String,
}

/// The program's three streams.
pub(super) struct Pipes {
    /// What it reads.
    pub(super) stdin: ChildStdin,
    /// What it writes.
    pub(super) stdout: Lines<ChildStdout>,
    /// What it complains.
    pub(super) stderr: Lines<ChildStderr>,
}

/// How hard a program is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Its input is closed first, so that it can save what it has.
    Gentle,
    /// It had its chance.
    Firm,
}

impl Process {
    /// Starts the agent's program in `workdir`, with its environment, `more` of it, and nothing else.
    ///
    /// # Errors
    /// [`Failure::Unavailable`]: the program is missing, or cannot be used.
    pub(super) fn start(
        options: &Options,
        workdir: &Path,
        more: Option<(&str, String)>,
    ) -> Result<(Self, Pipes), Failure> {
        let (program, mut command) = command(options);
        command
            .args(&options.args)
            .env_clear()
            .envs(options.environment())
            .envs(more)
            .current_dir(workdir)
            .process_group(0)
            .kill_on_drop(options.supervisor.is_none())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = supervisor::spawn(&mut command)
            .map_err(|error| Failure::Unavailable(format!("{}: {error}", program.display())))?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let id = id
            .and_then(Pid::from_raw)
            .expect("it was not waited for yet");
        let reach = match options.supervisor {
            Some(_) => Reach::Supervisor(id),
            None => Reach::Group(id),
        };
        let pipes = Pipes {
            stdin: child.stdin.take().expect("it is piped"),
            stdout: Lines::new(child.stdout.take().expect("it is piped"), options.max_line),
            stderr: stderr::lines(child.stderr.take().expect("it is piped")),
        };
        let tail = Arc::default();
        let agent = options.name.clone();
        let process = Self {
            child,
            reach,
            tail,
            agent,
        };
        Ok((process, pipes))
    }

    /// The process that all others of the agent are below.
    pub(super) fn id(&self) -> Option<Pid> {
        match self.reach {
            Reach::Group(id) | Reach::Supervisor(id) => Some(id),
            Reach::Nothing => None,
        }
    }

    /// Where the program's complaints are kept.
    pub(super) fn tail(&self) -> Arc<Tail> {
        Arc::clone(&self.tail)
    }

    /// Ends once the program has ended and its output has had time to be read. What the program left
    /// behind ends too, so that it does not hold the output open.
    pub(super) async fn over(&mut self) {
        // A failure to wait means that there is nothing to wait for.
        let _ = self.child.wait().await;
        self.finish();
        sleep(OUTPUT_GRACE).await;
    }

    /// Ends the program and what it has started, and says how it ended. From when `hurry` ends it is not
    /// waited for to end by itself.
    pub(super) async fn end(
        mut self,
        pipes: Pipes,
        manner: Manner,
        hurry: impl Future<Output = ()>,
    ) -> End {
        let Pipes {
            stdin,
            mut stdout,
            mut stderr,
        } = pipes;
        let (tail, agent) = (self.tail(), self.agent.clone());
        // A program that cannot write does not end.
        let quiet = pin!(async {
            tokio::join!(stdout.discard(), tail.drain(&mut stderr, &agent));
        });
        let winding_down = self.wind_down(stdin, manner, hurry);
        let (status, quiet) = match select(pin!(winding_down), quiet).await {
            Either::Left((status, quiet)) => (status, Some(quiet)),
            Either::Right(((), winding_down)) => (winding_down.await, None),
        };
        self.finish();
        if let Some(quiet) = quiet {
            // What it said last is the most telling.
            let _ = timeout(OUTPUT_GRACE, quiet).await;
        }
        let said = self.tail.text();
        match status {
            Some(status) if supervisor::not_started(status, &said) => End::NotStarted(said),
            status => End::Ended(Ended { status, said }),
        }
    }

    async fn wind_down(
        &mut self,
        stdin: ChildStdin,
        manner: Manner,
        hurry: impl Future<Output = ()>,
    ) -> Option<ExitStatus> {
        drop(stdin);
        let mut hurry = pin!(hurry.fuse());
        let mut step = Step::Running.after(match manner {
            Manner::Gentle => Cause::InputClosed,
            Manner::Firm => Cause::Order,
        });
        loop {
            if let Some(signal) = step.signal() {
                self.reach.signal(signal);
            }
            let grace = self.reach.grace(step)?;
            let is_patient = step == Step::Closed;
            step = tokio::select! {
                biased;
                status = self.child.wait() => return status.ok(),
                () = &mut hurry, if is_patient => step.after(Cause::Order),
                () = sleep(grace) => self.reach.next(step),
            };
        }
    }

    /// Kills what the program has left in its group; a supervisor that was waited for has left nothing.
    /// From here on the number may be a stranger's.
    fn finish(&mut self) {
        if let Reach::Group(_) = self.reach {
            self.reach.signal(Signal::KILL);
        }
        self.reach = Reach::Nothing;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        match self.reach {
            Reach::Group(_) => self.reach.signal(Signal::KILL),
            // Not killed: it has work to do, and whoever runs the runtime waits for it.
            Reach::Supervisor(_) => self.reach.signal(Signal::TERM),
            Reach::Nothing => {}
        }
    }
}

/// The command that starts the agent's program, and the program that it names.
fn command(options: &Options) -> (PathBuf, Command) {
    let program = options.program();
    let Some(supervisor) = &options.supervisor else {
        let command = Command::new(&program);
        return (program, command);
    };
    let mut command = Command::new(supervisor);
    command
        .arg0(env!("CARGO_PKG_NAME"))
        .arg(supervisor::WORD)
        .arg("--")
        .arg(program);
    (supervisor.clone(), command)
}

/// What a signal reaches, and so who takes the steps of the ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The program's process group: the steps are taken here.
    ///
    /// The number of a group stays taken while it has members. Once it has none, it could in theory name
    /// a stranger's group; the numbers go round, so that does not happen in the moment this takes.
    Group(Pid),
    /// The supervisor alone: it takes the steps, at the end of its input or at `SIGTERM`.
    Supervisor(Pid),
    /// Nothing, since it is over.
    Nothing,
}

impl Reach {
    /// Sends it. That nobody is there any more is no failure.
    fn signal(self, signal: Signal) {
        let _ = match self {
            Self::Group(group) => kill_process_group(group, signal),
            Self::Supervisor(id) => kill_process(id, signal),
            Self::Nothing => Ok(()),
        };
    }

    /// How long to wait in a step; not at all in the last.
    fn grace(self, step: Step) -> Option<Duration> {
        match (self, step) {
            (Self::Supervisor(_), Step::Closed | Step::Told) => Some(SUPERVISOR_GRACE),
            (_, step) => step.grace(),
        }
    }

    /// What to do when that was not enough.
    fn next(self, step: Step) -> Step {
        match (self, step) {
            // It has tried everything else.
            (Self::Supervisor(_), Step::Closed) => Step::Killed,
            (_, step) => step.after(Cause::TimeUp),
        }
    }
}
