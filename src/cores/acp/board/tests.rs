use serde_json::json;

use super::*;

fn said(session: &str, text: &str) -> Incoming {
    Incoming::Update(json!({"sessionId": session, "update": {"text": text}}))
}

fn texts(kept: &Kept) -> Vec<&str> {
    let updates = kept.said.iter().map(|it| &it.params()["update"]);
    updates
        .map(|update| update["text"].as_str().unwrap())
        .collect()
}

fn conversation(session: &str) -> Conversation {
    Conversation {
        thread: ThreadId::new("t").unwrap(),
        session: session.into(),
    }
}

/// A process's side of a board.
fn side(process: u64) -> Side {
    Side {
        board: Arc::default(),
        process: Number(process),
    }
}

fn listen(side: &Side, session: &str) -> (Hearing, Kept) {
    listen_as(side, &conversation(session)).unwrap()
}

fn listen_as(side: &Side, conversation: &Conversation) -> Option<(Hearing, Kept)> {
    let mut hearing = side.board.listen(side.process, conversation)?;
    let kept = hearing.take_kept();
    Some((hearing, kept))
}

#[tokio::test]
async fn what_is_said_while_nobody_listens_is_kept_for_the_next_who_does() {
    let side = side(1);
    side.hand_on(said("a", "one"), None).await;
    side.hand_on(said("b", "other"), None).await;
    let (mut hearing, kept) = listen(&side, "a");
    assert_eq!(texts(&kept), ["one"]);
    side.hand_on(said("a", "two"), None).await;
    hearing.stop();
    side.hand_on(said("a", "three"), None).await;
    let (Incoming::Update(two), _) = hearing.next().await.unwrap() else {
        panic!("it was said before");
    };
    assert_eq!(two["update"]["text"], "two");
    assert!(hearing.next().await.is_none());
    let (_, kept) = listen(&side, "a");
    assert_eq!(texts(&kept), ["three"]);
}

#[tokio::test]
async fn a_sub_agent_is_heard_by_whoever_hears_the_session_that_has_announced_it() {
    let side = side(1);
    let (mut hearing, _) = listen(&side, "root");
    let announced = |parent: &str, child: &str| {
        let update = json!({"sessionUpdate": "subagent_update", "sessionId": child});
        Incoming::Update(json!({"sessionId": parent, "update": update}))
    };
    side.hand_on(announced("root", "child"), None).await;
    side.hand_on(announced("child", "grandchild"), None).await;
    side.hand_on(said("grandchild", "deep"), None).await;
    let mut heard = Vec::new();
    hearing.stop();
    while let Some((it, _)) = hearing.next().await {
        heard.push(it.params()["sessionId"].as_str().unwrap().to_owned());
    }
    assert_eq!(heard, ["root", "child", "grandchild"]);
}

#[tokio::test]
async fn what_is_kept_is_bounded_and_what_is_lost_is_counted() {
    let side = side(1);
    let long = "x".repeat(KEPT / 4);
    for _ in 0..5 {
        side.hand_on(said("a", &long), None).await;
    }
    let (_, kept) = listen(&side, "a");
    assert_eq!((kept.said.len(), kept.lost), (3, 2));
    assert_eq!(side.board.lines.lock().bytes, 0);
    for n in 0..2 * SESSIONS.get() {
        side.hand_on(said(&n.to_string(), ""), None).await;
    }
    assert_eq!(side.board.lines.lock().kept.len(), SESSIONS.get());
}

#[tokio::test]
async fn processes_that_name_their_sessions_alike_are_told_apart() {
    let (one, two) = (side(1), side(2));
    let two = Side {
        board: Arc::clone(&one.board),
        ..two
    };
    let (_, kept) = listen(&one, "a");
    assert!(kept.said.is_empty());
    two.hand_on(said("a", "theirs"), None).await;
    one.hand_on(said("a", "late"), None).await;
    let other = Conversation {
        thread: ThreadId::new("other").unwrap(),
        ..conversation("a")
    };
    let (_, kept) = listen_as(&two, &other).unwrap();
    assert_eq!(texts(&kept), ["theirs"]);
    let three = Side {
        process: Number(3),
        ..two.clone()
    };
    let (_, kept) = listen(&three, "a");
    assert_eq!(texts(&kept), ["late"], "it follows its thread");
    let stranger = listen_as(&two, &conversation("a"));
    assert!(stranger.is_none(), "it is another thread's");
}

#[tokio::test]
async fn a_turn_that_stops_listening_twice_does_not_stop_the_next_one() {
    let side = side(1);
    let (mut first, _) = listen(&side, "a");
    first.stop();
    let (mut second, _) = listen(&side, "a");
    drop(first);
    side.hand_on(said("a", "heard"), None).await;
    second.stop();
    assert!(second.next().await.is_some());
}
