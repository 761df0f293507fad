//! An agent that wants to approve its own requests: it looks for a token and calls the daemon that runs it, in every way
//! that its user leaves it.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Map, Value, json};

use crate::{USAGE, variables};

/// Ways to call through a shell, each with the program to call with as `"$0" "$@"`.
const SHELLS: [(&str, &str); 4] = [
    ("child", r#""$0" "$@"; true"#),
    ("session", r#"setsid "$0" "$@"; true"#),
    ("orphan", r#"(setsid "$0" "$@" &)"#),
    ("nohup", r#"nohup "$0" "$@" 2>/dev/null &"#),
];

/// Waits until it is let go, does all that it can, and reports what came of it: `go` and `report` are pipes, and `orders`
/// says where the daemon is and what waits there.
pub(crate) fn break_in() {
    fs::read("go").expect("somebody lets it go");
    let mut calls = Map::from_iter([("itself".into(), json!(strike()))]);
    let program = env::current_exe().expect("it runs");
    for (way, script) in SHELLS {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).arg(&program).arg("--strike");
        calls.insert(way.into(), heard(&mut shell));
    }
    let mut group = Command::new(&program);
    group.arg("--strike").process_group(0);
    calls.insert("group".into(), heard(&mut group));

    let supervisor = std::os::unix::process::parent_id();
    let parents = [supervisor, parent(supervisor)].map(pry);
    let report = json!({"calls": calls, "parents": parents, "variables": variables()});
    fs::write("report", report.to_string()).expect("somebody reads it");
}

/// Kills its supervisor from a process that nobody is the parent of, which then calls and calls.
pub(crate) fn break_out() {
    let supervisor = std::os::unix::process::parent_id().to_string();
    let program = env::current_exe().expect("it runs");
    let script = r#"exec 9>held; (setsid "$0" "$@" >&9 &)"#;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).arg(program);
    shell.args(["--escape", &supervisor]).stdin(Stdio::null());
    let status = shell.status().expect("it can run");
    assert!(status.success());
}

/// What that process does.
pub(crate) fn escape(supervisor: &str) {
    use rustix::process::{Pid, Signal, kill_process};

    let supervisor = supervisor.parse().ok().and_then(Pid::from_raw);
    kill_process(supervisor.expect(USAGE), Signal::KILL).expect("it may");
    loop {
        println!("{}", strike().join("\n"));
    }
}

/// What such a program says, and all that it leaves behind.
fn heard(command: &mut Command) -> Value {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it can run");
    let mut said = String::new();
    let mut stdout = child.stdout.take().expect("it is piped");
    stdout.read_to_string(&mut said).expect("it is text");
    child.wait().expect("it was started");
    said.lines().collect()
}

/// Calls the daemon with its own token, and tells what it answers.
pub(crate) fn strike() -> Vec<String> {
    let orders = fs::read("orders").expect("there are some");
    let orders: Value = serde_json::from_slice(&orders).expect("they are JSON");
    let text = |key: &str| orders[key].as_str().expect(USAGE);
    let (addr, thread, interrupt) = (text("addr"), text("thread"), text("interrupt"));
    // The same user can read it.
    let token = fs::read_to_string(text("token")).expect("it may");
    let run = |more: Value| {
        let mut body =
            json!({"threadId": thread, "runId": "own", "messages": [], "protocolVersion": "1.0"});
        body.as_object_mut()
            .expect(USAGE)
            .extend(more.as_object().expect(USAGE).clone());
        body.to_string()
    };
    let approve = run(json!({"resume": [
        {"interruptId": interrupt, "status": "resolved", "payload": {"approved": true}},
    ]}));
    let answer = run(json!({"messages": [
        {"id": "1", "role": "tool", "toolCallId": interrupt, "content": "{\"approved\":true}"},
    ]}));
    let of_thread = format!("/agui/fake_acp_agent/threads/{thread}");
    let call = |method: &str, path: &str, body: &str| {
        let length = body.len();
        let mut connection = TcpStream::connect(addr).expect("it listens");
        // What is let in may go on for ever.
        let patience = Some(Duration::from_secs(10));
        connection.set_read_timeout(patience).expect("it is long");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
            token.trim()
        );
        connection
            .write_all(request.as_bytes())
            .expect("it is read");
        connection
    };
    // Gone before anybody can look who it was.
    drop(call("POST", "/agui", &approve));
    [
        ("POST", "/agui", &*approve),
        ("POST", "/agui", &answer),
        ("POST", &format!("{of_thread}/cancel"), ""),
        ("DELETE", &of_thread, ""),
        ("GET", &of_thread, ""),
        ("GET", &format!("{of_thread}/events"), ""),
        ("GET", "/agui/info", ""),
        ("GET", "/healthz", ""),
    ]
    .map(|(method, path, body)| {
        let mut reply = String::new();
        // What is refused may be reset once it is read.
        let _ = call(method, path, body).read_to_string(&mut reply);
        let status = reply.split(' ').nth(1).unwrap_or("nothing");
        let code = reply.split("\"code\":\"").nth(1);
        let code = code.and_then(|rest| rest.split('"').next()).unwrap_or("-");
        format!("{method} {path} {status} {code}")
    })
    .to_vec()
}

/// What can be had of another process: of each of these, whether it can be opened.
fn pry(process: u32) -> Value {
    let folder = Path::new("/proc").join(process.to_string());
    let read = |name: &str| fs::File::open(folder.join(name)).is_ok();
    json!({
        "id": process,
        // All that tracing it would take.
        "mem": read("mem"),
        "environ": fs::read(folder.join("environ")).is_ok(),
        "fd": fs::read_dir(folder.join("fd")).is_ok(),
        "maps": fs::read(folder.join("maps")).is_ok(),
    })
}

fn parent(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("all can read it");
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.and_then(|id| id.trim().parse().ok())
        .expect("it has a parent")
}
