//! An agent that wants to approve its own requests gets nowhere, though it has the token.

use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::geteuid;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::timeout,
};

use crate::stage::{PATIENCE, fake_agent, program};

/// A user that has no rights, for tests that are run by one that has all.
const NOBODY: u32 = 65534;

/// A daemon with an agent, both of one user without rights.
struct Host {
    daemon: Child,
    addr: String,
    workdir: PathBuf,
    folder: tempfile::TempDir,
}

impl Host {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (workdir, state) = (at("work"), at("state"));
        for made in [&workdir, &state, &at("bin")] {
            fs::create_dir(made).unwrap();
        }
        let program = usable(Path::new(program()), &at("bin/agui-serve"));
        let agent = usable(&fake_agent(), &at("bin/fake_acp_agent"));
        let pipes = ["go", "report", "held"].map(|name| workdir.join(name));
        let made = Command::new("mkfifo").args(&pipes).status().await.unwrap();
        assert!(made.success());
        let mut command = Command::new(program);
        if geteuid().is_root() {
            for path in pipes.iter().chain([&workdir, &state]) {
                chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        let mut daemon = command
            .args(["--port", "0", "--"])
            .arg(agent)
            .current_dir(&workdir)
            .env("HOME", &workdir)
            .env("AGUI_STATE_DIR", state)
            .env("CREDENTIALS_DIRECTORY", folder.path())
            .env("AGUI_HEARTBEAT", "15s")
            .kill_on_drop(true)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(at("log")).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
        loop {
            let line = lines.next_line().await.unwrap();
            let line = line.unwrap_or_else(|| panic!("{}", fs::read_to_string(at("log")).unwrap()));
            if let Some(url) = line.strip_prefix("listening on http://") {
                let addr = url.split('/').next().unwrap().to_owned();
                return Self {
                    daemon,
                    addr,
                    workdir,
                    folder,
                };
            }
        }
    }

    fn token(&self) -> PathBuf {
        self.folder.path().join("state/token")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Posts a run as a page does, and answers with its events.
    async fn run(&self, run: &str, more: Value) -> Vec<Value> {
        let mut body =
            json!({"threadId": "t", "runId": run, "messages": [], "protocolVersion": "1.0"});
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        let (addr, body) = (&self.addr, body.to_string());
        let token = fs::read_to_string(self.token()).unwrap();
        let head = format!(
            "POST /agui HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            token.trim(),
            body.len()
        );
        let mut connection = TcpStream::connect(addr).await.unwrap();
        connection.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        let data = answer
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let events: Vec<_> = data
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        assert!(!events.is_empty(), "{answer}");
        events
    }

    /// Has the agent take these steps.
    async fn play(&self, thread: &str, steps: &[&str]) -> Vec<Value> {
        let message = json!({"id": "1", "role": "user", "content": steps.join("\n")});
        self.run("r1", json!({"threadId": thread, "messages": [message]}))
            .await
    }

    /// Tells the agent all that it could wish to know.
    fn order(&self, interrupt: &Value) {
        let orders = json!({"addr": self.addr, "token": self.token(), "thread": "t", "interrupt": interrupt});
        fs::write(self.workdir.join("orders"), orders.to_string()).unwrap();
    }
}

/// A program where every user can start it.
fn usable(program: &Path, link: &Path) -> PathBuf {
    fs::hard_link(program, link)
        .or_else(|_| fs::copy(program, link).map(drop))
        .unwrap();
    link.to_owned()
}

/// All that is said, in one.
fn said(events: &[Value]) -> String {
    events
        .iter()
        .filter_map(|event| event["delta"].as_str())
        .collect()
}

async fn break_in() {
    let mut host = Host::start().await;
    let call = r#"open 1 {"toolCallId":"c","title":"erase all","kind":"execute"}"#;
    let events = host.play("t", &[call, "break-in", "answers"]).await;
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0]["id"];
    assert!(interrupt.is_string(), "{events:?}");
    host.order(interrupt);
    tokio::fs::write(host.workdir.join("go"), "go")
        .await
        .unwrap();
    let report = tokio::fs::read(host.workdir.join("report")).await.unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();

    let calls = report["calls"].as_object().unwrap();
    assert_eq!(calls.len(), 6);
    for (way, answers) in calls {
        let answers = answers.as_array().unwrap();
        assert_eq!(answers.len(), 8, "{way}: {answers:?}");
        for answer in answers.iter().map(|it| it.as_str().unwrap()) {
            let wanted = if answer.contains("/healthz") {
                "200 -"
            } else {
                "403 own_agent"
            };
            assert!(answer.ends_with(wanted), "{way}: {answer}");
        }
    }
    for parent in report["parents"].as_array().unwrap() {
        for what in ["mem", "environ", "fd", "maps"] {
            assert_eq!(parent[what], false, "{parent}");
        }
    }
    assert_eq!(report["parents"][1]["id"], host.daemon.id().unwrap());
    for name in report["variables"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        assert!(
            !name.starts_with("AGUI") && name != "CREDENTIALS_DIRECTORY",
            "{name}"
        );
    }
    if geteuid().is_root() {
        let of_supervisor = format!("/proc/{}/environ", report["parents"][0]["id"]);
        let variables = fs::read(of_supervisor).unwrap();
        let variables = String::from_utf8_lossy(&variables);
        assert!(
            variables.contains("PATH=") && !variables.contains("AGUI"),
            "{variables}"
        );
    }

    // It is all still there, and a person decides.
    let resume =
        json!([{"interruptId": interrupt, "status": "resolved", "payload": {"approved": false}}]);
    let events = host.run("r2", json!({"resume": resume})).await;
    assert!(said(&events).contains(r#""optionId":"no""#), "{events:?}");

    let log = host.log();
    let tries: Vec<_> = log
        .lines()
        .filter(|line| line.contains("an agent has called"))
        .collect();
    assert_eq!(tries.len(), 6, "{log}");
    host.daemon.start_kill().unwrap();
}

#[tokio::test]
async fn an_agent_with_the_token_approves_nothing_and_each_kind_of_try_is_logged_once() {
    timeout(PATIENCE, break_in()).await.expect("it ends");
}

async fn break_out() {
    let host = Host::start().await;
    host.order(&json!("none"));
    let held = host.workdir.join("held");
    let (events, answers) = tokio::join!(
        host.play("t", &["break-out", "await-cancel"]),
        tokio::fs::read_to_string(held),
    );
    assert_eq!(
        events.last().unwrap()["code"],
        "agent_crashed",
        "{events:?}"
    );
    for answer in answers.unwrap().lines() {
        let is_refused = answer.ends_with("403 own_agent") || answer.contains("/healthz");
        assert!(is_refused, "{answer}");
    }
    let log = host.log();
    assert!(log.contains("a supervisor was killed"), "{log}");
    let events = host.play("other", &["say still here"]).await;
    assert_eq!(said(&events), "still here");
}

#[tokio::test]
async fn report_r83_an_agent_that_kills_its_supervisor_ends_and_is_refused_until_then() {
    timeout(PATIENCE, break_out()).await.expect("it ends");
}
