//! Named tokens: `[tokens]`, where each name stands beside the digest of its token.
//!
//! The name is the principal: threads of one are not there for another. Whoever holds the file holds no
//! token; why a digest without a salt is enough for that says [`crate::http::Digest`]'s module.

use std::fmt::Write;

use super::{
    Error,
    load::Loaded,
    token::{self, Found, generate},
};
use crate::{
    deps::Principal,
    http::{Access, BadSecret, Digest, Secret, Tokens},
};

/// The shortest token that may be somebody's own choice, in bytes. What is shorter could be found from its digest.
const SHORTEST: usize = 20;

/// Who is known by which token, as configured.
pub(super) fn read(loaded: &Loaded) -> Result<Vec<(Principal, Digest)>, Error> {
    let mut known: Vec<(Principal, Digest)> = Vec::new();
    for (name, digest) in &loaded.raw.tokens {
        let refuse = |why: String| loaded.refuse(&["tokens", name], why);
        let principal = Principal::new(name).map_err(|why| refuse(why.to_string()))?;
        // What stands there may be the token itself, so it is not repeated.
        let digest: Digest = digest
            .parse()
            .map_err(|why| refuse(format!("{why}; `agui-serve token {name}` makes both")))?;
        if let Some((other, _)) = known.iter().find(|(_, known)| *known == digest) {
            return Err(refuse(format!("{other} has the same token")));
        }
        known.push((principal, digest));
    }
    Ok(known)
}

/// Who may call, by what is configured: whoever has the plain token, if there is one, and whoever has a named one;
/// anyone if there is neither.
///
/// # Errors
/// The plain token is somebody's named one as well.
pub fn access(
    plain: Option<&Found>,
    named: &[(Principal, Digest)],
) -> Result<Access, token::Error> {
    let own = match (plain, named) {
        (None, []) => return Ok(Access::Anyone),
        (Some(found), []) => return Ok(Access::Token(found.token.clone())),
        (plain, _) => plain.map(|found| (Principal::local(), Digest::of(&found.token))),
    };
    let known = named.iter().cloned().chain(own);
    Tokens::new(known).map(Access::Tokens).map_err(|why| {
        let place = plain.map(|found| found.source.to_string());
        token::Error::Shared {
            place: place.unwrap_or_default(),
            why,
        }
    })
}

/// The names, for people.
pub fn names(known: &[(Principal, Digest)]) -> String {
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}

/// A token for a principal, and what the configuration needs to know it.
#[derive(Debug)]
pub struct Grant {
    principal: Principal,
    token: Secret,
    is_new: bool,
}

/// Why a token is not taken for a principal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// No client could show it.
    #[error("take the token: {0}")]
    Unusable(#[from] BadSecret),
    /// It could be found from its digest.
    #[error(
        "take the token: it has less than {SHORTEST} characters, and could be found from its digest"
    )]
    Short,
}

impl Grant {
    /// Makes a token.
    pub fn new(principal: Principal) -> Self {
        Self {
            principal,
            token: generate(),
            is_new: true,
        }
    }

    /// Takes a token that is there already; the end of its line is not part of it.
    ///
    /// # Errors
    /// It could not be sent, or is too short.
    pub fn of(principal: Principal, token: &str) -> Result<Self, BadToken> {
        let token = Secret::new(token.trim_end_matches(['\r', '\n']))?;
        if token.expose().len() < SHORTEST {
            return Err(BadToken::Short);
        }
        Ok(Self {
            principal,
            token,
            is_new: false,
        })
    }

    /// What a person is shown, once: the token if it was made here, and the line of `[tokens]`.
    pub fn show(&self) -> String {
        let mut text = String::new();
        if self.is_new {
            let token = self.token.expose();
            let _ = writeln!(
                text,
                "The token of {}, which is kept nowhere and not shown again:\n\n  {token}\n",
                self.principal
            );
        }
        let _ = writeln!(
            text,
            "For the configuration, which knows it by its digest:\n\n  [tokens]\n  {} = \"{}\"",
            toml_edit::Key::new(self.principal.as_str()),
            Digest::of(&self.token)
        );
        text
    }
}
