//! What a request asks for. Decides, changes nothing.

use std::collections::HashSet;

use super::{StartError, answers::Given, bounds, history};
use crate::protocol::{Content, RunAgentInput};

/// The one tool that `CopilotKit` declares when it wants suggestions for the next prompt.
const SUGGEST_TOOL: &str = "copilotkitSuggest";

/// How long a title made of a prompt may be, in characters.
const TITLE: usize = 80;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// A turn, or to go on with one. What it is told depends on what the thread holds.
    Run,
    /// To be shown the thread as it is.
    Hydrate,
    /// Suggestions on a throw-away thread. No agent is asked: the run ends at once.
    Suggestions,
}

impl Plan {
    /// Reads the plan off a request.
    ///
    /// # Errors
    /// There is history, but nothing new that a person has said and nothing that could be an answer; or two tools
    /// have one name.
    pub(super) fn of(input: &RunAgentInput) -> Result<Self, StartError> {
        if let [tool] = input.tools.as_slice()
            && tool.name == SUGGEST_TOOL
        {
            return Ok(Self::Suggestions);
        }
        let mut names = HashSet::new();
        if let Some(twice) = input.tools.iter().find(|tool| !names.insert(&tool.name)) {
            let name = bounds::clip(&twice.name, bounds::NAME);
            return Err(StartError::Collision(name.into()));
        }
        let given = Given::of(input);
        if input.messages.is_empty() && given.is_empty() {
            return Ok(Self::Hydrate);
        }
        let has_prompt = history::prompt(&input.messages).is_some();
        if has_prompt || !given.is_empty() {
            Ok(Self::Run)
        } else {
            Err(StartError::NothingToDo)
        }
    }
}

/// What a thread is called after its first prompt, if that has words.
pub(super) fn title(prompt: &Content) -> Option<String> {
    let text = prompt.text();
    let words: Vec<_> = text.split_whitespace().take(TITLE).collect();
    let title = words.join(" ");
    match title.char_indices().nth(TITLE) {
        Some((end, _)) => Some(format!("{}…", &title[..end])),
        None => (!title.is_empty()).then_some(title),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::protocol::{Message, RunId, ThreadId, Tool};

    fn input(messages: Value, tools: &[&str]) -> RunAgentInput {
        let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
        let tool = |name: &&str| Tool {
            name: (*name).into(),
            description: String::new(),
            parameters: None,
            metadata: None,
        };
        RunAgentInput {
            thread_id: ThreadId::new("t").unwrap(),
            run_id: RunId::new("r").unwrap(),
            protocol_version: None,
            parent_run_id: None,
            state: None,
            messages,
            tools: tools.iter().map(tool).collect(),
            context: vec![],
            forwarded_props: None,
            resume: vec![],
        }
    }

    /// Requirements 41 and 42.
    #[test]
    fn a_run_needs_a_trailing_user_message() {
        let user = |text: &str| json!({"id": "u", "role": "user", "content": text});
        let assistant = json!({"id": "a", "role": "assistant", "content": "yes"});
        let system = json!({"id": "s", "role": "system", "content": "be brief"});
        let tool = json!({"id": "x", "role": "tool", "toolCallId": "c", "content": "1"});
        for (messages, plan) in [
            (json!([user("one"), assistant, user("two")]), Ok(Plan::Run)),
            (json!([user("one"), system]), Ok(Plan::Run)),
            (
                json!([user("one"), assistant]),
                Err(StartError::NothingToDo),
            ),
            // What is no prompt may be an answer; whether it is one, the thread tells.
            (json!([user("one"), assistant, tool]), Ok(Plan::Run)),
            (json!([user("  ")]), Err(StartError::NothingToDo)),
            (json!([]), Ok(Plan::Hydrate)),
        ] {
            assert_eq!(
                Plan::of(&input(messages.clone(), &["a"])),
                plan,
                "{messages}"
            );
        }
    }

    #[test]
    fn exactly_the_suggestion_tool_makes_a_suggestion_run() {
        let messages = json!([{"id": "u", "role": "user", "content": "hi"}]);
        let plan = |tools: &[&str]| Plan::of(&input(messages.clone(), tools)).unwrap();
        assert_eq!(plan(&["copilotkitSuggest"]), Plan::Suggestions);
        assert_eq!(plan(&["copilotkitSuggest", "other"]), Plan::Run);
    }

    #[test]
    fn a_title_is_the_beginning_of_the_prompt_on_one_line() {
        for (prompt, called) in [
            ("  say\n hello ", Some("say hello".to_owned())),
            (
                "é".repeat(81).as_str(),
                Some(format!("{}…", "é".repeat(80))),
            ),
            (" ", None),
        ] {
            assert_eq!(title(&Content::Text(prompt.into())), called);
        }
    }
}
