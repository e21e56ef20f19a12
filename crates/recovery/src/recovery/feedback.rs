//! How a peer acknowledges: the questions that RFC 9260 and TCP's RFCs answer differently, and nothing else.
//!
//! Recovery asks them here and never which protocol it serves.

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
    /// Duplicate acknowledgements in a row.
    pub(super) duplicates: u32,
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

    /// Whether a window of data has one episode, so that further losses in it are no news: evidence of them may come
    /// of what was sent again without need (RFC 6582; RFC 6675). RFC 9260 has no such rule.
    pub(super) fn has_one_episode_a_window(&self) -> bool {
        self.segments().is_some()
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

    /// Everything outstanding is let go of.
    pub(super) fn forget(&mut self) {
        if let Some(segments) = self.segments_mut() {
            *segments = Segments { has_sack: segments.has_sack, ..Segments::default() };
        }
    }
}
