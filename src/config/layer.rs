//! One layer of the configuration, and how to say where in it a key stands.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use figment::{
    Metadata, Profile, Provider,
    providers::{Format, Serialized, Toml},
    value::{Dict, Map, Value},
};

use super::{Environ, Error, environ::TOKEN_VARIABLE, key, raw::Raw};

/// What the environment's variables start with.
const PREFIX: &str = "AGUI_";

/// Where values come from, the weakest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Built into the program.
    Default,
    /// What is known of the agents' presets: for each agent, its preset's name.
    Presets(BTreeMap<String, &'static str>),
    /// The file that `--config` names, with its text.
    File(PathBuf, String),
    /// `AGUI_…` variables.
    Environment,
    /// The command line.
    Flags(Vec<(Vec<String>, &'static str)>),
}

/// A place in a layer, as people look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Source {
    /// A word for the kind of source; unlike a path it is the same on every machine.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Presets(_) => "preset",
            Self::File(..) => "file",
            Self::Environment => "environment",
            Self::Flags(_) => "flag",
        }
    }

    /// Where a key stands in this source.
    pub fn place(&self, key: &[impl AsRef<str>]) -> Place {
        let key: Vec<&str> = key.iter().map(AsRef::as_ref).collect();
        Place(match self {
            Self::Default => "the built-in defaults".into(),
            Self::Presets(presets) => match key.get(1).and_then(|agent| presets.get(*agent)) {
                Some(preset) => format!("the preset {preset}"),
                None => "the presets".into(),
            },
            Self::File(path, text) => match line_of(text, &key) {
                Some(line) => format!("{}, line {line}", path.display()),
                None => path.display().to_string(),
            },
            Self::Environment => format!(
                "environment variable {PREFIX}{}",
                key::of_list(&key).join("__").to_uppercase()
            ),
            Self::Flags(flags) => flags
                .iter()
                .find(|(flagged, _)| {
                    key.len() >= flagged.len() && flagged.iter().eq(&key[..flagged.len()])
                })
                .map_or("the command line", |(_, flag)| flag)
                .into(),
        })
    }
}

/// The line on which a key is written, counted from 1.
fn line_of(text: &str, key: &[&str]) -> Option<usize> {
    let document = toml_edit::ImDocument::parse(text).ok()?;
    let mut item = document.as_item();
    let mut found = None;
    for segment in key {
        let inner = if let Some(table) = item.as_table_like() {
            table
                .get_key_value(segment)
                .map(|(written, item)| (written.span(), item))
        } else {
            // A place in a list.
            let place = segment.parse::<usize>().ok();
            place
                .and_then(|place| item.get(place))
                .map(|item| (item.span(), item))
        };
        let Some((span, inner)) = inner else {
            break;
        };
        found = span.or(found);
        item = inner;
    }
    Some(text[..found?.start].matches('\n').count() + 1)
}

/// Values of one source.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) source: Source,
    values: Dict,
}

impl Layer {
    /// What is built in.
    pub(super) fn defaults() -> Self {
        let values = Serialized::defaults(Raw::default())
            .data()
            .ok()
            .and_then(|mut profiles| profiles.remove(&Profile::Default))
            .expect("the defaults are a plain table");
        Self {
            source: Source::Default,
            values,
        }
    }

    /// What presets say of agents that name them.
    #[cfg(feature = "acp")]
    pub(super) fn presets(presets: BTreeMap<String, &'static str>, agents: Dict) -> Self {
        Self {
            source: Source::Presets(presets),
            values: Dict::from([("agents".to_owned(), Value::from(agents))]),
        }
    }

