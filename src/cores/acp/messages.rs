//! From a line to a JSON-RPC message, without types.
//!
//! The SDK's own reading was weighed: it buffers the line in a way that loses integers of more than 64 bits,
//! and with them the message, and takes nothing of an answer that is wrong in some member, so that whoever
//! waits for it waits for ever. Here such an answer is an error.

use agent_client_protocol::{self as sdk, RawJsonRpcId as Id, RawJsonRpcMessage as Message};
use serde_json::Value;

/// How many values the JSON of a line may have. Each takes some eighty bytes of memory, whatever its length in
/// the line.
const VALUES: usize = 1_000_000;

/// The message in a text, if it is one.
pub(super) fn read(text: &str) -> Option<Message> {
    if values(text) > VALUES {
        return None;
    }
    let mut message: Value = serde_json::from_str(text).ok()?;
    if message["jsonrpc"] != "2.0" {
        return None;
    }
    let members = message.as_object_mut()?;
    let id = members.shift_remove("id").map(|it| id(&it));
    let result = members.shift_remove("result");
    let error = members.shift_remove("error").filter(|it| !it.is_null());
    match (members.shift_remove("method"), id) {
        (Some(Value::String(method)), id) if result.is_none() && error.is_none() => {
            let params = members.shift_remove("params").unwrap_or_default();
            match id {
                Some(id) => Message::request(method, params, id?).ok(),
                // The SDK would keep one that it cannot read from our handlers.
                None if method == "$/cancel_request" && !names_request(&params) => None,
                None => Message::notification(method, params).ok(),
            }
        }
        (None, Some(Some(id))) => Some(Message::response(id, outcome(result, error))),
        _ => None,
    }
}

/// What an answer says. One that says nothing, or two things, is an error.
fn outcome(result: Option<Value>, error: Option<Value>) -> Result<Value, sdk::Error> {
    match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => {
            let internal = sdk::Error::internal_error();
            let code = error["code"].as_i64().and_then(|it| i32::try_from(it).ok());
            let message = error["message"]
                .as_str()
                .unwrap_or("an error without words");
            let read = sdk::Error::new(code.unwrap_or(internal.code.value()), message);
            Err(match &error["data"] {
                Value::Null => read,
                data => read.data(data.clone()),
            })
        }
        _ => Err(sdk::Error::internal_error().data("the answer is malformed")),
    }
}

fn names_request(params: &Value) -> bool {
    params.get("requestId").and_then(id).is_some()
}

/// An id as JSON-RPC has it: an integer, a text, or null.
fn id(value: &Value) -> Option<Id> {
    match value {
        Value::Null => Some(Id::Null),
        Value::String(text) => Some(Id::Str(text.clone())),
        number => number.as_i64().map(Id::Number),
    }
}

/// How many values a JSON text has at most: one more than it has commas and brackets outside of strings.
fn values(text: &str) -> usize {
    let (mut count, mut is_inside, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_inside => is_escaped = true,
            b'"' => is_inside = !is_inside,
            b',' | b'[' | b'{' if !is_inside => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(members: &str) -> Result<Value, i32> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,{members}}}"#);
        let Some(Message::Response(answer)) = read(&text) else {
            panic!("{text} is no answer");
        };
        match answer {
            sdk::RawJsonRpcResponse::Result { result, .. } => Ok(result),
            sdk::RawJsonRpcResponse::Error { error, .. } => {
                Err(error.code.to_string().parse().unwrap())
            }
        }
    }

    #[test]
    fn an_answer_that_is_wrong_in_some_member_is_an_error_and_not_nothing() {
        for (members, wanted) in [
            (r#""result":{"a":1}"#, Ok(json!({"a": 1}))),
            (r#""result":null"#, Ok(json!(null))),
            (r#""result":1,"error":null"#, Ok(json!(1))),
            (r#""error":{"code":-32000,"message":"login"}"#, Err(-32000)),
            (r#""error":{"code":"odd","message":"x"}"#, Err(-32603)),
            (r#""error":{"code":99999999999,"message":"x"}"#, Err(-32603)),
            (r#""error":"no""#, Err(-32603)),
            (
                r#""result":1,"error":{"code":1,"message":"x"}"#,
                Err(-32603),
            ),
            (r#""other":1"#, Err(-32603)),
        ] {
            assert_eq!(answer(members), wanted, "{members}");
        }
    }

    #[test]
    fn a_request_is_taken_back_by_an_id_and_by_nothing_else() {
        for (params, is_read) in [
            (r#"{"requestId":"a"}"#, true),
            (r#"{"requestId":7}"#, true),
            (r#"{"requestId":1.5}"#, false),
            (r#"{"requestId":{}}"#, false),
            ("{}", false),
        ] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{params}}}"#);
            assert_eq!(read(&text).is_some(), is_read, "{params}");
        }
    }

    #[test]
    fn numbers_of_any_size_keep_their_digits() {
        for number in [
            "340282366920938463463374607431768211455",
            "-9223372036854775809",
            "1.10",
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"n":{number}}}}}"#);
            let Some(Message::Notification(message)) = read(&text) else {
                panic!("{number}");
            };
            let params = message.params.unwrap().into_value();
            assert_eq!(params["n"].to_string(), number);
        }
    }

    #[test]
    fn what_is_no_message_is_none() {
        for text in [
            "{}",
            r#"{"jsonrpc":"1.0","method":"m"}"#,
            r#"{"jsonrpc":"2.0","method":1}"#,
            r#"{"jsonrpc":"2.0","method":"m","params":1}"#,
            r#"{"jsonrpc":"2.0","method":"m","id":1.5}"#,
            r#"{"jsonrpc":"2.0","result":1}"#,
            r#"{"jsonrpc":"2.0","method":"m","result":1}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_of_more_values_than_memory_should_hold_is_none() {
        let with = |count: usize| {
            let many = vec!["1"; count].join(",");
            format!(r#"{{"jsonrpc":"2.0","method":"m","params":[{many}]}}"#)
        };
        assert!(read(&with(1000)).is_some());
        assert_eq!(read(&with(VALUES)), None);
        let text = ",[{".repeat(VALUES);
        let text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":["\"{text}"]}}"#);
        assert!(read(&text).is_some(), "a text is one value");
    }
}
