//! Whether there is a program at all, before somebody's first run tells.
//!
//! The crate `which` was weighed: it looks in a `PATH` as well, but says of a file that is not
//! executable only that there is none.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// Where the system looks if there is no `PATH`, as `execvp` of the GNU C library does.
const SYSTEM_PATH: &str = "/bin:/usr/bin";

/// Looks for a program as starting it would: a path where it points, a bare name in `path`. Folders
/// of `path` that are not absolute start at `workdir`, where the program is started.
///
/// # Errors
/// It cannot be started; says why.
pub(super) fn look_up(
    program: &Path,
    path: Option<&str>,
    workdir: &Path,
) -> Result<(), &'static str> {
    if program.as_os_str().as_encoded_bytes().contains(&b'/') {
        return startable(program);
    }
    let found = path
        .unwrap_or(SYSTEM_PATH)
        .split(':')
        .any(|folder| startable(&workdir.join(folder).join(program)).is_ok());
    found
        .then_some(())
        .ok_or("no program of this name is in PATH")
}

fn startable(file: &Path) -> Result<(), &'static str> {
    match fs::metadata(file) {
        Err(_) => Err("there is no such file"),
        Ok(data) if !data.is_file() => Err("it is no file"),
        Ok(data) if data.permissions().mode() & 0o111 == 0 => Err("it is not executable"),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_as_starting_it_would() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("bin")).unwrap();
        for (name, mode) in [("bin/agent", 0o755), ("bin/notes", 0o644)] {
            fs::write(at(name), "").unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let look = |program: &Path, path| look_up(program, path, folder.path());
        let absent = Err("no program of this name is in PATH");
        for (name, path, found) in [
            ("agent", Some("/nowhere:bin"), Ok(())),
            ("agent", Some("/nowhere"), absent),
            ("notes", Some("bin"), absent),
            ("agent", None, absent),
            ("sh", None, Ok(())),
        ] {
            assert_eq!(look(Path::new(name), path), found, "{name} in {path:?}");
        }
        for (name, found) in [
            ("bin/agent", Ok(())),
            ("bin/notes", Err("it is not executable")),
            ("bin", Err("it is no file")),
            ("bin/none", Err("there is no such file")),
        ] {
            assert_eq!(look(&at(name), None), found, "{name}");
        }
    }
}
