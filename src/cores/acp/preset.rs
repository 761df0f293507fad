//! What is known of agents by name: how each is started, how it is made to ask, how one logs in to it.

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
    /// Variables that it finds its keys and its settings in, to be passed on.
    pub pass_env: &'static [&'static str],
    /// The mode in which it asks before it acts, where it has another by itself.
    pub mode: Option<&'static str>,
    /// How many sessions one process may have at once, where that is bounded.
    pub sessions: Option<usize>,
    /// How it is installed: a line for a shell.
    pub install: &'static str,
    /// The oldest version that is known to work.
    pub oldest: &'static str,
    /// How one logs in to it: the program and its arguments, for a terminal.
    pub login: &'static [&'static str],
    /// What does not work with it: sentences for people.
    pub limits: &'static [&'static str],
}

/// All of them, by name.
pub const PRESETS: &[Preset] = &[];

impl Preset {
    /// The preset of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

/// Whether an agent in that mode acts without asking anybody.
pub(crate) fn approves_by_itself(mode: &str) -> bool {
    mode == "yolo" || mode == "auto" || mode.rsplit(':').next() == Some("agent")
}
