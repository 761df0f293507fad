use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    deps::{OptionKind, PermissionOption},
    protocol::{JsonObject, Message, MessageId, ToolCallId},
};

fn request(options: &[(&str, OptionKind)]) -> PermissionRequest {
    let options = options.iter().map(|(id, kind)| PermissionOption {
        id: (*id).into(),
        name: "Yes, allow it".into(),
        kind: *kind,
    });
    PermissionRequest {
        call: None,
        tool: "bash".into(),
        action: "execute".into(),
        title: String::new(),
        paths: Vec::new(),
        params: None,
        options: options.collect(),
        details: JsonObject::new(),
    }
}

const USUAL: [(&str, OptionKind); 3] = [
    ("p-always", OptionKind::AllowAlways),
    ("p-once", OptionKind::AllowOnce),
    ("r-once", OptionKind::RejectOnce),
];

fn says(payload: Value) -> Said {
    Said::Payload(Some(payload))
}

fn result_of(content: &str, error: Option<&str>) -> Said {
    let body = MessageBody::Tool {
        content: Content::Text(content.into()),
        tool_call_id: ToolCallId::new("c").unwrap(),
        error: error.map(Into::into),
    };
    Said::Result(Message::new(MessageId::new("m").unwrap(), body))
}

fn allowed(said: &Said, request: &PermissionRequest) -> Option<String> {
    match permission(said, request) {
        Permission::Allowed(id) => Some(id.as_ref().to_owned()),
        Permission::Denied(..) => None,
    }
}

/// Requirement 99.
#[test]
fn r99_only_what_says_yes_in_so_many_words_is_one() {
    let request = request(&USUAL);
    for (payload, option) in [
        (json!({"approved": true}), Some("p-once")),
        (json!({"allow": true}), Some("p-once")),
        (json!(true), Some("p-once")),
        (json!("Approve "), Some("p-once")),
        (json!("{\"approved\": true}"), Some("p-once")),
        (json!("true"), Some("p-once")),
        (json!({"optionId": "p-always"}), Some("p-always")),
        (
            json!({"approved": true, "optionId": "p-always"}),
            Some("p-always"),
        ),
        (
            json!({"outcome": {"outcome": "selected", "optionId": "p-once"}}),
            Some("p-once"),
        ),
        (json!("p-always"), Some("p-always")),
        (json!("\"p-once\""), Some("p-once")),
        // All that does not agree with itself.
        (json!({"approved": false, "optionId": "p-once"}), None),
        (json!({"approved": true, "allow": false}), None),
        (json!({"approved": true, "optionId": "r-once"}), None),
        (json!({"approved": true, "optionId": 1}), None),
        (json!({"approved": true, "cancelled": true}), None),
        (json!({"optionId": "p-once", "denied": true}), None),
        (
            json!({"outcome": {"outcome": "cancelled", "optionId": "p-once"}}),
            None,
        ),
        (json!({"outcome": {"optionId": "p-once"}}), None),
        (json!({"outcome": "selected", "optionId": "p-once"}), None),
        (
            json!({"optionId": "p-once", "outcome": {"optionId": "r-once"}}),
            None,
        ),
        // All that is not quite a yes (report R42 among them).
        (json!(false), None),
        (json!(0), None),
        (json!(1), None),
        (json!(""), None),
        (json!([]), None),
        (json!([true]), None),
        (json!({}), None),
        (json!({"approved": "true"}), None),
        (json!({"approved": 1}), None),
        (json!({"approved": null}), None),
        (json!({"Approved": true}), None),
        (json!({"optionId": "p-nothing"}), None),
        (json!({"optionId": "P-ONCE"}), None),
        (json!("yes please"), None),
        (json!("y"), None),
        (json!("no"), None),
        (json!("\"{\\\"approved\\\":true}\""), None),
    ] {
        assert_eq!(
            allowed(&says(payload.clone()), &request).as_deref(),
            option,
            "{payload}"
        );
    }
    for (said, option) in [
        (Said::Payload(None), None),
        (Said::GivenUp, None),
        (result_of("{\"approved\":true}", None), Some("p-once")),
        (result_of("{\"approved\":true}", Some("it broke")), None),
        (result_of("", None), None),
    ] {
        assert_eq!(allowed(&said, &request).as_deref(), option, "{said:?}");
    }
}

#[test]
fn a_plain_yes_is_for_this_time_and_none_of_several_that_hold_for_ever() {
    let yes = says(json!({"approved": true}));
    for (options, option) in [
        (&[("a", OptionKind::AllowAlways)][..], Some("a")),
        (
            &[
                ("a", OptionKind::AllowAlways),
                ("b", OptionKind::AllowAlways),
            ],
            None,
        ),
        (
            &[("a", OptionKind::AllowAlways), ("b", OptionKind::AllowOnce)],
            Some("b"),
        ),
        (&[("no", OptionKind::RejectOnce)], None),
        (&[], None),
    ] {
        assert_eq!(allowed(&yes, &request(options)).as_deref(), option);
    }
}

