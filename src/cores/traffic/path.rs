//! Telling paths apart.

/// The path as it is told from others: relative to the working directory if it is inside, and without `.`, `..` and
/// empty parts as far as that can be said without looking at the disk. `workdir` may be empty.
pub(in crate::cores) fn path_in(workdir: &str, path: &str) -> String {
    let joined = format!("{workdir}/{path}");
    let is_whole = path.starts_with('/') || workdir.is_empty();
    let (root, parts) = normalised(if is_whole { path } else { &joined });
    let (base_root, base) = normalised(workdir);
    let is_inside = !workdir.is_empty() && root == base_root;
    let inside = parts.strip_prefix(base.as_slice()).filter(|_| is_inside);
    let told = match inside {
        Some(inside) => inside.join("/"),
        None => format!("{root}{}", parts.join("/")),
    };
    if told.is_empty() { ".".into() } else { told }
}

/// The root, if the path has one, and the parts that lead on from there.
fn normalised(path: &str) -> (&'static str, Vec<&str>) {
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&"..") => parts.push(part),
                Some(_) => drop(parts.pop()),
                // Above the root is the root.
                None if root.is_empty() => parts.push(part),
                None => {}
            },
            _ => parts.push(part),
        }
    }
    (root, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r79_one_file_has_one_path_however_it_is_written() {
        let inside = [
            "src/a.rs",
            "./src/a.rs",
            "src/./b/../a.rs",
            "src//a.rs",
            "/work/src/a.rs",
            "/work/../work/src/a.rs",
            "../work/src/a.rs",
        ];
        for path in inside {
            assert_eq!(path_in("/work", path), "src/a.rs", "{path}");
            assert_eq!(path_in("/x/../work/", path), "src/a.rs", "{path}");
        }
    }

    #[test]
    fn what_is_outside_keeps_its_whole_path() {
        let told = [
            ("/work", "/etc/./hosts", "/etc/hosts"),
            ("/work", "../other/a", "/other/a"),
            ("/work", "/workshop/a", "/workshop/a"),
            ("/work", "/../../a", "/a"),
            ("/work", "/work", "."),
            ("/work", ".", "."),
            ("/", "/etc/hosts", "etc/hosts"),
            ("", "./a/../b", "b"),
            ("", "../../a/..", "../.."),
            ("", "/a/../b", "/b"),
            ("", "a/..", "."),
        ];
        for (workdir, path, expected) in told {
            assert_eq!(path_in(workdir, path), expected, "{path} in {workdir}");
        }
    }
}
