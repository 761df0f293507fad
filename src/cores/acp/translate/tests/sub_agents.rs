//! Sub-agents: calls that send one out, and those that have sessions of their own.

use super::*;
use crate::deps::{About, SubAgentStatus};
use SubAgentStatus::{Cancelled, Completed, Failed, Paused, Pending, Running};

fn within(sub_agent: &str, event: CoreEvent) -> CoreEvent {
    CoreEvent::Within {
        sub_agent: sub_agent.into(),
        event: event.into(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn in_child(update: Value) -> Said {
    Said::Update(json!({"sessionId": "child", "update": update}))
}

fn chunk(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn announced(mut value: Value) -> Said {
    value["sessionUpdate"] = json!("subagent_update");
    value["sessionId"] = json!("child");
    update(value)
}

fn state(state: &str, reason: Option<&str>) -> Said {
    announced(json!({"state": {"state": state, "stopReason": reason}}))
}

fn about(persona: &str, prompt: &str) -> About {
    About {
        persona: Some(persona.into()),
        prompt: Some(prompt.into()),
        ..About::default()
    }
}

fn summary(text: &str) -> About {
    About {
        summary: Some(text.into()),
        ..About::default()
    }
}

/// How far which sub-agents were said to be.
fn courses(events: &[CoreEvent]) -> Vec<(Arc<str>, Option<SubAgentStatus>)> {
    let told = sub_agents(events).into_iter();
    told.map(|update| (update.id, update.status)).collect()
}

fn task(id: &str) -> Said {
    call(
        json!({"toolCallId": id, "name": "Task", "kind": "think", "status": "in_progress",
        "rawInput": {"description": "look", "prompt": "Look around.", "subagent_type": "Explore"}}),
    )
}

#[test]
fn r88_a_call_that_sends_a_sub_agent_out_tells_of_it_until_it_has_its_result() {
    let ended = |status: &str| {
        progress(json!({"toolCallId": "1", "status": status, "content": [shown("nothing there")]}))
    };
    for (status, ends, what) in [
        ("completed", Completed, summary("nothing there")),
        (
            "failed",
            Failed,
            About {
                error: Some("nothing there".into()),
                ..About::default()
            },
        ),
    ] {
        let events = spine(play([task("1"), ended(status)]));
        let told = |status, about| {
            let update = SubAgentUpdate {
                about,
                call: Some("1".into()),
                ..SubAgentUpdate::new("1", Some(status))
            };
            CoreEvent::SubAgent(update.into())
        };
        assert_eq!(events[2], closed("1"));
        assert_eq!(events[3], told(Running, about("Explore", "Look around.")));
        assert_eq!(events[4], gave("1", "nothing there", ends == Failed));
        assert_eq!(events[5..], [told(ends, what)]);
    }
}

#[test]
fn a_sub_agent_that_goes_on_when_its_call_is_done_runs_on() {
    for said in [
        json!({"_meta": {"claudeCode": {"toolName": "Agent", "toolResponse": {"isAsync": true, "status": "async_launched"}}}}),
        json!({"rawOutput": {"type": "task_execution", "status": "background"}}),
    ] {
        let mut said = said;
        said["toolCallId"] = json!("1");
        let end = |status: &str| progress(json!({"toolCallId": "1", "status": status}));
        let events = play([task("1"), progress(said.clone()), end("completed")]);
        assert_eq!(courses(&events), [("1".into(), Some(Running))], "{said}");
        let events = play([task("1"), progress(said), end("failed")]);
        assert_eq!(courses(&events).len(), 2);
    }
}

#[test]
fn a_sub_agent_that_went_on_is_done_when_its_agent_says_so() {
    // As Qwen, in this turn or in a later one.
    let back = |status: &str, kind: &str| {
        let task = json!({"taskId": "t", "status": status, "kind": kind, "toolUseId": "1"});
        update(
            json!({"sessionUpdate": "agent_message_chunk", "_meta": {"backgroundTask": task},
            "content": {"type": "text", "text": "It is done."}}),
        )
    };
    let course = |status| ("1".into(), Some(status));
    let events = play([task("1"), back("completed", "agent")]);
    assert_eq!(courses(&events), [course(Running), course(Completed)]);
    let events = play([back("failed", "agent"), back("completed", "shell")]);
    assert_eq!(courses(&events), [course(Failed)]);
    assert!(sub_agents(&events)[0].known_only);
}

#[test]
fn a_sub_agent_is_at_work_once_its_agent_goes_on_to_other_things() {
    // As Copilot, which names no tools, and shows what a sub-agent does as its own.
    let input =
        json!({"agent_type": "explore", "name": "scout", "description": "look", "prompt": "Look."});
    let launch = || {
        call(
            json!({"toolCallId": "1", "title": "look around", "kind": "other", "status": "pending", "rawInput": input}),
        )
    };
    let end = || {
        progress(json!({"toolCallId": "1", "status": "completed", "content": [shown("nothing")]}))
    };
    let read = call(
        json!({"toolCallId": "2", "title": "Viewing it", "kind": "read", "status": "pending"}),
    );
    for other in [say("looking", None), read] {
        let events = play([launch(), other, end()]);
        let at = |wanted: &dyn Fn(&CoreEvent) -> bool| events.iter().position(wanted).unwrap();
        let told = at(&|event| matches!(event, CoreEvent::SubAgent(_)));
        let other =
            at(&|event| matches!(event, CoreEvent::Text(_)) || *event == opened("2", "read"));
        assert!(at(&|event| *event == closed("1")) < told && told < other);
        let course = [Running, Completed].map(|status| ("1".into(), Some(status)));
        assert_eq!(courses(&events), course);
        assert_eq!(
            sub_agents(&events)[0].about.persona.as_deref(),
            Some("explore")
        );
    }
    let mut translator = translator();
    translator.hear(launch());
    translator.hear(say("looking", None));
    let really: usize = translator.calls.iter().map(|(_, call)| call.size()).sum();
    assert_eq!(translator.kept, really);
}

#[test]
fn a_sub_agent_of_whom_only_the_name_is_told_is_at_work_when_its_call_is() {
    // As Gemini.
    let events = play([
        call(
            json!({"toolCallId": "invoke_agent__invoke_agent_17_0", "kind": "think", "status": "in_progress",
            "title": "Delegating to agent 'scout'"}),
        ),
        progress(json!({"toolCallId": "invoke_agent__invoke_agent_17_0", "status": "completed"})),
    ]);
    let told = sub_agents(&events);
    assert_eq!(told[0].status, Some(Running));
    assert_eq!(told[0].about.persona.as_deref(), Some("scout"));
    assert_eq!(told.last().unwrap().status, Some(Completed));
    assert!(matches!(
        events[1],
        CoreEvent::SubAgent(_) | CoreEvent::Notice { .. }
    ));
    assert!(!matches!(
        events.last(),
        Some(CoreEvent::ToolCallResult { .. })
    ));
}

#[test]
fn a_sub_agent_that_needs_permission_has_not_begun() {
    let input = json!({"description": "look", "prompt": "Look."});
    let ask = || asked(json!({"toolCallId": "1", "name": "task", "rawInput": input}));
    let mut translator = translator();
    let mut events = translator.hear(ask());
    translator.allow("1");
    let went_on = json!({"toolCallId": "1", "status": "in_progress", "rawInput": input});
    events.extend(translator.hear(progress(went_on)));
    let course = |status| ("1".into(), Some(status));
    assert_eq!(courses(&events), [course(Pending), course(Running)]);
    assert_eq!(courses(&play([ask()])), [course(Pending), course(Failed)]);
}

#[test]
fn what_a_sub_agent_says_in_its_agents_session_is_its_own() {
    // As Qwen, and as Claude to clients that do not take sub-agents.
    let marks = [
        json!({"parentToolCallId": "1", "subagentType": "Explore"}),
        json!({"claudeCode": {"parentToolUseId": "1"}}),
    ];
    for mark in marks {
        let marked = |value: Value| {
            let mut value = value;
            value["_meta"] = mark.clone();
            if let Some(usage) = value.get_mut("usage").map(Value::take) {
                value["_meta"]["usage"] = usage;
            }
            update(value)
        };
        let usage = json!({"inputTokens": 5, "outputTokens": 1});
        let events = play([
            say("a", None),
            task("1"),
            marked(chunk("b")),
            marked(
                json!({"sessionUpdate": "agent_message_chunk", "usage": usage,
                "content": {"type": "text", "text": ""}}),
            ),
            marked(
                json!({"sessionUpdate": "tool_call", "toolCallId": "2", "name": "read", "kind": "read",
                "status": "completed", "locations": [{"path": "/srv/project/a"}]}),
            ),
            asked(json!({"toolCallId": "2"})),
            say("c", None),
        ]);
        let spent = |event: &CoreEvent| matches!(event, CoreEvent::Usage(_));
        assert_eq!(
            events.iter().filter(|event| spent(event)).count(),
            1,
            "{mark}"
        );
        assert_eq!(files(&events), ["Read a"]);
        let events = spine(events);
        let expected = [
            within("1", text("b")),
            within("1", opened("1/2", "read")),
            within("1", closed("1/2")),
            within("1", gave("1/2", "", false)),
            text("c"),
        ];
        let own = |event: &&CoreEvent| matches!(event, CoreEvent::Within { .. });
        assert_eq!(events.iter().filter(own).count(), 4);
        assert_eq!(events.last(), expected.last());
        let first = events.iter().position(|event| own(&event)).unwrap();
        let said: Vec<_> = events[first..].iter().filter(|it| !spent(it)).collect();
        assert_eq!(said, Vec::from_iter(&expected));
        assert!(!events.iter().any(|it| matches!(it, CoreEvent::Context(_))));
    }
    // Of a call that sends nobody out it is the agent's.
    let marked = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "b"},
        "_meta": {"parentToolCallId": "1"}});
    assert_eq!(play([update(marked)]), [text("b")]);
}

#[test]
fn what_is_asked_about_a_sub_agents_call_in_its_agents_session_is_about_that_call() {
    let mut translator = translator();
    let read = json!({"sessionUpdate": "tool_call", "toolCallId": "2", "name": "read",
        "_meta": {"parentToolCallId": "1"}});
    translator.hear(task("1"));
    translator.hear(update(read));
    let params =
        json!({"sessionId": "s", "toolCall": {"toolCallId": "2", "rawInput": {"path": "a"}}});
    let (events, request) = translator.ask(&params);
    assert_eq!(request.unwrap().call.as_deref(), Some("1/2"));
    let shown = [arguments("1/2", r#"{"path":"a"}"#), closed("1/2")];
    assert_eq!(events, shown.map(|event| within("1", event)));
}

#[test]
fn r88_a_sub_agent_with_a_session_of_its_own_is_told_of_and_what_it_says_is_its_own() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "name": "read", "kind": "read",
        "status": "completed", "rawInput": {"path": "a"}, "locations": [{"path": "/srv/project/a"}],
        "content": [{"type": "diff", "path": "/srv/project/b", "oldText": "x", "newText": "y"}]});
    let thought =
        json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Hm."}});
    let events = play_with(
        translator_of(Vendor::Codex),
        [
            say("a", None),
            announced(json!({"title": "scout", "description": "Look around.", "capabilities": {}})),
            state("running", None),
            state("running", None),
            in_child(thought),
            in_child(chunk("b")),
            in_child(chunk("")),
            in_child(call),
            say("c", None),
            state("idle", Some("end_turn")),
        ],
    );
    let told = |status| {
        let update = SubAgentUpdate {
            about: about("scout", "Look around."),
            ..SubAgentUpdate::new("child", Some(status))
        };
        CoreEvent::SubAgent(update.into())
    };
    let own = |event| within("child", event);
    let diff = json!([{"path": "b", "oldText": "x", "newText": "y"}]);
    assert_eq!(json!(diffs(&events)), diff);
    assert!(
        events
            .iter()
            .any(|event| matches!(event, CoreEvent::Diff { call, .. } if **call == *"child/1"))
    );
    assert_eq!(files(&events), ["Edit b, Read a"]);
    assert_eq!(
        spine(events),
        [
            text("a"),
            told(Running),
            told(Running),
            own(CoreEvent::Reasoning("Hm.".into())),
            own(text("b")),
            own(opened("child/1", "read")),
            own(arguments("child/1", r#"{"path":"a"}"#)),
            own(closed("child/1")),
            own(gave("child/1", "edited b", false)),
            text("c"),
            told(Completed),
        ]
    );
}

#[test]
fn a_sub_agent_that_nobody_has_told_of_is_told_of_when_it_says_something() {
    let events = play([in_child(chunk("a")), in_child(chunk("b"))]);
    let told = SubAgentUpdate::new("child", Some(Running));
    let expected = [
        CoreEvent::SubAgent(told.into()),
        within("child", text("a")),
        within("child", text("b")),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_sub_agent_of_which_nothing_is_told_but_its_end_is_no_news_to_whoever_does_not_know_it() {
    let events = play([state("idle", None)]);
    let [told] = &sub_agents(&events)[..] else {
        panic!("{events:?}");
    };
    assert!(told.known_only);
    // One that has no state may be one of long ago.
    assert_eq!(play([announced(json!({"title": "scout"}))]), []);
    let events = play([announced(json!({"title": "scout"})), state("idle", None)]);
    let told = &sub_agents(&events)[0];
    assert!(!told.known_only);
    assert_eq!(told.about.persona.as_deref(), Some("scout"));
}

#[test]
fn how_a_sub_agent_stands_is_how_its_session_does() {
    let events = play([
        state("running", None),
        state("requires_action", None),
        state("running", None),
        state("unknown", None),
        announced(json!({"capabilities": {"cancel": {}}})),
        state("idle", Some("cancelled")),
    ]);
    let course = [Running, Paused, Running, Cancelled].map(|status| ("child".into(), Some(status)));
    assert_eq!(courses(&events), course);
    let error = json!({"state": {"state": "idle", "stopReason": "error", "error": {"message": "no model"}}});
    let events = play([state("running", None), announced(error)]);
    let last = sub_agents(&events).pop().unwrap();
    assert_eq!(last.status, Some(Failed));
    assert_eq!(last.about.error.as_deref(), Some("no model"));
}

#[test]
fn what_an_agent_and_its_sub_agent_say_to_each_other_is_what_one_was_told_and_has_found() {
    let message = |from: &str, to: &str, text: &str| {
        json!({"sessionUpdate": "session_message", "messageId": "m", "senderSessionId": from,
            "recipientSessionId": to, "content": [{"type": "text", "text": text}]})
    };
    let told = message("s", "child", "Look around.");
    let events = play([
        state("running", None),
        update(told.clone()),
        in_child(told),
        update(message("child", "s", "Nothing there.")),
        update(message("s", "stranger", "Hello.")),
    ]);
    let abouts: Vec<_> = sub_agents(&events).into_iter().map(|it| it.about).collect();
    assert_eq!(abouts.len(), 3, "both sides show the same message");
    assert_eq!(abouts[1].prompt.as_deref(), Some("Look around."));
    assert_eq!(abouts[2].summary.as_deref(), Some("Nothing there."));
    assert_eq!(said(&events, "acp.session_message").len(), 1);
}

#[test]
fn what_a_sub_agent_has_said_last_is_what_it_came_to_if_nobody_says_so() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "name": "read"});
    let script = || {
        [
            state("running", None),
            in_child(chunk("Looking.")),
            in_child(call.clone()),
            in_child(chunk("Nothing ")),
            in_child(chunk("there.")),
        ]
    };
    let reply = json!({"sessionUpdate": "session_message", "senderSessionId": "child", "recipientSessionId": "s",
        "content": [{"type": "text", "text": "All is well."}]});
    let summary = |script: Vec<Said>| {
        let last = sub_agents(&play(script)).pop().unwrap();
        last.about.summary
    };
    let said = || Vec::from_iter(script());
    let [mut done, mut first, mut cancelled, mut again] = [said(), said(), said(), said()];
    done.push(state("idle", None));
    assert_eq!(summary(done).as_deref(), Some("Nothing there."));
    first.extend([update(reply), state("idle", None)]);
    assert_eq!(summary(first).as_deref(), Some("All is well."));
    cancelled.push(state("idle", Some("cancelled")));
    assert_eq!(summary(cancelled), None);
    again.extend([state("idle", None), state("running", None)]);
    assert_eq!(summary(again), None);
}

#[test]
fn of_a_sub_agents_own_plan_settings_and_context_nothing_is_told_but_its_model() {
    let options = json!([{"id": "m", "category": "model", "currentValue": "small"}]);
    let script = || {
        [
            in_child(json!({"sessionUpdate": "plan", "entries": [{"content": "x"}]})),
            in_child(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2})),
            in_child(json!({"sessionUpdate": "current_mode_update", "currentModeId": "x"})),
            in_child(json!({"sessionUpdate": "config_option_update", "configOptions": options})),
        ]
    };
    assert_eq!(play(script()), []);
    let events = play([state("running", None)].into_iter().chain(script()));
    let models: Vec<_> = sub_agents(&events)
        .into_iter()
        .map(|it| it.about.model)
        .collect();
    assert_eq!(models, [None, Some("small".into())]);
    assert_eq!(events.len(), 2);
    let notice = json!({"sessionUpdate": "notice", "severity": "info", "title": "x"});
    let events = play([state("running", None), in_child(notice)]);
    let told = json!({"severity": "info", "title": "x", "subAgent": "child"});
    assert_eq!(said(&events, "acp.notice"), [told]);
}

