//! The parameters behind a path's question mark. One that is empty counts as absent, one that nobody knows is
//! passed over.

use std::borrow::Cow;

use http::Uri;

use super::problem::Problem;

/// The query of a request.
pub(super) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub(super) fn of(target: &'a Uri) -> Self {
        Self(target.query().unwrap_or_default())
    }

    /// The value of a parameter.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        form_urlencoded::parse(self.0.as_bytes())
            .find(|(own, value)| own == name && !value.is_empty())
            .map(|(_, value)| value)
    }

    /// The same, read; what cannot be is refused, with `what` it must be.
    pub(super) fn read<T>(
        &self,
        name: &'static str,
        what: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let bad = || Problem::Parameter {
            place: name,
            why: format!("must be {what}"),
        };
        read(&value).map(Some).ok_or_else(bad)
    }
}
