//! The layers of the configuration: which one wins, and what an error names.

use std::path::{Path, PathBuf};

use agui_serve::{
    config::{self, Command, Environ, Error, Flags, Inputs, Settings, Typed},
    engine::Linger,
};
use tempfile::TempDir;

/// A configuration in the making.
pub(crate) struct Maker {
    home: TempDir,
    inputs: Inputs,
    variables: Vec<(String, String)>,
}

impl Maker {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let inputs = Inputs {
            file: None,
            environ: Environ::default(),
            flags: Flags::default(),
            typed: None,
            cwd: home.path().canonicalize().unwrap(),
        };
        Self {
            home,
            inputs,
            variables: Vec::new(),
        }
        .env("HOME", "/home/nobody")
    }

    pub(crate) fn file(mut self, text: &str) -> Self {
        let folder = self.home.path().join("etc");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("agui.toml"), text).unwrap();
        self.inputs.file = Some(PathBuf::from("etc/agui.toml"));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn flag(mut self, flag: &'static str, key: &[&str], value: &str) -> Self {
        self.inputs.flags.set(flag, key, Some(value));
        self
    }

    pub(crate) fn command(mut self, words: &[&str]) -> Self {
        let mut words = words.iter().map(|&word| word.to_owned());
        self.inputs.typed = Some(Typed::Command(Command {
            program: words.next().unwrap(),
            args: words.collect(),
        }));
        self
    }

    /// What `--agent` names.
    #[cfg(feature = "acp")]
    pub(crate) fn presets(mut self, names: &[&str]) -> Self {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        self.inputs.typed = Some(Typed::Presets(names));
        self
    }

    /// Installs a program of that name.
    #[cfg(feature = "acp")]
    pub(crate) fn program(self, name: &str) -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let bin = self.home.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join(name), "").unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), executable).unwrap();
        let path = bin.to_str().unwrap().to_owned();
        self.env("PATH", &path)
    }

    pub(crate) fn load(mut self) -> Result<Settings, Error> {
        self.inputs.environ = self.variables.into_iter().collect();
        config::load(&self.inputs).map(|(settings, _)| settings)
    }

    /// The error, as the person at the keyboard reads it.
    pub(crate) fn fail(self) -> String {
        self.load().unwrap_err().to_string()
    }
}

#[test]
fn each_layer_beats_the_one_below() {
    let port = |maker: Maker| maker.load().unwrap().http.addr.port();
    let file = || Maker::new().file("port = 2");
    let env = || file().env("AGUI_PORT", "3");
    assert_eq!(port(Maker::new()), 8787);
    assert_eq!(port(file()), 2);
    assert_eq!(port(env()), 3);
    assert_eq!(port(env().flag("--port", &["port"], "4")), 4);
}

#[test]
fn a_layer_changes_only_the_keys_that_it_has() {
    let settings = Maker::new()
        .file("[limits]\nmax_turns = 5\nmax_threads = 6\n[defaults]\nlinger = \"30s\"")
        .env("AGUI_LIMITS__MAX_THREADS", "7")
        .env("AGUI_LIMITS__RUN_BYTES", "1MiB")
        .load()
        .unwrap();
    let limits = &settings.engine.limits;
    assert_eq!((limits.max_turns, settings.store.max_threads), (5, 7));
    assert_eq!(limits.run_bytes, 1 << 20);
    let thirty = Linger::For(std::time::Duration::from_secs(30));
    let policy = settings.engine.policy(&settings.agents[0].name);
    assert_eq!(policy.linger, thirty);
}

