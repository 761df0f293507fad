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
    /// An agent given as a command line of its own; it is served alone.
    pub command: Option<Command>,
    /// The folder in which the daemon was started.
    pub cwd: PathBuf,
}

/// What stands behind `--` on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
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

/// Reads all layers.
///
/// # Errors
/// A layer cannot be read, a key is unknown, or a value is not of its key's kind.
pub(super) fn load(inputs: &Inputs) -> Result<Loaded, Error> {
    let mut flags = inputs.flags.clone();
    let alone = inputs.command.as_ref().map(|command| {
        let name = command.agent_name();
        let agent = |key| ["agents", name.as_str(), key];
        flags.set(COMMAND, &agent("core"), Some("acp"));
        flags.set(COMMAND, &agent("command"), Some(command.program.as_str()));
        flags.set(COMMAND, &agent("args"), Some(command.args.clone()));
        flags.set(COMMAND, &["default_agent"], Some(name.as_str()));
        name
    });

    let mut layers = vec![Layer::defaults()];
    if let Some(file) = &inputs.file {
        layers.push(Layer::file(file, &inputs.cwd)?);
    }
    layers.push(Layer::environment(&inputs.environ, &inputs.cwd)?);
    layers.push(Layer::flags(&flags, &inputs.cwd));

    let mut figment = Figment::new();
    for layer in &layers {
        figment = figment.merge(layer);
    }
    let sources: Vec<Source> = layers.into_iter().map(|layer| layer.source).collect();
    // Text is accepted for numbers and switches, because a variable of the environment is text.
    let mut raw: Raw = figment
        .extract_lossy()
        .map_err(|error| explain(&error, &sources))?;
    if let Some(name) = alone {
        raw.agents.retain(|other, _| *other == name);
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

impl Loaded {
    /// The value of a key as written, and its source.
    pub(super) fn find(&self, key: &[&str]) -> Option<(&Value, &Source)> {
        let mut value = &self.merged;
        for segment in key {
            value = value.as_dict()?.get(*segment)?;
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
    pub(super) fn refuse(&self, key: &[&str], why: impl fmt::Display) -> Error {
        // A key that is not written itself is missing from what is written around it.
        let source = (0..=key.len())
            .rev()
            .find_map(|depth| self.find(&key[..depth]))
            .map_or(&Source::Default, |(_, source)| source);
        Error::Key {
            place: source.place(key),
            key: key.join("."),
            why: why.to_string(),
        }
    }
}

/// Says what is wrong with a key in the words of the person who wrote it.
fn explain(error: &figment::Error, sources: &[Source]) -> Error {
    let name = error.metadata.as_ref().map(|data| &*data.name);
    let source = sources.iter().find(|source| Some(source.name()) == name);
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
        key: error.path.join("."),
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
