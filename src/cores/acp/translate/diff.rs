//! Changes to files, as notices. Agents send whole files, so of a large one only what changed goes on.

use std::path::Path;

use serde_json::{Value, json};

use super::bounds::{NAME, NOTICE, clip, clip_json, digest, fit, size};
use crate::cores::acp::vendors;

/// How many changes of one call are told apart.
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
    /// The notices that follow from an update: the changes that it shows, as far as they are new; of a
    /// call that shows none, the patch that its vendor reports.
    pub(super) fn follow(&mut self, update: &Value, workdir: &str) -> Vec<Value> {
        let content = update["content"].as_array();
        let items = content.into_iter().flatten();
        let diffs: Vec<_> = items.filter(|item| item["type"] == "diff").collect();
        if content.is_some() {
            let path = |item: &&Value| {
                let path = item["path"].as_str().unwrap_or_default();
                inside(path, workdir).to_owned()
            };
            self.edited = diffs.iter().take(MOST).map(path).collect();
        }
        let now: Vec<(u64, Value)> = if diffs.is_empty() {
            let patch = vendors::patch(update).filter(|_| self.edited.is_empty());
            let Some((path, hunks)) = patch else {
                return Vec::new();
            };
            let patch = json!({"path": inside(path, workdir), "patch": hunks});
            vec![(digest(&patch), fit(patch))]
        } else {
            let of = |item: &Value| digest(&[&item["path"], &item["oldText"], &item["newText"]]);
            let told = |item| (of(item), notice(item, workdir));
            diffs.into_iter().map(told).collect()
        };
        let told = now.iter().map(|(digest, _)| *digest).take(MOST).collect();
        let before = std::mem::replace(&mut self.told, told);
        let news = now.into_iter();
        let news = news.filter(|(digest, _)| !before.contains(digest));
        news.map(|(_, notice)| notice).collect()
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

/// A path as seen from the working directory, if it is inside.
pub(super) fn inside<'a>(path: &'a str, workdir: &str) -> &'a str {
    let inside = Path::new(path).strip_prefix(workdir).ok();
    let inside = inside
        .and_then(Path::to_str)
        .filter(|inside| !inside.is_empty());
    clip(inside.unwrap_or(path), NAME)
}

/// An item of a call's content that is a `diff`, as `{path, oldText, newText}`. `oldText` is null for a
/// new file. If both texts are too long, they are the lines around the change, from line `line`, with
/// `truncated`, `oldBytes` and `newBytes`; what is too long even so is cut.
fn notice(item: &Value, workdir: &str) -> Value {
    let path = inside(item["path"].as_str().unwrap_or_default(), workdir);
    let old = item["oldText"].as_str();
    let new = item["newText"].as_str().unwrap_or_default();
    let whole = json!({"path": path, "oldText": old, "newText": new});
    if size(&whole) <= NOTICE {
        return whole;
    }
    let (line, changed_old, changed_new) = changed(old.unwrap_or_default(), new);
    let most = NOTICE / 2 - 8 * NAME;
    json!({
        "path": path,
        "oldText": old.map(|_| clip_json(changed_old, most)),
        "newText": clip_json(changed_new, most),
        "line": line,
        "truncated": true,
        "oldBytes": old.map(str::len),
        "newBytes": new.len(),
    })
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
    fn only_what_is_inside_the_folder_is_seen_from_there() {
        for (path, seen) in [
            ("/srv/project/src/a.rs", "src/a.rs"),
            ("/srv/project2/a.rs", "/srv/project2/a.rs"),
            ("/srv/project", "/srv/project"),
            ("/etc/hosts", "/etc/hosts"),
            ("a.rs", "a.rs"),
        ] {
            assert_eq!(inside(path, "/srv/project"), seen);
        }
    }

    #[test]
    fn a_small_change_of_a_large_file_is_shown_by_its_lines() {
        let line = |n: usize| format!("line {n} {}\n", "x".repeat(60));
        let old: String = (1..=20_000).map(line).collect();
        let new = old.replacen("line 10000 ", "line ten thousand ", 1);
        let item = json!({"path": "/w/a", "oldText": old, "newText": new});
        let shown = notice(&item, "/w");
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
        let item = json!({"path": "a", "oldText": null, "newText": new});
        let shown = notice(&item, "/w");
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
