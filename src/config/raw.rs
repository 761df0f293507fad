//! The configuration as it is written: every key, its kind and its default.
//!
//! Defaults that belong to a part of the daemon are taken from that part's own `Default`, so that a
//! number stands in one place. `config/agui.toml` shows the same keys with the same values.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::scalar::{Deadline, Size, Span, Words};
use crate::{
    cores::{POOL_SIZE, POOL_TTL, START_TIMEOUT},
    engine::{self, Linger},
    http, store, telemetry,
};

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
    pub(super) allowed_origins: Words,
    pub(super) allowed_hosts: Words,
    pub(super) allow_insecure_bind: bool,
    pub(super) require_token: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tokens: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state_dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) database: Option<PathBuf>,
    pub(super) store_wait: Span,
    pub(super) max_body: Size,
    pub(super) heartbeat: Span,
    pub(super) shutdown_grace: Span,
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default_agent: Option<String>,
    pub(super) log: Log,
    pub(super) limits: Limits,
    pub(super) defaults: Defaults,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) agents: BTreeMap<String, Agent>,
}

/// `[log]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Log {
    pub(super) format: telemetry::Format,
    pub(super) filter: String,
}

/// `[limits]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) max_turns: usize,
    pub(super) run_bytes: Size,
    pub(super) total_bytes: Size,
    pub(super) log_ttl: Span,
    pub(super) max_threads: usize,
    pub(super) thread_ttl: Deadline,
    pub(super) transcript_bytes: Size,
    pub(super) max_waiting: usize,
    pub(super) max_state_threads: usize,
    pub(super) max_state_bytes: Size,
    pub(super) max_connections: usize,
}

/// `[defaults]`: what holds for every agent that does not say otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own that people write"
)]
pub(super) struct Defaults {
    pub(super) busy: Busy,
    pub(super) linger: Deadline,
    pub(super) turn_timeout: Deadline,
    pub(super) silence_timeout: Deadline,
    pub(super) start_timeout: Span,
    pub(super) stop_grace: Span,
    pub(super) explain_errors: bool,
    pub(super) pass_env: Words,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workdir: Option<PathBuf>,
    pub(super) seed_history: bool,
    pub(super) pool_size: usize,
    pub(super) pool_ttl: Span,
    pub(super) frontend_tools: bool,
    pub(super) client_tool_timeout: Span,
    pub(super) human_in_the_loop: bool,
    pub(super) auto_approve: bool,
    pub(super) prompt_timeout: Span,
    pub(super) interrupt_reason: Reason,
    pub(super) interrupt_expires_at: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) permissions: Vec<Rule>,
}

/// `[agents.NAME]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Agent {
    pub(super) core: Option<Core>,
    pub(super) description: Option<String>,
    pub(super) preset: Option<String>,
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) pass_env: Words,
    pub(super) busy: Option<Busy>,
    pub(super) linger: Option<Deadline>,
    pub(super) turn_timeout: Option<Deadline>,
    pub(super) silence_timeout: Option<Deadline>,
    pub(super) start_timeout: Option<Span>,
    pub(super) stop_grace: Option<Span>,
    pub(super) explain_errors: Option<bool>,
    pub(super) workdir: Option<PathBuf>,
    pub(super) instructions: Option<String>,
    pub(super) instructions_file: Option<PathBuf>,
    pub(super) mode: Option<String>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) modes: Words,
    pub(super) models: Words,
    pub(super) efforts: Words,
    pub(super) seed_history: Option<bool>,
    pub(super) pool_size: Option<usize>,
    pub(super) pool_ttl: Option<Span>,
    pub(super) frontend_tools: Option<bool>,
    pub(super) client_tool_timeout: Option<Span>,
    pub(super) human_in_the_loop: Option<bool>,
    pub(super) auto_approve: Option<bool>,
    pub(super) prompt_timeout: Option<Span>,
    pub(super) interrupt_reason: Option<Reason>,
    pub(super) interrupt_expires_at: Option<bool>,
    pub(super) permissions: Vec<Rule>,
}

/// `[[defaults.permissions]]` and `[[agents.NAME.permissions]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    pub(super) decision: Decision,
    pub(super) tool: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) path: Option<String>,
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Decision {
    /// Yes, and nobody is asked.
    Allow,
    /// Somebody is asked.
    Ask,
    /// No, and nobody is asked.
    Deny,
}

