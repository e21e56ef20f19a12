//! Tail loss probes (RFC 8985, section 7): if the last packets of a flight are lost, a probe makes
//! the peer report it long before the retransmission timer expires.

use core::num::NonZeroU64;

use base::{Duration, Instant};

use super::mechanism::Mechanism;
use crate::policy::{RecoveryPolicy, ThinTimeout};

/// The values that the probe timeout depends on.
#[derive(Clone, Copy, Debug)]
pub struct ProbeSituation {
    /// The smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Whether a single packet is in flight, whose acknowledgement the peer may delay.
    pub single: bool,
    /// Longest delay of the peer's acknowledgements: TLP.max_ack_delay.
    pub max_ack_delay: Duration,
}

/// Least time until a probe: with a round trip near zero the acknowledgement may be under way as
/// the probe leaves.
const TIMEOUT_MIN: Duration = Duration::from_millis(2);

/// PTO (section 7.2): time from the last transmission or acknowledgement to the probe.
pub fn probe_timeout(situation: ProbeSituation) -> Duration {
    match situation.srtt {
        Some(srtt) if situation.single => srtt * 2 + situation.max_ack_delay,
        Some(srtt) => (srtt * 2).max(TIMEOUT_MIN),
        None => Duration::from_secs(1),
    }
}

/// Deadline of a probe armed now: never after the retransmission timer.
pub fn probe_due(now: Instant, situation: ProbeSituation, rto_due: Option<Instant>) -> Instant {
    let due = now + probe_timeout(situation);
    rto_due.map_or(due, |rto_due| due.min(rto_due))
}

/// Facts of an acknowledgement while a probe is open.
#[derive(Clone, Copy, Debug)]
pub struct ProbeAck {
    /// The first unit not acknowledged cumulatively.
    pub cumulative: u64,
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Whether the peer reports that the probe's data arrived twice.
    pub duplicate: bool,
    /// Whether it is a duplicate acknowledgement without reports.
    pub bare_duplicate: bool,
}

/// End of a probe (section 7.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeFate {
    /// Neither a loss nor its absence is proven.
    Open,
    /// Nothing was lost, or the probe carried new data: the window is unchanged.
    Needless,
    /// The probe repaired the only loss of its flight: the window must fall.
    Repaired,
}

/// A probe in flight, at most one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// One past the highest unit sent before the probe: TLP.end_seq.
    end: Option<NonZeroU64>,
    /// Whether the probe carries a retransmission.
    again: bool,
    /// Whether no RTT sample came since the last probe (section 7.3).
    spent: bool,
    /// Deadline of the next probe.
    pub(crate) due: Option<Instant>,
    /// Instant at which the retransmission timer last began a round of probes.
    asked_at: Option<Instant>,
    /// Whether that round left young packets out.
    leaves_young: bool,
    /// Whether several packets were in flight at that time, and nothing sent after it has arrived.
    behind: bool,
    /// Whether the last probe whose way is known was answered within a timeout.
    passes: bool,
}

impl Mechanism for Probe {
    fn is_wanted(policy: &RecoveryPolicy) -> bool {
        policy.loss.tail_probe.is_some() || policy.timeout_while_thin == ThinTimeout::Probe
    }

    fn set_policy(&mut self, policy: &RecoveryPolicy) {
        self.due = self.due.filter(|_| policy.loss.tail_probe.is_some());
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn stop(&mut self) {
        self.due = None;
    }

    fn settle(&mut self) {
        self.on_recovery();
    }

    fn on_timeout(&mut self) {
        self.on_recovery();
    }

    fn on_recovery(&mut self) {
        self.due = None;
        self.reset();
    }

    fn on_clean_trip(&mut self) {
        self.on_sample();
    }

    fn is_blank(&self) -> bool {
        self.due.is_none()
    }
}

impl Probe {
    /// Whether no probe is outstanding and none was spent since the last RTT sample.
    pub fn may_arm(&self) -> bool {
        self.end.is_none() && !self.spent
    }

    /// A round trip was measured.
    pub fn on_sample(&mut self) {
        self.spent = false;
    }

    /// A probe left; `again`: it carries a retransmission.
    pub fn on_sent(&mut self, next_unit: u64, again: bool) {
        *self = Probe { end: NonZeroU64::new(next_unit), again, spent: true, ..*self };
    }

    /// The retransmission timer sends a probe, which begins a round. `all`: everything outstanding
    /// is retransmitted; `behind`: other packets may still be on their way before it.
    pub(crate) fn on_asked(&mut self, now: Instant, all: bool, behind: bool) {
        (self.asked_at, self.leaves_young) = (Some(now), !all);
        self.behind = behind && !self.passes;
    }

    /// A retransmission was answered; `passes`: within a timeout.
    pub(crate) fn on_way(&mut self, passes: bool) {
        self.passes = passes;
        self.behind &= !passes;
    }

    /// A packet that was sent at `sent_at` arrived.
    pub(crate) fn on_delivered(&mut self, sent_at: Instant) {
        self.behind &= self.asked_at.is_some_and(|at| sent_at <= at);
    }

