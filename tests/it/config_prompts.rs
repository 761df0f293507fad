//! What becomes of it when an agent wants something of the page or of a person, as it is configured.

use std::time::Duration;

use agui_serve::{
    config::{Agent, Unasked},
    engine::{Approval, Decision, Matcher, Policy, Reason, Rule},
};

use crate::config_layers::Maker;

/// The first agent of a configuration, `a` where there are two.
fn agent(maker: Maker) -> Agent {
    maker.load().unwrap().agents.remove(0)
}

/// A demo called `a` that has these lines, below these common ones.
fn file(common: &str, own: &str) -> Maker {
    Maker::new().file(&format!(
        "[defaults]\n{common}\n[agents.a]\ncore = \"demo\"\n{own}"
    ))
}

fn rule(decision: Decision, tool: Option<&str>, kind: Option<&str>, path: Option<&str>) -> Rule {
    let matcher = |pattern: &str| Matcher::new(pattern).unwrap();
    Rule {
        decision,
        tool: tool.map(matcher),
        kind: kind.map(str::to_owned),
        path: path.map(matcher),
    }
}

#[test]
fn nothing_is_granted_and_people_are_asked_unless_it_is_said() {
    assert_eq!(agent(Maker::new()).policy, Policy::default());
    assert_eq!(agent(file("", "")).policy, Policy::default());
    for (common, own, approval, questions) in [
        ("", "", Approval::Asked, true),
        ("human_in_the_loop = false", "", Approval::Denied, false),
        ("auto_approve = true", "", Approval::Granted, true),
        (
            "auto_approve = true\nhuman_in_the_loop = false",
            "",
            Approval::Granted,
            false,
        ),
        (
            "auto_approve = true",
            "auto_approve = false",
            Approval::Asked,
            true,
        ),
        (
            "human_in_the_loop = false",
            "human_in_the_loop = true",
            Approval::Asked,
            true,
        ),
    ] {
        let prompts = agent(file(common, own)).policy.prompts;
        let found = (prompts.approval, prompts.questions);
        assert_eq!(found, (approval, questions), "{common} / {own}");
    }
    for (key, value, approval) in [
        ("AGUI_DEFAULTS__AUTO_APPROVE", "true", Approval::Granted),
        ("AGUI_AGENTS__A__AUTO_APPROVE", "true", Approval::Granted),
        (
            "AGUI_DEFAULTS__HUMAN_IN_THE_LOOP",
            "false",
            Approval::Denied,
        ),
    ] {
        let agent = agent(file("", "").env(key, value));
        assert_eq!(agent.policy.prompts.approval, approval, "{key}");
    }
}

#[test]
fn an_agents_own_word_wins_over_the_common_one() {
    let policy = agent(file(
        "frontend_tools = false\nclient_tool_timeout = \"1m\"\nprompt_timeout = \"2m\"\n\
         interrupt_reason = \"tool_call\"\ninterrupt_expires_at = true",
        "frontend_tools = true\nprompt_timeout = \"3m\"",
    ))
    .policy;
    assert!(policy.frontend_tools);
    assert_eq!(policy.client_tool_timeout, Duration::from_mins(1));
    assert_eq!(policy.prompts.timeout, Duration::from_mins(3));
    assert_eq!(policy.prompts.reason, Reason::ToolCall);
    assert!(policy.prompts.tell_expiry);
}

#[test]
fn an_agents_own_rules_stand_before_the_common_ones() {
    let common = "permissions = [{ decision = \"deny\", path = \"**/.env\" }]";
    let own = "[[agents.a.permissions]]\ndecision = \"allow\"\nkind = \"edit\"\npath = \"src/**\"\n\
               [[agents.a.permissions]]\ndecision = \"ask\"\ntool = \"git_*\"";
    let own_rules = [
        rule(Decision::Allow, None, Some("edit"), Some("src/**")),
        rule(Decision::Ask, Some("git_*"), None, None),
    ];
    let common_rule = rule(Decision::Deny, None, None, Some("**/.env"));
    let rules = |maker| agent(maker).policy.prompts.permissions;
    let all = [&own_rules[..], std::slice::from_ref(&common_rule)].concat();
    assert_eq!(rules(file(common, own)), all);
    assert_eq!(rules(file(common, "")), [common_rule]);
    // A list takes the place of the one in the layer below.
    let other = "[{decision = \"deny\", kind = \"fetch\"}]";
    let maker = file(common, own).env("AGUI_DEFAULTS__PERMISSIONS", other);
    let other = rule(Decision::Deny, None, Some("fetch"), None);
    assert_eq!(rules(maker), [&own_rules[..], &[other]].concat());
}

