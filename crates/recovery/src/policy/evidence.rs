//! Rules for evidence of loss, and for what is retransmitted for it.

/// Condition under which a unit is fast-retransmitted more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatFast {
    /// Never: a lost retransmission waits for the timer (RFC 9260, section 7.2.4, rule 5).
    Never,
    /// While the stream is thin.
    WhileThin,
    /// Whenever its retransmission counts as lost (FreeBSD).
    Always,
}

impl RepeatFast {
    /// Whether a unit may be fast-retransmitted again now; `thin`: the stream is thin.
    pub(crate) fn applies(self, thin: bool) -> bool {
        match self {
            RepeatFast::Never => false,
            RepeatFast::WhileThin => thin,
            RepeatFast::Always => true,
        }
    }
}

/// Partial acknowledgements that restart the retransmission timer in fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAck {
    /// The first only: with many holes the timer ends fast recovery, and slow start repairs them
    /// (Impatient).
    First,
    /// Each one, so that one hole is repaired per round trip (Slow-but-Steady).
    Every,
}

/// The fine-grained timer of Vegas: a packet older than 17/16 (SRTT + 2 RTTVAR) is retransmitted at
/// the first duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FineGrainedTimer {
    /// The timer never expires: packets are not judged by age.
    Off,
    /// The timer as published (Brakmo and Peterson 1995; Yin et al.).
    On,
    /// The timer expires a quarter of the shortest round trip later for each round trip in which
    /// the peer reported a needless retransmission, as RACK's window does (RFC 8985, section
    /// 6.2): robust against reordering, which the authors of TCP-ER leave to future work.
    Robust,
}

/// Packets that the early fast retransmit timer times, and the condition under which it acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyRule {
    /// One timer per path, SRTT + 2 RTTVAR from the last SACK, while the flight in bytes is below
    /// the window (FreeBSD).
    FreeBsd,
    /// Each packet for itself, SRTT + RTTVAR from when it left, while fewer packets are in flight
    /// than the window has full ones: as Petlund et al. (2009, sections 2 and 6.4) describe
    /// FreeBSD's mechanism. A window that a timeout has collapsed to one packet leaves it no
    /// room. For the reproduction of that paper.
    Described,
}

/// Data that counts as lost where the peer reports gaps and losses are found by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackLosses {
    /// Data below enough reported data (`IsLost` of RFC 6675, section 4), in a recovery or not.
    IsLost,
    /// Each hole below the highest report, once, and only in a recovery, which `dup_threshold`
    /// duplicates begin; after a timeout reports are no evidence until all that was outstanding
    /// is acknowledged (`Agent/TCP/Sack1` of ns-2). For the reproduction of papers.
    EachHole,
}

/// The count of the flight where the peer reports gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SackFlight {
    /// Outstanding data that is neither reported nor lost (`pipe` of RFC 6675, section 4).
    Reports,
    /// All data that is not acknowledged cumulatively; in fast recovery, what was outstanding less
    /// the duplicates, then one packet less with each acknowledgement and one more less with a
    /// partial one, so that lost packets count until the cumulative point passes them (`pipe_`
    /// of ns-2's `Agent/TCP/Sack1`). For the reproduction of papers.
    Acknowledgements,
}
