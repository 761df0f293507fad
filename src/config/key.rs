//! Keys as people write them: `agents.coder.permissions[1].path`.

/// A key as text.
pub(super) fn spelled(key: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    for (depth, segment) in key.iter().enumerate() {
        let segment = segment.as_ref();
        if is_index(&key[..depth], segment) {
            text.extend(["[", segment, "]"]);
        } else {
            text.extend(if depth == 0 {
                ["", segment]
            } else {
                [".", segment]
            });
        }
    }
    text
}

/// The key down to the first list in it.
pub(super) fn of_list<K: AsRef<str>>(key: &[K]) -> &[K] {
    let first = (0..key.len()).find(|depth| is_index(&key[..*depth], key[*depth].as_ref()));
    &key[..first.unwrap_or(key.len())]
}

/// Whether a segment is a place in a list: digits are, except for names that people choose.
fn is_index(before: &[impl AsRef<str>], segment: &str) -> bool {
    let before: Vec<&str> = before.iter().map(AsRef::as_ref).collect();
    let is_name = matches!(
        before.as_slice(),
        ["agents" | "tokens"] | ["agents", _, "env"]
    );
    !is_name && !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_list_stands_in_brackets_and_a_name_of_digits_does_not() {
        for (key, text, list) in [
            ("port", "port", "port"),
            (
                "agents.1.permissions.0.path",
                "agents.1.permissions[0].path",
                "agents.1.permissions",
            ),
            ("agents.a.env.7", "agents.a.env.7", "agents.a.env.7"),
            ("agents.a.args.12", "agents.a.args[12]", "agents.a.args"),
            ("tokens.5", "tokens.5", "tokens.5"),
        ] {
            let key: Vec<&str> = key.split('.').collect();
            assert_eq!(spelled(&key), text);
            assert_eq!(of_list(&key).join("."), list);
        }
    }
}
