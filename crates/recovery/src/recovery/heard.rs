//! What acknowledgements said so far, beyond what the ledger and the episodes keep of it.

use super::Recovery;
use crate::feedback::{Feedback, Silence};

/// How a peer acknowledges, and what its acknowledgements said lately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// What it means as a rule that an acknowledgement does not name a unit.
    pub(super) silence: Silence,
    /// The peer reports what arrives out of order, and the policy looks at it.
    reports: bool,
    /// The one being taken in says that something met congestion.
    pub(super) marked: bool,
    /// Duplicate acknowledgements in a row.
    pub(super) duplicates: u32,
}

impl Heard {
    /// Nothing yet, of a peer whose silence means this.
    pub(super) fn new(silence: Silence) -> Heard {
        Heard { silence, reports: silence == Silence::Missing, marked: false, duplicates: 0 }
    }

    /// An acknowledgement is being taken in; `use_ranges` as the policy has it.
    pub(super) fn on_feedback(&mut self, feedback: &Feedback<'_>, use_ranges: bool) {
        self.marked = feedback.marked;
        self.set_reports(feedback.ranges.is_some() && use_ranges);
    }

    /// Whether the peer reports what arrives out of order. Where silence means that something is missing it always does.
    pub(super) fn set_reports(&mut self, reports: bool) {
        self.reports = reports || self.silence == Silence::Missing;
    }

    /// Whether acknowledgements tell what arrived beyond the cumulative point.
    pub(super) fn reports_gaps(&self) -> bool {
        self.reports
    }

    /// Packets of which duplicates say that they arrived, while no report says which.
    pub(super) fn arrived_unnamed(&self) -> u32 {
        if self.reports { 0 } else { self.duplicates }
    }

    /// Whether the peer, having reported all that is in flight, may keep the cumulative point where it is, so
    /// that only the timer goes on: it discarded what it had (RFC 2018, section 8). One whose silence means that
    /// something is missing says so.
    pub(super) fn may_stall(&self) -> bool {
        self.reports && self.silence == Silence::Nothing
    }

    /// Whether a window of data has one episode, so that further losses in it are no news: evidence by position may
    /// come of what was sent again without need (RFC 6582; RFC 6675). RFC 9260 counts for each transmission, and has no
    /// such rule.
    pub(super) fn has_one_episode_a_window(&self) -> bool {
        self.silence == Silence::Nothing
    }

    /// Whether a retransmission that is lost is another sign of congestion (RFC 5681, section 4.3). RFC 9260,
    /// section 7.2.4, lowers the window on entering fast recovery only.
    pub(super) fn counts_lost_retransmissions(&self) -> bool {
        self.silence == Silence::Nothing
    }
}

impl Recovery {
    /// Says whether the peer reports what arrives out of order, before its first acknowledgement does.
    pub fn set_reports(&mut self, reports: bool) {
        self.heard.set_reports(reports && self.policy.loss.use_sack);
    }

    /// Duplicate acknowledgements in a row.
    pub fn duplicates(&self) -> u32 {
        self.heard.duplicates
    }
}
