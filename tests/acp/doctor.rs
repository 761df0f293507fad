//! `agui-serve doctor` on agents that are well and on some that are not.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;

use crate::desk::{Desk, Ended};

/// What it says, without what is only good to know, and whether all is well.
async fn findings(desk: &Desk) -> (Vec<String>, bool) {
    let Ended {
        code,
        stdout,
        stderr,
    } = desk.run(&["doctor"]).await;
    assert_eq!(stderr, "");
    let lines = stdout.lines().filter(|line| !line.starts_with("info"));
    (lines.map(str::to_owned).collect(), code == Some(0))
}

/// What it says of the fake agent with these arguments.
async fn of_agent(args: &[&str], beside: &str) -> (Vec<String>, bool) {
    let (lines, is_well) = findings(&Desk::with_agent(args, beside)).await;
    let lines = lines.into_iter().filter(|line| line.contains("agent fake"));
    let lines = lines.map(|line| line.replace("agent fake: ", ""));
    (lines.collect(), is_well)
}

#[tokio::test]
async fn an_agent_that_is_well_is_introduced_with_what_it_offers() {
    let args = ["--resume", "--modes", "ask,plan", "--logins", LOGINS];
    let (lines, is_well) = of_agent(&args, "").await;
    assert_eq!(
        lines,
        [
            "ok    fake 1 speaks ACP 1; resumes sessions; takes images; logs in by key, web",
            "ok    it opens a session; model: [fake-1]; mode: [ask] plan",
            "ok    it ended by itself",
        ]
    );
    assert!(is_well);
}

const LOGINS: &str = r#"[{"id": "key", "name": "By key"}, {"id": "web", "name": "By web"}]"#;

#[tokio::test]
async fn what_does_not_work_is_said_and_is_the_exit_code() {
    let quick = "start_timeout = \"100ms\"";
    for (args, beside, starts, ends) in [
        (
            &["--auth"][..],
            "",
            "fail  it needs a login; type: agui-serve login fake",
            "",
        ),
        (
            &["--mute"],
            quick,
            "fail  ",
            "no answer to initialize in 100ms",
        ),
        (
            &["--version", "2"],
            "",
            "fail  ",
            "did not answer as an ACP agent",
        ),
        (&["--exit", "3"], "", "fail  ", "it cannot go on"),
        (
            &[],
            "mode = \"nope\"",
            "warn  it offers no mode \"nope\"",
            "",
        ),
        (
            &["--modes", "ask,yolo"],
            "mode = \"yolo\"",
            "warn  in the mode \"yolo\" it asks nobody",
            "",
        ),
    ] {
        let (lines, is_well) = of_agent(args, beside).await;
        let found = lines.iter();
        let found = found.filter(|line| line.starts_with(starts) && line.contains(ends));
        assert_eq!(found.count(), 1, "{args:?}: {lines:#?}");
        assert_eq!(is_well, starts.starts_with("warn"), "{args:?}");
    }
}

#[tokio::test]
async fn what_it_took_to_end_an_agent_is_said() {
    let desk = Desk::new();
    let agent = crate::stage::fake_agent();
    let agent = agent.to_str().unwrap();
    desk.configure(&format!(
        "[agents.stays]\ncommand = \"{agent}\"\nargs = [\"--no-eof\"]\n\
         [agents.deaf]\ncommand = \"sh\"\nargs = [\"-c\", 'trap \"\" TERM; exec \"$0\" --no-eof', \"{agent}\"]"
    ));
    let (lines, is_well) = findings(&desk).await;
    for line in [
        "ok    agent stays: it ended when it was told to",
        "warn  agent deaf: it had to be killed",
    ] {
        assert!(lines.iter().any(|found| found == line), "{lines:#?}");
    }
    assert!(is_well);
}

/// An agent of a few lines, which notes what it is asked.
const NOTING: &str = r#"
while read -r line; do
  id=$(echo "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
  method=$(echo "$line" | sed 's/.*"method":"\([^"]*\)".*/\1/')
  session=$(echo "$line" | sed -n 's/.*"sessionId":"\([^"]*\)".*/\1/p')
  echo "$method $session" >> "$HOME/asked"
  case $method in
    initialize) answer='{"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": {"close": {}, "delete": {}}}}' ;;
    session/new) answer='{"sessionId": "first"}' ;;
    *) answer='{}' ;;
  esac
  echo "{\"jsonrpc\": \"2.0\", \"id\": $id, \"result\": $answer}"
