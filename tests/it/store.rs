//! The database of the program: what it refuses, what survives it, what it does when the disk is full.
//!
//! A process that is to be killed, or whose disk is to be full, is one of this same test binary that runs the one test
//! that is meant for it ([`a_process_that_only_writes`]).

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use agui_serve::{
    env::Env,
    protocol::{Content, Message, MessageBody, MessageId, RunId, ThreadId},
    store::{Begin, Fate, Key, Location, Options, Outcome, Store},
};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Program;

fn key(thread: &str) -> Key {
    Key {
        principal: "local".into(),
        agent: "demo".into(),
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

const DONE: Outcome = Outcome::Success { stop_reason: None };

fn says(id: &str, message: Message) -> Begin {
    Begin {
        run: run(id),
        workdir: None,
        title: None,
        cut: None,
        lines: vec![message.into()],
    }
}

fn open(path: &Path) -> Store {
    let options = Options {
        at: Location::file(path),
        ..Options::default()
    };
    Store::open(options, Env::system()).unwrap()
}

/// Where the program keeps its threads if nothing else is said.
fn default_file(program: &Program) -> PathBuf {
    let state = program.home.path().join(".local/state/agui-serve");
    fs::create_dir_all(&state).unwrap();
    state.join("threads.db")
}

#[tokio::test]
async fn r46_a_thread_is_bound_to_its_session_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = open(&path);
    store
        .begin(&key("t"), says("r", message("m", "hello")))
        .await;
    store.bind(&key("t"), "s1").await;
    store.end(&key("t"), &run("r"), DONE).await;
    let before = store.look(&key("t"), Some(&run("r"))).await;
    store.close().await;
    let store = open(&path);
    assert_eq!(store.look(&key("t"), Some(&run("r"))).await, before);
    let (thread, asked) = before;
    assert_eq!(thread.unwrap().session.as_deref(), Some("s1"));
    assert_eq!(asked.unwrap().outcome, DONE);
    // Who else asks meets nobody's thread.
    let other = Key {
        principal: "other".into(),
        ..key("t")
    };
    assert_eq!(store.look(&other, Some(&run("r"))).await, (None, None));
    store.close().await;
}

#[tokio::test]
async fn what_a_run_asked_for_is_known_after_a_restart_and_to_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let ids = || vec!["p1".into(), "p2".into(), "p3".into(), "never asked".into()];
    let store = open(&path);
    store
        .begin(&key("t"), says("r1", message("m1", "do it")))
        .await;
    let (asked, said) = (ids()[..3].to_vec(), vec![message("m2", "may I?")]);
    store
        .park(&key("t"), &run("r1"), Outcome::Interrupted, asked, said)
        .await;
    let settled = vec![
        ("p1".into(), Some("digest".into())),
        ("p2".into(), None),
        ("never asked".into(), None),
    ];
    store.settle(&key("t"), &run("r2"), settled).await;
    let before = store.look(&key("t"), Some(&run("r1"))).await;
    store.close().await;
    let store = open(&path);
    assert_eq!(store.look(&key("t"), Some(&run("r1"))).await, before);
    let (thread, parked) = before;
    assert_eq!(thread.unwrap().transcript.lines.len(), 2);
    assert_eq!(parked.unwrap().outcome, Outcome::Interrupted);
    let prompts = store.prompts(&key("t"), ids()).await.into_iter();
    let fates: Vec<_> = prompts.map(|prompt| (prompt.id, prompt.fate)).collect();
    let answered = Fate::Answered {
        run: run("r2"),
        digest: "digest".into(),
    };
    let expected = [
        ("p1".into(), answered),
        ("p2".into(), Fate::Closed { run: run("r2") }),
        ("p3".into(), Fate::Open),
    ];
    assert_eq!(fates, expected);
    let other = Key {
        principal: "other".into(),
        ..key("t")
    };
    assert_eq!(store.prompts(&other, ids()).await, []);
    store.close().await;
}

