//! Named tokens: who is let in as whom, how they are configured, and that none is ever shown but once.

use agui_serve::{
    config::tokens::{BadToken, Grant},
    deps::{Principal, SessionRef, StopReason},
    http::{Digest, Secret},
};
use rustix::process::Signal;

use crate::{
    config_layers::Maker,
    harness::{Ask, Daemon, Program, Puppet, TOKEN, Turn, input},
};

/// Who has a token of their own, and what it is.
const KNOWN: [(&str, &str); 2] = [("alice", "token-of-alice"), ("bob", "token-of-bob")];

fn by(ask: Ask, token: &str) -> Ask {
    ask.header("authorization", &format!("Bearer {token}"))
}

fn digest(token: &str) -> String {
    Digest::of(&Secret::new(token).unwrap()).to_string()
}

#[tokio::test]
async fn r14_a_named_token_lets_in_the_one_whose_it_is_and_no_other_token_anybody() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build().agent("demo", puppet).tokens(&KNOWN).start();
    for (name, token) in KNOWN {
        let info = by(daemon.ask("GET", "/agui/info"), token).send().await;
        assert_eq!(info.head.status, 200);
        let run = by(daemon.post(&input("t1", "r1", "go")), token);
        let stream = run.stream().await;
        let turn = Turn::next(&mut turns).await;
        assert_eq!(turn.request.principal.as_str(), name);
        turn.end(Ok(StopReason::EndTurn));
        stream.collect().await;
    }
    let shown = digest("token-of-alice");
    for wrong in [TOKEN, "alice", "token-of-alic", &shown] {
        for ask in [
            daemon.ask("GET", "/agui/info"),
            daemon.post(&input("t1", "r1", "go")),
        ] {
            let answer = by(ask, wrong).send().await;
            assert_eq!(answer.code(), (401, "unauthorized".into()), "{wrong}");
        }
    }
    assert_eq!(daemon.turns(), 2);
    daemon.stop().await;
}

#[tokio::test]
async fn report_r22_two_callers_use_one_thread_id_and_do_not_meet() {
    let (puppet, mut turns) = Puppet::new();
    let daemon = Daemon::build().agent("demo", puppet).tokens(&KNOWN).start();
    let run = |token: &str, run: &str| by(daemon.post(&input("main", run, "go")), token);
    let [alice, bob] = KNOWN.map(|(_, token)| token);

    let of_alice = run(alice, "r1").stream().await;
    let first = Turn::next(&mut turns).await;
    first.io.bind(SessionRef::new("alices")).await.unwrap();
    // A run of the same id on a thread of the same id, while the other one is live.
    let of_bob = run(bob, "r1").stream().await;
    let second = Turn::next(&mut turns).await;
    assert_eq!(second.request.principal.as_str(), "bob");
    assert_eq!(second.request.session.known(), None);
    second.io.bind(SessionRef::new("bobs")).await.unwrap();
    for (turn, word) in [(&first, "for alice"), (&second, "for bob")] {
        turn.say(word).await;
    }
    for (turn, stream, mine, other) in [
        (first, of_alice, "for alice", "bob"),
        (second, of_bob, "for bob", "alice"),
    ] {
        turn.end(Ok(StopReason::EndTurn));
        let events = serde_json::to_string(&stream.collect().await).unwrap();
        assert!(events.contains(mine) && !events.contains(other), "{events}");
    }
    for (token, session) in [(alice, "alices"), (bob, "bobs")] {
        let stream = run(token, "r2").stream().await;
        let turn = Turn::next(&mut turns).await;
        let known = turn.request.session.known().map(SessionRef::as_str);
        assert_eq!(known, Some(session));
        turn.end(Ok(StopReason::EndTurn));
        stream.collect().await;
    }
    daemon.stop().await;
}

