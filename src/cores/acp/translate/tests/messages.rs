//! Text and thoughts: where a message ends, and what is none.

use super::*;

#[test]
fn another_message_id_ends_the_message_and_empty_chunks_do_not_count() {
    let events = play([
        say("a", None),
        say("b", Some("1")),
        say("", Some("2")),
        say("c", Some("1")),
        say("d", Some("2")),
    ]);
    let end = CoreEvent::MessageEnd;
    assert_eq!(
        events,
        [text("a"), end.clone(), text("b"), text("c"), end, text("d")]
    );
}

#[test]
fn usage_on_an_empty_chunk_is_counted() {
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""},
        "_meta": {"usage": {"inputTokens": 1, "outputTokens": 2}}});
    let events = play([update(chunk)]);
    let [CoreEvent::Usage(usage), CoreEvent::Context(_)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(usage.total_tokens, Some(3));
}

fn plan(content: &str) -> Said {
    update(json!({"sessionUpdate": "plan", "entries": [{"content": content}]}))
}

fn standing(n: u64) -> Said {
    update(json!({"sessionUpdate": "usage_update", "used": n, "size": 100}))
}

#[test]
fn another_kind_of_update_ends_a_message_without_id_and_no_other() {
    let end = CoreEvent::MessageEnd;
    let said = |events: Vec<CoreEvent>| -> Vec<CoreEvent> {
        let is_between =
            |event: &CoreEvent| matches!(event, CoreEvent::Todos(_) | CoreEvent::Context(_));
        events
            .into_iter()
            .filter(|event| !is_between(event))
            .collect()
    };
    for (between, id, ends) in [
        (plan("x"), None, true),
        (plan("x"), Some("1"), false),
        (standing(1), None, false),
        (standing(1), Some("1"), false),
    ] {
        let events = play([say("a", id), between, say("b", id)]);
        let mut expected = vec![text("a"), text("b")];
        if ends {
            expected.insert(1, end.clone());
        }
        assert_eq!(said(events), expected, "{id:?}");
    }
}

#[test]
fn report_r37_an_update_of_a_call_in_between_does_not_join_two_messages() {
    let under_way = |title: &str| progress(json!({"toolCallId": "1", "title": title}));
    let events = play([
        call(json!({"toolCallId": "1", "name": "a"})),
        say("a", Some("1")),
        under_way("b"),
        say("c", Some("2")),
    ]);
    let expected = [
        opened("1", "a"),
        text("a"),
        CoreEvent::MessageEnd,
        text("c"),
    ];
    assert_eq!(spine(events), expected);
}

#[test]
fn r73_what_an_agent_says_for_itself_is_a_notice_and_no_text() {
    let warning = "Warning: Model metadata for `m` not found.\n\n";
    let script = || [say(warning, None), say("Hello", Some("1"))];
    let events = play_with(translator_of(Vendor::Codex), script());
    let notice = json!({"severity": "warning", "title": "Model metadata for `m` not found."});
    assert_eq!(
        events,
        [CoreEvent::notice("acp.notice", notice), text("Hello")]
    );
    // Nobody knows of other agents that they do so.
    assert_eq!(
        play(script()),
        [text(warning), CoreEvent::MessageEnd, text("Hello")]
    );
}

#[test]
fn a_mode_told_as_text_is_a_mode() {
    let script = [say("[MODE_UPDATE] plan", None), say("Hello", None)];
    let events = play_with(translator_of(Vendor::Gemini), script);
    let notice = CoreEvent::notice("acp.current_mode_update", json!({"currentModeId": "plan"}));
    assert_eq!(events, [notice, text("Hello")]);
}

#[test]
fn media_in_a_message_are_a_notice() {
    let image = json!({"type": "image", "data": "QQ==", "mimeType": "image/png"});
    let chunk = |content: &Value| {
        update(json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    };
    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a", "_meta": {"x": 1}});
    let events = play([chunk(&image), chunk(&link)]);
    let contents = [
        json!({"content": image}),
        json!({"content": {"type": "resource_link", "uri": "file:///a", "name": "a"}}),
    ];
    assert_eq!(said(&events, "acp.content"), contents);
    assert_eq!(events.len(), 2);
}

#[test]
fn the_model_that_answered_last_is_known_where_it_is_told() {
    let mut translator = translator();
    let told = |model: &str| json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "_meta": {"_claude/model": model}});
    translator.hear(update(told("a")));
    translator.hear(update(told("b")));
    translator.hear(standing(3));
    assert_eq!(translator.model(), Some("b"));
}
