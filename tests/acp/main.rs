//! The ACP core against a program of its own: every way to start, to speak and to end.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

mod asking;
mod conformance;
mod daemon;
mod desk;
mod doctor;
mod ending;
#[cfg(target_os = "linux")]
mod fence;
mod history;
mod keeping;
mod letting_go;
mod login;
mod questions;
mod settings;
mod sharing;
mod speaking;
mod stage;
mod starting;
mod state;
mod tools;
