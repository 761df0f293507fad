//! Tokens as agents count them, brought to one way of counting.
//!
//! AG-UI counts cached and reasoning tokens as parts of the input and the output. ACP does not say, and
//! its agents differ, but they also send a total, and that tells.

mod gauge;
mod meters;

use serde_json::Value;

pub(super) use self::{gauge::Gauge, meters::Meters};
use crate::protocol::TokenUsage;

/// How many models of one session are told apart.
const MODELS: usize = 16;
/// The longest name of a session or a model that is taken, in bytes.
const NAME: usize = 256;

/// What was spent, by model as far as the agent names some.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Spent {
    /// As the agent told it.
    counts: Vec<TokenUsage>,
    /// What the session itself has spent, where the counts may hold more than that.
    own: Option<TokenUsage>,
    /// The model that stands for one that is not named.
    model: Option<String>,
}

impl IntoIterator for Spent {
    type Item = TokenUsage;
    type IntoIter = std::vec::IntoIter<TokenUsage>;

    /// The counts, each with a model if one is known.
    fn into_iter(mut self) -> Self::IntoIter {
        for usage in &mut self.counts {
            usage.model = usage.model.take().or_else(|| self.model.clone());
        }
        self.counts.into_iter()
    }
}

/// What the result of `session/prompt` says was spent: by model, as `_meta.quota` has it (Gemini, Codex,
/// Claude, which counts there what its helpers spend, too), else `usage`. What names no model was spent
/// at `model`.
pub(super) fn of_answer(answer: &Value, model: Option<&str>) -> Spent {
    let quota = &answer["_meta"]["quota"];
    let by_model = quota["model_usage"].as_array().into_iter().flatten();
    let named = |entry: &Value| {
        Some(TokenUsage {
            model: entry["model"].as_str().map(clipped),
            ..counts(&entry["token_count"])?
        })
    };
    let mut found: Vec<_> = by_model.filter_map(named).take(MODELS).collect();
    let own = counts(&answer["usage"]).or_else(|| counts(&quota["token_count"]));
    if found.is_empty() {
        found.extend(own.clone());
    }
    Spent {
        counts: found,
        own,
        model: model.map(clipped),
    }
}

fn clipped(name: &str) -> String {
    name[..name.floor_char_boundary(NAME)].to_owned()
}

/// What a message chunk says was spent, as Qwen reports each call of its model.
pub(super) fn of_chunk(update: &Value) -> Option<TokenUsage> {
    counts(&update["_meta"]["usage"])
}

/// Reads counts, under any of the names that agents use. `None` if nothing was spent.
fn counts(value: &Value) -> Option<TokenUsage> {
    let count = |names: &[&str]| names.iter().find_map(|name| value[*name].as_u64());
    let input = count(&["inputTokens", "input_tokens", "promptTokens"]);
    let output = count(&["outputTokens", "output_tokens", "completionTokens"]);
    let total = count(&["totalTokens", "total_tokens"]);
    let thought = count(&[
        "thoughtTokens",
        "thoughtsTokens",
        "reasoningTokens",
        "reasoningOutputTokens",
    ]);
    let read = count(&["cachedReadTokens", "cachedTokens", "cachedInputTokens"]);
    let write = count(&["cachedWriteTokens", "cacheWriteInputTokens"]);
    let (input, output) = match (input, output) {
        (None, None) => return None,
        (input, output) => (input.unwrap_or(0), output.unwrap_or(0)),
    };
    let cached = read.unwrap_or(0).saturating_add(write.unwrap_or(0));
    let thought_aside = thought.unwrap_or(0);
    let aside = aside(input, output, cached, thought_aside, total);
    let input = input.saturating_add(if aside.cached { cached } else { 0 });
    let output = output.saturating_add(if aside.thought { thought_aside } else { 0 });
    let total = input.saturating_add(output);
    (total > 0).then(|| TokenUsage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        total_tokens: Some(total),
        reasoning_tokens: thought,
        cached_input_tokens: read,
        cache_write_input_tokens: write,
        ..TokenUsage::default()
    })
}

/// Which counts are reported beside the input and the output instead of within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Aside {
    cached: bool,
    thought: bool,
}

