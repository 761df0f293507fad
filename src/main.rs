//! The program: reads what was typed, does it, and says how it ended.

use std::process::ExitCode;

use agui_serve::{
    cli::{self, CommandLine},
    config::Environ,
    env::Env,
};
use clap::Parser;

fn main() -> ExitCode {
    let line = CommandLine::parse();
    match cli::run(line, Environ::of_process(), &Env::system()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}", cli::message(&error));
            ExitCode::from(cli::code(&error))
        }
    }
}
