//! Threads over several runs, several readers and several daemons, on one store in memory.

use parking_lot::Mutex;

use super::*;
use crate::{
    deps::{Forgotten, Session, Setting, Settings},
    protocol::{RunId, ThreadId},
    store::{Key, Outcome as Ended, Store},
};

/// What a core was asked for.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) requests: Vec<TurnRequest>,
    pub(super) forgotten: Vec<Forgotten>,
}

/// A core whose every turn says what it was asked, and does what the word says.
struct Core {
    agents: Vec<Agent>,
    heard: Arc<Mutex<Heard>>,
}

impl Deps for Core {
    fn agents(&self) -> &[Agent] {
        &self.agents
    }

    fn turn(&self, request: TurnRequest, io: TurnIo) -> BoxFuture<'static, Outcome> {
        self.heard.lock().requests.push(request.clone());
        Box::pin(async move {
            match request.prompt.text().as_str() {
                "break" => return Err(TurnError::new(Code::AgentUnavailable, "it is not there")),
                "lose it" => io.rebind(SessionRef::new("s2")).await?,
                "recall" => {
                    let past = json!([{"role": "user", "content": "long ago"}]);
                    io.recall(serde_json::from_value(past).unwrap()).await?;
                }
                _ => io.bind(SessionRef::new("s1")).await?,
            }
            io.emit(text("you said ")).await?;
            io.emit(text(&request.prompt.text())).await?;
            match request.prompt.text().as_str() {
                "wait" => {
                    io.stopped().await;
                    return Ok(StopReason::Cancelled);
                }
                "set" => {
                    let mode = Setting {
                        value: Some("ask".into()),
                        ..Setting::default()
                    };
                    let settings = Settings {
                        mode: Some(mode),
                        ..Settings::default()
                    };
                    io.emit(CoreEvent::Settings(settings.into())).await?;
                }
                "fail" => return Err(TurnError::new(Code::AgentCrashed, "it crashed")),
                _ => {}
            }
            Ok(StopReason::EndTurn)
        })
    }

    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        self.heard.lock().forgotten.push(forgotten);
        Box::pin(std::future::ready(()))
    }
}

/// A machine on which daemons come and go.
pub(super) struct Machine {
    pub(super) store: Store,
    pub(super) env: Env,
    pub(super) heard: Arc<Mutex<Heard>>,
    pub(super) policy: Policy,
    pub(super) workdir: &'static str,
}

impl Machine {
    pub(super) fn new() -> Self {
        let env = Env::fixed(7);
        Self {
            store: Store::memory(env.clone()),
            env,
            heard: Arc::default(),
            policy: Policy::default(),
            workdir: "/one",
        }
    }

    /// A daemon that has just started.
    pub(super) fn daemon(&self) -> Runtime {
        let mut agent = Agent::new(name());
        agent.workdir = Some(self.workdir.into());
        let deps = Arc::new(Core {
            agents: vec![agent],
            heard: Arc::clone(&self.heard),
        });
        let options = Options {
            policy: self.policy.clone(),
            ..Options::default()
        };
        Runtime::with_store(deps, options, self.env.clone(), self.store.clone())
    }

    pub(super) fn turns(&self) -> usize {
        self.heard.lock().requests.len()
    }

    pub(super) fn last_request(&self) -> TurnRequest {
        self.heard.lock().requests.last().unwrap().clone()
    }
}

pub(super) fn key(thread: &str) -> Key {
    Runtime::key(
        &name(),
        &Principal::local(),
        &ThreadId::new(thread).unwrap(),
    )
}

pub(super) fn run_id(run: &str) -> RunId {
    RunId::new(run).unwrap()
}

/// A request that says something new.
pub(super) fn says(run: &str, prompt: &str) -> Value {
    let id = format!("u-{run}");
    json!({"runId": run, "messages": [{"id": id, "role": "user", "content": prompt}]})
}

pub(super) async fn told(daemon: &Runtime, run: &str, prompt: &str) -> Vec<Value> {
    collect(start(daemon, &says(run, prompt)).await.unwrap()).await
}

