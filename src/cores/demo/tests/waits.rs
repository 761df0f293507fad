//! Scripts that wait, with the test in the adapter's place.

use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::{
    cores::demo::{Wait, age, to_write, two_questions},
    deps::{Ask, Denial, Form, Permission, Reply, ToolAnswer, Unanswered},
    protocol::Tool,
};

/// What a turn says, in short: `open write_file`, `args …`, `close`, `result …`, `failed …`, or the text itself; and
/// for what it waits, `? openRecord`.
type Seen = Vec<String>;

fn tool(name: &str) -> Tool {
    Tool {
        name: name.into(),
        description: String::new(),
        parameters: None,
        metadata: None,
    }
}

fn short(event: CoreEvent) -> String {
    match event {
        CoreEvent::Text(text) => text,
        CoreEvent::ToolCallOpened { call, name } => format!("open {call} {name}"),
        CoreEvent::ToolCallArguments { call, fragment } => format!("args {call} {fragment}"),
        CoreEvent::ToolCallClosed { call } => format!("close {call}"),
        CoreEvent::ToolCallResult {
            call,
            content,
            failed,
        } => {
            let word = if failed { "failed" } else { "result" };
            format!("{word} {call} {}", content.text())
        }
        other => panic!("{other:?}"),
    }
}

fn asked_for(ask: &Ask) -> String {
    match ask {
        Ask::Tool(call, _) => format!("? {} {}", call.name, call.arguments),
        Ask::Permission(request, _) => format!("? {:?} {}", request.call, request.title),
        Ask::Question(question, _) => format!("? {}", question.message),
    }
}

