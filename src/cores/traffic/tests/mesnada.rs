use serde_json::{Value, json};

use super::{of_sub_agents, told, update, updates};
use crate::deps::{About, Conclusion, Role, SubAgentStatus, SubAgentUpdate};

/// An update of a task that goes on when its agent's turn is stopped.
fn of(id: &str, status: Option<SubAgentStatus>, about: About) -> SubAgentUpdate {
    SubAgentUpdate {
        about,
        outlives_turn: true,
        ..SubAgentUpdate::new(id, status)
    }
}

#[test]
fn r89_a_spawn_tells_of_a_sub_agent_with_what_the_call_asks_for() {
    let input = json!({"prompt": "look into it", "engine": "claude", "model": "opus", "persona": "reviewer",
                       "background": true, "error": "none", "exit_code": 3});
    let output =
        json!({"task_id": "task-1", "status": "running", "work_dir": "/w", "created_at": "now"});
    let about = About {
        prompt: Some("look into it".into()),
        engine: Some("claude".into()),
        model: Some("opus".into()),
        persona: Some("reviewer".into()),
        ..About::default()
    };
    let expected = SubAgentUpdate {
        call: Some("call-1".into()),
        ..of("task-1", Some(SubAgentStatus::Running), about)
    };
    assert_eq!(update("mesnada_spawn_agent", &input, &output), expected);
    let mounted = update("mcp__pando__mesnada_spawn_agent", &input, &output);
    assert_eq!(mounted, expected);
}

#[test]
fn r87_a_spawn_that_waits_tells_how_it_ended_and_an_exit_code_of_zero_is_one() {
    let input = json!({"prompt": "p", "background": false});
    let output = |status: &str, code: Value| json!({"task_id": "task-1", "status": status, "exit_code": code, "output_tail": "…"});
    let done = update(
        "mesnada_spawn_agent",
        &input,
        &output("completed", json!(0)),
    );
    assert_eq!((done.about.exit_code, &done.about.error), (Some(0), &None));
    assert_eq!(done.status, Some(SubAgentStatus::Completed));
    let unknown = update(
        "mesnada_spawn_agent",
        &input,
        &output("completed", json!(null)),
    );
    assert_eq!(unknown.about.exit_code, None);
    let mut failed = output("failed", json!(2));
    failed["error"] = json!("out of memory");
    let failed = update("mesnada_spawn_agent", &input, &failed);
    assert_eq!(failed.about.exit_code, Some(2));
    assert_eq!(failed.about.error, Some("out of memory".into()));
}

#[test]
fn r92_a_relaunch_updates_the_same_one_and_blanks_nothing() {
    let output = json!({"task_id": "task-1", "status": "pending", "relaunched": true});
    let input = json!({"task_id": "task-1", "model": "haiku", "prompt": ""});
    let again = update("mesnada_spawn_agent", &input, &output);
    let about = About {
        model: Some("haiku".into()),
        ..About::default()
    };
    assert_eq!((&*again.id, again.about), ("task-1", about));
    assert_eq!(again.status, Some(SubAgentStatus::Pending));
    assert_eq!(again.call, Some("call-1".into()));
}

#[test]
fn r89_a_look_tells_all_that_is_known_of_a_task() {
    let task = json!({"id": "task-1", "prompt": "p", "status": "completed", "engine": "pando", "model": "m", "persona": "x",
        "error": "", "raw_error": "", "exit_code": 0, "output_tail": "…", "tags": [], "parent_session_id": "s",
        "conclusion": {"status": "partial", "summary": "half of it", "artifacts": [], "confidence": 0.5}});
    let about = About {
        role: None,
        prompt: Some("p".into()),
        engine: Some("pando".into()),
        model: Some("m".into()),
        persona: Some("x".into()),
        error: None,
        exit_code: Some(0),
        conclusion: Some(Conclusion::Partial),
        summary: Some("half of it".into()),
    };
    let expected = of("task-1", Some(SubAgentStatus::Completed), about);
    let input = json!({"task_id": "task-1"});
    for (tool, output) in [
        ("mesnada_get_task", json!({"task": task})),
        ("mcp__x__mesnada_get_task", json!({"task": task})),
        (
            "mesnada_wait_task",
            json!({"task": task, "output_tail": "…"}),
        ),
    ] {
        assert_eq!(update(tool, &input, &output), expected, "{tool}");
    }
}

