//! Changes to files. Agents send whole files, so of a large one only what changed goes on.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::bounds::{NAME, NOTICE, clip, clip_json, digest, fit, size};
use crate::{
    cores::{acp::vendors, traffic::path_in},
    protocol::JsonObject,
};

/// How many changed files of one call are told apart.
const MOST: usize = 64;
/// How many lines around a change are shown of a large file.
const AROUND: usize = 3;

/// The changes that one call shows.
#[derive(Debug, Default)]
pub(super) struct Diffs {
    /// Those that were told.
    told: Vec<u64>,
    /// The files that it shows changes of, as seen from the working directory.
    edited: Vec<String>,
}

impl Diffs {
    /// What follows from an update, each with its file: the changes that it shows, as far as they are new; of a call
    /// that shows none, the patch that its vendor reports.
    pub(super) fn follow(&mut self, update: &Value, workdir: &str) -> Vec<(String, JsonObject)> {
        let shown = by_file(update, workdir);
        if update["content"].is_array() {
            let paths = shown.iter().map(|(path, _)| path.clone());
            self.edited = paths.take(MOST).collect();
        }
        let now: Vec<_> = if shown.is_empty() {
            let patch = vendors::patch(update).filter(|_| self.edited.is_empty());
            let Some((path, hunks)) = patch else {
                return Vec::new();
            };
            let path = seen(path, workdir);
            let patch = json!({"path": path, "patch": hunks});
            vec![(digest(&patch), path, fit(patch))]
        } else {
            let texts = |item: &Value| [item["oldText"].clone(), item["newText"].clone()];
            let told = |(path, items): (String, Vec<&Value>)| {
                let texts: Vec<_> = items.iter().map(|item| texts(item)).collect();
                let content = content(&path, &items);
                (digest(&(&path, texts)), path, content)
            };
            shown.into_iter().map(told).collect()
        };
        let told = now.iter().map(|(digest, ..)| *digest).take(MOST).collect();
        let before = std::mem::replace(&mut self.told, told);
        let news = now.into_iter();
        let news = news.filter(|(digest, ..)| !before.contains(digest));
        news.filter_map(|(_, path, content)| match content {
            Value::Object(content) => Some((path, content)),
            _ => None,
        })
        .collect()
    }

    /// The files that it shows changes of.
    pub(super) fn edited(&self) -> &[String] {
        &self.edited
    }

    /// Lets go of their names.
    pub(super) fn forget(&mut self) {
        self.edited = Vec::new();
    }
}

/// A path as people see it: from the working directory, if it is inside.
pub(super) fn seen(path: &str, workdir: &str) -> String {
    clip(&path_in(workdir, path), NAME).to_owned()
}

/// The changes that are shown in what is said of a call.
pub(super) fn diffs(said: &Value) -> impl Iterator<Item = &Value> {
    let content = said["content"].as_array().into_iter().flatten();
    content.filter(|item| item["type"] == "diff")
}

/// Whether a change makes a new file.
pub(super) fn is_new(diff: &Value) -> bool {
    diff["oldText"].as_str().is_none_or(str::is_empty)
}

/// The changes by file, in the order in which the files come.
fn by_file<'a>(update: &'a Value, workdir: &str) -> Vec<(String, Vec<&'a Value>)> {
    let mut files: Vec<(String, Vec<&Value>)> = Vec::new();
    let mut places = HashMap::new();
    for item in diffs(update) {
        let path = seen(item["path"].as_str().unwrap_or_default(), workdir);
        let place = *places.entry(path).or_insert_with_key(|path| {
            files.push((path.clone(), Vec::new()));
            files.len() - 1
        });
        files[place].1.push(item);
    }
    files
}

/// Changes of one file, items of a call's content, as `{path, oldText, newText}`. Agents may show each place of a file
/// that they change by itself; these follow one another in the texts. `oldText` is null for a new file. If both texts
/// are too long, they are the lines around the change, from line `line`, with `truncated`, `oldBytes` and `newBytes`;
/// what is too long even so is cut.
fn content(path: &str, items: &[&Value]) -> Value {
    let old = joined(items, "oldText");
    let new = joined(items, "newText").unwrap_or_default();
    let whole = json!({"path": path, "oldText": old, "newText": new});
    if size(&whole) <= NOTICE {
        return whole;
    }
    let (line, changed_old, changed_new) = changed(old.as_deref().unwrap_or_default(), &new);
    let most = NOTICE / 2 - 8 * NAME;
    json!({
        "path": path,
        "oldText": old.as_ref().map(|_| clip_json(changed_old, most)),
        "newText": clip_json(changed_new, most),
        "line": line,
        "truncated": true,
        "oldBytes": old.as_ref().map(String::len),
        "newBytes": new.len(),
    })
}

