//! Processes that the agent leaves behind.

use std::{
    env,
    io::Read as _,
    os::unix::net::UnixStream,
    process::{Command, Stdio},
};

use crate::{Args, USAGE};

/// Starts a child that never ends by itself, and waits until it is there.
#[expect(clippy::zombie_processes, reason = "it is there to be left behind")]
pub(crate) fn leave_a_child(args: &Args, how: &[&str]) {
    let socket = args.value("--alive").expect(USAGE);
    let program = env::current_exe().expect("it runs");
    let mut command = if how.contains(&"--deaf") {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", r#"trap "" TERM; exec "$0" "$@""#])
            .arg(program);
        shell
    } else {
        Command::new(program)
    };
    let mut child = command
        .args(["--orphan", "--alive", socket])
        .args(how)
        // It holds on to the output, as what a shell leaves behind does.
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can run again");
    let stderr = child.stderr.as_mut().expect("it is piped");
    stderr.read_exact(&mut [0]).expect("it connects");
}

/// What such a child does.
pub(crate) fn be_left_behind(args: &Args, alive: &mut UnixStream) {
    if args.has("--session") {
        rustix::process::setsid().expect("it leads no group yet");
    }
    if args.has("--daemon") {
        leave_a_child(args, &["--session"]);
    }
    eprintln!("connected");
    if args.has("--daemon") {
        return;
    }
    // Blocks until the listener is gone, which is after the test.
    let _ = alive.read(&mut [0]);
}
