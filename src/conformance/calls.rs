//! What a core owes in what it says: calls whose ids are told apart, and in whose parts there is an order; sub-agents that
//! are told of before they speak.
//!
//! The engine mends what is out of order, so that no client sees it; here it is a finding.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::deps::{CoreEvent, MAX_CALLS, Signal};

/// The calls of one turn.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: HashMap<Arc<str>, Progress>,
    sub_agents: HashSet<Arc<str>>,
}

#[derive(Debug, Default)]
struct Progress {
    is_closed: bool,
    has_result: bool,
}

impl Calls {
    /// Takes the next signal, and says what is wrong with it.
    pub(super) fn step(&mut self, signal: &Signal) -> Result<(), String> {
        if self.calls.len() >= MAX_CALLS.get() {
            // As many are told apart as the seam promises; of what comes now, some may be one of those.
            return Ok(());
        }
        let event = match signal {
            Signal::Event(event) => event,
            Signal::Bind(session) | Signal::Rebind(session) if session.as_str().is_empty() => {
                return Err("it bound the thread to a session without a name".into());
            }
            Signal::Bind(_)
            | Signal::Rebind(_)
            | Signal::Title(_)
            | Signal::Recall(_)
            | Signal::Ask(_) => {
                return Ok(());
            }
        };
        self.event(event)
    }

    fn event(&mut self, event: &CoreEvent) -> Result<(), String> {
        match event {
            CoreEvent::ToolCallOpened { call, .. } => self.open(call),
            CoreEvent::ToolCallArguments { call, .. } => {
                self.opened(call, "an argument of the call").map(drop)
            }
            CoreEvent::ToolCallClosed { call } => {
                self.opened(call, "the end of the call")?.is_closed = true;
                Ok(())
            }
            CoreEvent::ToolCallResult { call, .. } => self.result(call),
            CoreEvent::SubAgent(update) => {
                if update.status.is_some() && self.sub_agents.len() < MAX_CALLS.get() {
                    self.sub_agents.insert(Arc::clone(&update.id));
                }
                Ok(())
            }
            CoreEvent::Within { sub_agent, event } => self.within(sub_agent, event),
            _ => Ok(()),
        }
    }

    /// A sub-agent says what an agent says, and nothing else.
    fn within(&mut self, sub_agent: &Arc<str>, event: &CoreEvent) -> Result<(), String> {
        if !self.sub_agents.contains(sub_agent) {
            return Err(format!(
                "the sub-agent `{sub_agent}` spoke, which was not told of"
            ));
        }
        match event {
            CoreEvent::Text(_)
            | CoreEvent::Reasoning(_)
            | CoreEvent::MessageEnd
            | CoreEvent::ToolCallOpened { .. }
            | CoreEvent::ToolCallArguments { .. }
            | CoreEvent::ToolCallClosed { .. }
            | CoreEvent::ToolCallResult { .. } => self.event(event),
            _ => Err(format!(
                "the sub-agent `{sub_agent}` told of something that only an agent does"
            )),
        }
    }

    fn open(&mut self, call: &Arc<str>) -> Result<(), String> {
        if self.calls.contains_key(call) {
            return Err(format!(
                "it opened the call `{call}` twice in one turn, or after its result"
            ));
        }
        self.calls.insert(Arc::clone(call), Progress::default());
        Ok(())
    }

    /// A call that is open still.
    fn opened(&mut self, call: &Arc<str>, what: &str) -> Result<&mut Progress, String> {
        match self.calls.get_mut(call) {
            Some(progress) if !progress.is_closed => Ok(progress),
            Some(_) => Err(format!("{what} `{call}` came after it was closed")),
            None => Err(format!("{what} `{call}` came, which was not opened")),
        }
    }

    /// A result may stand alone: some agents report a call only once it is over.
    fn result(&mut self, call: &Arc<str>) -> Result<(), String> {
        let progress = self.calls.entry(Arc::clone(call)).or_default();
        if progress.has_result {
            return Err(format!("the call `{call}` has two results"));
        }
        *progress = Progress {
            is_closed: true,
            has_result: true,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deps::{SessionRef, SubAgentStatus, SubAgentUpdate},
        protocol::Content,
    };

    fn opened() -> Signal {
        Signal::Event(CoreEvent::ToolCallOpened {
            call: "c".into(),
            name: "tool".into(),
        })
    }

    fn argument() -> Signal {
        Signal::Event(CoreEvent::ToolCallArguments {
            call: "c".into(),
            fragment: "{}".into(),
        })
    }

    fn closed() -> Signal {
        Signal::Event(CoreEvent::ToolCallClosed { call: "c".into() })
    }

    fn result() -> Signal {
        Signal::Event(CoreEvent::ToolCallResult {
            call: "c".into(),
            content: Content::Text("done".into()),
            failed: false,
        })
    }

    fn sub_agent() -> Signal {
        let status = Some(SubAgentStatus::Running);
        Signal::Event(CoreEvent::SubAgent(Box::new(SubAgentUpdate::new(
            "s", status,
        ))))
    }

    fn within(signal: Signal) -> Signal {
        let Signal::Event(event) = signal else {
            panic!("{signal:?} is no event")
        };
        Signal::Event(CoreEvent::Within {
            sub_agent: "s".into(),
            event: Box::new(event),
        })
    }

    #[test]
    fn what_is_out_of_order_is_said() {
        let nameless = || Signal::Bind(SessionRef::new(""));
        for (signals, said) in [
            (
                vec![opened(), argument(), argument(), closed(), result()],
                None,
            ),
            (vec![result()], None),
            (vec![opened(), result()], None),
            (vec![opened(), opened()], Some("opened the call `c` twice")),
            (vec![argument()], Some("came, which was not opened")),
            (vec![closed()], Some("came, which was not opened")),
            (
                vec![opened(), closed(), argument()],
                Some("after it was closed"),
            ),
            (
                vec![opened(), closed(), closed()],
                Some("after it was closed"),
            ),
            (
                vec![opened(), result(), argument()],
                Some("after it was closed"),
            ),
            (vec![result(), opened()], Some("opened the call `c` twice")),
            (vec![result(), result()], Some("has two results")),
            (vec![nameless()], Some("a session without a name")),
            (vec![sub_agent(), within(opened()), within(result())], None),
            (vec![within(opened())], Some("was not told of")),
            (
                vec![sub_agent(), opened(), within(opened())],
                Some("opened the call `c` twice"),
            ),
            (
                vec![sub_agent(), within(sub_agent())],
                Some("only an agent does"),
            ),
        ] {
            let mut calls = Calls::default();
            let judged = signals.iter().try_for_each(|signal| calls.step(signal));
            match said {
                None => assert_eq!(judged, Ok(()), "{signals:?}"),
                Some(said) => assert!(judged.unwrap_err().contains(said), "{signals:?}"),
            }
        }
    }
}
