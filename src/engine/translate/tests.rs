//! What a run says of the state document, beside the document itself.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    deps::{
        About, Conclusion, ContextUpdate, File, FileAction, Model, Role, SubAgentStatus, Todo,
        TodoPriority, TodoStatus, Tokens,
    },
    engine::{
        ending::Ending,
        tests::stage::{self, Stage},
    },
    protocol::{Peer, grammar},
};

/// A turn of which all is in memory.
struct Play {
    stage: Stage,
    translator: Translator,
    state: Document,
}

impl Play {
    fn new() -> Self {
        let mut state = Document::new("t", "a", "pando");
        let client = json!({"recipe": {"a/b": [1]}, "n~": 1});
        state.adopt(Some(&client)).unwrap();
        Self {
            stage: Stage::with(state.snapshot()),
            translator: Translator::new(),
            state,
        }
    }

    fn say(&mut self, event: CoreEvent) {
        (self.translator).apply(event, &mut self.stage.writer, &mut self.state);
    }

    /// Ends the run: its events as a client gets them, and the document.
    fn end(mut self, ending: Ending) -> (String, Document) {
        self.stage.writer.settle(&ending);
        if !matches!(ending, Ending::Done { .. }) {
            (self.translator).stop(&mut self.stage.writer, &mut self.state);
        }
        self.stage.writer.finish(ending);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let body = stage::whole(&self.stage.log, Peer::Current);
        (runtime.unwrap().block_on(body), self.state)
    }
}

fn done() -> Ending {
    Ending::Done { stop_reason: None }
}

fn events(body: &str) -> Vec<Value> {
    let events = stage::events(body).into_iter();
    events.map(|it| serde_json::to_value(it).unwrap()).collect()
}

/// The document of a client that applies each change with a library that is not ours.
fn folded(body: &str) -> Value {
    let mut document = Value::Null;
    for event in events(body) {
        match event["type"].as_str().unwrap() {
            "STATE_SNAPSHOT" => document = event["snapshot"].clone(),
            "STATE_DELTA" => {
                let patch: json_patch::Patch = serde_json::from_value(event["delta"].clone())
                    .unwrap_or_else(|error| panic!("{error}: {event}"));
                let before = document.clone();
                json_patch::patch(&mut document, &patch)
                    .unwrap_or_else(|error| panic!("{error}: {event} on {document}"));
                assert_ne!(
                    document, before,
                    "what changes nothing is not sent: {event}"
                );
            }
            _ => {}
        }
    }
    document
}

fn todo() -> impl Strategy<Value = Todo> {
    let status = prop_oneof![
        Just(TodoStatus::Pending),
        Just(TodoStatus::InProgress),
        Just(TodoStatus::Completed)
    ];
    ("[a-c/~é]{1,3}", status).prop_map(|(content, status)| Todo {
        content,
        status,
        priority: TodoPriority::default(),
    })
}

fn context() -> impl Strategy<Value = ContextUpdate> {
    let count = || proptest::option::of(0u64..3);
    let cost = proptest::option::of(prop_oneof![
        Just(0.25),
        Just(0.0),
        Just(f64::NAN),
        Just(-1.0)
    ]);
    let prompt = proptest::option::of(prop_oneof![
        (0u64..3).prop_map(Tokens::Counted),
        (0u64..3).prop_map(Tokens::Estimated)
    ]);
    (prompt, count(), count(), count(), cost).prop_map(|(prompt, written, window, read, cost)| {
        ContextUpdate {
            prompt,
            completion_tokens: written,
            context_window: window,
            cache_read_tokens: read,
            cost,
            ..ContextUpdate::default()
        }
    })
}

fn file() -> impl Strategy<Value = File> {
    let action = prop_oneof![
        Just(FileAction::Read),
        Just(FileAction::Write),
        Just(FileAction::Edit),
        Just(FileAction::Patch)
    ];
    ("[ab]{1,2}(/[ab~])?", action).prop_map(|(path, action)| File::new(&path, action))
}

/// What is told of one of more sub-agents than are shown.
fn sub_agent() -> impl Strategy<Value = SubAgentUpdate> {
    let status = proptest::option::of(prop_oneof![
        Just(SubAgentStatus::Pending),
        Just(SubAgentStatus::Running),
        Just(SubAgentStatus::Awaited),
        Just(SubAgentStatus::Completed),
        Just(SubAgentStatus::Failed),
        Just(SubAgentStatus::Cancelled)
    ]);
    let text = || proptest::option::of("[a-c]{0,2}");
    let id = prop_oneof![3 => 0..4, 1 => 0..60];
    (id, status, text(), text(), any::<[bool; 3]>()).prop_map(
        |(id, status, prompt, summary, [known_only, outlives_turn, has_role])| SubAgentUpdate {
            about: About {
                role: has_role.then_some(Role::Worker),
                conclusion: has_role.then_some(Conclusion::Partial),
                exit_code: has_role.then_some(0),
                prompt,
                summary,
                ..About::default()
            },
            call: Some("c0".into()),
            known_only,
            outlives_turn,
            ..SubAgentUpdate::new(format!("s{id}"), status)
        },
    )
}

