//! Counts that go on from turn to turn.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;

use super::{MODELS, NAME, Spent};
use crate::protocol::TokenUsage;

/// Of how many sessions it is known what they had spent. The longest unheard of is forgotten.
const SESSIONS: NonZeroUsize = NonZeroUsize::new(256).expect("it is not zero");

/// Makes what a turn spent of counts that go on from turn to turn of a session, for the sessions of one
/// process (Copilot).
#[derive(Debug)]
pub(in crate::cores::acp) struct Meters {
    /// By session, the counts as the agent told them last: one of each model, or one of the whole, whatever
    /// model the session is set to.
    before: Mutex<LruCache<String, Vec<TokenUsage>>>,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            before: Mutex::new(LruCache::new(SESSIONS)),
        }
    }
}

impl Meters {
    /// What was spent in a session since the last time. Counts that are less than then have begun anew. Of
    /// a session with a name too long to be kept nothing is known.
    pub(in crate::cores::acp) fn since(&self, session: &str, now: Spent) -> Spent {
        if now.counts.is_empty() || session.len() > NAME {
            return Spent::default();
        }
        let mut sessions = self.before.lock();
        let before = sessions.get_or_insert_mut_ref(session, Vec::new);
        let spent = now.counts.iter().map(|now| {
            let before = before.iter().find(|before| before.model == now.model);
            before
                .filter(|before| before.total_tokens <= now.total_tokens)
                .map_or_else(|| now.clone(), |before| less(now, before))
        });
        let spent = spent.filter(|spent| spent.total_tokens != Some(0));
        let spent = spent.collect();
        // A model that is not heard of this time keeps its count.
        before.retain(|before| now.counts.iter().all(|now| now.model != before.model));
        before.splice(..0, now.counts);
        before.truncate(MODELS);
        Spent {
            counts: spent,
            // What was told of it is not of this turn alone.
            own: None,
            model: now.model,
        }
    }
}

fn less(now: &TokenUsage, before: &TokenUsage) -> TokenUsage {
    let less = |now: Option<u64>, before: Option<u64>| {
        now.map(|now| now.saturating_sub(before.unwrap_or(0)))
    };
    TokenUsage {
        provider: now.provider.clone(),
        model: now.model.clone(),
        input_tokens: less(now.input_tokens, before.input_tokens),
        output_tokens: less(now.output_tokens, before.output_tokens),
        total_tokens: less(now.total_tokens, before.total_tokens),
        reasoning_tokens: less(now.reasoning_tokens, before.reasoning_tokens),
        cached_input_tokens: less(now.cached_input_tokens, before.cached_input_tokens),
        cache_write_input_tokens: less(
            now.cache_write_input_tokens,
            before.cache_write_input_tokens,
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{super::of_answer, *};

    /// What an answer says if the whole session has spent so much, told by model or not.
    fn says(counts: &[(Option<&str>, u64)]) -> Value {
        let count =
            |spent: &u64| json!({"inputTokens": spent, "outputTokens": 1, "cachedReadTokens": 1});
        match counts {
            [(None, whole)] => json!({"usage": count(whole)}),
            counts => {
                let entry = |(model, spent): &(Option<&str>, u64)| json!({"model": model, "token_count": count(spent)});
                json!({"_meta": {"quota": {"model_usage": counts.iter().map(entry).collect::<Vec<_>>()}}})
            }
        }
    }

    #[test]
    fn counts_that_go_on_are_told_by_turn() {
        const WHOLE: Option<&str> = None;
        let meters = Meters::default();
        for (session, set_to, told, spent, why) in [
            (
                "s",
                "m",
                &[(WHOLE, 22)][..],
                &[("m", 22)][..],
                "the first turn",
            ),
            (
                "other",
                "m",
                &[(WHOLE, 7)],
                &[("m", 7)],
                "sessions are counted apart",
            ),
            ("s", "m", &[(WHOLE, 44)], &[("m", 22)], "the next turn"),
            (
                "s",
                "m",
                &[(WHOLE, 44)],
                &[],
                "a turn that was stopped at once",
            ),
            ("s", "m", &[], &[], "an answer that does not say"),
            (
                "s",
                "m",
                &[(WHOLE, 55)],
                &[("m", 11)],
                "it is no new beginning",
            ),
            (
                "s",
                "n",
                &[(WHOLE, 60)],
                &[("n", 5)],
                "nor is another model",
            ),
            (
                "s",
                "n",
                &[(WHOLE, 11)],
                &[("n", 11)],
                "another process counts from nothing",
            ),
            (
                "by",
                "m",
                &[(Some("a"), 5), (Some("b"), 5)],
                &[("a", 5), ("b", 5)],
                "by model",
            ),
            (
                "by",
                "m",
                &[(Some("a"), 6)],
                &[("a", 1)],
                "one that is at rest",
            ),
            ("by", "m", &[(Some("b"), 8)], &[("b", 3)], "keeps its count"),
        ] {
            let found = meters.since(session, of_answer(&says(told), Some(set_to)));
            let found: Vec<_> = found.into_iter().collect();
            let found: Vec<_> = found
                .iter()
                .map(|it| (it.model.as_deref().unwrap(), it.input_tokens.unwrap()))
                .collect();
            assert_eq!(found, spent, "{why}");
        }
    }

    #[test]
    fn what_an_agent_can_make_the_meters_keep_has_a_bound() {
        let meters = Meters::default();
        let long = "é".repeat(NAME);
        for turn in 0..3 {
            let names: Vec<_> = (0..100).map(|n| format!("{turn} {n} {long}")).collect();
            let counts: Vec<_> = names.iter().map(|name| (Some(&**name), 1)).collect();
            let answer = of_answer(&says(&counts), Some(&long));
            let spent: Vec<_> = meters.since("s", answer.clone()).into_iter().collect();
            assert_eq!(spent.len(), MODELS);
            let fits = |usage: &TokenUsage| usage.model.as_ref().is_some_and(|it| it.len() <= NAME);
            assert!(spent.iter().all(fits));
            assert_eq!(meters.since(&long, answer).into_iter().count(), 0);
        }
        let sessions = meters.before.lock();
        assert_eq!(sessions.len(), 1);
        assert!(sessions.iter().all(|(_, counts)| counts.len() == MODELS));
    }
}
