//! Path MTU discovery on one path of an association (RFC 8899, section 6.2): the
//! [search](PathMtuSearch), whose probe is a HEARTBEAT padded with PAD. The peer answers it at
//! once, so an unanswered probe is lost after its timeout, and its loss never counts as congestion.
//! Sizes are bytes of SCTP packets.

use base::{Duration, Instant};
use recovery::path_mtu::{PathMtuSearch, PathMtuState, SizeLimits, Suspicion};
use recovery::policy::PathMtuPolicy;

/// A probe that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Probe {
    nonce: u64,
    lost_at: Instant,
}

/// Sizes of packets with the outstanding data when a retransmission timer expires, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSizes {
    /// Size of a packet with all outstanding data, an upper bound.
    pub(crate) outstanding: usize,
    /// Size of the smallest packet missing for a round trip, if the peer reports gaps.
    pub(crate) smallest: Option<usize>,
}

/// The search for the path MTU and its probe in flight, if any.
#[derive(Clone, Debug)]
pub(crate) struct PathMtuDiscovery {
    search: PathMtuSearch<Probe>,
    /// Consecutive timeouts at this cumulative point.
    stalled: (u64, u8),
}

impl PathMtuDiscovery {
    /// Begins with the base size, which is probed at once.
    pub(crate) fn new(now: Instant, limits: SizeLimits) -> Self {
        PathMtuDiscovery { search: PathMtuSearch::new(now, limits), stalled: (0, 0) }
    }

    /// Size of the largest permissible packet, in bytes.
    pub(crate) fn size(&self) -> u16 {
        self.search.size()
    }

    /// State of the path MTU search (RFC 8899, section 5.2).
    pub(crate) fn state(&self) -> PathMtuState {
        self.search.state()
    }

    /// Sets the largest size to `max` ([`PathMtuSearch::set_max`]).
    pub(crate) fn set_max(&mut self, max: u16) {
        self.search.set_max(max);
    }

