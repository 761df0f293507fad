//! What a request asks for. Decides, changes nothing.

use super::StartError;
use crate::protocol::{Content, MessageBody, RunAgentInput};

/// The one tool that `CopilotKit` declares when it wants suggestions for the next prompt.
const SUGGEST_TOOL: &str = "copilotkitSuggest";

/// What a request asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// A turn with this prompt.
    Prompt(Content),
    /// Suggestions on a throw-away thread. No agent is asked: the run ends at once.
    Suggestions,
}

impl Plan {
    /// Reads the plan off a request: its trailing user message is the prompt.
    ///
    /// # Errors
    /// There is no such message, or nothing in it.
    pub(super) fn of(input: &RunAgentInput) -> Result<Self, StartError> {
        if let [tool] = input.tools.as_slice()
            && tool.name == SUGGEST_TOOL
        {
            return Ok(Self::Suggestions);
        }
        let prompt = input
            .messages
            .iter()
            .rev()
            .find_map(|message| match &message.body {
                MessageBody::User { content, .. } => Some(Some(content)),
                MessageBody::Assistant { .. } | MessageBody::Tool { .. } => Some(None),
                // Instructions, thoughts and activities may stand behind what a person said.
                _ => None,
            });
        match prompt.flatten() {
            Some(content) if !content.is_blank() => Ok(Self::Prompt(content.clone())),
            _ => Err(StartError::NothingToDo),
        }
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

    #[test]
    fn only_the_trailing_user_message_is_a_prompt() {
        let user = |text: &str| json!({"id": "u", "role": "user", "content": text});
        let assistant = json!({"id": "a", "role": "assistant", "content": "yes"});
        let system = json!({"id": "s", "role": "system", "content": "be brief"});
        let tool = json!({"id": "x", "role": "tool", "toolCallId": "c", "content": "1"});
        let prompt = |text: &str| Ok(Plan::Prompt(Content::Text(text.into())));
        for (messages, plan) in [
            (json!([user("one"), assistant, user("two")]), prompt("two")),
            (json!([user("one"), system]), prompt("one")),
            (
                json!([user("one"), assistant]),
                Err(StartError::NothingToDo),
            ),
            (
                json!([user("one"), assistant, tool]),
                Err(StartError::NothingToDo),
            ),
            (json!([user("  ")]), Err(StartError::NothingToDo)),
            (json!([]), Err(StartError::NothingToDo)),
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
        assert!(matches!(
            plan(&["copilotkitSuggest", "other"]),
            Plan::Prompt(_)
        ));
    }
}
