//! What the phrases bring about: one script each.

use std::time::Duration;

use serde_json::json;

use super::{
    Script,
    phrases::{Asked, word_to_remember},
    turn_number,
};
use crate::{
    deps::{Code, StopReason},
    protocol::{MessageBody, TokenUsage},
};

/// The most words that one turn streams.
const MOST_WORDS: usize = 100_000;

/// The longest silence that can be asked for, and the longest count, in seconds.
const LONGEST: usize = 3_600;

/// How many words a slow answer has, and the time before each: ten minutes in all.
const SLOW: (usize, Duration) = (3_000, Duration::from_millis(200));

/// The time before each number that is counted.
const COUNTED_EVERY: Duration = Duration::from_millis(250);

const WEATHER: &str = "{\"celsius\":18,\"sky\":\"clear\"}";

pub(super) fn hello(_: &Asked<'_>) -> Script {
    Script::new().say("Hello! I am the demo agent. What shall I do?")
}

pub(super) fn two_messages(_: &Asked<'_>) -> Script {
    Script::new()
        .say("This is the first message.")
        .message_end()
        .say("This is the second message.")
}

pub(super) fn nothing(_: &Asked<'_>) -> Script {
    Script::new()
}

pub(super) fn thought(_: &Asked<'_>) -> Script {
    Script::new()
        .think("The person wants to see me think. So I think.")
        .say("I have thought about it.")
}

pub(super) fn tool(_: &Asked<'_>) -> Script {
    weather(Script::new()).say("It is 18 degrees in Paris.")
}

pub(super) fn two_tools(_: &Asked<'_>) -> Script {
    Script::new()
        .open("weather", "get_weather")
        .open("clock", "get_time")
        .args("weather", "{\"city\":")
        .args("clock", "{\"zone\":")
        .args("weather", "\"Paris\"}")
        .args("clock", "\"UTC\"}")
        .close("weather")
        .close("clock")
        .result("clock", "12:00")
        .result("weather", WEATHER)
        .say("It is noon in Paris, and 18 degrees.")
}

pub(super) fn failing_tool(_: &Asked<'_>) -> Script {
    Script::new()
        .open("weather", "get_weather")
        .args("weather", "{\"city\":\"Atlantis\"}")
        .close("weather")
        .failed("weather", "no such city")
        .say("I could not find out.")
}

pub(super) fn slow_tool(_: &Asked<'_>) -> Script {
    Script::new()
        .open("weather", "get_weather")
        .args("weather", "{\"city\":\"Paris\"}")
        .close("weather")
        .pause(Duration::from_mins(1))
        .result("weather", WEATHER)
        .say("It is 18 degrees in Paris, and it took a while.")
}

pub(super) fn bare_tool(_: &Asked<'_>) -> Script {
    Script::new()
        .call("clock", "get_time", [], "12:00")
        .say("It is noon.")
}

pub(super) fn mixed(_: &Asked<'_>) -> Script {
    weather(Script::new().say("First I look at the weather."))
        .say("Now I look at the clock.")
        .call("clock", "get_time", ["{\"zone\":", "\"UTC\"}"], "12:00")
        .say("It is noon in Paris, and 18 degrees.")
}

pub(super) fn late_tool(_: &Asked<'_>) -> Script {
    Script::new()
        .say("I have already looked.")
        .call("weather", "get_weather", ["{\"city\":\"Paris\"}"], WEATHER)
        .say("It is 18 degrees in Paris.")
}

pub(super) fn open_tool(_: &Asked<'_>) -> Script {
    Script::new()
        .say("I call and forget.")
        .open("weather", "get_weather")
        .args("weather", "{\"city\":")
}

pub(super) fn fail_half_way(_: &Asked<'_>) -> Script {
    Script::new().say("This will not end well, because").fail(
        Code::DemoFailure,
        "the demo failed half-way, as it was asked to",
    )
}

pub(super) fn fail_at_once(_: &Asked<'_>) -> Script {
    Script::new().fail(
        Code::DemoFailure,
        "the demo failed at once, as it was asked to",
    )
}

