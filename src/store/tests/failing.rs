//! A file that fails at run time.

use std::{
    fs,
    io::{self, Seek as _, Write as _},
    os::unix::fs::FileExt as _,
    sync::{Arc, Mutex, OnceLock},
};

use tempfile::TempDir;
use tracing::Dispatch;

use super::*;
use crate::store::{open::checkpoint, tiers::Origin};

/// All that is asked for here.
const PROMPTS: [&str; 3] = ["p1", "p2", "p3"];

/// A file with two threads in it, each with a session, a message, and something that it asked for.
fn with_two() -> (TempDir, Tiers) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = tiers(options(&folder.path().join("threads.db")));
    for name in ["old", "quiet"] {
        store.begin_at(NOON, name, says("r1", &[message("m1", "before")]));
        store.bind(&key(name), "s1");
        store.asks(name, "r1", &["p1", "p2"]);
    }
    (folder, store)
}

fn again(folder: &TempDir) -> Tiers {
    tiers(options(&folder.path().join("threads.db")))
}

impl Tiers {
    /// Lets the file grow no further than it is, as a disk does that is full.
    fn fill_the_disk(&self) {
        checkpoint(self.file()).unwrap();
        let pages = "SELECT page_count FROM pragma_page_count";
        let pages: i64 = self.file().query_row(pages, [], |row| row.get(0)).unwrap();
        self.limit(pages);
    }

    fn limit(&self, pages: i64) {
        let update = |name, value| {
            let ignored = |_: &rusqlite::Row<'_>| Ok(());
            self.file()
                .pragma_update_and_check(None, name, value, ignored)
        };
        update("max_page_count", pages).unwrap();
    }

    /// Lets the file take nothing at all, as a disk that is mounted anew to be read only.
    fn protect(&self, is_on: bool) {
        self.file()
            .pragma_update(None, "query_only", is_on)
            .unwrap();
    }
}

