//! `agui-serve token NAME`: a token for one who calls, and the line by which the daemon knows it. Writes no file.

use std::io::{self, Read};

use anyhow::Context;

use crate::{config::tokens::Grant, deps::Principal};

/// How much is read of a token, in bytes: more than the longest.
const LONGEST: u64 = 8192;

/// Makes a token, and answers with what to show.
pub(super) fn made(principal: Principal) -> String {
    Grant::new(principal).show()
}

/// Takes the token on standard input, and answers with what to show.
pub(super) fn taken(principal: Principal) -> anyhow::Result<String> {
    let mut token = String::new();
    io::stdin()
        .take(LONGEST)
        .read_to_string(&mut token)
        .context("read the token from standard input")?;
    Ok(Grant::of(principal, &token)?.show())
}
