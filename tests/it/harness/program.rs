//! The program itself, as a process with a clean environment and folders of its own.

use std::{net::SocketAddr, path::Path, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, ChildStdout, Command},
};

use super::{TOKEN, soon};

/// The program, not started yet or running. Dropping it kills it.
pub(crate) struct Program {
    command: Command,
    /// Its home, where its state is kept.
    pub(crate) home: TempDir,
}

/// What a program that has ended left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A program that serves.
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it has shown so far: its first screen.
    pub(crate) screen: String,
    _home: TempDir,
}

impl Program {
    /// The program with these arguments. It knows where its home is, and nothing else of this machine.
    pub(crate) fn new(args: &[&str]) -> Self {
        Self::at(Path::new(env!("CARGO_BIN_EXE_agui-serve")), args)
    }

    /// An example of the library, which cargo puts beside the folder of the tests.
    pub(crate) fn example(name: &str, args: &[&str]) -> Self {
        let test = std::env::current_exe().unwrap();
        let path = test.ancestors().nth(2).unwrap().join("examples").join(name);
        assert!(path.is_file(), "cargo build --example {name}");
        Self::at(&path, args)
    }

    fn at(program: &Path, args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Self { command, home }
    }

    /// Sets a variable of its environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives it the token of the harness.
    pub(crate) fn with_token(self) -> Self {
        self.env("AGUI_TOKEN", TOKEN)
    }

    /// Writes a file into its home, with this mode.
    pub(crate) fn file(self, name: &str, text: &str, mode: u32) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// Runs it to its end.
    pub(crate) async fn end(&mut self) -> Ended {
        let output = soon("the program to end", self.command.output()).await;
        let output = output.unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts it, and waits until it says that it listens.
    pub(crate) async fn serve(mut self) -> Running {
        let mut child = self.command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut screen = String::new();
        while !screen.lines().any(|line| line.starts_with("listening on ")) {
            let read = soon("the first screen", stdout.read_line(&mut screen)).await;
            if read.unwrap() == 0 {
                let mut stderr = String::new();
                let mut pipe = child.stderr.take().unwrap();
                pipe.read_to_string(&mut stderr).await.unwrap();
                panic!("the program ended: {stderr}");
            }
        }
        Running {
            child,
            stdout,
            screen,
            _home: self.home,
        }
    }
}

impl Running {
    /// What clients put before `/{agent}`.
    pub(crate) fn url(&self) -> &str {
        let line = self.screen.lines().last().unwrap();
        line.strip_prefix("listening on ").unwrap()
    }

    /// The address that it listens on.
    pub(crate) fn addr(&self) -> SocketAddr {
        let rest = self.url().strip_prefix("http://").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> Ended {
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().unwrap();
        let mut stdout = self.screen;
        let (read, shown) = soon("the program to end", async {
            tokio::join!(
                pipe.read_to_string(&mut stderr),
                self.stdout.read_to_string(&mut stdout)
            )
        })
        .await;
        read.unwrap();
        shown.unwrap();
        let status = soon("the program to end", self.child.wait()).await.unwrap();
        Ended {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}
