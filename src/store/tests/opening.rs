//! Files that are refused, and what is made when there is none.

use std::{
    fs,
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::PathBuf,
};

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::store::{
    Error, Folder, Probe, Store, Transcript, is_exposed,
    open::CHECKED_WHOLLY,
    probe,
    schema::{APPLICATION_ID, NEWEST},
};

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    (folder, path)
}

/// A file of ours with a thread in it, closed in order.
fn ours(path: &Path) {
    let mut store = tiers(options(path));
    for number in 0..50 {
        let said = message("m", &long(5000));
        store.begin_at(NOON, &format!("t{number}"), says("r", &[said]));
    }
    store.close();
}

fn sql(path: &Path, statements: &str) {
    Connection::open(path)
        .unwrap()
        .execute_batch(statements)
        .unwrap();
}

/// What somebody is told whose file is refused; the file must be as it was.
fn refused(path: &Path) -> String {
    let before = fs::read(path).unwrap();
    let error = Store::open(options(path), Env::fixed(NOON)).unwrap_err();
    let same = probe(path, Folder::Expected).unwrap_err();
    assert_eq!(error.to_string(), same.to_string());
    assert!(
        fs::read(path).unwrap() == before,
        "{error} but it was changed"
    );
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    text
}

#[test]
fn a_newer_shape_is_refused_with_both_numbers() {
    let (_folder, path) = place();
    ours(&path);
    let newer = NEWEST + 7;
    sql(&path, &format!("PRAGMA user_version = {newer}"));
    let text = refused(&path);
    assert!(text.contains(&format!("number {newer}")), "{text}");
    assert!(text.contains(&format!("than {NEWEST}")), "{text}");
}

#[test]
fn what_belongs_to_another_program_is_refused() {
    for statements in [
        "CREATE TABLE notes (text)",
        "PRAGMA user_version = 3",
        "PRAGMA application_id = 77",
    ] {
        let (_folder, path) = place();
        sql(&path, statements);
        assert!(refused(&path).contains("another program"), "{statements}");
    }
}

#[test]
fn what_is_no_database_is_refused() {
    for bytes in [
        &b"hello"[..],
        &[0; 4096],
        &[0xa5; 10_000],
        b"SQLite format 3\0",
    ] {
        let (_folder, path) = place();
        fs::write(&path, bytes).unwrap();
        assert!(refused(&path).contains("it is no database"));
    }
}

#[test]
fn a_database_that_is_cut_off_or_has_a_broken_page_is_refused() {
    let (_folder, path) = place();
    ours(&path);
    let whole = fs::read(&path).unwrap();
    let page = 4096;
    let mut broken = vec![whole[..whole.len() / 2].to_vec(), whole[..150].to_vec()];
    for number in [0, 1, 2, whole.len() / page / 2] {
        let mut flipped = whole.clone();
        // Of the first page the header is left alone, that is judged before.
        let start = number * page + if number == 0 { 100 } else { 0 };
        flipped[start..(number + 1) * page].fill(0xff);
        broken.push(flipped);
    }
    for bytes in broken {
        fs::write(&path, &bytes).unwrap();
        assert!(refused(&path).contains("it is broken"));
    }
    fs::write(&path, &whole).unwrap();
    assert!(Store::open(options(&path), Env::fixed(NOON)).is_ok());
}

#[test]
fn an_empty_file_becomes_a_database() {
    let (_folder, path) = place();
    fs::write(&path, b"").unwrap();
    assert_eq!(probe(&path, Folder::Expected).unwrap(), Probe::Fine);
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    ours(&path);
    assert_eq!(tiers(options(&path)).ids("t1"), ["m"]);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn what_others_can_read_of_a_database_is_taken_from_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    tiers(options(&path)).close();
    assert!(!is_exposed(&path));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(is_exposed(&path));
    let log = path.with_extension("db-wal");
    fs::write(&log, "").unwrap();
    fs::set_permissions(&log, fs::Permissions::from_mode(0o666)).unwrap();
    let store = tiers(options(&path));
    assert_eq!((mode(&path), mode(&log)), (0o600, 0o600));
    assert!(!is_exposed(&path));
    store.close();
}

