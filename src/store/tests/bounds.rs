//! Orders and bounds.

use std::time::Duration;

use rusqlite::params;

use super::*;
use crate::store::{Cut, Place, Remembers};

#[test]
fn a_transcript_that_grows_too_long_loses_its_oldest_messages_and_says_so() {
    let body = |id: &str| serde_json::to_string(&message(id, &long(100))).unwrap();
    let mut store = in_memory();
    // Room for three of them, to the byte.
    store.options.transcript_bytes = 3 * body("m1").len();
    let three: Vec<_> = ["m1", "m2", "m3"].map(|id| message(id, &long(100))).into();
    store.begin_at(NOON, "t", says("r", &three));
    assert!(!store.sees("t").unwrap().transcript.is_partial);
    // Written again it takes no more room.
    store.adds("t", vec![message("m2", &long(100))]);
    assert_eq!(store.ids("t"), ["m1", "m2", "m3"]);
    store.adds("t", vec![message("m4", "x")]);
    assert_eq!(store.ids("t"), ["m2", "m3", "m4"]);
    assert!(store.sees("t").unwrap().transcript.is_partial);
    // A single one that is too long leaves nothing.
    store.adds("t", vec![message("m5", &long(1000))]);
    assert_eq!(store.ids("t"), Vec::<String>::new());
    store.refill(&key("t"), &written(vec![message("m1", "short")]));
    assert_eq!(store.ids("t"), ["m1"]);
    assert!(!store.sees("t").unwrap().transcript.is_partial);
}

#[test]
fn a_message_that_changes_keeps_its_place_and_what_stood_before_it() {
    let mut store = in_memory();
    let mut begin = says("r", &[message("m1", "a"), message("m2", "b")]);
    begin.lines[1].after = Some(MessageId::new("m1").unwrap());
    store.begin_at(NOON, "t", begin);
    store.adds("t", vec![message("m2", "b, and more"), message("m3", "c")]);
    let lines = store.sees("t").unwrap().transcript.lines;
    assert_eq!(lines[1].message, message("m2", "b, and more"));
    assert_eq!(lines[1].after, Some(MessageId::new("m1").unwrap()));
    assert_eq!(store.ids("t"), ["m1", "m2", "m3"]);
}

/// Cuts a thread back behind a message.
fn cut(behind: Option<&str>, session: Remembers) -> Cut {
    Cut {
        behind: behind.map(|id| MessageId::new(id).unwrap()),
        session,
    }
}

#[test]
fn a_transcript_that_is_cut_back_goes_on_from_there() {
    for (behind, expected, is_partial) in [
        (Some("m3"), vec!["m1", "m2", "m3", "m4"], false),
        (Some("m1"), vec!["m1", "m4"], false),
        (None, vec!["m4"], false),
        // Nobody can tell what stood behind that.
        (Some("gone"), vec!["m4"], true),
    ] {
        let mut store = in_memory();
        let three = [message("m1", "a"), message("m2", "b"), message("m3", "c")];
        store.begin_at(NOON, "t", says("r1", &three));
        let again = Begin {
            cut: Some(cut(behind, Remembers::Nothing)),
            ..says("r2", &[message("m4", "d")])
        };
        store.begin_at(NOON, "t", again);
        assert_eq!(store.ids("t"), expected);
        let transcript = store.sees("t").unwrap().transcript;
        assert_eq!(transcript.is_partial, is_partial, "{behind:?}");
        let counted = "SELECT bytes = (SELECT sum(octet_length(body)) FROM agui_messages)
                       FROM agui_threads";
        let is_counted = store.memory.query_row(counted, [], |row| row.get(0));
        assert_eq!(is_counted, Ok(true), "{behind:?}");
    }
}

#[test]
fn a_message_that_cannot_be_read_does_not_move_where_a_transcript_is_cut() {
    let mut store = in_memory();
    let four = ["m1", "m2", "m3", "m4"].map(|id| message(id, "x"));
    store.begin_at(NOON, "t", says("r1", &four));
    let sql = "UPDATE agui_messages SET body = '{}' WHERE message = 'm1'";
    store.memory.execute(sql, []).unwrap();
    let again = Begin {
        cut: Some(cut(Some("m3"), Remembers::Nothing)),
        ..says("r2", &[])
    };
    store.begin_at(NOON, "t", again);
    assert_eq!(store.ids("t"), ["m2", "m3"]);
}

