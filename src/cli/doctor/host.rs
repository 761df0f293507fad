//! What serving needs of this machine: an address, a token, a database, folders.

use std::{collections::BTreeSet, fs, io, net::TcpListener};

use super::{Findings, Level};
use crate::{
    cli::exit,
    config::{self, Inputs, Settings, token, tokens},
    store::{self, Location, Probe},
};

/// Looks at the address, the token, the database and the folders.
pub(super) fn check(settings: &Settings, inputs: &Inputs, findings: &mut Findings) {
    let addr = settings.http.addr;
    let (level, says) = match TcpListener::bind(addr) {
        Ok(_) => (Level::Ok, format!("{addr} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let why = "is taken, by a daemon that runs already or by another program";
            (Level::Fail, format!("{addr} {why}"))
        }
        Err(error) => (Level::Fail, format!("{addr}: {error}")),
    };
    findings.add(level, "address", says);

    let (level, says) = token(settings, inputs);
    findings.add(level, "token", says);

    let (level, says) = database(&settings.store);
    findings.add(level, "database", says);

    let folders: BTreeSet<_> = settings
        .agents
        .iter()
        .filter_map(|agent| agent.workdir())
        .collect();
    for folder in folders {
        let (level, says) = match fs::metadata(folder) {
            Ok(data) if data.permissions().readonly() => (Level::Warn, "nobody can write to it"),
            Ok(_) => (Level::Ok, "it is there"),
            Err(_) => (Level::Fail, "it cannot be looked at"),
        };
        findings.add(level, format!("folder {}", folder.display()), says);
    }
    for why in config::within_reach(settings, inputs) {
        findings.add(Level::Warn, "reach", why);
    }
}

/// Reads the token, but makes none.
fn token(settings: &Settings, inputs: &Inputs) -> (Level, String) {
    let named = &settings.tokens;
    let Some(source) = &settings.token else {
        if !named.is_empty() {
            return (Level::Ok, format!("of {}", tokens::names(named)));
        }
        let why = "none is asked for: whoever reaches the port drives the agents";
        return (Level::Warn, why.into());
    };
    if let token::Source::Generated(path) = source
        && !path.exists()
    {
        let path = path.display();
        return (Level::Ok, format!("the first start will make {path}"));
    }
    let found = token::obtain(source, &inputs.environ);
    match found.and_then(|found| tokens::access(Some(&found), named)) {
        Ok(_) if !named.is_empty() => (
            Level::Ok,
            format!("{source}, and of {}", tokens::names(named)),
        ),
        Ok(_) => (Level::Ok, source.to_string()),
        Err(error) => (Level::Fail, exit::failure(&error.into())),
    }
}

/// Looks at the database, but opens none.
fn database(options: &store::Options) -> (Level, String) {
    let (file, folder) = match &options.at {
        Location::Memory => {
            let why = "there is none: threads are kept in memory, and a restart forgets them";
            return (Level::Ok, why.into());
        }
        Location::File { path, folder } => (path, *folder),
    };
    let path = file.display();
    let says = match store::probe(file, folder) {
        Ok(Probe::Absent) => return (Level::Ok, format!("the first start will make {path}")),
        Ok(Probe::Fine) => format!("{path} can be opened"),
        Ok(Probe::InUse) => format!("{path} is in use by a running agui-serve"),
        Ok(Probe::Left) => {
            format!("{path} was not closed in order; the next start puts that right")
        }
        Err(error) => return (Level::Fail, exit::failure(&error.into())),
    };
    if store::is_exposed(file) {
        let more = "others can read it, until a start takes that from them";
        return (Level::Warn, format!("{says}; {more}"));
    }
    (Level::Ok, says)
}
