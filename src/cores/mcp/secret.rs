//! The secret of a place: what an agent shows with each request, and how it is looked for.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The longest secret that is looked at, in bytes.
pub(super) const LONGEST: usize = 128;

/// A secret of one place. It never prints.
///
/// It is two random UUIDs: 244 bits of the operating system's randomness through a crate that is here anyway.
#[derive(Clone)]
pub struct Secret(Box<str>);

/// What is kept of a secret to find its place by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digested([u8; 32]);

impl Secret {
    /// A new one.
    #[expect(
        clippy::disallowed_methods,
        reason = "a secret is no id: no test may know it beforehand"
    )]
    pub(super) fn generate() -> Self {
        let half = || uuid::Uuid::new_v4().simple();
        Self(format!("{}{}", half(), half()).into())
    }

    /// The secret itself, for whoever it is handed to.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn digest(&self) -> Digested {
        Digested::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Digested {
    /// Of what was shown. Nobody can choose a digest, so that how long a search for one takes says nothing.
    pub(super) fn of(shown: &str) -> Self {
        Self(Sha256::digest(shown.as_bytes()).into())
    }

    /// Compares in constant time.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_and_no_two_are_alike() {
        let [one, other] = [Secret::generate(), Secret::generate()];
        assert_eq!(format!("{one:?}"), "Secret(…)");
        assert_eq!(one.expose().len(), 64);
        assert!(!one.digest().is(&other.digest()));
        assert!(one.digest().is(&Digested::of(one.expose())));
    }
}
