use serde_json::json;

use super::*;

fn ours() -> Ours {
    let mut ours = Ours::new();
    ours.set(&["paint".to_owned(), "AskUserQuestion".to_owned()]);
    ours
}

fn update(said: &Value) -> Value {
    let mut update = said.clone();
    if update["sessionUpdate"].is_null() {
        update["sessionUpdate"] = json!("tool_call");
    }
    json!({"sessionId": "s", "update": update})
}

fn called(arguments: Value, meta: Value) -> Called {
    Called::for_tests("paint", object(arguments), object(meta))
}

fn object(value: Value) -> JsonObject {
    serde_json::from_value(value).unwrap()
}

/// As six agents tell of it.
fn shapes() -> Vec<Value> {
    vec![
        json!({"toolCallId": "1", "title": "agui_paint", "kind": "other", "rawInput": {}}),
        json!({"toolCallId": "1", "title": "Paint", "name": "mcp__agui__paint",
            "_meta": {"claudeCode": {"toolName": "mcp__agui__paint"}}}),
        json!({"toolCallId": "1", "title": "paint (agui)", "_meta": {"toolName": "mcp__agui__paint"}}),
        json!({"toolCallId": "mcp_agui_paint__mcp_agui_paint_1796049402801_0", "title": "paint"}),
        json!({"toolCallId": "1", "title": "agui-paint"}),
        json!({"toolCallId": "1", "title": "mcp.agui.paint", "_meta": {"is_mcp_tool_call": true},
            "rawInput": {"server": "agui", "tool": "paint", "arguments": {}}}),
    ]
}

#[test]
fn a_call_of_ours_is_kept_back_however_the_agent_names_it() {
    for said in shapes() {
        assert_eq!(ours().hear(update(&said)), None, "{said}");
    }
}

/// Nothing but the exact names: not a longer one, not another server's, not one within a sentence or a command.
fn others() -> Vec<Value> {
    vec![
        json!({"toolCallId": "1", "title": "agui_paint_evil"}),
        json!({"toolCallId": "1", "title": "agui2_paint"}),
        json!({"toolCallId": "1", "title": "agui_open"}),
        json!({"toolCallId": "1", "title": "paint"}),
        json!({"toolCallId": "1", "title": "run agui_paint"}),
        json!({"toolCallId": "1", "title": " agui_paint"}),
        json!({"toolCallId": "1", "title": "agui_paint", "kind": "execute"}),
        json!({"toolCallId": "1", "title": "agui_paint", "rawInput": {"command": "agui_paint"}}),
        json!({"toolCallId": "1", "title": "agui_paint", "name": "bash"}),
        json!({"toolCallId": "1", "title": "agui_paint", "_meta": {"toolName": "run_shell_command"}}),
        json!({"toolCallId": "1", "name": "mcp__agui2__paint"}),
        json!({"toolCallId": "bash__agui_paint", "title": "Run"}),
        json!({"toolCallId": "1", "title": "mcp.agui.paint", "_meta": {"is_mcp_tool_call": true},
            "rawInput": {"server": "agui2", "tool": "paint"}}),
        json!({"toolCallId": "1", "_meta": {"is_mcp_tool_approval": true},
            "rawInput": {"server": "agui", "tool": "paint_evil"}}),
    ]
}

#[test]
fn a_call_that_only_looks_like_one_of_ours_is_any_other() {
    for said in others() {
        let params = update(&said);
        assert_eq!(ours().hear(params.clone()), Some(params), "{said}");
    }
}

