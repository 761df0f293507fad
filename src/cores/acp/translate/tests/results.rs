//! What calls show, change, print and return.

use super::*;
use crate::protocol::{Part, PartKind, Source};

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn ended(members: Value) -> Vec<CoreEvent> {
    let mut value = json!({"toolCallId": "1", "name": "a", "status": "completed"});
    value
        .as_object_mut()
        .unwrap()
        .extend(members.as_object().unwrap().clone());
    play([call(value)])
}

fn content(events: &[CoreEvent]) -> Content {
    match spine(events.to_vec()).pop() {
        Some(CoreEvent::ToolCallResult { content, .. }) => content,
        other => panic!("{other:?}"),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn block(block: Value) -> Value {
    json!({"type": "content", "content": block})
}

fn data(value: &str, mime_type: &str) -> Source {
    Source::Data {
        value: value.into(),
        mime_type: mime_type.into(),
    }
}

fn part(kind: PartKind, name: Option<&str>) -> Part {
    Part {
        kind,
        id: None,
        metadata: name.map(|name| json!({"name": name})),
    }
}

#[test]
fn report_r34_every_kind_of_result_is_a_text_or_a_list_of_parts() {
    let image = block(json!({"type": "image", "data": "QQ==", "mimeType": "image/png"}));
    let diff =
        json!({"type": "diff", "path": "/srv/project/src/a.rs", "oldText": null, "newText": "x"});
    let source = data("QQ==", "image/png");
    let picture = || {
        part(
            PartKind::Image {
                source: source.clone(),
            },
            None,
        )
    };
    let text = |text: &str| Content::Text(text.into());
    for (members, wanted) in [
        (json!({}), text("")),
        (json!({"content": []}), text("")),
        (json!({"rawOutput": ""}), text("")),
        (json!({"content": [shown("one")]}), text("one")),
        (
            json!({"content": [shown("one"), shown(""), shown("two")]}),
            text("one\ntwo"),
        ),
        (
            json!({"content": [diff, {"type": "diff", "path": "b.rs", "newText": ""}]}),
            text("edited src/a.rs\nedited b.rs"),
        ),
        (
            json!({"content": [diff], "rawOutput": "File updated."}),
            text("File updated."),
        ),
        (
            json!({"content": [diff], "rawOutput": {"fileDiff": "@@"}}),
            text("edited src/a.rs"),
        ),
        (json!({"content": [image]}), Content::Parts(vec![picture()])),
        (
            json!({"content": [shown("see"), image]}),
            Content::Parts(vec![Part::text("see"), picture()]),
        ),
        (json!({"rawOutput": {"total": 2}}), text(r#"{"total":2}"#)),
        (json!({"rawOutput": [1, null]}), text("[1,null]")),
        (
            json!({"rawOutput": {"content": [{"type": "text", "text": "a"}], "isError": false}}),
            text("a"),
        ),
        (
            json!({"content": [{"type": "terminal", "terminalId": "t"}], "rawOutput": {"exit_code": 0},
            "_meta": {"terminal_output_delta": {"terminal_id": "t", "data": "printed"}}}),
            text("printed"),
        ),
    ] {
        assert_eq!(content(&ended(members.clone())), wanted, "{members}");
    }
}

#[test]
fn resources_in_a_result_become_parts() {
    let link =
        json!({"type": "resource_link", "uri": "https://example.org/a.pdf", "name": "a.pdf"});
    let of = |resource: Value| block(json!({"type": "resource", "resource": resource}));
    let events = ended(json!({"content": [
        of(json!({"uri": "file:///a.txt", "text": "inside"})),
        of(json!({"uri": "file:///a.mp4", "blob": "QQ==", "mimeType": "video/mp4"})),
        of(json!({"uri": "file:///a.bin", "blob": "Qg=="})),
        block(link),
        block(json!({"type": "audio", "data": "Qw==", "mimeType": "audio/wav"})),
        block(json!({"type": "unheard_of"})),
    ]}));
    let url = Source::Url {
        value: "https://example.org/a.pdf".into(),
        mime_type: None,
    };
    let binary = data("Qg==", "application/octet-stream");
    assert_eq!(
        content(&events),
        Content::Parts(vec![
            Part::text("inside"),
            part(
                PartKind::Video {
                    source: data("QQ==", "video/mp4")
                },
                Some("file:///a.mp4")
            ),
            part(PartKind::Document { source: binary }, Some("file:///a.bin")),
            part(PartKind::Document { source: url }, Some("a.pdf")),
            part(
                PartKind::Audio {
                    source: data("Qw==", "audio/wav")
                },
                None
            ),
        ])
    );
}

#[test]
fn a_change_is_told_when_it_changes_and_before_the_result() {
    let diff = |old: Value, new: &str| json!({"type": "diff", "path": "/srv/project/a", "oldText": old, "newText": new});
    let with = |content: &Value| progress(json!({"toolCallId": "1", "content": content}));
    let snippet = json!([diff(json!("b"), "c")]);
    let whole = json!([diff(json!("a b"), "a c"), diff(json!("d"), "e")]);
    let events = play([
        asked(json!({"toolCallId": "1", "name": "edit", "content": snippet})),
        with(&snippet),
        with(&whole),
        progress(json!({"toolCallId": "1", "status": "completed", "content": whole})),
        with(&whole),
    ]);
    let told = |old: Value, new: &str| json!({"path": "a", "oldText": old, "newText": new});
    assert_eq!(
        diffs(&events),
        [told(json!("b"), "c"), told(json!("a b\nd"), "a c\ne")]
    );
    assert_eq!(spine(events).last(), Some(&gave("1", "edited a", false)));
}

#[test]
fn a_patch_besides_the_content_is_told_if_the_content_has_none() {
    let hunks = json!([{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}]);
    let response = json!({"claudeCode": {"toolName": "Edit", "toolResponse":
        {"filePath": "/srv/project/a", "structuredPatch": hunks}}});
    let heard = || progress(json!({"toolCallId": "1", "_meta": response}));
    let diff = json!({"type": "diff", "path": "/srv/project/a", "oldText": "a", "newText": "b"});
    let told = json!({"path": "a", "patch": hunks});
    assert_eq!(diffs(&play([heard(), heard()])), [told]);
    let with_content = progress(json!({"toolCallId": "1", "content": [diff]}));
    assert_eq!(diffs(&play([with_content, heard()])).len(), 1);
}

#[test]
fn a_command_is_told_with_what_it_prints_and_its_output_is_its_result() {
    // As Codex.
    let events = play([
        call(
            json!({"toolCallId": "1", "kind": "execute", "title": "ls", "status": "in_progress",
            "content": [{"type": "terminal", "terminalId": "1"}],
            "rawInput": {"command": "ls", "cwd": "/srv/project"},
            "_meta": {"terminal_info": {"terminal_id": "1", "cwd": "/srv/project"}}}),
        ),
        progress(json!({"toolCallId": "1",
            "_meta": {"terminal_output_delta": {"terminal_id": "1", "data": "a\n"}}})),
        progress(
            json!({"toolCallId": "1", "status": "failed", "rawOutput": {"exit_code": 3},
            "_meta": {"terminal_output_delta": {"terminal_id": "1", "data": "b\n"},
                "terminal_exit": {"terminal_id": "1", "exit_code": 3, "signal": null}}}),
        ),
        // As Claude, whose commands can go on in the background.
        progress(json!({"toolCallId": "1",
            "_meta": {"terminal_output_delta": {"terminal_id": "1", "data": "c\n"}}})),
    ]);
    assert_eq!(
        said(&events, "acp.terminal"),
        [
            json!({"terminalId": "1", "command": "ls", "cwd": "."}),
            json!({"terminalId": "1", "output": "a\n"}),
            json!({"terminalId": "1", "output": "b\n", "exitCode": 3}),
            json!({"terminalId": "1", "output": "c\n"}),
        ]
    );
    assert_eq!(spine(events).last(), Some(&gave("1", "a\nb\n", true)));
}

#[test]
fn what_a_call_shows_while_it_goes_on_is_told_as_it_grows() {
    let shows = |text: &str| {
        progress(json!({"toolCallId": "1", "status": "in_progress", "content": [shown(text)]}))
    };
    let events = play([
        call(json!({"toolCallId": "1", "name": "sh", "content": []})),
        shows("a\n"),
        shows("a\nb\n"),
        shows("a\nb\n"),
        shows("é"),
        progress(
            json!({"toolCallId": "1", "status": "completed", "content": [shown("a\nb\nc\n")]}),
        ),
    ]);
    let told = [
        json!({"text": "a\n"}),
        json!({"delta": "b\n"}),
        json!({"text": "é"}),
    ];
    assert_eq!(said(&events, "acp.output"), told);
    assert_eq!(events.last(), Some(&gave("1", "a\nb\nc\n", false)));
}

#[test]
fn media_that_do_not_fit_into_a_result_are_told_once_and_those_that_do_stay() {
    let image = |length: usize| {
        block(json!({"type": "image", "data": "A".repeat(length), "mimeType": "image/png"}))
    };
    let content = json!([shown("see"), image(400_000), image(700_000), image(400_000)]);
    let events = play([
        progress(json!({"toolCallId": "1", "status": "in_progress", "content": content})),
        progress(json!({"toolCallId": "1", "status": "completed", "content": content})),
    ]);
    let left_out = said(&events, "acp.content");
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0]["mimeType"], "image/png");
    assert!(left_out[0]["bytes"].as_u64().unwrap() > 700_000);
    let Content::Parts(parts) = self::content(&events) else {
        panic!("no parts");
    };
    assert_eq!(parts.len(), 3);
    let json = serde_json::to_string(&parts).unwrap();
    assert!(
        json.len() < 1024 * 1024,
        "the engine would leave out all media of more"
    );
}
