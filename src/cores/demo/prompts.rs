//! What the phrases bring about that ask something of the page or of a person: one script each.

use serde_json::json;

use super::{
    Script, Wait,
    phrases::Asked,
    wait::{self, to_write, two_questions},
};
use crate::{deps::ASK_USER, protocol::Tool};

/// The tool of the page that opens a record.
const OPEN_RECORD: &str = "openRecord";

pub(super) fn record(asked: &Asked<'_>) -> Script {
    Script::new()
        .say("I open it.\n")
        .call_page(OPEN_RECORD, json!({"id": asked.number}))
}

pub(super) fn every_page_tool(asked: &Asked<'_>) -> Script {
    let mut names = page_tools(asked).peekable();
    if names.peek().is_none() {
        return no_tools();
    }
    names.fold(Script::new(), |script, name| {
        script.call_page(name, json!({}))
    })
}

/// A page with one tool has it called twice.
pub(super) fn two_page_tools(asked: &Asked<'_>) -> Script {
    let names: Vec<&str> = page_tools(asked).collect();
    if names.is_empty() {
        return no_tools();
    }
    let two = names.iter().cycle().take(2);
    Script::new().together(two.map(|name| Wait::page(name, json!({}))).collect())
}

pub(super) fn permission(_: &Asked<'_>) -> Script {
    Script::new()
        .say("I would like to write a file.")
        .permission(to_write("write-1", "notes.txt"))
        .say("That is all.")
}

pub(super) fn permission_twice(_: &Asked<'_>) -> Script {
    Script::new()
        .permission(to_write("write-1", "notes.txt"))
        .permission(to_write("write-2", "more.txt"))
        .say("That is all.")
}

pub(super) fn two_permissions(_: &Asked<'_>) -> Script {
    Script::new().together(vec![
        Wait::permission(to_write("write-1", "notes.txt")),
        Wait::permission(to_write("write-2", "more.txt")),
    ])
}

pub(super) fn permission_and_page_tool(asked: &Asked<'_>) -> Script {
    let name = page_tools(asked).next().unwrap_or(OPEN_RECORD);
    Script::new().together(vec![
        Wait::permission(to_write("write-1", "notes.txt")),
        Wait::page(name, json!({})),
    ])
}

pub(super) fn questions(_: &Asked<'_>) -> Script {
    Script::new().ask(two_questions("ask-1"))
}

pub(super) fn age(_: &Asked<'_>) -> Script {
    Script::new().ask(wait::age())
}

/// The names of the page's tools, without the one that asks people.
fn page_tools<'a>(asked: &Asked<'a>) -> impl Iterator<Item = &'a str> {
    let names = asked.tools.iter().map(|tool: &Tool| tool.name.as_str());
    names.filter(|name| *name != ASK_USER)
}

fn no_tools() -> Script {
    Script::new().say("The page has no tools.")
}
