//! What is known of agents by name: how each is started, how it is made to ask, how one logs in to it.
//!
//! `table` holds the facts, this file what follows from them. A preset is a starting point: whatever the
//! configuration says of an agent itself wins over it.

mod table;

use std::path::Path;

pub use table::PRESETS;

/// An agent that people know by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Preset {
    /// What it is called in the configuration.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The arguments that make the program speak ACP.
    pub args: &'static [&'static str],
    /// Variables that it is given.
    pub env: &'static [(&'static str, &'static str)],
    /// Variables that it finds its keys and its settings in, to be passed on. A name that ends in `*` is a
    /// prefix.
    pub pass_env: &'static [&'static str],
    /// The mode in which it asks before it acts, where it offers one.
    pub mode: Option<&'static str>,
    /// How many sessions one process may have at once, where that is bounded.
    pub sessions: Option<usize>,
    /// How it is handed tools of ours.
    pub tools: Tools,
    /// How it is installed: a line for a shell where there is one.
    pub install: &'static str,
    /// The oldest version that is known to work, as the agent tells it at `initialize`.
    pub oldest: Option<&'static str>,
    /// The arguments with which its program logs in, in a terminal. Without them it has no login.
    pub login: Option<&'static [&'static str]>,
    /// What does not work with it, or works otherwise than one would think: sentences for people.
    pub limits: &'static [&'static str],
}

/// How an agent is handed tools of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// With the opening of a session (ACP `mcpServers`).
    Handed(Relists),
    /// By a variable that Codex reads when it starts, `CODEX_CONFIG`: one that it is handed with a session has five
    /// minutes for each call. So each of its processes has one session at a time.
    CodexConfig,
    /// Not at all: it takes none from a client.
    NotTaken,
}

/// When an agent notices that there are other tools than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relists {
    /// Once it is told (MCP `notifications/tools/list_changed`).
    Told,
    /// Once its session was closed and opened again.
    Reopened,
    /// In a new process only.
    Restarted,
    /// Nobody knows: it is told, and its session is opened again if it does nothing about that.
    Unknown,
}

impl Preset {
    /// The preset of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The preset whose program a command names, wherever the program lies.
    pub fn of_program(command: &Path) -> Option<&'static Self> {
        let file = command.file_name()?;
        PRESETS.iter().find(|preset| file == preset.program)
    }

    /// The oldest version that is known to work, if that one is older.
    pub fn too_old(&self, version: &str) -> Option<&'static str> {
        self.oldest
            .filter(|oldest| numbers(version) < numbers(oldest))
    }
}

/// The mode in which an agent asks before it acts, of those that it offers, if it does not in the mode it is in.
pub(super) fn asking<'a>(mode: &str, offered: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // What agents call it, the better one first.
    const ASKING: [&str; 4] = ["ask", "default", "workspace-write", "read-only"];
    if !approves_by_itself(mode) {
        return None;
    }
    let offered: Vec<&str> = offered.collect();
    // Pando has each of its modes once more for each persona.
    let own = mode
        .rsplit_once(':')
        .map(|(persona, _)| format!("{persona}:ask"));
    let mut candidates = own.iter().map(String::as_str).chain(ASKING);
    let find = |wanted: &str| offered.iter().find(|mode| **mode == wanted).copied();
    candidates.find_map(find)
}

/// A version's numbers: what follows the first three is of no account. Agents tell versions that are no
/// semantic ones, for which the crate `semver` has only an error.
fn numbers(version: &str) -> [u64; 3] {
    let mut parts = version
        .trim_start_matches('v')
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

/// Whether an agent in that mode acts without asking anybody, so that no client may choose it.
///
/// The ids of all known agents are one list: an agent that is not known may be a known one behind another
/// name. What an operator's own modes are called is not known here.
pub fn approves_by_itself(mode: &str) -> bool {
    // From the modes that the agents list in `session/new`, and for those that they list only on some
    // machines from their documentation; written without what tells words apart.
    const MODES: [&str; 10] = [
        // Claude Code. In `auto` a model decides; in `dontAsk` what is not allowed already is denied unseen.
        "acceptedits",
        "auto",
        "bypasspermissions",
        "dontask",
        // Codex. In `agent`, and in `auto` of old, a model decides what is worth asking for.
        "agent",
        "agentfullaccess",
        "fullaccess",
        "dangerfullaccess",
        // Gemini CLI and Qwen Code.
        "yolo",
        "autoedit",
    ];
    // Copilot CLI's: an address with the word as its fragment, and `agent` there is the mode in which it asks.
    const AUTOPILOT: &str = "autopilot";
    let bare = |text: &str| {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    if let Some((_, fragment)) = mode.rsplit_once('#') {
        return bare(fragment) == AUTOPILOT;
    }
    // Pando has each mode once more for each persona.
    let word = mode.rsplit_once(':').map_or(mode, |(_, word)| word);
    let word = bare(word);
    word == AUTOPILOT || MODES.contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_preset_starts_in_a_mode_that_approves_by_itself() {
        for preset in PRESETS {
            let mode = preset.mode.unwrap_or_default();
            assert!(!approves_by_itself(mode), "{}: {mode}", preset.name);
        }
    }

    #[test]
    fn modes_that_ask_are_told_from_those_that_do_not() {
        let copilot = "https://agentclientprotocol.com/protocol/session-modes#";
        for (mode, by_itself) in [
            ("default", false),
            ("plan", false),
            ("acceptEdits", true),
            ("accept_edits", true),
            ("Bypass-Permissions", true),
            ("danger-full-access", true),
            ("x#AUTOPILOT", true),
            ("bypasspermissions", true),
            ("read-only", false),
            ("workspace-write", false),
            ("agent", true),
            ("ask", false),
            ("reviewer:ask", false),
            ("reviewer:agent", true),
            ("YOLO", true),
            ("build", false),
            (&format!("{copilot}agent"), false),
            (&format!("{copilot}autopilot"), true),
        ] {
            assert_eq!(approves_by_itself(mode), by_itself, "{mode}");
        }
    }

    #[test]
    fn every_preset_can_be_found_by_its_name_and_by_its_program() {
        for preset in PRESETS {
            assert_eq!(Preset::named(preset.name), Some(preset));
            let path = Path::new("/opt/bin").join(preset.program);
            assert_eq!(Preset::of_program(&path), Some(preset));
            assert!(!preset.limits.is_empty(), "{} is perfect", preset.name);
        }
        assert_eq!(Preset::named("OpenCode"), None);
        assert_eq!(Preset::of_program(Path::new("/opt/opencode/run")), None);
    }

    #[test]
    fn a_limit_is_a_sentence_and_nothing_names_a_host_to_install_from() {
        for preset in PRESETS {
            for limit in preset.limits {
                assert!(limit.ends_with('.'), "{limit}");
            }
            assert!(!preset.install.contains("://"), "{}", preset.install);
        }
    }

    #[test]
    fn an_older_version_is_told_from_a_newer_one() {
        let preset = Preset::named("opencode").unwrap();
        let oldest = preset.oldest.unwrap();
        for (version, is_old) in [
            (oldest, false),
            ("1.18.4", true),
            ("1.19.0-beta.1", false),
            ("v2", false),
            ("0.99.99", true),
            ("unknown", true),
        ] {
            assert_eq!(preset.too_old(version).is_some(), is_old, "{version}");
        }
        assert_eq!(Preset::named("pando").unwrap().too_old("0.1"), None);
    }
}
