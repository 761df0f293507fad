//! The calls of our tools in one turn: each waits beside whatever else the agent says, and is answered once the page or
//! the person has answered, or the agent does not want to know any more.

use std::{collections::VecDeque, future::pending, mem, sync::Arc, time::Duration};

use futures_util::{
    StreamExt as _,
    future::{BoxFuture, FutureExt as _, OptionFuture},
    stream::FuturesUnordered,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::warn;

use super::{super::ours::Ours, Talk};
use crate::{
    cores::{
        mcp::{Attendance, Called, Outcome, Place},
        questions,
    },
    deps::{
        ASK_USER, CoreEvent, Form, Gone, Question, Reply, ToolAnswer, ToolCall, TurnIo, Unanswered,
    },
    protocol::{Content, JsonObject, Tool},
};

/// How long an agent has to list its tools before it is prompted. Some do so only once a session is open.
const LISTING: Duration = Duration::from_secs(10);

/// How long a call may wait for what the agent says of it. What it says comes another way, and in its order: the text
/// before the call, then the call. The call itself can be faster, on a busy machine by more than 300 ms (`OpenCode`).
const TELLING: Duration = Duration::from_secs(1);

/// How many calls may wait for that.
const UNTOLD: usize = 16;

/// The calls of our tools, if the session was handed any.
pub(super) struct Calls(Option<Live>);

struct Live {
    place: Arc<Place>,
    attendance: Attendance,
    ours: Ours,
    /// Says when the page has other tools.
    io: TurnIo,
    /// Those of which the agent has not told, each with the end of its wait, the oldest first.
    untold: VecDeque<(Called, Instant)>,
    open: FuturesUnordered<BoxFuture<'static, ()>>,
    is_to_list: bool,
}

/// What happens with tools.
pub(super) enum Event {
    Called(Called),
    /// The page has others.
    Changed(Arc<[Tool]>),
    /// A call has its answer.
    Answered,
    /// A call has waited long enough for what the agent says of it.
    Due,
}

impl Calls {
    /// Takes the calls of a session's tools from now on. With `is_to_list` the agent may not know yet which there are.
    pub(super) fn new(place: Option<Arc<Place>>, is_to_list: bool, io: &TurnIo) -> Self {
        Self(place.map(|place| {
            let mut ours = Ours::new();
            ours.set(&place.names());
            Live {
                attendance: place.attend(),
                ours,
                io: io.clone(),
                untold: VecDeque::new(),
                open: FuturesUnordered::new(),
                is_to_list,
                place,
            }
        }))
    }

    /// Where the tools are.
    pub(super) fn place(&self) -> Option<Arc<Place>> {
        self.0.as_ref().map(|live| Arc::clone(&live.place))
    }

    /// Ends once the agent knows its tools, or has had its time for that; `None` if there is nothing to wait for.
    pub(super) fn listed(&self) -> Option<impl Future<Output = ()> + use<>> {
        let live = self.0.as_ref().filter(|live| live.is_to_list)?;
        let place = Arc::clone(&live.place);
        Some(async move {
            if timeout(LISTING, place.listed()).await.is_err() {
                warn!("the agent has not listed its tools in time, and may not know them");
            }
        })
    }

    /// The names of the tools, if the agent may not know them yet.
    pub(super) fn news(&self) -> Vec<String> {
        let live = self.0.as_ref().filter(|live| live.is_to_list);
        live.map(|live| live.place.names()).unwrap_or_default()
    }

    /// Waits for what happens next; for ever without tools. Cancel-safe.
    pub(super) async fn next(&mut self) -> Event {
        let Some(live) = &mut self.0 else {
            return pending().await;
        };
        let due = live.untold.front().map(|(_, until)| sleep_until(*until));
        tokio::select! {
            biased;
            Some(()) = live.open.next() => Event::Answered,
            Some(()) = OptionFuture::from(due) => Event::Due,
            called = live.attendance.next() => Event::Called(called),
            page = live.io.tools_changed() => Event::Changed(page),
        }
    }

    /// Hears an update of the session, and gives it back unless it is of a call of our tools.
    pub(super) fn hear(&mut self, params: Value) -> Option<Value> {
        match &mut self.0 {
            Some(live) => live.ours.hear(params),
            None => Some(params),
        }
    }

    /// The option that lets a call of our tools go on, if that is what the agent asks for.
    pub(super) fn allowed(&self, params: &Value) -> Option<Arc<str>> {
        self.0.as_ref()?.ours.allowed(params)
    }

    /// Lets nothing be called any more. Answers with what was said of calls that nobody else has heard of.
    pub(super) fn end(&mut self) -> Vec<Value> {
        let Some(live) = &mut self.0 else {
            return Vec::new();
        };
        live.untold.clear();
        live.open.clear();
        live.ours.lost()
    }
}

impl Live {
    /// The calls that can be carried out now, each with the id by which it is known: those of which the agent has told,
    /// and those that have waited long enough for that.
    fn known(&mut self, now: Instant) -> Vec<(Arc<str>, Called)> {
        let mut known = Vec::new();
        let mut many = self.untold.len().saturating_sub(UNTOLD);
        for (called, until) in mem::take(&mut self.untold) {
            let is_due = until <= now || many > 0;
            let told = self.ours.come(&called);
            let call = told.or_else(|| is_due.then(|| self.ours.come_untold(&called)));
            match call {
                Some(call) => known.push((call, called)),
                None => self.untold.push_back((called, until)),
            }
            many = many.saturating_sub(1);
        }
        known
    }
}

impl Talk<'_> {
    /// Has calls carried out, or offers other tools.
    pub(super) async fn follow(&mut self, event: Event) -> Result<(), Gone> {
        let Some(live) = &mut self.calls.0 else {
            return Ok(());
        };
        match event {
            Event::Answered | Event::Due => {}
            Event::Changed(page) => {
                live.place.set_tools(&page);
                live.ours.set(&live.place.names());
            }
            Event::Called(called) => live.untold.push_back((called, Instant::now() + TELLING)),
        }
        self.begin_calls().await
    }

    /// Has the calls carried out of which the agent has told by now. The run ends with them, and with it what it has
    /// of every other call.
    pub(super) async fn begin_calls(&mut self) -> Result<(), Gone> {
        let Some(live) = &mut self.calls.0 else {
            return Ok(());
        };
        let known = live.known(Instant::now());
        if known.is_empty() {
            return Ok(());
        }
        for (call, called) in known {
            let io = self.turn.io.clone();
            let open = if live.place.asks() && called.name == ASK_USER {
                ask(io, call, called).boxed()
            } else {
                have_called(io, call, called).boxed()
            };
            live.open.push(open);
        }
        let events = self.translator.show_known();
        self.turn.emit(events).await
    }
}

