//! What runs below a process, and ending it.
//!
//! `/proc/PID/task/TID/children` would be shorter to read, but not every kernel is built with it, and it
//! misses children of a process that others are ending meanwhile.

use std::{collections::HashMap, fs};

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal to every process below `root`, as one look at `/proc` finds them, and answers with
/// their number. What is started meanwhile is missed, so one look is never enough.
///
/// A number that was read could in theory name a stranger by the time it is used: what is no child of
/// `root` is not for `root` to hold on to. The numbers go round, so that does not happen in the moment
/// this takes.
pub(super) fn signal(root: Pid, signal: Signal) -> usize {
    let found = below(root);
    for pid in found.iter().filter_map(|id| Pid::from_raw(*id)) {
        let _ = kill_process(pid, signal);
    }
    found.len()
}

/// Every process below `root`, as one look at `/proc` finds them.
pub(super) fn below(root: Pid) -> Vec<i32> {
    descendants(root.as_raw_nonzero().get(), &parents())
}

/// Every process with its parent.
pub(super) fn parents() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let id = entry.file_name().to_str()?.parse().ok()?;
            // It may have ended since.
            let stat = fs::read(entry.path().join("stat")).ok()?;
            Some((id, parent(&stat)?))
        })
        .collect()
}

/// The parent in a `stat` of proc(5). The name before it may hold anything, spaces and brackets too.
fn parent(stat: &[u8]) -> Option<i32> {
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_ends + 1..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Those of the processes that have `root` above them, parents before their children.
pub(super) fn descendants(root: i32, parents: &[(i32, i32)]) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (id, parent) in parents.iter().filter(|(id, _)| *id != root) {
        children.entry(*parent).or_default().push(*id);
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(id) = found.get(next) {
        let below = children.remove(id).unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        for (stat, wanted) in [
            (b"7 (sh) S 4 7 7 0".as_slice(), Some(4)),
            (b"7 (a) R 9 (b) S 4 7", Some(4)),
            (b"7 (\xff\n) S 4 7", Some(4)),
            (b"7 (sh) S", None),
            (b"", None),
        ] {
            assert_eq!(parent(stat), wanted, "{}", String::from_utf8_lossy(stat));
        }
    }

    #[test]
    fn all_below_is_found_and_nothing_beside() {
        let parents = [(1, 0), (5, 1), (6, 5), (9, 6), (7, 5), (8, 1), (3, 9)];
        assert_eq!(descendants(5, &parents), [6, 7, 9, 3]);
        assert!(descendants(8, &parents).is_empty());
    }

    #[test]
    fn a_look_that_was_torn_by_changes_comes_to_an_end() {
        let parents = [(5, 6), (6, 5), (7, 8), (8, 7), (9, 9)];
        assert_eq!(descendants(5, &parents), [6]);
    }

    #[test]
    fn this_process_is_found_with_its_parent() {
        let me = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert!(parents().contains(&(me, parent)));
    }
}
