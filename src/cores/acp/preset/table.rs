//! The agents that are known by name.
//!
//! Where the facts come from: programs, modes, versions and logins are what each agent told at
//! `initialize` and `session/new` in the version that stands beside it; variables are those that its own
//! documentation or its help names (given with each preset); limits were seen when it was driven through
//! this core. Cline and Pando were not at hand in a version that could be driven: what is said of them is
//! from their documentation, and Pando's from its source.
//!
//! A version is called the oldest because no older one was tried. Variables that would let an agent act
//! unasked, such as `COPILOT_ALLOW_ALL`, are passed on by none.

use super::{Preset, Relists, Tools};

/// All of them, by name.
pub const PRESETS: &[Preset] = &[CLAUDE, CLINE, CODEX, COPILOT, GEMINI, OPENCODE, PANDO, QWEN];

/// `claude-agent-acp` of the npm package. Variables: Claude Code's documentation of its settings.
const CLAUDE: Preset = Preset {
    name: "claude",
    title: "Claude Code",
    program: "claude-agent-acp",
    args: &[],
    env: &[
        ("DISABLE_AUTOUPDATER", "1"),
        // No update checks, error reports and surveys in the background.
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ],
    pass_env: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_MODEL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_EXECUTABLE",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    // Its own default is `auto`, in which a model decides what is asked.
    mode: Some("default"),
    sessions: None,
    tools: Tools::Handed(Relists::Told),
    install: "npm install -g @agentclientprotocol/claude-agent-acp",
    oldest: Some("0.101.0"),
    // `claude auth login`, run by the program that comes with it.
    login: Some(&["--cli", "auth", "login"]),
    limits: &[
        "It needs Node 22 or newer; under an older one npm installs an older version of it without a word.",
        "As root it may refuse to start until IS_SANDBOX=1 is in its env, which says that the machine is a sandbox.",
        "It opens a session without a login and fails at the first prompt.",
        "Bedrock and Vertex need the variables of their own clouds in pass_env.",
    ],
};

/// The npm package `cline`. Variables: read in its source, as its documentation names none.
const CLINE: Preset = Preset {
    name: "cline",
    title: "Cline",
    program: "cline",
    args: &["--acp"],
    env: &[],
    pass_env: &["CLINE_API_KEY", "CLINE_PROVIDER", "CLINE_MODEL"],
    // By its documentation nothing is approved by itself over ACP, in none of its modes.
    mode: None,
    // Two at once were not seen to work.
    sessions: Some(1),
    tools: Tools::NotTaken,
    install: "npm install -g cline",
    oldest: Some("3.0.65"),
    login: Some(&["auth"]),
    limits: &[
        "It takes no MCP servers from a client.",
        "It leaves a process of its own behind; on Linux that one is ended with it.",
        "After its login it also wants CLINE_API_KEY, CLINE_PROVIDER and CLINE_MODEL to be set.",
    ],
};

/// `codex-acp` of the npm package, which brings Codex along. Variables: its README.
const CODEX: Preset = Preset {
    name: "codex",
    title: "Codex",
    program: "codex-acp",
    args: &[],
    // There is no browser to open where a daemon runs.
    env: &[("NO_BROWSER", "1")],
    pass_env: &[
        "CODEX_API_KEY",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "CODEX_HOME",
        "CODEX_PATH",
        "CODEX_CONFIG",
        "MODEL_PROVIDER",
    ],
    // Its own default is `agent`, in which a model decides what is asked.
    mode: Some("workspace-write"),
    // Its tools are those of the one session that is open.
    sessions: Some(1),
    tools: Tools::CodexConfig,
    install: "npm install -g @agentclientprotocol/codex-acp",
    oldest: Some("2.6.0"),
    // `codex login`, run by the program that comes with it; its own `login` fails without a browser.
    login: Some(&["cli", "login"]),
    limits: &[
        "In workspace-write it changes files of its folder without asking, and asks before it leaves the folder or uses the network; read-only asks for those changes as well.",
        "A refused permission ends its turn as if somebody had stopped it.",
        "Under a model that is not in its own list it begins each turn with a warning, as text.",
        "Its login waits for a browser on this machine; without one, log in with: codex-acp cli login --device-auth.",
        "A tool of an MCP server of its own that takes longer than 300 seconds fails; those of the page may take longer, for which each of its processes has one session at a time.",
        "After a cancel it leaves its tool calls without an end.",
    ],
};

