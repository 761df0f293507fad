//! What presets say of the agents that are configured: a layer of its own between the built-in defaults
//! and what people write.

use std::collections::BTreeMap;

use figment::value::{Dict, Value};

use super::{
    layer::Layer,
    raw::{Agent, Core, Raw},
};
use crate::cores::acp::Preset;

/// The preset of an agent: the one that it names, else the one whose program it runs.
pub(super) fn of(agent: &Agent) -> Option<&'static Preset> {
    match (&agent.preset, &agent.command) {
        (Some(name), _) => Preset::named(name),
        (None, Some(command)) => Preset::of_program(command.as_ref()),
        (None, None) => None,
    }
}

/// What the presets of these agents say, if any has one.
pub(super) fn layer(raw: &Raw) -> Option<Layer> {
    let mut names = BTreeMap::new();
    let mut agents = Dict::new();
    for (name, agent) in &raw.agents {
        // What is wrong with a demo that has a preset is said where agents are checked.
        if let (Some(preset), false) = (of(agent), agent.core == Some(Core::Demo)) {
            names.insert(name.clone(), preset.name);
            let values = values(preset, agent.preset.is_some());
            agents.insert(name.clone(), Value::from(values));
        }
    }
    (!names.is_empty()).then(|| Layer::presets(names, agents))
}

/// What a preset says. Of an agent that does not name it only the mode: how that one is started has been
/// said.
fn values(preset: &Preset, is_named: bool) -> Dict {
    let mut values = Dict::new();
    let mut set = |key: &str, value: Value| _ = values.insert(key.into(), value);
    if let Some(mode) = preset.mode {
        set("mode", mode.into());
    }
    if is_named {
        set("command", preset.program.into());
        set("args", preset.args.to_vec().into());
        let env = preset.env.iter();
        let env: Dict = env
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
            .collect();
        set("env", env.into());
    }
    values
}
