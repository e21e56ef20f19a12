//! State from past acknowledgements that neither the ledger nor the episodes keep.

use super::Recovery;
use crate::feedback::{Feedback, Silence};

/// A peer's way of acknowledging, and its latest acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// The usual meaning of a unit that an acknowledgement does not name.
    pub(super) silence: Silence,
    /// Whether the peer reports gaps and the policy uses them.
    reports: bool,
    /// Whether the acknowledgement being processed reports a congestion mark.
    pub(super) marked: bool,
    /// Number of consecutive duplicate acknowledgements.
    pub(super) duplicates: u32,
}

impl Heard {
    /// State before the first acknowledgement of a peer whose silence has this meaning.
    pub(super) fn new(silence: Silence) -> Heard {
        Heard { silence, reports: silence == Silence::Missing, marked: false, duplicates: 0 }
    }

    /// Begins the processing of an acknowledgement; `use_ranges`: whether the policy uses reports.
    pub(super) fn on_feedback(&mut self, feedback: &Feedback<'_>, use_ranges: bool) {
        self.marked = feedback.marked;
        self.set_reports(feedback.ranges.is_some() && use_ranges);
    }

    /// Sets whether the peer reports gaps. If silence means missing, it always does.
    pub(super) fn set_reports(&mut self, reports: bool) {
        self.reports = reports || self.silence == Silence::Missing;
    }

    /// Whether the peer reports data beyond the cumulative point.
    pub(super) fn reports_gaps(&self) -> bool {
        self.reports
    }

    /// Number of packets that arrived according to duplicates, while no report names them.
    pub(super) fn arrived_unnamed(&self) -> u32 {
        if self.reports { 0 } else { self.duplicates }
    }

    /// Whether a peer that reported everything in flight may leave the cumulative point unchanged,
    /// because it discarded received data (RFC 2018, section 8), so that only the timer
    /// continues. A peer whose silence means missing revokes its reports instead.
    pub(super) fn may_stall(&self) -> bool {
        self.reports && self.silence == Silence::Nothing
    }

    /// Whether a window of data has one episode, so that further losses in it are not new: evidence
    /// by position may be caused by needless retransmissions (RFC 6582; RFC 6675). RFC 9260
    /// counts for each transmission, and has no such rule.
    pub(super) fn has_one_episode_a_window(&self) -> bool {
        self.silence == Silence::Nothing
    }

    /// Whether a lost retransmission is another sign of congestion (RFC 5681, section 4.3). RFC
    /// 9260, section 7.2.4, lowers the window on entering fast recovery only.
    pub(super) fn counts_lost_retransmissions(&self) -> bool {
        self.silence == Silence::Nothing
    }
}

impl Recovery {
    /// Sets whether the peer reports gaps, before its first acknowledgement.
    pub fn set_reports(&mut self, reports: bool) {
        self.heard.set_reports(reports && self.policy.loss.use_sack);
    }

    /// Number of consecutive duplicate acknowledgements.
    pub fn duplicates(&self) -> u32 {
        self.heard.duplicates
    }
}
