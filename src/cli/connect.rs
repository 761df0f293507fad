//! `agui-serve connect`: what a page in front of this daemon needs. Reads no token, and writes no file.

use std::{
    fmt::{self, Display, Formatter},
    path::Path,
};

use anyhow::Context;

use crate::{
    config::{self, Agent, Inputs, Settings, token, tokens},
    deps::Principal,
    http::{self, Digest},
};

/// The file with the route, within the page's own folder.
const ROUTE_FILE: &str = "app/api/copilotkit/[[...slug]]/route.ts";

/// What stands in it: the one of the example.
const ROUTE: &str =
    include_str!("../../examples/copilotkit/app/api/copilotkit/[[...slug]]/route.ts");

/// The file with the variables that the route reads.
const ENV_FILE: &str = ".env.local";

/// What the page and its route import, in the versions that were tried. Of the client it is the one that `CopilotKit` has
/// itself: a newer one works, but its types do not fit.
const PACKAGES: &str =
    "@copilotkit/react-core@1.74.0 @copilotkit/runtime@1.75.0 @ag-ui/client@0.0.59";

/// The file with the page.
const PAGE_FILE: &str = "app/page.tsx";

/// A page to begin with.
const PAGE: &str = r#""use client";

import "@copilotkit/react-core/v2/styles.css";
import { CopilotChat, CopilotKitProvider } from "@copilotkit/react-core/v2";

export default function Page() {
  return (
    <CopilotKitProvider runtimeUrl="/api/copilotkit">
      <CopilotChat />
    </CopilotKitProvider>
  );
}
"#;

/// Which part is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All, each file under its name.
    Whole,
    /// The variables alone, as their file has them.
    Env,
    /// The route alone, as its file has it.
    Route,
}

impl Part {
    /// The part that two flags ask for, of which one at most is set.
    pub(super) fn of(env: bool, route: bool) -> Self {
        match (env, route) {
            (true, _) => Self::Env,
            (_, true) => Self::Route,
            _ => Self::Whole,
        }
    }
}

/// Answers with what to show to somebody who puts a page made with `CopilotKit` in front of the daemon.
///
/// # Errors
/// The configuration cannot be used, or not by a page.
pub(super) fn copilotkit(part: Part, inputs: &Inputs) -> anyhow::Result<String> {
    let (settings, loaded) = config::load(inputs)?;
    if settings.http.addr.port() == 0 {
        let why = "a page needs a port that stays, and 0 is another one at each start";
        return Err(loaded.refuse(&["port"], why).into());
    }
    let variables = Variables::new(&settings, &inputs.cwd)?;
    Ok(match part {
        Part::Env => variables.to_string(),
        Part::Route => ROUTE.to_owned(),
        Part::Whole => format!(
            "In the folder of the page:\n\nnpm install {PACKAGES}\n\n\
             --- {ROUTE_FILE} ---\n\n{ROUTE}\n--- {ENV_FILE} ---\n\n{variables}\n\
             --- {PAGE_FILE} ---\n\n{PAGE}"
        ),
    })
}

/// The variables that the route reads.
struct Variables<'a> {
    /// Where the default agent answers, and below it each by its name.
    url: String,
    /// What is served, the default agent first.
    agents: &'a [Agent],
    token: Token,
    /// Who has a token by name.
    tokens: &'a [(Principal, Digest)],
}

/// How the page comes to a token.
#[derive(Debug)]
enum Token {
    /// It needs none.
    Unneeded,
    /// It reads a file.
    File {
        path: String,
        /// Whether the daemon makes it, unless it is there.
        is_generated: bool,
    },
    /// Somebody writes down what the daemon has in its environment.
    Environment,
    /// Somebody writes down one of those that have names.
    Named,
}

impl<'a> Variables<'a> {
    /// The variables for a daemon with these settings, started in the folder `cwd`.
    fn new(settings: &'a Settings, cwd: &Path) -> anyhow::Result<Self> {
        let token = match &settings.token {
            None if settings.tokens.is_empty() => Token::Unneeded,
            None => Token::Named,
            Some(source) => match source.path() {
                None => Token::Environment,
                Some(path) => Token::File {
                    path: quoted(&cwd.join(path)).with_context(|| {
                        let path = path.display();
                        format!("write AGENT_TOKEN_FILE to {ENV_FILE}, which cannot hold {path}")
                    })?,
                    is_generated: matches!(source, token::Source::Generated(_)),
                },
            },
        };
        let http = &settings.http;
        Ok(Self {
            url: http::url(http.addr, http.service.path.prefix()),
            agents: &settings.agents,
            token,
            tokens: &settings.tokens,
        })
    }
}

