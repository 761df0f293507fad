//! What a client makes of a stream: the messages and calls that it shows, in their order.

use serde_json::Value;

/// One thing that a client shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    /// A text message.
    Text(String),
    /// A reasoning message.
    Thought(String),
    /// A call with its arguments' text and what came of it.
    Call {
        name: String,
        arguments: String,
        result: Option<Value>,
    },
}

/// A call that was answered with a text.
pub(crate) fn call(name: &str, arguments: &str, result: &str) -> Shown {
    Shown::Call {
        name: name.into(),
        arguments: arguments.into(),
        result: Some(result.into()),
    }
}

/// A text message.
pub(crate) fn text(text: &str) -> Shown {
    Shown::Text(text.into())
}

/// The types of events, in order.
pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| member(event, "type")).collect()
}

/// How a run ended, in a word: `success`, `cancelled`, or the code of its failure.
pub(crate) fn ending(events: &[Value]) -> &str {
    let last = events.last().expect("a stream has events");
    match member(last, "type") {
        "RUN_FINISHED" => member(&last["outcome"], "type"),
        "RUN_ERROR" => member(last, "code"),
        other => panic!("{other} ends the stream"),
    }
}

/// All text that was said, whatever its message.
pub(crate) fn said(events: &[Value]) -> String {
    let texts = shown(events).into_iter().filter_map(|shown| match shown {
        Shown::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// Everything that is shown, each where it began.
pub(crate) fn shown(events: &[Value]) -> Vec<Shown> {
    let mut shown: Vec<(&str, Shown)> = Vec::new();
    for event in events {
        let id = ["toolCallId", "messageId"]
            .into_iter()
            .find_map(|name| event[name].as_str());
        let Some(id) = id else { continue };
        let mut of_id = shown.iter_mut().rev().filter(|(known, _)| *known == id);
        match member(event, "type") {
            "TEXT_MESSAGE_START" => shown.push((id, Shown::Text(String::new()))),
            "REASONING_MESSAGE_START" => shown.push((id, Shown::Thought(String::new()))),
            "TOOL_CALL_START" => shown.push((
                id,
                Shown::Call {
                    name: member(event, "toolCallName").into(),
                    arguments: String::new(),
                    result: None,
                },
            )),
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" | "TOOL_CALL_ARGS" => {
                let (_, shown) = of_id.next().expect("a delta follows its start");
                let (Shown::Text(text)
                | Shown::Thought(text)
                | Shown::Call {
                    arguments: text, ..
                }) = shown;
                text.push_str(member(event, "delta"));
            }
            "TOOL_CALL_RESULT" => match of_id.next() {
                Some((_, Shown::Call { result, .. })) if result.is_none() => {
                    *result = Some(event["content"].clone());
                }
                _ => panic!("a result of no call, or a second one: {event}"),
            },
            _ => {}
        }
    }
    shown.into_iter().map(|(_, shown)| shown).collect()
}

fn member<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("no {name} in {value}"))
}