#[test]
fn a_rule_that_cannot_be_meant_is_refused_with_its_place() {
    let own = |rule: &str| {
        let first = "[[agents.a.permissions]]\ndecision = \"allow\"\ntool = \"x\"\n";
        file("", &format!("{first}[[agents.a.permissions]]\n{rule}"))
    };
    let key = |member: &str| format!("take `agents.a.permissions[1]{member}` from ");
    for (maker, start, end) in [
        (
            own("decision = \"allow\"\npath = \"[a\""),
            key(".path"),
            "etc/agui.toml, line 10: it is no pattern: unclosed character class; missing ']'",
        ),
        (
            own("decision = \"allow\"\ntool = \"\""),
            key(".tool"),
            "line 10: it is no pattern: it is empty",
        ),
        (
            own("decision = \"deny\"\nkind = \"write\""),
            key(".kind"),
            "line 10: \"write\" is none of read, edit, delete, move, search, execute, think, fetch, \
             switch_mode, other",
        ),
        (
            own("decision = \"alow\""),
            key(".decision"),
            "line 9: \"alow\" is none of allow, ask, deny",
        ),
        (
            own("decision = \"deny\"\npaths = \"x\""),
            key(".paths"),
            "line 10: there is no such key; did you mean `path`?",
        ),
        (own("tool = \"x\""), key(""), "missing field `decision`"),
        (
            own("decision = \"deny\"\npath = \"../secrets/**\""),
            key(".path"),
            "no path fits it: paths are compared without . and ..",
        ),
        (
            own("decision = \"deny\"\npath = \"secrets/\""),
            key(".path"),
            "no path fits it: paths are compared without / at their end; ** stands for all below",
        ),
        (
            own("decision = \"deny\"\npath = \"~/secrets\""),
            key(".path"),
            "no path fits it: ~ is not understood here; write the folder out",
        ),
        (
            Maker::new().env(
                "AGUI_DEFAULTS__PERMISSIONS",
                "[{decision=\"deny\", kind=\"run\"}]",
            ),
            "take `defaults.permissions[0].kind` from environment variable AGUI_DEFAULTS__PERMISSIONS: "
                .into(),
            "other",
        ),
        (
            file("interrupt_reason = \"confirmation\"", ""),
            "take `defaults.interrupt_reason` from ".into(),
            "line 2: \"confirmation\" is none of namespaced, tool_call",
        ),
        (
            file("prompt_timeout = \"forever\"", ""),
            "take `defaults.prompt_timeout` from ".into(),
            "\"forever\" is no duration of up to a century, such as \"30s\" or \"10m\"",
        ),
    ] {
        let message = maker.fail();
        assert!(message.starts_with(&start), "{message}");
        assert!(message.ends_with(end), "{message}");
    }
}

#[test]
fn whatever_leaves_people_out_altogether_is_known() {
    let allow = |rest: &str| format!("permissions = [{{ decision = \"allow\"{rest} }}]");
    for (common, own, unasked) in [
        (String::new(), "", vec![]),
        ("auto_approve = true".into(), "", vec![Unasked::AutoApprove]),
        ("human_in_the_loop = false".into(), "", vec![]),
        (allow(""), "", vec![Unasked::Rule]),
        (allow(", tool = \"*\""), "", vec![Unasked::Rule]),
        (
            allow(", tool = \"**\""),
            "auto_approve = true",
            vec![Unasked::AutoApprove, Unasked::Rule],
        ),
        (allow(", tool = \"read_*\""), "", vec![]),
        (allow(", kind = \"read\""), "", vec![]),
        (allow(", path = \"**\""), "", vec![]),
        ("permissions = [{ decision = \"deny\" }]".into(), "", vec![]),
    ] {
        assert_eq!(agent(file(&common, own)).unasked(), unasked, "{common}");
    }
}