/// Has the page carry out a call.
async fn have_called(io: TurnIo, call: Arc<str>, mut called: Called) {
    let wanted = ToolCall {
        call,
        name: called.name.clone(),
        arguments: text(&called.arguments),
    };
    let answer = tokio::select! {
        biased;
        () = called.given_up() => return,
        answer = io.call_frontend_tool(wanted) => answer,
    };
    called.answer(match answer {
        ToolAnswer::Answered { content, failed } => Outcome { content, failed },
        ToolAnswer::Unanswered(why) => Outcome::failed(why.of_tool()),
    });
}

/// Has the person asked.
async fn ask(io: TurnIo, call: Arc<str>, mut called: Called) {
    if let Err(why) = questions::check(&called.arguments) {
        return called.answer(Outcome::failed(why));
    }
    let question = Question {
        call: Some(Arc::clone(&call)),
        message: questions::message(&called.arguments),
        form: Form::Choices(called.arguments.clone()),
    };
    let opening = opening(&call, &called.arguments);
    let asked = async {
        for event in opening {
            io.emit(event).await?;
        }
        Ok::<_, Gone>(io.ask_user(question).await)
    };
    let reply = tokio::select! {
        biased;
        () = called.given_up() => Ok(Reply::Unanswered(Unanswered::GivenUp)),
        reply = asked => reply,
    };
    let reply = reply.unwrap_or(Reply::Unanswered(Unanswered::Stopped));
    let outcome = answer(&called.arguments, &reply);
    let result = CoreEvent::ToolCallResult {
        call,
        content: outcome.content.clone(),
        failed: outcome.failed,
    };
    // Nobody may listen any more.
    let _ = io.emit(result).await;
    called.answer(outcome);
}

fn opening(call: &Arc<str>, arguments: &JsonObject) -> [CoreEvent; 3] {
    [
        CoreEvent::ToolCallOpened {
            call: Arc::clone(call),
            name: ASK_USER.to_owned(),
        },
        CoreEvent::ToolCallArguments {
            call: Arc::clone(call),
            fragment: text(arguments),
        },
        CoreEvent::ToolCallClosed {
            call: Arc::clone(call),
        },
    ]
}

/// What the model is told of a reply.
fn answer(arguments: &JsonObject, reply: &Reply) -> Outcome {
    let said = match reply {
        Reply::Answered(said) => questions::text(arguments, said),
        Reply::Unanswered(_) => None,
    };
    match said {
        Some(text) => Outcome {
            content: Content::Text(text),
            failed: false,
        },
        None => Outcome::failed(questions::CANCELLED),
    }
}

fn text(arguments: &JsonObject) -> String {
    serde_json::to_string(arguments).expect("an object of JSON is JSON")
}
