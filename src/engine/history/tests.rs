//! Transcripts in a shorthand. A word is a message: `u1` is said by a person, `a1` by an agent, `c1:x` is an
//! agent's call of the id x, `t1:x` its result, `s1`, `d1`, `r1` and `v1` are instructions, thoughts and an
//! activity; `a1=hi` says hi instead of its id. What a person said came after the word before it, or after
//! the one that `<` names.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn message(word: &str) -> Message {
    let (word, text) = word.split_once('=').unwrap_or((word, word));
    let (id, call) = word.split_once(':').unwrap_or((word, ""));
    let json = match &id[..1] {
        "u" => json!({"id": id, "role": "user", "content": text}),
        "a" => json!({"id": id, "role": "assistant", "content": text}),
        "c" => json!({"id": id, "role": "assistant", "toolCalls": [
            {"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
        "t" => json!({"id": id, "role": "tool", "toolCallId": call, "content": text}),
        "s" => json!({"id": id, "role": "system", "content": text}),
        "d" => json!({"id": id, "role": "developer", "content": text}),
        "r" => json!({"id": id, "role": "reasoning", "content": text}),
        _ => json!({"id": id, "role": "activity", "activityType": "x", "content": {}}),
    };
    serde_json::from_value(json).unwrap()
}

fn messages(words: &str) -> Vec<Message> {
    words.split_whitespace().map(message).collect()
}

fn stored(words: &str) -> Transcript {
    let mut transcript = Transcript::default();
    for word in words.split_whitespace() {
        let (word, after) = word.split_once('<').unwrap_or((word, ""));
        let mut line = Line::from(message(word));
        if word.starts_with('u') {
            line.after = match after {
                "" => (transcript.lines.last()).map(|line: &Line| line.message.id.clone()),
                id => Some(MessageId::new(id).unwrap()),
            };
        }
        transcript.lines.push(line);
    }
    transcript
}

fn words<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let word = |message: &Message| {
        let id = message.id.as_str();
        match saying(message) {
            Some((_, text)) if text != id => format!("{id}={text}"),
            _ => id.to_owned(),
        }
    };
    let words: Vec<_> = messages.into_iter().map(word).collect();
    words.join(" ")
}

/// The transcript that a request leaves, and whether the conversation was cut back.
fn told(before: &str, shown: &str) -> Option<(String, bool)> {
    let stored = stored(before);
    let told = read(&stored, &messages(shown), None).ok()?;
    let after = told.after(&stored);
    Some((words(after.iter().map(|line| &line.message)), told.is_cut))
}

#[track_caller]
fn holds(rows: &[(&str, &str, &str, bool)]) {
    for (stored, shown, after, is_cut) in rows {
        assert_eq!(
            told(stored, shown),
            Some(((*after).to_owned(), *is_cut)),
            "stored: {stored}, shown: {shown}"
        );
    }
}

const KEPT: bool = false;
const CUT: bool = true;

#[test]
fn nothing_is_asked_where_no_user_message_stands_at_the_end() {
    for shown in ["", "u1 a1", "u1 c1:x t1:x", "s1", "u1 a1 u2="] {
        assert_eq!(told("", shown), None, "{shown}");
        assert_eq!(told("u1 a1", shown), None, "{shown}");
    }
    assert_eq!(
        read(&Transcript::default(), &[message("u1= \n")], None),
        Err(StartError::NothingToDo)
    );
}

#[test]
fn a_thread_without_a_transcript_takes_over_what_the_client_shows() {
    holds(&[
        ("", "u1", "u1", KEPT),
        (
            "",
            "s1 d1 u1 r1 a1 c2:x t2:x v1 u3",
            "s1 d1 u1 r1 a1 c2 t2 u3",
            KEPT,
        ),
        ("", "u1 s1", "u1 s1", KEPT),
        ("", "u1 a1=one a1=two u2", "u1 a1=one u2", KEPT),
        ("", "u1 u9=old u9", "u1 u9", KEPT),
    ]);
}

#[test]
fn a_new_message_is_added_behind_what_both_know() {
    holds(&[
        ("u1 a1", "u1 a1 u2", "u1 a1 u2", KEPT),
        ("s1 u1 a1", "s1 u1 a1 u2 s2", "s1 u1 a1 u2 s2", KEPT),
        // What a page says in its own name, and what it sent while the daemon was away.
        ("u1 a1", "u1 a1 a9 u2 u3", "u1 a1 a9 u2 u3", KEPT),
        ("u1 a1", "u1 a1 s9 d9 r9 v9 u2", "u1 a1 s9 d9 u2", KEPT),
        // What stands before something that both know was not news then and is none now.
        ("u1 a1", "a9 u1 a1 u2", "u1 a1 u2", KEPT),
    ]);
}

#[test]
fn which_history_to_expect_from_copilotkit() {
    holds(&[
        // A normal turn.
        ("u1 r1 a1", "u1 r1 a1 u2", "u1 r1 a1 u2", KEPT),
        // After a stop: a partial text; a call without a result.
        ("u1 a1=hal", "u1 a1=ha u2", "u1 a1=hal u2", KEPT),
        ("u1 c1:x t1:x", "u1 c1:x u2", "u1 c1 t1 u2", KEPT),
        // A filter that lets only the last message through.
        ("u1 a1 u2 a2", "u3", "u1 a1 u2 a2 u3", KEPT),
        // Regenerate: the transcript ends with a user message that is known.
        ("u1 a1 u2 c2:x t2:x a3", "u1 a1 u2", "u1 a1 u2", CUT),
        // A reload without a runtime, or a runtime that was restarted.
        ("s1 u1 a1 u2 a2", "s1 u3", "s1 u1 a1 u2 a2 u3", KEPT),
        // A tool that a person answered late stands in the middle.
        (
            "u1 c1:x u2 a2 t1:x",
            "u1 c1:x t1:x u2 a2 u3",
            "u1 c1 u2 a2 t1 u3",
            KEPT,
        ),
        // Typed while an interrupt was open.
        ("u1 c1:x", "u1 c1:x u2", "u1 c1 u2", KEPT),
    ]);
    // The follow-up of a tool through such a filter asks nothing anew.
    assert_eq!(told("u1 c1:x", "c1:x t1:x"), None);
}

#[test]
fn a_known_prompt_is_asked_again_and_what_came_of_it_goes() {
    holds(&[
        ("u1 a1", "u1", "u1", CUT),
        ("u1 a1 u2 a2", "u1", "u1", CUT),
        ("u1 a1 u2 a2", "u2", "u1 a1 u2", CUT),
        // Nothing came of it: it is run again.
        ("u1 a1 u2", "u1 a1 u2", "u1 a1 u2", KEPT),
        ("u1 a1 u2 s1", "u1 a1 u2 s1", "u1 a1 u2 s1", KEPT),
        // Edited in place.
        ("u1 a1", "u1=other", "u1=other", CUT),
        ("u1 a1 u2", "u1 a1 u2=other", "u1 a1 u2=other", CUT),
        ("u1 a1 u2 a2 s1", "u2=other s1", "u1 a1 u2=other s1", CUT),
    ]);
    let edited = read(&stored("u1 a1 u2 a2"), &messages("u2=other"), None).unwrap();
    assert_eq!(edited.keep, Some(3));
    assert_eq!(edited.prompt, Content::Text("other".into()));
    assert_eq!(
        edited.lines[0].after,
        Some(MessageId::new("a1").unwrap()),
        "it still stands where it stood"
    );
}

#[test]
fn report_r15_an_edit_is_seen_by_ids_and_never_by_a_count() {
    holds(&[
        // Another message in the place of u2.
        ("u1 a1 u2 a2", "u1 a1 u9", "u1 a1 u9", CUT),
        ("u1 a1 u2 a2 u3 a3", "u1 a1 u9", "u1 a1 u9", CUT),
        // What the client never saw, but came before, stays.
        ("u1 a1 r2 u2<a1 a2", "u1 a1 u9", "u1 a1 r2 u9", CUT),
        // u2 was said to somebody who had seen a1, and this client has not: it only lacks messages.
        ("u1 a1 u2 a2", "u1 u9", "u1 a1 u2 a2 u9", KEPT),
        (
            "u1 c1:x t1:x a2 u2 a3",
            "u1 c1:x u9",
            "u1 c1 t1 a2 u2 a3 u9",
            KEPT,
        ),
        ("u1 a1 u2 a2", "u1 a1 u2 u9", "u1 a1 u2 a2 u9", KEPT),
        // A late result is shown in the middle and was stored behind: it stays as it is shown.
        (
            "u1 c1:x a1 u2 t1:x",
            "u1 c1:x t1:x a1 u9",
            "u1 c1 a1 t1 u9",
            CUT,
        ),
    ]);
}

#[test]
fn an_edit_is_seen_also_where_a_result_came_after_what_is_edited() {
    // When `u2` was said the client knew the call and no result of it.
    let stored = "u1 c1:x t1:x u2<c1 a2";
    holds(&[
        (stored, "u1 c1:x u2", "u1 c1 t1 u2", CUT),
        (stored, "u1 c1:x u3", "u1 c1 t1 u3", CUT),
        (stored, "u1 c1:x t1:x u3", "u1 c1 t1 u3", CUT),
        (stored, "u1 c1:x t1:x u2 a2 u3", "u1 c1 t1 u2 a2 u3", KEPT),
        (stored, "u1 c1:x u2 t1:x a2 u3", "u1 c1 t1 u2 a2 u3", KEPT),
        (stored, "u1 c1:x t1:x u2=other", "u1 c1 t1 u2=other", CUT),
        (
            "u1 c1:x t1:x u2<c1 a2 u3<a2 a3",
            "u1 c1:x t1:x u2 a2 u4",
            "u1 c1 t1 u2 a2 u4",
            CUT,
        ),
    ]);
}

#[test]
fn what_another_page_said_meanwhile_is_not_taken_back_by_one_that_has_not_seen_it() {
    let stored = stored("u1 a1 u2 a2");
    for (seen, after, is_cut) in [
        (Some("u1"), "u1 a1 u2 a2 u3", KEPT),
        (Some("u2"), "u1 a1 u3", CUT),
        (Some("gone"), "u1 a1 u3", CUT),
        (None, "u1 a1 u3", CUT),
    ] {
        let told = read(&stored, &messages("u1 a1 u3"), seen).unwrap();
        let lines = told.after(&stored);
        assert_eq!(
            words(lines.iter().map(|line| &line.message)),
            after,
            "{seen:?}"
        );
        assert_eq!(told.is_cut, is_cut, "{seen:?}");
    }
}

#[test]
fn report_r15b_a_partial_message_may_be_on_either_side_only() {
    holds(&[
        ("u1 a1", "u1 a1 u2", "u1 a1 u2", KEPT),
        ("u1 a1 u2 a2", "u1 u2 a2 u3", "u1 a1 u2 a2 u3", KEPT),
        ("u1 a1", "u1 u2", "u1 a1 u2", KEPT),
        ("u1 c1:x t1:x u2<c1 a2", "u1 u3", "u1 c1 t1 u2 a2 u3", KEPT),
        ("u1", "u1 c1:x u2", "u1 c1 u2", KEPT),
    ]);
}

#[test]
fn report_r11_a_history_that_is_shown_whole_is_not_stored_again() {
    holds(&[
        (
            "u1 c1:x t1:x a2",
            "u1 c1:x t1:x a2 u2",
            "u1 c1 t1 a2 u2",
            KEPT,
        ),
        // The page's own copy of the call and of its result, under ids of its own.
        (
            "u1 c1:x t1:x a2",
            "u1 c8:x t8:x a2 u2",
            "u1 c1 t1 a2 u2",
            KEPT,
        ),
    ]);
}

#[test]
fn what_has_other_ids_with_every_request_is_known_by_its_calls_and_its_text() {
    holds(&[
        (
            "u1=go c1:x t1:x a2=done",
            "u7=go c7:x t7:x a7=done u8=more",
            "u1=go c1 t1 a2=done u8=more",
            KEPT,
        ),
        // The same text twice is two messages.
        (
            "u1=go a1=ok u2=go a2=ok",
            "u7=go a7=ok u8=go a8=ok u9=go",
            "u1=go a1=ok u2=go a2=ok u9=go",
            KEPT,
        ),
        // A greeting of the page is not the answer that happens to say the same later.
        (
            "u1 a1=hello u2 a2=bye",
            "a9=bye u1 a1=hello u2 u3",
            "u1 a1=hello u2 a2=bye u3",
            KEPT,
        ),
        // A prompt is never taken for one that was asked before.
        ("u1=go a1", "u9=go", "u1=go a1 u9=go", KEPT),
    ]);
    // What came after a message of theirs came after ours.
    let stored = stored("u1=go a1=ok");
    let told = read(&stored, &messages("u7=go a7=ok u8"), None).unwrap();
    assert_eq!(told.lines[0].after, Some(MessageId::new("a1").unwrap()));
}

#[test]
fn report_r28_a_result_needs_a_call_and_the_first_one_stays() {
    holds(&[
        ("", "u1 t1:nope u2", "u1 u2", KEPT),
        ("", "u1 c1:x t1:x=a t2:x=b u2", "u1 c1 t1 u2", KEPT),
        ("u1 a1", "u1 a1 t1:nope u2", "u1 a1 u2", KEPT),
        ("u1 c1:x", "u1 c1:x t1:x t2:x u2", "u1 c1 t1 u2", KEPT),
        ("u1 c1:x t1:x", "u1 c1:x t1:x t2:x u2", "u1 c1 t1 u2", KEPT),
        ("u1 a1", "u1 a1 c9:x t9:x u2", "u1 a1 c9 t9 u2", KEPT),
    ]);
}

#[test]
fn report_r81_the_stored_copy_of_a_message_wins() {
    holds(&[
        ("u1 a1=true", "u1 a1=forged u2", "u1 a1=true u2", KEPT),
        ("u1=asked a1", "u1=forged a1 u2", "u1=asked a1 u2", KEPT),
        // An id is taken once and for all.
        ("u1 a1", "u1 a1 u1=forged u2", "u1 a1 u2", KEPT),
    ]);
    let stored = stored("u1 a1");
    let mut thief = message("u2");
    thief.id = MessageId::new("a1").unwrap();
    assert_eq!(read(&stored, &[thief], None), Err(StartError::TakenId));
}

#[test]
fn what_was_said_before_is_told_apart_from_the_prompt() {
    let stored = stored("u1 a1 u2 a2");
    for (shown, before) in [
        ("u3", "u1 a1 u2 a2"),
        ("u1 a1 u9 s9", "u1 a1"),
        ("u1=other", ""),
    ] {
        let told = read(&stored, &messages(shown), None).unwrap();
        assert_eq!(words(&told.before(&stored)), before, "{shown}");
    }
}

/// Transcripts whose every message stands behind the one before it, as a client that saw all of it posted them.
#[test]
fn what_nobody_has_heard_yet_is_asked_together() {
    let stored = stored("u1 a1");
    for (shown, prompt, before) in [
        ("u1 a1 u2 u3", "u2\n\nu3", "u1 a1"),
        ("u1 a1 u2 s9 u3", "u2\n\nu3", "u1 a1"),
        ("u1 u2", "u2", "u1 a1"),
        ("u1 a1 u2 a2 u3", "u3", "u1 a1 u2 a2"),
    ] {
        let told = read(&stored, &messages(shown), None).unwrap();
        assert_eq!(told.prompt.text(), prompt, "{shown}");
        assert_eq!(words(&told.before(&stored)), before, "{shown}");
    }
}

fn transcripts() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["u", "u", "a", "a", "c", "r", "s"]);
    proptest::collection::vec(word, 1..12).prop_map(|kinds| {
        let word = |(place, kind): (usize, &&'static str)| match *kind {
            // An answered call.
            "c" => format!("c{place}:x{place} t{place}:x{place}"),
            // Several say the same.
            "a" => format!("a{place}=same"),
            kind => format!("{kind}{place}"),
        };
        let words: Vec<_> = kinds.iter().enumerate().map(word).collect();
        words.join(" ")
    })
}

