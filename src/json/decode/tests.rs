use std::thread;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const EXPECTED: &[(&str, Kind)] = &[("task_id", Kind::Text), ("tasks", Kind::Array)];

fn decoded(text: &str) -> Option<Value> {
    decode_tool_result(text, EXPECTED).map(Value::Object)
}

#[test]
fn r91_json_toon_and_toml_of_one_object_are_the_same() {
    let object = json!({"task_id": "task-1", "tasks": [{"id": "a", "done": true}, {"id": "b", "done": false}],
                        "note": "line\nof: \"text\""});
    let toon = "task_id: task-1\ntasks[2]{id,done}:\n  a,true\n  b,false\nnote: \"line\\nof: \\\"text\\\"\"";
    let toml = "task_id = 'task-1'\nnote = \"line\\nof: \\\"text\\\"\"\n[[tasks]]\nid = 'a'\ndone = true\n[[tasks]]\nid = 'b'\ndone = false";
    for text in [&*object.to_string(), &format!("{object:#}\n"), toon, toml] {
        assert_eq!(decoded(text).as_ref(), Some(&object), "{text}");
    }
}

#[test]
fn r91_what_older_encoders_write_is_read() {
    let older = "dependencies[0]:\ntask_id: task-1\nlist[2]:\n  - created_at: \"2026-06-01T10:00:00Z\"\n    id: a\n  - id: b";
    let object = json!({"dependencies": [], "task_id": "task-1",
                        "list": [{"created_at": "2026-06-01T10:00:00Z", "id": "a"}, {"id": "b"}]});
    assert_eq!(decoded(older), Some(object));
    let dated = "task_id = 'task-1'\nat = 2026-06-01T10:00:00Z\ncount = 2.0\nnever = nan";
    let object =
        json!({"task_id": "task-1", "at": "2026-06-01T10:00:00Z", "count": 2.0, "never": null});
    assert_eq!(decoded(dated), Some(object));
}

#[test]
fn r92_prose_errors_previews_and_empty_texts_decode_to_nothing() {
    let task = r#"{"task_id": "task-1"}"#;
    assert!(decoded(task).is_some());
    let preview = format!(
        "[Response cached: 1 lines, 21 bytes → cache_id: \"c1\" | tool: x]\n\n     1|{task}"
    );
    let toml_preview = "[Response cached: 400]\ntask_id = 'task-1'";
    let texts = [
        "",
        " \n\t ",
        "Error: something: bad",
        "task_id is required",
        "Done. The file was written.",
        "Permission denied",
        "Await registered for 2 task(s): a, b",
        "one: two\nthree: four",
        "# Results\n\n- one: 1\n- two: 2",
        "null",
        "17",
        "\"task_id\"",
        "[]",
        "[{\"task_id\": \"task-1\"}]",
        "{}",
        &preview,
        toml_preview,
        // Cut.
        "{\"task_id\": \"task-1\"",
        "tasks[3]{id,status}:\n  a,running",
        "task_id = 'task",
        // Not alone.
        "{\"task_id\": \"task-1\"}\nand more",
        "```json\n{\"task_id\": \"task-1\"}\n```",
    ];
    for text in texts {
        assert_eq!(decoded(text), None, "{text}");
    }
}

#[test]
fn r92_a_member_of_another_kind_is_not_the_expected_one() {
    for text in [
        "{\"task_id\": null}",
        "{\"task_id\": 7, \"tasks\": {}}",
        "{\"note\": {\"task_id\": \"task-1\"}}",
        "task_id: 7",
        "task_id = 7",
        "tasks: none",
    ] {
        assert_eq!(decoded(text), None, "{text}");
    }
    let kinds = [
        ("yes", Kind::Bool),
        ("text", Kind::Text),
        ("list", Kind::Array),
        ("object", Kind::Object),
    ];
    let object = json!({"yes": false, "text": "", "list": [], "object": {}}).to_string();
    for (name, kind) in kinds {
        for (_, other) in kinds {
            let found = decode_tool_result(&object, &[(name, other)]);
            assert_eq!(found.is_some(), other == kind, "{name} {other:?}");
        }
    }
    assert_eq!(decode_tool_result(&object, &[]), None);
}

#[test]
fn numbers_keep_their_digits() {
    let text = r#"{"task_id": "t", "large": 12345678901234567890123, "price": 1.10}"#;
    let object = decoded(text).unwrap();
    assert_eq!(object["large"].to_string(), "12345678901234567890123");
    assert_eq!(object["price"].to_string(), "1.10");
}

