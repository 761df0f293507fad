//! The questions of the tool [`ASK_USER`](crate::deps::ASK_USER), and what a model reads of the answers.
//!
//! Questions are the tool's arguments: `{questions: [{question, header, multiSelect?, options: [{label,
//! description}]}]}`. A client answers with `{answers: [{questionId, header?, selected: [], otherText?}], cancelled?}`,
//! where the first question's id is `q1`, or in words of its own.

use std::{fmt::Write as _, ops::RangeInclusive};

use serde_json::{Value, json};

use crate::protocol::JsonObject;

/// How many questions are asked at once.
const QUESTIONS: RangeInclusive<usize> = 1..=4;

/// How many answers each offers.
const OPTIONS: RangeInclusive<usize> = 2..=4;

/// What the tool does, for the model.
pub const DESCRIPTION: &str = "Asks the person one to four questions and waits for the answers. Each question has \
     two to four options to choose from; the person can always answer in other words instead. Use it when a choice \
     is the person's to make.";

/// What a model is told when it has no answer of the person's.
pub const CANCELLED: &str = "user cancelled the question";

/// The schema of the tool's arguments (JSON Schema).
pub fn schema() -> JsonObject {
    let text = |about: &str| json!({"type": "string", "description": about});
    let option = json!({
        "type": "object",
        "properties": {
            "label": text("What the person reads and chooses"),
            "description": text("What choosing it means"),
        },
        "required": ["label", "description"],
    });
    let question = json!({
        "type": "object",
        "properties": {
            "question": text("The whole question"),
            "header": text("A label for it, of 12 characters at most"),
            "multiSelect": {
                "type": "boolean",
                "default": false,
                "description": "Whether more than one option can be chosen",
            },
            "options": {"type": "array", "minItems": 2, "maxItems": 4, "items": option},
        },
        "required": ["question", "header", "options"],
    });
    let questions = json!({"type": "array", "minItems": 1, "maxItems": 4, "items": question});
    JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), json!({"questions": questions})),
        ("required".to_owned(), json!(["questions"])),
    ])
}