impl Display for Variables<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Made by `agui-serve connect copilotkit`, for {ROUTE_FILE}\n\
             # Where the page is reached under another name than localhost, add PAGE_HOST=name:port\n\
             # CopilotKit reports on the use of its runtime, unless there is COPILOTKIT_TELEMETRY_DISABLED=true"
        )?;
        if let [default, others @ ..] = self.agents
            && !others.is_empty()
        {
            let url = |agent: &Agent| format!("{}/{}", self.url, agent.name);
            let others: Vec<_> = others.iter().map(url).collect();
            let others = others.join(" ");
            writeln!(f, "# This is the agent {}; others: {others}", default.name)?;
        }
        writeln!(f, "AGENT_URL={}", self.url)?;
        let names = tokens::names(self.tokens);
        let or_named = match names.as_str() {
            "" => String::new(),
            names => format!(", or that of one of: {names}"),
        };
        match &self.token {
            Token::Unneeded => writeln!(f, "# No token: the daemon asks for none"),
            Token::File { path, is_generated } => {
                if *is_generated {
                    writeln!(f, "# The daemon makes this file when it first starts")?;
                }
                let what = "Where the page cannot read it, set AGENT_TOKEN to what is in it";
                writeln!(f, "# {what}{or_named}\nAGENT_TOKEN_FILE={path}")
            }
            Token::Environment => {
                let what = "Put here the token that the daemon has as AGUI_TOKEN";
                writeln!(f, "# {what}{or_named}\nAGENT_TOKEN=")
            }
            Token::Named => {
                let what = "`agui-serve token NAME` has shown it, once";
                writeln!(
                    f,
                    "# Put here the token of one of: {names}\n# {what}\nAGENT_TOKEN="
                )
            }
        }
    }
}

/// A path as a value that Next.js reads from a file, if there is a way to write it.
///
/// It reads them with the rules of the npm packages dotenv and dotenv-expand: quotes keep all but themselves, as nothing
/// escapes them; a `$` starts a variable in any quotes, and behind a backslash it is itself. No crate writes such a value:
/// those there are read them, or quote for a shell, which escapes more.
fn quoted(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Some(text.to_owned());
    }
    // A backslash at the end would hide the quote behind it.
    if text.ends_with('\\') || text.contains(char::is_control) {
        return None;
    }
    let mut quotes = ['\'', '`', '"'].into_iter();
    let quote = quotes.find(|quote| !text.contains(*quote))?;
    // In these alone `\n` is the end of a line.
    if quote == '"' && text.contains('\\') {
        return None;
    }
    Some(format!("{quote}{}{quote}", text.replace('$', "\\$")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_value_that_is_read_as_it_was_or_none() {
        for (path, value) in [
            ("/a/b-c_d.e", Some("/a/b-c_d.e")),
            ("/a b", Some("'/a b'")),
            ("/a#b", Some("'/a#b'")),
            ("/a$b", Some(r"'/a\$b'")),
            (r"/a\${b}", Some(r"'/a\\${b}'")),
            ("/it's", Some("`/it's`")),
            ("/`it's`", Some("\"/`it's`\"")),
            ("/é", Some("'/é'")),
            ("/'`\"", None),
            (r"/'`\n", None),
            (r"/a\", None),
            ("/a\nB=c", None),
        ] {
            assert_eq!(quoted(Path::new(path)).as_deref(), value, "{path}");
        }
    }

    #[test]
    fn the_packages_are_those_of_the_example() {
        let example: serde_json::Value =
            serde_json::from_str(include_str!("../../examples/copilotkit/package.json")).unwrap();
        for package in PACKAGES.split(' ') {
            let (name, version) = package.rsplit_once('@').unwrap();
            assert_eq!(example["dependencies"][name], version, "{name}");
        }
    }
}