#[test]
fn a_session_that_remembers_what_is_taken_back_is_no_longer_bound_from_that_run_on() {
    let mut store = in_memory();
    let two = [message("m1", "a"), message("m2", "b")];
    store.begin_at(NOON, "t", says("r1", &two));
    store.bind(&key("t"), "s1");
    for (session, expected) in [
        (Remembers::Nothing, Some("s1".to_owned())),
        (Remembers::TooMuch, None),
    ] {
        let again = Begin {
            cut: Some(cut(Some("m1"), session)),
            ..says("r2", &[])
        };
        store.begin_at(NOON, "t", again);
        assert_eq!(store.sees("t").unwrap().session, expected);
    }
}

#[test]
fn a_message_of_a_shape_from_the_future_makes_a_transcript_partial_and_hides_nothing_else() {
    let mut store = in_memory();
    store.begin_at(
        NOON,
        "t",
        says("r", &[message("m1", "a"), message("m2", "b")]),
    );
    let odd = r#"{"id": "m1", "role": "oracle", "content": "?"}"#;
    let sql = "UPDATE agui_messages SET body = ?1 WHERE message = 'm1'";
    store.memory.execute(sql, params![odd]).unwrap();
    let thread = store.sees("t").unwrap();
    assert!(thread.transcript.is_partial);
    assert_eq!(store.ids("t"), ["m2"]);
}

#[test]
fn the_last_run_is_the_one_that_was_started_last_whatever_the_clock_says() {
    let mut store = in_memory();
    for (now, id) in [(NOON, "r1"), (NOON, "r2"), (NOON - 5, "r3")] {
        store.begin_at(now, "t", says(id, &[]));
        let last = store.sees("t").unwrap().last_run.unwrap();
        assert_eq!(last, ended(id, Outcome::Running, now));
    }
    // One that is started again is the last one again.
    store.end(&key("t"), &run("r1"), &DONE);
    assert_eq!(store.sees("t").unwrap().last_run.unwrap().id, run("r3"));
    store.begin_at(NOON, "t", says("r1", &[]));
    let last = store.sees("t").unwrap().last_run.unwrap();
    assert_eq!(last, ended("r1", Outcome::Running, NOON));
}

#[test]
fn how_a_run_ended_is_told_as_it_was_told() {
    let mut store = in_memory();
    let failed = Outcome::Failed {
        code: "timeout".into(),
        message: "it took too long".into(),
    };
    let refused = Outcome::Success {
        stop_reason: Some("refusal".into()),
    };
    for outcome in [
        DONE,
        refused,
        Outcome::Interrupted,
        Outcome::Cancelled,
        failed,
    ] {
        store.begin_at(NOON, "t", says("r", &[]));
        store.end(&key("t"), &run("r"), &outcome);
        let (_, asked) = store.look(&key("t"), Some(&run("r")));
        assert_eq!(asked, Some(ended("r", outcome, NOON)));
    }
    assert_eq!(store.look(&key("t"), Some(&run("other"))).1, None);
}

#[test]
fn the_newest_thousand_runs_are_remembered_and_those_that_have_not_ended() {
    let mut store = in_memory();
    store.begin_at(NOON, "t", says("open", &[]));
    for number in 0..1005 {
        let id = format!("r{number}");
        store.begin_at(NOON, "t", says(&id, &[]));
        store.end(&key("t"), &run(&id), &DONE);
    }
    let mut is_known = |id: &str| store.look(&key("t"), Some(&run(id))).1.is_some();
    assert!(is_known("open") && is_known("r1004") && is_known("r5"));
    assert!(!is_known("r4") && !is_known("r0"));
}

#[test]
fn what_a_run_asks_for_is_settled_once_and_by_the_first_one() {
    let mut store = in_memory();
    store.begin_at(NOON, "t", says("r1", &[]));
    store.asks("t", "r1", &["p1", "p2", "p3"]);
    assert_eq!(store.fates("t", &["p2", "p1"]), [open("p2"), open("p1")]);
    store.settles("t", "r2", "p1", Some("yes"));
    store.settles("t", "r2", "p2", None);
    for late in [Some("no"), Some("yes"), None] {
        store.settles("t", "r3", "p1", late);
        store.settles("t", "r3", "p2", late);
        store.settles("t", "r3", "never asked", late);
    }
    // What is asked again stays what it is.
    store.begin_at(NOON, "t", says("r3", &[]));
    store.asks("t", "r3", &["p2", "p1", "p3", "p4"]);
    assert_eq!(
        store.fates("t", &["p1", "p2", "p3", "never asked", "p4"]),
        [
            answered("p1", "r2", "yes"),
            closed("p2", "r2"),
            open("p3"),
            open("p4")
        ]
    );
    let last = store.sees("t").unwrap().last_run.unwrap();
    assert_eq!(last, ended("r3", Outcome::Interrupted, NOON));
    // Another thread asks for its own.
    store.begin_at(NOON, "u", says("r1", &[]));
    assert_eq!(store.fates("u", &["p1"]), []);
    store.asks("u", "r1", &["p1"]);
    assert_eq!(store.fates("u", &["p1"]), [open("p1")]);
}

