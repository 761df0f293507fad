//! The conformance kit: it lets good cores pass, and finds what is wrong with each of the others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use agui_serve::{
    Deps,
    conformance::{self, Check, Memory, Options, Sessions},
    cores::{Cores, Definition, demo::Demo},
    deps::{
        Agent, AgentName, BoxFuture, Code, CoreEvent, Forgotten, SessionRef, StopReason, TurnError,
        TurnIo, TurnRequest,
    },
};
use futures_util::future::join_all;

/// What is wrong with a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    NoAgents,
    TwinAgents,
    EagerAgents,
    Mute,
    Failing,
    DoubleCall,
    Unbound,
    ForgetsSessions,
    Rebinds,
    ForgetsWords,
    KeepsForgotten,
    NeverForgets,
    Deaf,
    PanicsWhenStopped,
    Short,
    Late,
    Hoarding,
    LeavesATask,
    OneAtATime,
    Mixing,
    TextOnly,
    NeverCloses,
    PanicsAtClose,
}

/// A core that remembers what it was told, with one flaw.
#[derive(Clone)]
struct Core(Arc<Inner>);

struct Inner {
    flaw: Flaw,
    agents: Vec<Agent>,
    told: Mutex<HashMap<String, String>>,
    heard: Mutex<String>,
    kept: Mutex<Vec<TurnIo>>,
    turn: tokio::sync::Mutex<()>,
}

/// Keeps hold of a turn that is dropped.
struct Remains(Core, TurnIo);

impl Drop for Remains {
    fn drop(&mut self) {
        if self.0.0.flaw == Flaw::LeavesATask && !self.1.is_stopped() {
            self.0.0.kept.lock().unwrap().push(self.1.clone());
        }
    }
}

impl Core {
    fn new(flaw: Flaw) -> Self {
        let names: &[&str] = match flaw {
            Flaw::NoAgents => &[],
            Flaw::TwinAgents => &["one", "one"],
            _ => &["one", "two"],
        };
        let agent = |name: &&str| Agent::new(AgentName::new(name).unwrap());
        Self(Arc::new(Inner {
            flaw,
            agents: names.iter().map(agent).collect(),
            told: Mutex::default(),
            heard: Mutex::default(),
            kept: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }))
    }

    async fn play(self, request: TurnRequest, io: TurnIo) -> Result<StopReason, TurnError> {
        let Inner {
            flaw,
            told,
            heard,
            kept,
            turn,
            ..
        } = &*self.0;
        let _alone = match flaw {
            Flaw::OneAtATime => Some(turn.lock().await),
            _ => None,
        };
        let broken = || Err(TurnError::new(Code::AgentError, "it is broken"));
        let resumed = request.session.known().is_some();
        let session = request.session.known().map_or_else(
            || request.input.thread_id.as_str().to_owned(),
            |session| session.as_str().to_owned(),
        );
        match flaw {
            Flaw::Hoarding => kept.lock().unwrap().push(io.clone()),
            Flaw::Failing => return broken(),
            Flaw::ForgetsSessions if resumed => return broken(),
            Flaw::TextOnly if request.prompt.has_media() => return broken(),
            _ => {}
        }
        let prompt = request.prompt.text();
        let (word, rest) = prompt.split_once(' ').unwrap_or((&prompt, ""));
        if *flaw != Flaw::Unbound && (*flaw, word) != (Flaw::Late, "long") {
            let bound = match flaw {
                Flaw::Rebinds => format!("{session}-again"),
                _ => session.clone(),
            };
            io.bind(SessionRef::new(&bound)).await?;
        }
        let answer = match word {
            "long" if *flaw == Flaw::Short => "That was it.".into(),
            "long" => {
                if *flaw != Flaw::Late {
                    io.emit(CoreEvent::Text("Well…".into())).await?;
                }
                let _remains = Remains(self.clone(), io.clone());
                io.stopped().await;
                match flaw {
                    Flaw::Deaf => std::future::pending().await,
                    Flaw::PanicsWhenStopped => panic!("it cannot stop"),
                    _ => return Ok(StopReason::Cancelled),
                }
            }
            "say" => {
                let mut heard = heard.lock().unwrap();
                heard.push_str(rest);
                match flaw {
                    Flaw::Mixing => heard.clone(),
                    _ => rest.into(),
                }
            }
            "tell" => {
                told.lock().unwrap().insert(session, rest.into());
                "I see.".into()
            }
            "ask" if *flaw == Flaw::ForgetsWords => "What word?".into(),
            "ask" => {
                let told = told.lock().unwrap();
                told.get(&session).cloned().unwrap_or_default()
            }
            _ => "Hello.".to_owned(),
        };
        for _ in 0..if *flaw == Flaw::DoubleCall { 2 } else { 1 } {
            io.emit(CoreEvent::ToolCallOpened {
                call: "call".into(),
                name: "tool".into(),
            })
            .await?;
        }
        if *flaw != Flaw::Mute {
            io.emit(CoreEvent::Text(answer)).await?;
        }
        Ok(StopReason::EndTurn)
    }
}

