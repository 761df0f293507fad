//! What of the daemon's own lies where an agent works, and so where it looks around and writes without being asked.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{Inputs, Settings, token};

/// Says which of the daemon's files lie in a folder that an agent works in: a sentence for each such folder.
pub fn within_reach(settings: &Settings, inputs: &Inputs) -> Vec<String> {
    let token = settings.token.as_ref().and_then(token::Source::path);
    let files = [
        ("the token file", token),
        ("the database", settings.store.at.path()),
        ("the configuration", inputs.file.as_deref()),
    ];
    let agents = settings.agents.iter();
    let folders: BTreeSet<&Path> = agents.filter_map(|agent| agent.workdir()).collect();
    let sentence = |folder: &Path| {
        let real_folder = real(folder);
        let lies_in = |file: &Path| real(file).starts_with(&real_folder);
        let inside = files.iter().filter_map(|(what, file)| {
            file.filter(|file| lies_in(file))
                .map(|file| format!("{what} {}", file.display()))
        });
        let inside: Vec<_> = inside.collect();
        let folder = folder.display();
        let what = inside.join(" and ");
        (!inside.is_empty()).then(|| format!("an agent works in {folder}, and in there is {what}"))
    };
    folders.into_iter().filter_map(sentence).collect()
}

/// The path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = absolute
        .ancestors()
        .find_map(|known| Some((known, known.canonicalize().ok()?)));
    let Some((known, real)) = known else {
        return absolute;
    };
    match absolute.strip_prefix(known) {
        Ok(rest) if rest.as_os_str().is_empty() => real,
        Ok(rest) => real.join(rest),
        Err(_) => absolute,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_path_is_followed_as_far_as_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        fs::create_dir(folder.join("there")).unwrap();
        symlink(folder.join("there"), folder.join("link")).unwrap();
        for (path, wanted) in [
            ("there", "there"),
            ("link/x/y", "there/x/y"),
            ("no/x", "no/x"),
        ] {
            assert_eq!(real(&folder.join(path)), folder.join(wanted), "{path}");
        }
    }
}