proptest! {
    #[test]
    fn a_transcript_that_is_shown_whole_gets_what_is_new_and_nothing_else(before in transcripts()) {
        let told = told(&before, &format!("{before} u99")).unwrap();
        let known = words(&messages(&before));
        prop_assert_eq!(told, (format!("{known} u99"), false));
    }

    #[test]
    fn a_view_that_lacks_messages_takes_none_away(
        before in transcripts(), mask in proptest::collection::vec(any::<bool>(), 24)
    ) {
        let stored = stored(&before);
        let last = stored.lines.iter().rposition(|line| content(&line.message).is_some());
        let view: Vec<_> = (stored.lines.iter().zip(&mask).enumerate())
            .filter(|(at, (_, mask))| **mask || last.is_none_or(|last| last == *at))
            .map(|(_, (line, _))| line.message.clone())
            .chain([message("u99")])
            .collect();
        let told = read(&stored, &view, None).unwrap();
        prop_assert_eq!((told.keep, told.is_cut), (None, false));
        prop_assert_eq!(told.lines.len(), 1);
    }

    #[test]
    fn whatever_is_shown_ids_stay_unique_and_every_result_has_its_call(
        before in transcripts(), shown in transcripts(), cut in 0usize..12
    ) {
        let stored = stored(&before);
        let mut view: Vec<_> = messages(&shown).split_off(cut.min(messages(&shown).len()));
        view.push(message("u3=edited"));
        let told = read(&stored, &view, None).unwrap();
        let after = told.after(&stored);
        let ids: HashSet<_> = after.iter().map(|line| &line.message.id).collect();
        prop_assert_eq!(ids.len(), after.len());
        let all = Known::of(&after);
        for (call, at) in &all.results {
            prop_assert!(all.callers.get(call).is_some_and(|caller| caller < at));
        }
        if told.keep.is_none() {
            prop_assert!(after.len() >= stored.lines.len());
        }
    }
}