#[test]
fn what_is_too_long_or_too_deep_decodes_to_nothing() {
    let json = |length: usize| format!("{{\"task_id\": \"{}\"}}", "x".repeat(length));
    assert!(decoded(&json(LONGEST - 15)).is_some());
    assert!(decoded(&json(LONGEST)).is_none());
    let toon = |length: usize| format!("task_id: {}", "x".repeat(length));
    assert!(decoded(&toon(LONGEST_FOR_MODELS - 9)).is_some());
    assert!(decoded(&toon(LONGEST_FOR_MODELS)).is_none());

    let nested = |depth: usize| {
        let lists = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!("{{\"task_id\": \"t\", \"deep\": {}{}}}", lists.0, lists.1)
    };
    assert!(decoded(&nested(DEEPEST)).is_some());
    assert!(decoded(&nested(DEEPEST + 1)).is_none());
}

/// Texts that a reader could choke on, each of about so many bytes. All hold an expected key, so that nothing but the
/// bounds keeps them out.
fn hostile(size: usize) -> Vec<String> {
    let deeper = |line: &str| -> String {
        let lines = (0..).map(|depth| format!("{}{line}\n", "  ".repeat(depth)));
        let mut text = String::from("task_id: t\n");
        for line in lines {
            if text.len() + line.len() > size {
                break;
            }
            text.push_str(&line);
        }
        text
    };
    let repeated = |before: &str, part: &str, after: &str| {
        format!("{before}{}{after}", part.repeat(size / part.len()))
    };
    let (open, close) = (size / 4, size / 4);
    vec![
        repeated("{\"task_id\": \"t\", \"a\": ", "[", ""),
        repeated("", "{\"task_id\":", ""),
        repeated("{\"task_id\": \"t\", \"a\": [", "0,", "0]}"),
        deeper("a:"),
        deeper("- [1]:"),
        deeper("- a:"),
        // One field with a long name and many rows: the object is the square of its text.
        format!(
            "task_id: t\na[{}]{{{}}}:\n{}",
            size / 8,
            "x".repeat(size / 2),
            "  0\n".repeat(size / 8)
        ),
        format!(
            "task_id: t\na[{}:]{{{}}}:\n{}",
            size / 16,
            "x".repeat(size / 2),
            (0..size / 16)
                .map(|key| format!("  {key}: 0\n"))
                .collect::<Vec<_>>()
                .concat()
        ),
        // Groups: each is looked through from its beginning.
        format!(
            "task_id: t\na[1]{}{}{}:\n  1",
            "{a".repeat(250),
            "x".repeat(size),
            "}".repeat(250)
        ),
        format!(
            "task_id: t\na[1]{}x{}:\n  1",
            "{a".repeat(open),
            "}".repeat(close)
        ),
        repeated("task_id: t\na[1]:\n  ", "- ", "x"),
        repeated("task_id: t\na", "[", ":"),
        repeated("task_id: t\n\"", "\\", ""),
        repeated("task_id: t", "\n", ""),
        repeated("task_id = 't'\na = ", "[", ""),
        repeated("task_id = 't'\n", "a.", "a = 1"),
        repeated("task_id = 't'\n[", "a.", "a]"),
        repeated("task_id = 't'\na = ", "{a=", ""),
        repeated("task_id = 't'\n", "[[a]]\n", ""),
        repeated("task_id = 't'\na = '''", "''", ""),
    ]
}

#[test]
fn r92_hostile_texts_are_read_on_the_stack_of_a_worker() {
    for size in [LONGEST_FOR_MODELS - 1024, LONGEST - 2048, 2 * LONGEST] {
        let reading = move || {
            for text in hostile(size) {
                // Whether it decodes or not: it comes back.
                if let Some(object) = decode_tool_result(&text, EXPECTED) {
                    assert!(is_within(&object, DEEPEST));
                }
            }
        };
        let thread = thread::Builder::new().stack_size(2 * 1024 * 1024);
        thread.spawn(reading).unwrap().join().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn r92_no_text_makes_the_readers_panic(text in "(task_id: t\n|task_id = 't'\n)?[a1:=,.|\\[\\]{}\"'#\\\\ \n\t\u{e9}-]{0,80}") {
        for text in [&*text, &format!("{{\"task_id\": \"t\", {text}}}")] {
            if let Some(object) = decode_tool_result(text, EXPECTED) {
                prop_assert!(object["task_id"].is_string());
            }
        }
    }
}