pub(super) async fn hydrated(daemon: &Runtime) -> Vec<Value> {
    let request = json!({"runId": "h", "messages": []});
    collect(start(daemon, &request).await.unwrap()).await
}

/// Reads until a text has come.
pub(super) async fn read_until(reader: &mut Reader, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        for frame in reader.next().await.expect("the run goes on") {
            seen.push_str(std::str::from_utf8(&frame).unwrap());
        }
    }
    seen
}

pub(super) fn snapshot<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events.iter().find(|event| event["type"] == kind).unwrap()
}

/// The roles and texts of a snapshot of messages.
pub(super) fn messages(events: &[Value]) -> Vec<String> {
    let messages = &snapshot(events, "MESSAGES_SNAPSHOT")["messages"];
    let said = |message: &Value| {
        let text = |name: &str| message[name].as_str().unwrap().to_owned();
        format!("{}: {}", text("role"), text("content"))
    };
    messages.as_array().unwrap().iter().map(said).collect()
}

#[tokio::test]
async fn r45_r46_a_thread_keeps_its_session_also_in_the_next_daemon() {
    let machine = Machine::new();
    told(&machine.daemon(), "r1", "one").await;
    assert_eq!(machine.last_request().session, Session::New);
    let next = machine.daemon();
    let events = told(&next, "r2", "two").await;
    let bound = Session::Bound(SessionRef::new("s1"));
    assert_eq!(machine.last_request().session, bound);
    assert_eq!(events[1]["snapshot"]["session"], "s1");
    let said = machine.last_request().history;
    assert_eq!(said.len(), 2, "{said:?}");
    // Another principal's thread of that name is another thread.
    let other = Principal::new("alice").unwrap();
    let reader = next.start(&name(), &other, input(&json!({}))).await;
    collect(reader.unwrap()).await;
    assert_eq!(machine.last_request().session, Session::New);
    assert!(machine.last_request().history.is_empty());
}

#[tokio::test]
async fn r48_r86_a_session_that_takes_the_place_of_another_begins_with_a_new_document() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "set").await;
    let kept = told(&daemon, "r2", "two").await;
    assert_eq!(kept[1]["snapshot"]["pando"]["mode"]["value"], "ask");
    let request = json!({"state": {"mine": 1}});
    let mut request = request.as_object().unwrap().clone();
    request.extend(says("r3", "lose it").as_object().unwrap().clone());
    let lost = collect(start(&daemon, &request.into()).await.unwrap()).await;
    let renewed: Vec<_> = lost
        .iter()
        .filter(|event| event["type"] == "STATE_SNAPSHOT")
        .collect();
    assert_eq!(renewed.len(), 2);
    assert_eq!(renewed[1]["snapshot"]["session"], "s2");
    assert_eq!(renewed[1]["snapshot"]["mine"], 1);
    assert!(renewed[1]["snapshot"]["pando"].get("mode").is_none());
    let next = told(&machine.daemon(), "r4", "one").await;
    assert_eq!(next[1]["snapshot"]["session"], "s2");
}

#[tokio::test]
async fn r49_a_client_that_hangs_up_during_the_first_run_does_not_lose_the_binding() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    let mut reader = start(&daemon, &says("r1", "wait")).await.unwrap();
    read_until(&mut reader, "said").await;
    drop(reader);
    told(&daemon, "r2", "two").await;
    let bound = Session::Bound(SessionRef::new("s1"));
    assert_eq!(machine.last_request().session, bound);
    // Field report R52: what was said until then is there, and the run says that it was cancelled.
    let said: Vec<_> = messages(&hydrated(&daemon).await);
    assert_eq!(said[..2], ["user: wait", "assistant: you said wait"]);
    let (_, run) = machine.store.look(&key("t"), Some(&run_id("r1"))).await;
    assert_eq!(run.unwrap().outcome, Ended::Cancelled);
}

#[tokio::test]
async fn r83_r84_a_document_belongs_to_the_thread_and_to_the_daemon() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "set").await;
    let second = told(&daemon, "r2", "two").await;
    assert_eq!(second[1]["snapshot"]["pando"]["mode"]["value"], "ask");
    let after = told(&machine.daemon(), "r3", "three").await;
    assert!(after[1]["snapshot"]["pando"].get("mode").is_none());
    assert_eq!(after[1]["snapshot"]["session"], "s1");
}

