//! How full a session's context is.

use serde::Serialize;

/// How full the context is, and what the last turn took (the document's `tokenUsage`). A count of zero that
/// clients always see stands for one that is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// The tokens in the context.
    pub prompt_tokens: u64,
    /// The tokens that the model wrote in the last turn.
    pub completion_tokens: u64,
    /// How many tokens fit.
    pub context_window: u64,
    /// Whether `prompt_tokens` is worked out from what the agent tells of something else.
    pub estimated: bool,
    /// Of the prompt, those that were read from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// Of the prompt, those that were put into a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of those that the model wrote, what it thought.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// What the session has cost, in US dollars.
    #[serde(skip_serializing_if = "is_free")]
    pub cost: f64,
}

/// What became known of a session's context. Whatever is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextUpdate {
    /// The tokens in the context.
    pub prompt: Option<Tokens>,
    /// The tokens that the model wrote.
    pub completion_tokens: Option<u64>,
    /// How many tokens fit.
    pub context_window: Option<u64>,
    /// Those that were read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Those that were put into a cache.
    pub cache_write_tokens: Option<u64>,
    /// What the model thought.
    pub reasoning_tokens: Option<u64>,
    /// What the session has cost, in US dollars.
    pub cost: Option<f64>,
}

/// A count of the tokens in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens {
    /// As the agent counts them.
    Counted(u64),
    /// Worked out from something else.
    Estimated(u64),
}

impl ContextUsage {
    /// What is known with an update.
    #[must_use]
    pub fn with(&self, update: &ContextUpdate) -> Self {
        let (prompt_tokens, estimated) = match update.prompt {
            Some(Tokens::Counted(tokens)) => (tokens, false),
            Some(Tokens::Estimated(tokens)) => (tokens, true),
            None => (self.prompt_tokens, self.estimated),
        };
        let or = |new: Option<u64>, known: u64| new.unwrap_or(known);
        let cost = update.cost.filter(|cost| cost.is_finite() && *cost >= 0.0);
        Self {
            prompt_tokens,
            estimated,
            completion_tokens: or(update.completion_tokens, self.completion_tokens),
            context_window: or(update.context_window, self.context_window),
            cache_read_tokens: or(update.cache_read_tokens, self.cache_read_tokens),
            cache_write_tokens: or(update.cache_write_tokens, self.cache_write_tokens),
            reasoning_tokens: or(update.reasoning_tokens, self.reasoning_tokens),
            cost: cost.unwrap_or(self.cost),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_free(cost: &f64) -> bool {
    *cost == 0.0
}
