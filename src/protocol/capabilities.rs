//! The capabilities document of AG-UI 1.0: what an agent declares, absent where undeclared.
//!
//! It informs and binds nobody; the stream is authoritative. `false` says no, absence says nothing
//! (AG-UI 1.0, capabilities). The members are those of the protocol, in its words.

use serde::{Deserialize, Serialize};

use super::{JsonObject, Tool};

macro_rules! group {
    ($(#[$doc:meta])* $name:ident { $($(#[$member_doc:meta])* $member:ident: $of:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $(
                $(#[$member_doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $member: Option<$of>,
            )*
        }
    };
}

/// What an agent declares. A group with nothing in it is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    /// Who it is.
    #[serde(skip_serializing_if = "undeclared")]
    pub identity: Identity,
    /// How it can be reached.
    #[serde(skip_serializing_if = "undeclared")]
    pub transport: Transport,
    /// What it does with tools.
    #[serde(skip_serializing_if = "undeclared")]
    pub tools: Tools,
    /// What its answers can be.
    #[serde(skip_serializing_if = "undeclared")]
    pub output: Output,
    /// What it keeps and shows.
    #[serde(skip_serializing_if = "undeclared")]
    pub state: State,
    /// Whether it works with others.
    #[serde(skip_serializing_if = "undeclared")]
    pub multi_agent: MultiAgent,
    /// Whether it shows its thoughts.
    #[serde(skip_serializing_if = "undeclared")]
    pub reasoning: Reasoning,
    /// Which media it takes and gives.
    #[serde(skip_serializing_if = "undeclared")]
    pub multimodal: Multimodal,
    /// Whether and how it runs code.
    #[serde(skip_serializing_if = "undeclared")]
    pub execution: Execution,
    /// How a person takes part.
    #[serde(skip_serializing_if = "undeclared")]
    pub human_in_the_loop: HumanInTheLoop,
    /// Anything else, open.
    #[serde(skip_serializing_if = "undeclared")]
    pub custom: JsonObject,
}

fn undeclared<T: Default + PartialEq>(group: &T) -> bool {
    *group == T::default()
}

group!(
    /// Who the agent is.
    Identity {
        /// A name for people.
        name: String,
        /// The kind of agent or its framework.
        #[serde(rename = "type")]
        kind: String,
        /// A sentence for people.
        description: String,
        /// The agent's own version.
        version: String,
        /// Who provides it.
        provider: String,
        /// Where to read about it.
        documentation_url: String,
        /// Open metadata.
        metadata: JsonObject,
    }
);

group!(
    /// How the agent can be reached.
    Transport {
        /// Events as they happen.
        streaming: bool,
        /// Over a websocket.
        websocket: bool,
        /// The binary form over HTTP.
        http_binary: bool,
        /// Notices while no client is connected.
        push_notifications: bool,
        /// A broken stream can be taken up again.
        resumable: bool,
    }
);

group!(
    /// What the agent does with tools.
    Tools {
        /// It calls tools at all.
        supported: bool,
        /// Its own tools.
        items: Vec<Tool>,
        /// Several calls at once.
        parallel_calls: bool,
        /// Tools of the page.
        client_provided: bool,
    }
);

group!(
    /// What the agent's answers can be.
    Output {
        /// Answers of a given shape.
        structured_output: bool,
        /// The media types of its answers.
        supported_mime_types: Vec<String>,
    }
);

group!(
    /// What the agent keeps and shows.
    State {
        /// It sends snapshots.
        snapshots: bool,
        /// It sends deltas.
        deltas: bool,
        /// It remembers across threads.
        memory: bool,
        /// It keeps state across runs.
        persistent_state: bool,
    }
);

group!(
    /// Whether the agent works with others.
    MultiAgent {
        /// It does at all.
        supported: bool,
        /// It gives work to others.
        delegation: bool,
        /// It hands the conversation over.
        handoffs: bool,
        /// Whom it works with.
        subagents: Vec<SubagentInfo>,
    }
);

/// One sub-agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentInfo {
    /// Its name.
    pub name: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

