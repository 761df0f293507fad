//! Logs: for people on a terminal, one JSON object a line otherwise, always on standard error.
//!
//! Messages are fields rather than sentences. At `info` and above they hold names, ids, places, codes and numbers, and
//! nothing that a client or an agent said in a run, save one: where an agent's program has failed, the
//! last line of its standard error, cut short. At `debug` they may hold any of it.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    fmt::Write as _,
    io::{self, IsTerminal},
    panic::PanicHookInfo,
};

use serde::{Deserialize, Serialize};
use tracing::{debug, error};
use tracing_subscriber::{
    EnvFilter,
    field::MakeExt as _,
    fmt::{self, FormatFields, format},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// How records are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people if standard error is a terminal, else JSON.
    #[default]
    Auto,
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

/// The settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How records are written.
    pub format: Format,
    /// Which records are written, in `tracing_subscriber`'s filter language.
    pub filter: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            format: Format::Auto,
            filter: "info".into(),
        }
    }
}

/// Why the log cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter is not in the filter language.
    #[error("read the log filter: {0}")]
    Filter(String),
    /// Something in this process writes a log already.
    #[error("start the log: this process has one already")]
    Twice,
}

/// What decides about the looks of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Whether standard error is a terminal.
    pub is_terminal: bool,
    /// Whether the person asked for no colours (`NO_COLOR`).
    pub no_color: bool,
}

impl Terminal {
    /// What standard error is.
    pub fn of_stderr(no_color: bool) -> Self {
        Self {
            is_terminal: io::stderr().is_terminal(),
            no_color,
        }
    }

    /// Whether to write JSON.
    fn json(self, format: Format) -> bool {
        match format {
            Format::Auto => !self.is_terminal,
            Format::Pretty => false,
            Format::Json => true,
        }
    }

    /// Whether to write colours.
    fn colours(self) -> bool {
        self.is_terminal && !self.no_color
    }
}

/// What is written of libraries that put what agents say into their records, at any level, unless the filter names
/// them.
const SILENT: &str = "rmcp";

/// Reads a filter.
///
/// # Errors
/// It is not in the filter language.
pub fn filter(text: &str) -> Result<EnvFilter, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Filter(error.to_string());
    let filter = EnvFilter::builder().parse(text);
    let filter = filter.map_err(|error| failed(&error))?;
    if text.contains(SILENT) {
        return Ok(filter);
    }
    let silence = format!("{SILENT}=off").parse();
    Ok(filter.add_directive(silence.map_err(|error| failed(&error))?))
}

/// Starts the log of this process.
///
/// # Errors
/// The filter is not in the filter language, or there is a log already.
pub fn start(options: &Options, terminal: Terminal) -> Result<(), Error> {
    let layer = fmt::layer().with_writer(io::stderr);
    let registry = tracing_subscriber::registry().with(filter(&options.filter)?);
    let started = if terminal.json(options.format) {
        registry
            .with(
                layer
                    .json()
                    .flatten_event(true)
                    .with_span_list(false)
                    .with_ansi(false),
            )
            .try_init()
    } else {
        registry
            .with(
                layer
                    .fmt_fields(fields())
                    .with_target(false)
                    .with_ansi(terminal.colours()),
            )
            .try_init()
    };
    started.map_err(|_| Error::Twice)?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(())
}

/// Makes a record of a panic: a core that panics ends its run, not the form of the log. What it says can quote
/// the text that it stumbled over.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let backtrace = Backtrace::capture();
    error!(
        place = panic.location().map(tracing::field::display),
        backtrace = (backtrace.status() == BacktraceStatus::Captured)
            .then(|| tracing::field::display(&backtrace)),
        "panicked"
    );
    debug!(said = panic.payload_as_str(), "panicked");
}

/// Writes fields for people. What others said (an agent's complaint, an id) may hold whatever steers a
/// terminal or looks like the next record, so nothing of that kind comes out as it is.
fn fields() -> impl for<'writer> FormatFields<'writer> {
    format::debug_fn(|writer, field, value| match field.name() {
        // What the `log` crate says of its own records.
        name if name.starts_with("log.") => Ok(()),
        "message" => write!(writer, "{}", harmless(&format!("{value:?}"))),
        name => write!(writer, "{name}={}", harmless(&format!("{value:?}"))),
    })
    .delimited(" ")
}

/// A text in which control characters, and those that break or turn a line, are written as escapes.
fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            write!(safe, "{}", c.escape_default()).expect("a string takes all that is written");
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Where a test's records go.
    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn report_r05_what_an_agent_or_a_client_says_cannot_forge_a_record_or_steer_a_terminal() {
        let sink = Sink::default();
        let writer = sink.clone();
        let layer = fmt::layer()
            .fmt_fields(fields())
            .without_time()
            .with_target(false)
            .with_ansi(false)
            .with_writer(move || writer.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let said = "one\n2026 INFO two\r\u{1b}[31mred\u{9b}1m\u{2028}\u{202e}é \"three\"";
            let _span = tracing::info_span!("run", thread = %said).entered();
            tracing::warn!(error = %said, code = "x", text = said, "the core failed");
        });
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let safe = r#"one\n2026 INFO two\r\u{1b}[31mred\u{9b}1m\u{2028}\u{202e}é "three""#;
        assert!(
            text.contains(&format!(
                "run{{thread={safe}}}: the core failed error={safe} code=\"x\""
            )),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            !text.trim_end().contains(|c: char| c.is_control()),
            "{text}"
        );
    }

    #[test]
    fn a_terminal_gets_text_and_a_pipe_gets_json_unless_told_otherwise() {
        let at = |is_terminal| Terminal {
            is_terminal,
            no_color: false,
        };
        for (format, terminal, json) in [
            (Format::Auto, true, false),
            (Format::Auto, false, true),
            (Format::Pretty, false, false),
            (Format::Json, true, true),
        ] {
            assert_eq!(at(terminal).json(format), json, "{format:?} {terminal}");
        }
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        for (is_terminal, no_color, colours) in [
            (true, false, true),
            (true, true, false),
            (false, false, false),
        ] {
            let terminal = Terminal {
                is_terminal,
                no_color,
            };
            assert_eq!(terminal.colours(), colours, "{terminal:?}");
        }
    }

    #[test]
    fn a_filter_is_checked_when_it_is_read() {
        assert!(filter("info,agui_serve=debug").is_ok());
        assert!(filter("agui_serve=loud").is_err());
    }

    #[test]
    fn libraries_that_write_what_agents_say_are_silent_unless_asked() {
        assert!(filter("info").unwrap().to_string().contains("rmcp=off"));
        let asked = filter("info,rmcp=debug").unwrap().to_string();
        assert!(asked.contains("rmcp=debug") && !asked.contains("off"));
    }
}
