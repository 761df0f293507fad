//! Many threads at once, and clients that do what clients do: hang up, stop, ask twice, come back, look on, forget.
//! Two people with three agents, one for each thing that can become of a run on a busy thread, and the same ids
//! everywhere. Over real sockets and a real file. Some rounds in the tests; `AGUI_SOAK_SECONDS=60` goes on for so long.

use std::{collections::HashMap, env, sync::Arc, time::Duration};

use agui_serve::{
    cores::demo::{Demo, Script, Step},
    deps::{AgentName, TurnRequest},
    engine::{self, Busy, Policy},
    env::Env,
    protocol::{
        Event, MessageBody, Peer,
        grammar::{Violation, check_stream, check_viewer_stream},
    },
    store::{self, Store},
};
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{Ask, Client, Daemon, soon};

const THREADS: usize = 200;
const ROUNDS: u32 = 4;
const PEOPLE: [&str; 2] = ["ann", "bob"];
const AGENTS: [(&str, Busy); 3] = [
    ("reject", Busy::Reject),
    ("queue", Busy::Queue),
    ("replace", Busy::Replace),
];

/// Small, fast, and the same every time (Marsaglia's xorshift).
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// How often each run reached the agent, and what it met there that was not its own.
#[derive(Default)]
struct Agent {
    turns: HashMap<String, u32>,
    strange: Vec<String>,
}

impl Agent {
    /// Says the thread's word a few times, and notes what it was told.
    fn plays(&mut self, request: &TurnRequest) -> Script {
        let TurnRequest {
            agent,
            principal,
            input,
            ..
        } = request;
        let thread = format!("{}-{agent}-{principal}", input.thread_id);
        let run = format!("{thread}/{}", input.run_id);
        *self.turns.entry(run).or_default() += 1;
        let word = format!("<{thread}>");
        for message in &*request.history {
            let MessageBody::User { content, .. } = &message.body else {
                continue;
            };
            if !content.text().contains(&word) {
                self.strange
                    .push(format!("{thread} heard {}", content.text()));
            }
        }
        let said = |script: Script, _| {
            script
                .deltas([word.as_str(), " "])
                .step(Step::Pause(Duration::from_millis(3)))
        };
        (0..8).fold(Script::new().open("c", "f").result("c", &word), said)
    }
}

/// One thread and its clients.
struct Thread {
    id: String,
    agent: &'static str,
    person: &'static str,
    dice: Dice,
    runs: u32,
}

impl Thread {
    fn new(number: usize) -> Self {
        let (person, rest) = (number % PEOPLE.len(), number / PEOPLE.len());
        let (agent, id) = (rest % AGENTS.len(), rest / AGENTS.len());
        Self {
            id: format!("soak-{id}"),
            agent: AGENTS[agent].0,
            person: PEOPLE[person],
            dice: Dice(u64::try_from(number).unwrap() * 7919 + 1),
            runs: 0,
        }
    }

    /// What nobody else's agent says.
    fn word(&self) -> String {
        format!("<{}-{}-{}>", self.id, self.agent, self.person)
    }

    fn request(&mut self) -> Value {
        self.runs += 1;
        let text = format!("{} {}", self.word(), self.runs);
        json!({
            "threadId": self.id, "runId": format!("r{}", self.runs), "protocolVersion": "1.0",
            "messages": [{"id": format!("u{}", self.runs), "role": "user", "content": text}],
        })
    }

    /// What is asked for to be shown the thread.
    fn look(&self) -> Value {
        json!({"threadId": self.id, "runId": "look", "protocolVersion": "1.0", "messages": []})
    }

    fn ask(&self, daemon: &Daemon, method: &str, below: &str) -> Ask {
        let ask = daemon.ask(method, &format!("/agui/{}{below}", self.agent));
        ask.header("authorization", &format!("Bearer token-of-{}", self.person))
    }

    /// Something with the thread itself.
    fn at(&self, daemon: &Daemon, method: &str, part: &str) -> Ask {
        let below = format!("/threads/{}{part}", self.id);
        self.ask(daemon, method, &below).without("content-type")
    }

    /// Posts, reads as much as it likes or all, and says what was wrong with it.
    async fn posts(
        &self,
        daemon: &Daemon,
        input: &Value,
        chunks: Option<u64>,
    ) -> Result<u16, String> {
        let ask = self.ask(daemon, "POST", "").json(input);
        self.reads(daemon, &ask, chunks, check_stream).await
    }

    /// Follows the thread.
    async fn watches(&self, daemon: &Daemon, chunks: Option<u64>) -> Result<u16, String> {
        let ask = self.at(daemon, "GET", "/events?protocolVersion=1.0");
        let check = |body: &str| check_viewer_stream(body, Peer::Current);
        self.reads(daemon, &ask, chunks, check).await
    }

    async fn reads(
        &self,
        daemon: &Daemon,
        ask: &Ask,
        chunks: Option<u64>,
        check: impl Fn(&str) -> Result<Vec<Event>, Violation>,
    ) -> Result<u16, String> {
        let mut client: Client = daemon.connect().await;
        ask.on(&mut client).await;
        let head = client.head().await;
        if head.status != 200 {
            return Ok(head.status);
        }
        let mut body = String::new();
        let mut read = 0;
        while let Some(chunk) = client.chunk().await {
            body.push_str(std::str::from_utf8(&chunk).unwrap());
            read += 1;
            if chunks.is_some_and(|chunks| read > chunks) {
                return Ok(200);
            }
        }
        check(&body).map_err(|violation| format!("{violation} in {body}"))?;
        let own = self.word();
        let mut words = body.match_indices("<soak-").map(|(at, _)| &body[at..]);
        if words.all(|word| word.starts_with(&own)) {
            Ok(200)
        } else {
            Err(format!("another thread's word than {own} in {body}"))
        }
    }

