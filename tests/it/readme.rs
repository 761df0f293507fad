//! The README lists what a client can meet.

use std::{collections::BTreeSet, fs, path::Path};

use agui_serve::deps::Code;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The code of a file, without its tests.
fn code(path: &str) -> String {
    let text = read(path);
    text.split("#[cfg(test)]").next().unwrap().to_owned()
}

#[test]
fn every_code_of_a_failed_run_is_listed_and_no_other() {
    let readme = read("README.md");
    let (_, list) = readme
        .split_once("`RUN_ERROR`, with one of these codes:")
        .unwrap();
    let list = list
        .trim_start()
        .lines()
        .take_while(|line| line.starts_with('|'));
    let listed: BTreeSet<&str> = list.filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(listed, Code::ALL.iter().map(|code| code.as_str()).collect());
}

#[test]
fn every_exit_code_is_listed() {
    let readme = read("README.md");
    let exit = code("src/cli/exit.rs");
    let numbers = exit.split(": u8 = ").skip(1);
    let numbers: Vec<&str> = numbers
        .map(|rest| rest.split(';').next().unwrap())
        .collect();
    assert!(numbers.contains(&"69"), "{numbers:?}");
    for number in numbers.into_iter().chain(["0", "2"]) {
        assert!(readme.contains(&format!("| {number} | ")), "{number}");
    }
}

#[test]
fn the_agent_of_ones_own_is_the_one_of_the_example() {
    let readme = read("README.md");
    let (_, rest) = readme.split_once("```rust\n").unwrap();
    let (shown, _) = rest.split_once("```\n").unwrap();
    let example = read("examples/embed.rs");
    let (_, whole) = example.split_at(example.find("struct ").unwrap());
    assert_eq!(shown, whole);
}
