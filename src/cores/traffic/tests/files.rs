use serde_json::{Value, json};

use super::told;
use crate::deps::{CoreEvent, File, FileAction};

const PATCH: &str = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+*** Add File: no.rs\n*** Add File: /work/b.rs\n\
                     +new\n*** Delete File: ./c.rs\n*** Update File: d.rs\n*** Move to: e.rs \n*** Add File: \n*** End Patch";

fn files(tool: &str, input: &Value, metadata: &Value) -> Vec<(String, FileAction)> {
    let of = |file: &File| (file.path().to_owned(), file.action());
    match told(tool, input, "done", metadata).as_slice() {
        [] => Vec::new(),
        [CoreEvent::Files(files)] => files.iter().map(of).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn r79_each_tool_for_files_touches_its_file() {
    let tools = [
        (
            FileAction::Read,
            &["view", "read", "Read", "image_crop"][..],
        ),
        (
            FileAction::Write,
            &["write", "Write", "create_file", "write_file"][..],
        ),
        (
            FileAction::Edit,
            &[
                "edit",
                "multiedit",
                "MultiEdit",
                "str_replace_editor",
                "apply_edit",
            ][..],
        ),
    ];
    for (action, names) in tools {
        for tool in names {
            for input in [
                json!({"file_path": "/work/src/./a.rs"}),
                json!({"filePath": "src/a.rs"}),
            ] {
                let touched = files(tool, &input, &Value::Null);
                assert_eq!(touched, [("src/a.rs".to_owned(), action)], "{tool}");
            }
        }
    }
}

#[test]
fn r79_other_tools_and_calls_without_a_path_touch_nothing() {
    let input = json!({"file_path": "a", "command": "cat a", "pattern": "a"});
    for tool in [
        "bash", "glob", "grep", "ls", "fetch", "agent", "review", "mcp_view", "",
    ] {
        assert_eq!(files(tool, &input, &Value::Null), [], "{tool}");
    }
    for input in [
        json!({}),
        json!({"file_path": " "}),
        json!({"file_path": 7}),
        json!(null),
    ] {
        assert_eq!(files("view", &input, &Value::Null), [], "{input}");
    }
}

#[test]
fn r79_a_patch_touches_what_the_tool_says_it_has_changed() {
    let metadata =
        json!({"files_changed": ["/work/x.rs", "", 7, "y.rs"], "additions": 2, "removals": 1});
    let expected = ["x.rs", "y.rs"].map(|path| (path.to_owned(), FileAction::Patch));
    for metadata in [json!(metadata.to_string()), metadata] {
        let touched = files("patch", &json!({"patch_text": PATCH}), &metadata);
        assert_eq!(touched, expected);
    }
}

#[test]
fn r79_of_a_patch_that_says_nothing_the_headers_do() {
    let expected = ["src/a.rs", "b.rs", "c.rs", "d.rs", "e.rs"];
    let expected = expected.map(|path| (path.to_owned(), FileAction::Patch));
    let nothing = [
        json!(null),
        json!("prose"),
        json!({}),
        json!({"files_changed": []}),
    ];
    for metadata in nothing {
        let touched = files("patch", &json!({"patch_text": PATCH}), &metadata);
        assert_eq!(touched, expected, "{metadata}");
    }
    assert_eq!(files("patch", &json!({}), &Value::Null), []);
}
