//! A call that sends a sub-agent out, at agents whose helpers have no session of their own that clients hear of.

use serde_json::Value;

use super::{
    super::bounds::{ABOUT, NAME, clip},
    facts::Facts,
    teller::Teller,
};
use crate::{
    cores::acp::vendors,
    deps::{About, SubAgentStatus},
};

/// The tool that Gemini sends sub-agents out with. It does not say what its tools are called with.
const DELEGATES: &str = "invoke_agent";

/// What was told of the sub-agent that a call sends out, if it does.
#[derive(Debug, Default)]
pub(super) struct Launch {
    told: Option<SubAgentStatus>,
    /// Whether it goes on when the call has its result.
    stays: bool,
}

impl Launch {
    /// Takes note of what an update says of it. Where the arguments are never told, it is told of once it is at work.
    pub(super) fn follow(&mut self, update: &Value, facts: &Facts, tell: &mut Teller) {
        self.stays |= vendors::leaves_running(update);
        if !self.is_told() && facts.name() == Some(DELEGATES) && facts.is_under_way() {
            self.called(facts, &update["rawInput"], false, tell);
        }
    }

    /// Whether the call has sent one out.
    pub(super) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// Tells of it, once the arguments are known, if they send one out.
    pub(super) fn called(
        &mut self,
        facts: &Facts,
        input: &Value,
        blocked: bool,
        tell: &mut Teller,
    ) {
        if let Some(about) = about(facts, input) {
            let status = if blocked {
                SubAgentStatus::Pending
            } else {
                SubAgentStatus::Running
            };
            self.told = Some(status);
            tell.sub_agent(status, about);
        }
    }

    /// Tells that it was let go on, if it had to wait for that.
    pub(super) fn go_on(&mut self, blocked: bool, tell: &mut Teller) {
        if self.told == Some(SubAgentStatus::Pending) && !blocked {
            self.told = Some(SubAgentStatus::Running);
            tell.sub_agent(SubAgentStatus::Running, About::default());
        }
    }

    /// Tells what came of it, with the text of the call's result.
    pub(super) fn end(&self, text: &str, failed: bool, tell: &mut Teller) {
        let text = clip(vendors::report_in(text), ABOUT);
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        let (status, error, summary) = if failed {
            (SubAgentStatus::Failed, text, None)
        } else {
            (SubAgentStatus::Completed, None, text)
        };
        let about = About {
            error,
            summary,
            ..About::default()
        };
        if self.is_told() && (failed || !self.stays) {
            tell.sub_agent(status, about);
        }
    }
}

/// The sub-agent that a call with these arguments sends out. Agents call such a tool by common words, or not at all, so
/// the arguments have to fit as well: what it is told, and who it is or what for.
pub(super) fn about(facts: &Facts, input: &Value) -> Option<About> {
    const WHO: [&str; 5] = [
        "subagent_type",
        "agent_type",
        "agent_name",
        "name",
        "description",
    ];
    let text = |name: &str, most: usize| {
        let text = input[name].as_str().filter(|text| !text.is_empty());
        text.map(|text| clip(text, most).to_owned())
    };
    let about = About {
        persona: WHO.iter().find_map(|name| text(name, NAME)),
        prompt: text("prompt", ABOUT),
        model: text("model", NAME),
        ..About::default()
    };
    let is_told_whom = about.prompt.is_some() && about.persona.is_some();
    match facts.name() {
        Some(DELEGATES) => {
            let known = facts.title().and_then(vendors::delegate);
            Some(About {
                persona: about.persona.or_else(|| known.map(str::to_owned)),
                ..about
            })
        }
        // Cline.
        Some("spawn_agent") if input["systemPrompt"].is_string() => Some(About {
            prompt: text("task", ABOUT),
            ..about
        }),
        name => {
            let mut names = ["agent", "task", "spawn_agent"].into_iter();
            let is_one = name.is_some_and(|name| names.any(|it| name.eq_ignore_ascii_case(it)));
            // Copilot says what it is for in place of a name.
            let says_kind = ["subagent_type", "agent_type"]
                .iter()
                .any(|kind| input[*kind].is_string());
            ((is_one || says_kind) && is_told_whom).then_some(about)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sub_agent_is_known_by_the_tool_and_what_it_is_told() {
        for (tool, input, persona) in [
            // Claude Code, OpenCode, Qwen.
            (
                "Agent",
                json!({"prompt": "p", "description": "look", "subagent_type": "Explore"}),
                Some(Some("Explore")),
            ),
            (
                "task",
                json!({"prompt": "p", "description": "look"}),
                Some(Some("look")),
            ),
            // Copilot.
            (
                "",
                json!({"prompt": "p", "description": "look", "agent_type": "explore"}),
                Some(Some("explore")),
            ),
            // Gemini.
            (
                "invoke_agent",
                json!({"prompt": "p", "agent_name": "investigator"}),
                Some(Some("investigator")),
            ),
            ("invoke_agent", json!(null), Some(Some("scout"))),
            // Cline.
            (
                "spawn_agent",
                json!({"systemPrompt": "You are.", "task": "p"}),
                Some(None),
            ),
            ("", json!({"prompt": "p", "description": "look"}), None),
            (
                "Investigate",
                json!({"prompt": "p", "agent_type": "explore"}),
                Some(Some("explore")),
            ),
            // Pando's own is none, and neither is a list of things to do.
            ("agent", json!({"prompt": "p"}), None),
            ("task", json!({"description": "mend it"}), None),
            ("Task", json!({"prompt": 1, "subagent_type": "x"}), None),
            (
                "TaskCreate",
                json!({"prompt": "p", "description": "x"}),
                None,
            ),
        ] {
            let title = "Delegating to agent 'scout'";
            let facts = Facts::of_first(&json!({"name": tool, "title": title}));
            let found = about(&facts, &input);
            let told = found.as_ref().map(|about| about.persona.as_deref());
            assert_eq!(told, persona, "{tool} {input}");
            let prompt = found.and_then(|about| about.prompt);
            assert_eq!(
                prompt.is_some(),
                persona.is_some() && !input.is_null(),
                "{tool}"
            );
        }
    }
}
