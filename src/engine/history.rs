//! What a request tells a thread: which of its messages are new, where the conversation was cut back, and
//! what is asked. Decides, changes nothing.
//!
//! What a client shows is its view and not the truth. It may lack messages that were stored (a reload, a
//! filter, a second tab, a stop in the middle) and may hold some that were not, so nothing is read off a
//! count, and a message that is missing is never an edit. An edit is seen by ids alone: the last message that
//! both sides know was followed by one that a person said, and now by another in its place. Of what both
//! sides know the daemon's copy stays, except for the message that is asked.

#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::StartError;
use crate::{
    protocol::{Content, Message, MessageBody, MessageId, ToolCallId},
    store::{Line, Transcript},
};

/// What a request tells a thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    /// How many stored lines stay; `None`: all.
    pub(super) keep: Option<usize>,
    /// What the request adds behind them. A line whose message is stored under the same id takes its place.
    pub(super) lines: Vec<Line>,
    /// What is asked.
    pub(super) prompt: Content,
    /// The message that asks it, the first one if there are several.
    pub(super) prompt_id: MessageId,
    /// Whether something that was said is taken back: what an agent remembers of it is too much.
    pub(super) is_cut: bool,
}

impl Told {
    /// The transcript as it is from now on.
    pub(super) fn after(&self, stored: &Transcript) -> Vec<Line> {
        let keep = self.keep.unwrap_or(stored.lines.len());
        let mut lines: Vec<Line> = stored.lines.iter().take(keep).cloned().collect();
        let places: HashMap<_, _> = (lines.iter().map(|line| line.message.id.clone()))
            .zip(0..)
            .collect();
        for line in &self.lines {
            match places.get(&line.message.id) {
                Some(at) => lines[*at] = line.clone(),
                None => lines.push(line.clone()),
            }
        }
        lines
    }

    /// Makes what a person said right before the prompt a part of it, if it is as new: nobody has heard it.
    fn ask_together(&mut self, shown: &[Message], asked: usize) {
        let is_new = |message: &&Message| {
            matches!(message.body, MessageBody::User { .. })
                && self.lines.iter().any(|line| line.message.id == message.id)
        };
        let before = shown[..asked]
            .iter()
            .rev()
            .filter(|message| is_said(message));
        let mut asked: Vec<_> = before.take_while(is_new).collect();
        if let Some(first) = asked.last() {
            self.prompt_id = first.id.clone();
            asked.reverse();
            let contents = asked.into_iter().filter_map(content).chain([&self.prompt]);
            self.prompt = Content::together(contents);
        }
    }

    /// What was said before the prompt, as far as it is known from now on.
    pub(super) fn before(&self, stored: &Transcript) -> Vec<Message> {
        let said = |line: &Line| line.message.id != self.prompt_id;
        let messages = self.after(stored).into_iter();
        messages.take_while(said).map(|line| line.message).collect()
    }
}

/// Reads a request's messages beside what is stored. `seen`: the last message of a person's that the client has
/// seen, if it tells.
///
/// # Errors
/// No user message stands at their end, there is nothing in it, or its id is that of something else.
pub(super) fn read(
    stored: &Transcript,
    shown: &[Message],
    seen: Option<&str>,
) -> Result<Told, StartError> {
    let (asked, prompt) = prompt(shown).ok_or(StartError::NothingToDo)?;
    let stored = stored.lines.as_slice();
    let (known, sure) = Known::of(stored).matches(shown, asked);
    let mut told = Told {
        keep: None,
        lines: Vec::new(),
        prompt: prompt.clone(),
        prompt_id: shown[asked].id.clone(),
        is_cut: false,
    };
    let mut from = asked;
    let mut after = None;
    let mut keep = stored.len();
    if let Some(at) = known[asked] {
        let line = &stored[at];
        if !matches!(line.message.body, MessageBody::User { .. }) {
            // Nothing may stand twice under one id.
            return Err(StartError::TakenId);
        }
        // Asked again: what came of it before goes.
        keep = at + 1;
        if content(&line.message) != Some(prompt) {
            told.is_cut = true;
            told.lines.push(Line {
                message: shown[asked].clone(),
                after: line.after.clone(),
            });
        }
    } else if let Some((place, at)) = anchor(shown, &known[..asked]) {
        from = place + 1;
        after = Some(stored[at].message.id.clone());
        // A text alone may stand in several places: nothing is taken back for it.
        if sure[place] {
            keep = divergence(stored, at, &known, seen).unwrap_or(keep);
        }
    } else if stored.is_empty() {
        from = 0;
    }
    if keep < stored.len() {
        told.keep = Some(keep);
        told.is_cut |= stored[keep..].iter().any(|line| is_said(&line.message));
    }

    let mut adoption = Adoption::onto(&stored[..keep], &told.prompt_id);
    for (place, message) in shown.iter().enumerate() {
        let message = match known[place] {
            Some(at) if at < keep => {
                after = Some(stored[at].message.id.clone());
                continue;
            }
            // It stood behind what was taken back, and is still shown.
            Some(at) => &stored[at].message,
            None if place < from => continue,
            None => message,
        };
        if place == asked || adoption.takes(message) {
            told.lines.push(Line {
                message: message.clone(),
                after: after.replace(message.id.clone()),
            });
        }
    }
    if known[asked].is_none() {
        told.ask_together(shown, asked);
    }
    Ok(told)
}