group!(
    /// Whether the agent shows its thoughts.
    Reasoning {
        /// It reasons.
        supported: bool,
        /// Its reasoning streams.
        streaming: bool,
        /// Its reasoning comes encrypted.
        encrypted: bool,
    }
);

/// Which media the agent takes and gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Multimodal {
    /// What it takes.
    #[serde(skip_serializing_if = "undeclared")]
    pub input: MediaIn,
    /// What it gives.
    #[serde(skip_serializing_if = "undeclared")]
    pub output: MediaOut,
}

group!(
    /// The media that the agent takes.
    #[derive(Eq)]
    MediaIn {
        /// Pictures.
        image: bool,
        /// Sounds.
        audio: bool,
        /// Films.
        video: bool,
        /// PDF documents.
        pdf: bool,
        /// Any file.
        file: bool,
    }
);

group!(
    /// The media that the agent gives.
    #[derive(Eq)]
    MediaOut {
        /// Pictures.
        image: bool,
        /// Sounds.
        audio: bool,
    }
);

group!(
    /// Whether and how the agent runs code.
    Execution {
        /// It runs code.
        code_execution: bool,
        /// In a sandbox.
        sandboxed: bool,
        /// Rounds at most, at most 2^53 - 1.
        max_iterations: u64,
        /// Milliseconds at most, at most 2^53 - 1.
        max_execution_time: u64,
    }
);

group!(
    /// How a person takes part.
    HumanInTheLoop {
        /// A person can take part at all.
        supported: bool,
        /// It asks before it acts.
        approvals: bool,
        /// A person can step in while it works.
        interventions: bool,
        /// It takes feedback.
        feedback: bool,
        /// It ends a run to ask.
        interrupts: bool,
        /// A person can change what is approved.
        approve_with_edits: bool,
    }
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::schema::Schema;

    #[test]
    fn nothing_declared_is_an_empty_document() {
        assert_eq!(
            serde_json::to_string(&AgentCapabilities::default()).unwrap(),
            "{}"
        );
    }

    #[test]
    fn only_what_is_declared_is_written_and_false_is_declared() {
        let declared = AgentCapabilities {
            transport: Transport {
                streaming: Some(true),
                ..Transport::default()
            },
            multimodal: Multimodal {
                input: MediaIn {
                    image: Some(false),
                    ..MediaIn::default()
                },
                ..Multimodal::default()
            },
            ..AgentCapabilities::default()
        };
        assert_eq!(
            serde_json::to_value(&declared).unwrap(),
            json!({"transport": {"streaming": true}, "multimodal": {"input": {"image": false}}})
        );
    }

    #[test]
    fn a_full_document_is_valid_and_reads_back() {
        let full = json!({
            "identity": {"name": "n", "type": "t", "description": "d", "version": "1", "provider": "p",
                "documentationUrl": "u", "metadata": {"k": null}},
            "transport": {"streaming": true, "websocket": false, "httpBinary": false,
                "pushNotifications": false, "resumable": true},
            "tools": {"supported": true, "items": [{"name": "n", "description": "d"}],
                "parallelCalls": true, "clientProvided": true},
            "output": {"structuredOutput": false, "supportedMimeTypes": ["text/plain"]},
            "state": {"snapshots": true, "deltas": true, "memory": false, "persistentState": true},
            "multiAgent": {"supported": true, "delegation": true, "handoffs": false,
                "subagents": [{"name": "n"}, {"name": "m", "description": "d"}]},
            "reasoning": {"supported": true, "streaming": true, "encrypted": false},
            "multimodal": {
                "input": {"image": true, "audio": false, "video": false, "pdf": true, "file": true},
                "output": {"image": false, "audio": false}},
            "execution": {"codeExecution": true, "sandboxed": false, "maxIterations": 0,
                "maxExecutionTime": 9_007_199_254_740_991_u64},
            "humanInTheLoop": {"supported": true, "approvals": true, "interventions": false,
                "feedback": false, "interrupts": true, "approveWithEdits": false},
            "custom": {"k": null},
        });
        let read: AgentCapabilities = serde_json::from_value(full.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), full);
        let errors = Schema::of("AgentCapabilities").errors(&read);
        assert_eq!(errors, Vec::<String>::new());
    }
}
