//! Token counts of a run (AG-UI 1.0, usage).

use serde::{Deserialize, Serialize};

/// The tokens spent at one provider and model. Absent is unknown, which is not zero.
///
/// `input_tokens` and `output_tokens` are totals: cached and reasoning tokens are parts of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage {
    /// The provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// All tokens read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// All tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input and output together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The part of the output that was thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The part of the input that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// The part of the input that was written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
}

impl TokenUsage {
    /// The largest count that every client can read.
    const MOST: u64 = (1 << 53) - 1;

    /// Adds what was spent besides. What neither side knows stays unknown.
    pub fn add(&mut self, spent: &Self) {
        let sum = |known: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                let sum = known.unwrap_or(0).saturating_add(more);
                *known = Some(sum.min(Self::MOST));
            }
        };
        sum(&mut self.input_tokens, spent.input_tokens);
        sum(&mut self.output_tokens, spent.output_tokens);
        sum(&mut self.total_tokens, spent.total_tokens);
        sum(&mut self.reasoning_tokens, spent.reasoning_tokens);
        sum(&mut self.cached_input_tokens, spent.cached_input_tokens);
        sum(
            &mut self.cache_write_input_tokens,
            spent.cache_write_input_tokens,
        );
    }
}