#[test]
fn what_is_refused_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    fs::write(&path, "no database").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    Store::open(options(&path), Env::fixed(NOON)).unwrap_err();
    assert_eq!(mode(&path), 0o644);
}

#[test]
fn files_are_made_for_this_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/deep/threads.db");
    let missing = Store::open(options(&path), Env::fixed(NOON)).unwrap_err();
    assert!(missing.to_string().contains("folder"), "{missing}");
    let missing = probe(&path, Folder::Expected).unwrap_err();
    assert!(missing.to_string().contains("folder"), "{missing}");
    let options = Options {
        at: Location::File {
            path: path.clone(),
            folder: Folder::Made,
        },
        ..options(&path)
    };
    assert_eq!(probe(&path, Folder::Made).unwrap(), Probe::Absent);
    let mut store = tiers(options);
    store.begin_at(NOON, "t", says("r", &[]));
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let files = fs::read_dir(path.parent().unwrap()).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

/// The number of a database's shape, and what was said to make its tables.
fn shape(path: &Path) -> (u32, Vec<String>) {
    let db = Connection::open(path).unwrap();
    let number = db.pragma_query_value(None, "user_version", |row| row.get(0));
    let made = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    let mut made = db.prepare(made).unwrap();
    let made = made.query_map([], |row| row.get(0)).unwrap();
    (number.unwrap(), made.map(Result::unwrap).collect())
}

#[test]
fn the_steps_lead_to_the_shape_of_a_new_file_and_are_taken_once() {
    let (_folder, path) = place();
    ours(&path);
    let before = shape(&path);
    assert_eq!(before.0, NEWEST);
    ours(&path);
    assert_eq!(shape(&path), before);
}

#[test]
fn a_file_of_the_first_shape_keeps_its_threads_and_gets_the_shape_of_a_new_one() {
    let (folder, path) = place();
    sql(&path, include_str!("../../../migrations/0001_threads.sql"));
    let body = serde_json::to_string(&message("m1", "before")).unwrap();
    let rows = format!(
        "INSERT INTO agui_threads VALUES
             (7, 'ann', 'coder', 't', 's1', NULL, 'A title', 0, {bytes}, {NOON}, {NOON});
         INSERT INTO agui_runs VALUES (3, 7, 'r1', 'success', NULL, NULL, NULL, {NOON}, {NOON});
         INSERT INTO agui_messages VALUES (5, 7, 'm1', NULL, '{body}', 0);
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = 1;",
        bytes = body.len(),
    );
    sql(&path, &rows);
    let old = fs::read(&path).unwrap();
    assert_eq!(probe(&path, Folder::Expected).unwrap(), Probe::Fine);
    assert!(fs::read(&path).unwrap() == old, "a look changes nothing");
    let mut store = tiers(options(&path));
    let expected = Thread {
        session: Some("s1".into()),
        workdir: None,
        title: Some("A title".into()),
        created_ms: NOON,
        updated_ms: NOON,
        transcript: Transcript {
            lines: vec![message("m1", "before").into()],
            is_partial: false,
        },
        last_run: Some(ended("r1", DONE, NOON)),
    };
    assert_eq!(store.sees("t").unwrap(), expected);
    assert_eq!(store.fates("t", &["p"]), []);
    store.asks("t", "r1", &["p"]);
    store.close();
    assert_eq!(tiers(options(&path)).fates("t", &["p"]), [open("p")]);
    let new = folder.path().join("new.db");
    ours(&new);
    assert_eq!(shape(&path), shape(&new));
}

#[test]
fn report_r88_a_second_daemon_on_the_same_file_is_refused() {
    let (folder, path) = place();
    let mut first = tiers(options(&path));
    // Also by another name.
    let link = folder.path().join("other.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for path in [&path, &link] {
        let error = Store::open(options(path), Env::fixed(NOON)).unwrap_err();
        assert!(matches!(error, Error::InUse { .. }), "{error}");
        assert!(error.to_string().contains("another agui-serve"), "{error}");
    }
    assert_eq!(probe(&path, Folder::Expected).unwrap(), Probe::InUse);
    first.begin_at(NOON, "t", says("r", &[]));
    first.close();
    assert_eq!(probe(&path, Folder::Expected).unwrap(), Probe::Fine);
    assert!(tiers(options(&path)).sees("t").is_some());
}

