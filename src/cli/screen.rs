//! The first screen: what is served, where, in which folder, with which token, and a line to try it.

use std::{
    fmt::{self, Display, Formatter},
    path::Path,
};

use crate::{
    config::{Agent, Core, token, tokens},
    deps::Principal,
    http::Digest,
    protocol::PROTOCOL_VERSION,
};

/// What the first screen says.
pub(super) struct Screen<'a> {
    /// What clients put before `/{agent}`.
    pub(super) url: &'a str,
    /// What is served, the default agent first.
    pub(super) agents: &'a [Agent],
    /// The token of whoever has no name, if there is one.
    pub(super) token: Option<&'a token::Found>,
    /// Who else has one. With neither, none is needed.
    pub(super) tokens: &'a [(Principal, Digest)],
    /// Whether a person reads this, rather than a file or a log.
    pub(super) is_terminal: bool,
    /// The database, unless threads are kept in memory.
    pub(super) database: Option<&'a Path>,
    /// A thread id that was not used before.
    pub(super) thread: &'a str,
}

impl Display for Screen<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "agui-serve {}\n", env!("CARGO_PKG_VERSION"))?;
        for agent in self.agents {
            writeln!(f, "  {}/{}", self.url, agent.name)?;
            writeln!(f, "      {}", Answering(agent))?;
            if let Some(why) = agent.missing() {
                writeln!(f, "      it cannot run yet: {why}")?;
                if let Some(install) = agent.install() {
                    writeln!(f, "      to install it: {install}")?;
                }
            }
        }
        writeln!(f)?;
        self.token(f)?;
        match self.database {
            Some(path) => writeln!(f, "  threads: {}", path.display())?,
            None => writeln!(f, "  threads: in memory, a restart forgets them")?,
        }
        if let Some(agent) = self.agents.first() {
            writeln!(f, "\nTry it in another terminal{}:\n", self.condition())?;
            self.curl(f, agent)?;
            #[cfg(feature = "demo")]
            if matches!(agent.core, Core::Demo) {
                writeln!(
                    f,
                    "\nOther words for the demo: think first, use two tools at once, fail half-way, be slow"
                )?;
            }
        }
        writeln!(f, "\nA page in front of it: agui-serve connect copilotkit")?;
        writeln!(f, "\nlistening on {}", self.url)
    }
}

impl Screen<'_> {
    fn token(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.tokens.is_empty() {
            let names = tokens::names(self.tokens);
            writeln!(f, "  tokens of: {names}; none sees another's threads")?;
        }
        let Some(found) = self.token else {
            if self.tokens.is_empty() {
                let why = "whoever reaches this port drives the agents";
                writeln!(f, "  no token is asked for: {why}")?;
            }
            return Ok(());
        };
        writeln!(f, "  token: {}", found.source)?;
        // Once, to the person who started it for the first time; never to a file.
        if found.is_new && self.is_terminal {
            writeln!(f, "  it is {} and is not shown again", found.token.expose())?;
        }
        Ok(())
    }

    /// What the line below it needs, if anything.
    fn condition(&self) -> &'static str {
        match self.token {
            Some(found) if found.source.path().is_none() => " that has AGUI_TOKEN set",
            None if !self.tokens.is_empty() => " that has one of the tokens in AGUI_TOKEN",
            _ => "",
        }
    }

    /// A line that a shell takes as it stands, each time for another run. What one would change stands at its end.
    fn curl(&self, f: &mut Formatter<'_>, agent: &Agent) -> fmt::Result {
        write!(f, "curl -N {}/{} ", self.url, agent.name)?;
        if self.token.is_some() || !self.tokens.is_empty() {
            write!(f, "-H \"Authorization: Bearer ")?;
            match self.token.and_then(|found| found.source.path()) {
                Some(path) => write!(f, "$(cat {})", Quoted(path))?,
                None => write!(f, "$AGUI_TOKEN")?,
            }
            write!(f, "\" ")?;
        }
        writeln!(
            f,
            "-H 'Content-Type: application/json' -d '{{\"threadId\":\"{}\",\"runId\":\"'$(date +%s)'\",\
             \"protocolVersion\":\"{PROTOCOL_VERSION}\",\
             \"messages\":[{{\"id\":\"'$(date +%s)'\",\"role\":\"user\",\"content\":\"say hello\"}}]}}'",
            self.thread
        )
    }
}

/// What answers for an agent, and in which folder.
struct Answering<'a>(&'a Agent);

impl Display for Answering<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.core {
            #[cfg(feature = "demo")]
            Core::Demo => write!(f, "the demo, built in: it touches no folder and no network"),
            #[cfg(feature = "acp")]
            Core::Acp(options) => write!(
                f,
                "{} (acp), works in {}",
                options.command.display(),
                options.workdir.display()
            ),
        }
    }
}

/// A path as one word of a shell.
struct Quoted<'a>(&'a Path);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            return f.write_str(&text);
        }
        write!(f, "'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        for (path, word) in [
            ("/a/b-c.d", "/a/b-c.d"),
            ("/a b", "'/a b'"),
            ("/it's", "'/it'\\''s'"),
            ("/$(x)", "'/$(x)'"),
        ] {
            assert_eq!(Quoted(Path::new(path)).to_string(), word);
        }
    }
}