#[tokio::test]
async fn r47_without_a_database_the_daemon_serves_and_makes_no_file() {
    let program = Program::new(&["--port", "0"])
        .with_token()
        .env("AGUI_DATABASE", "");
    let home = program.home.path().to_owned();
    let program = program.serve().await;
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    program.signal(Signal::TERM);
    assert_eq!(program.end().await.code, Some(0));
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_exit_code_78_with_a_line_that_says_what_to_do() {
    let ours = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("threads.db");
        let store = open(&path);
        store
            .begin(&key("t"), says("r", message("m", &"x".repeat(9000))))
            .await;
        store.close().await;
        fs::read(path).unwrap()
    };
    // The number of its shape stands at byte 60.
    let mut newer = ours.clone();
    newer[60..64].copy_from_slice(&[0, 0, 0, 9]);
    let mut foreign = ours.clone();
    foreign[68..72].copy_from_slice(b"ELSE");
    let cut = ours[..ours.len() / 2].to_vec();
    for (bytes, says) in [
        (
            newer,
            "its shape is number 9, and this program knows no later one than 2; start the newer",
        ),
        (
            foreign,
            "it belongs to another program; name another file as `database`",
        ),
        (cut, "it is broken; put a copy of it back"),
        (vec![7; 5000], "it is no database; put a copy of it back"),
    ] {
        let mut program = Program::new(&["--port", "0"]).with_token();
        let path = default_file(&program);
        fs::write(&path, &bytes).unwrap();
        let ended = program.end().await;
        assert_eq!(ended.code, Some(78), "{ended:?}");
        let path = path.canonicalize().unwrap();
        let start = format!(
            "agui-serve: failed to use the database {}: ",
            path.display()
        );
        assert!(ended.stderr.starts_with(&start), "{ended:?}");
        assert!(ended.stderr.contains(says), "{ended:?}");
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.lines().count()),
            ("", 1)
        );
        assert!(
            fs::read(&path).unwrap() == bytes,
            "{says}, but it was changed"
        );

        let mut doctor = Program::new(&["doctor", "--json"])
            .with_token()
            .env("AGUI_PORT", "0")
            .env("AGUI_DATABASE", path.to_str().unwrap());
        assert_eq!(database(&mut doctor).await.0, "fail");
    }
}

/// What the doctor says of the database.
async fn database(doctor: &mut Program) -> (String, String) {
    let ended = doctor.end().await;
    let said: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let mut findings = said["findings"].as_array().unwrap().iter();
    let found = findings
        .find(|finding| finding["about"] == "database")
        .unwrap();
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    (text("level"), text("says"))
}

#[tokio::test]
async fn the_doctor_changes_nothing_and_tells_a_running_daemon_from_a_broken_file() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    let at_home = |args: &[&str]| {
        Program::new(args)
            .with_token()
            .env("AGUI_PORT", "0")
            .env("AGUI_STATE_DIR", state.to_str().unwrap())
    };
    let mut doctor = at_home(&["doctor", "--json"]);
    let (level, says) = database(&mut doctor).await;
    assert!(
        level == "ok" && says.contains("the first start will make"),
        "{says}"
    );
    assert!(!state.exists());
    let daemon = at_home(&[]).serve().await;
    let (level, says) = database(&mut doctor).await;
    assert!(
        level == "ok" && says.contains("in use by a running agui-serve"),
        "{says}"
    );
    daemon.signal(Signal::TERM);
    daemon.end().await;
    let (level, says) = database(&mut doctor).await;
    assert_eq!(level, "ok", "{says}");
}

#[tokio::test]
async fn report_r88_a_second_daemon_on_the_same_database_is_refused_or_waits_its_turn() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("threads.db");
    let daemon = |wait: &str| {
        Program::new(&["--port", "0"])
            .with_token()
            .env("AGUI_DATABASE", path.to_str().unwrap())
            .env("AGUI_STORE_WAIT", wait)
    };
    let first = daemon("0s").serve().await;
    let refused = daemon("0s").end().await;
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(69), ""));
    assert!(
        refused.stderr.contains("another agui-serve has it"),
        "{refused:?}"
    );
    // The other one still serves, and lets the next one in when it ends.
    let (second, first) = tokio::join!(daemon("1m").serve(), async {
        first.signal(Signal::TERM);
        first.end().await
    });
    assert_eq!(first.code, Some(0));
    second.signal(Signal::KILL);
    second.end().await;
    // What a process had that is dead is free.
    let third = daemon("0s").serve().await;
    third.signal(Signal::TERM);
    assert_eq!(third.end().await.code, Some(0));
}

#[tokio::test]
async fn r19_a_daemon_whose_port_is_taken_waits_for_no_database_and_makes_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut program = Program::new(&["--port", &port]);
    let ended = program.end().await;
    assert_eq!(ended.code, Some(69), "{ended:?}");
    assert_eq!(fs::read_dir(program.home.path()).unwrap().count(), 0);
}

/// A process that writes until it is ended.
struct Writer {
    child: Child,
    said: BufReader<ChildStdout>,
    /// As long as this is open it waits for more.
    go: Option<ChildStdin>,
    home: tempfile::TempDir,
}

