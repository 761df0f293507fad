//! An ACP agent that needs no model: it does what its arguments and its prompts say.
//!
//! Arguments shape the start: `--mute` (answers nothing), `--exit CODE`, `--version N`, `--auth` (wants a
//! login), `--logins AUTH_METHODS_JSON`, `--logging-in CODE` (says what it sees and ends so), `--resume`, `--load`, `--load-late` (tells the history after its answer), `--gone` (knows no
//! session), `--resume-fails`, `--system-prompt` (takes one), `--modes CURRENT,OTHER,...`, `--options` (offers a
//! model and an effort), `--set-fails`, `--no-eof` (stays when its input ends), `--banner`, `--alive SOCKET` (holds a connection for
//! as long as it lives), `--child` (has a child that does the same and never ends by itself), `--far-child` (one in a session of its own), `--family`
//! (has four such: in its group, in a session of its own, one that has lost its parent too, and one that is
//! deaf to `SIGTERM`).
//!
//! Each line of the prompt's last text block is a step:
//! `say TEXT`, `think TEXT`, `update JSON`, `raw TEXT`, `noise`, `line BYTES` (a line of that length), `long N` (so many
//! letters in one message), `flood N`, `ask TOOL_CALL_JSON`,
//! `request METHOD`, `env`, `cwd`, `pid`, `blocks`, `prompted` (says the first block's text), `told` (says what it
//! was told in the session so far), `in SESSION TEXT` (says it in another session), `await-cancel`, `ignore-cancel`, `leave` (starts a child as `--child`), `stderr TEXT`, `crash`, `killed`,
//! `error CODE MESSAGE`, `usage JSON`, `stop REASON`. What is no step is passed over.

use std::{
    cell::{Cell, RefCell},
    env,
    io::{self, BufRead as _, Read as _, Write as _},
    os::unix::net::UnixStream,
    process::{Command, Stdio, exit},
    sync::mpsc::{Receiver, channel},
    thread,
};

use serde_json::{Value, json};

const USAGE: &str = "see the head of this program's source";

