//! Where the decoder stands in the request, what it has warned of, and how members are taken out.

use serde_json::Value;

use super::{DecodeError, Warning, value::object};
use crate::protocol::JsonObject;

/// More warnings than this are counted, not kept: a request may hold a million unknown members.
const MAX_WARNINGS: usize = 32;

/// As much of a member's name as a warning repeats, in characters.
const MAX_EXCERPT: usize = 40;

pub(super) type Read<T> = Result<T, DecodeError>;

/// The place, and the warnings so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    path: Vec<Step>,
    warnings: Vec<Warning>,
    left_out: usize,
    snake_case_seen: bool,
}

/// One level down.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A member, by its wire name.
    Name(&'static str),
    /// An element.
    Index(usize),
}

impl Reader {
    pub(super) fn within<T>(&mut self, step: Step, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = read(self);
        self.path.pop();
        result
    }

    fn pointer(&self) -> String {
        self.path.iter().fold(String::new(), |pointer, step| {
            pointer
                + "/"
                + &match step {
                    Step::Name(name) => (*name).to_owned(),
                    Step::Index(index) => index.to_string(),
                }
        })
    }

    pub(super) fn invalid(&self, reason: impl Into<String>) -> DecodeError {
        DecodeError::Invalid {
            pointer: self.pointer(),
            reason: reason.into(),
        }
    }

    pub(super) fn warn(&mut self, message: impl Into<String>) {
        if self.warnings.len() == MAX_WARNINGS {
            self.left_out += 1;
            return;
        }
        self.warnings.push(Warning {
            pointer: self.pointer(),
            message: message.into(),
        });
    }

    pub(super) fn into_warnings(mut self) -> Vec<Warning> {
        if self.left_out > 0 {
            self.warnings.push(Warning {
                pointer: String::new(),
                message: format!("{} further warnings left out", self.left_out),
            });
        }
        self.warnings
    }
}

/// The members of one object that nobody has read yet.
pub(super) struct Members(JsonObject);

impl Members {
    pub(super) fn of(value: Value, reader: &mut Reader) -> Read<Self> {
        object(value, reader).map(Self)
    }

    /// A member that may be absent. `null` is absent.
    pub(super) fn optional<T>(
        &mut self,
        name: &'static str,
        reader: &mut Reader,
        read: impl FnOnce(Value, &mut Reader) -> Read<T>,
    ) -> Read<Option<T>> {
        match self.take(name, reader) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => reader
                .within(Step::Name(name), |reader| read(value, reader))
                .map(Some),
        }
    }

    /// A member that must be there and not be `null`.
    pub(super) fn required<T>(
        &mut self,
        name: &'static str,
        reader: &mut Reader,
        read: impl FnOnce(Value, &mut Reader) -> Read<T>,
    ) -> Read<T> {
        let value = self.take(name, reader);
        reader.within(Step::Name(name), |reader| match value {
            None => Err(reader.invalid("is missing")),
            Some(Value::Null) => Err(reader.invalid("must not be null")),
            Some(value) => read(value, reader),
        })
    }

    /// Warns of every member that nobody has read.
    pub(super) fn ignore_rest(self, reader: &mut Reader) {
        for name in self.0.keys() {
            reader.warn(format!("unknown member `{}` left out", excerpt(name)));
        }
    }

    /// The wire name wins over its `snake_case` form, unless it is `null`.
    fn take(&mut self, name: &'static str, reader: &mut Reader) -> Option<Value> {
        let value = self.0.swap_remove(name);
        let Some(other) = snake_case(name).and_then(|snake| self.0.swap_remove(&snake)) else {
            return value;
        };
        if value.as_ref().is_some_and(|value| !value.is_null()) {
            reader.warn(format!(
                "`{name}` is given twice, its snake_case form left out"
            ));
            return value;
        }
        if !reader.snake_case_seen {
            reader.snake_case_seen = true;
            reader.warn(format!(
                "snake_case member names read as camelCase, first `{name}`"
            ));
        }
        Some(other)
    }
}

/// `None` if the name is the same in both.
fn snake_case(name: &str) -> Option<String> {
    if !name.contains(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let mut snake = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    Some(snake)
}

fn excerpt(name: &str) -> String {
    let mut chars = name.chars();
    let mut excerpt: String = chars
        .by_ref()
        .take(MAX_EXCERPT)
        .map(|c| match c {
            '_' | '-' | '.' | '$' | '@' | ':' | '/' => c,
            c if c.is_alphanumeric() => c,
            _ => '?',
        })
        .collect();
    if chars.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}