fn aside(input: u64, output: u64, cached: u64, thought: u64, total: Option<u64>) -> Aside {
    let sum = |cached: u64, thought: u64| {
        [output, cached, thought]
            .into_iter()
            .fold(input, u64::saturating_add)
    };
    let candidates = [
        (sum(0, 0), false, false),
        (sum(cached, 0), true, false),
        (sum(0, thought), false, true),
        (sum(cached, thought), true, true),
    ];
    let fits = candidates.iter().find(|(sum, ..)| Some(*sum) == total);
    fits.map_or(
        // Without a total that fits, only what cannot be a part is beside.
        Aside {
            cached: cached > input,
            thought: thought > output,
        },
        |(_, cached, thought)| Aside {
            cached: *cached,
            thought: *thought,
        },
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cached_and_reasoning_tokens_become_parts_of_the_totals() {
        for (reported, wanted) in [
            // Within: total is input and output.
            (
                json!({"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "cachedReadTokens": 80, "thoughtTokens": 5}),
                (100, 20),
            ),
            // Cached aside.
            (
                json!({"inputTokens": 10, "outputTokens": 20, "totalTokens": 120, "cachedReadTokens": 80, "cachedWriteTokens": 10}),
                (100, 20),
            ),
            // Both aside.
            (
                json!({"inputTokens": 10, "outputTokens": 20, "totalTokens": 115, "cachedReadTokens": 80, "thoughtTokens": 5}),
                (90, 25),
            ),
            // No total.
            (
                json!({"inputTokens": 10, "outputTokens": 20, "cachedReadTokens": 80, "thoughtTokens": 5}),
                (90, 20),
            ),
            (json!({"inputTokens": 10}), (10, 0)),
        ] {
            let usage = of_answer(&json!({"usage": reported}), Some("m"));
            let usage = usage.into_iter().next().unwrap();
            assert_eq!(usage.input_tokens, Some(wanted.0), "{reported}");
            assert_eq!(usage.output_tokens, Some(wanted.1), "{reported}");
            assert_eq!(usage.total_tokens, Some(wanted.0 + wanted.1), "{reported}");
            assert_eq!(usage.model.as_deref(), Some("m"));
        }
    }

    #[test]
    fn a_quota_by_model_names_each_model() {
        let answer = json!({"_meta": {"quota": {
            "token_count": {"input_tokens": 3, "output_tokens": 4},
            "model_usage": [{"model": "a", "token_count": {"input_tokens": 1, "output_tokens": 2}},
                            {"model": "b", "token_count": {"input_tokens": 2, "output_tokens": 2}}],
        }}});
        let found: Vec<_> = of_answer(&answer, Some("m")).into_iter().collect();
        let models: Vec<_> = found.iter().map(|usage| usage.model.as_deref()).collect();
        assert_eq!(models, [Some("a"), Some("b")]);
        assert_eq!(found[0].total_tokens, Some(3));
    }

    #[test]
    fn what_is_told_by_model_goes_before_the_whole() {
        // As Codex.
        let answer = json!({
            "usage": {"totalTokens": 40, "inputTokens": 26, "cachedReadTokens": 10, "outputTokens": 14},
            "_meta": {"quota": {"model_usage": [{"model": "m", "token_count": {"totalTokens": 40, "inputTokens": 26,
                "cachedInputTokens": 10, "cacheWriteInputTokens": 2, "outputTokens": 14, "reasoningOutputTokens": 4}}]}},
        });
        let found: Vec<_> = of_answer(&answer, Some("m[high]")).into_iter().collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].model.as_deref(), Some("m"));
        assert_eq!(found[0].input_tokens, Some(26));
        assert_eq!(found[0].cached_input_tokens, Some(10));
        assert_eq!(found[0].cache_write_input_tokens, Some(2));
        assert_eq!(found[0].reasoning_tokens, Some(4));
        let cancelled =
            json!({"usage": null, "_meta": {"quota": {"token_count": null, "model_usage": []}}});
        assert_eq!(of_answer(&cancelled, Some("m")).into_iter().count(), 0);
    }

    #[test]
    fn what_cannot_be_a_count_is_no_usage() {
        for reported in [
            json!(null),
            json!({"inputTokens": -1}),
            json!({"inputTokens": 1.5}),
            json!({"inputTokens": 0, "outputTokens": 0}),
        ] {
            let spent = of_answer(&json!({"usage": reported}), None);
            assert_eq!(spent.into_iter().count(), 0, "{reported}");
        }
    }
}