/// The npm package `@github/copilot`. Variables: `copilot help environment`.
const COPILOT: Preset = Preset {
    name: "copilot",
    title: "Copilot CLI",
    program: "copilot",
    args: &["--acp"],
    env: &[("COPILOT_AUTO_UPDATE", "false")],
    pass_env: &[
        "COPILOT_GITHUB_TOKEN",
        "COPILOT_HOME",
        "COPILOT_GH_HOST",
        "COPILOT_MODEL",
        "COPILOT_OFFLINE",
        "COPILOT_PROVIDER_*",
    ],
    mode: Some("https://agentclientprotocol.com/protocol/session-modes#agent"),
    sessions: None,
    tools: Tools::Handed(Relists::Reopened),
    install: "npm install -g @github/copilot",
    oldest: Some("1.0.102"),
    login: Some(&["login"]),
    limits: &[
        "It can load a session but not resume one.",
        "GH_TOKEN and GITHUB_TOKEN, which open more than Copilot, are not passed on.",
        "A refused permission ends its turn.",
        "The text of a sub-agent stands in the middle of its own.",
        "Its model is what COPILOT_MODEL says; it offers none to choose.",
        "After a cancel it leaves its tool calls without an end.",
    ],
};

/// The npm package `@google/gemini-cli`. Variables: its documentation of authentication and configuration.
const GEMINI: Preset = Preset {
    name: "gemini",
    title: "Gemini CLI",
    program: "gemini",
    args: &["--acp"],
    env: &[],
    pass_env: &[
        "GEMINI_API_KEY",
        "GEMINI_MODEL",
        "GEMINI_CLI_HOME",
        "GOOGLE_API_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_GENAI_USE_GCA",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_VERTEX_BASE_URL",
    ],
    mode: Some("default"),
    sessions: None,
    tools: Tools::Handed(Relists::Told),
    install: "npm install -g @google/gemini-cli",
    oldest: Some("0.61.0"),
    // The program itself: its first screen asks how to log in.
    login: Some(&[]),
    limits: &[
        "It can load a session but not resume one, and a session that is loaded by another process within the minute it was made is empty.",
        "It tells nothing of the arguments of its tool calls, nor what a file that it read or a command said.",
        "It runs commands that it takes for harmless, such as echo, without asking.",
        "In a folder that it does not trust it takes no tools of the page, and each session begins 10 seconds late: trust the folder in it, or set GEMINI_CLI_TRUST_WORKSPACE=true in its env, upon which it also heeds what the folder configures.",
        "Its first screen is its login; /auth shows it again.",
    ],
};

/// The npm package `opencode-ai`. Variables: its documentation of the CLI; those of the model providers are
/// theirs, and of many more than stand here.
const OPENCODE: Preset = Preset {
    name: "opencode",
    title: "OpenCode",
    program: "opencode",
    args: &["acp"],
    env: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        // No mode of it asks: what is asked is its configuration's word, and by itself that is nothing.
        (
            "OPENCODE_PERMISSION",
            r#"{"edit":"ask","bash":"ask","webfetch":"ask"}"#,
        ),
    ],
    pass_env: &[
        "OPENCODE_API_KEY",
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_CONTENT",
        "OPENCODE_CONFIG_DIR",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
    ],
    mode: None,
    sessions: None,
    tools: Tools::Handed(Relists::Told),
    install: "npm install -g opencode-ai",
    oldest: Some("1.18.33"),
    login: Some(&["auth", "login"]),
    limits: &[
        "It asks before edits, commands and fetches because OPENCODE_PERMISSION says so, which stands over its own configuration; set it to {} in env to let that decide.",
        "Started by its command instead of this preset it does what its own configuration says, by default without asking.",
        "It hangs when a sub-agent needs a permission, until silence_timeout ends the turn.",
        "A refused permission ends its turn.",
    ],
};

/// Pando's own program; it comes in no package. It finds its keys in its own configuration.
const PANDO: Preset = Preset {
    name: "pando",
    title: "Pando",
    program: "pando",
    args: &["acp"],
    env: &[],
    pass_env: &[],
    // Its own default is `agent`, in which everything is approved.
    mode: Some("ask"),
    sessions: None,
    tools: Tools::NotTaken,
    install: "the instructions of its own project",
    // It tells a version that says nothing of what it can do.
    oldest: None,
    // It has none over ACP.
    login: None,
    limits: &[
        "Versions before September 2026 take no MCP servers from a client.",
        "An answer of \"always\" to a permission is forgotten at once.",
        "Only one process at a time writes to the store in its folder.",
    ],
};

/// The npm package `@qwen-code/qwen-code`. Variables: its documentation of authentication.
const QWEN: Preset = Preset {
    name: "qwen",
    title: "Qwen Code",
    program: "qwen",
    args: &["--acp"],
    env: &[],
    pass_env: &[
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_MODEL",
        "DASHSCOPE_API_KEY",
        "QWEN_HOME",
    ],
    // Its own default is `auto`, in which it asks when it is unsure.
    mode: Some("default"),
    sessions: None,
    tools: Tools::Handed(Relists::Restarted),
    install: "npm install -g @qwen-code/qwen-code",
    oldest: Some("0.24.4"),
    // The program itself: its first screen asks how to log in, and `qwen auth` is no more.
    login: Some(&[]),
    limits: &[
        "It needs Node 22 or newer; under an older one npm installs an older version of it without a word.",
        "A refused permission ends its turn.",
        "It runs commands that it takes for harmless, such as echo, without asking.",
        "Its first screen is its login; /auth shows it again.",
    ],
};
