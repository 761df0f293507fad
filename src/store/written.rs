//! A message as it is written: the words that the tables hold. Read and made where the message is wanted, not in the
//! store's thread, which everybody waits for.

use super::{Begin, Line};
use crate::protocol::MessageId;

/// A line of a transcript in the words of its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) message: String,
    pub(super) after: Option<String>,
    /// The message in JSON.
    pub(super) body: String,
}

impl From<&Line> for Written {
    fn from(line: &Line) -> Self {
        Self {
            message: line.message.id.as_str().into(),
            after: line.after.as_ref().map(|id| id.as_str().into()),
            // What cannot be written could not be read either, and is left out then.
            body: serde_json::to_string(&line.message).unwrap_or_default(),
        }
    }
}

impl Written {
    /// The line, if it is one that this program understands.
    pub(super) fn read(&self) -> Option<Line> {
        Some(Line {
            message: serde_json::from_str(&self.body).ok()?,
            after: match &self.after {
                Some(id) => Some(MessageId::new(id.as_str()).ok()?),
                None => None,
            },
        })
    }
}

impl Begin {
    /// The same in the words of the tables.
    pub(super) fn written(self) -> Begin<Written> {
        Begin {
            run: self.run,
            workdir: self.workdir,
            title: self.title,
            cut: self.cut,
            lines: self.lines.iter().map(Written::from).collect(),
        }
    }
}
