//! Recovery state of one path: round-trip time, back-off, window, timers.

use base::{Duration, Instant};

use crate::congestion::rfc9260::Rfc9260;
use crate::policy::{CongestionPolicy, RtoPolicy};
use crate::rto::{Backoff, compute_rto};
use crate::rtt::RttEstimator;
use crate::thin_stream::LossEstimator;

/// A retransmission timer that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTimer {
    pub(crate) started_at: Instant,
    pub(crate) due: Instant,
}

/// What recovery keeps for a path.
#[derive(Clone, Debug)]
pub(crate) struct PathRecovery {
    pub(crate) rtt: RttEstimator,
    pub(crate) backoff: Backoff,
    pub(crate) congestion: Rfc9260,
    pub(crate) loss: LossEstimator,
    /// T3-rtx (RFC 9260, section 6.3).
    pub(crate) t3_rtx: Option<RunningTimer>,
    /// The early fast retransmit timer (FreeBSD).
    pub(crate) early_timer: Option<Instant>,
    /// Packets that may leave whatever the window says: the first after a timeout or on entering
    /// fast recovery (RFC 9260, sections 6.3.3 E3 and 7.2.4).
    pub(crate) exempt_packets: u8,
    /// Whether the exempt packet was granted by fast retransmission.
    pub(crate) exempt_is_fast: bool,
    /// Packets of new data that limited transmit allows beyond the window (RFC 3042).
    pub(crate) limited_transmit: u8,
    /// Most bytes in flight that the present input may lead to (Max.Burst).
    pub(crate) burst_end: Option<u64>,
}

impl PathRecovery {
    pub(crate) fn new(pmdcs: u64, policy: &CongestionPolicy) -> Self {
        PathRecovery {
            rtt: RttEstimator::default(),
            backoff: Backoff::default(),
            congestion: Rfc9260::new(pmdcs, policy.initial_window),
            loss: LossEstimator::default(),
            t3_rtx: None,
            early_timer: None,
            exempt_packets: 0,
            exempt_is_fast: false,
            limited_transmit: 0,
            burst_end: None,
        }
    }

    /// The timeout with back-off.
    pub(crate) fn rto(&self, policy: &RtoPolicy, thin: bool) -> Duration {
        self.backoff.apply(compute_rto(policy, &self.rtt, thin), policy.max)
    }
}
