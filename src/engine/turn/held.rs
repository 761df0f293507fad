//! What a core says while its turn is parked, for the run that goes on with it. A core is never made to wait for that:
//! of more than is kept the rest is counted and lost.

use crate::deps::{CoreEvent, Signal};

/// How many things are kept.
const MOST: usize = 4096;
/// How many bytes of text are kept.
const BYTES: usize = 8 * 1024 * 1024;

/// What is kept.
#[derive(Debug, Default)]
pub(super) struct Held {
    signals: Vec<Signal>,
    bytes: usize,
    lost: usize,
}

impl Held {
    /// Keeps something, or counts it. More of the same message is added to what there is of it.
    pub(super) fn push(&mut self, signal: Signal) {
        let bytes = weight(&signal);
        let is_vital = matches!(signal, Signal::Bind(_) | Signal::Rebind(_));
        let is_full = self.signals.len() >= MOST || self.bytes + bytes > BYTES;
        if is_full && !is_vital {
            // Whoever asks something so is told that the turn is being stopped.
            self.lost += 1;
            return;
        }
        self.bytes += bytes;
        match (self.signals.last_mut(), signal) {
            (Some(Signal::Event(CoreEvent::Text(said))), Signal::Event(CoreEvent::Text(more)))
            | (
                Some(Signal::Event(CoreEvent::Reasoning(said))),
                Signal::Event(CoreEvent::Reasoning(more)),
            ) => said.push_str(&more),
            (_, signal) => self.signals.push(signal),
        }
    }

    /// What was kept, and how much was lost.
    pub(super) fn take(self) -> (Vec<Signal>, usize) {
        (self.signals, self.lost)
    }
}

/// About how many bytes something takes.
fn weight(signal: &Signal) -> usize {
    const LITTLE: usize = 128;
    let text = match signal {
        Signal::Event(event) => event_weight(event),
        Signal::Recall(past) => json_size(past),
        _ => 0,
    };
    LITTLE + text
}

fn event_weight(event: &CoreEvent) -> usize {
    /// A path, or a text about a sub-agent.
    const NAME: usize = 1024;
    match event {
        CoreEvent::Text(text) | CoreEvent::Reasoning(text) => text.len(),
        CoreEvent::ToolCallArguments { fragment, .. } => fragment.len(),
        CoreEvent::ToolCallResult { content, .. } => json_size(content),
        CoreEvent::Notice { value, .. } => json_size(value),
        CoreEvent::Diff { content, .. } => json_size(content),
        CoreEvent::Todos(todos) => json_size(todos),
        CoreEvent::Files(files) => files.len() * NAME,
        CoreEvent::SubAgent(update) => {
            let about = &update.about;
            let texts = [&about.prompt, &about.summary, &about.error];
            NAME + texts.into_iter().flatten().map(String::len).sum::<usize>()
        }
        CoreEvent::Within { event, .. } => event_weight(event),
        _ => 0,
    }
}

fn json_size(value: &impl serde::Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |json| json.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deps::SessionRef;

    fn text(text: &str) -> Signal {
        Signal::Event(CoreEvent::Text(text.into()))
    }

    #[test]
    fn a_message_is_kept_as_one_and_what_stands_between_parts_it() {
        let mut held = Held::default();
        for signal in [
            text("a"),
            text("b"),
            Signal::Event(CoreEvent::MessageEnd),
            text("c"),
        ] {
            held.push(signal);
        }
        let parted = [text("ab"), Signal::Event(CoreEvent::MessageEnd), text("c")];
        assert_eq!(held.take(), (parted.into(), 0));
    }

    #[test]
    fn what_a_sub_agent_says_weighs_as_much_as_what_the_agent_says() {
        let said = CoreEvent::Text("x".repeat(1_000));
        let within = CoreEvent::Within {
            sub_agent: "s".into(),
            event: Box::new(said.clone()),
        };
        assert_eq!(weight(&Signal::Event(within)), weight(&Signal::Event(said)));
    }

    #[test]
    fn more_than_is_kept_is_counted_and_what_binds_is_kept_all_the_same() {
        let mut held = Held::default();
        held.push(text(&"x".repeat(BYTES - 1024)));
        for _ in 0..MOST {
            held.push(Signal::Event(CoreEvent::MessageEnd));
        }
        held.push(Signal::Bind(SessionRef::new("s")));
        let (signals, lost) = held.take();
        assert_eq!(signals.last(), Some(&Signal::Bind(SessionRef::new("s"))));
        assert!(lost > MOST - 16 && signals.len() < 16, "{lost}");
    }
}