/// The texts of a member of each, one after the other, each on lines of its own.
fn joined(items: &[&Value], member: &str) -> Option<String> {
    let mut texts = items.iter().filter_map(|item| item[member].as_str());
    let mut all = texts.next()?.to_owned();
    for text in texts {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(text);
    }
    Some(all)
}

/// The lines that differ, with some around them, and the number of the first.
fn changed<'a>(old: &'a str, new: &'a str) -> (usize, &'a str, &'a str) {
    let lines = |text: &'a str| text.split_inclusive('\n').collect::<Vec<_>>();
    let (old_lines, new_lines) = (lines(old), lines(new));
    let same = |(a, b): &(&&str, &&str)| a == b;
    let before = old_lines.iter().zip(&new_lines).take_while(same).count();
    let after = (old_lines[before..].iter().rev())
        .zip(new_lines[before..].iter().rev())
        .take_while(same)
        .count();
    let first = before.saturating_sub(AROUND);
    let within = |text: &'a str, lines: &[&str]| {
        let end = (lines.len() - after + AROUND).min(lines.len());
        let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
        let start = length(&lines[..first]);
        &text[start..start + length(&lines[first..end])]
    };
    (first + 1, within(old, &old_lines), within(new, &new_lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_file_that_are_shown_one_by_one_are_one_change() {
        let item = |path: &str, old: &str, new: &str| json!({"type": "diff", "path": path, "oldText": old, "newText": new});
        let shown = json!({"content": [
            item("/w/a", "1", "one"), item("/w/b", "x\n", "y\n"), item("/w/a", "5\n", "five\n"), item("/w/a", "9", "nine"),
        ]});
        let mut diffs = Diffs::default();
        let told = diffs.follow(&shown, "/w");
        let wanted = [
            json!({"path": "a", "oldText": "1\n5\n9", "newText": "one\nfive\nnine"}),
            json!({"path": "b", "oldText": "x\n", "newText": "y\n"}),
        ];
        let contents: Vec<_> = told.iter().map(|(_, content)| json!(content)).collect();
        assert_eq!(contents, wanted);
        assert_eq!(diffs.edited(), ["a", "b"]);
        assert_eq!(diffs.follow(&shown, "/w"), []);
    }

    #[test]
    fn a_small_change_of_a_large_file_is_shown_by_its_lines() {
        let line = |n: usize| format!("line {n} {}\n", "x".repeat(60));
        let old: String = (1..=20_000).map(line).collect();
        let new = old.replacen("line 10000 ", "line ten thousand ", 1);
        let item = json!({"oldText": old, "newText": new});
        let shown = content("a", &[&item]);
        assert_eq!(shown["path"], "a");
        assert_eq!(shown["line"], 9997);
        assert_eq!(shown["truncated"], true);
        assert_eq!(shown["oldBytes"], old.len());
        assert_eq!(shown["newBytes"], new.len());
        let lines: String = (9997..=10_003).map(line).collect();
        assert_eq!(shown["oldText"], lines);
        assert_eq!(
            shown["newText"],
            lines.replace("line 10000 ", "line ten thousand ")
        );
    }

    #[test]
    fn a_change_that_is_large_itself_is_cut() {
        let new = "\u{1}\n".repeat(1024 * 1024);
        let item = json!({"oldText": null, "newText": new});
        let shown = content("a", &[&item]);
        assert!(size(&shown) <= NOTICE);
        assert!(shown["newText"].as_str().unwrap().len() > 1000);
        assert_eq!(shown["oldText"], Value::Null);
        assert_eq!(shown["newBytes"], new.len());
    }

    #[test]
    fn lines_that_differ_are_found_wherever_they_are() {
        for (old, new, wanted) in [
            ("", "a", (1, "", "a")),
            ("a\nb\n", "a\nb\nc", (1, "a\nb\n", "a\nb\nc")),
            (
                "1\n2\n3\n4\n5\n",
                "1\n2\n3\n4\nfive\n",
                (2, "2\n3\n4\n5\n", "2\n3\n4\nfive\n"),
            ),
            (
                "x\n1\n2\n3\n4\n",
                "y\n1\n2\n3\n4\n",
                (1, "x\n1\n2\n3\n", "y\n1\n2\n3\n"),
            ),
        ] {
            assert_eq!(changed(old, new), wanted);
        }
    }
}
