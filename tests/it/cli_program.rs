//! How the program ends, seen from outside.

use std::net::TcpListener;

use rustix::process::Signal;

use crate::harness::{Ask, Program, Running, Stream, input, soon};

#[tokio::test]
async fn r22_an_idle_daemon_that_is_told_to_stop_is_gone_with_success() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let program = Program::new(&["--port", "0"]).with_token().serve().await;
        program.signal(signal);
        let ended = program.end().await;
        assert_eq!(ended.code, Some(0), "{signal:?}: {ended:?}");
        assert!(ended.stderr.contains("stopped"), "{ended:?}");
    }
}

#[tokio::test]
async fn r19_a_taken_port_is_exit_code_69_and_nothing_is_shown() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = Program::new(&["--port", &port]).with_token().end().await;
    assert_eq!(ended.code, Some(69));
    assert_eq!(ended.stdout, "");
    assert!(
        ended
            .stderr
            .starts_with("agui-serve: failed to listen on 127.0.0.1:")
    );
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_is_exit_code_78() {
    let token = ["--port", "0", "--token-file", "token"];
    let cases = [
        (
            Program::new(&["--port", "0"]).env("AGUI_PROT", "1"),
            "AGUI_PROT",
        ),
        (
            Program::new(&["--port", "0"]).env("AGUI_TOKEN", ""),
            "AGUI_TOKEN",
        ),
        (Program::new(&["--config", "none.toml"]), "none.toml"),
        (Program::new(&["--host", "0.0.0.0", "--no-token"]), "--host"),
        (Program::new(&["--log", "agui_serve=loud"]), "--log"),
        (Program::new(&["--", "nosuchprogram"]), "nosuchprogram"),
        #[cfg(feature = "acp")]
        (
            Program::new(&["--agent", "opencode"]),
            "npm install -g opencode-ai",
        ),
        #[cfg(feature = "acp")]
        (Program::new(&["--agent", "nobody"]), "opencode, pando"),
        (
            Program::new(&token).file("token", "secret\n", 0o640),
            "0640",
        ),
        (Program::new(&token).file("token", "\n", 0o600), "token"),
    ];
    for (mut program, named) in cases {
        let ended = program.end().await;
        assert_eq!(ended.code, Some(78), "{named}: {ended:?}");
        assert!(ended.stderr.contains(named), "{named}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
}

/// The program with this grace, in the middle of a run that goes on for minutes.
async fn slow_run(grace: &str) -> (Running, Stream) {
    let slow = Program::new(&["--port", "0"])
        .with_token()
        .env("AGUI_SHUTDOWN_GRACE", grace)
        .serve()
        .await;
    let ask = Ask::new(slow.addr(), "POST", "/agui/demo").json(&input("t", "r", "be slow"));
    let mut stream = ask.stream().await;
    stream.until("TEXT_MESSAGE_CONTENT").await;
    (slow, stream)
}

#[tokio::test]
async fn report_r82_a_run_that_is_under_way_gets_its_terminal_event_before_the_daemon_ends() {
    let (slow, stream) = slow_run("0s").await;
    slow.signal(Signal::TERM);
    let events = stream.collect().await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "RUN_FINISHED");
    assert_eq!(last["outcome"]["type"], "cancelled");
    assert_eq!(slow.end().await.code, Some(0));
}

#[tokio::test]
async fn report_r82_while_runs_have_their_grace_others_are_refused_and_a_second_signal_ends_it() {
    let (slow, stream) = slow_run("1h").await;
    slow.signal(Signal::TERM);
    // Whoever comes now is told to come again.
    let probe = Ask::new(slow.addr(), "GET", "/readyz");
    soon("the drain to be seen", async {
        while probe.send().await.head.status != 503 {}
    })
    .await;
    let refused = Ask::new(slow.addr(), "POST", "/agui/demo").json(&input("t2", "r", "say hello"));
    let refused = refused.send().await;
    assert_eq!(refused.code(), (503, "draining".into()));
    assert!(refused.head.header("retry-after").is_some());
    slow.signal(Signal::INT);
    let events = stream.collect().await;
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
    assert_eq!(slow.end().await.code, Some(0));
}

#[tokio::test]
async fn r08_the_token_is_in_nothing_that_is_shown_or_logged() {
    let program = Program::new(&["--port", "0", "--log", "trace"])
        .with_token()
        .serve()
        .await;
    let ask = Ask::new(program.addr(), "POST", "/agui/demo").json(&input("t", "r", "say hello"));
    ask.stream().await.collect().await;
    program.signal(Signal::TERM);
    let ended = program.end().await;
    assert!(ended.stderr.contains("run ended"), "the log says something");
    let token = crate::harness::TOKEN;
    assert!(!ended.stdout.contains(token) && !ended.stderr.contains(token));
}

#[tokio::test]
async fn a_log_that_is_no_terminal_is_one_json_object_a_line_even_when_a_core_panics() {
    let program = Program::new(&["--port", "0"]).with_token().serve().await;
    let ask = Ask::new(program.addr(), "POST", "/agui/demo").json(&input("t", "r", "panic"));
    let events = ask.stream().await.collect().await;
    assert_eq!(events.last().unwrap()["code"], "internal");
    program.signal(Signal::TERM);
    let ended = program.end().await;
    let records = ended.stderr.lines();
    let records: Vec<serde_json::Value> = records
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(records.iter().all(|record| record["level"].is_string()));
    assert!(records.iter().any(|record| record["message"] == "panicked"));
}

#[tokio::test]
async fn the_help_names_every_exit_code() {
    let ended = Program::new(&["--help"]).end().await;
    assert_eq!(ended.code, Some(0));
    let codes = ended.stdout.split("Exit codes:").nth(1).unwrap();
    for code in ["0 ", "1 ", "2 ", "69 ", "78 "] {
        assert!(codes.contains(code), "{code}");
    }
    for wrong in [&["--nonsense"][..], &["--agent", "pando", "--", "sh"]] {
        let ended = Program::new(wrong).end().await;
        assert_eq!(ended.code, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
#[cfg(feature = "acp")]
async fn the_log_warns_of_an_agent_that_asks_nobody_and_of_one_that_works_where_our_files_are() {
    let file =
        "[agents.free]\ncommand = \"sh\"\nmode = \"yolo\"\n[agents.tame]\ncommand = \"pando\"\n";
    let program = Program::new(&["--port", "0", "--config", "agui.toml"])
        .file("agui.toml", file, 0o644)
        .with_token()
        .serve()
        .await;
    program.signal(Signal::TERM);
    let ended = program.end().await;
    let warnings = ended.stderr.lines().filter(|line| line.contains("WARN"));
    let warnings: Vec<&str> = warnings.collect();
    assert_eq!(warnings.len(), 2, "{ended:?}");
    assert!(warnings[0].contains("free") && warnings[0].contains("yolo"));
    // They work in the home folder, where the daemon's own files are.
    for inside in ["threads.db", "agui.toml"] {
        assert!(warnings[1].contains(inside), "{}", warnings[1]);
    }
}
