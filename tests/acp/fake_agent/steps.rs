//! What a prompt can say. Each line of its last text block is a step; what is no step is passed over.
//!
//! To say something: `say TEXT`, `think TEXT`, `long N` (so many letters in one message), `flood N` (so many
//! messages of one letter), `update JSON`, `in SESSION TEXT` (says it in another session).
//!
//! To say what it knows: `env`, `cwd`, `pid`, `blocks`, `prompted` (the first block's text), `told` (the requests so
//! far in all sessions, without what the prompts held).
//!
//! To write what is no message: `raw TEXT`, `noise`, `line BYTES` (a line of that length), `stderr TEXT`.
//!
//! To ask: `ask TOOL_CALL_JSON`, `request METHOD`.
//!
//! To wait: `await-cancel`, `ignore-cancel` (for ever), `meet` (until another prompt that is worked at meets it).
//!
//! To leave and to end: `leave` (starts a child as `--child`), `crash`, `killed`, `error CODE MESSAGE`,
//! `usage JSON`, `stop REASON`.

use std::{env, process::exit, sync::mpsc::Receiver};

use serde_json::{Value, json};

use crate::{
    USAGE,
    agent::Agent,
    family::leave_a_child,
    variables,
    wire::{answer, chunk, endless, half, noise, print, refuse, say, send, update},
};

/// A prompt that is worked at.
pub(crate) struct Prompt<'a> {
    agent: &'a Agent,
    id: &'a Value,
    session: &'a Value,
    blocks: &'a [Value],
    /// What the agent is told of the session meanwhile.
    inbox: &'a Receiver<Value>,
}

impl<'a> Prompt<'a> {
    pub(crate) fn new(agent: &'a Agent, message: &'a Value, inbox: &'a Receiver<Value>) -> Self {
        Self {
            agent,
            id: &message["id"],
            session: &message["params"]["sessionId"],
            blocks: message["params"]["prompt"].as_array().expect(USAGE),
            inbox,
        }
    }

    /// Takes its steps and answers it.
    pub(crate) fn play(&self) {
        let mut texts = self.blocks.iter().filter_map(|it| it["text"].as_str());
        let mut result = json!({"stopReason": "end_turn"});
        for line in texts.next_back().unwrap_or_default().lines() {
            let (step, rest) = line.split_once(' ').unwrap_or((line, ""));
            match step {
                "await-cancel" => {
                    while self.next()["method"] != "session/cancel" {}
                    result["stopReason"] = json!("cancelled");
                }
                "error" => {
                    let (code, text) = rest.split_once(' ').expect(USAGE);
                    return refuse(self.id, code.parse().expect(USAGE), text);
                }
                "usage" => result["usage"] = parsed(rest),
                "stop" => result["stopReason"] = json!(rest),
                _ => self.take(step, rest),
            }
        }
        answer(self.id, &result);
    }

    /// Takes a step that does not show in the answer.
    fn take(&self, step: &str, rest: &str) {
        match step {
            "say" => self.say(rest),
            "think" => chunk(self.session, "agent_thought_chunk", rest),
            "long" => self.say(&"x".repeat(rest.parse().expect(USAGE))),
            "flood" => (0..rest.parse().expect(USAGE)).for_each(|_| self.say("x")),
            "update" => update(self.session, &parsed(rest)),
            "in" => {
                let (other, text) = rest.split_once(' ').expect(USAGE);
                say(&json!(other), text);
            }
            "env" => self.say(&variables().join(",")),
            "cwd" => {
                let cwd = env::current_dir().expect("there is one");
                self.say(&cwd.to_string_lossy());
            }
            "pid" => self.say(&std::process::id().to_string()),
            "blocks" => {
                let types = self.blocks.iter().filter_map(|it| it["type"].as_str());
                self.say(&types.collect::<Vec<_>>().join(","));
            }
            "prompted" => self.say(self.blocks[0]["text"].as_str().unwrap_or_default()),
            "told" => self.say(&self.agent.told().to_string()),
            "raw" => print(rest),
            "noise" => noise(),
            "line" => endless(rest.parse().expect(USAGE)),
            "stderr" => eprintln!("{rest}"),
            "ask" => self.say(&self.ask(&parsed(rest)).to_string()),
            "request" => {
                let error = self.call(rest, &json!({}))["error"]["code"].take();
                self.say(&error.to_string());
            }
            "ignore-cancel" => loop {
                self.next();
            },
            "meet" => {
                self.agent.meeting.wait();
            }
            "leave" => leave_a_child(&self.agent.args, &["--session"]),
            "crash" => {
                half();
                exit(3);
            }
            "killed" => {
                let me = rustix::process::getpid();
                rustix::process::kill_process(me, rustix::process::Signal::KILL).expect("it may");
            }
            _ => {}
        }
    }

    fn say(&self, text: &str) {
        say(self.session, text);
    }

    fn ask(&self, call: &Value) -> Value {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let options = [option("yes", "allow_once"), option("no", "reject_once")];
        let params = json!({"sessionId": self.session, "toolCall": call, "options": options});
        self.call("session/request_permission", &params)["result"]["outcome"].take()
    }

    /// Asks something. The request is named after the session, so that the answer finds its way back.
    fn call(&self, method: &str, params: &Value) -> Value {
        let id = self.session;
        send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.next();
            if message["id"] == *id {
                return message;
            }
        }
    }

    fn next(&self) -> Value {
        self.inbox
            .recv()
            .expect("the end of the input is the end of the program")
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect(USAGE)
}
