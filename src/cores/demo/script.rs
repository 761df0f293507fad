//! Scripts as values: what a turn of the demo core does, step by step.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::Wait;
use crate::{
    deps::{
        Code, ContextUpdate, CoreEvent, Model, PermissionRequest, Question, StopReason,
        SubAgentUpdate, Todo,
    },
    protocol::{Content, TokenUsage},
};

/// One thing that a script does.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Says what happened.
    Emit(CoreEvent),
    /// Says so many words as text, one at a time.
    Words {
        /// How many.
        count: usize,
        /// How long to wait before each; zero for as fast as the adapter takes them.
        every: Duration,
    },
    /// Does nothing for so long.
    Pause(Duration),
    /// Waits for all of these at once, then says as text, a line each, what became of them. Later steps know nothing
    /// of that.
    Wait(Vec<Wait>),
    /// Does not heed a stop from here on.
    IgnoreStop,
    /// Waits until the turn is to stop; what follows is played after that.
    AwaitStop,
    /// Ends the turn with a failure.
    Fail {
        /// The code.
        code: Code,
        /// What clients read.
        message: String,
    },
    /// Panics with this message.
    Panic(String),
    /// Ends the turn.
    Finish(StopReason),
}

/// What a turn does. A script that runs out of steps ends the turn with [`StopReason::EndTurn`].
///
/// Nothing checks that the steps make sense together: a test may open a call twice or answer one that
/// was never opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    steps: Vec<Step>,
}

impl FromIterator<Step> for Script {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self {
            steps: steps.into_iter().collect(),
        }
    }
}

impl IntoIterator for Script {
    type Item = Step;
    type IntoIter = std::vec::IntoIter<Step>;

    fn into_iter(self) -> Self::IntoIter {
        self.steps.into_iter()
    }
}

