//! The layers put together, and errors that name the key and the layer.

use std::{fmt, path::PathBuf};

use figment::{
    Figment,
    error::Kind,
    value::{Tag, Value},
};

use super::{
    Error,
    environ::Environ,
    key,
    layer::{Flags, Layer, Place, Source},
    raw::{Core, Raw},
};

/// What a configuration is made from.
#[derive(Clone)]
pub struct Inputs {
    /// `--config`.
    pub file: Option<PathBuf>,
    /// The process environment.
    pub environ: Environ,
    /// The command line.
    pub flags: Flags,
    /// Agents given on the command line; they are served alone.
    pub typed: Option<Typed>,
    /// The folder in which the daemon was started.
    pub cwd: PathBuf,
}

impl Inputs {
    /// Whether a program of that name can be started by an agent that says nothing else; looks at the disk.
    #[cfg(feature = "acp")]
    pub fn has_program(&self, name: &str) -> bool {
        super::program::look_up(name.as_ref(), self.environ.get("PATH"), &self.cwd).is_ok()
    }
}

/// Which agents the command line says to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// One, by its command.
    Command(Command),
    /// Some, by the names of their presets; the first is the default agent.
    Presets(Vec<String>),
}

/// What stands behind `--` on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Typed {
    /// Sets what was typed, and answers with the names of the agents.
    fn set(&self, flags: &mut Flags) -> Vec<String> {
        let (flag, names) = match self {
            Self::Command(command) => {
                let name = command.agent_name();
                let agent = |key| ["agents", name.as_str(), key];
                flags.set(COMMAND, &agent("core"), Some("acp"));
                flags.set(COMMAND, &agent("command"), Some(command.program.as_str()));
                flags.set(COMMAND, &agent("args"), Some(command.args.clone()));
                (COMMAND, vec![name])
            }
            Self::Presets(names) => {
                for name in names {
                    flags.set(AGENT, &["agents", name, "core"], Some("acp"));
                    flags.set(AGENT, &["agents", name, "preset"], Some(name.as_str()));
                }
                (AGENT, names.clone())
            }
        };
        let first = names.first().map(String::as_str);
        flags.set(flag, &["default_agent"], first);
        names
    }
}

impl Command {
    /// An agent's name made of the program's: `/opt/bin/My Agent.sh` is `My-Agent`.
    pub fn agent_name(&self) -> String {
        let file = self.program.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = match file.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem,
            _ => file,
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let name: String = stem
            .chars()
            .map(|c| if plain(c) { c } else { '-' })
            .take(64)
            .collect();
        match name.trim_matches('-') {
            "" => "agent".into(),
            name => name.into(),
        }
    }
}

/// The layers put together: values as written, each with its source.
pub struct Loaded {
    pub(super) raw: Raw,
    merged: Value,
    figment: Figment,
    sources: Vec<Source>,
}

/// The flag that people know the command by.
const COMMAND: &str = "the command after --";

/// The flag that names a preset.
const AGENT: &str = "--agent";

/// Reads all layers.
///
/// # Errors
/// A layer cannot be read, a key is unknown, or a value is not of its key's kind.
pub(super) fn load(inputs: &Inputs) -> Result<Loaded, Error> {
    let mut flags = inputs.flags.clone();
    let alone = inputs.typed.as_ref().map(|typed| typed.set(&mut flags));

    let mut layers = vec![Layer::defaults()];
    if let Some(file) = &inputs.file {
        layers.push(Layer::file(file, &inputs.cwd)?);
    }
    layers.push(Layer::environment(&inputs.environ, &inputs.cwd)?);
    layers.push(Layer::flags(&flags, &inputs.cwd));

    let (mut figment, mut raw) = merge(&layers)?;
    // Which presets there are is known only now; what they say stands under what people say.
    if let Some(presets) = presets(&raw) {
        layers.insert(1, presets);
        (figment, raw) = merge(&layers)?;
    }
    let sources: Vec<Source> = layers.into_iter().map(|layer| layer.source).collect();
    if let Some(names) = alone {
        raw.agents.retain(|other, _| names.contains(other));
    }
    if raw.agents.is_empty() {
        let demo = super::raw::Agent {
            core: Some(Core::Demo),
            ..Default::default()
        };
        raw.agents.insert("demo".into(), demo);
    }
    let merged = figment
        .find_value("")
        .map_err(|error| explain(&error, &sources))?;
    Ok(Loaded {
        raw,
        merged,
        figment,
        sources,
    })
}

