//! What the phrases bring about that shows in the state document, as an agent at work makes it: one script each.

use serde_json::{Value, json};

use super::{Script, phrases::Asked, wait::to_write};
use crate::{
    cores::traffic::Traffic,
    deps::{
        About, ContextUpdate, SubAgentStatus, SubAgentUpdate, Todo, TodoPriority, TodoStatus,
        Tokens,
    },
};

/// What a plan is made of.
const TASKS: [(&str, TodoPriority); 3] = [
    ("Look at the page", TodoPriority::High),
    ("Change the title", TodoPriority::Medium),
    ("Say what has changed", TodoPriority::Low),
];

const HELPER: &str = "helper-1";

/// An agent whose calls are looked at for what they say of its work, as those of a real one are.
struct Work {
    script: Script,
    traffic: Traffic,
}

impl Work {
    fn new(script: Script) -> Self {
        let traffic = Traffic::new("");
        Self { script, traffic }
    }

    /// A whole call with its answer.
    fn call(self, call: &str, tool: &str, input: &Value, output: &str) -> Self {
        self.opened(call, tool, input)
            .answered(call, output, &Value::Null)
    }

    fn opened(mut self, call: &str, tool: &str, input: &Value) -> Self {
        let events = self.traffic.called(&call.into(), tool, input);
        let opened = self.script.open(call, tool).args(call, &input.to_string());
        self.script = events.into_iter().fold(opened.close(call), Script::emit);
        self
    }

    /// Answers a call, with something beside the text.
    fn answered(mut self, call: &str, output: &str, metadata: &Value) -> Self {
        let events = self.traffic.answered(&call.into(), output, metadata, false);
        let answered = self.script.result(call, output);
        self.script = events.into_iter().fold(answered, Script::emit);
        self
    }

    fn failed(mut self, call: &str, output: &str) -> Self {
        let events = self
            .traffic
            .answered(&call.into(), output, &Value::Null, true);
        let failed = self.script.failed(call, output);
        self.script = events.into_iter().fold(failed, Script::emit);
        self
    }

    fn say(mut self, text: &str) -> Self {
        self.script = self.script.say(text);
        self
    }
}

pub(super) fn plan(_: &Asked<'_>) -> Script {
    let todos = |begun: usize| {
        let tasks = TASKS.into_iter().enumerate();
        let todo = |(at, (content, priority)): (usize, (&str, TodoPriority))| Todo {
            content: content.into(),
            status: match at + 1 {
                at if at < begun => TodoStatus::Completed,
                at if at == begun => TodoStatus::InProgress,
                _ => TodoStatus::Pending,
            },
            priority,
        };
        tasks.map(todo).collect()
    };
    let script = Script::new().say("I make a plan.\n").todos(todos(0));
    let script = TASKS
        .into_iter()
        .zip(1..)
        .fold(script, |script, ((content, _), begun)| {
            script.todos(todos(begun)).say(&format!("{content}.\n"))
        });
    script.todos(todos(TASKS.len() + 1)).say("That is all.")
}

pub(super) fn full_context(_: &Asked<'_>) -> Script {
    Script::new()
        .say("I read a lot, about 18000 tokens.\n")
        .context(ContextUpdate {
            prompt: Some(Tokens::Estimated(18_000)),
            context_window: Some(200_000),
            ..ContextUpdate::default()
        })
        .say("Now I have counted them.")
        .context(ContextUpdate {
            prompt: Some(Tokens::Counted(17_460)),
            completion_tokens: Some(320),
            cache_read_tokens: Some(12_000),
            cache_write_tokens: Some(2_048),
            reasoning_tokens: Some(96),
            cost: Some(0.0417),
            ..ContextUpdate::default()
        })
}

pub(super) fn files(_: &Asked<'_>) -> Script {
    let main = "src/main.rs";
    let (before, after) = ("println!(\"Hello\");", "println!(\"Hello there\");");
    let edit = json!({"file_path": main, "old_string": before, "new_string": after});
    let read = Work::new(Script::new().say("I look around."))
        .call(
            "read-1",
            "view",
            &json!({"file_path": "README.md"}),
            "# The demo",
        )
        .call("read-2", "view", &json!({"file_path": main}), before)
        .opened("read-3", "view", &json!({"file_path": "missing.rs"}))
        .failed("read-3", "no such file");
    let mut edited = read
        .say("I change one of them.")
        .opened("edit-1", "edit", &edit);
    edited.script = edited.script.diff("edit-1", main, before, after);
    edited
        .answered("edit-1", "the file was edited", &Value::Null)
        .say("It greets longer now.")
        .script
}

