//! The ACP core against a program of its own: every way to start, to speak and to end.

#![expect(clippy::unwrap_used, reason = "what fails here fails a test")]

mod conformance;
mod daemon;
mod desk;
mod doctor;
mod ending;
mod keeping;
mod login;
mod settings;
mod sharing;
mod speaking;
mod stage;
mod starting;