done"#;

#[tokio::test]
async fn no_session_is_left_with_an_agent_that_can_remove_it() {
    let desk = Desk::new();
    desk.install_script("noting", NOTING);
    desk.configure("[agents.noting]\ncommand = \"noting\"");
    let (lines, is_well) = findings(&desk).await;
    assert!(is_well, "{lines:#?}");
    let asked = fs::read_to_string(desk.path("asked")).unwrap();
    let asked: Vec<_> = asked.lines().map(str::trim_end).collect();
    let expected = [
        "initialize",
        "session/new",
        "session/close first",
        "session/delete first",
    ];
    assert_eq!(asked, expected);
}

#[tokio::test]
async fn with_no_agent_configured_those_that_are_installed_are_looked_at() {
    let desk = Desk::new();
    let none = desk.run(&["doctor"]).await;
    assert_eq!(none.code, Some(0), "{none:?}");
    assert!(none.stdout.contains("warn  agents: none is configured"));

    desk.install("opencode");
    let ended = desk.run(&["doctor"]).await;
    for line in [
        "info  agent codex: it is not installed; to install it: npm install -g @agentclientprotocol/codex-acp\n",
        "ok    agent opencode: fake 1 speaks ACP 1; ",
        "warn  agent opencode: version 1 is older than 1.18.33, the oldest that is known to work; \
         to renew it: npm install -g opencode-ai\n",
        "ok    agent opencode: it ended by itself\n",
        "info  agent opencode: It hangs when a sub-agent needs a permission",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
    assert_eq!(ended.code, Some(0));
}

#[tokio::test]
async fn the_address_the_token_and_the_configuration_are_looked_at_too() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let is_taken = format!(
        "fail  address: 127.0.0.1:{port} is taken, by a daemon that runs already or by another program"
    );
    for (words, file, line) in [
        (&["--port", &*port][..], "", &*is_taken),
        (&[], "", "ok    address: 127.0.0.1:0 is free"),
        (
            &[],
            "token_file = \"token\"\nrequire_token = true",
            "ok    token: environment variable AGUI_TOKEN",
        ),
        (
            &[],
            "require_token = false",
            "warn  token: none is asked for: whoever reaches the port drives the agents",
        ),
        (
            &[],
            "[agents.away]\npreset = \"cline\"",
            "fail  agent away: no program of this name is in PATH; to install it: npm install -g cline",
        ),
        (
            &[],
            "[agents.show]\ncore = \"demo\"",
            "ok    agent show: it is built in",
        ),
    ] {
        let desk = Desk::new();
        desk.configure(&format!("{file}\n[agents.demo]\ncore = \"demo\""));
        let ended = desk.run(&[&["doctor"], words].concat()).await;
        let lines: Vec<_> = ended.stdout.lines().collect();
        assert!(lines.contains(&line), "{line}: {lines:#?}");
        assert_eq!(ended.code, Some(i32::from(line.starts_with("fail"))));
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_all_that_is_said() {
    let desk = Desk::new();
    desk.configure("prot = 1");
    let (lines, is_well) = findings(&desk).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("fail  configuration: failed to take `prot` from "));
    assert!(!is_well);
}

#[tokio::test]
async fn a_token_that_others_can_read_is_a_failure_and_none_is_made() {
    let desk = Desk::new();
    let file = desk.path("token");
    fs::write(&file, "secret").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    desk.configure("[agents.demo]\ncore = \"demo\"");
    let ended = desk.run(&["doctor", "--token-file", "token"]).await;
    assert!(ended.stdout.contains("run chmod 600 on it"), "{ended:?}");
    assert_eq!(ended.code, Some(1));
    assert!(!desk.path(".local").exists());
}

#[tokio::test]
async fn a_machine_reads_one_object() {
    let desk = Desk::with_agent(&["--auth"], "");
    let ended = desk.run(&["doctor", "--json"]).await;
    let read: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(read["ok"], false);
    let findings = read["findings"].as_array().unwrap();
    let failed: Vec<_> = findings
        .iter()
        .filter(|finding| finding["level"] == "fail")
        .collect();
    assert_eq!(failed.len(), 1, "{findings:#?}");
    assert_eq!(failed[0]["about"], "agent fake");
    assert_eq!(ended.code, Some(1));
}
