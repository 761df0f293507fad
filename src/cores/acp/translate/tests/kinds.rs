//! What has no event.

use super::*;

#[test]
fn r72_what_has_no_event_is_a_notice_without_vendors_additions() {
    let removed = json!({"sessionUpdate": "plan_removed", "id": {"x": "y", "_meta": {"path": "/p"}}, "_meta": {}});
    let events = play([
        update(removed),
        update(json!({"sessionUpdate": "brand_new", "n": 1e-7})),
    ]);
    let notice = |name: &str, value: Value| CoreEvent::notice(name, value);
    assert_eq!(
        events,
        [
            notice("acp.plan_removed", json!({"id": {"x": "y"}})),
            notice("acp.brand_new", json!({"n": 1e-7})),
        ]
    );
}

#[test]
fn every_kind_that_is_known_is_passed_on_under_its_name() {
    for kind in [
        "plan_update",
        "plan_removed",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "notice",
        "compaction_update",
        "compaction_summary_chunk",
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
    let mode =
        |id: &str| update(json!({"sessionUpdate": "current_mode_update", "currentModeId": id}));
    let notice =
        |text: &str| update(json!({"sessionUpdate": "notice", "severity": "info", "title": text}));
    let script = [
        mode("a"),
        mode("a"),
        mode("b"),
        notice("a"),
        notice("a"),
        mode("a"),
    ];
    let events = play(script);
    let modes: Vec<_> = said(&events, "acp.current_mode_update")
        .iter()
        .map(|it| it["currentModeId"].clone())
        .collect();
    assert_eq!(modes, ["a", "b", "a"]);
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
