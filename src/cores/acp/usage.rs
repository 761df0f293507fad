//! Tokens as agents count them, brought to one way of counting.
//!
//! AG-UI counts cached and reasoning tokens as parts of the input and the output. ACP does not say, and
//! its agents differ, but they also send a total, and that tells.

use serde_json::Value;

use crate::protocol::TokenUsage;

/// What the result of `session/prompt` says was spent: `usage`, or Gemini's `_meta.quota`, which is by
/// model. What names no model was spent at `model`.
pub(super) fn of_answer(answer: &Value, model: Option<&str>) -> Vec<TokenUsage> {
    let mut found: Vec<TokenUsage> = counts(&answer["usage"]).into_iter().collect();
    if found.is_empty() {
        let quota = &answer["_meta"]["quota"];
        let by_model = quota["model_usage"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        found.extend(by_model.iter().filter_map(|entry| {
            Some(TokenUsage {
                model: entry["model"].as_str().map(str::to_owned),
                ..counts(&entry["token_count"])?
            })
        }));
        if found.is_empty() {
            found.extend(counts(&quota["token_count"]));
        }
    }
    for usage in &mut found {
        usage.model = usage.model.take().or_else(|| model.map(str::to_owned));
    }
    found
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
    let thought = count(&["thoughtTokens", "thoughtsTokens", "reasoningTokens"]);
    let read = count(&["cachedReadTokens", "cachedTokens"]);
    let write = count(&["cachedWriteTokens"]);
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
            let usage = &of_answer(&json!({"usage": reported}), Some("m"))[0];
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
        let found = of_answer(&answer, Some("m"));
        let models: Vec<_> = found.iter().map(|usage| usage.model.as_deref()).collect();
        assert_eq!(models, [Some("a"), Some("b")]);
        assert_eq!(found[0].total_tokens, Some(3));
    }

    #[test]
    fn what_cannot_be_a_count_is_no_usage() {
        for reported in [
            json!(null),
            json!({"inputTokens": -1}),
            json!({"inputTokens": 1.5}),
            json!({"inputTokens": 0, "outputTokens": 0}),
        ] {
            assert!(of_answer(&json!({"usage": reported}), None).is_empty());
        }
    }
}
