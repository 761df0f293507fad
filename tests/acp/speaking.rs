//! What an agent says, and what it is told.

use agui_serve::{
    deps::{CoreEvent, SessionRef, Signal, StopReason},
    protocol::{Content, ContextEntry, Part, PartKind, Source},
};

use crate::stage::{Stage, events, text};

#[tokio::test]
async fn text_thoughts_a_tool_and_its_result_come_in_order() {
    let call = r#"update {"sessionUpdate":"tool_call","toolCallId":"c","name":"read","status":"pending","rawInput":{}}"#;
    let input = r#"update {"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress","rawInput":{"n":1.50}}"#;
    let end = r#"update {"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":"done"}"#;
    let usage = r#"usage {"inputTokens":3,"outputTokens":4,"totalTokens":7}"#;
    let stage = Stage::new(
        &[],
        &[
            "think Hm.",
            "say Let me see.",
            call,
            input,
            end,
            "say Done.",
            usage,
        ],
    );
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert!(signals.contains(&Signal::Bind(SessionRef::new("first"))));
    let mut events = events(&signals);
    events.retain(|event| !matches!(event, CoreEvent::Notice { .. }));
    let [
        CoreEvent::Model(model),
        CoreEvent::Settings(_),
        CoreEvent::Reasoning(thought),
        CoreEvent::Text(before),
        CoreEvent::ToolCallOpened { name, .. },
        CoreEvent::ToolCallArguments { fragment, .. },
        CoreEvent::ToolCallClosed { .. },
        CoreEvent::ToolCallResult {
            content,
            failed: false,
            ..
        },
        CoreEvent::Text(after),
        CoreEvent::Usage(usage),
        CoreEvent::Context(_),
    ] = &events[..]
    else {
        panic!("{events:#?}");
    };
    assert_eq!(model.id, "fake-1");
    assert_eq!((thought.as_str(), before.as_str()), ("Hm.", "Let me see."));
    assert_eq!(name, "read");
    assert_eq!(fragment, r#"{"n":1.50}"#, "numbers keep their digits");
    assert_eq!(content, &Content::Text("done".into()));
    assert_eq!(after, "Done.");
    assert_eq!(usage.total_tokens, Some(7));
    assert_eq!(usage.model.as_deref(), Some("fake-1"));
    stage.assert_reaped().await;
}

#[tokio::test]
async fn what_is_not_offered_is_answered_with_method_not_found() {
    for method in [
        "fs/write_text_file",
        "terminal/create",
        "craft/drainMidTurnQueue",
    ] {
        let (_, signals) = Stage::new(&[], &[&format!("request {method}")])
            .play()
            .await;
        assert_eq!(text(&signals), "-32601", "{method}");
    }
}

#[tokio::test]
async fn noise_on_the_output_is_no_message_and_ends_nothing() {
    let mut stage = Stage::new(
        &["--banner"],
        &["say a", "noise", "say b", "noise", "say c"],
    );
    stage.options.max_line = 1024 * 1024;
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&signals), "abc");
}

/// Agents put whole files into one line.
#[tokio::test]
async fn a_line_of_20_mib_arrives_whole() {
    let (outcome, signals) = Stage::new(&[], &["long 20971520"]).play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&signals).len(), 20 * 1024 * 1024);
}

#[tokio::test]
async fn a_line_of_1_gib_is_skipped_without_being_kept() {
    let stage = Stage::new(&[], &["say a", "line 1073741824", "say b"]);
    let before = peak();
    let (outcome, signals) = stage.play().await;
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&signals), "ab");
    let grown = peak() - before;
    assert!(grown < 512 * 1024, "grown by {grown} KiB");
}

/// The most memory that this process has ever had, in KiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

#[tokio::test]
async fn report_r66_a_flood_arrives_whole_and_in_order_at_a_slow_reader() {
    let stage = Stage::new(&[], &["flood 5000", "say end"]);
    let (turn, mut inbox) = stage.start();
    let read = async {
        let mut signals = Vec::new();
        while let Some(signal) = inbox.recv().await {
            signals.push(signal);
            // All that can happen without this reader happens meanwhile.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
        signals
    };
    let (outcome, signals) = tokio::join!(turn, read);
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    assert_eq!(text(&signals), "x".repeat(5000) + "end");
}

#[tokio::test]
async fn the_program_sees_its_folder_and_only_listed_variables() {
    let mut stage = Stage::new(&[], &["env", "say ;", "cwd"]);
    let pairs = [("PATH", "/usr/bin:/bin"), ("AGUI_TOKEN", "secret")];
    stage.options.inherited = pairs.map(|(k, v)| (k.into(), v.into())).into();
    stage.options.env = [("AGENT_MODE".into(), "ask".into())].into();
    let (_, signals) = stage.play().await;
    let folder = stage.options.workdir.canonicalize().unwrap();
    assert_eq!(
        text(&signals),
        format!("AGENT_MODE,PATH;{}", folder.display())
    );
}

#[tokio::test]
async fn context_and_attachments_reach_the_agent_as_far_as_it_takes_them() {
    let mut stage = Stage::new(&[], &[]);
    let source = |mime_type: &str| Source::Data {
        value: "QQ==".into(),
        mime_type: mime_type.into(),
    };
    let part = |kind| Part {
        kind,
        ..Part::text("")
    };
    let image = part(PartKind::Image {
        source: source("image/png"),
    });
    let audio = part(PartKind::Audio {
        source: source("audio/wav"),
    });
    stage.prompt = Content::Parts(vec![image, audio, Part::text("blocks")]);
    stage.context = vec![ContextEntry {
        description: "page".into(),
        value: "home".into(),
    }];
    let (_, signals) = stage.play().await;
    assert_eq!(text(&signals), "text,image,text");
    let skipped = events(&signals).into_iter().any(
        |event| matches!(event, CoreEvent::Notice { name, .. } if name == "attachments_skipped"),
    );
    assert!(skipped);
}
