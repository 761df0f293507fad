//! The tools of a page as MCP has them, and which of them are offered.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use rmcp::model::{MetaObject, Tool as McpTool};
use serde_json::{Map, Value, json};
use tracing::warn;

use crate::{
    cores::questions,
    deps::ASK_USER,
    protocol::{JsonObject, Tool},
};

/// How many tools are offered at most. Models lose their way among fewer.
const MOST: usize = 256;

/// The longest name. Agents put the server's name before it, and models take 64 characters at most.
const LONGEST_NAME: usize = 64;

/// What is offered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offer {
    tools: Vec<McpTool>,
}

impl Offer {
    /// Of a page's tools, and of the one with which the person is asked, if that is to be. A page that has a tool of
    /// that name shows questions itself, so that the schema is ours all the same.
    pub(super) fn new(page: &[Tool], asks: bool) -> Self {
        let mut seen = HashSet::new();
        let mut tools = Vec::new();
        if asks {
            seen.insert(ASK_USER);
            let schema = questions::schema();
            tools.push(tool(ASK_USER.into(), questions::DESCRIPTION.into(), schema));
        }
        let mut left_out = 0_usize;
        for Tool {
            name,
            description,
            parameters,
            ..
        } in page
        {
            if asks && name == ASK_USER {
                continue;
            }
            if tools.len() < MOST && is_usable(name) && seen.insert(name) {
                let schema = object_schema(parameters.as_ref());
                tools.push(tool(
                    name.clone().into(),
                    description.clone().into(),
                    schema,
                ));
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            warn!(
                count = left_out,
                "tools of the page are not offered: too many, or names that agents do not take"
            );
        }
        Self { tools }
    }

    /// Nothing.
    pub(super) fn none() -> Self {
        Self { tools: Vec::new() }
    }

    pub(super) fn tools(&self) -> &[McpTool] {
        &self.tools
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_ref())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|it| it == name)
    }
}

/// The name of a tool as MCP 2025-11-25 wants it, and short enough for models.
fn is_usable(name: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_plain)
}

fn tool(name: Cow<'static, str>, description: Cow<'static, str>, schema: JsonObject) -> McpTool {
    let mut tool = McpTool::new(name, description, Arc::new(schema));
    // Claude Code hides the tools of servers behind a search unless it is told otherwise.
    let mut meta = Map::new();
    meta.insert("anthropic/alwaysLoad".into(), Value::Bool(true));
    tool.meta = Some(MetaObject(meta));
    tool
}

/// The schema of an object: what the page gives if it is one, else any object.
fn object_schema(parameters: Option<&Value>) -> JsonObject {
    let any = || Map::from_iter([("type".to_owned(), json!("object"))]);
    let Some(Value::Object(schema)) = parameters else {
        return any();
    };
    match schema.get("type") {
        Some(kind) if kind == "object" => schema.clone(),
        None => {
            let mut schema = schema.clone();
            schema.extend(any());
            schema
        }
        Some(_) => any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str, parameters: Option<Value>) -> Tool {
        Tool {
            name: name.into(),
            description: String::new(),
            parameters,
            metadata: None,
        }
    }

    #[test]
    fn what_is_no_schema_of_an_object_becomes_one() {
        for (given, wanted) in [
            (None, json!({"type": "object"})),
            (Some(json!(true)), json!({"type": "object"})),
            (Some(json!({"type": "string"})), json!({"type": "object"})),
            (
                Some(json!({"type": ["object", "null"]})),
                json!({"type": "object"}),
            ),
            (
                Some(json!({"properties": {"a": {}}})),
                json!({"properties": {"a": {}}, "type": "object"}),
            ),
            (
                Some(json!({"type": "object", "required": ["a"]})),
                json!({"type": "object", "required": ["a"]}),
            ),
        ] {
            let offer = Offer::new(&[page("x", given.clone())], false);
            let schema = Value::Object((*offer.tools()[0].input_schema).clone());
            assert_eq!(schema, wanted, "{given:?}");
        }
    }

    #[test]
    fn names_that_agents_do_not_take_are_left_out_and_so_is_the_second_of_two() {
        let names = ["ok", "a b", "", "ok", "A-1_.", "é"].map(|name| page(name, None));
        let offer = Offer::new(&names, false);
        assert_eq!(offer.names().collect::<Vec<_>>(), ["ok", "A-1_."]);
        let many: Vec<_> = (0..300).map(|i| page(&format!("t{i}"), None)).collect();
        assert_eq!(Offer::new(&many, true).tools().len(), MOST);
    }

    #[test]
    fn the_person_is_asked_with_our_schema_also_where_the_page_shows_the_questions() {
        let declared = [page(ASK_USER, Some(json!({"type": "object"})))];
        let ours = Offer::new(&declared, true);
        assert_eq!(ours.names().collect::<Vec<_>>(), [ASK_USER]);
        assert!(ours.tools()[0].input_schema.contains_key("required"));
        // Where questions are off, it is a tool of the page like any other.
        let theirs = Offer::new(&declared, false);
        assert!(!theirs.tools()[0].input_schema.contains_key("required"));
    }
}
