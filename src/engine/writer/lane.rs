//! Who speaks: the agent itself, and beside it the sub-agents that are active (AG-UI 1.0, sub-agents).

use super::{Arc, Body, Ending, JsonObject, MessageId, Speaker, Writer, ends};

/// The message that a speaker has open. At most one is.
#[derive(Debug, Default)]
pub(super) enum Open {
    #[default]
    Nothing,
    Text(MessageId),
    Reasoning(MessageId),
}

/// What one speaker is saying. Speakers do not wait for one another.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) speaker: Speaker,
    /// Whether it goes on when the turn is stopped.
    outlives_turn: bool,
    pub(super) open: Open,
    /// The message that calls belong to until something else is said or a call is answered.
    pub(super) parent: Option<MessageId>,
}

impl Writer {
    /// Has a sub-agent begin, of which `started` tells. It is another invocation than any before in this run.
    pub(in crate::engine) fn begin_sub_agent(
        &mut self,
        run: &Arc<str>,
        started: Body,
        outlives_turn: bool,
    ) {
        let speaker = Some(Arc::clone(run));
        self.frames.event_of(&speaker, started, JsonObject::new());
        self.lanes.push(Lane {
            speaker,
            outlives_turn,
            ..Lane::default()
        });
    }

    /// Ends a sub-agent that is active; `ended` says how.
    pub(in crate::engine) fn end_sub_agent(&mut self, run: &Arc<str>, ended: Body) {
        if let Some(at) = self.lane_of(&Some(Arc::clone(run))) {
            self.end_lane(at, ended);
        }
    }

    /// Has a sub-agent speak until the agent itself [does again](Writer::hand_back). Returns whether it is active.
    pub(in crate::engine) fn hand_over(&mut self, run: &Arc<str>) -> bool {
        let at = self.lane_of(&Some(Arc::clone(run)));
        self.at = at.unwrap_or_default();
        at.is_some()
    }

    /// Has the agent itself speak.
    pub(in crate::engine) fn hand_back(&mut self) {
        self.at = 0;
    }

    /// Whether a sub-agent is active.
    pub(in crate::engine) fn is_active(&self, run: &Arc<str>) -> bool {
        self.lane_of(&Some(Arc::clone(run))).is_some()
    }

    /// How many sub-agents are active.
    pub(in crate::engine) fn active(&self) -> usize {
        self.lanes.len() - 1
    }

    pub(super) fn lane_of(&self, speaker: &Speaker) -> Option<usize> {
        self.lanes.iter().position(|lane| lane.speaker == *speaker)
    }

    fn end_lane(&mut self, at: usize, ended: Body) {
        self.at = at;
        self.close_message();
        self.at = 0;
        let lane = self.lanes.remove(at);
        self.frames
            .event_of(&lane.speaker, ended, JsonObject::new());
    }

    /// Ends the sub-agents that are active: their run ends so.
    pub(super) fn end_lanes(&mut self, ending: &Ending) {
        while let Some(lane) = self.lanes.get(1) {
            let ended = ends::sub_agent(ending, lane.speaker.as_deref(), lane.outlives_turn);
            self.end_lane(1, ended);
        }
    }
}