/// What the presets of the agents say.
fn presets(raw: &Raw) -> Option<Layer> {
    #[cfg(feature = "acp")]
    return super::preset::layer(raw);
    #[cfg(not(feature = "acp"))]
    {
        let _ = raw;
        None
    }
}

/// The layers as one, each over the one before.
fn merge(layers: &[Layer]) -> Result<(Figment, Raw), Error> {
    let figment = layers.iter().fold(Figment::new(), Figment::merge);
    // Text is accepted for numbers and switches, because a variable of the environment is text.
    match figment.extract_lossy() {
        Ok(raw) => Ok((figment, raw)),
        Err(error) => Err(explain(&error, layers.iter().map(|layer| &layer.source))),
    }
}

impl Loaded {
    /// Whether any agent is configured. Without one the demo is served.
    pub fn has_agents(&self) -> bool {
        self.find(&["agents"]).is_some()
    }

    /// The value of a key as written, and its source.
    pub(super) fn find(&self, key: &[&str]) -> Option<(&Value, &Source)> {
        let mut value = &self.merged;
        for segment in key {
            value = match value {
                Value::Dict(_, table) => table.get(*segment)?,
                Value::Array(_, list) => list.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some((value, self.source(value.tag())))
    }

    fn source(&self, tag: Tag) -> &Source {
        let name = self.figment.get_metadata(tag).map(|data| &*data.name);
        self.sources
            .iter()
            .find(|source| Some(source.name()) == name)
            .unwrap_or(&Source::Default)
    }

    /// Refuses the value of a key, naming the layer that it came from.
    pub fn refuse(&self, key: &[&str], why: impl fmt::Display) -> Error {
        // A key that is not written itself is missing from what is written around it.
        let source = (0..=key.len())
            .rev()
            .find_map(|depth| self.find(&key[..depth]))
            .map_or(&Source::Default, |(_, source)| source);
        Error::Key {
            place: source.place(key),
            key: key::spelled(key),
            why: why.to_string(),
        }
    }
}

/// Says what is wrong with a key in the words of the person who wrote it.
fn explain<'a>(error: &figment::Error, sources: impl IntoIterator<Item = &'a Source>) -> Error {
    let name = error.metadata.as_ref().map(|data| &*data.name);
    let source = sources
        .into_iter()
        .find(|source| Some(source.name()) == name);
    let place: Place = source.unwrap_or(&Source::Default).place(&error.path);
    let why = match &error.kind {
        Kind::UnknownField(key, known) => match nearest(key, known) {
            Some(near) => format!("there is no such key; did you mean `{near}`?"),
            None => format!("there is no such key; there are {}", known.join(", ")),
        },
        Kind::UnknownVariant(word, known) => {
            format!("\"{word}\" is none of {}", known.join(", "))
        }
        Kind::InvalidType(found, expected) | Kind::InvalidValue(found, expected) => {
            format!("found {found}, expected {}", plain(expected))
        }
        other => other.to_string(),
    };
    Error::Key {
        key: key::spelled(&error.path),
        place,
        why,
    }
}

/// What a key's kind is called outside of Rust.
fn plain(expected: &str) -> &str {
    match expected {
        "u16" => "a whole number up to 65535",
        "usize" => "a whole number",
        "a boolean" => "true or false",
        other => other,
    }
}

/// The known word that was probably meant.
pub(super) fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(key, known), *known))
        .filter(|(distance, known)| *distance <= known.len().max(3) / 3)
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_named_after_its_program() {
        for (program, name) in [
            ("opencode", "opencode"),
            ("/opt/bin/claude-code-acp", "claude-code-acp"),
            ("./run agent.sh", "run-agent"),
            (".hidden", ".hidden"),
            ("/", "agent"),
            ("é", "agent"),
        ] {
            let command = Command {
                program: program.into(),
                args: Vec::new(),
            };
            assert_eq!(command.agent_name(), name, "{program}");
        }
    }

    #[test]
    fn the_near_key_is_suggested_and_a_far_one_is_not() {
        let known = ["port", "path", "host"];
        assert_eq!(nearest("prot", &known), Some("port"));
        assert_eq!(nearest("hosts", &known), Some("host"));
        assert_eq!(nearest("bananas", &known), None);
    }
}
