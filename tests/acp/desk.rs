//! The program as a person types it, in a home of its own.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::Stdio,
};

use tokio::{process::Command, time::timeout};

use crate::stage::{PATIENCE, fake_agent, program};

/// A home with programs in its `bin`, which is all of `PATH` but for the system's own.
pub(crate) struct Desk {
    home: tempfile::TempDir,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("bin")).unwrap();
        Self { home }
    }

    /// One with the fake agent configured, with these arguments and this beside them.
    pub(crate) fn with_agent(args: &[&str], beside: &str) -> Self {
        let desk = Self::new();
        let args = serde_json::to_string(args).unwrap();
        let command = fake_agent();
        let command = command.to_str().unwrap();
        desk.configure(&format!(
            "[agents.fake]\ncommand = \"{command}\"\nargs = {args}\n{beside}"
        ));
        desk
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, text: &str) {
        fs::write(self.path("agui.toml"), text).unwrap();
    }

    /// Installs the fake agent under another name.
    pub(crate) fn install(&self, name: &str) {
        symlink(fake_agent(), self.path("bin").join(name)).unwrap();
    }

    /// Installs a shell script.
    pub(crate) fn install_script(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A path in this home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(name)
    }

    /// Runs the program with these words to its end.
    pub(crate) async fn run(&self, words: &[&str]) -> Ended {
        let mut command = Command::new(program());
        command
            .args(words)
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path())
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.path("bin").display()),
            )
            .env("AGUI_PORT", "0")
            .env("AGUI_TOKEN", "secret")
            .env("SOME_KEY", "secret")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        if self.path("agui.toml").exists() {
            command.args(["--config", "agui.toml"]);
        }
        let output = timeout(PATIENCE, command.output()).await;
        let output = output.expect("it ends").unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
