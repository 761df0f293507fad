//! `config/agui.toml` says what holds.

use std::path::Path;

use agui_serve::config::{self, Environ, Flags, Inputs};

/// What is in force, without the comments that say why.
fn in_force(file: Option<&Path>) -> String {
    let inputs = Inputs {
        file: file.map(Path::to_owned),
        environ: [("HOME".into(), "/home/nobody".into())]
            .into_iter()
            .collect::<Environ>(),
        flags: Flags::default(),
        typed: None,
        cwd: Path::new(env!("CARGO_MANIFEST_DIR")).to_owned(),
    };
    let (settings, loaded) = config::load(&inputs).unwrap();
    let printed = config::print(&settings, &loaded);
    let values = printed
        .lines()
        .map(|line| line.split("  #").next().unwrap());
    values.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_sample_has_the_defaults() {
    let sample = in_force(Some(Path::new("config/agui.toml")));
    assert!(sample.contains("port = 8787"), "{sample}");
    assert_eq!(sample, in_force(None));
}

#[test]
fn the_values_of_the_sample_are_its_own() {
    let inputs = Inputs {
        file: Some("config/agui.toml".into()),
        environ: [("HOME".into(), "/home/nobody".into())]
            .into_iter()
            .collect(),
        flags: Flags::default(),
        typed: None,
        cwd: env!("CARGO_MANIFEST_DIR").into(),
    };
    let (settings, loaded) = config::load(&inputs).unwrap();
    for line in config::print(&settings, &loaded).lines() {
        let is_default = line.ends_with("# default");
        assert!(!is_default, "config/agui.toml leaves out: {line}");
    }
}
