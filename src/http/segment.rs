//! The thread in a path: one segment, percent-encoded (RFC 3986, section 2.1).
//!
//! It is decoded once, after the path was taken apart at its slashes, so a slash in a thread's id is `%2F` and
//! never parts anything. The `percent-encoding` crate leaves a broken escape as it stands, under which two
//! paths would mean one thread, so those are refused first.

use percent_encoding::percent_decode_str;

use super::problem::Problem;
use crate::protocol::ThreadId;

/// Reads the segment as a thread's id.
pub(super) fn thread(segment: &str) -> Result<ThreadId, Problem> {
    let bad = |why: String| Problem::Parameter {
        place: "the thread in the path",
        why,
    };
    let encoding = || bad("must be percent-encoded UTF-8".into());
    let escapes = segment.split('%').skip(1);
    let mut digits = escapes.map(|rest| rest.as_bytes().get(..2));
    if !digits.all(|two| two.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))) {
        return Err(encoding());
    }
    let text = percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| encoding())?;
    ThreadId::new(text).map_err(|why| bad(why.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_one_id_whatever_is_in_it() {
        for (segment, id) in [
            ("t1", "t1"),
            ("a%2Fb", "a/b"),
            ("%2e%2E", ".."),
            ("..%2f..%2fetc%2fpasswd", "../../etc/passwd"),
            ("a+b", "a+b"),
            ("%C3%BC", "ü"),
            ("ü", "ü"),
            ("100%25", "100%"),
            ("%252F", "%2F"),
        ] {
            assert_eq!(thread(segment).unwrap().as_str(), id, "{segment}");
        }
    }

    #[test]
    fn what_is_no_id_is_refused_with_its_place_and_is_not_repeated() {
        let long = "a".repeat(ThreadId::MAX + 1);
        for (segment, why) in [
            ("%", "UTF-8"),
            ("%2", "UTF-8"),
            ("%zz", "UTF-8"),
            ("%+f", "UTF-8"),
            ("%ü", "UTF-8"),
            ("%FF", "UTF-8"),
            ("%C3", "UTF-8"),
            ("%00", "control"),
            ("a%0Ab", "control"),
            ("%0d%0aINFO forged", "control"),
            ("a%C2%85b", "control"),
            ("%20", "blank"),
            (&long, "longer"),
        ] {
            let problem = thread(segment).unwrap_err();
            assert_eq!(problem.code(), "invalid_input", "{segment}");
            let message = problem.message();
            assert!(
                message.starts_with("the thread in the path must"),
                "{message}"
            );
            assert!(message.contains(why), "{segment}: {message}");
        }
    }
}