impl Deps for Core {
    fn agents(&self) -> &[Agent] {
        if self.0.flaw == Flaw::EagerAgents {
            // Panics where nothing can be started.
            let _ = tokio::runtime::Handle::current();
        }
        &self.0.agents
    }

    fn turn(
        &self,
        request: TurnRequest,
        io: TurnIo,
    ) -> BoxFuture<'static, Result<StopReason, TurnError>> {
        Box::pin(self.clone().play(request, io))
    }

    fn forget(&self, forgotten: Forgotten) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match self.0.flaw {
                Flaw::KeepsForgotten => {}
                Flaw::NeverForgets => std::future::pending().await,
                _ => {
                    let thread = forgotten.thread.as_str();
                    self.0.told.lock().unwrap().remove(thread);
                }
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            match self.0.flaw {
                Flaw::NeverCloses => std::future::pending().await,
                Flaw::PanicsAtClose => panic!("it cannot close"),
                _ => {}
            }
        })
    }
}

fn prompts() -> Options {
    Options {
        memory: Some(Memory {
            tell: "tell walrus".into(),
            ask: "ask".into(),
            answer: "walrus".into(),
        }),
        echo: Some(|word| format!("say {word}")),
        ..Options::new("hello", "long")
    }
}

#[tokio::test]
async fn a_good_core_keeps_every_promise() {
    use Check::{Agents, Answer, Close, Drop, Forget, Memory, Parts, Session, Stop, Together};
    let all = [
        Agents, Answer, Session, Memory, Forget, Stop, Drop, Together, Parts, Close,
    ];
    let report = conformance::check(Arc::new(Core::new(Flaw::None)), &prompts()).await;
    assert_eq!(report.passed, all, "{report}");
    assert_eq!(report.failures, [], "{report}");
}

#[tokio::test]
async fn the_second_agent_can_be_tried_and_one_that_is_not_there_is_a_finding() {
    let tried = |agent: &str| {
        let options = Options {
            agent: Some(AgentName::new(agent).unwrap()),
            ..Options::new("hello", "long")
        };
        async move { conformance::check(Arc::new(Core::new(Flaw::None)), &options).await }
    };
    assert_eq!(tried("two").await.failures, []);
    let report = tried("three").await;
    assert_eq!(report.failures[0].how, "there is no agent `three`");
}

