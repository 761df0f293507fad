//! `agui-serve connect`, seen from outside.

use std::fs;

use agui_serve::http::{Digest, Secret};

use crate::harness::{Program, TOKEN};

const ROUTE: &str =
    include_str!("../../examples/copilotkit/app/api/copilotkit/[[...slug]]/route.ts");

/// A configuration that knows somebody by a token of her own.
fn named() -> String {
    let digest = Digest::of(&Secret::new("token-of-alice").unwrap());
    format!("[tokens]\nalice = \"{digest}\"\n")
}

/// The program, asked for the lines of `.env.local`, with these flags.
fn connect(flags: &[&str]) -> Program {
    Program::new(&[&["connect", "copilotkit", "--env"], flags].concat())
}

/// What it shows, if it does not fail.
async fn shown(mut program: Program) -> String {
    let ended = program.end().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.stdout
}

/// The lines that are no comments, without the home in them.
async fn variables(program: Program) -> Vec<String> {
    let home = program.home.path().to_str().unwrap().to_owned();
    let text = shown(program).await;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<_> = lines.map(|line| line.replace(&home, "~")).collect();
    for line in &lines {
        let (name, _) = line.split_once('=').unwrap();
        assert!(ROUTE.contains(name), "the route reads {name}");
    }
    lines
}

#[tokio::test]
async fn without_any_configuration_a_page_reads_the_token_that_the_daemon_will_make() {
    let mut program = connect(&[]);
    let text = program.end().await.stdout;
    let home = program.home.path();
    let token = home.join(".local/state/agui-serve/token");
    let wanted = format!(
        "# Made by `agui-serve connect copilotkit`, for app/api/copilotkit/[[...slug]]/route.ts\n\
         # Where the page is reached under another name than localhost, add PAGE_HOST=name:port\n\
         # CopilotKit reports on the use of its runtime, unless there is COPILOTKIT_TELEMETRY_DISABLED=true\n\
         AGENT_URL=http://127.0.0.1:8787/agui\n\
         # The daemon makes this file when it first starts\n\
         # Where the page cannot read it, set AGENT_TOKEN to what is in it\n\
         AGENT_TOKEN_FILE={}\n",
        token.display()
    );
    assert_eq!(text, wanted);
    let left = fs::read_dir(home).unwrap().count();
    assert_eq!(left, 0, "it writes nothing");
}

#[tokio::test]
async fn where_the_daemon_listens_is_where_the_page_calls() {
    for (flags, url) in [
        (&["--port", "9"][..], "http://127.0.0.1:9/agui"),
        (&["--path", "/"], "http://127.0.0.1:8787"),
        (&["--path", "/a/b/"], "http://127.0.0.1:8787/a/b"),
        (&["--host", "localhost"], "http://127.0.0.1:8787/agui"),
        (&["--host", "::1"], "http://[::1]:8787/agui"),
        (&["--host", "0.0.0.0"], "http://127.0.0.1:8787/agui"),
        (&["--host", "::"], "http://[::1]:8787/agui"),
        (&["--host", "192.0.2.1"], "http://192.0.2.1:8787/agui"),
    ] {
        let flags = [flags, &["--no-token"]].concat();
        let program = connect(&flags).env("AGUI_ALLOW_INSECURE_BIND", "true");
        let wanted = format!("AGENT_URL={url}");
        assert_eq!(variables(program).await, [wanted], "{flags:?}");
    }
}

#[tokio::test]
async fn a_page_gets_the_token_from_where_the_daemon_does() {
    let file = |text: &str| {
        let name = "agui.toml";
        connect(&["--config", name]).file(name, text, 0o644)
    };
    for (program, token) in [
        (connect(&["--token-file", "t"]), Some("_FILE=~/t")),
        (file("token_file = 't'"), Some("_FILE=~/t")),
        (file("state_dir = '/s'"), Some("_FILE=/s/token")),
        (
            connect(&["--token-file", "/a b/$c#d"]),
            Some(r"_FILE='/a b/\$c#d'"),
        ),
        (connect(&["--token-file", "/it's"]), Some("_FILE=`/it's`")),
        (
            connect(&[])
                .file("agui-token", TOKEN, 0o600)
                .env("CREDENTIALS_DIRECTORY", "."),
            Some("_FILE=~/./agui-token"),
        ),
        (connect(&[]).with_token(), Some("=")),
        (file(&named()), Some("=")),
        (file(&named()).with_token(), Some("=")),
        (connect(&["--no-token"]), None),
    ] {
        let lines = variables(program).await;
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let token = token.map(|rest| format!("AGENT_TOKEN{rest}"));
        assert_eq!(lines[1..], token.as_slice()[..]);
    }
}