/// The place of the message that asks for something, and what it asks. Instructions, thoughts and activities
/// may stand behind what a person said.
pub(super) fn prompt(shown: &[Message]) -> Option<(usize, &Content)> {
    let last = shown.iter().rposition(is_said)?;
    match &shown[last].body {
        MessageBody::User { content, .. } if !content.is_blank() => Some((last, content)),
        _ => None,
    }
}

/// The last message before the prompt that both sides know, in what is shown and in what is stored. Instructions
/// are the same in every view, so they alone do not show that the client knows the conversation.
fn anchor(shown: &[Message], known: &[Option<usize>]) -> Option<(usize, usize)> {
    let both = || known.iter().enumerate().rev();
    both().find(|(place, at)| at.is_some() && is_said(&shown[*place]))?;
    both().find_map(|(place, at)| at.map(|at| (place, at)))
}

/// Where the stored conversation goes on behind the anchor with something that a person said and that is shown
/// no longer, although whoever said it saw the anchor right before it. What the client has never seen, because
/// another page said it meanwhile, it cannot have taken back.
fn divergence(
    stored: &[Line],
    anchor: usize,
    known: &[Option<usize>],
    seen: Option<&str>,
) -> Option<usize> {
    let shown: HashSet<usize> = known.iter().flatten().copied().collect();
    let is_result = |line: &&Line| matches!(line.message.body, MessageBody::Tool { .. });
    let results = stored[..=anchor].iter().rev().take_while(is_result).count();
    // A client may have got the results behind a call only after something was said behind the call.
    let before = &stored[anchor.saturating_sub(results)..=anchor];
    let is = |line: &Line| seen.is_some_and(|seen| line.message.id.as_str() == seen);
    let seen = stored.iter().position(is).unwrap_or(stored.len());
    (anchor + 1..stored.len()).find(|at| {
        let line = &stored[*at];
        matches!(line.message.body, MessageBody::User { .. })
            && before
                .iter()
                .any(|before| line.after.as_ref() == Some(&before.message.id))
            && !shown.contains(at)
            && *at <= seen
    })
}

/// Whether it is part of the conversation itself.
pub(super) fn is_said(message: &Message) -> bool {
    matches!(
        message.body,
        MessageBody::User { .. } | MessageBody::Assistant { .. } | MessageBody::Tool { .. }
    )
}

fn content(message: &Message) -> Option<&Content> {
    match &message.body {
        MessageBody::User { content, .. } => Some(content),
        _ => None,
    }
}

/// The text by which a message is known that has another id with every request, as some clients post their
/// history, and who said it.
fn saying(message: &Message) -> Option<(bool, Cow<'_, str>)> {
    match &message.body {
        MessageBody::Assistant {
            content: Some(text),
            ..
        } if !text.is_empty() => Some((false, text.into())),
        MessageBody::User {
            content: Content::Text(text),
            ..
        } => Some((true, text.into())),
        MessageBody::User { content, .. } => Some((true, content.text().into())),
        _ => None,
    }
}

/// Where things stand in what is stored.
#[derive(Default)]
struct Known<'a> {
    ids: HashMap<&'a MessageId, usize>,
    callers: HashMap<&'a ToolCallId, usize>,
    results: HashMap<&'a ToolCallId, usize>,
    sayings: HashMap<(bool, Cow<'a, str>), Vec<usize>>,
}

