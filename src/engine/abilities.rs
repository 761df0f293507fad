//! What an agent can do as it is served: what it declares, as far as its policy lets it, and what is done for every agent.

use super::{Approval, Decision, Policy, Prompts, Runtime};
use crate::{deps::Agent, protocol::AgentCapabilities};

impl Runtime {
    /// What clients are told of an agent (AG-UI 1.0, capabilities).
    pub fn capabilities(&self, agent: &Agent) -> AgentCapabilities {
        let policy = self.0.options.policy(&agent.name);
        in_force(agent.capabilities.clone(), policy)
    }
}

/// What an agent declares, as it holds under a policy. What is switched off is declared as such; of what it does not
/// declare nothing is said.
fn in_force(mut declared: AgentCapabilities, policy: &Policy) -> AgentCapabilities {
    declared.state.snapshots = Some(true);
    declared.state.deltas = Some(true);
    if !policy.frontend_tools {
        declared.tools.client_provided = Some(false);
    }
    let Prompts {
        permissions,
        approval,
        questions,
        ..
    } = &policy.prompts;
    let asks = || {
        permissions
            .iter()
            .any(|rule| rule.decision == Decision::Ask)
    };
    let approves = match approval {
        Approval::Asked => true,
        Approval::Granted => *questions && asks(),
        Approval::Denied => false,
    };
    let people = &mut declared.human_in_the_loop;
    people.approvals = people.approvals.map(|asks| asks && approves);
    people.interrupts = people
        .interrupts
        .map(|asks| asks && (approves || *questions));
    people.supported = people.interrupts;
    // An answer says yes or no to what was shown, and nothing else.
    people.approve_with_edits = people.approvals.map(|_| false);
    declared
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::Rule;

    fn asking() -> AgentCapabilities {
        let mut declared = AgentCapabilities::default();
        declared.tools.client_provided = Some(true);
        declared.human_in_the_loop.approvals = Some(true);
        declared.human_in_the_loop.interrupts = Some(true);
        declared
    }

    /// What is said of tools of the page, of permission, and of any question.
    fn told(policy: &Policy) -> [Option<bool>; 3] {
        let told = in_force(asking(), policy);
        let people = &told.human_in_the_loop;
        assert_eq!(people.supported, people.interrupts);
        assert_eq!(people.approve_with_edits, Some(false));
        [
            told.tools.client_provided,
            people.approvals,
            people.interrupts,
        ]
    }

    #[test]
    fn r29_what_is_told_follows_the_policy() {
        let policy = |tools, approval, questions, rules: &[Decision]| Policy {
            frontend_tools: tools,
            prompts: Prompts {
                approval,
                questions,
                permissions: rules
                    .iter()
                    .map(|&decision| Rule {
                        decision,
                        tool: None,
                        kind: Some("edit".into()),
                        path: None,
                    })
                    .collect(),
                ..Prompts::default()
            },
            ..Policy::default()
        };
        assert_eq!(told(&Policy::default()), [Some(true); 3]);
        for (tools, approval, questions, rules, expected) in [
            (false, Approval::Asked, true, &[][..], [false, true, true]),
            (true, Approval::Granted, true, &[], [true, false, true]),
            (true, Approval::Denied, false, &[], [true, false, false]),
            (true, Approval::Asked, false, &[], [true, true, true]),
            (
                true,
                Approval::Granted,
                true,
                &[Decision::Deny, Decision::Ask],
                [true, true, true],
            ),
            // Where people are asked nothing, a rule does not have them asked.
            (
                true,
                Approval::Granted,
                false,
                &[Decision::Ask],
                [true, false, false],
            ),
            (
                true,
                Approval::Denied,
                false,
                &[Decision::Ask],
                [true, false, false],
            ),
        ] {
            let policy = policy(tools, approval, questions, rules);
            assert_eq!(told(&policy), expected.map(Some), "{policy:?}");
        }
    }

    #[test]
    fn of_what_an_agent_does_not_declare_nothing_is_said() {
        let told = in_force(AgentCapabilities::default(), &Policy::default());
        let told = serde_json::to_value(told).unwrap();
        assert_eq!(told, json!({"state": {"snapshots": true, "deltas": true}}));
    }
}
