//! What a prompt can say. Each line of its last text block is a step; what is no step is passed over.
//!
//! To say something: `say TEXT`, `think TEXT`, `long N` (so many letters in one message), `flood N` (so many
//! messages of one letter), `update JSON`, `in SESSION TEXT` (says it in another session), `update-in SESSION JSON`.
//!
//! To say what it knows: `env`, `cwd`, `pid`, `blocks`, `prompted` (the first block's text), `told` (the requests so
//! far in all sessions, without what the prompts held), `offered` (what the client can do).
//!
//! To write what is no message: `raw TEXT`, `noise`, `line BYTES` (a line of that length), `stderr TEXT`.
//!
//! To ask: `options JSON` (what the answers to later requests for permission can be; else `yes` and `no`),
//! `ask TOOL_CALL_JSON` (for permission), `ask-in SESSION TOOL_CALL_JSON`, `ask-afterwards TOOL_CALL_JSON` (once the prompt is
//! answered; `told` has the answer, and then it waits as `meet`), `elicit PARAMS_JSON`, `request METHOD`. To ask without waiting:
//! `open N TOOL_CALL_JSON` (so many times), `withdraw` (the last one), `answers` (says those to all that are open). What asks says what
//! it was answered.
//!
//! Of tools that it was handed: `tools` (their names), `call NAME ARGUMENTS_JSON` (says what came of it), `calls
//! ARRAY_OF_NAME_AND_ARGUMENTS_JSON` (at once), `call-meta NAME META_JSON`, `call-early NAME ARGUMENTS_JSON` (first calls, then
//! says something and tells of the call).
//!
//! To wait: `await-cancel`, `ignore-cancel` (for ever), `meet` (until another prompt that is worked at meets it).
//!
//! To leave and to end: `leave` (starts a child as `--child`), `crash`, `killed`, `error CODE MESSAGE`,
//! `usage JSON`, `stop REASON`.
//!
//! To attack the daemon: `break-in`, `break-out`.

use std::{
    cell::{Cell, RefCell},
    env,
    process::exit,
    sync::mpsc::Receiver,
};

use serde_json::{Value, json};

use crate::{
    USAGE,
    agent::Agent,
    family::leave_a_child,
    hostile, variables,
    wire::{answer, chunk, endless, half, noise, print, refuse, say, send, update},
};

const PERMISSION: &str = "session/request_permission";

/// A prompt that is worked at.
pub(crate) struct Prompt<'a> {
    agent: &'a Agent,
    id: &'a Value,
    session: &'a Value,
    blocks: &'a [Value],
    /// What the agent is told of the session meanwhile.
    inbox: &'a Receiver<Value>,
    /// What its requests for permission can be answered with.
    options: RefCell<Value>,
    /// Those that it does not wait for, by their ids.
    open: RefCell<Vec<(String, Receiver<Value>)>>,
    /// The call that it asks about once it has answered.
    afterwards: Cell<Option<Value>>,
}