pub(super) fn panic(_: &Asked<'_>) -> Script {
    Script::new()
        .say("Now I panic.")
        .panic("the demo core was asked to panic")
}

pub(super) fn words(asked: &Asked<'_>) -> Script {
    if asked.number > MOST_WORDS {
        return Script::new().say(&format!("I stream at most {MOST_WORDS} words."));
    }
    Script::new().flood(asked.number)
}

pub(super) fn slow(_: &Asked<'_>) -> Script {
    Script::new().words(SLOW.0, SLOW.1)
}

pub(super) fn count(asked: &Asked<'_>) -> Script {
    let numbers = 1..=4 * asked.number.min(LONGEST);
    numbers.fold(Script::new(), |script, number| {
        script.pause(COUNTED_EVERY).say(&format!("{number} "))
    })
}

pub(super) fn unstoppable(asked: &Asked<'_>) -> Script {
    Script::new().ignore_stop().then(slow(asked))
}

pub(super) fn silence(_: &Asked<'_>) -> Script {
    silent(60)
}

pub(super) fn silence_for(asked: &Asked<'_>) -> Script {
    silent(asked.number)
}

pub(super) fn cut(_: &Asked<'_>) -> Script {
    Script::new()
        .say("This answer is cut in the")
        .finish(StopReason::MaxTokens)
}

pub(super) fn refusal(_: &Asked<'_>) -> Script {
    Script::new()
        .say("I would rather not.")
        .finish(StopReason::Refusal)
}

pub(super) fn notice(_: &Asked<'_>) -> Script {
    Script::new()
        .say("There is")
        .notice("notice", json!({"message": "this is a notice"}))
        .say(" a notice.")
}

pub(super) fn usage(_: &Asked<'_>) -> Script {
    Script::new().say("I count my tokens.").usage(TokenUsage {
        provider: Some("demo".into()),
        model: Some("phrase-book".into()),
        input_tokens: Some(12),
        output_tokens: Some(5),
        total_tokens: Some(17),
        ..TokenUsage::default()
    })
}

pub(super) fn echo_prompt(asked: &Asked<'_>) -> Script {
    let prompt = &asked.request.prompt;
    let text = asked.request.context_block() + &prompt.text();
    let media = if prompt.has_media() {
        " (and what is not text)"
    } else {
        ""
    };
    Script::new().say(&(text + media))
}

pub(super) fn echo_state(asked: &Asked<'_>) -> Script {
    Script::new().say(&match &asked.request.input.state {
        Some(state) => state.to_string(),
        None => "There is no state.".into(),
    })
}

pub(super) fn echo_context(asked: &Asked<'_>) -> Script {
    let context = asked.request.context_block();
    Script::new().say(if context.is_empty() {
        "There is no context."
    } else {
        context.trim_end()
    })
}

pub(super) fn how_often(asked: &Asked<'_>) -> Script {
    let turn = turn_number(asked.request);
    Script::new().say(&format!("This is turn {turn} of the session."))
}

pub(super) fn remember(asked: &Asked<'_>) -> Script {
    let prompt = asked.request.prompt.text();
    Script::new().say(&match word_to_remember(&prompt) {
        Some(word) => format!("I will remember {word}."),
        None => "Tell me which word.".into(),
    })
}

pub(super) fn which_word(asked: &Asked<'_>) -> Script {
    let said = asked.request.history.iter().rev();
    let mut prompts = said.filter_map(|message| match &message.body {
        MessageBody::User { content, .. } => Some(content.text()),
        _ => None,
    });
    let word = prompts.find_map(|prompt| word_to_remember(&prompt).map(str::to_owned));
    Script::new().say(&match word {
        Some(word) => format!("The word is {word}."),
        None => "I was told no word.".into(),
    })
}

fn weather(script: Script) -> Script {
    let fragments = ["{\"city\":", "\"Par", "is\"}"];
    script.call("weather", "get_weather", fragments, WEATHER)
}

fn silent(seconds: usize) -> Script {
    let seconds = u64::try_from(seconds.min(LONGEST)).expect("an hour fits");
    Script::new()
        .pause(Duration::from_secs(seconds))
        .say("Here I am again.")
}
