//! Named tokens: who is known by which, kept as digests, so that no configuration holds a secret.
//!
//! SHA-256, once and without a salt, is enough here. What it hides is no password that a person thought of but
//! a token of some 244 random bits: nobody finds that by trying, and nobody has a table of such tokens, so neither a
//! slow hash nor a salt would stop anybody. A slow hash would make every request slow instead, and a salt
//! would mean to hash what is shown once for each name.

use std::{fmt, str::FromStr, sync::Arc};

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::Secret;
use crate::deps::Principal;

/// What a digest is written with in front.
const PREFIX: &str = "sha256:";

/// The SHA-256 digest of a token, by which it is known without being kept. Written as `sha256:` and 64
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of a token.
    pub fn of(token: &Secret) -> Self {
        Self::of_bytes(token.expose().as_bytes())
    }

    fn of_bytes(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// The start of it: enough to tell two apart, too little to try tokens against.
    pub fn short(&self) -> String {
        format!("{PREFIX}{}…", Hex(&self.0[..4]))
    }

    /// Compares in constant time.
    fn matches(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", Hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

/// Bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Digest {
    type Err = BadTokens;

    fn from_str(text: &str) -> Result<Self, BadTokens> {
        let hex = text.strip_prefix(PREFIX).ok_or(BadTokens::NoDigest)?;
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(BadTokens::NoDigest);
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| BadTokens::NoDigest)?;
        }
        Ok(Self(bytes))
    }
}

/// Tokens by which callers are told apart. There is at least one, and no two are the same.
#[derive(Debug, Clone)]
pub struct Tokens(Arc<[(Principal, Digest)]>);

/// Why callers cannot be told apart. The texts repeat no token and no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTokens {
    /// It is not the digest of a token.
    #[error("a token's digest is `sha256:` and 64 hexadecimal digits")]
    NoDigest,
    /// Nobody could call.
    #[error("at least one token is needed")]
    NoToken,
    /// Nobody could say who of the two calls.
    #[error("{0} and {1} have the same token")]
    Same(Principal, Principal),
}

impl Tokens {
    /// Takes over who is known by which token. A principal may have several, as while one replaces another.
    ///
    /// # Errors
    /// There is none, or two are the same.
    pub fn new(known: impl IntoIterator<Item = (Principal, Digest)>) -> Result<Self, BadTokens> {
        let known: Arc<[(Principal, Digest)]> = known.into_iter().collect();
        if known.is_empty() {
            return Err(BadTokens::NoToken);
        }
        for (at, (principal, digest)) in known.iter().enumerate() {
            if let Some((first, _)) = known[..at].iter().find(|(_, other)| other == digest) {
                return Err(BadTokens::Same(first.clone(), principal.clone()));
            }
        }
        Ok(Self(known))
    }

    /// Whose token this is. Takes the same time whoever's it is, and if it is nobody's.
    pub(super) fn whose(&self, shown: &[u8]) -> Option<&Principal> {
        let shown = Digest::of_bytes(shown);
        let mut found = u32::MAX;
        for (at, (_, digest)) in (0..).zip(self.0.iter()) {
            found.conditional_assign(&at, digest.matches(&shown));
        }
        let (principal, _) = self.0.get(usize::try_from(found).ok()?)?;
        Some(principal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, token: &str) -> (Principal, Digest) {
        let token = Secret::new(token).unwrap();
        (Principal::new(name).unwrap(), Digest::of(&token))
    }

    #[test]
    fn a_token_is_known_by_its_digest_and_by_nothing_else() {
        let plain = (
            Principal::local(),
            Digest::of(&Secret::new("plain").unwrap()),
        );
        let known = [named("alice", "a-token"), plain, named("bob", "b-token")];
        let tokens = Tokens::new(known).unwrap();
        for (shown, whose) in [
            ("a-token", Some("alice")),
            ("b-token", Some("bob")),
            ("plain", Some("local")),
            ("", None),
            ("a-tokem", None),
            ("alice", None),
            (
                &Digest::of(&Secret::new("a-token").unwrap()).to_string(),
                None,
            ),
        ] {
            let found = tokens.whose(shown.as_bytes());
            assert_eq!(found.map(Principal::as_str), whose, "{shown}");
        }
    }

    #[test]
    fn a_digest_is_written_as_it_is_read() {
        // FIPS 180-4, the example "abc".
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = Digest::of(&Secret::new("abc").unwrap());
        assert_eq!(digest.to_string(), text);
        for written in [
            text.to_owned(),
            format!("sha256:{}", text[7..].to_uppercase()),
        ] {
            assert_eq!(written.parse(), Ok(digest));
        }
        assert_eq!(digest.short(), "sha256:ba7816bf…");
        for bad in [
            "",
            "sha256:",
            &text[7..],
            &text[..70],
            &format!("{text}0"),
            &format!("sha512:{}", &text[7..]),
            &text.replace("ba", "+a"),
            &text.replace("ba", "é"),
        ] {
            assert_eq!(bad.parse::<Digest>(), Err(BadTokens::NoDigest), "{bad}");
        }
    }

    #[test]
    fn callers_that_cannot_be_told_apart_are_refused() {
        assert_eq!(Tokens::new([]).err(), Some(BadTokens::NoToken));
        let known = [named("a", "1"), named("b", "2"), named("c", "1")];
        let error = Tokens::new(known).unwrap_err();
        assert_eq!(error.to_string(), "a and c have the same token");
        let several = [named("a", "1"), named("a", "2")];
        assert!(Tokens::new(several).is_ok());
    }
}
