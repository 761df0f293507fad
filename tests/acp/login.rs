//! `agui-serve login`, by every way that agents have.

use crate::desk::Desk;

/// A login in a terminal, and one that the agent does itself.
const BOTH: &str = r#"[
    {"id": "tui", "name": "In a terminal", "type": "terminal", "args": ["--logging-in", "0"], "env": {"VIA": "1"}},
    {"id": "web", "name": "On a page"}
]"#;

#[tokio::test]
async fn a_known_agent_logs_in_by_its_own_command() {
    let coder =
        "[agents.coder]\npreset = \"opencode\"\nworkdir = \"bin\"\nenv = { MINE = \"mine\" }";
    for (name, file, folder, variable) in
        [("opencode", "", "", ""), ("coder", coder, "bin", "mine")]
    {
        let desk = Desk::new();
        desk.install_script(
            "opencode",
            "echo \"$0 $* in $PWD with $SOME_KEY$MINE\"; exit 4",
        );
        desk.configure(file);
        let ended = desk.run(&["login", name]).await;
        let said = ended.stdout.lines().last().unwrap();
        let folder = desk.path(folder);
        let folder = folder.to_str().unwrap().trim_end_matches('/');
        let expected = format!("auth login in {folder} with {variable}");
        assert!(said.ends_with(&expected), "{said}");
        assert_eq!(ended.code, Some(4), "as the agent ends");
    }
}

#[tokio::test]
async fn an_agent_that_logs_in_in_a_terminal_gets_this_one_and_sees_what_it_always_sees() {
    let desk = Desk::with_agent(&["--logins", BOTH], "");
    let ended = desk.run(&["login", "fake", "--method", "tui"]).await;
    let home = desk.path("");
    let home = home.to_str().unwrap().trim_end_matches('/');
    let shown = ended.stdout.lines().next().unwrap();
    assert!(shown.starts_with("VIA=1 "), "{shown}");
    let line = format!("it logs in, in {home}\n");
    assert!(ended.stdout.contains(&line), "{ended:?}");
    let seen = ended.stdout.split("it sees ").nth(1).unwrap();
    assert_eq!(seen.trim(), "HOME,PATH,VIA");
    assert_eq!(ended.code, Some(0));
}

#[tokio::test]
async fn an_agent_that_logs_in_itself_is_asked_to_and_what_it_says_is_shown() {
    let desk = Desk::with_agent(&["--logins", BOTH], "");
    let ended = desk.run(&["login", "fake", "--method", "web"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("open this page"), "{ended:?}");
    assert!(ended.stdout.ends_with("fake is logged in\n"), "{ended:?}");

    // The only one need not be named.
    let fails = r#"[{"id": "fails", "name": "Never"}]"#;
    let desk = Desk::with_agent(&["--logins", fails], "");
    let ended = desk.run(&["login", "fake"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("nobody came"), "{ended:?}");
}

#[tokio::test]
async fn what_cannot_be_logged_in_to_is_an_error_that_says_what_can() {
    let desk = Desk::with_agent(&["--logins", BOTH], "[agents.demo]\ncore = \"demo\"");
    for (words, says) in [
        (
            &["login", "fake"][..],
            "it offers several logins, choose one:\n  --method tui  In a terminal\n  --method web  On a page",
        ),
        (
            &["login", "fake", "--method", "x"],
            "it has no login \"x\", only:",
        ),
        (&["login", "demo"], "the demo needs no login"),
        (
            &["login", "nobody"],
            "no agent of this name is configured or known",
        ),
        (
            &["login", "pando"],
            "to install it: the instructions of its own project",
        ),
    ] {
        let ended = desk.run(words).await;
        assert!(ended.stderr.contains(says), "{words:?}: {ended:?}");
        assert_ne!(ended.code, Some(0));
    }
    let mute = Desk::with_agent(&["--logins", "[]"], "");
    let ended = mute.run(&["login", "fake"]).await;
    assert!(ended.stderr.contains("it offers no login"), "{ended:?}");
}