impl<'a> Prompt<'a> {
    pub(crate) fn new(agent: &'a Agent, message: &'a Value, inbox: &'a Receiver<Value>) -> Self {
        Self {
            agent,
            id: &message["id"],
            session: &message["params"]["sessionId"],
            blocks: message["params"]["prompt"].as_array().expect(USAGE),
            inbox,
            options: RefCell::new(json!([
                {"optionId": "yes", "name": "yes", "kind": "allow_once"},
                {"optionId": "no", "name": "no", "kind": "reject_once"},
            ])),
            open: RefCell::default(),
            afterwards: Cell::new(None),
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
        if let Some(call) = self.afterwards.take() {
            self.agent.note_answer(&self.ask(self.session, &call));
            self.agent.meeting.wait();
        }
    }

    /// Takes a step that does not show in the answer.
    fn take(&self, step: &str, rest: &str) {
        match step {
            "say" => self.say(rest),
            "think" => chunk(self.session, "agent_thought_chunk", rest),
            "long" => self.say(&"x".repeat(rest.parse().expect(USAGE))),
            "flood" => (0..rest.parse().expect(USAGE)).for_each(|_| self.say("x")),
            "update" => update(self.session, &parsed(rest)),
            "update-in" => {
                let (other, said) = rest.split_once(' ').expect(USAGE);
                update(&json!(other), &parsed(said));
            }
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
            "offered" => self.say(&self.agent.offered.get().expect(USAGE).to_string()),
            "tools" => self.say(&self.agent.tools.names(self.session).join(",")),
            "call" => {
                let (name, arguments) = rest.split_once(' ').expect(USAGE);
                let calls = json!([[name, parsed(arguments), {}]]);
                self.say(&self.agent.tools.call(self.session, &calls).join(" "));
            }
            "call-early" => {
                let (name, arguments) = rest.split_once(' ').expect(USAGE);
                let input = parsed(arguments);
                let told = json!({"sessionUpdate": "tool_call", "toolCallId": "own",
                    "title": format!("agui_{name}"), "kind": "other", "rawInput": input});
                let meanwhile = || {
                    self.say("before ");
                    update(self.session, &told);
                };
                let calls = json!([[name, input, {}]]);
                let tools = &self.agent.tools;
                self.say(&tools.call_and(self.session, &calls, meanwhile).join(" "));
            }
            "call-meta" => {
                let (name, meta) = rest.split_once(' ').expect(USAGE);
                let calls = json!([[name, {}, parsed(meta)]]);
                self.say(&self.agent.tools.call(self.session, &calls).join(" "));
            }
            "calls" => self.say(&self.agent.tools.call(self.session, &parsed(rest)).join(" ")),
            "request" => self.say(&self.call(rest, &json!({})).to_string()),
            _ => self.take_asking(step, rest),
        }
    }

    /// Takes a step that asks something, or ends the program.
    fn take_asking(&self, step: &str, rest: &str) {
        match step {
            "options" => *self.options.borrow_mut() = parsed(rest),
            "ask" => self.say(&self.ask(self.session, &parsed(rest)).to_string()),
            "ask-in" => {
                let (session, call) = rest.split_once(' ').expect(USAGE);
                self.say(&self.ask(&json!(session), &parsed(call)).to_string());
            }
            "ask-afterwards" => self.afterwards.set(Some(parsed(rest))),
            "open" => {
                let (count, call) = rest.split_once(' ').expect(USAGE);
                let params = self.request(self.session, &parsed(call));
                for _ in 0..count.parse().expect(USAGE) {
                    let asked = self.agent.ask(PERMISSION, &params);
                    self.open.borrow_mut().push(asked);
                }
            }
            "withdraw" => {
                let open = self.open.borrow();
                let params = json!({"requestId": open.last().expect(USAGE).0});
                send(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}));
            }
            "answers" => {
                let answers = self.open.take().into_iter();
                let answers = answers.map(|(_, answer)| said(&answer).to_string());
                self.say(&answers.collect::<Vec<_>>().join(" "));
            }
            "elicit" => {
                let mut params = parsed(rest);
                params["sessionId"] = self.session.clone();
                self.say(&self.call("elicitation/create", &params).to_string());
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
            "break-in" => hostile::break_in(),
            "break-out" => hostile::break_out(),
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

    fn ask(&self, session: &Value, call: &Value) -> Value {
        self.call(PERMISSION, &self.request(session, call))
    }

    fn request(&self, session: &Value, call: &Value) -> Value {
        let options = self.options.borrow();
        json!({"sessionId": session, "toolCall": call, "options": *options})
    }

    /// Asks something and waits for what is said to it.
    fn call(&self, method: &str, params: &Value) -> Value {
        said(&self.agent.ask(method, params).1)
    }

    fn next(&self) -> Value {
        self.inbox
            .recv()
            .expect("the end of the input is the end of the program")
    }
}

/// What an answer says: its outcome if it has one, its result, or the code of its error.
fn said(answer: &Receiver<Value>) -> Value {
    let mut answer = answer.recv().expect("nobody forgets it");
    match answer["error"]["code"].take() {
        Value::Null => {}
        code => return code,
    }
    let mut result = answer["result"].take();
    let outcome = result.get_mut("outcome").map(Value::take);
    outcome.unwrap_or(result)
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect(USAGE)
}
