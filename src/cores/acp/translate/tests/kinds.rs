//! What has no event.

use super::*;

#[test]
fn r72_what_has_no_event_is_a_notice_without_vendors_additions() {
    let plan = json!({"sessionUpdate": "plan", "entries": [{"content": "x", "_meta": {"path": "/p"}}], "_meta": {}});
    let events = play([
        update(plan),
        update(json!({"sessionUpdate": "brand_new", "n": 1e-7})),
    ]);
    let notice = |name: &str, value: Value| CoreEvent::notice(name, value);
    assert_eq!(
        events,
        [
            notice("acp.plan", json!({"entries": [{"content": "x"}]})),
            notice("acp.brand_new", json!({"n": 1e-7})),
        ]
    );
}

#[test]
fn every_kind_that_is_known_is_passed_on_under_its_name() {
    for kind in [
        "plan",
        "plan_update",
        "plan_removed",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
        "subagent_update",
        "session_message",
        "session_message_chunk",
    ] {
        let events = play([update(json!({"sessionUpdate": kind, "x": 1}))]);
        assert_eq!(
            events,
            [CoreEvent::notice(format!("acp.{kind}"), json!({"x": 1}))]
        );
    }
}

#[test]
fn how_things_stand_is_told_when_it_changes() {
    let used = |n: u64| {
        update(
            json!({"sessionUpdate": "usage_update", "used": n, "size": 9,
        "cost": {"amount": 0.5, "currency": "USD"}}),
        )
    };
    let notice =
        |text: &str| update(json!({"sessionUpdate": "notice", "severity": "info", "title": text}));
    let events = play([used(1), used(1), used(2), notice("a"), notice("a"), used(1)]);
    let used: Vec<_> = said(&events, "acp.usage_update")
        .iter()
        .map(|it| it["used"].as_u64())
        .collect();
    assert_eq!(used, [Some(1), Some(2), Some(1)]);
    assert_eq!(said(&events, "acp.usage_update")[0]["cost"]["amount"], 0.5);
    assert_eq!(said(&events, "acp.notice").len(), 2, "two notices are two");
}

#[test]
fn what_vendors_say_of_a_session_is_told_with_its_title() {
    let info = |value: Value| {
        let mut value = value;
        value["sessionUpdate"] = json!("session_info_update");
        update(value)
    };
    let status = json!({"type": "active", "activeFlags": ["waitingOnApproval"]});
    let events = play([
        info(json!({"_meta": {"codex": {"threadStatus": status}}})),
        info(json!({"title": "t", "_meta": {"pando:notification": {"kind": "compaction"}}})),
        info(json!({"_meta": {"other": 1}})),
    ]);
    assert_eq!(
        said(&events, "acp.session_info_update"),
        [
            json!({"threadStatus": status}),
            json!({"title": "t", "notification": {"kind": "compaction"}}),
        ]
    );
}

#[test]
fn the_persons_own_words_and_what_is_no_update_are_left_out() {
    let own =
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "x"}});
    let script = [own, json!(null), json!([]), json!({"sessionUpdate": 1})].map(update);
    assert_eq!(play(script), []);
    let nobody = json!({"update": {"sessionUpdate": "plan"}});
    assert_eq!(play([Said::Update(nobody)]), []);
}

#[test]
fn another_session_is_a_subagents_and_never_speaks_in_the_message() {
    let said_there = |value: &Value| Said::Update(json!({"sessionId": "child", "update": value}));
    let chunk = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    let call =
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "name": "read", "_meta": {"x": 1}});
    let request = Said::Asked(json!({"sessionId": "child", "toolCall": {"toolCallId": "1"}}));
    let events = play([
        say("a", None),
        said_there(&chunk("b")),
        said_there(&chunk("")),
        said_there(&call),
        request,
        say("c", None),
    ]);
    let bare = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "name": "read"});
    let asked = json!({"sessionUpdate": "request_permission", "toolCall": {"toolCallId": "1"}});
    assert_eq!(
        said(&events, "acp.subagent"),
        [chunk("b"), bare, asked].map(|update| json!({"session": "child", "update": update}))
    );
    assert_eq!(
        (&events[0], events.last(), events.len()),
        (&text("a"), Some(&text("c")), 5)
    );
}
