use tokio::sync::oneshot;

use super::*;
use crate::{
    deps::{OptionKind, PermissionOption, ToolCall},
    engine::{Matcher, Rule},
    protocol::JsonObject,
};

fn request(kind: &str) -> Box<PermissionRequest> {
    Box::new(PermissionRequest {
        call: None,
        tool: "write".into(),
        action: kind.into(),
        title: String::new(),
        paths: vec!["/project/src/a".into()],
        params: None,
        options: vec![PermissionOption {
            id: "once".into(),
            name: String::new(),
            kind: OptionKind::AllowOnce,
        }],
        details: JsonObject::new(),
    })
}

fn rule(decision: Decision, kind: &str) -> Rule {
    Rule {
        decision,
        tool: None,
        kind: Some(kind.into()),
        path: Some(Matcher::new("src/**").unwrap()),
    }
}

/// What is decided at once of a request for permission; `None` if people are asked.
fn decided(policy: &Policy, kind: &str, is_attended: bool) -> Option<bool> {
    let when = Circumstances {
        policy,
        tools: &[],
        workdir: Some(Path::new("/project")),
        is_attended,
    };
    let (answer, mut answered) = oneshot::channel();
    let mut gate = Gate::default();
    let refused = gate.admit(
        Ask::Permission(request(kind), answer),
        Instant::now(),
        &when,
    );
    let permission = answered.try_recv().ok();
    let allowed = permission.map(|it| matches!(it, Permission::Allowed(_)));
    assert_eq!(refused.is_some(), allowed == Some(false));
    assert_eq!(gate.is_open(), allowed.is_none());
    allowed
}

#[tokio::test]
async fn rules_come_first_then_what_holds_for_all_then_people() {
    let rules = vec![
        rule(Decision::Deny, "delete"),
        rule(Decision::Allow, "edit"),
        rule(Decision::Ask, "execute"),
    ];
    for (approval, kind, is_attended, wanted) in [
        (Approval::Asked, "delete", true, Some(false)),
        (Approval::Asked, "edit", true, Some(true)),
        (Approval::Asked, "edit", false, Some(true)),
        (Approval::Asked, "execute", true, None),
        (Approval::Asked, "fetch", true, None),
        (Approval::Asked, "fetch", false, Some(false)),
        (Approval::Granted, "delete", true, Some(false)),
        (Approval::Granted, "fetch", true, Some(true)),
        (Approval::Granted, "fetch", false, Some(true)),
        (Approval::Granted, "execute", true, None),
        (Approval::Granted, "execute", false, Some(false)),
        (Approval::Denied, "edit", true, Some(true)),
        (Approval::Denied, "execute", true, Some(false)),
        (Approval::Denied, "fetch", true, Some(false)),
    ] {
        let mut policy = Policy::default();
        policy.prompts.permissions.clone_from(&rules);
        policy.prompts.approval = approval;
        let found = decided(&policy, kind, is_attended);
        assert_eq!(found, wanted, "{approval:?} {kind} {is_attended}");
    }
}

#[tokio::test]
async fn of_more_than_may_be_open_nobody_is_asked() {
    let policy = Policy::default();
    let when = Circumstances {
        policy: &policy,
        tools: &[],
        workdir: None,
        is_attended: true,
    };
    let mut gate = Gate::default();
    let mut asked = Vec::new();
    for _ in 0..MOST {
        let (answer, answered) = oneshot::channel();
        assert_eq!(
            gate.admit(Ask::Permission(request("x"), answer), Instant::now(), &when),
            None
        );
        asked.push(answered);
    }
    let (answer, mut answered) = oneshot::channel();
    let refused = gate.admit(Ask::Permission(request("x"), answer), Instant::now(), &when);
    assert!(refused.is_some());
    assert!(matches!(answered.try_recv(), Ok(Permission::Denied(..))));
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_once_it_is_quiet_and_at_the_latest_after_a_while() {
    let policy = Policy::default();
    let tool = Tool {
        name: "chart".into(),
        description: String::new(),
        parameters: None,
        metadata: None,
    };
    let when = Circumstances {
        policy: &policy,
        tools: std::slice::from_ref(&tool),
        workdir: None,
        is_attended: true,
    };
    let call = ToolCall {
        call: "c".into(),
        name: "chart".into(),
        arguments: "{}".into(),
    };
    let began = Instant::now();
    let mut gate = Gate::default();
    assert_eq!(gate.due(false), None);
    let (answer, _answered) = oneshot::channel();
    gate.admit(Ask::Tool(call, answer), began, &when);
    assert_eq!(gate.due(false), Some(began + QUIET));
    assert_eq!(gate.due(true), Some(began + HOLD), "other calls run");
    gate.heard(began + QUIET / 2);
    assert_eq!(gate.due(false), Some(began + QUIET / 2 + QUIET));
    gate.heard(began + HOLD);
    assert_eq!(gate.due(false), Some(began + HOLD));
    // A person does not wait for calls that run.
    let (answer, _answered) = oneshot::channel();
    let mut gate = Gate::default();
    gate.admit(Ask::Permission(request("x"), answer), began, &when);
    assert_eq!(gate.due(true), Some(began + QUIET));
}
