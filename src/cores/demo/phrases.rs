//! The phrase book: what the demo core can be asked, in plain words.

use std::fmt::Write as _;

use super::{Script, plays, prompts, working};
use crate::{deps::TurnRequest, protocol::Tool};

/// What was asked.
pub(super) struct Asked<'a> {
    /// The turn.
    pub(super) request: &'a TurnRequest,
    /// The tools that the page has.
    pub(super) tools: &'a [Tool],
    /// What stands for the phrase's `N`; zero without one.
    pub(super) number: usize,
}

/// A row of the book: the words, what they bring about, and how. `N` stands for any number.
struct Phrase(&'static str, &'static str, fn(&Asked<'_>) -> Script);

/// The book. The first row whose words are found in a prompt holds, so what begins another row's
/// words stands after it.
const BOOK: &[Phrase] = &[
    Phrase("say hello", "a short text", plays::hello),
    Phrase("say two things", "two messages", plays::two_messages),
    Phrase("say nothing", "an empty answer", plays::nothing),
    Phrase("think first", "reasoning, then a text", plays::thought),
    Phrase("use two tools at once", "parallel calls", plays::two_tools),
    Phrase(
        "use a tool that fails",
        "a failed call",
        plays::failing_tool,
    ),
    Phrase(
        "use a slow tool",
        "a call that takes a minute",
        plays::slow_tool,
    ),
    Phrase("use a tool", "a call, its result, a text", plays::tool),
    Phrase("call a tool without arguments", "a call", plays::bare_tool),
    Phrase("text, tool, text", "two calls amid texts", plays::mixed),
    Phrase(
        "report a tool late",
        "a call that is over",
        plays::late_tool,
    ),
    Phrase("forget a tool", "a call without result", plays::open_tool),
    Phrase(
        "fail half-way",
        "a text, then a failure",
        plays::fail_half_way,
    ),
    Phrase("fail at once", "a failure", plays::fail_at_once),
    Phrase("panic", "a core that panics", plays::panic),
    Phrase("stream N words", "so many deltas", plays::words),
    Phrase("be slow", "a word every 200 ms", plays::slow),
    Phrase(
        "count slowly for N seconds",
        "four numbers a second",
        plays::count,
    ),
    Phrase("ignore stop", "the same, unstoppable", plays::unstoppable),
    Phrase("be silent for N seconds", "silence", plays::silence_for),
    Phrase("be silent", "silence for a minute", plays::silence),
    Phrase("stop early", "the length limit is hit", plays::cut),
    Phrase("refuse", "a refusal", plays::refusal),
    Phrase("notice", "a notice amid a text", plays::notice),
    Phrase("report usage", "token counts", plays::usage),
    Phrase(
        "make a plan",
        "three todos that are done one after the other",
        working::plan,
    ),
    Phrase(
        "fill the context",
        "tokens, estimated and then counted",
        working::full_context,
    ),
    Phrase(
        "touch files",
        "two are read, one of them is changed",
        working::files,
    ),
    Phrase(
        "send out a helper",
        "a task of mesnada, up to its end",
        working::helper,
    ),
    Phrase(
        "send out a swarm",
        "four tasks of mesnada that are awaited",
        working::swarm,
    ),
    Phrase(
        "delegate and ask",
        "a sub-agent, and a permission while it works",
        working::delegate_and_ask,
    ),
    Phrase(
        "delegate",
        "a sub-agent that says, thinks and calls something",
        working::delegate,
    ),
    Phrase(
        "open record N",
        "the page's tool openRecord",
        prompts::record,
    ),
    Phrase(
        "call the page's tools",
        "each of them, one after the other",
        prompts::every_page_tool,
    ),
    Phrase(
        "call two page tools at once",
        "two pending calls in one run",
        prompts::two_page_tools,
    ),
    Phrase(
        "ask permission and a page tool at once",
        "both pending",
        prompts::permission_and_page_tool,
    ),
    Phrase(
        "ask permission, then another",
        "one after the other",
        prompts::permission_twice,
    ),
    Phrase(
        "ask two permissions at once",
        "both pending",
        prompts::two_permissions,
    ),
    Phrase(
        "ask permission",
        "a call that waits for a yes",
        prompts::permission,
    ),
    Phrase("ask me", "two questions with options", prompts::questions),
    Phrase("ask for an age", "a form with a number", prompts::age),
    Phrase("echo prompt", "what reached the agent", plays::echo_prompt),
    Phrase("echo state", "the page's state", plays::echo_state),
    Phrase("echo context", "the page's context", plays::echo_context),
    Phrase("how often", "which turn this is", plays::how_often),
    Phrase(
        "remember",
        "the word after it is kept in mind",
        plays::remember,
    ),
    Phrase("which word", "the word is said again", plays::which_word),
];

/// What the book makes of a turn's prompt.
pub(super) fn answer(request: &TurnRequest, tools: &[Tool]) -> Script {
    let prompt = request.prompt.text();
    if let Some(rest) = after_prefix(prompt.trim(), "repeat:") {
        return Script::new().say(rest.trim());
    }
    match look_up(&prompt) {
        Some((Phrase(_, _, play), number)) => play(&Asked {
            request,
            tools,
            number,
        }),
        None => Script::new().say(&help()),
    }
}

/// The word that a prompt asks to remember.
pub(super) fn word_to_remember(prompt: &str) -> Option<&str> {
    let mut words = prompt.split_whitespace().map(trimmed);
    words.find(|word| word.eq_ignore_ascii_case("remember"))?;
    words.next().filter(|word| !word.is_empty())
}

/// A word without the punctuation around it.
fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// What follows the prefix, whatever its case.
fn after_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The row that a prompt asks for, with the number in it.
fn look_up(prompt: &str) -> Option<(&'static Phrase, usize)> {
    let asked = words(prompt);
    BOOK.iter()
        .find_map(|phrase| Some((phrase, find(&words(phrase.0), &asked)?)))
}

/// The words of a text, without case and punctuation.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Looks for a phrase within the words that were said; the value is the number in it, zero without.
fn find(phrase: &[String], asked: &[String]) -> Option<usize> {
    let number = |window: &[String]| {
        phrase
            .iter()
            .zip(window)
            .try_fold(0, |number, (wanted, word)| match wanted.as_str() {
                "n" => word.parse().ok(),
                wanted => (wanted == word).then_some(number),
            })
    };
    asked.windows(phrase.len()).find_map(number)
}

fn help() -> String {
    let mut text = String::from("I know these words:\n");
    for Phrase(words, about, _) in BOOK {
        writeln!(text, "- {words}: {about}").expect("a string takes all that is written");
    }
    text + "- repeat: …: what follows the colon"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_book_is_found_by_its_own_words() {
        for phrase in BOOK {
            let prompt = format!("Please {} now!", phrase.0.replace('N', "7"));
            let (found, number) = look_up(&prompt).expect("a row");
            assert_eq!(found.0, phrase.0);
            assert_eq!(number, if phrase.0.contains('N') { 7 } else { 0 });
        }
    }

    #[test]
    fn a_prompt_without_any_of_the_words_finds_nothing() {
        for prompt in [
            "",
            "what is love",
            "sayhello",
            "say, then hello",
            "stream many words",
            "stream 99999999999999999999999 words",
        ] {
            let found = look_up(prompt).map(|(phrase, _)| phrase.0);
            assert_eq!(found, None, "{prompt}");
        }
    }
}