#[test]
fn r98_what_a_sub_agent_asks_about_is_shown_as_its_and_refused_as_its() {
    let params = json!({"sessionId": "child", "toolCall":
        {"toolCallId": "1", "name": "sh", "title": "rm x", "rawInput": {"command": "rm x"}}});
    let mut translator = translator();
    let (events, request) = translator.ask(&params);
    let request = request.unwrap();
    assert_eq!(request.call.as_deref(), Some("child/1"));
    assert_eq!((&*request.tool, &*request.title), ("sh", "rm x"));
    let own = |event| within("child", event);
    let shown = [
        own(opened("child/1", "sh")),
        own(arguments("child/1", r#"{"command":"rm x"}"#)),
        own(closed("child/1")),
    ];
    assert!(matches!(events[0], CoreEvent::SubAgent(_)));
    assert_eq!(spine(events)[1..], shown);
    assert_eq!(translator.finish(), [own(gave("child/1", REFUSED, true))]);
    let (_, request) = translator.ask(&params);
    translator.allow(&request.unwrap().call.unwrap());
    assert_eq!(translator.finish(), [], "nobody knows the end of it");
}

#[test]
fn a_question_about_a_sub_agents_call_is_about_that_call() {
    let mut translator = translator();
    translator.hear(in_child(
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "name": "ask"}),
    ));
    let (events, call) = translator.question("child", Some("1"));
    assert_eq!(call.as_deref(), Some("child/1"));
    assert_eq!(events, [within("child", closed("child/1"))]);
    assert_eq!(translator.question("stranger", Some("1")), (vec![], None));
}

#[test]
fn a_sub_agent_sent_out_by_a_sub_agent_has_an_id_of_its_own() {
    let launch = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "name": "Task", "status": "in_progress",
        "rawInput": {"prompt": "p", "description": "look"}});
    let events = play([state("running", None), in_child(launch)]);
    let ids: Vec<_> = sub_agents(&events).into_iter().map(|it| it.id).collect();
    assert_eq!(ids, ["child".into(), "child/1".into()]);
}