#[tokio::test]
async fn report_r59_a_run_that_is_asked_for_again_is_told_how_it_ended_and_never_runs_twice() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    let first = told(&daemon, "r1", "one").await;
    assert_eq!(told(&daemon, "r1", "one").await, first, "it is still there");
    let other = told(&daemon, "r1", "other").await;
    assert_eq!(snapshot(&other, "CUSTOM")["value"]["code"], "run_replayed");
    let failed = told(&daemon, "r2", "fail").await;
    assert_eq!(last(&failed)["code"], "agent_crashed");

    let next = machine.daemon();
    let again = told(&next, "r1", "one").await;
    let kinds = [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "CUSTOM",
        "RUN_FINISHED",
    ];
    assert_eq!(types(&again), kinds);
    assert_eq!(again[0]["runId"], "r1");
    assert_eq!(again[3]["value"], json!({"code": "run_replayed"}));
    let again = told(&next, "r2", "fail").await;
    assert_eq!(
        (&last(&again)["code"], &last(&again)["message"]),
        (&json!("agent_crashed"), &json!("it crashed"))
    );
    assert_eq!(machine.turns(), 2);
}

#[tokio::test]
async fn a_run_that_was_lost_with_its_daemon_is_told_as_that_and_does_not_run_again() {
    let machine = Machine::new();
    let killed = machine.daemon();
    let mut reader = start(&killed, &says("r1", "wait")).await.unwrap();
    read_until(&mut reader, "said").await;
    // The first daemon is not there any more, as far as the next one can know.
    let next = machine.daemon();
    let again = told(&next, "r1", "wait").await;
    assert_eq!(last(&again)["code"], "run_lost");
    assert_eq!(machine.turns(), 1);
    let hydrated = hydrated(&next).await;
    let notice = snapshot(&hydrated, "CUSTOM");
    assert_eq!(notice["value"]["outcome"], "lost");
    assert_eq!(last(&hydrated)["type"], "RUN_FINISHED");
}

#[tokio::test]
async fn a_conversation_that_is_cut_back_is_asked_of_a_session_that_knows_too_much() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "one").await;
    told(&daemon, "r2", "two").await;
    let again =
        json!({"runId": "r3", "messages": [{"id": "u-r1", "role": "user", "content": "one"}]});
    collect(start(&daemon, &again).await.unwrap()).await;
    let request = machine.last_request();
    assert_eq!(request.session, Session::Rewound(SessionRef::new("s1")));
    assert!(request.history.is_empty());
    assert_eq!(
        messages(&hydrated(&daemon).await),
        ["user: one", "assistant: you said one"]
    );
}

#[tokio::test]
async fn a_session_of_another_folder_is_not_returned_to() {
    let mut machine = Machine::new();
    told(&machine.daemon(), "r1", "one").await;
    machine.workdir = "/two";
    let events = told(&machine.daemon(), "r2", "two").await;
    let request = machine.last_request();
    assert_eq!((request.session, request.history.len()), (Session::New, 2));
    assert_eq!(
        snapshot(&events, "CUSTOM")["value"]["code"],
        "workdir_changed"
    );
    told(&machine.daemon(), "r3", "three").await;
    let bound = Session::Bound(SessionRef::new("s1"));
    assert_eq!(machine.last_request().session, bound);
}

#[tokio::test]
async fn why_a_run_failed_stands_in_the_thread_and_is_nothing_that_an_agent_said_before() {
    let mut machine = Machine::new();
    told(&machine.daemon(), "r1", "fail").await;
    machine.workdir = "/two";
    told(&machine.daemon(), "r2", "two").await;
    let heard = machine.last_request().history;
    let heard = json!({"type": "MESSAGES_SNAPSHOT", "messages": &*heard});
    assert_eq!(
        messages(&[heard]),
        ["user: fail", "assistant: you said fail"]
    );
    let shown = messages(&hydrated(&machine.daemon()).await);
    assert_eq!(shown[2], "assistant: The run failed: it crashed.");
    assert_eq!(shown.len(), 5);
}

