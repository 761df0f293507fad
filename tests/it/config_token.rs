//! The token: which source wins, which are refused, and the one that is made.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Barrier,
};

use agui_serve::config::{
    self, Environ, Flags, Inputs,
    token::{self, Found, Source},
};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn environ(&self, variables: &[(&str, &str)]) -> Environ {
        let home = ("HOME", self.0.path().to_str().unwrap());
        let all = [&[home], variables].concat();
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        all.into_iter().map(own).collect()
    }

    /// Finds the token as a start of the daemon would.
    fn find(&self, flags: Flags, variables: &[(&str, &str)]) -> Result<Found, String> {
        let inputs = Inputs {
            file: None,
            environ: self.environ(variables),
            flags,
            typed: None,
            cwd: self.0.path().to_owned(),
        };
        let (settings, _) = config::load(&inputs).map_err(|error| error.to_string())?;
        let source = settings.token.expect("a token is asked for by default");
        token::obtain(&source, &inputs.environ).map_err(|error| error.to_string())
    }
}

fn flag(path: &str) -> Flags {
    let mut flags = Flags::default();
    flags.set("--token-file", &["token_file"], Some(path));
    flags
}

#[test]
fn r16_a_token_that_is_given_is_taken_and_none_is_made() {
    let home = Home::new();
    let in_file = home.write("one", "from-file\n", 0o600);
    home.write("credentials/agui-token", "from-credential", 0o440);
    let credentials = home.path("credentials");
    let credentials = ("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap());
    let env = ("AGUI_TOKEN", "from-env");
    let file = ("AGUI_TOKEN_FILE", in_file.as_str());
    let none = Flags::default;
    for (flags, variables, token) in [
        (flag(&in_file), &[env, credentials][..], "from-file"),
        (none(), &[env, credentials], "from-env"),
        (none(), &[file, credentials], "from-file"),
        (none(), &[credentials], "from-credential"),
    ] {
        let found = home.find(flags, variables).unwrap();
        assert_eq!(found.token.expose(), token);
        assert!(!found.is_new && found.source.is_configured());
    }
    assert!(!home.path(".local").exists());
}

#[test]
fn r15_a_source_without_a_usable_token_is_refused_and_no_other_is_tried() {
    let home = Home::new();
    let empty = home.write("empty", "\n", 0o600);
    let spaced = home.write("spaced", "two words", 0o600);
    let open = home.write("open", "token", 0o644);
    let group = home.write("group", "token", 0o640);
    let missing = home.path("missing").to_str().unwrap().to_owned();
    for path in [&empty, &spaced, &open, &group, &missing] {
        let error = home
            .find(flag(path), &[("AGUI_TOKEN", "fine")])
            .unwrap_err();
        assert!(error.contains(path.as_str()), "{error}");
    }
    assert!(home.find(flag(""), &[]).unwrap_err().contains("token_file"));
    assert!(home.find(Flags::default(), &[("AGUI_TOKEN", "")]).is_err());
    let both = [("AGUI_TOKEN", "a"), ("AGUI_TOKEN_FILE", &empty)];
    assert!(home.find(Flags::default(), &both).is_err());
    let homeless = token::Source::Environment;
    assert!(token::obtain(&homeless, &Environ::default()).is_err());
}

#[test]
fn a_made_token_is_long_private_and_used_again() {
    let home = Home::new();
    let first = home.find(Flags::default(), &[]).unwrap();
    let again = home.find(Flags::default(), &[]).unwrap();
    assert!(first.is_new && !again.is_new);
    assert_eq!(first.token.expose(), again.token.expose());
    assert!(first.token.expose().len() >= 64);
    let path = first.source.path().unwrap();
    assert_eq!(path, home.path(".local/state/agui-serve/token"));
    for (path, mode) in [(path, 0o600), (path.parent().unwrap(), 0o700)] {
        let is = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(is, mode, "{}", path.display());
    }
    assert!(!format!("{first:?}").contains(first.token.expose()));
    assert_ne!(
        Home::new()
            .find(Flags::default(), &[])
            .unwrap()
            .token
            .expose(),
        first.token.expose()
    );
}

#[test]
fn a_made_token_that_others_can_read_is_not_trusted_any_more() {
    let home = Home::new();
    let found = home.find(Flags::default(), &[]).unwrap();
    let path = found.source.path().unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o604)).unwrap();
    let error = home.find(Flags::default(), &[]).unwrap_err();
    assert!(error.contains("0604"), "{error}");
}

#[test]
fn daemons_that_start_at_once_end_with_one_token() {
    let home = Home::new();
    let source = Source::Generated(home.path("state/token"));
    let start = Barrier::new(8);
    let found: Vec<Found> = std::thread::scope(|scope| {
        let one = || {
            start.wait();
            token::obtain(&source, &Environ::default()).unwrap()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let kept = fs::read_to_string(home.path("state/token")).unwrap();
    for found in &found {
        assert_eq!(found.token.expose(), kept.trim_end());
    }
    assert_eq!(found.iter().filter(|found| found.is_new).count(), 1);
    let left = fs::read_dir(home.path("state")).unwrap().count();
    assert_eq!(left, 1, "no temporary file stays");
}

#[test]
fn the_state_directory_is_the_services_then_the_users() {
    let home = Home::new();
    let at = |variables: &[(&str, &str)], state_dir: Option<&str>| {
        let mut flags = Flags::default();
        flags.set("state_dir", &["state_dir"], state_dir);
        let inputs = Inputs {
            file: None,
            environ: home.environ(variables),
            flags,
            typed: None,
            cwd: "/".into(),
        };
        let (settings, _) = config::load(&inputs).unwrap();
        settings.token.unwrap().path().unwrap().to_owned()
    };
    let service = ("STATE_DIRECTORY", "/var/lib/a:/var/lib/b");
    let user = ("XDG_STATE_HOME", "/xdg");
    assert_eq!(at(&[service, user], Some("x")), Path::new("/x/token"));
    assert_eq!(at(&[service, user], None), Path::new("/var/lib/a/token"));
    assert_eq!(at(&[user], None), Path::new("/xdg/agui-serve/token"));
    let relative = ("XDG_STATE_HOME", "xdg");
    assert_eq!(
        at(&[relative], None),
        home.path(".local/state/agui-serve/token")
    );
}
