//! How the program ends: the numbers of `sysexits.h` where there is one.

use crate::{config, http, store, telemetry};

/// The address is taken or cannot be bound, or the database is in use (`EX_UNAVAILABLE`).
const UNAVAILABLE: u8 = 69;
/// The configuration cannot be used, or the database that it names (`EX_CONFIG`).
const CONFIG: u8 = 78;
/// Anything else.
const FAILURE: u8 = 1;

/// The number that says why the program failed.
pub fn code(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if cause.is::<config::Error>()
            || cause.is::<config::token::Error>()
            || cause.is::<telemetry::Error>()
        {
            return CONFIG;
        }
        if cause.is::<http::BindError>() {
            return UNAVAILABLE;
        }
        match cause.downcast_ref() {
            Some(store::Error::InUse { .. } | store::Error::Locked { .. }) => return UNAVAILABLE,
            Some(_) => return CONFIG,
            None => {}
        }
    }
    FAILURE
}

/// The failure in one line, causes included.
pub fn message(error: &anyhow::Error) -> String {
    format!("agui-serve: {}", failure(error))
}

/// The same without the program's name.
pub(super) fn failure(error: &anyhow::Error) -> String {
    format!("failed to {error:#}")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_kind_of_failure_is_the_exit_code() {
        let addr = "127.0.0.1:1".parse().unwrap();
        let taken = http::BindError::Io {
            addr,
            source: io::ErrorKind::AddrInUse.into(),
        };
        let token = config::Error::Token(config::token::Error::NoStateDir);
        assert_eq!(code(&taken.into()), 69);
        assert_eq!(code(&token.into()), 78);
        assert_eq!(code(&config::token::Error::NoStateDir.into()), 78);
        let path = || "threads.db".into();
        let foreign = store::Error::Foreign { path: path() };
        let locked = store::Error::Locked { path: path() };
        assert_eq!((code(&foreign.into()), code(&locked.into())), (78, 69));
        assert_eq!(code(&anyhow::anyhow!("go on listening")), 1);
    }
}