impl<'a> Known<'a> {
    fn of(stored: &'a [Line]) -> Self {
        let mut known = Self::default();
        for (at, Line { message, .. }) in stored.iter().enumerate() {
            known.ids.insert(&message.id, at);
            match &message.body {
                MessageBody::Assistant { tool_calls, .. } => {
                    let calls = tool_calls.iter().map(|call| (&call.id, at));
                    known.callers.extend(calls);
                }
                MessageBody::Tool { tool_call_id, .. } => {
                    known.results.insert(tool_call_id, at);
                }
                _ => {}
            }
            if let Some(saying) = saying(message) {
                known.sayings.entry(saying).or_default().push(at);
            }
        }
        known
    }

    /// Which stored message each shown one is, and whether that is certain: by its id or that of a call, not by its
    /// text. The prompt is known by its id alone.
    fn matches(&self, shown: &[Message], asked: usize) -> (Vec<Option<usize>>, Vec<bool>) {
        let by_id = |(place, message): (usize, &Message)| {
            let found = self.ids.get(&message.id).copied();
            found.or_else(|| self.of_a_call(message).filter(|_| place != asked))
        };
        let mut found: Vec<_> = shown.iter().enumerate().map(by_id).collect();
        let sure = found.iter().map(Option::is_some).collect();
        // A text can stand in several places. It is looked for between what is known for certain, and in the last
        // of them that fits: a client that does not show all shows what was said last.
        let mut from = vec![0; found.len()];
        let mut next = 0;
        for (place, at) in found.iter().enumerate() {
            from[place] = next;
            next = at.map_or(next, |at| at + 1);
        }
        let mut until = usize::MAX;
        for (place, message) in shown.iter().enumerate().take(asked).rev() {
            if found[place].is_none() {
                found[place] = self.saying(message, until).filter(|at| *at >= from[place]);
            }
            until = found[place].unwrap_or(until);
        }
        (found, sure)
    }

    fn of_a_call(&self, message: &Message) -> Option<usize> {
        match &message.body {
            MessageBody::Assistant { tool_calls, .. } => tool_calls
                .iter()
                .find_map(|call| self.callers.get(&call.id).copied()),
            MessageBody::Tool { tool_call_id, .. } => self.results.get(tool_call_id).copied(),
            _ => None,
        }
    }

    /// The last place before `until` where the same was said.
    fn saying(&self, message: &Message, until: usize) -> Option<usize> {
        if matches!(&message.body, MessageBody::Assistant { tool_calls, .. } if !tool_calls.is_empty())
        {
            return None;
        }
        let places = self.sayings.get(&saying(message)?)?;
        let before = places.partition_point(|at| *at < until);
        places[..before].last().copied()
    }
}

/// What of a client's messages the transcript can take.
struct Adoption<'a> {
    /// Whether the transcript begins with it.
    is_first: bool,
    ids: HashSet<&'a MessageId>,
    calls: HashSet<&'a ToolCallId>,
    answered: HashSet<&'a ToolCallId>,
}

impl<'a> Adoption<'a> {
    fn onto(kept: &'a [Line], prompt: &'a MessageId) -> Self {
        let mut adoption = Self {
            is_first: kept.is_empty(),
            ids: HashSet::new(),
            calls: HashSet::new(),
            answered: HashSet::new(),
        };
        for line in kept {
            adoption.note(&line.message);
        }
        adoption.ids.insert(prompt);
        adoption
    }

    /// Whether the message can stand there: under an id of its own, and if it is a result, as the first one of
    /// a call that stands there.
    fn takes(&mut self, message: &'a Message) -> bool {
        let is_fit = match &message.body {
            MessageBody::Activity { .. } => false,
            MessageBody::Reasoning { .. } => self.is_first,
            MessageBody::Tool { tool_call_id, .. } => {
                self.calls.contains(tool_call_id) && !self.answered.contains(tool_call_id)
            }
            MessageBody::Assistant { tool_calls, .. } => {
                !tool_calls.iter().any(|call| self.calls.contains(&call.id))
            }
            _ => true,
        };
        let takes = is_fit && !self.ids.contains(&message.id);
        if takes {
            self.note(message);
        }
        takes
    }

    fn note(&mut self, message: &'a Message) {
        self.ids.insert(&message.id);
        match &message.body {
            MessageBody::Assistant { tool_calls, .. } => {
                self.calls.extend(tool_calls.iter().map(|call| &call.id));
            }
            MessageBody::Tool { tool_call_id, .. } => {
                self.answered.insert(tool_call_id);
            }
            _ => {}
        }
    }
}
