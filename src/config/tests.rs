//! That the sample leaves no key out.

use std::collections::BTreeSet;

use serde::de::{DeserializeOwned, value::MapDeserializer};

use super::raw::{Agent, Defaults, Limits, Log, Raw, Rule};

/// The keys of a table, as its own deserialiser lists them when it is given one that it does not know.
fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown = MapDeserializer::new([("?", 0)].into_iter());
    match T::deserialize(unknown).map(|_| ()) {
        Err(figment::Error {
            kind: figment::error::Kind::UnknownField(_, known),
            ..
        }) => known,
        other => panic!("unknown keys have to be refused: {other:?}"),
    }
}

/// The keys that the sample has, switched off or not, and those of the example of a program.
fn shown() -> (BTreeSet<String>, BTreeSet<String>) {
    let sample = include_str!("../../config/agui.toml");
    let (common, program) = sample.split_once("# [agents.helper]").unwrap();
    let keys = |text: &str| {
        let line = |line: &str| {
            let (key, _) = line.trim_start_matches("# ").split_once(" = ")?;
            Some(key.to_owned())
        };
        text.lines().filter_map(line).collect()
    };
    (keys(common), keys(program))
}

#[test]
fn the_sample_leaves_no_key_out() {
    let (common, program) = shown();
    let tables = ["log", "limits", "defaults", "agents", "tokens"];
    let top = keys::<Raw>().iter().filter(|key| !tables.contains(key));
    let rest = [keys::<Log>(), keys::<Limits>(), keys::<Defaults>()].concat();
    for key in top.chain(&rest) {
        assert!(common.contains(*key), "{key} is not in config/agui.toml");
    }
    for key in keys::<Agent>() {
        assert!(program.contains(*key), "{key} is missing in the example");
    }
    let sample = include_str!("../../config/agui.toml");
    for key in keys::<Rule>() {
        assert!(sample.contains(&format!(" {key} = \"")), "{key} of a rule");
    }
}

#[test]
#[cfg(feature = "acp")]
fn an_agent_has_half_of_the_time_that_the_engine_gives_its_core_to_stop() {
    let defaults = Raw::default().defaults;
    assert_eq!(defaults.stop_grace.0 / 2, crate::cores::acp::STOP_GRACE);
}