/// What anybody says.
fn said() -> impl Strategy<Value = CoreEvent> {
    let call = || (0..3).prop_map(|n| Arc::from(format!("c{n}")));
    prop_oneof![
        "[a-c]{0,2}".prop_map(CoreEvent::Text),
        "[a-c]{0,2}".prop_map(CoreEvent::Reasoning),
        Just(CoreEvent::MessageEnd),
        call().prop_map(|call| CoreEvent::ToolCallOpened {
            call,
            name: "f".into()
        }),
        call().prop_map(|call| CoreEvent::ToolCallArguments {
            call,
            fragment: "{}".into()
        }),
        call().prop_map(|call| CoreEvent::ToolCallClosed { call }),
        call().prop_map(|call| CoreEvent::ToolCallResult {
            call,
            content: Content::Text("r".into()),
            failed: false
        }),
    ]
}

fn event() -> impl Strategy<Value = CoreEvent> {
    let within = (0..4, said()).prop_map(|(n, event)| CoreEvent::Within {
        sub_agent: format!("s{n}").into(),
        event: Box::new(event),
    });
    let diff = ("c[0-2]", "[ab]").prop_map(|(call, path)| CoreEvent::Diff {
        call: call.into(),
        content: JsonObject::from_iter([("path".into(), path.clone().into())]),
        path,
    });
    let model = "[ab]".prop_map(|id| {
        CoreEvent::Model(Box::new(Model {
            id,
            ..Model::default()
        }))
    });
    prop_oneof![
        3 => said(),
        3 => within,
        1 => diff,
        1 => model,
        2 => proptest::collection::vec(todo(), 0..3).prop_map(CoreEvent::Todos),
        2 => context().prop_map(|update| CoreEvent::Context(Box::new(update))),
        2 => proptest::collection::vec(file(), 0..3).prop_map(CoreEvent::Files),
        4 => sub_agent().prop_map(|update| CoreEvent::SubAgent(Box::new(update))),
    ]
}

proptest! {
    #[test]
    fn r80_r82_report_r51_the_changes_of_a_run_make_the_next_snapshot(
        told in proptest::collection::vec(event(), 0..60), ending in stage::endings()
    ) {
        let mut play = Play::new();
        for event in told {
            play.say(event);
        }
        let (body, state) = play.end(ending);
        prop_assert_eq!(folded(&body), state.snapshot());
        if let Err(violation) = grammar::check_stream(&body) {
            return Err(TestCaseError::fail(format!("{violation}: {body}")));
        }
    }
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let kinds = events.iter().map(|event| event["type"].as_str().unwrap());
    kinds.collect()
}

fn running(id: &str) -> CoreEvent {
    CoreEvent::SubAgent(Box::new(SubAgentUpdate {
        about: About {
            persona: Some("reader".into()),
            prompt: Some("Read it.".into()),
            ..About::default()
        },
        call: Some("c0".into()),
        ..SubAgentUpdate::new(id, Some(SubAgentStatus::Running))
    }))
}

fn within(id: &str, event: CoreEvent) -> CoreEvent {
    CoreEvent::Within {
        sub_agent: id.into(),
        event: Box::new(event),
    }
}

#[test]
fn a_sub_agent_begins_speaks_beside_the_agent_and_ends_with_what_it_has_to_say() {
    let mut play = Play::new();
    play.say(CoreEvent::ToolCallOpened {
        call: "c0".into(),
        name: "task".into(),
    });
    play.say(running("s"));
    play.say(CoreEvent::Text("I wait.".into()));
    play.say(within("s", CoreEvent::Text("I read.".into())));
    play.say(CoreEvent::Text(" Still.".into()));
    let mut ended = SubAgentUpdate::new("s", Some(SubAgentStatus::Completed));
    ended.about.summary = Some("It is read.".into());
    play.say(CoreEvent::SubAgent(Box::new(ended)));
    play.say(within("s", CoreEvent::Text("Nobody hears that.".into())));
    let (body, state) = play.end(done());
    let events = events(&body);
    let started = &events[3];
    assert_eq!(started["name"], "reader");
    assert_eq!(started["description"], "Read it.");
    assert_eq!(started["parentToolCallId"], events[2]["toolCallId"]);
    let run = &started["subagentRunId"];
    let own: Vec<_> = events
        .iter()
        .filter(|it| it["subagentRunId"] == *run)
        .cloned()
        .collect();
    assert_eq!(
        kinds(&own),
        [
            "SUBAGENT_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "SUBAGENT_FINISHED"
        ]
    );
    assert_eq!(own[4]["result"], "It is read.");
    assert_eq!(own[4]["outcome"], json!({"type": "success"}));
    let said = stage::fold(&body);
    let texts: Vec<_> = (said.iter())
        .map(|message| serde_json::to_value(message).unwrap())
        .filter(|message| message["role"] == "assistant" && message["content"].is_string())
        .map(|message| (message["content"].clone(), message["subagentRunId"].clone()))
        .collect();
    assert_eq!(
        texts,
        [
            (json!("I wait. Still."), Value::Null),
            (json!("I read."), run.clone())
        ]
    );
    assert_eq!(
        state.snapshot()["subAgents"],
        json!([{"id": "s", "status": "completed", "prompt": "Read it.", "persona": "reader",
            "summary": "It is read."}])
    );
}