#[tokio::test]
async fn a_thread_that_is_forgotten_is_stopped_and_its_session_let_go_of() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    let reader = start(&daemon, &says("r1", "wait")).await.unwrap();
    let thread = key("t");
    let (forgotten, events) = tokio::join!(daemon.forget(&thread), collect(reader));
    assert_eq!(forgotten, Ok(()));
    assert_eq!(last(&events)["outcome"], json!({"type": "cancelled"}));
    assert_eq!(daemon.thread(&key("t")).await.unwrap_err(), UnknownThread);
    assert_eq!(
        daemon.forget(&key("t")).await,
        Err(StartError::UnknownThread)
    );
    let forgotten = machine.heard.lock().forgotten.pop().unwrap();
    assert_eq!(forgotten.session, SessionRef::new("s1"));
    told(&daemon, "r1", "one").await;
    assert_eq!(machine.last_request().session, Session::New);
}

#[tokio::test]
async fn what_a_session_remembers_fills_a_transcript_that_is_not_whole_and_no_other() {
    let mut machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "recall").await;
    let whole = ["user: recall", "assistant: you said recall"];
    assert_eq!(messages(&hydrated(&daemon).await), whole);

    let small = crate::store::Options {
        transcript_bytes: 300,
        ..crate::store::Options::default()
    };
    machine.store = Store::open(small, machine.env.clone()).unwrap();
    let daemon = machine.daemon();
    told(&daemon, "r1", &"long ".repeat(60)).await;
    let partial = hydrated(&daemon).await;
    assert_eq!(
        types(&partial),
        ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"]
    );
    told(&daemon, "r2", "recall").await;
    let filled = [
        "user: long ago",
        "user: recall",
        "assistant: you said recall",
    ];
    assert_eq!(messages(&hydrated(&daemon).await), filled);
}

/// A run that waits, and another client that asks for it.
#[tokio::test]
async fn a_cut_that_never_reached_the_agent_is_not_forgotten() {
    let machine = Machine::new();
    let daemon = machine.daemon();
    told(&daemon, "r1", "one").await;
    told(&daemon, "r2", "two").await;
    let edit =
        json!({"runId": "r3", "messages": [{"id": "u-r1", "role": "user", "content": "break"}]});
    let broken = collect(start(&daemon, &edit).await.unwrap()).await;
    assert_eq!(last(&broken)["code"], "agent_unavailable");
    told(&daemon, "r4", "four").await;
    assert_eq!(machine.last_request().session, Session::New);
}

#[tokio::test(start_paused = true)]
async fn report_r52_what_was_being_said_when_a_daemon_was_killed_is_kept_as_far_as_it_went() {
    let machine = Machine::new();
    let killed = machine.daemon();
    let mut reader = start(&killed, &says("r1", "wait")).await.unwrap();
    read_until(&mut reader, "wait\"").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The first daemon is not there any more, as far as the next one can know.
    let next = machine.daemon();
    let said = ["user: wait", "assistant: you said wait"];
    assert_eq!(messages(&hydrated(&next).await), said);
    told(&next, "r2", "two").await;
    assert_eq!(messages(&hydrated(&next).await)[..2], said);
}

#[tokio::test]
async fn threads_that_are_too_many_are_forgotten_with_their_sessions() {
    let mut machine = Machine::new();
    let few = crate::store::Options {
        max_threads: 2,
        ..crate::store::Options::default()
    };
    machine.store = Store::open(few, machine.env.clone()).unwrap();
    let daemon = machine.daemon();
    for thread in ["a", "b", "c"] {
        let mut request = says("r", "one");
        request["threadId"] = thread.into();
        collect(start(&daemon, &request).await.unwrap()).await;
    }
    daemon.sweep().await;
    assert_eq!(
        daemon
            .threads(&name(), &Principal::local(), None, 9)
            .await
            .threads
            .len(),
        2
    );
    let forgotten = machine.heard.lock().forgotten.pop().unwrap();
    assert_eq!(forgotten.thread.as_str(), "a");
    assert_eq!(daemon.thread(&key("a")).await.unwrap_err(), UnknownThread);
}
