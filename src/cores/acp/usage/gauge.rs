//! How full the context of a session is, of all that agents tell in a turn.

use serde_json::Value;

use super::Spent;
use crate::{
    deps::{ContextUpdate, Tokens},
    protocol::TokenUsage,
};

/// What was told in one turn.
#[derive(Debug, Default)]
pub(in crate::cores::acp) struct Gauge {
    /// Whether the agent has counted what is in the context.
    has_counted: bool,
    /// What the model has written in the calls that were told one by one.
    written: Option<u64>,
    /// What it has thought of that.
    thought: Option<u64>,
}

impl Gauge {
    /// What an update says (ACP `usage_update`). What it costs is known in US dollars or not at all.
    pub(in crate::cores::acp) fn read(&mut self, update: &Value) -> ContextUpdate {
        let used = update["used"].as_u64();
        self.has_counted |= used.is_some();
        let cost = &update["cost"];
        let currency = cost["currency"].as_str().unwrap_or("USD");
        let is_known = currency.eq_ignore_ascii_case("USD");
        ContextUpdate {
            prompt: used.map(Tokens::Counted),
            context_window: update["size"].as_u64().filter(|size| *size > 0),
            cost: cost["amount"].as_f64().filter(|_| is_known),
            ..ContextUpdate::default()
        }
    }

    /// What one call of the model has taken (Qwen): it was given all that is in the context.
    pub(in crate::cores::acp) fn add(&mut self, call: &TokenUsage) -> ContextUpdate {
        let and = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (sum, more) => sum.or(more),
        };
        self.has_counted = true;
        self.written = and(self.written, call.output_tokens);
        self.thought = and(self.thought, call.reasoning_tokens);
        ContextUpdate {
            prompt: call.input_tokens.map(Tokens::Counted),
            completion_tokens: self.written,
            cache_read_tokens: call.cached_input_tokens,
            cache_write_tokens: call.cache_write_input_tokens,
            reasoning_tokens: self.thought,
            ..ContextUpdate::default()
        }
    }

    /// What the whole turn has taken. Its calls were given the same things again and again, so what they were given in
    /// all is no count of what is in the context, and stands for one only where there is no better.
    pub(in crate::cores::acp) fn settle(&self, spent: &Spent) -> Option<ContextUpdate> {
        let counts = match &spent.own {
            Some(own) => std::slice::from_ref(own),
            None => &spent.counts,
        };
        let sum = |of: fn(&TokenUsage) -> Option<u64>| {
            let counts = counts.iter().filter_map(of);
            counts.reduce(u64::saturating_add)
        };
        let given = sum(|usage| usage.input_tokens);
        (!counts.is_empty()).then(|| ContextUpdate {
            prompt: given.filter(|_| !self.has_counted).map(Tokens::Estimated),
            completion_tokens: sum(|usage| usage.output_tokens),
            cache_read_tokens: sum(|usage| usage.cached_input_tokens),
            cache_write_tokens: sum(|usage| usage.cache_write_input_tokens),
            reasoning_tokens: sum(|usage| usage.reasoning_tokens),
            ..ContextUpdate::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::of_answer, *};

    #[test]
    fn a_cost_in_another_currency_is_not_known() {
        for (cost, known) in [
            (json!({"amount": 0.25, "currency": "USD"}), Some(0.25)),
            (json!({"amount": 0.25}), Some(0.25)),
            (json!({"amount": 0.25, "currency": "EUR"}), None),
            (json!(null), None),
        ] {
            let update = json!({"used": 5, "size": 10, "cost": cost});
            let read = Gauge::default().read(&update);
            assert_eq!(read.prompt, Some(Tokens::Counted(5)));
            assert_eq!(read.context_window, Some(10));
            assert_eq!(read.cost, known, "{cost}");
        }
    }

    #[test]
    fn what_a_turn_was_given_is_an_estimate_where_nothing_was_counted() {
        // As Claude tells it: by model with what its helpers have spent.
        let spent = of_answer(
            &json!({
                "usage": {"inputTokens": 20, "outputTokens": 4, "totalTokens": 24},
                "_meta": {"quota": {"model_usage": [{"model": "m", "token_count":
                    {"inputTokens": 30, "outputTokens": 9, "totalTokens": 39}}]}},
            }),
            None,
        );
        let mut gauge = Gauge::default();
        let settled = gauge.settle(&spent).unwrap();
        assert_eq!(settled.prompt, Some(Tokens::Estimated(20)));
        assert_eq!(settled.completion_tokens, Some(4));
        gauge.read(&json!({"size": 10}));
        let settled = gauge.settle(&spent).unwrap();
        assert_eq!(settled.prompt, Some(Tokens::Estimated(20)));
        gauge.read(&json!({"used": 7}));
        assert_eq!(gauge.settle(&spent).unwrap().prompt, None);
        assert_eq!(gauge.settle(&Spent::default()), None);
    }

    #[test]
    fn each_call_of_a_model_counts_the_context_and_adds_to_what_was_written() {
        let call = |input: u64| TokenUsage {
            input_tokens: Some(input),
            output_tokens: Some(3),
            reasoning_tokens: Some(1),
            cached_input_tokens: Some(input - 1),
            ..TokenUsage::default()
        };
        let mut gauge = Gauge::default();
        gauge.add(&call(10));
        let added = gauge.add(&call(20));
        assert_eq!(added.prompt, Some(Tokens::Counted(20)));
        assert_eq!(added.completion_tokens, Some(6));
        assert_eq!(added.reasoning_tokens, Some(2));
        assert_eq!(added.cache_read_tokens, Some(19));
    }
}