fn main() {
    // Before its input is read, whose end would be the end of it.
    if let Some(code) = env::args().skip_while(|arg| arg != "--logging-in").nth(1) {
        let folder = env::current_dir().expect("it is there");
        println!("it logs in, in {}", folder.display());
        println!("it sees {}", variables().join(","));
        exit(code.parse().expect(USAGE));
    }
    let agent = Agent::new(env::args().skip(1).collect());
    let mut alive = agent.value("--alive").map(|socket| {
        let mut stream = UnixStream::connect(socket).expect("somebody listens");
        writeln!(stream, "{}", std::process::id()).expect("it is connected");
        stream
    });
    if agent.has("--orphan") {
        if agent.has("--session") {
            rustix::process::setsid().expect("it leads no group yet");
        }
        if agent.has("--daemon") {
            leave_a_child(agent.value("--alive").expect(USAGE), &["--session"]);
        }
        eprintln!("connected");
        if agent.has("--daemon") {
            return;
        }
        // Blocks until the listener is gone, which is after the test.
        let _ = alive.as_mut().expect(USAGE).read(&mut [0]);
        return;
    }
    if let Some(code) = agent.value("--exit") {
        eprintln!("it cannot go on");
        exit(code.parse().expect(USAGE));
    }
    if agent.has("--child") {
        leave_a_child(agent.value("--alive").expect(USAGE), &[]);
    }
    if agent.has("--far-child") {
        leave_a_child(agent.value("--alive").expect(USAGE), &["--session"]);
    }
    if agent.has("--family") {
        let socket = agent.value("--alive").expect(USAGE);
        for how in [&[][..], &["--session"], &["--daemon"], &["--deaf"]] {
            leave_a_child(socket, how);
        }
    }
    if agent.has("--banner") {
        print("Welcome!\r\n\u{1b}[32mready\u{1b}[0m");
    }
    agent.serve();
    drop(alive);
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

#[expect(clippy::zombie_processes, reason = "it is there to be left behind")]
fn leave_a_child(socket: &str, how: &[&str]) {
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
        .args(["--orphan", "--no-eof", "--alive", socket])
        .args(how)
        // It holds on to the output, as what a shell leaves behind does.
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can run again");
    let stderr = child.stderr.as_mut().expect("it is piped");
    stderr.read_exact(&mut [0]).expect("it connects");
}

struct Agent {
    args: Vec<String>,
    inbox: Receiver<Value>,
    /// Requests within sessions, but for prompts.
    told: RefCell<Vec<Value>>,
    sessions: Cell<usize>,
}

impl Agent {
    fn new(args: Vec<String>) -> Self {
        let (sender, inbox) = channel();
        let stays = args.iter().any(|arg| arg == "--no-eof");
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("we speak JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
            if stays {
                thread::park();
            }
            exit(0);
        });
        Self {
            args,
            inbox,
            told: RefCell::default(),
            sessions: Cell::new(0),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.args.iter().any(|arg| arg == name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let at = self.args.iter().position(|arg| arg == name)?;
        self.args.get(at + 1).map(String::as_str)
    }

    fn serve(&self) {
        while let Ok(message) = self.inbox.recv() {
            let id = &message["id"];
            let method = message["method"].as_str().unwrap_or_default();
            if method.starts_with("session/") && method != "session/prompt" {
                let told = json!({"method": method, "params": message["params"]});
                self.told.borrow_mut().push(told);
            }
            match method {
                _ if self.has("--mute") => {}
                "initialize" => answer(id, &self.initialize()),
                "authenticate" if message["params"]["methodId"] == "fails" => {
                    refuse(id, -32603, "nobody came");
                }
                "authenticate" => {
                    eprintln!("open this page: {}", message["params"]["methodId"]);
                    answer(id, &json!({}));
                }
                "session/new" if self.has("--auth") => {
                    refuse(id, -32000, "run /opt/agent/login");
                }
                "session/new" => answer(id, &self.session("new")),
                "session/load" | "session/resume" if self.has("--gone") => {
                    refuse(id, -32002, "no such session");
                }
                "session/resume" if self.has("--resume-fails") => {
                    refuse(id, -32603, "not today");
                }
                "session/set_mode" | "session/set_config_option" if self.has("--set-fails") => {
                    refuse(id, -32602, "no");
                }
                "session/set_mode" => answer(id, &json!({})),
                "session/set_config_option" => {
                    let params = &message["params"];
                    let value = params["value"].as_str().expect(USAGE);
                    let set = params["configId"].as_str().expect(USAGE);
                    answer(id, &json!({"configOptions": options(Some((set, value)))}));
                }
                "session/resume" => answer(id, &self.session("resumed")),
                "session/load" if self.has("--load-late") => {
                    answer(id, &self.session("loaded"));
                    replay(&message["params"]["sessionId"]);
                }
                "session/load" => {
                    replay(&message["params"]["sessionId"]);
                    answer(id, &self.session("loaded"));
                }
                "session/prompt" => self.prompt(&message),
                _ => {}
            }
        }
    }

    fn initialize(&self) -> Value {
        let version: u16 = self.value("--version").unwrap_or("1").parse().expect(USAGE);
        let mut sessions = json!({});
        if self.has("--resume") {
            sessions["resume"] = json!({});
        }
        if self.has("--system-prompt") {
            sessions["systemPrompt"] = json!({});
        }
        let logins = self.value("--logins").unwrap_or("[]");
        json!({
            "protocolVersion": version,
            "authMethods": serde_json::from_str::<Value>(logins).expect(USAGE),
            "agentInfo": {"name": "fake", "version": "1"},
            "agentCapabilities": {
                "loadSession": self.has("--load") || self.has("--load-late"),
                "promptCapabilities": {"image": true},
                "sessionCapabilities": sessions,
            },
        })
    }

    fn session(&self, how: &str) -> Value {
        const IDS: [&str; 4] = ["first", "second", "third", "fourth"];
        let count = self.sessions.get() + usize::from(self.has("--gone"));
        self.sessions
            .set(self.sessions.get() + usize::from(how == "new"));
        let name = format!("Fake, {how}");
        let mut session = json!({
            "sessionId": IDS[count],
            "models": {"currentModelId": "fake-1", "availableModels": [{"modelId": "fake-1", "name": name}]},
        });
        if let Some(modes) = self.value("--modes") {
            let modes: Vec<_> = modes.split(',').map(|id| json!({"id": id})).collect();
            session["modes"] = json!({"currentModeId": modes[0]["id"], "availableModes": modes});
        }
        if self.has("--options") {
            session["configOptions"] = options(None);
        }
        session
    }

    fn prompt(&self, message: &Value) {
        let session = &message["params"]["sessionId"];
        let blocks = message["params"]["prompt"].as_array().expect(USAGE);
        let script = blocks.iter().rev().find_map(|block| block["text"].as_str());
        let mut result = json!({"stopReason": "end_turn"});
        for line in script.unwrap_or_default().lines() {
            let (step, rest) = line.split_once(' ').unwrap_or((line, ""));
            let parsed = || serde_json::from_str::<Value>(rest).expect(USAGE);
            match step {
                "say" => say(session, "agent_message_chunk", rest),
                "think" => say(session, "agent_thought_chunk", rest),
                "update" => update(session, &parsed()),
                "raw" => print(rest),
                "noise" => noise(),
                "line" => endless(rest.parse().expect(USAGE)),
                "long" => {
                    let text = "x".repeat(rest.parse().expect(USAGE));
                    say(session, "agent_message_chunk", &text);
                }
                "flood" => (0..rest.parse().expect(USAGE))
                    .for_each(|_| say(session, "agent_message_chunk", "x")),
                "ask" => {
                    let outcome = self.ask(session, &parsed());
                    say(session, "agent_message_chunk", &outcome.to_string());
                }
                "request" => {
                    let error = self.call(rest, &json!({}))["error"]["code"].take();
                    say(session, "agent_message_chunk", &error.to_string());
                }
                "env" => {
                    say(session, "agent_message_chunk", &variables().join(","));
                }
                "cwd" => {
                    let cwd = env::current_dir().expect("there is one");
                    say(session, "agent_message_chunk", &cwd.to_string_lossy());
                }
                "pid" => say(
                    session,
                    "agent_message_chunk",
                    &std::process::id().to_string(),
                ),
                "prompted" => {
                    let text = blocks[0]["text"].as_str().unwrap_or_default();
                    say(session, "agent_message_chunk", text);
                }
                "told" => {
                    let told = json!(*self.told.borrow());
                    say(session, "agent_message_chunk", &told.to_string());
                }
                "in" => {
                    let (other, text) = rest.split_once(' ').expect(USAGE);
                    say(&json!(other), "agent_message_chunk", text);
                }
                "blocks" => {
                    let types: Vec<_> =
                        blocks.iter().filter_map(|it| it["type"].as_str()).collect();
                    say(session, "agent_message_chunk", &types.join(","));
                }
                "leave" => leave_a_child(self.value("--alive").expect(USAGE), &["--session"]),
                "await-cancel" => {
                    while self.next()["method"] != "session/cancel" {}
                    result["stopReason"] = json!("cancelled");
                }
                "ignore-cancel" => loop {
                    self.next();
                },
                "stderr" => eprintln!("{rest}"),
                "crash" => {
                    print!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/upd");
                    let _ = io::stdout().flush();
                    exit(3);
                }
                "killed" => {
                    let me = rustix::process::getpid();
                    rustix::process::kill_process(me, rustix::process::Signal::KILL)
                        .expect("it may");
                }
                "error" => {
                    let (code, text) = rest.split_once(' ').expect(USAGE);
                    return refuse(&message["id"], code.parse().expect(USAGE), text);
                }
                "usage" => result["usage"] = parsed(),
                "stop" => result["stopReason"] = json!(rest),
                _ => {}
            }
        }
        answer(&message["id"], &result);
    }

    fn ask(&self, session: &Value, call: &Value) -> Value {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let options = [option("yes", "allow_once"), option("no", "reject_once")];
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        self.call("session/request_permission", &params)["result"]["outcome"].take()
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        send(&json!({"jsonrpc": "2.0", "id": "ours", "method": method, "params": params}));
        loop {
            let message = self.next();
            if message["id"] == "ours" {
                return message;
            }
        }
    }

    fn next(&self) -> Value {
        self.inbox.recv().expect("the reader ends the program")
    }
}

/// What can be chosen, once that was set.
fn options(set: Option<(&str, &str)>) -> Value {
    let option = |id: &str, category: &str, values: [&str; 2]| {
        let options = values.map(|value| json!({"value": value, "name": value.to_uppercase()}));
        let chosen = set
            .filter(|(set, _)| *set == id)
            .map_or(values[0], |(_, value)| value);
        json!({"id": id, "category": category, "currentValue": chosen, "options": options})
    };
    json!([
        option("which", "model", ["small", "large"]),
        option("depth", "thought_level", ["low", "high"]),
    ])
}

fn replay(session: &Value) {
    say(session, "user_message_chunk", "what was said");
    say(session, "agent_message_chunk", "what was answered");
}

/// What wrappers, colours and mistakes write between two messages.
fn noise() {
    print("npm notice\r\n\u{1b}[2K\u{1b}[1Gbuilding\u{1b}[0m\r\n[1,2]\n\"text\"\n{\"cut");
    let mut out = io::stdout().lock();
    let bytes = b"\xff\xfe{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}\n";
    out.write_all(bytes).expect("somebody reads");
    let long = "x".repeat(20 * 1024 * 1024);
    writeln!(
        out,
        "{{\"jsonrpc\":\"2.0\",\"method\":\"noise\",\"params\":{{\"a\":\"{long}\"}}}}"
    )
    .expect("somebody reads");
}

/// A message that is one line of so many bytes.
fn endless(bytes: usize) {
    const PIECE: &[u8] = &[b'x'; 64 * 1024];
    let mut out = io::stdout().lock();
    let mut write = |bytes: &[u8]| out.write_all(bytes).expect("somebody reads");
    write(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":\"");
    for at in (0..bytes).step_by(PIECE.len()) {
        write(&PIECE[..PIECE.len().min(bytes - at)]);
    }
    write(b"\"}\n");
}

fn say(session: &Value, kind: &str, text: &str) {
    let content = json!({"type": "text", "text": text});
    update(session, &json!({"sessionUpdate": kind, "content": content}));
}

fn update(session: &Value, update: &Value) {
    let params = json!({"sessionId": session, "update": update});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

fn answer(id: &Value, result: &Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn refuse(id: &Value, code: i32, message: &str) {
    let error = json!({"code": code, "message": message});
    send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

fn send(message: &Value) {
    print(&message.to_string());
}

fn print(line: &str) {
    let mut out = io::stdout().lock();
    // Without a reader there is nobody to tell.
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        exit(0);
    }
}
