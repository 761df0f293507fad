//! What is in force, and why.
//!
//! Built-in defaults with what is known of agents by name, then the file of `--config`, then `AGUI_…` variables with `__` between levels,
//! then flags: each layer over the one before. What is written ([`load`]ed values, each with its
//! source) and what is meant ([`Settings`]) are two types; the second is made only of what was
//! checked. An error names the key and the place it came from. Nothing below this floor knows that
//! there are files or variables: each part of the daemon has its own `Options`, made here.

#[cfg(feature = "acp")]
mod acp;
mod agent;
mod database;
mod environ;
mod key;
mod layer;
mod load;
mod log;
mod permissions;
#[cfg(feature = "acp")]
mod preset;
mod print;
#[cfg(feature = "acp")]
mod program;
mod raw;
mod reach;
mod scalar;
mod settings;
#[cfg(test)]
mod tests;
pub mod token;
pub mod tokens;

use std::{io, path::PathBuf};

pub use agent::{Agent, Core, Unasked};
pub use environ::Environ;
pub use layer::{Flags, Place, Source};
pub use load::{Command, Inputs, Loaded, Typed};
pub use print::print;
pub use reach::within_reach;
pub use settings::Settings;

use self::database::state_dir;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("read the configuration file {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is no TOML.
    #[error("read {place}, line {line}: {why}")]
    Syntax {
        /// The file or the variable.
        place: Place,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// A key is unknown, or its value cannot be used.
    #[error("take `{key}` from {place}: {why}")]
    Key {
        /// The key, with dots between levels and places in lists in brackets.
        key: String,
        /// Where it stands.
        place: Place,
        /// What is wrong with it.
        why: String,
    },
    /// The token cannot be found.
    #[error(transparent)]
    Token(#[from] token::Error),
}

/// Reads all layers and checks them.
///
/// # Errors
/// A layer cannot be read, a key is unknown, or a value cannot be used.
pub fn load(inputs: &Inputs) -> Result<(Settings, Loaded), Error> {
    let loaded = load::load(inputs)?;
    let settings = Settings::new(&loaded, inputs)?;
    Ok((settings, loaded))
}
