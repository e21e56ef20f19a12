//! Rules for the congestion window besides the controller's.

/// Unit in which the congestion window counts packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCounts {
    /// Bytes of data: a window of two full packets holds dozens of small ones (RFC 5681, RFC 9260).
    Bytes,
    /// Packets, each counted as a full one. The window then falls from its own size, where the RFCs
    /// let it fall from the flight size (Linux).
    Packets,
}

/// Effect of an early retransmission on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyWindow {
    /// The effect of any other loss: the controller decides.
    Controller,
    /// Half the window; a window of fewer than four packets becomes two packets, inflated by two
    /// until recovery ends (Yin et al., algorithm 1).
    TcpEr,
    /// Algorithm 1 of Yin et al. as it is printed, at each early retransmission and each fast one,
    /// even if the peer reports gaps: half the window and as many packets as duplicates
    /// arrived, three at a fast retransmission; a window of fewer than four packets becomes
    /// two, inflated by two at once. For the reproduction of that paper.
    Algorithm1,
}

/// Least window after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastWindow {
    /// The controller's: two packets (RFC 5681), or four (RFC 9260).
    Controller,
    /// Twice the data that a round trip was seen to deliver while the window had room, ten packets
    /// at most, and no more than the window was before the loss: random losses leave a stream
    /// that fills no queue what it needs (after TCP Westwood). Without such evidence two
    /// packets, over SCTP too. The first two timeouts of a silence leave the window to a stream
    /// with it.
    Carried,
    /// One packet: half of the window in whole packets, as ns-2's senders have it; the slow start
    /// threshold stays the controller's. For the reproduction of papers that used ns-2.
    OnePacket,
}

/// The window when data is sent after more than one RTO without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// The window stays, however long the idle period was.
    Keep,
    /// The initial window at most (RFC 5681, section 4.1).
    InitialWindow,
    /// Halved per RTO, but not below the initial window; the threshold becomes at least three
    /// quarters of the old window, so that slow start restores it (RFC 2861, section 3; Linux
    /// TCP).
    Halve,
}

/// Losses at which the window falls in a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFalls {
    /// The first, and each loss of a retransmission that left since the window fell (RFC 5681,
    /// section 4.3).
    Again,
    /// The first only, even if a retransmission is lost (ns-2). For the reproduction of papers.
    Once,
}