#[tokio::test]
async fn a_comment_says_which_token_belongs_where_none_is_shown() {
    let file = |text: &str| connect(&["--config", "c"]).file("c", text, 0o644);
    for (program, what) in [
        (connect(&["--no-token"]), "# No token: "),
        (
            connect(&[]).with_token(),
            "that the daemon has as AGUI_TOKEN\n",
        ),
        (file(&named()), "of one of: alice\n"),
        (
            file(&named()).with_token(),
            "AGUI_TOKEN, or that of one of: alice\n",
        ),
    ] {
        let text = shown(program).await;
        assert!(text.contains(what), "{what}: {text}");
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[tokio::test]
async fn other_agents_are_in_a_comment_and_the_default_one_is_called() {
    let file = "default_agent = \"two\"\n[agents.one]\ncommand = \"sh\"\n[agents.two]\ncommand = \"sh\"\n\
                [agents.three]\ncommand = \"sh\"\n";
    let program = connect(&["--config", "c"]).file("c", file, 0o644);
    let text = shown(program).await;
    let wanted = "# This is the agent two; others: http://127.0.0.1:8787/agui/one http://127.0.0.1:8787/agui/three\n\
                  AGENT_URL=http://127.0.0.1:8787/agui\n";
    assert!(text.contains(wanted), "{text}");
}

#[tokio::test]
async fn each_part_is_shown_alone_or_under_its_name() {
    let show = |flag: &[&str]| {
        let args = ["connect", "copilotkit", "--token-file", "/token"];
        shown(Program::new(&[&args, flag].concat()))
    };
    let (whole, route) = (show(&[]).await, show(&["--route"]).await);
    let env = show(&["--env"]).await;
    assert_eq!(route, ROUTE);
    let wanted = [
        "npm install @copilotkit/react-core@",
        "--- app/api/copilotkit/[[...slug]]/route.ts ---\n",
        ROUTE,
        "--- .env.local ---\n",
        &env,
        "--- app/page.tsx ---\n",
        "import \"@copilotkit/react-core/v2/styles.css\";\n",
        "<CopilotKitProvider runtimeUrl=\"/api/copilotkit\">\n",
    ];
    let mut rest = whole.as_str();
    for part in wanted {
        (_, rest) = rest.split_once(part).unwrap();
    }
    assert!(rest.ends_with("}\n"), "{rest}");
}

#[tokio::test]
async fn what_no_page_could_use_is_an_error_and_shows_nothing() {
    let copilotkit = |flags: &[&'static str]| [&["connect", "copilotkit"], flags].concat();
    for (args, code, named) in [
        (
            copilotkit(&["--port", "0"]),
            78,
            "`port` from --port: a page needs a port that stays",
        ),
        (
            copilotkit(&["--token-file", "/a\nb"]),
            1,
            "AGENT_TOKEN_FILE",
        ),
        (copilotkit(&["--env", "--route"]), 2, "--route"),
        (
            vec!["connect", "nothing"],
            2,
            "[possible values: copilotkit]",
        ),
        (vec!["connect"], 2, "<FRONTEND>"),
    ] {
        let ended = Program::new(&args).end().await;
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(named), "{args:?}: {ended:?}");
        assert_eq!(ended.stdout, "");
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_is_the_same_failure_as_that_of_config() {
    for flags in [["--config", "/none.toml"], ["--host", "nowhere"]] {
        let run = async |task: &[&str]| Program::new(&[task, &flags].concat()).end().await;
        let (config, connect) = (
            run(&["config"]).await,
            run(&["connect", "copilotkit"]).await,
        );
        assert_eq!((config.code, connect.code), (Some(78), Some(78)));
        assert_eq!(config.stderr, connect.stderr);
    }
}