#[test]
fn a_second_daemon_waits_for_the_first_and_finds_all_that_it_wrote() {
    let (_folder, path) = place();
    let mut first = tiers(options(&path));
    let waiting = Options {
        wait: Duration::from_mins(1),
        ..options(&path)
    };
    let second = std::thread::spawn(move || tiers(waiting).sees("t"));
    first.begin_at(NOON, "t", says("r", &[]));
    first.close();
    assert!(second.join().unwrap().is_some());
}

#[test]
fn a_file_that_another_program_writes_to_is_refused() {
    let (_folder, path) = place();
    ours(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = Store::open(options(&path), Env::fixed(NOON)).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
}

#[test]
fn what_a_daemon_left_that_did_not_end_in_order_is_taken_over() {
    let (_folder, path) = place();
    ours(&path);
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("threads.db");
    let mut store = tiers(options(&path));
    store.begin_at(NOON, "late", says("r", &[]));
    let beside = |path: &Path| path.with_extension("db-wal");
    fs::copy(&path, &copy).unwrap();
    fs::copy(beside(&path), beside(&copy)).unwrap();
    assert_eq!(probe(&copy, Folder::Expected).unwrap(), Probe::Left);
    assert!(tiers(options(&copy)).sees("late").is_some());
}

#[test]
fn a_large_file_is_opened_without_reading_all_of_it() {
    let (_folder, path) = place();
    ours(&path);
    let mut store = tiers(options(&path));
    store.begin_at(NOON, "big", says("r", &[]));
    store.close();
    let big = "INSERT INTO agui_messages (thread, message, body)
        SELECT id, 'big', printf('%.*c', 70000000, 'x') FROM agui_threads WHERE thread = 'big'";
    sql(&path, big);
    let size = fs::metadata(&path).unwrap().len();
    assert!(size > CHECKED_WHOLLY);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xff; 4096], size / 2 / 4096 * 4096)
        .unwrap();
    let mut store = tiers(options(&path));
    assert_eq!(store.ids("t1"), ["m"]);
    assert!(store.sees("big").unwrap().transcript.is_partial);
}

/// On Linux what root may do beyond others can be given up by a thread, so that this can be tried by root as well.
#[cfg(target_os = "linux")]
#[test]
fn a_file_or_folder_that_cannot_be_written_to_is_refused() {
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let refusals = std::thread::spawn(move || {
        let mut sets: CapabilitySets = capabilities(None).unwrap();
        sets.effective
            .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();

        let (folder, path) = place();
        ours(&path);
        mode(&path, 0o400);
        let file = refused(&path);
        mode(&path, 0o000);
        let unreadable = Store::open(options(&path), Env::fixed(NOON)).unwrap_err();
        mode(&path, 0o600);
        fs::remove_file(path.with_extension("db.lock")).unwrap();
        mode(folder.path(), 0o500);
        let probed = [&path, &folder.path().join("none.db")]
            .map(|path| probe(path, Folder::Expected).unwrap_err().to_string());
        let in_folder = Store::open(options(&path), Env::fixed(NOON)).unwrap_err();
        let none = folder.path().join("none.db");
        let none = Store::open(options(&none), Env::fixed(NOON)).unwrap_err();
        mode(folder.path(), 0o700);
        let opened = [in_folder.to_string(), none.to_string()];
        (file, unreadable.to_string(), opened, probed)
    });
    let (file, unreadable, opened, probed) = refusals.join().unwrap();
    assert!(file.contains("read-only"), "{file}");
    assert!(unreadable.contains("it cannot be opened"), "{unreadable}");
    for text in opened {
        assert!(text.contains("its lock cannot be taken"), "{text}");
    }
    for text in probed {
        assert!(text.contains("in its folder"), "{text}");
    }
}
