//! What is in force, as TOML, each value with its source.

use std::fmt::Write;

use figment::value::Value;

#[cfg(feature = "acp")]
use super::Core;
use super::{Settings, Source, load::Loaded, tokens};
use crate::http::Digest;

/// What is printed for a value that may be a secret.
const REDACTED: &str = "(not shown)";

/// Writes every key with its value and where that came from. Variables that agents get are not shown,
/// and neither is the token; of a token's digest the start is.
pub fn print(settings: &Settings, loaded: &Loaded) -> String {
    let mut out = String::new();
    match &settings.token {
        Some(source) => _ = writeln!(out, "# token: {source}"),
        None if settings.tokens.is_empty() => out.push_str("# token: none is needed\n"),
        None => {}
    }
    if !settings.tokens.is_empty() {
        let _ = writeln!(out, "# tokens of: {}", tokens::names(&settings.tokens));
    }
    for agent in &settings.agents {
        #[cfg(feature = "acp")]
        if let Core::Acp(options) = &agent.core {
            let seen = options.pass_env.join(", ");
            let seen = if seen.is_empty() { "none" } else { &seen };
            let _ = writeln!(out, "# agent {} sees of your variables: {seen}", agent.name);
        }
        let _ = match agent.workdir() {
            Some(workdir) => writeln!(out, "# agent {} works in {}", agent.name, workdir.display()),
            None => writeln!(out, "# agent {} works in no folder", agent.name),
        };
    }
    out.push('\n');
    table(&mut out, &[], loaded);
    if !loaded.has_agents() {
        out.push_str("\n[agents.demo]\ncore = \"demo\"  # default, as no agent is configured\n");
    }
    out
}

/// Writes the table at `key`: its plain values, then the tables in it.
fn table(out: &mut String, key: &[&str], loaded: &Loaded) {
    let Some((Value::Dict(_, values), _)) = loaded.find(key) else {
        return;
    };
    let (tables, plain): (Vec<_>, Vec<_>) = values
        .iter()
        .partition(|(_, value)| matches!(value, Value::Dict(..)));
    if !key.is_empty() && !plain.is_empty() {
        let header: Vec<String> = key.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(out, "\n[{}]", header.join("."));
    }
    let inside = |name| [key, &[name]].concat();
    for (name, value) in plain {
        let key = inside(name.as_str());
        let shown = match key.as_slice() {
            ["agents", _, "env", _] => literal(&Value::from(REDACTED)),
            ["tokens", _] => literal(&Value::from(shortened(value))),
            _ => literal(value),
        };
        let why = match loaded.find(&key) {
            None | Some((_, Source::Default)) => "default".into(),
            Some((_, source)) => source.place(&key).to_string(),
        };
        let _ = writeln!(out, "{} = {shown}  # {why}", quoted(name));
    }
    for (name, _) in tables {
        // A program on the command line is served alone; what else is configured is not in force.
        if key != ["agents"] || loaded.raw.agents.contains_key(name) {
            table(out, &inside(name.as_str()), loaded);
        }
    }
}

/// The start of a digest.
fn shortened(digest: &Value) -> String {
    let digest: Option<Digest> = digest.as_str().and_then(|text| text.parse().ok());
    digest.map_or(REDACTED.into(), |digest| digest.short())
}

/// A key as TOML wants it: in quotes unless it is a bare word.
fn quoted(name: &str) -> String {
    toml_edit::Key::new(name).to_string()
}

/// A value as TOML.
fn literal(value: &Value) -> String {
    match value {
        Value::String(_, text) => toml_edit::Value::from(text.as_str()).to_string(),
        Value::Char(_, c) => toml_edit::Value::from(c.to_string()).to_string(),
        Value::Bool(_, flag) => flag.to_string(),
        Value::Num(_, number) => match (number.to_u128(), number.to_i128(), number.to_f64()) {
            (Some(number), _, _) => number.to_string(),
            (_, Some(number), _) => number.to_string(),
            (_, _, number) => number.unwrap_or_default().to_string(),
        },
        Value::Empty(..) => "\"\"".into(),
        Value::Array(_, items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Dict(_, entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(name, value)| format!("{} = {}", quoted(name), literal(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}
