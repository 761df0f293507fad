//! The first screen, and what `agui-serve config` prints.

use std::{os::unix::fs::PermissionsExt, process::Stdio};

use rustix::process::Signal;
use tokio::process::Command;

use crate::harness::{Program, soon};

/// The line of the screen that can be pasted.
fn curl(screen: &str) -> &str {
    screen
        .lines()
        .find(|line| line.starts_with("curl "))
        .unwrap()
}

#[tokio::test]
async fn r20_the_screen_says_what_is_served_where_and_in_which_folder() {
    let program = Program::new(&["--port", "0", "--", "sh", "-c", "exit"])
        .with_token()
        .serve()
        .await;
    assert_ne!(program.addr().port(), 0);
    let screen = &program.screen;
    assert!(
        screen.contains(&format!("{}/sh\n", program.url())),
        "{screen}"
    );
    assert!(screen.contains("sh (acp), works in /"), "{screen}");
    assert!(!screen.contains("demo"), "a program is served alone");
    assert!(screen.contains("AGUI_TOKEN"), "{screen}");
    program.signal(Signal::TERM);
    program.end().await;
}

#[tokio::test]
async fn the_screen_says_which_agent_cannot_run_yet() {
    let file = "[agents.away]\ncommand = \"no-such-program\"\n[agents.coder]\npreset = \"codex\"\n\
                [agents.here]\ncommand = \"sh\"\n";
    let program = Program::new(&["--port", "0", "--config", "agui.toml"])
        .file("agui.toml", file, 0o644)
        .with_token()
        .serve()
        .await;
    let (away, here) = program.screen.split_once("/agui/here").unwrap();
    let (away, coder) = away.split_once("/agui/coder").unwrap();
    assert!(
        coder.contains("to install it: npm install -g @agentclientprotocol/codex-acp\n"),
        "{coder}"
    );
    assert!(!away.contains("install"), "{away}");
    assert!(
        away.contains("it cannot run yet: no program of this name is in PATH"),
        "{away}"
    );
    assert!(!here.contains("cannot run"), "{here}");
    program.signal(Signal::TERM);
    program.end().await;
}

#[tokio::test]
async fn the_printed_line_streams_a_run_with_a_made_token_as_with_one_from_the_environment() {
    for configured in [false, true] {
        let mut program = Program::new(&["--port", "0"]);
        if configured {
            program = program.with_token();
        }
        let program = program.serve().await;
        let run = Command::new("sh")
            .arg("-c")
            .arg(curl(&program.screen))
            .env("AGUI_TOKEN", crate::harness::TOKEN)
            .stdin(Stdio::null())
            .output();
        let output = soon("curl", run).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\"RUN_STARTED\""), "{text}");
        assert!(text.contains("\"RUN_FINISHED\""), "{text}");
        program.signal(Signal::TERM);
        program.end().await;
    }
}

#[tokio::test]
async fn every_start_prints_another_thread() {
    let mut threads = Vec::new();
    for _ in 0..2 {
        let program = Program::new(&["--port", "0", "--no-token"]).serve().await;
        let (_, thread) = curl(&program.screen).split_once("\"threadId\":").unwrap();
        threads.push(thread.split(',').next().unwrap().to_owned());
    }
    assert_ne!(threads[0], threads[1]);
}

#[tokio::test]
async fn a_token_that_was_made_is_in_a_private_file_and_not_on_a_screen_that_is_no_terminal() {
    let program = Program::new(&["--port", "0"]);
    let path = program.home.path().join(".local/state/agui-serve/token");
    let running = program.serve().await;
    let token = std::fs::read_to_string(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(running.screen.contains(path.to_str().unwrap()));
    assert!(!running.screen.contains(token.trim()));
}

#[tokio::test]
async fn what_is_in_force_is_printed_with_its_source_and_without_secrets() {
    let file =
        "path = \"/x\"\nport = 1\n[agents.one]\ncommand = \"sh\"\nenv = { KEY = \"hidden-1\" }\n";
    let ended = Program::new(&["config", "--config", "agui.toml", "--port", "3"])
        .file("agui.toml", file, 0o644)
        .env("AGUI_NAMESPACE", "mine")
        .env("AGUI_TOKEN", "hidden-2")
        .end()
        .await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for line in [
        "# token: environment variable AGUI_TOKEN",
        "port = 3  # --port",
        "namespace = \"mine\"  # environment variable AGUI_NAMESPACE",
        "require_token = true  # default",
        "KEY = \"(not shown)\"",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
    let path = ended
        .stdout
        .lines()
        .find(|line| line.starts_with("path = "));
    assert!(path.unwrap().ends_with("agui.toml, line 1"), "{path:?}");
    assert!(!ended.stdout.contains("hidden"), "{}", ended.stdout);
}

#[tokio::test]
#[cfg(feature = "acp")]
async fn what_a_preset_says_is_printed_as_its_word() {
    let file = "[agents.coder]\npreset = \"claude\"\npass_env = [\"MINE\"]\n";
    let ended = Program::new(&["config", "--config", "agui.toml"])
        .file("agui.toml", file, 0o644)
        .with_token()
        .end()
        .await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for line in [
        "command = \"claude-agent-acp\"  # the preset claude\n",
        "mode = \"default\"  # the preset claude\n",
        "pool_size = 4  # default\n",
        "# agent coder sees of your variables: ANTHROPIC_API_KEY, ",
        ", MINE\n",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {}", ended.stdout);
    }
}