    /// Does one thing or another.
    async fn round(&mut self, daemon: &Daemon) -> Result<(), String> {
        let input = self.request();
        let look = self.look();
        let few = self.dice.throw(6);
        match self.dice.throw(7) {
            0 => {
                self.posts(daemon, &input, None).await?;
            }
            1 => {
                self.posts(daemon, &input, Some(few)).await?;
            }
            2 => {
                let both = [
                    self.posts(daemon, &input, None),
                    self.posts(daemon, &input, None),
                ];
                for status in join_all(both).await {
                    status?;
                }
            }
            3 => {
                let (run, looks, watches) = tokio::join!(
                    self.posts(daemon, &input, None),
                    join_all([
                        self.posts(daemon, &look, None),
                        self.posts(daemon, &look, Some(few)),
                    ]),
                    join_all([self.watches(daemon, None), self.watches(daemon, Some(few))]),
                );
                run?;
                for status in looks.into_iter().chain(watches) {
                    status?;
                }
            }
            4 => {
                let stop = self.at(daemon, "POST", "/cancel");
                let (run, _) = tokio::join!(self.posts(daemon, &input, None), stop.send());
                run?;
            }
            5 => {
                let forget = self.at(daemon, "DELETE", "");
                let (run, watched, forgotten) = tokio::join!(
                    self.posts(daemon, &input, None),
                    self.watches(daemon, None),
                    forget.send(),
                );
                watched.and(run)?;
                let status = forgotten.head.status;
                if status != 204 && status != 404 {
                    return Err(format!("not forgotten: answered {status}"));
                }
            }
            _ => {
                self.posts(daemon, &input, Some(few)).await?;
                // At once again: served, or told to come back.
                let next = self.request();
                let status = self.posts(daemon, &next, None).await?;
                if status != 200 && status != 409 {
                    return Err(format!("answered {status}"));
                }
            }
        }
        Ok(())
    }

    /// Runs once more: whatever was done to the thread, it is free again.
    async fn last(&mut self, daemon: &Daemon) -> Result<(), String> {
        let input = self.request();
        loop {
            match self.posts(daemon, &input, None).await? {
                200 => break,
                // Whoever hung up may have left a run of which nobody knows yet that it is to stop.
                409 => tokio::task::yield_now().await,
                status => return Err(format!("the last run was answered {status}")),
            }
        }
        let thread = self.at(daemon, "GET", "").send().await.json();
        let last = &thread["lastRun"];
        if (&last["runId"], &last["outcome"]) == (&input["runId"], &json!("success")) {
            Ok(())
        } else {
            Err(format!("the last run is {last}"))
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where a test learns how long it is to be"
)]
fn seconds() -> Option<u64> {
    env::var("AGUI_SOAK_SECONDS").ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_threads_with_restless_clients_break_no_stream_and_mix_nothing() {
    let until = seconds().map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let agent = Arc::new(Mutex::new(Agent::default()));
    let folder = tempfile::tempdir().unwrap();
    let kept = store::Options {
        at: store::Location::file(folder.path().join("threads.db")),
        ..store::Options::default()
    };
    let tokens = PEOPLE.map(|person| (person, format!("token-of-{person}")));
    let tokens = tokens.each_ref().map(|(person, token)| (*person, &**token));
    let daemon = Daemon::build()
        .tokens(&tokens)
        .store(&Store::open(kept, Env::system()).unwrap());
    let daemon = AGENTS.into_iter().fold(daemon, |daemon, (name, busy)| {
        let agent = Arc::clone(&agent);
        let plays = move |request: &TurnRequest| agent.lock().plays(request);
        let policy = Policy {
            busy,
            ..Policy::default()
        };
        let with_policy = |options: &mut engine::Options| {
            options.agents.insert(AgentName::new(name).unwrap(), policy);
        };
        daemon
            .agent(name, Demo::scripted(plays))
            .engine(with_policy)
    });
    let daemon = daemon.start();

    let threads = (0..THREADS).map(|number| {
        let mut thread = Thread::new(number);
        let what = format!("a client of {}", thread.word());
        let daemon = &daemon;
        async move {
            let mut round = 0;
            while until.map_or(round < ROUNDS, |until| Instant::now() < until) {
                soon(&what, thread.round(daemon)).await?;
                round += 1;
            }
            soon(&what, thread.last(daemon)).await
        }
    });
    let wrong: Vec<_> = join_all(threads)
        .await
        .into_iter()
        .filter_map(Result::err)
        .collect();
    assert_eq!(wrong, Vec::<String>::new());

    let stopped = async {
        while daemon.runtime.live_turns() > 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("all turns to end", stopped).await;
    let agent = std::mem::take(&mut *agent.lock());
    let twice: Vec<_> = agent
        .turns
        .iter()
        .filter(|(_, turns)| **turns > 1)
        .collect();
    assert!(twice.is_empty(), "{twice:?}");
    println!("{} runs", agent.turns.len());
    assert!(agent.turns.len() > 200, "{} runs", agent.turns.len());
    assert_eq!(agent.strange, Vec::<String>::new());
    daemon.stop().await;
}