#[test]
fn an_error_names_the_key_and_the_place() {
    let cases = [
        (
            Maker::new().file("path = \"/a\"\nport = \"x\""),
            "take `port` from ",
            "etc/agui.toml, line 2: found string \"x\", expected a whole number up to 65535",
        ),
        (
            Maker::new().file("[limits]\n\nmax_turn = 1"),
            "take `limits.max_turn` from ",
            "etc/agui.toml, line 3: there is no such key; did you mean `max_turns`?",
        ),
        (
            Maker::new().env("AGUI_LIMITS__MAX_TURNS", "0"),
            "take `limits.max_turns` from environment variable AGUI_LIMITS__MAX_TURNS: ",
            "zero would let nothing through",
        ),
        (
            Maker::new().env("AGUI_HEARTBEAT", "15"),
            "take `heartbeat` from environment variable AGUI_HEARTBEAT: ",
            "\"15\" is no duration of up to a century, such as \"30s\" or \"10m\"",
        ),
        (
            Maker::new().flag("--path", &["path"], "/a b"),
            "take `path` from --path: ",
            "",
        ),
        (
            Maker::new().file("[agents.one]\ncommand = \"x\"\nworkdir = \"none\""),
            "take `agents.one.workdir` from ",
            "No such file or directory (os error 2)",
        ),
        (
            Maker::new().file("[agents.one]\ncore = \"acp\""),
            "take `agents.one.command` from ",
            "line 1: it is missing: say which program to run",
        ),
        (
            Maker::new().file("[agents.\"a b\"]\ncore = \"demo\""),
            "take `agents.a b` from ",
            "",
        ),
        (
            Maker::new().file("[agents.one]\ncore = \"demo\"\nargs = [\"x\"]"),
            "take `agents.one.args` from ",
            "line 3: the demo runs no program",
        ),
        (
            Maker::new().file("[agents.one]\ncore = \"dmo\""),
            "take `agents.one.core` from ",
            "line 2: \"dmo\" is none of demo, acp",
        ),
        (
            Maker::new().file("default_agent = \"two\""),
            "take `default_agent` from ",
            "line 1: no agent is called \"two\"",
        ),
        (
            Maker::new().flag("--log", &["log", "filter"], "inof"),
            "take `log.filter` from --log: \"inof\" is no level (off, error, warn, ",
            "did you mean `info`? for a module write inof=info",
        ),
        (
            Maker::new().env("AGUI_LOG__FILTER", "inof"),
            "take `log.filter` from environment variable AGUI_LOG__FILTER: ",
            "for a module write inof=info",
        ),
        (
            Maker::new().flag("--workdir", &["defaults", "workdir"], "/nope"),
            "take `defaults.workdir` from --workdir: \"/nope\": ",
            "No such file or directory (os error 2)",
        ),
        (Maker::new().file("port ="), "read ", ""),
        (
            Maker::new().env("AGUI_ALLOWED_ORIGINS", "[\"x\""),
            "read environment variable AGUI_ALLOWED_ORIGINS, line 1: ",
            "",
        ),
        (Maker::new().file("limits = 3"), "take `limits` from ", ""),
    ];
    for (maker, start, end) in cases {
        let message = maker.fail();
        assert!(message.starts_with(start), "{message}");
        assert!(message.ends_with(end), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn a_bound_or_a_patience_of_nothing_is_refused_wherever_it_is_written() {
    let own = "[agents.one]\ncore = \"demo\"\n";
    for (key, text) in [
        ("max_body", "max_body = 0".to_owned()),
        ("heartbeat", "heartbeat = \"0s\"".into()),
        ("limits.run_bytes", "[limits]\nrun_bytes = \"0B\"".into()),
        (
            "defaults.turn_timeout",
            "[defaults]\nturn_timeout = \"0s\"".into(),
        ),
        (
            "defaults.start_timeout",
            "[defaults]\nstart_timeout = \"0ms\"".into(),
        ),
        (
            "agents.one.silence_timeout",
            format!("{own}silence_timeout = \"0s\""),
        ),
        (
            "defaults.client_tool_timeout",
            "[defaults]\nclient_tool_timeout = \"0s\"".into(),
        ),
        (
            "agents.one.prompt_timeout",
            format!("{own}prompt_timeout = \"0s\""),
        ),
    ] {
        let message = Maker::new().file(&text).fail();
        assert!(
            message.starts_with(&format!("take `{key}` from ")),
            "{message}"
        );
        assert!(
            message.ends_with("zero would let nothing through"),
            "{message}"
        );
    }
    for fine in ["linger", "stop_grace"] {
        let text = format!("[defaults]\n{fine} = \"0s\"");
        assert!(Maker::new().file(&text).load().is_ok(), "{fine}");
    }
}

#[test]
fn paths_start_where_their_layer_stands() {
    let settings = Maker::new()
        .file("token_file = \"token\"\n[agents.one]\ncommand = \"./agent\"\nworkdir = \"sub\"")
        .load()
        .unwrap();
    let path = settings.token.unwrap().path().unwrap().to_owned();
    assert!(path.ends_with("etc/token"), "{}", path.display());
    let workdir = settings.agents[0].workdir().unwrap();
    assert!(workdir.ends_with("etc/sub"), "{}", workdir.display());

    let maker = Maker::new().flag("--workdir", &["defaults", "workdir"], ".");
    let cwd = maker.inputs.cwd.clone();
    let settings = maker.command(&["sh"]).load().unwrap();
    assert_eq!(settings.agents[0].workdir(), Some(cwd.as_path()));
}

#[test]
fn r10_with_nothing_configured_the_demo_is_served() {
    let agents = Maker::new().load().unwrap().agents;
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0].name.as_str(), "demo");
}

#[test]
fn the_default_agent_comes_first_and_the_others_by_name() {
    let text = "default_agent = \"c\"\n[agents.b]\ncore=\"demo\"\n[agents.c]\ncore=\"demo\"\n[agents.a]\ncore=\"demo\"";
    let agents = Maker::new().file(text).load().unwrap().agents;
    let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["c", "a", "b"]);
}

