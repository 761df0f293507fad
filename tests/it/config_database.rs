//! Where threads are kept, and within which bounds.

use std::time::Duration;

use agui_serve::{
    engine::Busy,
    store::{Folder, Location},
};

use crate::config_layers::Maker;

fn at(maker: Maker) -> Location {
    maker.load().unwrap().store.at
}

#[test]
fn the_database_is_in_the_state_directory_unless_it_is_named() {
    let made = |path: &str| Location::File {
        path: path.into(),
        folder: Folder::Made,
    };
    let home = "/home/nobody/.local/state/agui-serve/threads.db";
    assert_eq!(at(Maker::new()), made(home));
    let service = Maker::new().env("STATE_DIRECTORY", "/var/lib/a:/var/lib/b");
    assert_eq!(at(service), made("/var/lib/a/threads.db"));
    let configured = Maker::new().env("AGUI_STATE_DIR", "/srv/state");
    assert_eq!(at(configured), made("/srv/state/threads.db"));
    // A folder that somebody names is not made: it may be a mistake.
    let named = Maker::new()
        .env("AGUI_STATE_DIR", "/srv/state")
        .env("AGUI_DATABASE", "/data/a.db");
    assert_eq!(at(named), Location::file("/data/a.db"));
    let none = Maker::new().env("AGUI_DATABASE", "");
    assert_eq!(at(none), Location::Memory);
    // In a file it starts at the file's folder.
    let beside = at(Maker::new().file("database = \"a.db\""));
    let Location::File { path, folder } = beside else {
        panic!("{beside:?}");
    };
    assert!(path.ends_with("etc/a.db") && folder == Folder::Expected);
}

#[test]
fn without_a_state_directory_the_database_has_to_be_named_or_switched_off() {
    let nowhere = || Maker::new().env("HOME", "").env("AGUI_TOKEN", "secret");
    let error = nowhere().fail();
    assert!(error.starts_with("take `database` from "), "{error}");
    assert!(
        error.contains("there is no state directory for it"),
        "{error}"
    );
    let off = nowhere().env("AGUI_DATABASE", "");
    assert_eq!(at(off), Location::Memory);
}

#[test]
fn bounds_reach_the_store_and_the_engine() {
    let settings = Maker::new()
        .file(
            "store_wait = \"3s\"\n[limits]\nmax_threads = 5\nthread_ttl = \"7days\"\n\
             transcript_bytes = \"1MiB\"\nmax_waiting = 2\nmax_state_threads = 3\nmax_state_bytes = \"4MiB\"\nlog_ttl = \"9s\"\n\
             [defaults]\nbusy = \"queue\"\n[agents.a]\ncore = \"demo\"\nbusy = \"replace\"\n\
             [agents.b]\ncore = \"demo\"",
        )
        .load()
        .unwrap();
    let store = &settings.store;
    assert_eq!(store.wait, Duration::from_secs(3));
    assert_eq!(store.max_threads, 5);
    assert_eq!(store.max_age, Some(Duration::from_hours(7 * 24)));
    let limits = &settings.engine.limits;
    assert_eq!(store.transcript_bytes, 1 << 20);
    assert_eq!((limits.max_waiting, limits.max_state_threads), (2, 3));
    assert_eq!(limits.max_state_bytes, 4 << 20);
    assert_eq!(limits.log_ttl, Duration::from_secs(9));
    let busy = |agent: usize| settings.engine.policy(&settings.agents[agent].name).busy;
    assert_eq!((busy(0), busy(1)), (Busy::Replace, Busy::Queue));
    let unknown = Maker::new().file("[defaults]\nbusy = \"wait\"").fail();
    assert!(
        unknown.contains("\"wait\" is none of reject, queue, replace"),
        "{unknown}"
    );
}

#[test]
fn a_bound_of_nothing_is_refused() {
    for (name, value) in [
        ("MAX_THREADS", "0"),
        ("MAX_STATE_THREADS", "0"),
        ("MAX_STATE_BYTES", "0"),
        ("TRANSCRIPT_BYTES", "0"),
        ("THREAD_TTL", "0s"),
    ] {
        let maker = Maker::new().env(&format!("AGUI_LIMITS__{name}"), value);
        let error = maker.fail();
        assert!(error.contains("zero would let nothing through"), "{error}");
    }
}