    /// Whether the probe was sent behind other packets, on a line that may be narrow, and nothing
    /// that was sent after it has arrived: all of that waits for the probe, and the probe for
    /// the packets before it. That takes a round trip at most, if the line is not overloaded.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Whether a round of probes began less than a timeout ago: packets that were too young then
    /// are next. `rto`: the timeout without back-off.
    pub(crate) fn asked_within(&self, now: Instant, rto: Duration) -> bool {
        let rto = if self.behind { rto * 2 } else { rto };
        self.leaves_young && self.asked_at.is_some_and(|at| now.since(at) < rto)
    }

    /// Ends the probe: recovery began, or the retransmission timer expired.
    pub fn reset(&mut self) {
        self.end = None;
        self.again = false;
    }

    /// Whether a probe with a retransmission is in flight.
    pub fn is_open(&self) -> bool {
        self.end.is_some()
    }

    /// Judges an open probe by an acknowledgement.
    pub fn on_ack(&mut self, ack: ProbeAck) -> ProbeFate {
        let end = self.end.map(NonZeroU64::get);
        let Some(end) = end.filter(|end| ack.cumulative >= *end) else {
            return ProbeFate::Open;
        };
        let fate = if !self.again || ack.duplicate {
            ProbeFate::Needless
        } else if ack.cumulative > end {
            ProbeFate::Repaired
        } else if ack.bare_duplicate {
            ProbeFate::Needless
        } else {
            ProbeFate::Open
        };
        if fate != ProbeFate::Open {
            self.reset();
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn situation(srtt: Option<u64>, single: bool) -> ProbeSituation {
        ProbeSituation { srtt: srtt.map(millis), single, max_ack_delay: millis(200) }
    }

    #[test]
    fn the_probe_leaves_after_two_round_trips_and_a_single_packet_gets_the_peers_delay_on_top() {
        assert_eq!(probe_timeout(situation(Some(100), false)), millis(200));
        assert_eq!(probe_timeout(situation(Some(100), true)), millis(400));
        assert_eq!(probe_timeout(situation(None, false)), millis(1000));
        assert_eq!(probe_timeout(situation(None, true)), millis(1000));
    }

    #[test]
    fn the_probe_never_leaves_after_the_retransmission_timer() {
        let now = Instant::from_millis(50);
        let due = |rto| probe_due(now, situation(Some(100), false), rto);
        assert_eq!(due(None), Instant::from_millis(250));
        assert_eq!(due(Some(Instant::from_millis(251))), Instant::from_millis(250));
        assert_eq!(due(Some(Instant::from_millis(249))), Instant::from_millis(249));
    }

    const NOTHING: ProbeAck =
        ProbeAck { cumulative: 0, advanced: false, duplicate: false, bare_duplicate: false };

    fn repeated() -> Probe {
        let mut probe = Probe::default();
        probe.on_sent(10, true);
        probe
    }

    #[test]
    fn a_repetition_that_nothing_else_follows_repaired_a_loss() {
        let mut probe = repeated();
        // Everything sent before the probe is acknowledged: either the original or the probe
        // arrived.
        let arrived = ProbeAck { cumulative: 10, advanced: true, ..NOTHING };
        assert_eq!(probe.on_ack(arrived), ProbeFate::Open);
        // Data sent after the probe is acknowledged, and no duplicate was reported.
        let later = ProbeAck { cumulative: 11, advanced: true, ..NOTHING };
        assert_eq!(probe.on_ack(later), ProbeFate::Repaired);
        assert_eq!(probe.on_ack(later), ProbeFate::Open, "told once");
    }

    #[test]
    fn a_duplicate_that_the_peer_reports_was_needless() {
        let mut probe = repeated();
        let ack = ProbeAck { cumulative: 10, advanced: true, duplicate: true, ..NOTHING };
        assert_eq!(probe.on_ack(ack), ProbeFate::Needless);
        assert!(!probe.is_open());
    }

    #[test]
    fn a_bare_duplicate_acknowledgement_after_the_original_means_that_both_arrived() {
        let mut probe = repeated();
        assert_eq!(
            probe.on_ack(ProbeAck { cumulative: 10, advanced: true, ..NOTHING }),
            ProbeFate::Open
        );
        let bare = ProbeAck { cumulative: 10, bare_duplicate: true, ..NOTHING };
        assert_eq!(probe.on_ack(bare), ProbeFate::Needless);
    }

    #[test]
    fn new_data_as_a_probe_is_never_a_repair() {
        let mut probe = Probe::default();
        probe.on_sent(10, false);
        let ack = ProbeAck { cumulative: 11, advanced: true, ..NOTHING };
        assert_eq!(probe.on_ack(ack), ProbeFate::Needless);
    }

    #[test]
    fn an_acknowledgement_below_the_probe_says_nothing() {
        let mut probe = repeated();
        let ack = ProbeAck { cumulative: 9, duplicate: true, ..NOTHING };
        assert_eq!(probe.on_ack(ack), ProbeFate::Open);
        assert!(probe.is_open());
    }

    #[test]
    fn the_next_probe_needs_the_first_ones_end_and_a_measurement() {
        let mut probe = repeated();
        assert!(!probe.may_arm());
        probe.on_ack(ProbeAck { cumulative: 11, advanced: true, ..NOTHING });
        assert!(!probe.may_arm(), "nothing was measured since");
        probe.on_sample();
        assert!(probe.may_arm());
    }
}
