//! The process environment, read once and passed down.

use std::collections::BTreeMap;

/// The variable that holds the token itself. It is no key of the configuration, so that it can never
/// be printed as one.
pub(super) const TOKEN_VARIABLE: &str = "AGUI_TOKEN";

/// What the environment said when the process started.
///
/// Has no `Debug`: a variable may hold a secret.
#[derive(Clone, Default)]
pub struct Environ(BTreeMap<String, String>);

impl Environ {
    /// Reads the process's own environment. Bytes that are no UTF-8 are replaced.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where the environment is read"
    )]
    pub fn of_process() -> Self {
        std::env::vars_os()
            .map(|(name, value)| {
                let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
                (text(name), text(value))
            })
            .collect()
    }

    /// The value of a variable, also an empty one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of a variable for which empty means unset, as the XDG rules say.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// All of it but the daemon's own token, for those who pick what an agent may see.
    #[cfg(feature = "acp")]
    pub(super) fn without_token(&self) -> BTreeMap<String, String> {
        let mut variables = self.0.clone();
        variables.remove(TOKEN_VARIABLE);
        variables
    }

    /// All variables whose names start with `prefix`, without it.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .iter()
            .filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }
}

impl FromIterator<(String, String)> for Environ {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}