/// Does something, and answers with what was logged meanwhile.
fn logged(what: impl FnOnce()) -> String {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    // With a second subscriber about, what this one wants is asked of itself, also where another test's thread comes
    // first by a place that logs.
    static OTHER: OnceLock<Dispatch> = OnceLock::new();
    OTHER.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
    let log = Log::default();
    let into = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || into.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, what);
    String::from_utf8(log.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn r47_a_full_disk_is_said_once_and_loses_nothing() {
    let (folder, mut store) = with_two();
    let big = || vec![message("m2", &long(200_000))];
    let fates = [answered("p1", "r2", "yes"), open("p2"), open("p3")];
    let log = logged(|| {
        store.fill_the_disk();
        store.adds("old", big());
        store.begin_at(NOON + 1, "new", says("r1", &big()));
        store.bind(&key("new"), "s2");
        store.adds("old", vec![message("m3", "after")]);
        store.settles("old", "r2", "p1", Some("yes"));
        store.asks("old", "r2", &["p2", "p3"]);
        // All is to be seen as if nothing were wrong, what was there before too.
        assert_eq!(store.ids("old"), ["m1", "m2", "m3"]);
        assert_eq!(store.ids("new"), ["m2"]);
        assert_eq!(store.ids("quiet"), ["m1"]);
        assert_eq!(store.fates("old", &PROMPTS), fates);
        let old = store.sees("old").unwrap();
        assert_eq!(old.session.as_deref(), Some("s1"));
        assert_eq!(old.last_run.unwrap().id, run("r1"));
        assert!(!old.transcript.is_partial);
        let all = store.list("ann", "coder", None, 9);
        assert_eq!(names(&all), ["new", "old", "quiet"]);
        assert_eq!(store.away[&key("old")].origin, Origin::Whole);
        assert_eq!(store.away[&key("new")].origin, Origin::New);
    });
    assert_eq!(log.matches("WARN").count(), 1, "{log}");
    assert!(log.contains("threads.db") && log.contains("full"), "{log}");
    let log = logged(|| {
        store.limit(1 << 30);
        store.adds("quiet", vec![message("m2", "x")]);
        assert!(store.away.is_empty() && store.trouble.is_none());
    });
    assert_eq!(
        (log.matches("INFO").count(), log.matches("WARN").count()),
        (1, 0),
        "{log}"
    );
    store.close();
    let mut store = again(&folder);
    assert_eq!(store.ids("old"), ["m1", "m2", "m3"]);
    assert_eq!(store.ids("new"), ["m2"]);
    assert_eq!(store.ids("quiet"), ["m1", "m2"]);
    assert_eq!(store.fates("old", &PROMPTS), fates);
    assert_eq!(store.fates("quiet", &PROMPTS), [open("p1"), open("p2")]);
    assert_eq!(store.sees("new").unwrap().session.as_deref(), Some("s2"));
    assert!(!store.sees("old").unwrap().transcript.is_partial);
}

#[test]
fn a_file_that_fails_is_left_alone_for_a_while() {
    let (folder, mut store) = with_two();
    store.retry = Duration::from_hours(1);
    store.protect(true);
    store.adds("old", vec![message("m2", "x")]);
    store.protect(false);
    // It would be taken now, but nobody tries yet.
    store.adds("old", vec![message("m3", "x")]);
    store.adds("quiet", vec![message("m2", "x")]);
    assert_eq!(store.away.len(), 2);
    assert_eq!(store.ids("old"), ["m1", "m2", "m3"]);
    // The end does not wait for the hour to pass.
    store.close();
    let mut store = again(&folder);
    assert_eq!(store.ids("old"), ["m1", "m2", "m3"]);
    assert_eq!(store.ids("quiet"), ["m1", "m2"]);
}

#[test]
fn what_is_forgotten_while_the_file_fails_stays_forgotten() {
    let (folder, mut store) = with_two();
    store.protect(true);
    assert!(store.forget(&key("old")));
    assert!(!store.forget(&key("old")));
    assert_eq!(store.sees("old"), None);
    store.begin_at(NOON, "new", says("r1", &[]));
    assert!(store.forget(&key("new")));
    assert_eq!(names(&store.list("ann", "coder", None, 9)), ["quiet"]);
    // One that begins anew has nothing of what was before.
    assert!(store.forget(&key("quiet")));
    store.begin_at(NOON, "quiet", says("r2", &[message("m9", "anew")]));
    store.protect(false);
    assert_eq!(store.ids("quiet"), ["m9"]);
    assert!(store.away.is_empty());
    store.close();
    let mut store = again(&folder);
    assert_eq!(store.sees("old"), None);
    assert_eq!(store.ids("quiet"), ["m9"]);
    assert_eq!(store.sees("quiet").unwrap().session, None);
    assert_eq!(store.fates("quiet", &["p1"]), []);
}

#[test]
fn a_sweep_while_the_file_fails_forgets_what_is_in_memory_only() {
    let (_folder, mut store) = with_two();
    store.options.max_threads = 1;
    store.protect(true);
    for (now, name) in [(NOON + 1, "a"), (NOON + 2, "b")] {
        store.begin_at(now, name, says("r", &[]));
    }
    let gone: Vec<_> = store.sweep(&[]).into_iter().map(|(key, _)| key).collect();
    assert_eq!(gone, [key("a")]);
    store.protect(false);
    let gone: Vec<_> = store.sweep(&[]).into_iter().map(|(key, _)| key).collect();
    assert_eq!(gone, [key("old"), key("quiet")]);
    assert_eq!(names(&store.list("ann", "coder", None, 9)), ["b"]);
}

#[test]
fn a_transcript_that_memory_has_no_room_for_is_still_in_the_file() {
    let (_folder, mut store) = with_two();
    store.most_memory = 1;
    store.protect(true);
    store.adds("old", vec![message("m2", &long(5000))]);
    assert!(store.sees("old").unwrap().transcript.is_partial);
    store.protect(false);
    assert_eq!(store.ids("old"), ["m1"], "the file never had the other one");
    assert!(store.sees("old").unwrap().transcript.is_partial);
    assert!(store.away.is_empty());
}

#[test]
fn r47_a_page_that_breaks_at_run_time_takes_no_other_thread_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let mut store = tiers(options(&path));
    let name = |number: usize| format!("t{number}");
    for number in 0..20 {
        let said = message("m1", &long(50_000));
        store.begin_at(NOON, &name(number), says("r1", &[said]));
        store.bind(&key(&name(number)), "s");
        store.asks(&name(number), "r1", &["p1", "p2"]);
        store.settles(&name(number), "r1", "p1", Some("yes"));
    }
    checkpoint(store.file()).unwrap();
    store.close();
    // The messages fill the file's end, thread after thread.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let size = file.metadata().unwrap().len();
    let mut store = tiers(options(&path));
    file.write_all_at(&[0xff; 4096], size / 2 / 4096 * 4096)
        .unwrap();
    let mut broken = Vec::new();
    let log = logged(|| {
        for number in 0..20 {
            let thread = store.sees(&name(number)).unwrap();
            assert_eq!(thread.session.as_deref(), Some("s"));
            if thread.transcript.is_partial {
                broken.push(number);
            } else {
                assert_eq!(thread.transcript.lines.len(), 1);
            }
        }
        assert_eq!(broken.len(), 1);
        for number in 0..20 {
            store.adds(&name(number), vec![message("m2", "after")]);
            store.settles(&name(number), "r2", "p2", None);
            store.asks(&name(number), "r2", &["p1", "p3"]);
        }
    });
    assert_eq!(log.matches("WARN").count(), 1, "{log}");
    assert_eq!(log.matches("INFO").count(), 0, "{log}");
    assert_eq!(store.ids(&name(broken[0])), ["m2"]);
    assert_eq!(store.away.len(), 1);
    for number in (0..20).filter(|number| *number != broken[0]) {
        assert_eq!(store.ids(&name(number)), ["m1", "m2"]);
    }
    assert_eq!(store.list("ann", "coder", None, 99).threads.len(), 20);
    // What is new of it is in the file at the end, beside what is broken.
    store.close();
    let db = rusqlite::Connection::open(&path).unwrap();
    let new = "SELECT count(*) FROM agui_messages WHERE message = 'm2'";
    let new: i64 = db.query_row(new, [], |row| row.get(0)).unwrap();
    assert_eq!(new, 20);
    let settled =
        "SELECT group_concat(concat_ws(' ', prompt, settled_by, answer), ', ' ORDER BY seq)
                   FROM agui_prompts GROUP BY thread";
    let mut settled = db.prepare(settled).unwrap();
    let settled = settled.query_map([], |row| row.get::<_, String>(0));
    let settled: Vec<_> = settled.unwrap().map(Result::unwrap).collect();
    assert_eq!(settled, ["p1 r1 yes, p2 r2, p3"; 20]);
}