impl From<Decision> for engine::Decision {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Allow,
            Decision::Ask => Self::Ask,
            Decision::Deny => Self::Deny,
        }
    }
}

/// Why a run says that it stops for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reason {
    /// With a reason of ours.
    Namespaced,
    /// With that of AG-UI 1.0.
    ToolCall,
}

impl From<Reason> for engine::Reason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Namespaced => Self::Namespaced,
            Reason::ToolCall => Self::ToolCall,
        }
    }
}

/// What answers for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Core {
    /// In the process, deterministic.
    Demo,
    /// A program that speaks the Agent Client Protocol on stdio.
    Acp,
}

/// What becomes of a run that is asked for while another is live on the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Busy {
    /// It is refused.
    Reject,
    /// It waits for the other to end.
    Queue,
    /// The other one is stopped.
    Replace,
}

impl From<Busy> for engine::Busy {
    fn from(busy: Busy) -> Self {
        match busy {
            Busy::Reject => Self::Reject,
            Busy::Queue => Self::Queue,
            Busy::Replace => Self::Replace,
        }
    }
}

impl Default for Raw {
    fn default() -> Self {
        let http = http::Options::default();
        Self {
            host: http.addr.ip().to_string(),
            port: http.addr.port(),
            path: http.service.path.prefix().into(),
            allowed_origins: Words::default(),
            allowed_hosts: Words::default(),
            allow_insecure_bind: http.allow_insecure_bind,
            require_token: true,
            token_file: None,
            tokens: BTreeMap::new(),
            state_dir: None,
            database: None,
            store_wait: Span(store::Options::default().wait),
            max_body: Size(http.service.max_body),
            heartbeat: Span(http.service.heartbeat),
            shutdown_grace: Span(Duration::from_secs(5)),
            namespace: engine::Namespace::default().as_str().into(),
            default_agent: None,
            log: Log::default(),
            limits: Limits::default(),
            defaults: Defaults::default(),
            agents: BTreeMap::new(),
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        let telemetry::Options { format, filter } = telemetry::Options::default();
        Self { format, filter }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let limits = engine::Limits::default();
        let store = store::Options::default();
        Self {
            max_turns: limits.max_turns,
            run_bytes: Size(limits.run_bytes),
            total_bytes: Size(limits.total_bytes),
            log_ttl: Span(limits.log_ttl),
            max_threads: store.max_threads,
            thread_ttl: Deadline(store.max_age),
            transcript_bytes: Size(store.transcript_bytes),
            max_waiting: limits.max_waiting,
            max_state_threads: limits.max_state_threads,
            max_state_bytes: Size(limits.max_state_bytes),
            max_connections: http::Options::default().max_connections,
        }
    }
}

impl Default for Defaults {
    fn default() -> Self {
        let policy = engine::Policy::default();
        Self {
            busy: match policy.busy {
                engine::Busy::Reject => Busy::Reject,
                engine::Busy::Queue => Busy::Queue,
                engine::Busy::Replace => Busy::Replace,
            },
            linger: match policy.linger {
                Linger::For(span) => Deadline(Some(span)),
                Linger::Forever => Deadline(None),
            },
            turn_timeout: Deadline(policy.turn_timeout),
            silence_timeout: Deadline(policy.silence_timeout),
            start_timeout: Span(START_TIMEOUT),
            stop_grace: Span(policy.stop_grace),
            explain_errors: policy.explain_errors,
            pass_env: Words::default(),
            workdir: None,
            seed_history: true,
            pool_size: POOL_SIZE,
            pool_ttl: Span(POOL_TTL),
            frontend_tools: policy.frontend_tools,
            client_tool_timeout: Span(policy.client_tool_timeout),
            human_in_the_loop: policy.prompts.questions,
            auto_approve: policy.prompts.approval == engine::Approval::Granted,
            prompt_timeout: Span(policy.prompts.timeout),
            interrupt_reason: match policy.prompts.reason {
                engine::Reason::Namespaced => Reason::Namespaced,
                engine::Reason::ToolCall => Reason::ToolCall,
            },
            interrupt_expires_at: policy.prompts.tell_expiry,
            permissions: Vec::new(),
        }
    }
}