#[test]
fn one_that_ends_with_its_turn_is_stopped_with_it_and_another_is_suspended() {
    for (outlives_turn, kind, status) in [
        (false, "SUBAGENT_ERROR", "cancelled"),
        (true, "SUBAGENT_FINISHED", "running"),
    ] {
        let mut play = Play::new();
        play.say(CoreEvent::SubAgent(Box::new(SubAgentUpdate {
            outlives_turn,
            ..SubAgentUpdate::new("s", Some(SubAgentStatus::Running))
        })));
        let (body, state) = play.end(Ending::Cancelled);
        let events = events(&body);
        let ended = events.iter().find(|event| event["type"] == kind);
        let suspended = json!({"type": "suspended"});
        assert_eq!(ended.unwrap()["outcome"] == suspended, outlives_turn);
        assert_eq!(state.snapshot()["subAgents"][0]["status"], status);
        assert_eq!(folded(&body), state.snapshot());
    }
}

#[test]
fn one_that_is_sent_out_again_is_another_invocation() {
    let mut play = Play::new();
    let ended = SubAgentUpdate::new("s", Some(SubAgentStatus::Failed));
    for event in [
        running("s"),
        CoreEvent::SubAgent(Box::new(ended.clone())),
        CoreEvent::SubAgent(Box::new(ended)),
        running("s"),
    ] {
        play.say(event);
    }
    let (body, _) = play.end(done());
    let events = events(&body);
    let own: Vec<_> = events
        .iter()
        .filter(|it| it["subagentRunId"].is_string())
        .collect();
    let runs: Vec<_> = own.iter().map(|it| &it["subagentRunId"]).collect();
    assert_eq!(runs.len(), 4, "{own:?}");
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[2], runs[3]);
    assert_ne!(runs[0], runs[2]);
}

#[test]
fn a_diff_is_an_activity_that_the_next_one_of_the_same_call_and_file_replaces() {
    let mut play = Play::new();
    play.say(CoreEvent::ToolCallOpened {
        call: "c0".into(),
        name: "edit".into(),
    });
    for (call, path, text) in [
        ("c0", "a", "1"),
        ("c0", "a", "2"),
        ("c0", "b", "1"),
        ("unknown", "a", "1"),
    ] {
        let content = json!({"path": path, "newText": text});
        let Value::Object(content) = content else {
            unreachable!()
        };
        play.say(CoreEvent::Diff {
            call: call.into(),
            path: path.into(),
            content,
        });
    }
    let (body, _) = play.end(done());
    let events = events(&body);
    let diffs: Vec<_> = events
        .iter()
        .filter(|it| it["type"] == "ACTIVITY_SNAPSHOT")
        .collect();
    assert_eq!(diffs.len(), 3);
    assert_eq!(diffs[0]["activityType"], "pando.diff");
    assert_eq!(
        diffs[0]["content"],
        json!({"toolCallId": events[2]["toolCallId"], "path": "a", "newText": "1"})
    );
    assert_eq!(diffs[0]["messageId"], diffs[1]["messageId"]);
    assert_ne!(diffs[0]["messageId"], diffs[2]["messageId"]);
}

#[test]
fn a_part_that_is_too_large_is_refused_where_it_becomes_so_and_said_once() {
    let mut play = Play::new();
    let todo = |content: String| Todo {
        content,
        status: TodoStatus::Pending,
        priority: TodoPriority::Medium,
    };
    let large = || vec![todo("x".repeat(2 * 1024 * 1024))];
    play.say(CoreEvent::Todos(vec![todo("small".into())]));
    play.say(CoreEvent::Todos(large()));
    play.say(CoreEvent::Todos(large()));
    play.say(CoreEvent::Todos(vec![todo("other".into())]));
    let (body, state) = play.end(done());
    let events = events(&body);
    assert_eq!(
        kinds(&events[2..]),
        ["STATE_DELTA", "CUSTOM", "STATE_DELTA", "RUN_FINISHED"]
    );
    assert_eq!(
        events[3]["value"],
        json!({"code": "state_too_large", "part": "todos"})
    );
    assert_eq!(state.snapshot()["todos"][0]["content"], "other");
}
