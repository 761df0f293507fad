//! What an agent means to do, as it ticks it off.

use serde::Serialize;

/// One thing to do (ACP `plan`, an entry).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// How much it matters.
    pub priority: TodoPriority,
}

/// How far a thing to do is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// How much a thing to do matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoPriority {
    /// Before all others.
    High,
    /// As most do.
    #[default]
    Medium,
    /// After all others.
    Low,
}

impl TodoStatus {
    /// The status that agents call so. `None` for other names.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "pending" => Some(Self::Pending),
            "in_progress" => Some(Self::InProgress),
            "completed" => Some(Self::Completed),
            _ => None,
        }
    }
}

impl TodoPriority {
    /// The priority that agents call so. `None` for other names.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "high" => Some(Self::High),
            "medium" => Some(Self::Medium),
            "low" => Some(Self::Low),
            _ => None,
        }
    }
}
