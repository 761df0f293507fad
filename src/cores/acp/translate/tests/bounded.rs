//! Nothing grows without a bound, and what is cut says so.

use super::*;
use crate::cores::acp::translate::bounds::{NOTICE, TEXT, size};

const MIB: usize = 1024 * 1024;

#[test]
fn more_calls_than_are_told_apart_cost_only_the_oldest() {
    let more = MAX_CALLS.get() + 1;
    let events = play((0..more).map(|n| asked(json!({"toolCallId": n.to_string()}))));
    let of = |id: &str| {
        events
            .iter()
            .filter(|event| **event == gave(id, REFUSED, true))
            .count()
    };
    for n in [0, 1, more - 1] {
        assert_eq!(of(&n.to_string()), 1, "{n}");
    }
    let first = events
        .iter()
        .position(|event| *event == gave("0", REFUSED, true));
    let last = events
        .iter()
        .position(|event| *event == opened(&(more - 1).to_string(), "tool"));
    assert!(first < last, "it is given up for the last one");
}

#[test]
fn a_call_with_an_id_that_is_too_long_to_be_kept_is_left_out() {
    let say = |id: &str| call(json!({"toolCallId": id, "name": "a"}));
    let (longest, longer) = ("i".repeat(ID), "i".repeat(ID + 1));
    let mut translator = translator();
    assert_eq!(translator.hear(say(&longest)), [opened(&longest, "a")]);
    assert_eq!(translator.hear(say(&longer)), []);
    let ask = asked(json!({"toolCallId": longer}));
    assert_eq!(translator.hear(ask), []);
    assert_eq!(translator.calls.len(), 1);
}

fn assert_notices_fit(events: &[CoreEvent]) {
    for event in events {
        match event {
            CoreEvent::Notice { name, value, .. } => {
                assert!(size(value) <= NOTICE, "{name}: {}", size(value));
            }
            CoreEvent::Diff { path, content, .. } => {
                let value = json!(content);
                assert!(size(&value) <= NOTICE, "{path}: {}", size(&value));
            }
            _ => {}
        }
    }
}

#[test]
fn a_call_with_megabytes_of_everything_is_cut_and_says_so() {
    let long = "x\n".repeat(MIB);
    let picture = json!({"type": "content", "content": {"type": "image", "data": long, "mimeType": "image/png"}});
    let diff = json!({"type": "diff", "path": "a", "oldText": "", "newText": long});
    let places = vec![json!({"path": "p".repeat(500)}); 10_000];
    let script = || {
        [
            call(
                json!({"toolCallId": "1", "name": "a", "title": long, "locations": places,
            "content": [shown(&long), picture, diff], "rawOutput": long, "rawInput": {"text": long}}),
            ),
            progress(json!({"toolCallId": "1", "status": "completed"})),
        ]
    };
    let events = play(script());
    assert_notices_fit(&events);
    assert_eq!(diffs(&events)[0]["newBytes"], long.len());
    assert_eq!(said(&events, "acp.output")[0]["truncated"], true);
    let picture = &said(&events, "acp.content")[0];
    assert_eq!(
        (&picture["type"], &picture["truncated"]),
        (&json!("image"), &json!(true))
    );
    let Some(CoreEvent::ToolCallResult {
        content: Content::Text(text),
        ..
    }) = spine(events.clone()).pop()
    else {
        panic!("no result");
    };
    assert_eq!(
        text.len(),
        TEXT,
        "more than the engine lets through, so that it says so"
    );
    let written: usize = events
        .iter()
        .map(|event| match event {
            CoreEvent::ToolCallArguments { fragment, .. } => fragment.len(),
            _ => 0,
        })
        .sum();
    assert!(written > long.len(), "arguments are never cut");
    let mut translator = translator();
    for incoming in script() {
        translator.hear(incoming);
    }
    assert_eq!(translator.kept, 0, "nothing is kept of what is over");
}