#[test]
fn the_newest_thousand_prompts_of_a_thread_are_remembered() {
    let mut store = in_memory();
    for name in ["t", "u"] {
        store.begin_at(NOON, name, says("r", &[]));
        store.asks(name, "r", &["first"]);
    }
    for number in 0..1003 {
        store.asks("t", "r", &[&format!("p{number}")]);
    }
    assert_eq!(
        store.fates("t", &["first", "p2", "p3", "p1002"]),
        [open("p3"), open("p1002")]
    );
    assert_eq!(store.fates("u", &["first"]), [open("first")]);
}

#[test]
fn what_was_said_before_a_run_stopped_to_ask_is_a_draft_until_more_is_said() {
    let mut store = in_memory();
    store.begin_at(NOON, "t", says("r1", &[message("m1", "do it")]));
    let mut park = |said: &[Message], prompts: &[String]| {
        let said = written(said.to_vec());
        store.park(&key("t"), &run("r1"), &DONE, prompts, &said);
        store.ids("t")
    };
    assert_eq!(park(&[message("m2", "may")], &[]), ["m1", "m2"]);
    assert_eq!(park(&[message("m3", "may I")], &[]), ["m1", "m3"]);
    store.adds("t", vec![message("m4", "may I?")]);
    assert_eq!(store.ids("t"), ["m1", "m4"]);
}

#[test]
fn r45_a_thread_that_is_worked_on_in_another_folder_is_no_longer_bound() {
    let mut store = in_memory();
    let in_folder = |id: &str, workdir: Option<&str>| Begin {
        workdir: workdir.map(Into::into),
        ..says(id, &[])
    };
    store.begin_at(NOON, "t", in_folder("r1", Some("/one")));
    store.bind(&key("t"), "s1");
    store.begin_at(NOON, "t", in_folder("r2", Some("/one")));
    assert_eq!(store.sees("t").unwrap().session.as_deref(), Some("s1"));
    store.begin_at(NOON, "t", in_folder("r3", Some("/two")));
    let thread = store.sees("t").unwrap();
    assert_eq!(
        (thread.session, thread.workdir.as_deref()),
        (None, Some("/two"))
    );
    store.bind(&key("t"), "s2");
    store.begin_at(NOON, "t", in_folder("r4", None));
    assert_eq!(store.sees("t").unwrap().session, None);
}

#[test]
fn a_title_is_the_first_one_until_somebody_names_the_thread() {
    let mut store = in_memory();
    let titled = |id: &str, title: &str| Begin {
        title: Some(title.into()),
        ..says(id, &[])
    };
    store.begin_at(NOON, "t", titled("r1", "first"));
    store.begin_at(NOON, "t", titled("r2", "second"));
    assert_eq!(store.sees("t").unwrap().title.as_deref(), Some("first"));
    store.entitle(&key("t"), "named");
    assert_eq!(store.sees("t").unwrap().title.as_deref(), Some("named"));
}

#[test]
fn what_is_said_of_a_thread_that_is_not_there_changes_nothing() {
    let mut store = in_memory();
    store.bind(&key("t"), "s");
    store.entitle(&key("t"), "x");
    store.adds("t", vec![message("m", "x")]);
    store.refill(&key("t"), &written(vec![message("m", "x")]));
    store.end(&key("t"), &run("r"), &DONE);
    store.asks("t", "r", &["p"]);
    store.settles("t", "r", "p", Some("yes"));
    assert_eq!(store.fates("t", &["p"]), []);
    assert_eq!(store.sees("t"), None);
    assert!(!store.forget(&key("t")));
    assert_eq!(store.list("ann", "coder", None, 9), Page::default());
}