    /// A file's values. Paths in it start at its own folder.
    ///
    /// # Errors
    /// The file cannot be read, or is no TOML.
    pub(super) fn file(path: &Path, cwd: &Path) -> Result<Self, Error> {
        let path = cwd.join(path);
        let text = std::fs::read_to_string(&path).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?;
        let mut values: Dict = Toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .map(|span| text[..span.start].matches('\n').count() + 1);
            Error::Syntax {
                place: Source::File(path.clone(), String::new()).place(&[""]),
                line: line.unwrap_or(1),
                why: error.message().replace('\n', ", "),
            }
        })?;
        anchor(&mut values, path.parent().unwrap_or(cwd));
        Ok(Self {
            source: Source::File(path, text),
            values,
        })
    }

    /// The values of `AGUI_…` variables, `__` between levels. A value is taken as text, unless it
    /// starts as a TOML array or table does.
    ///
    /// # Errors
    /// An array or table is not well-formed.
    pub(super) fn environment(environ: &Environ, cwd: &Path) -> Result<Self, Error> {
        let mut values = Dict::new();
        for (name, text) in environ.under(PREFIX) {
            if Some(name) == TOKEN_VARIABLE.strip_prefix(PREFIX) {
                continue;
            }
            let key = environment_key(name);
            let value = match text.trim_start().chars().next() {
                Some('[' | '{') => {
                    let mut table: Dict =
                        Toml::from_str(&format!("value = {text}")).map_err(|error| {
                            Error::Syntax {
                                place: Source::Environment.place(&key),
                                line: 1,
                                why: error.message().replace('\n', ", "),
                            }
                        })?;
                    table.remove("value").expect("the line before wrote it")
                }
                _ => Value::from(text),
            };
            put(&mut values, &key, value);
        }
        anchor(&mut values, cwd);
        Ok(Self {
            source: Source::Environment,
            values,
        })
    }

    /// What was typed.
    pub(super) fn flags(flags: &Flags, cwd: &Path) -> Self {
        let mut values = Dict::new();
        for (key, _, value) in &flags.0 {
            put(&mut values, key, value.clone());
        }
        anchor(&mut values, cwd);
        let places = flags.0.iter().map(|(key, flag, _)| (key.clone(), *flag));
        Self {
            source: Source::Flags(places.collect()),
            values,
        }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.name())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

/// Values from the command line, each with the flag that set it.
#[derive(Debug, Clone, Default)]
pub struct Flags(Vec<(Vec<String>, &'static str, Value)>);

impl Flags {
    /// Sets a key, if the flag was given.
    pub fn set(&mut self, flag: &'static str, key: &[&str], value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            let key = key.iter().map(|&segment| segment.to_owned()).collect();
            self.0.push((key, flag, value.into()));
        }
    }
}

/// `LIMITS__MAX_TURNS` as a key. The names of an agent's own variables keep their letters.
fn environment_key(name: &str) -> Vec<String> {
    let mut key: Vec<String> = Vec::new();
    for segment in name.split("__") {
        let own = key.len() == 3 && key[0] == "agents" && key[2] == "env";
        key.push(if own {
            segment.to_owned()
        } else {
            segment.to_lowercase()
        });
    }
    key
}

/// Puts a value at a key. Between a table and a plain value for the same key the last one stays.
fn put(table: &mut Dict, key: &[String], value: Value) {
    let Some((segment, rest)) = key.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.insert(segment.clone(), value);
        return;
    }
    let inner = table
        .entry(segment.clone())
        .or_insert_with(|| Value::from(Dict::new()));
    if inner.as_dict().is_none() {
        *inner = Value::from(Dict::new());
    }
    if let Value::Dict(_, inner) = inner {
        put(inner, rest, value);
    }
}

/// Makes the paths of a layer absolute: they start where the layer stands, not where it is read.
fn anchor(values: &mut Dict, base: &Path) {
    for key in ["token_file", "state_dir", "database"] {
        anchor_one(values, key, base);
    }
    if let Some(Value::Dict(_, defaults)) = values.get_mut("defaults") {
        anchor_one(defaults, "workdir", base);
    }
    let Some(Value::Dict(_, agents)) = values.get_mut("agents") else {
        return;
    };
    for agent in agents.values_mut() {
        let Value::Dict(_, agent) = agent else {
            continue;
        };
        anchor_one(agent, "workdir", base);
        anchor_one(agent, "instructions_file", base);
        // A bare name is looked up in `PATH`; only a program given by its path has a place.
        let by_path = |command: &Value| command.as_str().is_some_and(|text| text.contains('/'));
        if agent.get("command").is_some_and(by_path) {
            anchor_one(agent, "command", base);
        }
    }
}

/// An empty text stays: where it is read, it is refused or means that there is no such file.
fn anchor_one(table: &mut Dict, key: &str, base: &Path) {
    if let Some(Value::String(_, text)) = table.get_mut(key)
        && !text.is_empty()
    {
        *text = base.join(&text).to_string_lossy().into_owned();
    }
}