#[test]
fn a_file_works_again_only_once_it_does_what_it_did_not_do() {
    let (folder, store) = with_two();
    store.close();
    let mut store = again(&folder);
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'agui_threads_by_owner'";
    let root: u32 = store.file().query_row(root, [], |row| row.get(0)).unwrap();
    let path = folder.path().join("threads.db");
    let file = fs::OpenOptions::new().read(true).write(true).open(path);
    let (file, place) = (file.unwrap(), u64::from(root - 1) * 4096);
    let mut page = [0; 4096];
    file.read_exact_at(&mut page, place).unwrap();
    let log = logged(|| {
        file.write_all_at(&[0xff; 4096], place).unwrap();
        for _ in 0..3 {
            store.file().execute_batch("PRAGMA shrink_memory").unwrap();
            assert_eq!(store.list("ann", "coder", None, 9), Page::default());
            // What else is asked for meanwhile works.
            assert_eq!(store.ids("old"), ["m1"]);
        }
    });
    assert_eq!(log.matches("WARN").count(), 1, "{log}");
    assert_eq!(log.matches("INFO").count(), 0, "{log}");
    let log = logged(|| {
        file.write_all_at(&page, place).unwrap();
        store.file().execute_batch("PRAGMA shrink_memory").unwrap();
        assert_eq!(names(&store.list("ann", "coder", None, 9)).len(), 2);
    });
    assert_eq!(log.matches("WARN").count(), 0, "{log}");
    assert_eq!(log.matches("INFO").count(), 1, "{log}");
}

#[test]
fn that_threads_are_kept_away_is_said_also_where_a_list_did_not_work_before() {
    let (_folder, mut store) = with_two();
    let failed = Box::new(|_: &rusqlite::Connection| Err(rusqlite::Error::InvalidQuery));
    let log = logged(|| {
        store.stumble(&rusqlite::Error::InvalidQuery, Some(failed));
        store.protect(true);
        for id in ["m2", "m3"] {
            store.adds("old", vec![message(id, "x")]);
        }
    });
    assert_eq!(log.matches("WARN").count(), 2, "{log}");
    let log = logged(|| {
        store.protect(false);
        assert_eq!(store.ids("old"), ["m1", "m2", "m3"]);
    });
    assert_eq!(log.matches("INFO").count(), 1, "{log}");
}

#[test]
fn a_file_that_took_nothing_is_tried_before_it_is_said_to_work_again() {
    let (_folder, mut store) = with_two();
    let log = logged(|| {
        store.protect(true);
        store.begin_at(NOON, "new", says("r1", &[]));
        // Nothing is away any more, and the file takes as little as before.
        assert!(store.forget(&key("new")));
        assert!(store.away.is_empty());
        assert_eq!(store.ids("old"), ["m1"]);
    });
    assert_eq!(log.matches("WARN").count(), 1, "{log}");
    assert_eq!(log.matches("INFO").count(), 0, "{log}");
    let log = logged(|| {
        store.protect(false);
        assert_eq!(store.ids("old"), ["m1"]);
    });
    assert_eq!(log.matches("INFO").count(), 1, "{log}");
}

#[test]
fn a_run_that_was_cut_off_is_still_running_when_the_file_is_opened_again() {
    let (folder, mut store) = with_two();
    store.begin_at(NOON, "old", says("r2", &[]));
    store.close();
    let last = again(&folder).sees("old").unwrap().last_run.unwrap();
    assert_eq!(last, ended("r2", Outcome::Running, NOON));
}

#[test]
fn what_a_dead_daemon_left_half_written_is_not_there() {
    let (folder, mut store) = with_two();
    store.begin_at(NOON, "old", says("r2", &[message("m2", "x")]));
    let wal = folder.path().join("threads.db-wal");
    let left = [
        fs::read(&wal).unwrap(),
        fs::read(folder.path().join("threads.db")).unwrap(),
    ];
    // As if it had died while it wrote its last change.
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("threads.db"), &left[1]).unwrap();
    let mut half = fs::File::create(place.path().join("threads.db-wal")).unwrap();
    half.write_all(&left[0][..left[0].len() - 100]).unwrap();
    half.rewind().unwrap();
    let mut next = again(&place);
    assert_eq!(next.ids("old"), ["m1"]);
    assert_eq!(next.sees("old").unwrap().last_run.unwrap().id, run("r1"));
    next.begin_at(NOON, "old", says("r3", &[]));
    assert_eq!(next.sees("old").unwrap().last_run.unwrap().id, run("r3"));
}
