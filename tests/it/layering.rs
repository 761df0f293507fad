//! The shape of the project: which floor knows which, how long files are, and what must not be in them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each floor and the floors that it may know. Those at the top only assemble.
const FLOORS: [(&str, &[&str]); 15] = [
    ("protocol", &[]),
    ("env", &[]),
    ("json", &["protocol"]),
    ("state", &["protocol"]),
    ("store", &["env", "protocol"]),
    ("deps", &["protocol", "state"]),
    ("cores", &["deps", "env", "json", "protocol"]),
    ("engine", &["deps", "env", "protocol", "state", "store"]),
    ("http", &["deps", "engine", "env", "protocol", "store"]),
    ("conformance", &["deps", "engine", "protocol"]),
    ("telemetry", &[]),
    ("fence", &["cores", "http"]),
    ("lifecycle", &["engine", "http"]),
    (
        "config",
        &["cores", "deps", "engine", "http", "store", "telemetry"],
    ),
    (
        "cli",
        &[
            "config",
            "cores",
            "deps",
            "engine",
            "env",
            "fence",
            "http",
            "lifecycle",
            "protocol",
            "store",
            "telemetry",
        ],
    ),
];

/// What of the protocol is for those who make events.
const FOR_WRITERS: [&str; 7] = [
    "Body",
    "Event",
    "Outcome",
    "downgrade",
    "event",
    "grammar",
    "sse",
];

const LONGEST: usize = 600;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder whose names end so.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                let is_ours = !name.starts_with('.') && name != "node_modules" && name != "target";
                folders.extend(is_ours.then_some(path));
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found
}

/// The file's path as this project writes it.
fn name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

/// The code of a file: no comments, and no tests, which may know more.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
        || path.file_name().is_some_and(|name| name == "tests.rs")
}

/// What stands behind each `prefix::`: a name, or the names of a group, each with all of its path.
fn paths(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let prefix = format!("{prefix}::");
    for (at, _) in code.match_indices(&prefix) {
        let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
        if is_whole {
            expand(&code[at + prefix.len()..], "", &mut found);
        }
    }
    found
}

/// Reads one path or group and gives back what follows it.
fn expand<'a>(text: &'a str, before: &str, found: &mut BTreeSet<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches([',', ' ', '\n']);
            if let Some(rest) = rest.strip_prefix('}') {
                return rest;
            }
            let after = expand(rest, before, found);
            if after.len() == rest.len() {
                return rest;
            }
            rest = after;
        }
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*')
        .unwrap_or(text.len());
    let path = format!("{before}{}", &text[..end]);
    if let Some(rest) = text[end..].strip_prefix("::") {
        return expand(rest, &format!("{path}::"), found);
    }
    found.insert(path);
    &text[end..]
}

#[test]
fn paths_are_read_out_of_groups() {
    let code =
        "use crate::{a::{B, c::D}, e};\nuse crate::f::G;\nlet x = crate::h::i(); my_crate::z";
    let found: Vec<_> = paths(code, "crate").into_iter().collect();
    assert_eq!(found, ["a::B", "a::c::D", "e", "f::G", "h::i"]);
}

#[test]
fn r02_arrows_point_down_only() {
    let mut seen = BTreeSet::new();
    for path in files("src", ".rs").iter().filter(|path| !is_test(path)) {
        let name = name(path);
        let inside = name.strip_prefix("src/").unwrap();
        let floor = inside.split(['/', '.']).next().unwrap();
        if matches!(floor, "main" | "lib") {
            continue;
        }
        let (_, below) = FLOORS
            .iter()
            .find(|(known, _)| *known == floor)
            .unwrap_or_else(|| panic!("{name} stands on no floor that is known"));
        for used in paths(&code(path), "crate") {
            let other = used.split("::").next().unwrap();
            let is_allowed = other == floor || below.contains(&other);
            assert!(is_allowed, "{name} uses crate::{used}");
            seen.insert(format!("{floor} -> {other}"));
        }
    }
    assert!(seen.contains("http -> engine"), "the test reads imports");
}

#[test]
fn no_core_makes_an_event_of_the_protocol() {
    for path in files("src/cores", ".rs")
        .iter()
        .filter(|path| !is_test(path))
    {
        for used in paths(&code(path), "crate::protocol") {
            let first = used.split("::").next().unwrap();
            assert!(!FOR_WRITERS.contains(&first), "{} uses {used}", name(path));
        }
    }
}

#[test]
fn statuses_are_known_to_one_file_only() {
    let mut knowing = BTreeSet::new();
    for path in files("src", ".rs").iter().filter(|path| !is_test(path)) {
        if code(path).contains("StatusCode") {
            knowing.insert(name(path));
        }
    }
    let problem = String::from("src/http/problem.rs");
    assert_eq!(knowing, BTreeSet::from([problem]));
}

#[test]
fn no_source_file_is_longer_than_a_reader_can_hold() {
    for folder in ["src", "tests", "examples"] {
        for path in files(folder, ".rs") {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= LONGEST, "{} has {lines} lines", name(&path));
        }
    }
}

#[test]
fn nothing_names_this_machine_or_a_registry() {
    // Put together here, so that this file does not hold what it looks for. A checkout directly below the
    // root has too common a path to be looked for.
    let mut foreign = vec![
        ["/ro", "ot/"].concat(),
        ["registry.", "npmjs"].concat(),
        ["crates", ".io/"].concat(),
        ["index.", "crates"].concat(),
    ];
    if root().components().count() > 2 {
        foreign.push(root().display().to_string());
    }
    for ending in [
        ".rs", ".toml", ".md", ".mjs", ".js", ".json", ".sh", "Makefile",
    ] {
        let all = files("", ending);
        for path in all {
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            for word in &foreign {
                assert!(
                    !text.contains(word.as_str()),
                    "{} holds {word}",
                    name(&path)
                );
            }
        }
    }
}