/// A line for people that says what is asked.
pub fn message(arguments: &JsonObject) -> String {
    let questions = list(arguments, "questions").iter();
    let texts = questions.filter_map(|question| question["question"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether these can be asked.
///
/// # Errors
/// What is wrong, for the model to mend.
pub fn check(arguments: &JsonObject) -> Result<(), String> {
    let questions = list(arguments, "questions");
    if !QUESTIONS.contains(&questions.len()) {
        return Err("ask 1 to 4 questions".into());
    }
    for (question, number) in questions.iter().zip(1..) {
        for name in ["question", "header"] {
            if is_blank(&question[name]) {
                return Err(format!("question {number} has no {name}"));
            }
        }
        let options = question["options"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        if !OPTIONS.contains(&options.len()) {
            return Err(format!("question {number} needs 2 to 4 options"));
        }
        if options.iter().any(|option| is_blank(&option["label"])) {
            return Err(format!("an option of question {number} has no label"));
        }
    }
    Ok(())
}

/// What the model reads of a reply: a line for each question that was asked, or the person's own words. `None`
/// if the reply gives it up, or says nothing.
pub fn text(questions: &JsonObject, reply: &Value) -> Option<String> {
    // Tools of a page answer in text, which may be JSON.
    if let Value::String(text) = reply {
        return match serde_json::from_str(text) {
            Ok(reply) => said(questions, &reply),
            Err(_) => words(text),
        };
    }
    said(questions, reply)
}

fn said(questions: &JsonObject, reply: &Value) -> Option<String> {
    match reply {
        Value::Null => None,
        Value::Object(reply) if reply.get("cancelled") == Some(&Value::Bool(true)) => None,
        Value::Object(reply) if reply.contains_key("answers") => {
            lines(questions, list(reply, "answers"))
        }
        Value::Object(reply) if reply.is_empty() || reply.contains_key("cancelled") => None,
        Value::Array(answers) => lines(questions, answers),
        Value::String(text) => words(text),
        other => Some(other.to_string()),
    }
}

/// A line for each question; `None` if none of them is answered.
fn lines(questions: &JsonObject, answers: &[Value]) -> Option<String> {
    let mut text = String::new();
    let mut is_answered = false;
    for (index, question) in list(questions, "questions").iter().enumerate() {
        let answer = answer_to(question, index, answers);
        is_answered |= answer.is_some();
        let given = answer.map(given).filter(|given| !given.is_empty());
        let given = given.as_deref().unwrap_or("(no selection)");
        let asked = question["question"].as_str().unwrap_or_default();
        writeln!(text, "{asked}: {given}").expect("a string takes all that is written");
    }
    is_answered.then(|| text.trim_end().to_owned())
}

/// The answer to a question: by its id, else by its header, else the one in the same place, if that names none.
fn answer_to<'a>(question: &Value, index: usize, answers: &'a [Value]) -> Option<&'a Value> {
    let id = format!("q{}", index + 1);
    let by_id = answers
        .iter()
        .find(|answer| answer["questionId"] == id.as_str());
    let by_header = || {
        let header = question["header"].as_str()?;
        let is_it = |answer: &&Value| answer["questionId"].is_null() && answer["header"] == header;
        answers.iter().find(is_it)
    };
    let by_place = || {
        let nameless = |it: &&Value| it["questionId"].is_null() && it["header"].is_null();
        answers.get(index).filter(nameless)
    };
    by_id.or_else(by_header).or_else(by_place)
}

/// What was selected, and said besides.
fn given(answer: &Value) -> String {
    let selected: Vec<&str> = match &answer["selected"] {
        Value::Array(labels) => labels.iter().filter_map(Value::as_str).collect(),
        Value::String(label) => vec![label],
        // An answer that is nothing but a label.
        _ => answer.as_str().into_iter().collect(),
    };
    let selected = selected.into_iter().map(str::to_owned);
    let other = answer["otherText"].as_str().and_then(words);
    let other = other.map(|text| format!("Other: {text}"));
    let all = selected
        .filter(|label| !label.trim().is_empty())
        .chain(other);
    all.collect::<Vec<_>>().join(", ")
}

fn words(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.trim().is_empty())
}

fn list<'a>(object: &'a JsonObject, name: &str) -> &'a [Value] {
    let list = object.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> JsonObject {
        let option = |label: &str| json!({"label": label, "description": ""});
        let asked = json!({"questions": [
            {"question": "Which colour?", "header": "Colour", "options": [option("Red"), option("Blue")]},
            {"question": "Which sizes?", "header": "Sizes", "multiSelect": true,
                "options": [option("S"), option("M"), option("L")]},
        ]});
        asked.as_object().cloned().unwrap()
    }

    #[test]
    fn r100_answers_become_a_line_for_each_question() {
        for (reply, expected) in [
            (
                json!({"answers": [
                    {"questionId": "q2", "selected": ["S", "L"], "otherText": "and one more"},
                    {"questionId": "q1", "header": "Colour", "selected": ["Red"]},
                ]}),
                "Which colour?: Red\nWhich sizes?: S, L, Other: and one more",
            ),
            (
                json!({"answers": [{"header": "Sizes", "selected": "M"}]}),
                "Which colour?: (no selection)\nWhich sizes?: M",
            ),
            (
                json!({"answers": [{"selected": []}, {"otherText": "none"}], "cancelled": false}),
                "Which colour?: (no selection)\nWhich sizes?: Other: none",
            ),
            (json!(["Blue", "M"]), "Which colour?: Blue\nWhich sizes?: M"),
        ] {
            let said = text(&questions(), &reply);
            assert_eq!(said.as_deref(), Some(expected), "{reply}");
            let said = text(&questions(), &Value::String(reply.to_string()));
            assert_eq!(said.as_deref(), Some(expected), "{reply} as text");
        }
    }

    #[test]
    fn r100_words_of_the_persons_own_are_passed_on() {
        for (reply, expected) in [
            (json!(" red, please\n"), "red, please"),
            (json!("\"red\""), "red"),
            (json!({"colour": "red"}), r#"{"colour":"red"}"#),
            (json!(false), "false"),
            (json!(0), "0"),
        ] {
            let said = text(&questions(), &reply);
            assert_eq!(said.as_deref(), Some(expected), "{reply}");
        }
    }

    #[test]
    fn r100_what_gives_up_or_says_nothing_is_no_answer() {
        for reply in [
            json!(null),
            json!(""),
            json!("  "),
            json!("\"\""),
            json!({}),
            json!([]),
            json!({"cancelled": true}),
            json!({"cancelled": false}),
            json!({"cancelled": true, "answers": [{"questionId": "q1", "selected": ["Red"]}]}),
            json!({"answers": []}),
            json!({"answers": "none"}),
            json!({"answers": [{"questionId": "q9", "selected": ["Red"]}]}),
            json!("{\"cancelled\":true}"),
        ] {
            assert_eq!(text(&questions(), &reply), None, "{reply}");
        }
    }

    type Change = fn(&mut Value);

    #[test]
    fn what_cannot_be_asked_is_told_to_the_model() {
        assert_eq!(check(&questions()), Ok(()));
        let cases: [(Change, &str); 7] = [
            (|asked| *asked = json!({}), "ask 1 to 4 questions"),
            (
                |asked| asked["questions"] = json!([]),
                "ask 1 to 4 questions",
            ),
            (
                |asked| {
                    let one = asked["questions"][0].clone();
                    asked["questions"] = json!([one, one, one, one, one]);
                },
                "ask 1 to 4 questions",
            ),
            (
                |asked| asked["questions"][1]["question"] = json!(" "),
                "question 2 has no question",
            ),
            (
                |asked| asked["questions"][0]["header"] = json!(null),
                "question 1 has no header",
            ),
            (
                |asked| asked["questions"][0]["options"] = json!([{"label": "one"}]),
                "question 1 needs 2 to 4 options",
            ),
            (
                |asked| asked["questions"][1]["options"][2]["label"] = json!(""),
                "an option of question 2 has no label",
            ),
        ];
        for (change, why) in cases {
            let mut asked = Value::Object(questions());
            change(&mut asked);
            assert_eq!(check(asked.as_object().unwrap()), Err(why.into()));
        }
    }
}
