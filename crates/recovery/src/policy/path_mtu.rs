//! Conditions under which larger packets are tried on a path, and under which large ones are
//! thought to vanish (RFC 8899).

use base::Duration;

/// Bytes of an IP packet that every link of IPv6 carries (RFC 8200, section 5).
pub const IPV6_MIN_MTU: u16 = 1280;

/// Bytes of an IP packet that every link of IPv4 carries (RFC 791, section 3.2).
pub const IPV4_MIN_MTU: u16 = 68;

/// Sizes that are probed (RFC 8899, section 5.3.2, leaves the choice open).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeSizes {
    /// The largest, which mostly passes; then the middle of the remaining sizes, until the path MTU
    /// is known exactly.
    Halving,
    /// Common sizes of links, in ascending order, and the largest (RFC 4821, section 7.6): only one
    /// of these probes is lost.
    Common,
}

/// Thresholds of the search for the path MTU (RFC 8899, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuPolicy {
    /// Number of consecutive lost probes of one size after which the size counts as too large: 1
    /// or more (MAX_PROBES, section 5.1.2).
    pub max_probes: u8,
    /// Least time between two probes of a size (PROBE_TIMER, section 5.1.1). SCTP waits at least
    /// that long for the answer to a HEARTBEAT; TCP lets it pass after it noticed the loss of
    /// a probe.
    pub probe_timer: Duration,
    /// Time until a larger size is tried again (PMTU_RAISE_TIMER, section 5.1.1; RFC 1191, section
    /// 6.3).
    pub raise_timer: Duration,
    /// Number of consecutive expiries of the retransmission timer, without progress, after which
    /// large packets are thought to vanish: 1 or more (black hole detection, section 4.3).
    pub black_hole_timeouts: u8,
    /// Bytes of an IPv4 packet that nearly every path carries: the size at which a search begins,
    /// and the size in use while large packets are thought to vanish (BASE_PLPMTU, section
    /// 5.1.2). For IPv6 the base is 1280, which every link carries.
    pub base: u16,
    /// Sizes that are probed between the base size and the largest one.
    pub sizes: ProbeSizes,
    /// Longest wait of a probe that carries data for data to follow it, by which its loss would be
    /// noticed (RFC 4821, section 7.4).
    pub patience: Duration,
}

impl PathMtuPolicy {
    /// SCTP: a peer answers a HEARTBEAT at once, so that a probe's only wait is the path's timeout.
    pub const SCTP: PathMtuPolicy = PathMtuPolicy {
        max_probes: 3,
        probe_timer: Duration::from_secs(1),
        raise_timer: Duration::from_secs(600),
        black_hole_timeouts: 2,
        base: 1200,
        sizes: ProbeSizes::Halving,
        patience: Duration::from_secs(10),
    };

    /// TCP: a probe carries data, and its loss delays later data. Three expiries are R1 of RFC
    /// 9293, section 3.8.3.
    pub const TCP: PathMtuPolicy = PathMtuPolicy {
        probe_timer: Duration::from_secs(15),
        black_hole_timeouts: 3,
        base: 552,
        sizes: ProbeSizes::Common,
        ..PathMtuPolicy::SCTP
    };

    /// The base size for IPv6 or IPv4, in bytes of an IP packet.
    pub fn base_mtu(&self, is_ipv6: bool) -> u16 {
        if is_ipv6 { IPV6_MIN_MTU } else { self.base.max(IPV4_MIN_MTU) }
    }
}
