//! How a peer acknowledges: the questions that RFC 9260 and TCP's RFCs answer differently, and nothing else.
//!
//! Recovery asks them here and never which protocol it serves.

use crate::policy::PartialAck;

/// What kind of acknowledgements come, and what they said lately.
#[derive(Clone, Debug)]
pub(super) enum Feedback {
    /// SACK chunks (RFC 9260): each tells all that arrived, so that what one does not name is missing.
    Chunks,
    /// TCP's: duplicates count; reports, if there are any, add up.
    Segments(Segments),
}

/// What acknowledgements of segments said lately.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    /// The one being taken in says that something met congestion.
    pub(super) congestion_experienced: bool,
    /// The peer reports what arrives out of order.
    pub(super) has_sack: bool,
    /// The rescue retransmission of this fast recovery was sent.
    pub(super) rescued: bool,
    /// Duplicate acknowledgements in a row.
    pub(super) duplicates: u32,
    /// Partial acknowledgements in this fast recovery, as far as this counts.
    pub(super) partial_acks: u8,
    /// The cumulative point must pass this before duplicates mean loss again (`recover` of RFC 6582).
    pub(super) recover: u64,
    /// The first unit not sent when this fast recovery began, or when it last went on with the next hole: of
    /// what was sent before that duplicates are believed.
    pub(super) believed: u64,
    /// One past the highest unit sent again in this fast recovery (HighRxt of RFC 6675).
    pub(super) high_rxt: u64,
}

impl Feedback {
    /// TCP's, if they are.
    pub(super) fn segments(&self) -> Option<&Segments> {
        match self {
            Feedback::Chunks => None,
            Feedback::Segments(segments) => Some(segments),
        }
    }

    /// TCP's, if they are.
    pub(super) fn segments_mut(&mut self) -> Option<&mut Segments> {
        match self {
            Feedback::Chunks => None,
            Feedback::Segments(segments) => Some(segments),
        }
    }

    /// Whether acknowledgements tell what arrived beyond the cumulative point.
    pub(super) fn reports_gaps(&self) -> bool {
        self.segments().is_none_or(|segments| segments.has_sack)
    }

    /// Whether units stand for themselves, each of them sent whole or not at all.
    pub(super) fn has_whole_units(&self) -> bool {
        matches!(self, Feedback::Chunks)
    }

    /// Packets of which duplicates say that they arrived, while no report says which.
    pub(super) fn arrived_unnamed(&self) -> u32 {
        self.segments().filter(|segments| !segments.has_sack).map_or(0, |said| said.duplicates)
    }

    /// Acknowledgements that told of the loss just found, this one included.
    pub(super) fn told_of_loss(&self) -> u32 {
        self.segments().map_or(1, |segments| segments.duplicates)
    }

    /// Whether the acknowledgement being taken in may not open the window (RFC 3168, section 6.1.2).
    pub(super) fn keeps_window(&self) -> bool {
        self.segments().is_some_and(|segments| segments.congestion_experienced)
    }

    /// Whether the peer, having reported all that is in flight, may keep the cumulative point where it is, so
    /// that only the timer goes on: a TCP that discarded what it had.
    pub(super) fn may_stall(&self) -> bool {
        self.segments().is_some_and(|segments| segments.has_sack)
    }

    /// Whether an acknowledgement that advances restarts the retransmission timer (RFC 6582, section 3.2, step
    /// 3).
    pub(super) fn restarts_timer(&self, policy: PartialAck) -> bool {
        self.segments().is_none_or(|segments| {
            segments.has_sack || segments.partial_acks <= 1 || policy == PartialAck::Every
        })
    }

    /// Whether a loss at the cumulative point is one of a window of data that a recovery or a timeout has dealt
    /// with. RFC 9260 has no such rule.
    ///
    /// Where the peer reports what it has, that is over once all of that window is acknowledged (RFC 6675,
    /// section 5.1). Where it does not, duplicates may still come of what was sent again without need, until
    /// something is acknowledged that lies beyond it (RFC 6582, section 3.2, steps 2 and 4).
    pub(super) fn has_dealt_with(&self, cumulative: u64) -> bool {
        self.segments().is_some_and(|segments| {
            cumulative < segments.recover || (cumulative == segments.recover && !segments.has_sack)
        })
    }

    /// Whether a retransmission that is lost is another sign of congestion (RFC 5681, section 4.3). RFC 9260,
    /// section 7.2.4, lowers the window on entering fast recovery only.
    pub(super) fn counts_lost_retransmissions(&self) -> bool {
        self.segments().is_some()
    }

    /// A duplicate acknowledgement came.
    pub(super) fn on_duplicate(&mut self) {
        if let Some(segments) = self.segments_mut() {
            segments.duplicates = segments.duplicates.saturating_add(1);
        }
    }

    /// The cumulative point advanced.
    pub(super) fn on_advance(&mut self) {
        if let Some(segments) = self.segments_mut() {
            segments.duplicates = 0;
        }
    }

    /// It did so in fast recovery, and not to its end; by a `full` segment at least; `next_unit` is the first unit
    /// not sent yet.
    pub(super) fn on_partial_ack(&mut self, full: bool, next_unit: u64) {
        if let Some(segments) = self.segments_mut() {
            segments.partial_acks = segments.partial_acks.saturating_add(1);
            if full {
                segments.believed = next_unit;
            }
        }
    }

    /// Fast recovery is over.
    pub(super) fn on_recovered(&mut self) {
        if let Some(segments) = self.segments_mut() {
            segments.partial_acks = 0;
        }
    }

    /// Fast recovery begins; `next_unit` is the first unit not sent yet.
    pub(super) fn on_recovery(&mut self, next_unit: u64) {
        if let Some(segments) = self.segments_mut() {
            segments.recover = next_unit;
            segments.believed = next_unit;
            segments.high_rxt = 0;
            segments.rescued = false;
            segments.partial_acks = 0;
        }
    }

    /// The retransmission timer expired: duplicates of what it resends say nothing.
    pub(super) fn on_timeout(&mut self, next_unit: u64) {
        self.forget();
        if let Some(segments) = self.segments_mut() {
            segments.recover = next_unit;
        }
    }

    /// What was taken for loss was none: the next one is news.
    pub(super) fn on_undo(&mut self) {
        if let Some(segments) = self.segments_mut() {
            segments.recover = 0;
            segments.duplicates = 0;
        }
    }

    /// Everything outstanding is let go of.
    pub(super) fn forget(&mut self) {
        if let Some(segments) = self.segments_mut() {
            *segments = Segments { has_sack: segments.has_sack, ..Segments::default() };
        }
    }

    /// A unit is sent again.
    pub(super) fn on_again(&mut self, unit: u64, weight: u32) {
        if let Some(segments) = self.segments_mut() {
            segments.high_rxt = segments.high_rxt.max(unit + u64::from(weight.max(1)));
        }
    }
}