#[test]
fn many_calls_that_do_not_end_let_go_of_the_oldest_arguments() {
    let mut translator = translator();
    let long = "x".repeat(MIB - 1);
    let mut events = Vec::new();
    for n in 0..12 {
        let call = call(
            json!({"toolCallId": n.to_string(), "name": "a", "status": "pending",
            "rawInput": {"text": long}, "content": [shown(&long)]}),
        );
        events.extend(translator.hear(call));
        assert!(translator.kept <= KEPT);
    }
    let really: usize = translator.calls.iter().map(|(_, call)| call.size()).sum();
    assert_eq!(translator.kept, really);
    let is_closed = |n: usize| events.contains(&closed(&n.to_string()));
    assert!(is_closed(0) && is_closed(7) && !is_closed(11));
    events.extend(translator.hear(progress(json!({"toolCallId": "0", "status": "completed"}))));
    assert_eq!(events.last(), Some(&gave("0", "", false)));
}

#[test]
fn a_large_update_of_any_kind_fits_into_a_notice() {
    let long = "\u{1}".repeat(MIB / 4);
    let events = play([
        update(json!({"sessionUpdate": "brand_new", "text": long})),
        update(json!({"sessionUpdate": "x".repeat(1000)})),
        update(json!({"sessionUpdate": "agent_message_chunk",
            "content": {"type": "image", "data": long, "mimeType": "image/png"}})),
    ]);
    assert_notices_fit(&events);
    assert_eq!(events.len(), 3);
    assert_eq!(
        said(&events, "acp.content")[0]["content"]["mimeType"],
        "image/png"
    );
}

fn within(child: &str, mut call: Value) -> Said {
    call["sessionUpdate"] = json!("tool_call");
    Said::Update(json!({"sessionId": child, "update": call}))
}

#[test]
fn more_sub_agents_than_are_followed_cost_only_the_one_unheard_of_for_longest() {
    let ask = |n: usize| {
        Said::Asked(json!({"sessionId": format!("child-{n}"), "toolCall": {"toolCallId": "1"}}))
    };
    let mut translator = translator();
    let events: Vec<_> = (0..65).flat_map(|n| translator.hear(ask(n))).collect();
    let refused = |child: &str| CoreEvent::Within {
        sub_agent: child.into(),
        event: gave(&format!("{child}/1"), REFUSED, true).into(),
    };
    assert!(events.contains(&refused("child-0")) && !events.contains(&refused("child-1")));
    let rest = translator.finish();
    assert_eq!(rest.len(), 64);
    assert!(rest.contains(&refused("child-1")) && rest.contains(&refused("child-64")));
}

#[test]
fn what_is_kept_of_all_sub_agents_together_has_a_bound() {
    let mut translator = translator();
    let long = "x".repeat(MIB - 1);
    let mut events = Vec::new();
    for n in 0..12 {
        let call = json!({"toolCallId": "1", "name": "a", "status": "pending",
            "rawInput": {"text": long}, "content": [shown(&long)]});
        events.extend(translator.hear(within(&format!("child-{n}"), call)));
        assert!(translator.children.kept() <= KEPT);
    }
    let is_closed = |n: usize| {
        let child = format!("child-{n}");
        events.contains(&CoreEvent::Within {
            sub_agent: child.as_str().into(),
            event: closed(&format!("{child}/1")).into(),
        })
    };
    assert!(is_closed(0) && is_closed(7) && !is_closed(11));
}

#[test]
fn a_sub_agent_with_an_id_that_is_too_long_to_be_kept_is_left_out() {
    let longer = "i".repeat(ID + 1);
    let call = json!({"toolCallId": "1", "name": "a"});
    assert_eq!(play([within(&longer, call)]), []);
    let mut translator = translator();
    let params = json!({"sessionId": longer, "toolCall": {"toolCallId": "1", "title": "x"}});
    let (events, request) = translator.ask(&params);
    assert_eq!(events, []);
    assert_eq!(request.unwrap().call, None, "people are asked all the same");
}