impl Script {
    /// A script without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds the steps of another script.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self
    }

    /// Says what happened.
    #[must_use]
    pub fn emit(self, event: CoreEvent) -> Self {
        self.step(Step::Emit(event))
    }

    /// Says text in exactly these deltas.
    #[must_use]
    pub fn deltas<'a>(self, deltas: impl IntoIterator<Item = &'a str>) -> Self {
        deltas.into_iter().fold(self, |script, delta| {
            script.emit(CoreEvent::Text(delta.into()))
        })
    }

    /// Says text word by word.
    #[must_use]
    pub fn say(self, text: &str) -> Self {
        self.deltas(text.split_inclusive(' '))
    }

    /// Thinks word by word.
    #[must_use]
    pub fn think(self, text: &str) -> Self {
        text.split_inclusive(' ').fold(self, |script, delta| {
            script.emit(CoreEvent::Reasoning(delta.into()))
        })
    }

    /// Ends the message that is being said or thought.
    #[must_use]
    pub fn message_end(self) -> Self {
        self.emit(CoreEvent::MessageEnd)
    }

    /// Opens a call.
    #[must_use]
    pub fn open(self, call: &str, name: &str) -> Self {
        self.emit(CoreEvent::ToolCallOpened {
            call: call.into(),
            name: name.into(),
        })
    }

    /// Adds to a call's arguments.
    #[must_use]
    pub fn args(self, call: &str, fragment: &str) -> Self {
        self.emit(CoreEvent::ToolCallArguments {
            call: call.into(),
            fragment: fragment.into(),
        })
    }

    /// Closes a call's arguments.
    #[must_use]
    pub fn close(self, call: &str) -> Self {
        self.emit(CoreEvent::ToolCallClosed { call: call.into() })
    }

    /// Answers a call.
    #[must_use]
    pub fn result(self, call: &str, content: &str) -> Self {
        self.emit(result(call, content, false))
    }

    /// Answers a call with a failure.
    #[must_use]
    pub fn failed(self, call: &str, content: &str) -> Self {
        self.emit(result(call, content, true))
    }

    /// A whole call: opened, its arguments in these fragments, closed, answered.
    #[must_use]
    pub fn call<'a>(
        self,
        call: &str,
        name: &str,
        fragments: impl IntoIterator<Item = &'a str>,
        content: &str,
    ) -> Self {
        fragments
            .into_iter()
            .fold(self.open(call, name), |script, fragment| {
                script.args(call, fragment)
            })
            .close(call)
            .result(call, content)
    }

    /// Says which model answers.
    #[must_use]
    pub fn model(self, model: Model) -> Self {
        self.emit(CoreEvent::Model(model.into()))
    }

    /// Reports tokens.
    #[must_use]
    pub fn usage(self, usage: TokenUsage) -> Self {
        self.emit(CoreEvent::Usage(usage.into()))
    }

    /// Says what is to be done: the whole of it.
    #[must_use]
    pub fn todos(self, todos: Vec<Todo>) -> Self {
        self.emit(CoreEvent::Todos(todos))
    }

    /// Says how full the context is.
    #[must_use]
    pub fn context(self, update: ContextUpdate) -> Self {
        self.emit(CoreEvent::Context(update.into()))
    }

    /// Shows what a call changes in a file.
    #[must_use]
    pub fn diff(self, call: &str, path: &str, before: &str, after: &str) -> Self {
        let shown = [("path", path), ("oldText", before), ("newText", after)];
        let shown = shown.map(|(name, text)| (name.to_owned(), json!(text)));
        self.emit(CoreEvent::Diff {
            call: call.into(),
            path: path.into(),
            content: shown.into_iter().collect(),
        })
    }

    /// Says something of a sub-agent.
    #[must_use]
    pub fn sub_agent(self, update: SubAgentUpdate) -> Self {
        self.emit(CoreEvent::SubAgent(update.into()))
    }

    /// Has a sub-agent say what another script says with [`Step::Emit`]; all its other steps are the turn's own.
    #[must_use]
    pub fn within(self, sub_agent: &str, script: Self) -> Self {
        let sub_agent: Arc<str> = sub_agent.into();
        let steps = script.into_iter().map(|step| match step {
            Step::Emit(event) => Step::Emit(CoreEvent::Within {
                sub_agent: Arc::clone(&sub_agent),
                event: event.into(),
            }),
            other => other,
        });
        self.then(steps.collect())
    }

    /// Gives a notice.
    #[must_use]
    pub fn notice(self, name: &str, value: Value) -> Self {
        self.emit(CoreEvent::notice(name, value))
    }

    /// Says so many words, one delta each, as fast as they are taken.
    #[must_use]
    pub fn flood(self, count: usize) -> Self {
        self.words(count, Duration::ZERO)
    }

    /// Says so many words, one delta each, waiting before each.
    #[must_use]
    pub fn words(self, count: usize, every: Duration) -> Self {
        self.step(Step::Words { count, every })
    }

    /// Does nothing for so long.
    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.step(Step::Pause(time))
    }

    /// Calls a tool of the page, and says what became of it: `NAME: text`, `NAME failed: text`, or
    /// `NAME: not executed: …`.
    #[must_use]
    pub fn call_page(self, name: &str, arguments: Value) -> Self {
        self.together(vec![Wait::page(name, arguments)])
    }

    /// Asks for permission, and says what became of it: `TOOL: allowed (option)`, `TOOL: denied (option, why)`, or
    /// `TOOL: denied (why)`. The call that waits for it is opened before and answered after, with `written` or
    /// `permission denied`.
    #[must_use]
    pub fn permission(self, request: PermissionRequest) -> Self {
        self.together(vec![Wait::permission(request)])
    }

    /// Asks the person, and says the answer as a model reads it, or `no answer (why)`. The call that asks is opened
    /// before and answered after.
    #[must_use]
    pub fn ask(self, question: Question) -> Self {
        self.together(vec![Wait::Question(question)])
    }

    /// Waits for all of these at once, and says in their order what became of them.
    #[must_use]
    pub fn together(self, waits: Vec<Wait>) -> Self {
        self.step(Step::Wait(waits))
    }

    /// Does not heed a stop from here on.
    #[must_use]
    pub fn ignore_stop(self) -> Self {
        self.step(Step::IgnoreStop)
    }

    /// Waits until the turn is to stop; what follows is played after that.
    #[must_use]
    pub fn await_stop(self) -> Self {
        self.step(Step::AwaitStop)
    }

    /// Ends the turn with a failure.
    #[must_use]
    pub fn fail(self, code: Code, message: &str) -> Self {
        self.step(Step::Fail {
            code,
            message: message.into(),
        })
    }

    /// Panics.
    #[must_use]
    pub fn panic(self, message: &str) -> Self {
        self.step(Step::Panic(message.into()))
    }

    /// Ends the turn.
    #[must_use]
    pub fn finish(self, reason: StopReason) -> Self {
        self.step(Step::Finish(reason))
    }
}

fn result(call: &str, content: &str, failed: bool) -> CoreEvent {
    CoreEvent::ToolCallResult {
        call: Arc::from(call),
        content: Content::Text(content.into()),
        failed,
    }
}