fn request(said: &Value) -> Value {
    json!({"sessionId": "s", "toolCall": said, "options": [
        {"optionId": "always", "name": "Always", "kind": "allow_always"},
        {"optionId": "once", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]})
}

#[test]
fn the_agents_own_prompt_for_our_tools_is_allowed_and_no_other() {
    for said in shapes() {
        let allowed = ours().allowed(&request(&said));
        assert_eq!(allowed.as_deref(), Some("once"), "{said}");
    }
    for said in others() {
        assert_eq!(ours().allowed(&request(&said)), None, "{said}");
    }
    // Codex asks without a name for a call that it has told of.
    let mut ours = ours();
    for said in shapes() {
        ours.hear(update(&said));
    }
    let asked =
        json!({"toolCallId": "1", "_meta": {"is_mcp_tool_approval": true}, "kind": "execute"});
    assert_eq!(ours.allowed(&request(&asked)).as_deref(), Some("once"));
    // Not for one that it gives another name by now, nor for one that nothing was told of.
    let renamed = json!({"toolCallId": "1", "name": "bash"});
    assert_eq!(ours.allowed(&request(&renamed)), None);
    assert_eq!(ours.allowed(&request(&json!({"toolCallId": "2"}))), None);
    // Nor for what describes something else.
    for other in [
        json!({"kind": "execute"}),
        json!({"rawInput": {"command": "rm -rf ."}}),
    ] {
        let mut said = other;
        said["toolCallId"] = json!("1");
        assert_eq!(ours.allowed(&request(&said)), None, "{said}");
    }
}

#[test]
fn an_option_is_taken_only_if_it_is_the_one_that_allows_once() {
    let said = &shapes()[0];
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": "x", "kind": kind});
    for options in [
        json!([option("a", "allow_always"), option("r", "reject_once")]),
        json!([option("a", "allow_once"), option("b", "allow_once")]),
        json!([option("", "allow_once")]),
        json!([]),
        json!(null),
    ] {
        let mut request = request(said);
        request["options"] = options;
        assert_eq!(ours().allowed(&request), None, "{request}");
    }
}

#[test]
fn a_call_is_one_call_whichever_way_it_is_seen_first() {
    let first =
        |input: Value| json!({"toolCallId": "c1", "title": "agui_paint", "rawInput": input});
    // Told of, then called.
    let mut told = ours();
    told.hear(update(&first(json!({}))));
    let mut filled = first(json!({"n": 2}));
    filled["sessionUpdate"] = json!("tool_call_update");
    filled["title"] = json!("whatever");
    assert_eq!(told.hear(update(&filled)), None, "it is known by its id");
    assert_eq!(told.come(&called(json!({"n": 1}), json!({}))), None);
    let second = called(json!({"n": 2}), json!({}));
    assert_eq!(told.come(&second).as_deref(), Some("c1"));
    // Called, then told of.
    let mut untold = ours();
    assert_eq!(&*untold.come_untold(&second), "agui-1");
    assert_eq!(untold.hear(update(&first(json!({"n": 2})))), None);
    assert_eq!(untold.come(&second), None);
    assert_eq!(&*untold.come_untold(&second), "agui-2");
    // Where the agent says which one it is, that is it.
    for name in ["claudecode/toolUseId", "callId"] {
        let exactly = called(json!({"n": 2}), json!({name: "c1"}));
        let mut told = ours();
        assert_eq!(told.come(&exactly), None);
        assert_eq!(&*told.come_untold(&exactly), "c1");
        let mut failed = first(json!({}));
        failed["status"] = json!("failed");
        told.hear(update(&failed));
        assert!(told.lost().is_empty(), "it has come");
        told.hear(update(&first(json!({}))));
        assert_eq!(told.come(&exactly).as_deref(), Some("c1"));
    }
}

#[test]
fn two_calls_with_the_same_arguments_are_told_apart_by_their_order() {
    let mut ours = ours();
    for id in ["c1", "c2"] {
        ours.hear(update(
            &json!({"toolCallId": id, "title": "agui_paint", "rawInput": {"n": 1}}),
        ));
    }
    for id in [Some("c1"), Some("c2"), None] {
        let call = called(json!({"n": 1}), json!({}));
        assert_eq!(ours.come(&call).as_deref(), id);
    }
}

#[test]
fn a_call_that_failed_before_it_came_is_told_in_the_end() {
    let mut ours = ours();
    for id in ["c1", "c2", "c3"] {
        let said = json!({"toolCallId": id, "title": "agui_paint", "rawInput": {"n": id}});
        ours.hear(update(&said));
    }
    ours.come(&called(json!({"n": "c1"}), json!({})));
    for (id, status) in [("c1", "failed"), ("c2", "failed"), ("c3", "completed")] {
        let said = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status});
        ours.hear(update(&said));
    }
    let lost = ours.lost();
    let ids: Vec<_> = lost.iter().map(|it| &it["update"]["toolCallId"]).collect();
    assert_eq!(ids, ["c2", "c2"]);
    assert_eq!(lost[1]["update"]["status"], "failed");
    assert!(ours.lost().is_empty());
}