/// Each with the checks that find it, and what the first of them says.
const FOUND: [(Flaw, &[Check], &str); 23] = {
    use Check::{Agents, Answer, Close, Drop, Forget, Memory, Parts, Session, Stop, Together};
    [
        (Flaw::NoAgents, &[Agents], "there is no agent"),
        (Flaw::TwinAgents, &[Agents], "two agents are called `one`"),
        (Flaw::EagerAgents, &[Agents], "they must start nothing"),
        (Flaw::Mute, &[Answer, Memory, Together], "has no text"),
        (
            Flaw::Failing,
            &[Answer, Session, Memory, Stop, Drop, Together, Parts],
            "a run failed: it is broken (agent_error)",
        ),
        (
            Flaw::DoubleCall,
            &[Answer, Session, Memory, Stop, Together, Parts],
            "opened the call `call` twice",
        ),
        (Flaw::Unbound, &[Session], "bound no session"),
        (
            Flaw::ForgetsSessions,
            &[Session, Memory, Stop],
            "which was to go on in session `conformance-",
        ),
        (Flaw::Rebinds, &[Session, Memory], "bound `conformance-"),
        (Flaw::ForgetsWords, &[Memory], "without \"walrus\""),
        (
            Flaw::KeepsForgotten,
            &[Forget],
            "which was said in one that was let go of",
        ),
        (
            Flaw::NeverForgets,
            &[Forget],
            "`forget` of a session did not return within",
        ),
        (
            Flaw::Deaf,
            &[Stop, Together, Close],
            "after it was told to stop, and was dropped",
        ),
        (
            Flaw::PanicsWhenStopped,
            &[Stop, Together, Close],
            "a turn panicked when it was told to stop",
        ),
        (
            Flaw::Short,
            &[Stop, Drop, Together],
            "give one that goes on for longer",
        ),
        (
            Flaw::Late,
            &[Stop, Drop, Together],
            "brought no sign of life",
        ),
        (
            Flaw::Hoarding,
            &[Answer, Session, Memory, Stop, Drop, Together, Parts, Close],
            "something holds a clone of its `TurnIo`",
        ),
        (
            Flaw::LeavesATask,
            &[Drop],
            "something holds a clone of its `TurnIo`",
        ),
        (
            Flaw::OneAtATime,
            &[Together],
            "while one on another was live: the long prompt brought no sign of life",
        ),
        (Flaw::Mixing, &[Together], "which is another thread's"),
        (Flaw::TextOnly, &[Parts], "a run failed: it is broken"),
        (Flaw::NeverCloses, &[Close], "did not return within"),
        (Flaw::PanicsAtClose, &[Close], "`close` panicked"),
    ]
};

#[tokio::test]
async fn every_flaw_is_found_and_nothing_else() {
    let tried = join_all(FOUND.map(async |(flaw, checks, said)| {
        let options = Options {
            // Long enough for a busy machine, and waited for only where nothing comes.
            patience: Duration::from_secs(2),
            stop_grace: Duration::from_millis(500),
            ..prompts()
        };
        let report = conformance::check(Arc::new(Core::new(flaw)), &options).await;
        (flaw, checks, said, report)
    }));
    for (flaw, checks, said, report) in tried.await {
        let found: Vec<_> = report.failures.iter().map(|found| found.check).collect();
        assert_eq!(found, checks, "{flaw:?}\n{report}");
        assert!(report.failures[0].how.contains(said), "{flaw:?}\n{report}");
    }
}

#[tokio::test]
async fn the_demo_conforms() {
    let cores = Cores::new(vec![Definition {
        name: AgentName::new("demo").unwrap(),
        description: None,
        core: Arc::new(Demo::new()),
    }]);
    let options = Options {
        memory: Some(Memory {
            tell: "how often?".into(),
            ask: "how often?".into(),
            answer: "turn 2".into(),
        }),
        echo: Some(|word| format!("repeat: {word}")),
        // Their names count the turns.
        sessions: Sessions::Following,
        ..Options::new("say hello", "be slow")
    };
    let report = conformance::check(Arc::new(cores), &options).await;
    assert_eq!(report.failures, [], "{report}");
    assert_eq!(report.passed.len(), 10, "{report}");
}
