//! Readers of one log, early and late, awake and asleep.

use super::*;

fn entry(text: &'static str) -> Entry {
    Entry {
        current: Bytes::from_static(text.as_bytes()),
        legacy: Form::Same,
        is_quiet: false,
    }
}

fn log(limit: usize) -> Arc<Log> {
    Log::new("log".into(), limit, Budget::new(1 << 20))
}

async fn rest(cursor: &mut Cursor) -> (String, Step) {
    let mut text = String::new();
    loop {
        match cursor.next().await {
            Step::Frames(frames) => {
                for frame in frames {
                    text.push_str(std::str::from_utf8(&frame).unwrap());
                }
            }
            end => return (text, end),
        }
    }
}

#[tokio::test]
async fn early_and_late_readers_see_the_same() {
    let log = log(1 << 20);
    let mut early = log.cursor(Peer::Current);
    log.append([entry("a"), entry("b")].into_iter());
    let mut late = log.cursor(Peer::Current);
    log.append([entry("c")].into_iter());
    log.close();
    assert_eq!(rest(&mut early).await, ("abc".into(), Step::End));
    assert_eq!(rest(&mut late).await, ("abc".into(), Step::End));
}

#[tokio::test]
async fn a_reader_that_falls_out_of_the_window_is_told() {
    let log = log(3);
    let mut behind = log.cursor(Peer::Current);
    let mut beside = log.cursor(Peer::Current);
    log.append([entry("aa")].into_iter());
    assert!(matches!(beside.next().await, Step::Frames(_)));
    log.append([entry("bb")].into_iter());
    log.close();
    assert_eq!(behind.next().await, Step::Gap);
    assert_eq!(rest(&mut beside).await, ("bb".into(), Step::End));
}

#[tokio::test]
async fn an_older_client_reads_its_own_form_and_skips_what_it_cannot_read() {
    let log = log(1 << 20);
    let mut legacy = log.cursor(Peer::Legacy);
    let differs = |legacy| Entry {
        current: Bytes::from_static(b"new"),
        legacy,
        is_quiet: false,
    };
    log.append([differs(Form::Omitted)].into_iter());
    log.append(
        [
            entry("a"),
            differs(Form::Instead(Bytes::from_static(b"old"))),
        ]
        .into_iter(),
    );
    log.append([differs(Form::Omitted)].into_iter());
    log.close();
    assert_eq!(rest(&mut legacy).await, ("aold".into(), Step::End));
    assert_eq!(rest(&mut log.cursor(Peer::Current)).await.0, "newanewnew");
}

#[tokio::test]
async fn report_r66_all_logs_are_bounded_and_the_one_that_keeps_the_most_gives_way() {
    let budget = Budget::new(10);
    let stuck = Log::new("log".into(), 100, Arc::clone(&budget));
    let mut asleep = stuck.cursor(Peer::Current);
    for _ in 0..9 {
        stuck.append([entry("x")].into_iter());
    }
    let log = Log::new("log".into(), 100, Arc::clone(&budget));
    let mut awake = log.cursor(Peer::Current);
    for text in ["a", "b", "c"] {
        log.append([entry(text)].into_iter());
    }
    log.close();
    assert_eq!(rest(&mut awake).await, ("abc".into(), Step::End));
    assert_eq!(asleep.next().await, Step::Gap);
    assert!(!budget.is_exceeded());
    drop((stuck, asleep, log, awake));
    assert_eq!(budget.used.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_readers_see_every_entry_once_and_in_order() {
    let log = log(1 << 20);
    let readers: Vec<_> = (0..8)
        .map(|_| {
            let log = Arc::clone(&log);
            tokio_util::task::TaskTracker::new()
                .spawn(async move { rest(&mut log.cursor(Peer::Current)).await })
        })
        .collect();
    let mut all = String::new();
    for i in 0..500 {
        let text = format!("{i};");
        all.push_str(&text);
        log.append(
            [Entry {
                current: Bytes::from(text),
                legacy: Form::Same,
                is_quiet: false,
            }]
            .into_iter(),
        );
        if i % 16 == 0 {
            tokio::task::yield_now().await;
        }
    }
    log.close();
    for reader in readers {
        assert_eq!(reader.await.unwrap(), (all.clone(), Step::End));
    }
}

fn quiet(text: &'static str) -> Entry {
    Entry {
        is_quiet: true,
        ..entry(text)
    }
}

#[tokio::test]
async fn a_marked_reader_is_told_the_places_that_it_can_come_back_to() {
    let log = log(1 << 20);
    let omitted = Entry {
        legacy: Form::Omitted,
        ..quiet("new")
    };
    log.append([quiet("a"), entry("b"), quiet("c"), omitted, quiet("end")].into_iter());
    log.close();
    let marked = |peer| log.cursor(peer).marked();
    let all = "aid: log.1\n\nbcid: log.3\n\nnewid: log.4\n\nendid: log.5\n\n";
    assert_eq!(rest(&mut marked(Peer::Current)).await.0, all);
    let older = "aid: log.1\n\nbcid: log.3\n\nendid: log.5\n\n";
    assert_eq!(rest(&mut marked(Peer::Legacy)).await.0, older);
    assert_eq!(rest(&mut log.cursor(Peer::Current)).await.0, "abcnewend");
    for (last, expected) in [("log.1", "bcnewend"), ("log.3", "newend"), ("log.5", "")] {
        let mut cursor = log.resume(Peer::Current, last).unwrap();
        assert_eq!(rest(&mut cursor).await, (expected.into(), Step::End));
    }
}

#[tokio::test]
async fn a_place_that_is_no_longer_here_or_never_was_one_is_none() {
    let log = log(4);
    log.append([quiet("a"), entry("b"), quiet("c"), entry("d"), entry("e")].into_iter());
    for last in [
        "log.0",
        "log.2",
        "log.4",
        "log.5",
        "log.6",
        "log.99",
        "other.3",
        "log",
        "log.",
        "log.-1",
        "",
        ".3",
        "log.18446744073709551615",
        "log.18446744073709551616",
    ] {
        assert!(log.resume(Peer::Current, last).is_none(), "{last}");
    }
    // The first one that is kept may begin at a place.
    assert!(log.resume(Peer::Current, "log.1").is_some());
    log.append([entry("f")].into_iter());
    assert!(log.resume(Peer::Current, "log.1").is_none());
    assert!(log.resume(Peer::Current, "log.3").is_some());
}
