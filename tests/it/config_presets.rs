//! Agents that are known by name: what a preset fills in, and what is the operator's own to say.

use agui_serve::{
    config::{Agent, Core, Settings, Unasked},
    cores::acp::{Options, PRESETS},
};

use crate::config_layers::Maker;

/// The agents of a file that has this text, by name.
fn agents(file: &str) -> Vec<Agent> {
    Maker::new().file(file).load().unwrap().agents
}

/// How the agent is started and talked to.
fn acp(agent: &Agent) -> &Options {
    match &agent.core {
        Core::Acp(options) => options,
        #[cfg(feature = "demo")]
        core @ Core::Demo => panic!("{core:?}"),
    }
}

/// The only agent of such a file.
fn one(file: &str) -> Options {
    let agents = agents(file);
    assert_eq!(agents.len(), 1);
    acp(&agents[0]).clone()
}

fn names(settings: &Settings) -> Vec<&str> {
    let agents = settings.agents.iter();
    agents.map(|agent| agent.name.as_str()).collect()
}

#[test]
fn a_preset_says_how_an_agent_is_started_and_made_to_ask() {
    for preset in PRESETS {
        let options = one(&format!("[agents.a]\npreset = \"{}\"", preset.name));
        assert_eq!(options.preset, Some(preset));
        assert_eq!(options.command.to_str(), Some(preset.program));
        assert_eq!(options.args, preset.args);
        assert_eq!(options.env.len(), preset.env.len());
        assert_eq!(options.pass_env, preset.pass_env);
        assert_eq!(options.set.mode.as_deref(), preset.mode);
        assert_eq!(options.set.model, None);
    }
}

#[test]
fn what_stands_beside_a_preset_wins() {
    let options = one(
        "[agents.a]\npreset = \"codex\"\ncommand = \"npx\"\nargs = [\"codex-acp\"]\nmode = \"read-only\"\n\
         pass_env = [\"MY_KEY\"]\nenv = { MORE = \"1\" }\n[defaults]\npass_env = [\"OUR_KEY\"]",
    );
    assert_eq!(options.command.to_str(), Some("npx"));
    assert_eq!(options.args, ["codex-acp"]);
    assert_eq!(options.set.mode.as_deref(), Some("read-only"));
    assert_eq!(options.env["NO_BROWSER"], "1");
    assert_eq!(options.env["MORE"], "1");
    for name in ["CODEX_API_KEY", "MY_KEY", "OUR_KEY"] {
        assert!(options.pass_env.iter().any(|passed| passed == name));
    }
    let undone = one("[agents.a]\npreset = \"codex\"\nenv = { NO_BROWSER = \"\" }");
    assert_eq!(undone.env["NO_BROWSER"], "");
}

#[test]
fn a_known_program_is_put_into_its_asking_mode_and_started_as_it_was_written() {
    for (command, mode) in [
        ("pando", Some("ask")),
        ("/opt/bin/claude-agent-acp", Some("default")),
        ("pando-next", None),
    ] {
        let options = one(&format!(
            "[agents.a]\ncommand = \"{command}\"\nargs = [\"x\"]"
        ));
        assert_eq!(options.set.mode.as_deref(), mode, "{command}");
        assert_eq!(options.preset.is_some(), mode.is_some(), "{command}");
        assert_eq!(options.args, ["x"]);
        assert!(options.env.is_empty() && options.pass_env.is_empty());
    }
    let own = one("[agents.a]\ncommand = \"pando\"\nmode = \"planner:ask\"");
    assert_eq!(own.set.mode.as_deref(), Some("planner:ask"));
}

#[test]
fn no_client_can_be_let_into_a_mode_that_approves_by_itself_but_an_operator_can_set_one() {
    let by_itself = ["yolo", "bypassPermissions", "agent", "poet:agent", "auto"];
    for mode in by_itself {
        let message = Maker::new()
            .file("[agents.a]\ncommand = \"x\"")
            .env("AGUI_AGENTS__A__MODES", &format!("plan,{mode}"))
            .fail();
        assert_eq!(
            message,
            format!(
                "take `agents.a.modes` from environment variable AGUI_AGENTS__A__MODES: \"{mode}\": \
                 clients can never choose a mode that approves by itself"
            )
        );
        let agents = agents(&format!("[agents.a]\ncommand = \"x\"\nmode = \"{mode}\""));
        assert_eq!(agents[0].unasked(), [Unasked::Mode(mode.into())]);
    }
    let asking = agents("[agents.a]\npreset = \"pando\"\nmodes = [\"ask\", \"poet:ask\"]");
    assert_eq!(asking[0].unasked(), []);
    assert_eq!(acp(&asking[0]).choices.mode, ["ask", "poet:ask"]);
}