/// Where such a process is told what to write to.
const FILE: &str = "AGUI_TEST_FILE";

impl Writer {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        // A file that is too large is an error to it, not the end.
        let script = "trap '' XFSZ; exec \"$0\" \"$@\"";
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store::a_process_that_only_writes",
                "--ignored",
                "--nocapture",
            ])
            .env(FILE, home.path().join("threads.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut writer = Self {
            said: BufReader::new(child.stdout.take().unwrap()),
            go: child.stdin.take(),
            child,
            home,
        };
        writer.until("open");
        writer
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    #[cfg(target_os = "linux")]
    fn limit(&self, bytes: Option<u64>) {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        let maximum = getrlimit(Resource::Fsize).maximum;
        let limit = Rlimit {
            current: bytes.or(maximum),
            maximum,
        };
        prlimit(Some(self.pid()), Resource::Fsize, limit).unwrap();
    }

    /// Lets it write some more.
    fn ask(&mut self) {
        self.go.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Lets it write some more, and waits until it says that it has.
    fn write(&mut self) -> u32 {
        self.ask();
        let line = self.until("wrote ");
        line.strip_prefix("wrote ").unwrap().parse().unwrap()
    }

    /// Reads until a line that starts so.
    fn until(&mut self, start: &str) -> String {
        let mut lines = (&mut self.said).lines().map(Result::unwrap);
        lines
            .find(|line| line.starts_with(start))
            .expect("it goes on")
    }

    fn store(&self) -> Store {
        open(&self.home.path().join("threads.db"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many threads that process has; each gets a message in turn.
const THREADS: u32 = 10;

fn thread(number: u32) -> Key {
    key(&format!("t{}", number % THREADS))
}

/// What other tests start as a process of its own: for every line that it reads, it writes twenty messages.
#[tokio::test]
#[ignore = "it is started by other tests, as a process of its own"]
#[expect(
    clippy::disallowed_methods,
    reason = "this is where its environment is read"
)]
async fn a_process_that_only_writes() {
    let path = std::env::var_os(FILE).expect("the file to write to");
    let store = open(Path::new(&path));
    println!("open");
    let mut number = 0;
    for line in std::io::stdin().lines() {
        line.unwrap();
        for _ in 0..20 {
            let said = message(
                &format!("m{number}"),
                &format!("{number} {}", "x".repeat(2000)),
            );
            let id = format!("r{number}");
            store.begin(&thread(number), says(&id, said)).await;
            let (seen, _) = store.look(&thread(number), None).await;
            let seen = seen.unwrap().transcript;
            assert!(
                !seen.is_partial && seen.lines.len() == whole(number),
                "all is there"
            );
            store.end(&thread(number), &run(&id), DONE).await;
            number += 1;
        }
        println!("wrote {number}");
    }
    store.close().await;
    println!("closed");
}

/// How many messages the thread of the number has once that many were written.
fn whole(number: u32) -> usize {
    usize::try_from(number / THREADS + 1).unwrap()
}

/// All that was written has to be in the file.
async fn check(store: &Store, written: u32) {
    for number in written - THREADS..written {
        let (found, asked) = store
            .look(&thread(number), Some(&run(&format!("r{number}"))))
            .await;
        let transcript = found.unwrap().transcript;
        assert!(!transcript.is_partial);
        assert!(transcript.lines.len() >= whole(number), "{number}");
        assert_eq!(asked.unwrap().outcome, DONE);
    }
}

#[tokio::test]
async fn r46_what_was_written_is_there_after_a_kill_in_the_middle_of_writing() {
    for rounds in 1..4 {
        let mut writer = Writer::start();
        let written = (0..rounds).map(|_| writer.write()).last().unwrap();
        // It is writing the next ones meanwhile.
        writer.ask();
        kill_process(writer.pid(), Signal::KILL).unwrap();
        writer.child.wait().unwrap();
        let store = writer.store();
        check(&store, written).await;
        store.close().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn r47_a_disk_that_fills_up_costs_no_run_and_nothing_that_was_written() {
    let mut writer = Writer::start();
    // No file of its may grow beyond this.
    let room = 200_000;
    writer.limit(Some(room));
    // Five times as much: the process itself sees after each that all is there.
    let written = (0..25).map(|_| writer.write()).last().unwrap();
    let files = fs::read_dir(writer.home.path()).unwrap();
    let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() < 3 * room, "there was no limit");
    // There is room again.
    writer.limit(None);
    writer.go = None;
    writer.until("closed");
    let store = writer.store();
    check(&store, written).await;
    store.close().await;
}
