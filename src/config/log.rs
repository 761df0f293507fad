//! The filter of the log, and the words in it that mean something else than they seem to.

use tracing::level_filters::LevelFilter;

use super::load::nearest;
use crate::telemetry;

/// What can be said of a module, or of all.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a filter, beyond what its language asks for: there, a word alone that is no level names a
/// module, so that a misspelt level turns the whole log off without a word.
///
/// # Errors
/// It is not in the filter language, or a word alone is no level.
pub(super) fn check(filter: &str) -> Result<(), String> {
    telemetry::filter(filter).map_err(|why| why.to_string())?;
    match bare(filter).find(|word| word.parse::<LevelFilter>().is_err()) {
        Some(word) => Err(explain(word)),
        None => Ok(()),
    }
}

/// The words that stand alone: without a level behind them, and without spans.
fn bare(filter: &str) -> impl Iterator<Item = &str> {
    filter.split(',').filter(|word| !word.contains(['=', '[']))
}

fn explain(word: &str) -> String {
    let levels = LEVELS.join(", ");
    let meant = match nearest(&word.to_lowercase(), &LEVELS) {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    format!("\"{word}\" is no level ({levels}); {meant}for a module write {word}=info")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_alone_is_a_level() {
        for filter in [
            "info",
            "WARN",
            "off",
            "info,agui_serve=debug",
            "info,hyper=off",
            "info,[run]",
        ] {
            assert_eq!(check(filter), Ok(()), "{filter}");
        }
        for (filter, meant) in [
            ("inof", "did you mean `info`? for a module write inof=info"),
            ("warn,Trase", "did you mean `trace`?"),
            ("agui_serve", "trace); for a module write agui_serve=info"),
            ("info,hyper::proto", "for a module write hyper::proto=info"),
        ] {
            let why = check(filter).unwrap_err();
            assert!(
                why.contains("off, error, warn, info, debug, trace"),
                "{why}"
            );
            assert!(why.contains(meant), "{why}");
        }
        assert!(check("agui_serve=loud").is_err());
    }
}