#[test]
fn r16_beside_named_tokens_a_plain_one_counts_only_if_somebody_chose_it() {
    let file = format!("[tokens]\nalice = \"{}\"", digest("token-of-alice"));
    let named = || Maker::new().file(&file);
    let names = |settings: &agui_serve::config::Settings| {
        let names = settings.tokens.iter();
        names.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    let alone = named().load().unwrap();
    assert_eq!((names(&alone), alone.token), (vec!["alice".into()], None));
    let both = named().env("AGUI_TOKEN", "x").load().unwrap();
    assert!(both.token.is_some() && both.tokens.len() == 1);
    let variable = digest("token-of-bob");
    let two = named().env("AGUI_TOKENS__BOB", &variable).load().unwrap();
    assert_eq!(names(&two), ["alice", "bob"]);
    // As ever where there are none.
    assert!(Maker::new().load().unwrap().token.is_some());
}

#[test]
fn what_cannot_be_told_apart_or_used_is_refused_with_its_place_and_not_repeated() {
    let good = digest("token-of-alice");
    for (file, key, why) in [
        (
            "[tokens]\nalice = \"token-of-alice\"",
            "tokens.alice",
            "`agui-serve token alice`",
        ),
        (
            "[tokens]\nalice = \"sha256:token-of-alice\"",
            "tokens.alice",
            "64 hexadecimal",
        ),
        ("[tokens]\nlocal = \"GOOD\"", "tokens.local", "not `local`"),
        (
            "[tokens]\n\"a b\" = \"GOOD\"",
            "tokens.a b",
            "1 to 64 letters",
        ),
        (
            "[tokens]\nalice = \"GOOD\"\nbob = \"GOOD\"",
            "tokens.bob",
            "alice has the same token",
        ),
        (
            "require_token = false\n[tokens]\nalice = \"GOOD\"",
            "require_token",
            "[tokens] says",
        ),
    ] {
        let error = Maker::new().file(&file.replace("GOOD", &good)).fail();
        let place = format!("take `{key}` from ");
        assert!(error.starts_with(&place) && error.contains(why), "{error}");
        assert!(!error.contains("token-of-alice"), "{error}");
    }
    let flag = Maker::new()
        .file(&format!("[tokens]\nalice = \"{good}\""))
        .flag("--no-token", &["require_token"], "false");
    assert!(flag.fail().contains("from --no-token"));
}

#[test]
fn r17_named_tokens_are_configured_ones() {
    let file = format!("host = \"0.0.0.0\"\n[tokens]\nalice = \"{}\"", digest("x"));
    let error = Maker::new().file(&file).fail();
    assert!(
        error.contains("without TLS") && !error.contains("token"),
        "{error}"
    );
}

/// The values that stand alone on a line of what was shown, and the line of the configuration.
fn parts(shown: &str) -> (Option<&str>, &str) {
    let line = shown
        .lines()
        .map(str::trim)
        .find(|line| line.contains(" = "));
    let token = shown
        .lines()
        .map(str::trim)
        .find(|line| line.len() == 64 && !line.contains(' '));
    (token, line.unwrap())
}

#[tokio::test]
async fn a_token_that_was_made_for_somebody_works_and_is_never_seen_again() {
    let mut program = Program::new(&["token", "alice"]);
    let made = program.end().await;
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
    let left = std::fs::read_dir(program.home.path()).unwrap().count();
    assert_eq!(left, 0, "nothing is written");
    let (token, line) = parts(&made.stdout);
    let token = token.unwrap();
    let (_, digest) = line.split_once("sha256:").unwrap();
    let file = format!("[tokens]\n{line}\n");

    let config = Program::new(&["config", "--config", "agui.toml"])
        .file("agui.toml", &file, 0o644)
        .end()
        .await;
    assert!(config.stdout.contains("# tokens of: alice\n"), "{config:?}");
    assert!(!config.stdout.contains("# token:"), "{config:?}");
    let short = format!("alice = \"sha256:{}…\"  # ", &digest[..8]);
    assert!(config.stdout.contains(&short), "{config:?}");
    assert!(!config.stdout.contains(&digest[..9]), "{config:?}");

    let program = Program::new(&["--port", "0", "--config", "agui.toml"])
        .file("agui.toml", &file, 0o644)
        .serve()
        .await;
    assert!(
        program.screen.contains("tokens of: alice;"),
        "{}",
        program.screen
    );
    assert!(
        program.screen.contains("Bearer $AGUI_TOKEN"),
        "{}",
        program.screen
    );
    let ask = || Ask::new(program.addr(), "GET", "/agui/info");
    assert_eq!(by(ask(), token).send().await.head.status, 200);
    assert_eq!(ask().send().await.head.status, 401);
    program.signal(Signal::TERM);
    let ended = program.end().await;
    for text in [&ended.stdout, &ended.stderr] {
        assert!(
            !text.contains(token) && !text.contains(&digest[..9]),
            "{text}"
        );
    }
    assert!(ended.stderr.contains("alice"), "{ended:?}");
}

#[tokio::test]
async fn a_plain_token_that_is_somebodys_own_as_well_is_refused() {
    let file = format!("[tokens]\nalice = \"{}\"\n", digest(TOKEN));
    let ended = Program::new(&["--port", "0", "--config", "agui.toml"])
        .file("agui.toml", &file, 0o644)
        .with_token()
        .end()
        .await;
    assert_eq!(ended.code, Some(78), "{ended:?}");
    let why = "AGUI_TOKEN: alice and local have the same token";
    assert!(ended.stderr.contains(why), "{ended:?}");
}

#[tokio::test]
async fn a_name_that_cannot_be_is_wrong_usage() {
    for name in ["local", "two words", "", "a/b"] {
        let ended = Program::new(&["token", name]).end().await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stdout, "", "{ended:?}");
    }
}

#[test]
fn a_token_that_is_there_already_is_hashed_and_not_shown() {
    let alice = || Principal::new("alice.b").unwrap();
    let own = "a-token-of-my-own-choice";
    let shown = Grant::of(alice(), &format!("{own}\n")).unwrap().show();
    assert_eq!(
        parts(&shown),
        (None, format!("\"alice.b\" = \"{}\"", digest(own)).as_str())
    );
    assert!(!shown.contains(own), "{shown}");
    assert_eq!(Grant::of(alice(), "short\n").unwrap_err(), BadToken::Short);
    for bad in ["", "two words, and quite long ones"] {
        let error = Grant::of(alice(), bad).unwrap_err();
        assert!(matches!(error, BadToken::Unusable(_)), "{bad}");
    }
    let fresh = Grant::new(alice());
    let shown = fresh.show();
    let token = parts(&shown).0.unwrap();
    assert!(!format!("{fresh:?}").contains(token));
    assert_ne!(shown, Grant::new(alice()).show());
}