#[test]
fn settings_choices_and_processes_are_said_agent_by_agent() {
    let options = one(
        "[agents.a]\ncommand = \"x\"\nmodel = \"m\"\neffort = \"high\"\nmodels = [\"m\", \"n\"]\n\
         efforts = [\"low\", \"high\"]\npool_ttl = \"1m\"\n[defaults]\npool_size = 2\npool_ttl = \"2m\"",
    );
    assert_eq!(options.set.model.as_deref(), Some("m"));
    assert_eq!(options.set.effort.as_deref(), Some("high"));
    assert_eq!(options.choices.model, ["m", "n"]);
    assert_eq!(options.choices.effort, ["low", "high"]);
    assert_eq!((options.pool_size, options.pool_ttl.as_secs()), (2, 60));
    assert_eq!(
        one("[agents.a]\ncommand = \"x\"\npool_size = 0").pool_size,
        0
    );
}

#[test]
fn instructions_are_a_text_or_a_file_beside_the_configuration() {
    let told = |key: &str| {
        one(&format!("[agents.a]\ncommand = \"x\"\n{key}"))
            .instructions
            .unwrap()
    };
    assert_eq!(told("instructions = \" Be brief. \""), "Be brief.");
    let file = told("instructions_file = \"agui.toml\"");
    assert!(file.starts_with("[agents.a]"), "{file}");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_key() {
    for (written, key, why) in [
        (
            "preset = \"opencod\"",
            "preset",
            "there is no preset \"opencod\"; there are claude, cline, codex, copilot, gemini, opencode, pando, qwen",
        ),
        ("command = \"\"", "command", "it is empty"),
        ("preset = \"codex\"\nmode = \" \"", "mode", "it is empty"),
        ("command = \"x\"\nmodel = \"\"", "model", "it is empty"),
        (
            "command = \"x\"\ninstructions = \" \"",
            "instructions",
            "it is empty",
        ),
        (
            "command = \"x\"\ninstructions_file = \"none.md\"",
            "instructions_file",
            "none.md\": No such file or directory (os error 2)",
        ),
        (
            "command = \"x\"\ninstructions_file = \"/dev/zero\"",
            "instructions_file",
            "\"/dev/zero\": it is no file",
        ),
        (
            "command = \"x\"\ninstructions = \"a\"\ninstructions_file = \"b\"",
            "instructions_file",
            "instructions is set as well; keep one of the two",
        ),
        (
            "core = \"demo\"\npreset = \"codex\"",
            "preset",
            "the demo runs no program",
        ),
        (
            "core = \"demo\"\nmodes = [\"plan\"]",
            "modes",
            "the demo runs no program",
        ),
        (
            "description = \"x\"",
            "core",
            "it is missing: \"demo\", or \"acp\" with a preset or a command",
        ),
    ] {
        let message = Maker::new().file(&format!("[agents.a]\n{written}")).fail();
        let start = format!("take `agents.a.{key}` from ");
        assert!(message.starts_with(&start), "{message}");
        assert!(message.ends_with(why), "{message}");
    }
}

#[test]
fn instructions_of_a_length_that_no_model_reads_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.md");
    std::fs::write(&file, "x".repeat(1024 * 1024 + 1)).unwrap();
    let written = format!("instructions_file = \"{}\"", file.display());
    let written = format!("[agents.a]\ncommand = \"x\"\n{written}");
    let message = Maker::new().file(&written).fail();
    assert!(message.ends_with("it is longer than 1 MiB"), "{message}");
}

#[test]
fn presets_on_the_command_line_are_served_alone_side_by_side_the_first_as_default() {
    let settings = Maker::new()
        .program("opencode")
        .program("codex-acp")
        .file(
            "[agents.codex]\nlinger = \"forever\"\nmodel = \"m\"\n[agents.other]\ncore = \"demo\"",
        )
        .presets(&["opencode", "codex"])
        .load()
        .unwrap();
    assert_eq!(names(&settings), ["opencode", "codex"]);
    let codex = acp(&settings.agents[1]);
    assert_eq!(codex.set.model.as_deref(), Some("m"));
    assert_eq!(codex.command.to_str(), Some("codex-acp"));
}

#[test]
fn a_preset_that_was_typed_and_is_not_installed_is_refused_with_the_line_that_installs_it() {
    assert_eq!(
        Maker::new().presets(&["opencode"]).fail(),
        "take `agents.opencode.preset` from --agent: \"opencode\": no program of this name is in PATH; \
         to install it: npm install -g opencode-ai"
    );
    let message = Maker::new().command(&["gemini", "--acp"]).fail();
    assert!(
        message.ends_with("to install it: npm install -g @google/gemini-cli"),
        "{message}"
    );
    let message = Maker::new().presets(&["opncode"]).fail();
    assert!(
        message.starts_with("take `agents.opncode.preset` from --agent: there is no preset"),
        "{message}"
    );
}

#[test]
fn the_readme_and_the_sample_name_every_preset() {
    let readme = include_str!("../../README.md");
    let sample = include_str!("../../config/agui.toml");
    let known = sample.split("needs its name: ").nth(1).unwrap();
    let known = known.lines().next().unwrap();
    for preset in PRESETS {
        let row = format!("| `{}` | {} |", preset.name, preset.title);
        assert!(readme.contains(&row), "{row}");
        assert!(known.contains(preset.name), "{}", preset.name);
    }
}
