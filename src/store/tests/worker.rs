//! The store's own thread.

use super::*;
use crate::store::Store;

#[tokio::test]
async fn a_closed_store_answers_as_if_there_were_nothing_and_never_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = Store::open(options(&path), Env::fixed(NOON)).unwrap();
    store.begin(&key("t"), says("r", &[])).await;
    let other = store.clone();
    tokio::join!(store.close(), other.close());
    store.close().await;
    store.begin(&key("u"), says("r", &[])).await;
    assert_eq!(store.look(&key("t"), None).await, (None, None));
    assert_eq!(store.list("ann", "coder", None, 9).await, Page::default());
    assert!(!store.forget(&key("t")).await);
    assert_eq!(store.sweep(Vec::new).await, []);
    // All is in the one file, and another daemon can have it at once.
    assert!(!folder.path().join("threads.db-wal").exists());
    let next = Store::open(options(&path), Env::fixed(NOON)).unwrap();
    assert!(next.look(&key("t"), None).await.0.is_some());
    assert!(next.look(&key("u"), None).await.0.is_none());
}

#[tokio::test]
async fn what_was_asked_for_before_the_end_is_done_even_if_nobody_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = Store::open(options(&path), Env::fixed(NOON)).unwrap();
    store.begin(&key("t"), says("r", &[])).await;
    {
        use futures_util::FutureExt as _;
        // Polled once, then dropped.
        let _ = store.bind(&key("t"), "s").now_or_never();
    }
    store.close().await;
    let next = Store::open(options(&path), Env::fixed(NOON)).unwrap();
    let thread = next.look(&key("t"), None).await.0.unwrap();
    assert_eq!(thread.session.as_deref(), Some("s"));
}

#[tokio::test]
async fn a_panic_in_the_middle_of_a_change_undoes_it_and_the_store_goes_on() {
    let store = Store::memory(Env::fixed(NOON));
    store.begin(&key("t"), says("r", &[])).await;
    let broken = |tiers: &mut Tiers| -> bool {
        tiers.write(&key("t"), |db| {
            db.execute("DELETE FROM agui_threads", [])?;
            panic!("as a test wants it")
        })
    };
    assert!(!store.0.call(broken).await);
    assert!(store.look(&key("t"), None).await.0.is_some());
    store.bind(&key("t"), "s").await;
    let thread = store.look(&key("t"), None).await.0.unwrap();
    assert_eq!(thread.session.as_deref(), Some("s"));
    store.close().await;
}

#[tokio::test]
async fn a_store_that_is_dropped_lets_go_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let store = Store::open(options(&path), Env::fixed(NOON)).unwrap();
    store.begin(&key("t"), says("r", &[])).await;
    drop(store);
    let waiting = Options {
        wait: Duration::from_secs(20),
        ..options(&path)
    };
    let next = Store::open(waiting, Env::fixed(NOON)).unwrap();
    assert!(next.look(&key("t"), None).await.0.is_some());
}