    /// Time at which the probe in flight counts as lost, or at which the next one is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.search.probe().map(|(_, probe)| probe.lost_at).or(self.search.next_due())
    }

    /// Runs the timer at `now`: a probe may be lost.
    pub(crate) fn handle_timeout(&mut self, now: Instant, policy: &PathMtuPolicy) {
        if self.search.probe().is_some_and(|(_, probe)| probe.lost_at <= now) {
            self.search.on_probe_lost(now, now, policy);
        }
    }

    /// The size of the probe to send now, which carries `nonce` and counts as lost if it is not
    /// answered within `timeout`.
    pub(crate) fn take_probe(
        &mut self,
        now: Instant,
        timeout: Duration,
        nonce: u64,
        policy: &PathMtuPolicy,
    ) -> Option<u16> {
        let size = self.search.due(now, policy)?;
        let lost_at = now + timeout.max(policy.probe_timer);
        self.search.on_probe_sent(size, Probe { nonce, lost_at });
        Some(size)
    }

    /// A HEARTBEAT with `nonce` was answered; returns whether it was the probe in flight.
    pub(crate) fn on_answer(&mut self, now: Instant, nonce: u64, policy: &PathMtuPolicy) -> bool {
        let is_probe = self.search.probe().is_some_and(|(_, probe)| probe.nonce == nonce);
        if is_probe {
            self.search.on_probe_arrived(now, policy);
            self.stalled = (0, 0);
        }
        is_probe
    }

    /// A router reports, verified by the endpoint, that packets above `size` do not pass.
    pub(crate) fn on_packet_too_big(&mut self, now: Instant, size: u16, policy: &PathMtuPolicy) {
        let before = self.search.size();
        self.search.on_packet_too_big(now, size, policy);
        if self.search.size() != before {
            self.stalled = (0, 0);
        }
    }

    /// The path's retransmission timer expired at this cumulative point, with outstanding data of
    /// these sizes: if large packets are thought to vanish, a new search begins. Returns
    /// whether it does. A missing packet that is no larger than every path carries proves that
    /// size is not the reason.
    pub(crate) fn on_data_timeout(
        &mut self,
        now: Instant,
        cumulative: u64,
        sizes: DataSizes,
        policy: &PathMtuPolicy,
    ) -> bool {
        if sizes.smallest.is_some_and(|size| size <= usize::from(self.search.least())) {
            self.stalled = (0, 0);
            return false;
        }
        let size = u16::try_from(sizes.outstanding).unwrap_or(u16::MAX);
        // Data of less than the fallback size cannot have filled a larger packet.
        if size <= self.search.fallback() {
            return false;
        }
        let (before, count) = self.stalled;
        let count = if before == cumulative { count.saturating_add(1) } else { 1 };
        self.stalled = (cumulative, count);
        let vanishes = self.search.on_timeout(count, size, policy) == Suspicion::Arisen;
        if vanishes {
            // Probes of the base size, not data, confirm the suspicion.
            self.search.restart(now);
            self.stalled = (0, 0);
        }
        vanishes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SizeLimits =
        SizeLimits { min: 548, base: 1172, max: 1472, headers: 28, multiple: 4 };
    const RTT: Duration = Duration::from_millis(100);
    const SECOND: Duration = Duration::from_secs(1);
    const POLICY: PathMtuPolicy = PathMtuPolicy::SCTP;
    const START: Instant = Instant::ZERO;

    /// Sizes when `outstanding` bytes are outstanding, all in packets above the base size.
    fn large(outstanding: usize) -> DataSizes {
        DataSizes { outstanding, smallest: None }
    }

    #[test]
    fn a_probe_is_lost_after_the_timeout_of_the_path_or_the_probe_timer() {
        for timeout in [RTT, SECOND * 3] {
            let mut discovery = PathMtuDiscovery::new(START, LIMITS);
            assert_eq!(discovery.take_probe(START, timeout, 1, &POLICY), Some(1172));
            let lost_at = START + timeout.max(SECOND);
            assert_eq!(discovery.next_timeout(), Some(lost_at));
            discovery.handle_timeout(lost_at.before(RTT), &POLICY);
            assert_eq!(discovery.take_probe(lost_at.before(RTT), timeout, 2, &POLICY), None);
            discovery.handle_timeout(lost_at, &POLICY);
            assert_eq!(discovery.take_probe(lost_at, timeout, 2, &POLICY), Some(1172));
        }
    }

    #[test]
    fn only_the_answer_to_the_probe_confirms_its_size_and_once() {
        let mut discovery = PathMtuDiscovery::new(START, LIMITS);
        assert_eq!(discovery.take_probe(START, RTT, 7, &POLICY), Some(1172));
        assert!(!discovery.on_answer(START + RTT, 8, &POLICY));
        assert!(discovery.on_answer(START + RTT, 7, &POLICY));
        assert!(!discovery.on_answer(START + RTT, 7, &POLICY));
        assert_eq!(discovery.take_probe(START + RTT, RTT, 9, &POLICY), Some(1472));
    }

    #[test]
    fn two_timeouts_without_progress_are_a_black_hole_and_two_with_progress_are_not() {
        let mut discovery = PathMtuDiscovery::new(START, LIMITS);
        for nonce in [1, 2] {
            discovery.take_probe(START, RTT, nonce, &POLICY);
            assert!(discovery.on_answer(START, nonce, &POLICY));
        }
        assert_eq!(discovery.size(), 1472);
        assert!(!discovery.on_data_timeout(START, 10, large(1472), &POLICY));
        assert!(!discovery.on_data_timeout(START, 11, large(1472), &POLICY));
        assert!(!discovery.on_data_timeout(START, 11, large(1172), &POLICY), "too small");
        assert!(discovery.on_data_timeout(START, 11, large(1472), &POLICY));
        assert_eq!((discovery.size(), discovery.next_timeout()), (1172, Some(START)));
        assert!((0..9).all(|_| !discovery.on_data_timeout(START, 11, large(1472), &POLICY)));
    }

    #[test]
    fn where_small_packets_are_missing_too_size_is_not_why() {
        let mut discovery = PathMtuDiscovery::new(START, LIMITS);
        for nonce in [1, 2] {
            discovery.take_probe(START, RTT, nonce, &POLICY);
            assert!(discovery.on_answer(START, nonce, &POLICY));
        }
        let missing = |smallest| DataSizes { outstanding: 5000, smallest: Some(smallest) };
        assert!((0..9).all(|_| !discovery.on_data_timeout(START, 10, missing(548), &POLICY)));
        assert!(!discovery.on_data_timeout(START, 10, missing(552), &POLICY), "the first");
        assert!(discovery.on_data_timeout(START, 10, missing(552), &POLICY));
    }
}
