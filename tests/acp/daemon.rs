//! Ways for the daemon itself to end, after each of which no process is left.

use std::process::Stdio;

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpStream, unix::pipe},
    process::{Child, Command},
    time::timeout,
};

use crate::stage::{FAMILY, PATIENCE, Stage, program};

/// The daemon with the stage's agent, and the address of its port.
async fn daemon(stage: &Stage) -> (Child, String) {
    let mut daemon = Command::new(program())
        .args(["--port", "0", "--no-token", "--"])
        .arg(&stage.options.command)
        .args(&stage.options.args)
        .current_dir(&stage.options.workdir)
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("it serves");
        if let Some(url) = line.strip_prefix("listening on http://") {
            return (daemon, url.split('/').next().unwrap().to_owned());
        }
    }
}

/// Starts a run, whose answer comes on the connection.
async fn run(addr: &str, prompt: &str) -> TcpStream {
    let message = json!({"id": "1", "role": "user", "content": prompt});
    let body = json!({"threadId": "t", "runId": "r", "messages": [message]}).to_string();
    let length = body.len();
    let mut connection = TcpStream::connect(addr).await.unwrap();
    let head = format!(
        "POST /agui HTTP/1.1\r\nHost: {addr}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(body.as_bytes()).await.unwrap();
    connection
}

/// Ends the daemon with these signals once so many processes have started, and waits until all that
/// the agent has ever started are gone.
async fn end(signals: &[Signal], once_started: usize) {
    let mut stage = Stage::new(&["--family", "--no-eof"], &[]);
    // What is inherited by everything, also by what has not got so far as to connect.
    let pipe = stage.options.workdir.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().await.unwrap();
    assert!(made.success());
    let mut held = pipe::OpenOptions::new().open_receiver(&pipe).unwrap();
    stage.wrap(r#"exec 9>pipe; exec "$0" "$@""#);

    let (mut daemon, addr) = daemon(&stage).await;
    let _answer = run(&addr, "say one\nignore-cancel").await;
    let mut started = Vec::new();
    for _ in 0..once_started {
        started.push(stage.started().await);
    }
    let id = daemon
        .id()
        .and_then(|id| Pid::from_raw(id.try_into().unwrap()));
    for signal in signals {
        kill_process(id.unwrap(), *signal).unwrap();
    }
    daemon.wait().await.unwrap();
    held.read_to_end(&mut Vec::new()).await.unwrap();
    for mut stream in started {
        let ended = stream.read_to_end(&mut Vec::new()).await;
        ended.expect("its end is the end of the process");
    }
}

#[tokio::test]
async fn report_r83_nothing_is_left_when_the_daemon_is_killed_at_any_moment() {
    let kills = (1..=FAMILY).map(|once_started| end(&[Signal::KILL], once_started));
    timeout(PATIENCE, join_all(kills)).await.expect("all end");
}

#[tokio::test]
async fn report_r83_nothing_is_left_when_the_daemon_is_told_to_stop_at_once() {
    let stops = [1, FAMILY].map(|once_started| end(&[Signal::TERM, Signal::INT], once_started));
    timeout(PATIENCE, join_all(stops)).await.expect("all end");
}