#[test]
fn a_program_on_the_command_line_is_served_alone_with_the_policies_that_a_file_has_for_it() {
    let settings = Maker::new()
        .file("[agents.sh]\ncore = \"demo\"\nlinger = \"forever\"\n[agents.other]\ncore = \"demo\"")
        .command(&["/bin/sh", "acp"])
        .load()
        .unwrap();
    let [agent] = settings.agents.as_slice() else {
        panic!("{:?}", settings.agents);
    };
    assert_eq!(agent.name.as_str(), "sh");
    assert_eq!(agent.policy.linger, Linger::Forever);
    assert!(agent.workdir().is_some(), "the program, not the demo");
}

/// Requirements 11 and 17.
#[test]
fn nothing_but_this_machine_is_served_and_no_browser_unless_it_is_said_by_name() {
    let settings = Maker::new().load().unwrap();
    assert!(settings.http.addr.ip().is_loopback());
    assert!(settings.http.service.origins.is_empty());

    let open = || Maker::new().env("AGUI_HOST", "0.0.0.0");
    let key = "AGUI_ALLOW_INSECURE_BIND";
    for maker in [
        open(),
        open().env("AGUI_TOKEN", "t"),
        open().env("AGUI_REQUIRE_TOKEN", "false"),
        open().env(key, "false"),
    ] {
        assert!(maker.fail().contains("allow_insecure_bind"));
    }
    assert!(open().env(key, "true").load().is_ok());
    assert!(open().env(key, "maybe").fail().contains("true or false"));
}

#[cfg(feature = "acp")]
fn passed(settings: &Settings) -> Vec<Vec<String>> {
    let passed = |agent: &config::Agent| match &agent.core {
        config::Core::Acp(options) => Some(options.pass_env.clone()),
        #[cfg(feature = "demo")]
        config::Core::Demo => None,
    };
    settings.agents.iter().filter_map(passed).collect()
}

#[test]
#[cfg(feature = "acp")]
fn an_agent_sees_the_variables_of_the_flag_and_its_own() {
    let settings = Maker::new()
        .file("[agents.a]\ncommand = \"a\"\npass_env = [\"OWN\"]\n[agents.b]\ncommand = \"b\"")
        .flag("--pass-env", &["defaults", "pass_env"], "ONE,TWO_*")
        .load()
        .unwrap();
    assert_eq!(
        passed(&settings),
        [vec!["ONE", "TWO_*", "OWN"], vec!["ONE", "TWO_*"]]
    );
}

#[test]
#[cfg(feature = "acp")]
fn a_variable_with_its_value_is_refused_without_repeating_it() {
    let message = Maker::new()
        .file("[agents.a]\ncommand = \"a\"")
        .flag("--pass-env", &["defaults", "pass_env"], "KEY=secret")
        .fail();
    assert!(
        message.starts_with("take `defaults.pass_env` from --pass-env: "),
        "{message}"
    );
    assert!(!message.contains("secret"), "{message}");
}

#[test]
#[cfg(feature = "acp")]
fn a_program_that_is_not_there_is_refused_when_it_was_typed_and_known_when_a_file_has_it() {
    for (program, why) in [
        ("nosuchprogram", "no program of this name is in PATH"),
        ("./agent", "there is no such file"),
    ] {
        let message = Maker::new().command(&[program]).fail();
        assert!(message.contains("from the command after --: "), "{message}");
        assert!(message.ends_with(why), "{message}");
    }
    let settings = Maker::new()
        .file("[agents.a]\ncommand = \"nosuchprogram\"\n[agents.b]\ncommand = \"sh\"")
        .load()
        .unwrap();
    let missing: Vec<_> = settings.agents.iter().map(config::Agent::missing).collect();
    assert_eq!(missing, [Some("no program of this name is in PATH"), None]);
}

#[test]
fn lists_are_written_as_toml_or_with_commas() {
    for text in ["http://a,http://b:1", "[\"http://a\", \"http://b:1\"]"] {
        let settings = Maker::new()
            .env("AGUI_ALLOWED_ORIGINS", text)
            .load()
            .unwrap();
        assert_eq!(settings.http.service.origins.len(), 2, "{text}");
    }
}

#[test]
fn a_relative_file_is_looked_for_in_the_folder_of_the_start() {
    let mut maker = Maker::new();
    maker.inputs.file = Some(Path::new("none.toml").into());
    let cwd = maker.inputs.cwd.clone();
    let message = maker.fail();
    assert!(
        message.contains(&*cwd.join("none.toml").to_string_lossy()),
        "{message}"
    );
}