#[test]
fn an_agent_cannot_make_a_no_a_yes_by_the_names_of_its_options() {
    let request = request(&[
        ("no", OptionKind::AllowOnce),
        ("yes", OptionKind::RejectOnce),
    ]);
    assert_eq!(allowed(&says(json!("no")), &request), None);
    assert_eq!(allowed(&says(json!("NO")), &request), None);
    let named = self::request(&[
        ("true", OptionKind::RejectOnce),
        ("x", OptionKind::AllowOnce),
    ]);
    assert_eq!(allowed(&says(json!("true")), &named), None);
    assert_eq!(allowed(&says(json!(true)), &named).as_deref(), Some("x"));
    assert_eq!(
        allowed(&says(json!("yes")), &request),
        None,
        "it is an option that rejects"
    );
    assert_eq!(
        allowed(&says(json!({"optionId": "no"})), &request).as_deref(),
        Some("no")
    );
}

#[test]
fn a_denial_is_the_agents_own_option_where_it_has_one() {
    let said = Denial::Said;
    for (payload, wanted) in [
        (json!({"optionId": "r-once"}), Some("r-once")),
        (json!(false), Some("r-once")),
    ] {
        let denied = permission(&says(payload), &request(&USUAL));
        assert_eq!(denied, Permission::Denied(wanted.map(Into::into), said));
    }
    let given_up = permission(&Said::GivenUp, &request(&[]));
    let why = Denial::Unanswered(Unanswered::GivenUp);
    assert_eq!(given_up, Permission::Denied(None, why));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,8}|true|approved|p-once|\\{\"approved\":true\\}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let name = "approved|allow|optionId|outcome|[a-z]{1,4}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    /// Whatever else an answer holds: without a yes or an option that allows, nothing is allowed.
    #[test]
    fn nothing_is_allowed_without_a_yes_or_an_option(answer in any_json()) {
        let text = answer.to_string();
        let has_yes = ["true", "yes", "approve", "allow", "accept", "p-once", "p-always"];
        let request = request(&USUAL);
        if let Some(option) = allowed(&says(answer), &request) {
            prop_assert!(has_yes.iter().any(|yes| text.contains(yes)));
            let known = request.options.iter().find(|it| *it.id == option).unwrap();
            prop_assert!(known.kind.allows());
        }
    }
}

#[test]
fn a_result_is_what_the_page_says_and_an_error_of_it_is_a_failure() {
    let answered = |text: &str, failed| ToolAnswer::Answered {
        content: Content::Text(text.into()),
        failed,
    };
    let given_up = ToolAnswer::Unanswered(Unanswered::GivenUp);
    for (said, wanted) in [
        (result_of("drawn", None), answered("drawn", false)),
        (result_of("", None), answered("", false)),
        (result_of("Error: x", Some("x")), answered("Error: x", true)),
        (result_of("", Some("x")), answered("x", true)),
        (says(json!({"a": 1})), answered("{\"a\":1}", false)),
        (says(json!("a")), answered("a", false)),
        (Said::GivenUp, given_up.clone()),
        (Said::Payload(None), given_up),
    ] {
        assert_eq!(result(&said), wanted, "{said:?}");
    }
}

/// Requirement 100, report R42.
#[test]
fn r100_a_reply_that_says_nothing_is_none() {
    for (said, wanted) in [
        (says(json!({"answers": []})), Some(json!({"answers": []}))),
        (
            says(json!("{\"answers\":[1]}")),
            Some(json!({"answers": [1]})),
        ),
        (says(json!("blue")), Some(json!("blue"))),
        (says(json!("5")), Some(json!("5"))),
        (says(json!(0)), Some(json!(0))),
        (says(json!(false)), Some(json!(false))),
        (result_of("{\"a\":1}", None), Some(json!({"a": 1}))),
        (result_of("blue", Some("it broke")), None),
        (says(json!("")), None),
        (says(json!("null")), None),
        (says(json!([])), None),
        (says(json!({})), None),
        (says(json!({"cancelled": true, "answers": [1]})), None),
        (Said::GivenUp, None),
    ] {
        let unanswered = Reply::Unanswered(Unanswered::GivenUp);
        assert_eq!(
            reply(&said, &Form::Choices(JsonObject::new())),
            wanted.map_or(unanswered, Reply::Answered),
            "{said:?}"
        );
    }
}
