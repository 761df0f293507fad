//! Plays a script: a turn of the demo core.

use std::{ops::ControlFlow, vec};

use tokio::time::sleep;

use super::{Script, Step, wait::wait};
use crate::deps::{CoreEvent, Gone, StopReason, TurnError, TurnIo};

/// What a flood says, over and over; each is one delta.
const WORDS: [&str; 8] = [
    "the ", "quick ", "brown ", "fox ", "jumps ", "over ", "it ", "all ",
];

type End = Result<StopReason, TurnError>;

/// Plays a script to its end, or until the turn is to stop.
pub(super) async fn play(script: Script, io: &TurnIo) -> End {
    let mut steps = script.into_iter();
    let mut pages = 0;
    // One wait for the whole of it: a stop is heeded in the middle of a pause, of a flood, and while
    // the adapter is behind. Dropping `run` loses at most the event that nobody took.
    let mut played = tokio::select! {
        biased;
        () = io.stopped() => ControlFlow::Break(Ok(StopReason::Cancelled)),
        played = run(&mut steps, &mut pages, io) => played,
    };
    loop {
        match played {
            ControlFlow::Break(end) => return end,
            ControlFlow::Continue(Heedless::Now) => {}
            ControlFlow::Continue(Heedless::OnceStopped) => io.stopped().await,
        }
        played = run(&mut steps, &mut pages, io).await;
    }
}

/// From when on a script does not heed a stop.
enum Heedless {
    Now,
    OnceStopped,
}

/// Plays steps up to the end of the turn, or to one that changes how a stop is heeded.
async fn run(
    steps: &mut vec::IntoIter<Step>,
    pages: &mut usize,
    io: &TurnIo,
) -> ControlFlow<End, Heedless> {
    for step in steps {
        match step {
            Step::Emit(event) => taken(io.emit(event).await)?,
            Step::Words { count, every } => {
                for word in WORDS.into_iter().cycle().take(count) {
                    if !every.is_zero() {
                        sleep(every).await;
                    }
                    taken(io.emit(CoreEvent::Text(word.into())).await)?;
                }
            }
            Step::Pause(time) => sleep(time).await,
            Step::Wait(waits) => taken(wait(waits, pages, io).await)?,
            Step::IgnoreStop => return ControlFlow::Continue(Heedless::Now),
            Step::AwaitStop => return ControlFlow::Continue(Heedless::OnceStopped),
            Step::Fail { code, message } => {
                return ControlFlow::Break(Err(TurnError::new(code, message)));
            }
            Step::Panic(message) => panic!("{message}"),
            Step::Finish(reason) => return ControlFlow::Break(Ok(reason)),
        }
    }
    ControlFlow::Break(Ok(StopReason::EndTurn))
}

/// Goes on if somebody listens.
fn taken(emitted: Result<(), Gone>) -> ControlFlow<End> {
    match emitted {
        Ok(()) => ControlFlow::Continue(()),
        Err(Gone) => ControlFlow::Break(Ok(StopReason::Cancelled)),
    }
}
