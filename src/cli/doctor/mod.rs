//! `agui-serve doctor`: looks at everything that serving needs, and says what is wrong before a client meets
//! it. Whatever it starts it ends, and it changes nothing, but that agents which cannot remove a session keep the
//! one that it opens in each.

#[cfg(feature = "acp")]
mod agent;
mod host;

use std::process::ExitCode;

use serde::Serialize;

use super::show;
use crate::{
    cli::exit,
    config::{self, Inputs},
};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// Good to know.
    #[cfg_attr(
        not(feature = "acp"),
        expect(dead_code, reason = "it is said of programs")
    )]
    Info,
    /// As it should be.
    Ok,
    /// It works, though not as one would think.
    Warn,
    /// It does not work.
    Fail,
}

impl Level {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What one look has found.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    about: String,
    says: String,
}

/// What was found so far.
struct Findings {
    list: Vec<Finding>,
    as_json: bool,
}

impl Findings {
    /// Adds one. People see it at once: a look at an agent takes some seconds.
    fn add(&mut self, level: Level, about: impl Into<String>, says: impl AsRef<str>) {
        let (about, says) = (about.into(), line(says.as_ref()));
        if !self.as_json {
            show(&format!("{:<4}  {about}: {says}\n", level.as_str()));
        }
        self.list.push(Finding { level, about, says });
    }

    /// Whether something does not work.
    fn has_failed(&self) -> bool {
        self.list.iter().any(|finding| finding.level == Level::Fail)
    }
}

/// A text as one line of bounded length: part of it may be what an agent has said.
fn line(text: &str) -> String {
    const LONGEST: usize = 1000;
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain = words.join(" ");
    let plain = plain.chars().filter(|c| !c.is_control());
    plain.take(LONGEST).collect()
}

/// Looks at everything. The program ends with 1 if something does not work.
pub(super) fn doctor(inputs: &Inputs, as_json: bool) -> ExitCode {
    let mut findings = Findings {
        list: Vec::new(),
        as_json,
    };
    match config::load(inputs) {
        Ok((settings, loaded)) => {
            let place = inputs.file.as_ref().map(|file| file.display().to_string());
            let place = place.unwrap_or_else(|| "no file, the defaults".into());
            findings.add(Level::Ok, "configuration", place);
            host::check(&settings, inputs, &mut findings);
            #[cfg(feature = "acp")]
            agent::check(settings.agents, loaded.has_agents(), inputs, &mut findings);
            #[cfg(not(feature = "acp"))]
            drop((settings, loaded));
        }
        Err(error) => {
            let says = exit::failure(&error.into());
            findings.add(Level::Fail, "configuration", says);
        }
    }
    let is_fine = !findings.has_failed();
    if as_json {
        let document = serde_json::json!({"ok": is_fine, "findings": findings.list});
        show(&format!("{document:#}\n"));
    }
    ExitCode::from(u8::from(!is_fine))
}