#[test]
fn r89_the_error_of_waiting_in_vain_is_not_the_tasks() {
    let output = json!({"task": {"id": "task-1", "status": "running"}, "error": "deadline exceeded", "timeout": true});
    let waited = update("mesnada_wait_task", &json!({"task_id": "task-1"}), &output);
    let expected = of("task-1", Some(SubAgentStatus::Running), About::default());
    assert_eq!(waited, expected);
}

#[test]
fn r89_an_output_tells_how_far_a_task_is() {
    let output = json!({"task_id": "task-1", "status": "failed", "output": "…", "log_file": "/l", "is_tail": false,
                        "error": "no such model"});
    let about = About {
        error: Some("no such model".into()),
        ..About::default()
    };
    let told = update(
        "mesnada_get_task_output",
        &json!({"task_id": "task-1"}),
        &output,
    );
    assert_eq!(told, of("task-1", Some(SubAgentStatus::Failed), about));
}

#[test]
fn r92_a_cancelled_task_is_cancelled_and_nothing_of_it_is_blanked() {
    let expected = of("task-1", Some(SubAgentStatus::Cancelled), About::default());
    let input = json!({"task_id": "task-1"});
    for output in [
        json!({"task_id": "task-1", "cancelled": true}),
        json!({"cancelled": true}),
    ] {
        assert_eq!(update("mesnada_cancel_task", &input, &output), expected);
    }
    let not = json!({"task_id": "task-1", "cancelled": false});
    assert_eq!(update("mesnada_cancel_task", &input, &not).status, None);
    assert_eq!(
        updates("mesnada_cancel_task", &json!({}), r#"{"cancelled": true}"#),
        []
    );
}

#[test]
fn r92_a_listing_refreshes_known_ones_and_their_prompts_stay_whole() {
    let output = json!({"total": 3, "tasks": [
        {"id": "task-1", "prompt": "cut…", "work_dir": "/w", "status": "completed", "created_at": "t"},
        {"id": "", "status": "running"}, {"status": "running"}, "task-3",
        {"id": "task-2", "prompt": "cut…", "status": "running"},
    ]});
    let known = |id: &str, status, about| SubAgentUpdate {
        known_only: true,
        ..of(id, Some(status), about)
    };
    let expected = [
        known("task-1", SubAgentStatus::Completed, About::default()),
        known("task-2", SubAgentStatus::Running, About::default()),
    ];
    let told = updates("mesnada_list_tasks", &json!({}), &output.to_string());
    assert_eq!(told, expected);

    let output = json!({"tasks": {"task-1": {"status": "failed", "exit_code": 1, "error": "e", "output_tail": ""}},
                        "completed": 1, "requested": 2});
    let about = About {
        error: Some("e".into()),
        exit_code: Some(1),
        ..About::default()
    };
    let told = updates("pando_wait_multiple", &json!({}), &output.to_string());
    assert_eq!(told, [known("task-1", SubAgentStatus::Failed, about)]);
}

#[test]
fn r92_awaited_ones_are_those_of_the_metadata_or_else_of_the_call() {
    let registered = "Await registered for 2 task(s) (policy=all). END YOUR TURN now.";
    let metadata =
        json!({"awaited_task_ids": ["task-1", "task-2"], "policy": "all", "end_turn": true});
    let awaited = |id: &str| SubAgentUpdate {
        known_only: true,
        ..of(id, Some(SubAgentStatus::Awaited), About::default())
    };
    let told = |input: Value, output: &str, metadata: &Value| {
        of_sub_agents(told("mesnada_await", &input, output, metadata))
    };
    let both = ["task-1", "task-2"].map(awaited);
    for metadata in [json!(metadata.to_string()), metadata] {
        assert_eq!(told(json!({}), registered, &metadata), both);
        assert_eq!(
            told(json!({"task_ids": ["task-9"]}), registered, &metadata),
            both
        );
    }
    let input = json!({"task_ids": ["task-3"], "policy": "any"});
    assert_eq!(
        told(input.clone(), registered, &Value::Null),
        [awaited("task-3")]
    );
    // Those have ended already, and the agent goes on.
    let satisfied = "The awaited condition (policy=any) is already satisfied. Results:\n…";
    assert_eq!(told(input, satisfied, &Value::Null), []);
}

#[test]
fn r90_a_swarm_tells_of_all_its_tasks_at_once_with_their_roles() {
    let input = json!({"goal": "g",
        "workers": [{"prompt": "a", "engine": "claude"}, {"prompt": "b", "model": "m", "persona": "p"}],
        "verifier": {"engine": "gemini", "extra": "be strict"}, "synthesizer": {"model": "s"}});
    let output = json!({"swarm_id": "swarm-1", "worker_ids": ["task-1", null, "task-3"], "verifier_id": "task-4",
                        "synthesizer_id": "task-5", "hint": "…"});
    let pending = |id: &str, role, about| SubAgentUpdate {
        call: Some("call-1".into()),
        ..of(
            id,
            Some(SubAgentStatus::Pending),
            About {
                role: Some(role),
                ..about
            },
        )
    };
    let nothing = About::default;
    let expected = [
        pending(
            "task-1",
            Role::Worker,
            About {
                prompt: Some("a".into()),
                engine: Some("claude".into()),
                ..nothing()
            },
        ),
        // The second worker has no id, and there is no third one in the call.
        pending("task-3", Role::Worker, nothing()),
        pending(
            "task-4",
            Role::Verifier,
            About {
                engine: Some("gemini".into()),
                ..nothing()
            },
        ),
        pending(
            "task-5",
            Role::Synthesizer,
            About {
                model: Some("s".into()),
                ..nothing()
            },
        ),
    ];
    let told = updates("mesnada_swarm", &input, &output.to_string());
    assert_eq!(told, expected);
}

#[test]
fn r88_another_servers_tools_make_no_cards() {
    let input = json!({"prompt": "p"});
    let ours = r#"{"task_id": "task-1a2b3c4d", "status": "pending"}"#;
    assert_eq!(updates("pando_spawn_agent", &input, ours).len(), 1);
    let theirs = [
        r#"{"agent_id": "task-1a2b3c4d", "status": "pending"}"#,
        r#"{"task_id": "1204", "status": "pending"}"#,
        r#"{"task_id": "task-1a2b3c4d", "status": "queued"}"#,
        r#"{"task_id": "task-1a2b3c4d"}"#,
        "Agent started.",
    ];
    for output in theirs {
        assert_eq!(updates("cline_spawn_agent", &input, output), [], "{output}");
    }
    assert_eq!(updates("spawn_agent", &input, ours), []);
    assert_eq!(updates("agent", &input, ours), []);
    let theirs = json!({"task": {"id": "1204", "status": "completed"}});
    assert!(update("asana_get_task", &json!({}), &theirs).known_only);
}

#[test]
fn r92_prose_errors_and_previews_say_nothing_of_any_task() {
    let tools = [
        "spawn_agent",
        "get_task",
        "list_tasks",
        "wait_task",
        "cancel_task",
        "get_task_output",
        "await",
        "swarm",
        "note",
    ];
    let input = json!({"task_id": "task-1", "task_ids": ["task-1"], "prompt": "p", "workers": [{"prompt": "a"}]});
    let task = r#"{"task_id": "task-1", "task": {"id": "task-1", "status": "running"}, "tasks": [], "worker_ids": ["a"]}"#;
    let preview = format!(
        "[Response cached: 400 lines, 20000 bytes → cache_id: \"c\" | tool: x]\n\n     1|{task}"
    );
    let texts = [
        "",
        " ",
        "Error: something: bad",
        "prompt is required",
        "task not found: task-1",
        "Permission denied",
        "null",
        "[]",
        "{}",
        "\"task-1\"",
        &task[..40],
        &preview,
    ];
    for tool in tools {
        for text in texts {
            assert_eq!(
                updates(&format!("mesnada_{tool}"), &input, text),
                [],
                "{tool}: {text}"
            );
        }
    }
}

#[test]
fn a_note_is_about_no_task() {
    let output = r#"{"task_id": "task-1", "status": "running"}"#;
    assert_eq!(
        updates("mesnada_note", &json!({"action": "post"}), output),
        []
    );
}
