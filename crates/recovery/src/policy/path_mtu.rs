//! When larger packets are tried on a path, and when large ones are thought to vanish (RFC 8899).

use base::Duration;

/// Thresholds of the search for the path MTU (RFC 8899, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuPolicy {
    /// Probes of one size in a row that must be lost before it counts as too large: 1 or more (MAX_PROBES,
    /// section 5.1.2).
    pub max_probes: u8,
    /// The least time from one probe of a size to the next (PROBE_TIMER, section 5.1.1). SCTP waits at least that long
    /// for the answer to a HEARTBEAT; TCP lets as much pass once it has noticed that a probe was lost.
    pub probe_timer: Duration,
    /// How long a result holds before a larger size is tried (PMTU_RAISE_TIMER, section 5.1.1; RFC 1191, section 6.3).
    pub raise_timer: Duration,
    /// Expiries of the retransmission timer in a row, without progress, after which large packets are thought to vanish:
    /// 1 or more (black hole detection, section 4.3).
    pub black_hole_timeouts: u8,
}

impl PathMtuPolicy {
    /// SCTP: a peer answers a HEARTBEAT at once, so that the path's timeout is all that a probe needs.
    pub const SCTP: PathMtuPolicy = PathMtuPolicy {
        max_probes: 3,
        probe_timer: Duration::from_secs(1),
        raise_timer: Duration::from_secs(600),
        black_hole_timeouts: 2,
    };

    /// TCP: a probe is data, and its loss delays what follows it. Three expiries are R1 of RFC 9293, section 3.8.3.
    pub const TCP: PathMtuPolicy = PathMtuPolicy {
        probe_timer: Duration::from_secs(15),
        black_hole_timeouts: 3,
        ..PathMtuPolicy::SCTP
    };
}
