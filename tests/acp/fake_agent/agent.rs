//! What the agent answers, and who of those that work at its prompts hears what it is told.

use std::{
    collections::HashMap,
    io::{self, BufRead as _},
    process::exit,
    sync::{
        Arc, Barrier, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use serde_json::{Value, json};

use crate::{
    Args, USAGE,
    steps::Prompt,
    tools::Tools,
    wire::{answer, chunk, refuse, send, update},
};

/// The whole agent.
pub(crate) struct Agent {
    pub(crate) args: Args,
    /// Lets two prompts that are worked at wait for each other.
    pub(crate) meeting: Barrier,
    /// The requests within sessions; of prompts the method alone.
    told: Mutex<Vec<Value>>,
    /// What the client can do.
    pub(crate) offered: OnceLock<Value>,
    /// Who works at the prompt of each session.
    at_work: Mutex<HashMap<String, Sender<Value>>>,
    /// Who waits for the answer to each request.
    waiting: Mutex<HashMap<String, Sender<Value>>>,
    /// How many requests were made.
    asked: AtomicUsize,
    /// How many sessions were opened.
    opened: Mutex<usize>,
    /// What its sessions were handed.
    pub(crate) tools: Tools,
}

impl Agent {
    pub(crate) fn new(args: Args) -> Self {
        Self {
            args,
            meeting: Barrier::new(2),
            told: Mutex::default(),
            offered: OnceLock::new(),
            at_work: Mutex::default(),
            waiting: Mutex::default(),
            asked: AtomicUsize::new(0),
            opened: Mutex::default(),
            tools: Tools::new(),
        }
    }

    /// Answers until its input ends.
    pub(crate) fn serve(self: &Arc<Self>) {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).expect("we speak JSON");
            if !self.args.has("--mute") {
                self.take(message);
            }
        }
        if self.args.has("--no-eof") {
            thread::park();
        }
        exit(0);
    }

    fn take(self: &Arc<Self>, message: Value) {
        let Some(method) = message["method"].as_str() else {
            return self.answered(message);
        };
        let (id, params) = (&message["id"], &message["params"]);
        if method == "session/prompt" {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.push(json!({"method": method}));
        } else if method.starts_with("session/") {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.push(json!({"method": method, "params": params}));
        }
        let has = |name| self.args.has(name);
        match method {
            "initialize" => {
                self.offered
                    .set(params["clientCapabilities"].clone())
                    .expect("once");
                answer(id, &self.initialize());
            }
            "authenticate" if params["methodId"] == "fails" => refuse(id, -32603, "nobody came"),
            "authenticate" => {
                eprintln!("open this page: {}", params["methodId"]);
                answer(id, &json!({}));
            }
            "session/new" if has("--auth") => refuse(id, -32000, "run /opt/agent/login"),
            "session/new" => {
                let session = self.session("new");
                self.tools.open(&self.args, &session["sessionId"], params);
                answer(id, &session);
            }
            "session/load" | "session/resume" if has("--gone") => {
                refuse(id, -32002, "no such session");
            }
            "session/resume" if has("--resume-hangs") => {}
            "session/set_mode" if has("--set-hangs") => {}
            "session/resume" if has("--resume-fails") => refuse(id, -32603, "not today"),
            "session/resume" => {
                self.tools.open(&self.args, &params["sessionId"], params);
                answer(id, &self.session("resumed"));
            }
            "session/load" if has("--load-late") => {
                answer(id, &self.session("loaded"));
                replay(&params["sessionId"]);
            }
            "session/load" => {
                self.tools.open(&self.args, &params["sessionId"], params);
                replay(&params["sessionId"]);
                for told in self.args.value("--replays").unwrap_or_default().lines() {
                    let told = serde_json::from_str(told).expect(USAGE);
                    update(&params["sessionId"], &told);
                }
                answer(id, &self.session("loaded"));
            }
            "session/set_mode" | "session/set_config_option" if has("--set-fails") => {
                refuse(id, -32602, "no");
            }
            "session/close" if has("--close-hangs") => {}
            "session/set_mode" | "session/close" | "session/delete" => answer(id, &json!({})),
            "session/set_config_option" => {
                let value = params["value"].as_str().expect(USAGE);
                let set = params["configId"].as_str().expect(USAGE);
                answer(id, &json!({"configOptions": options(Some((set, value)))}));
            }
            "session/cancel" => {
                self.hand_on(params["sessionId"].as_str().unwrap_or_default(), &message);
            }
            "session/prompt" => self.work_at(message),
            _ => {}
        }
    }

    /// Works at a prompt, in a thread of its own.
    fn work_at(self: &Arc<Self>, message: Value) {
        let session = message["params"]["sessionId"].as_str().expect(USAGE);
        let (sender, inbox) = channel();
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        at_work.insert(session.to_owned(), sender);
        drop(at_work);
        let agent = Arc::clone(self);
        thread::spawn(move || Prompt::new(&agent, &message, &inbox).play());
    }

    /// Hands a message on to whoever works at the prompt of a session.
    fn hand_on(&self, session: &str, message: &Value) {
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = at_work.get(session) {
            // That prompt may be answered already.
            let _ = sender.send(message.clone());
        }
    }

    /// Asks something, and answers with the request's id and where its answer comes.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> (String, Receiver<Value>) {
        let id = format!("ask-{}", self.asked.fetch_add(1, Ordering::Relaxed));
        let (sender, answer) = channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(id.clone(), sender);
        drop(waiting);
        send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        (id, answer)
    }

    fn answered(&self, message: Value) {
        let id = message["id"].as_str().expect(USAGE);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = waiting.remove(id).expect("nothing is answered twice");
        // Whoever asked may not wait for it.
        let _ = sender.send(message);
    }

    /// Notes what came of something that was asked when no prompt was worked at.
    pub(crate) fn note_answer(&self, answer: &Value) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.push(json!({"answer": answer}));
    }

    /// What it was told so far.
    pub(crate) fn told(&self) -> Value {
        json!(*self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn initialize(&self) -> Value {
        let args = &self.args;
        let version: u16 = args.value("--version").unwrap_or("1").parse().expect(USAGE);
        let mut sessions = json!({});
        for (arg, name) in [
            ("--resume", "resume"),
            ("--close", "close"),
            ("--delete", "delete"),
            ("--system-prompt", "systemPrompt"),
        ] {
            if args.has(arg) {
                sessions[name] = json!({});
            }
        }
        let logins = args.value("--logins").unwrap_or("[]");
        json!({
            "protocolVersion": version,
            "authMethods": serde_json::from_str::<Value>(logins).expect(USAGE),
            "agentInfo": {"name": "fake", "version": "1"},
            "agentCapabilities": {
                "loadSession": args.has("--load") || args.has("--load-late"),
                "promptCapabilities": {"image": true},
                "mcpCapabilities": {"http": args.has("--tools-http")},
                "sessionCapabilities": sessions,
            },
        })
    }

    /// What an opened session is answered with.
    fn session(&self, how: &str) -> Value {
        const IDS: [&str; 4] = ["first", "second", "third", "fourth"];
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *opened + usize::from(self.args.has("--gone"));
        *opened += usize::from(how == "new");
        drop(opened);
        let id = IDS
            .get(number)
            .map_or_else(|| format!("session-{}", number + 1), |id| (*id).to_owned());
        let name = format!("Fake, {how}");
        let model = json!({"modelId": "fake-1", "name": name});
        let mut session = json!({
            "sessionId": id,
            "models": {"currentModelId": "fake-1", "availableModels": [model]},
        });
        if let Some(modes) = self.args.value("--modes") {
            let modes: Vec<_> = modes.split(',').map(|id| json!({"id": id})).collect();
            session["modes"] = json!({"currentModeId": modes[0]["id"], "availableModes": modes});
        }
        if self.args.has("--options") {
            session["configOptions"] = options(None);
        }
        session
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
    chunk(session, "user_message_chunk", "what was said");
    chunk(session, "agent_message_chunk", "what was answered");
}
