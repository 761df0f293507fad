//! The one integration binary: a whole daemon in the process, driven over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attack;
mod cli_connect;
mod cli_program;
mod cli_screen;
mod config_database;
mod config_layers;
#[cfg(feature = "acp")]
mod config_presets;
mod config_prompts;
mod config_sample;
mod config_token;
mod conformance;
mod embedding;
mod fence;
mod harness;
mod http_answers;
mod http_asking;
mod http_bodies;
mod http_refusals;
mod http_routes;
mod http_streams;
mod http_threads;
mod http_viewers;
mod layering;
#[cfg(target_os = "linux")]
mod many_states;
mod readme;
mod soak;
mod store;
mod stream_input;
mod stream_lifecycle;
mod stream_property;
mod stream_reading;
mod stream_runtime;
mod stream_shapes;
mod stream_transcripts;
mod stream_translation;
mod stream_wishes;
mod tokens;