/// Plays a turn on a page that has these tools. What is asked is answered once so many things are.
async fn play(
    demo: &Demo,
    prompt: &str,
    tools: &[&str],
    at_once: usize,
    mut answer: impl FnMut(Ask),
) -> Seen {
    let (_page, tools) = watch::channel(tools.iter().map(|name| tool(name)).collect());
    let (io, mut inbox) = TurnIo::with_tools(1, CancellationToken::new(), tools);
    let watching = async {
        let mut seen = Vec::new();
        let mut open = Vec::new();
        while let Some(signal) = inbox.recv().await {
            match signal {
                Signal::Event(event) => seen.push(short(event)),
                Signal::Ask(ask) => {
                    seen.push(asked_for(&ask));
                    open.push(ask);
                }
                _ => {}
            }
            if open.len() == at_once {
                open.drain(..).for_each(&mut answer);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        seen
    };
    let (outcome, seen) = tokio::join!(demo.turn(request(prompt), io), watching);
    assert_eq!(outcome.unwrap(), StopReason::EndTurn);
    seen
}

/// The page does what it is asked, a person says yes and answers.
fn willing(ask: Ask) {
    match ask {
        Ask::Tool(call, answer) => {
            let content = Content::Text(format!("did {}", call.name));
            let failed = false;
            let _ = answer.send(ToolAnswer::Answered { content, failed });
        }
        Ask::Permission(request, answer) => {
            let yes = request.option(true).unwrap().id.clone();
            let _ = answer.send(Permission::Allowed(yes));
        }
        Ask::Question(question, answer) => {
            let reply = match question.form {
                Form::Choices(_) => json!({"answers": [
                    {"questionId": "q1", "selected": ["Red"]},
                    {"questionId": "q2", "selected": ["Pears", "Plums"], "otherText": "and figs"},
                ]}),
                Form::Fields(_) => json!({"age": 42}),
            };
            let _ = answer.send(Reply::Answered(reply));
        }
    }
}

#[tokio::test]
async fn each_phrase_asks_what_it_says_and_tells_what_came_of_it() {
    for (prompt, at_once, end) in [
        (
            "open record 42",
            1,
            &[r#"? openRecord {"id":42}"#, "openRecord: did openRecord\n"][..],
        ),
        (
            "call the page's tools",
            1,
            &[
                "? a {}",
                "a: did a\n",
                "? b {}",
                "b: did b\n",
                "? c {}",
                "c: did c\n",
            ],
        ),
        (
            "call two page tools at once",
            2,
            &["? a {}", "? b {}", "a: did a\n", "b: did b\n"],
        ),
        (
            "ask two permissions at once",
            2,
            &[
                "? Some(\"write-1\") Write notes.txt",
                "? Some(\"write-2\") Write more.txt",
                "result write-1 written",
                "write_file: allowed (once)\n",
                "result write-2 written",
                "write_file: allowed (once)\n",
            ],
        ),
        (
            "ask permission and a page tool at once",
            2,
            &[
                "close write-1",
                "? Some(\"write-1\") Write notes.txt",
                "? a {}",
                "result write-1 written",
                "write_file: allowed (once)\n",
                "a: did a\n",
            ],
        ),
        (
            "ask me",
            1,
            &[
                "? The demo has two questions.",
                "result ask-1 Which colour do you like?: Red\nWhich fruits do you eat?: Pears, Plums, Other: and figs",
                "Which colour do you like?: Red\nWhich fruits do you eat?: Pears, Plums, Other: and figs\n",
            ],
        ),
        (
            "ask for an age",
            1,
            &["? How old are you?", "{\"age\":42}\n"],
        ),
    ] {
        let tools = ["a", "AskUserQuestion", "b", "c"];
        let seen = play(&Demo::new(), prompt, &tools, at_once, willing).await;
        assert_eq!(seen[seen.len() - end.len()..], *end, "{prompt}: {seen:#?}");
    }
}

#[tokio::test]
async fn a_page_with_one_tool_has_it_called_twice_at_once_and_one_without_none() {
    let twice = play(
        &Demo::new(),
        "call two page tools at once",
        &["a"],
        2,
        willing,
    )
    .await;
    assert_eq!(twice, ["? a {}", "? a {}", "a: did a\n", "a: did a\n"]);
    for prompt in ["call two page tools at once", "call the page's tools"] {
        let none = play(&Demo::new(), prompt, &[], 1, willing).await;
        assert_eq!(none.concat(), "The page has no tools.", "{prompt}");
    }
}

#[tokio::test]
async fn a_call_that_needs_permission_is_shown_before_it_is_asked_and_answered_after() {
    let seen = play(&Demo::new(), "ask permission", &[], 1, willing).await;
    let from = seen.iter().position(|it| it.starts_with("open")).unwrap();
    assert_eq!(
        seen[from..from + 6],
        [
            "open write-1 write_file",
            r#"args write-1 {"path":"notes.txt","content":"Hello.\n"}"#,
            "close write-1",
            "? Some(\"write-1\") Write notes.txt",
            "result write-1 written",
            "write_file: allowed (once)\n",
        ]
    );
    assert_eq!(seen[from + 6..].concat(), "That is all.");

    let mut answers = vec![Denial::Said, Denial::Unanswered(Unanswered::TimedOut)];
    let seen = play(
        &Demo::new(),
        "ask permission, then another",
        &[],
        1,
        |ask| {
            let Ask::Permission(request, answer) = ask else {
                panic!("{ask:?}");
            };
            let no = request.option(false).map(|option| option.id.clone());
            let why = answers.remove(0);
            let no = no.filter(|_| why == Denial::Said);
            let _ = answer.send(Permission::Denied(no, why));
        },
    )
    .await;
    for said in [
        "failed write-1 permission denied",
        "write_file: denied (reject, said)\n",
        "failed write-2 permission denied",
        "write_file: denied (timed_out)\n",
    ] {
        assert!(seen.iter().any(|it| it == said), "{said}: {seen:#?}");
    }
}

#[tokio::test]
async fn whatever_becomes_of_it_is_said() {
    let one = |wait: Wait| Demo::playing(Script::new().together(vec![wait]));
    let page = || one(Wait::page("draw", json!({"x": 1})));
    for (answer, said) in [
        (
            ToolAnswer::Answered {
                content: Content::Text("no ink".into()),
                failed: true,
            },
            "draw failed: no ink\n",
        ),
        (
            ToolAnswer::Unanswered(Unanswered::Nobody),
            "draw: not executed: the page does not have this tool now\n",
        ),
        (
            ToolAnswer::Unanswered(Unanswered::PassedOver),
            "draw: not executed: the person went on without it\n",
        ),
    ] {
        let seen = play(&page(), "", &[], 1, |ask| match ask {
            Ask::Tool(call, reply) => {
                assert_eq!(&*call.call, "page-1");
                let _ = reply.send(answer.clone());
            }
            other => panic!("{other:?}"),
        })
        .await;
        assert_eq!(seen.last().unwrap(), said);
    }
    let asked = |question| one(Wait::Question(question));
    let timed_out = || Reply::Unanswered(Unanswered::TimedOut);
    let cancelled = || Reply::Answered(json!({"cancelled": true}));
    let result = "failed a user cancelled the question";
    for (demo, reply, seen) in [
        (
            asked(two_questions("a")),
            timed_out(),
            vec![result, "no answer (timed_out)\n"],
        ),
        (
            asked(two_questions("a")),
            cancelled(),
            vec![result, "no answer (given_up)\n"],
        ),
        (asked(age()), timed_out(), vec!["no answer (timed_out)\n"]),
        (
            asked(age()),
            Reply::Answered(Value::String("old".into())),
            vec!["? How old are you?", "\"old\"\n"],
        ),
    ] {
        let all = play(&demo, "", &[], 1, |ask| match ask {
            Ask::Question(_, answer) => _ = answer.send(reply.clone()),
            other => panic!("{other:?}"),
        })
        .await;
        assert_eq!(all[all.len() - seen.len()..], seen);
    }
}

#[tokio::test]
async fn what_is_waited_for_together_is_told_in_its_order_whoever_answers_first() {
    let script = Script::new()
        .together(vec![
            Wait::page("a", json!({})),
            Wait::permission(to_write("w", "x")),
            Wait::page("b", json!({})),
        ])
        .call_page("c", json!([]));
    let mut open = Vec::new();
    let seen = play(&Demo::playing(script), "", &[], 1, |ask| {
        open.push(ask);
        if open.len() == 3 {
            open.drain(..).rev().for_each(willing);
        } else if matches!(&open[..], [Ask::Tool(call, _)] if call.name == "c") {
            assert!(matches!(&open[0], Ask::Tool(call, _) if &*call.call == "page-3"));
            willing(open.remove(0));
        }
    })
    .await;
    let said: Vec<_> = seen.iter().filter(|it| it.ends_with('\n')).collect();
    assert_eq!(
        said,
        [
            "a: did a\n",
            "write_file: allowed (once)\n",
            "b: did b\n",
            "c: did c\n"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_whatever_is_waited_for_at_once() {
    for prompt in [
        "open record 1",
        "ask me",
        "ask for an age",
        "ask permission",
        "ask two permissions at once",
        "ask permission and a page tool at once",
    ] {
        let mut live = live(&Demo::new(), prompt);
        let ask = loop {
            if let Signal::Ask(ask) = live.inbox.recv().await.unwrap() {
                break ask;
            }
        };
        live.stop.cancel();
        assert_eq!(live.end().await.unwrap(), StopReason::Cancelled, "{prompt}");
        drop(ask);
    }
}