pub(super) fn helper(_: &Asked<'_>) -> Script {
    let id = "task-0a1b2c3d";
    let asked =
        json!({"prompt": "Look for callers of main.", "engine": "claude", "persona": "reviewer"});
    let which = json!({"task_id": id});
    // In the encoding in which Pando answers.
    let sent = format!(
        "task_id: {id}\nstatus: running\nwork_dir: /srv/demo\ncreated_at: \"2026-01-01T12:00:00Z\""
    );
    let at_work =
        format!("task:\n  id: {id}\n  status: running\n  engine: claude\n  model: sonnet");
    let done = format!(
        "task:\n  id: {id}\n  status: completed\n  engine: claude\n  model: sonnet\n  exit_code: 0\n  conclusion:\n    \
         status: success\n    summary: There are two.\noutput_tail: There are two."
    );
    Work::new(Script::new().say("I send out a helper."))
        .call("spawn-1", "mesnada_spawn_agent", &asked, &sent)
        .call("look-1", "mesnada_get_task", &which, &at_work)
        .say("It is at work.")
        .call("wait-1", "mesnada_wait_task", &which, &done)
        .say("It has found two callers.")
        .script
}

pub(super) fn swarm(_: &Asked<'_>) -> Script {
    let asked = json!({
        "goal": "Review the demo.",
        "workers": [{"prompt": "Review the code.", "engine": "claude"}, {"prompt": "Review the tests.", "engine": "codex"}],
        "verifier": {"engine": "gemini"},
        "synthesizer": {"persona": "writer"},
    });
    let ids = [
        "task-0000000a",
        "task-0000000b",
        "task-0000000c",
        "task-0000000d",
    ];
    let [one, other, verifier, synthesizer] = ids;
    let sent = format!(
        "swarm_id: swarm-1\nworker_ids[2]: {one},{other}\nverifier_id: {verifier}\nsynthesizer_id: {synthesizer}"
    );
    let rows = ids.map(|id| format!("\n  {id},Review.,completed"));
    let done = format!("tasks[4]{{id,prompt,status}}:{}\ntotal: 4", rows.concat());
    Work::new(Script::new().say("I send out a swarm."))
        .call("swarm-1", "mesnada_swarm", &asked, &sent)
        .opened("await-1", "mesnada_await", &json!({"task_ids": ids}))
        .answered(
            "await-1",
            "Await registered for 4 task(s).",
            &json!({"awaited_task_ids": ids, "policy": "all"}),
        )
        .say("I wait for them.")
        .call("list-1", "mesnada_list_tasks", &json!({}), &done)
        .say("All of them are done.")
        .script
}

pub(super) fn delegate(_: &Asked<'_>) -> Script {
    sent_out()
        .then(come_back("The title is fine."))
        .say("My helper says that the title is fine.")
}

pub(super) fn delegate_and_ask(_: &Asked<'_>) -> Script {
    let goes_on = Script::new().say("I go on.");
    sent_out()
        .permission(to_write("write-1", "notes.txt"))
        .within(HELPER, goes_on)
        .then(come_back("The title is fine."))
        .say("That is all.")
}

/// Sends out a helper, which says, thinks and does something.
fn sent_out() -> Script {
    let prompt = "Look at the title.";
    let sent = SubAgentUpdate {
        about: About {
            prompt: Some(prompt.into()),
            persona: Some("reviewer".into()),
            ..About::default()
        },
        call: Some("delegate-1".into()),
        ..SubAgentUpdate::new(HELPER, Some(SubAgentStatus::Running))
    };
    let at_work = Script::new()
        .think("I am to look at the title.")
        .say("I look at it.")
        .call("look-1", "get_title", [], "The demo")
        .say("I have looked at it.");
    Script::new()
        .say("I send out a helper.")
        .open("delegate-1", "delegate")
        .args("delegate-1", &json!({"prompt": prompt}).to_string())
        .close("delegate-1")
        .sub_agent(sent)
        .within(HELPER, at_work)
}

/// Has the helper be done, with this to say.
fn come_back(summary: &str) -> Script {
    let done = SubAgentUpdate {
        about: About {
            summary: Some(summary.into()),
            ..About::default()
        },
        ..SubAgentUpdate::new(HELPER, Some(SubAgentStatus::Completed))
    };
    Script::new().sub_agent(done).result("delegate-1", summary)
}
