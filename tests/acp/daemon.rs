//! The daemon itself with an agent: it leaves no process, however it ends, and nothing of an agent that ends
//! at any moment.

use std::process::Stdio;

use futures_util::{FutureExt as _, future::join_all};
use rustix::{
    fs::{CWD, Dir, Mode, OFlags, openat},
    process::{Pid, Signal, kill_process},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpStream, unix::pipe},
    process::{Child, Command},
    time::timeout,
};

use crate::stage::{FAMILY, PATIENCE, Stage, program};

/// The daemon with the stage's agent, whose processes it keeps as the stage does, and the address of its port.
pub(crate) async fn daemon(stage: &Stage) -> (Child, String) {
    let (daemon, addr, _) = watched(stage).await;
    (daemon, addr)
}

/// The same, and what it has open, which nobody of its user can look into once it is there.
async fn watched(stage: &Stage) -> (Child, String, Dir) {
    let mut daemon = Command::new("/bin/sh")
        .args(["-c", r#"read _; exec "$0" "$@" </dev/null"#, program()])
        .args(["--port", "0", "--no-token", "--"])
        .arg(&stage.options.command)
        .args(&stage.options.args)
        .current_dir(&stage.options.workdir)
        .env("AGUI_STATE_DIR", &stage.options.workdir)
        .env(
            "AGUI_DEFAULTS__POOL_SIZE",
            stage.options.pool_size.to_string(),
        )
        .kill_on_drop(true)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let open = format!("/proc/{}/fd", id(&daemon).as_raw_nonzero());
    let open = openat(CWD, open, OFlags::DIRECTORY, Mode::empty()).unwrap();
    let open = Dir::new(open).unwrap();
    let mut go = daemon.stdin.take().unwrap();
    go.write_all(b"go\n").await.unwrap();
    let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("it serves");
        if let Some(url) = line.strip_prefix("listening on http://") {
            return (daemon, url.split('/').next().unwrap().to_owned(), open);
        }
    }
}

/// Starts a run, whose answer comes on the connection.
async fn run(addr: &str, thread: &str, prompt: &str) -> TcpStream {
    let message = json!({"id": "1", "role": "user", "content": prompt});
    post(
        addr,
        &json!({"threadId": thread, "runId": "r", "messages": [message]}),
    )
    .await
}

/// The same, of a request as it is sent.
pub(crate) async fn post(addr: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let length = body.len();
    let mut connection = TcpStream::connect(addr).await.unwrap();
    let head = format!(
        "POST /agui HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(body.as_bytes()).await.unwrap();
    connection
}

fn id(daemon: &Child) -> Pid {
    Pid::from_raw(daemon.id().unwrap().try_into().unwrap()).unwrap()
}

/// Gives everything that the agent will start, also what never gets so far as to connect, something to hold
/// on to. It ends when all of that has.
async fn hold(stage: &mut Stage) -> pipe::Receiver {
    let pipe = stage.options.workdir.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().await.unwrap();
    assert!(made.success());
    stage.wrap(r#"exec 9>pipe; exec "$0" "$@""#);
    pipe::OpenOptions::new().open_receiver(&pipe).unwrap()
}

/// Ends the daemon with these signals once so many processes have started, and waits until all that
/// the agent has ever started are gone.
async fn end(signals: &[Signal], once_started: usize) {
    let mut stage = Stage::new(&["--family", "--no-eof"], &[]);
    let mut held = hold(&mut stage).await;

    let (mut daemon, addr) = daemon(&stage).await;
    let _answer = run(&addr, "t", "say one\nignore-cancel").await;
    let mut started = Vec::new();
    for _ in 0..once_started {
        started.push(stage.started().await);
    }
    for signal in signals {
        kill_process(id(&daemon), *signal).unwrap();
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

/// Ends the daemon with this signal while it keeps a process that no turn uses.
async fn end_idle(signal: Signal) {
    let mut stage = Stage::new(&["--family", "--no-eof"], &[]).keeping(1);
    let mut held = hold(&mut stage).await;
    let (mut daemon, addr) = daemon(&stage).await;
    let mut whole = run(&addr, "t", "say one").await;
    let mut answer = String::new();
    whole.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("RUN_FINISHED"), "{answer}");
    kill_process(id(&daemon), signal).unwrap();
    daemon.wait().await.unwrap();
    held.read_to_end(&mut Vec::new()).await.unwrap();
}

#[tokio::test]
async fn report_r83_nothing_is_left_of_a_process_that_was_kept_when_the_daemon_ends() {
    let ends = [Signal::TERM, Signal::KILL].map(end_idle);
    timeout(PATIENCE, join_all(ends)).await.expect("all end");
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// How many descriptors the daemon has open: files, pipes and sockets.
fn descriptors(open: &mut Dir) -> usize {
    open.rewind();
    open.map(Result::unwrap).count()
}

/// Asks whether the daemon is there, which it has answered once this returns.
async fn ask(addr: &str) {
    let mut connection = TcpStream::connect(addr).await.unwrap();
    let question = format!("GET /healthz HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    connection.write_all(question.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("200"), "{answer}");
}

/// Starts a run and breaks it off: at some place of its stream, with one process of the agent killed or none.
async fn break_off(addr: &str, stage: &Stage, thread: &str, dice: &mut Dice) {
    let mut answer = run(addr, thread, "flood 400\nawait-cancel").await;
    let mut started = Vec::new();
    for _ in 0..dice.below(4) {
        let mut process = BufReader::new(stage.started().await);
        let mut id = String::new();
        process.read_line(&mut id).await.unwrap();
        // One can be killed before it has told its number.
        started.extend(
            id.trim()
                .parse()
                .ok()
                .and_then(Pid::from_raw)
                .map(|id| (id, process)),
        );
    }
    let mut read = vec![0; usize::try_from(1 + dice.below(60_000)).unwrap()];
    // How far the stream goes is the dice's as well.
    let _ = answer.read(&mut read).await.unwrap();
    if let Some((victim, process)) = started.get_mut(usize::try_from(dice.below(4)).unwrap())
        // One that has ended already may have left its number to a stranger.
        && process.read_u8().now_or_never().is_none()
    {
        let _ = kill_process(*victim, Signal::KILL);
        if dice.below(2) == 0 {
            let _ = answer.read(&mut read).await.unwrap();
        }
    }
    drop(answer);
    // Nobody waits to be let in.
    while stage.started().now_or_never().is_some() {}
}

async fn break_off_often(stage: &mut Stage, times: usize) {
    let mut held = hold(stage).await;
    let (_daemon, addr, mut open) = watched(stage).await;
    let mut whole = run(&addr, "first", "say one").await;
    whole.read_to_end(&mut Vec::new()).await.unwrap();
    ask(&addr).await;
    let before = descriptors(&mut open);
    let mut dice = Dice(7);
    for n in 0..times {
        break_off(&addr, stage, &n.to_string(), &mut dice).await;
    }
    held.read_to_end(&mut Vec::new()).await.unwrap();
    while descriptors(&mut open) > before {
        ask(&addr).await;
    }
}

#[tokio::test]
async fn report_r83_two_hundred_starts_and_kills_at_random_moments_leave_nothing() {
    let mut stage = Stage::new(&["--child", "--far-child"], &[]);
    let all = break_off_often(&mut stage, 200);
    timeout(3 * PATIENCE, all).await.expect("all end");
}