#[test]
fn a_list_is_of_one_principal_and_agent_the_newest_first_and_its_parts_meet() {
    let mut store = in_memory();
    for (now, name) in [(1, "a"), (2, "b"), (2, "c"), (2, "d"), (0, "e")] {
        store.begin_at(now, name, says("r", &[]));
    }
    for (principal, agent) in [("bob", "coder"), ("ann", "demo"), ("ann", "coder2")] {
        let key = Key {
            principal: principal.into(),
            agent: agent.into(),
            thread: ThreadId::new("x").unwrap(),
        };
        store.begin(&key, &says("r", &[]).written());
    }
    let all = store.list("ann", "coder", None, 9);
    assert_eq!(names(&all), ["d", "c", "b", "a", "e"]);
    assert_eq!(all.next, None);
    assert_eq!(all.threads[0].last_run.as_ref().unwrap().id, run("r"));
    let first = store.list("ann", "coder", None, 2);
    assert_eq!(names(&first), ["d", "c"]);
    // What is written to meanwhile moves to the front, and nothing is shown twice or left out behind it.
    store.begin_at(5, "d", says("r", &[]));
    let second = store.list("ann", "coder", first.next, 2);
    assert_eq!(names(&second), ["b", "a"]);
    let third = store.list("ann", "coder", second.next, 2);
    assert_eq!((names(&third), third.next), (vec!["e"], None));
    let past = Place {
        updated_ms: -1,
        id: 0,
    };
    assert_eq!(store.list("ann", "coder", Some(past), 2), Page::default());
}

#[test]
fn a_thread_moves_to_the_front_when_it_is_written_to() {
    let mut store = in_memory();
    for name in ["a", "b", "c"] {
        store.begin_at(1, name, says("r", &[]));
    }
    store.env = Env::fixed(2);
    store.adds("b", vec![message("m", "x")]);
    store.env = Env::fixed(3);
    store.end(&key("a"), &run("r"), &DONE);
    assert_eq!(names(&store.list("ann", "coder", None, 9)), ["a", "b", "c"]);
}

#[test]
fn a_sweep_forgets_the_oldest_beyond_the_bound_and_what_is_too_old_but_nothing_live() {
    let mut store = in_memory();
    for (now, name) in [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")] {
        store.begin_at(now, name, says("r", &[message("m", "x")]));
        store.asks(name, "r", &["p"]);
        store.bind(&key(name), &format!("session of {name}"));
    }
    store.options.max_threads = 3;
    let gone = store.sweep(&[key("a")]);
    let went = |name: &str| (key(name), Some(format!("session of {name}")));
    assert_eq!(gone, [went("b"), went("c")]);
    assert_eq!(store.sweep(&[key("a")]), []);
    store.options.max_age = Some(Duration::from_millis(10));
    store.env = Env::fixed(15);
    assert_eq!(store.sweep(&[key("a")]), [went("d")]);
    assert_eq!(names(&store.list("ann", "coder", None, 9)), ["e", "a"]);
    let left: i64 = store
        .memory
        .query_row(
            "SELECT (SELECT count(*) FROM agui_messages) + (SELECT count(*) FROM agui_runs)
                 + (SELECT count(*) FROM agui_prompts)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 6, "runs, messages and prompts go with their thread");
}

#[test]
fn memory_is_bounded_by_dropping_the_transcripts_that_are_oldest() {
    let mut store = in_memory();
    store.most_memory = 1024 * 1024;
    for (now, number) in (0..40).enumerate() {
        let now = i64::try_from(now).unwrap();
        let said = message("m", &long(100_000));
        store.begin_at(now, &format!("t{number}"), says("r", &[said]));
        store.bind(&key(&format!("t{number}")), "s");
    }
    let last = store.sees("t39").unwrap();
    assert_eq!(
        (last.transcript.lines.len(), last.transcript.is_partial),
        (1, false)
    );
    let first = store.sees("t0").unwrap();
    assert_eq!(
        (first.transcript.lines.len(), first.transcript.is_partial),
        (0, true)
    );
    assert_eq!(first.session.as_deref(), Some("s"));
}

#[test]
fn the_file_gets_smaller_when_much_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let mut store = tiers(options(&path));
    for number in 0..20 {
        let said = message("m", &long(100_000));
        store.begin_at(NOON, &format!("t{number}"), says("r", &[said]));
    }
    super::super::open::checkpoint(store.file()).unwrap();
    let before = std::fs::metadata(&path).unwrap().len();
    for number in 0..20 {
        assert!(store.forget(&key(&format!("t{number}"))));
    }
    store.close();
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(before > 2_000_000 && after < 200_000, "{before} {after}");
}
