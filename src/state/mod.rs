//! The state document: the JSON that a client sees in `STATE_SNAPSHOT` and `STATE_DELTA`, one per thread.
//!
//! `document` is the whole: whose member is whose, how large it may become, and each change as a patch. `todos`,
//! `usage`, `files`, `sub_agents` and `settings` are its parts, as clients see them. Everything is plain data: a
//! part that changes nothing gives no patch, and a part that does not fit changes nothing.

mod document;
mod files;
mod settings;
mod sub_agents;
mod todos;
mod usage;

pub use self::{
    document::{Document, Model, TooLarge},
    files::{File, FileAction},
    settings::{Choice, PerSetting, Setting, SettingKind, Settings},
    sub_agents::{About, Conclusion, Role, SubAgent, SubAgentStatus, SubAgentUpdate},
    todos::{Todo, TodoPriority, TodoStatus},
    usage::{ContextUpdate, ContextUsage, Tokens},
};
