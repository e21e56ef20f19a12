//! Delayed acknowledgements of the receiving side (RFC 9260, section 6.2; RFC 5681, section 4.2;
//! RFC 9293, section 3.8.6.3).

use base::{Duration, Instant};

use crate::policy::AcknowledgementPolicy;

/// Bounds on the delay of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckTiming {
    /// Longest delay; `None`: every packet with data is acknowledged at once.
    pub delay: Option<Duration>,
    /// Number of packets with data that one acknowledgement covers; 1 means no delay.
    pub every: u8,
    /// Number of initial packets with data of which each is acknowledged at once.
    pub quick: u8,
}

impl Default for AckTiming {
    /// Every second packet, within 200 ms.
    fn default() -> AckTiming {
        AckTiming { delay: Some(Duration::from_millis(200)), every: 2, quick: 0 }
    }
}

impl AckTiming {
    /// The timing of a policy, in a protocol that allows delays up to `longest`.
    pub fn of(policy: &AcknowledgementPolicy, longest: Duration) -> AckTiming {
        let delay = policy.delay.map(|delay| delay.min(longest));
        AckTiming { delay, every: policy.every_packets, quick: policy.quick }
    }
}

/// The delayed acknowledgement of one association or connection.
#[derive(Clone, Debug)]
pub struct DelayedAck {
    /// The fields of [`AckTiming`], stored separately to save memory; no delay is one of zero.
    delay: Duration,
    every: u8,
    quick: u8,
    /// Packets with data since the last acknowledgement.
    pending: u8,
    /// Packets with data since the beginning, saturating at 255.
    arrived: u8,
    due: Option<Instant>,
}

impl DelayedAck {
    /// A state before the first packet.
    pub fn new(timing: AckTiming) -> DelayedAck {
        let AckTiming { delay, every, quick } = timing;
        let delay = delay.unwrap_or_default();
        DelayedAck { delay, every, quick, pending: 0, arrived: 0, due: None }
    }

    /// Number of packets with data that one acknowledgement covers, as far as the delay allows.
    pub fn every(&self) -> u8 {
        self.every
    }

    /// Changes the timing; a pending acknowledgement keeps its deadline.
    pub fn set_timing(&mut self, timing: AckTiming) {
        self.delay = timing.delay.unwrap_or_default();
        (self.every, self.quick) = (timing.every, timing.quick);
    }

    /// A packet with data arrived. `at_once`: the protocol allows no delay for it.
    pub fn on_packet(&mut self, now: Instant, at_once: bool) {
        self.pending = self.pending.saturating_add(1);
        self.arrived = self.arrived.saturating_add(1);
        // A window that grows with each acknowledgement (RFC 5681, section 3.1) opens slowly if the
        // first ones are delayed: Linux delays none of them.
        let quick = self.arrived <= self.quick && self.arrived < u8::MAX;
        let enough = at_once || quick || self.pending >= self.every;
        self.request(if enough { now } else { now + self.delay });
    }

    /// Makes an acknowledgement due at `at`; an earlier deadline stays.
    pub fn request(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |earlier| earlier.min(at)));
    }

    /// Time at which an acknowledgement must leave; `None` if none is pending.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether an acknowledgement must leave at `now`.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// An acknowledgement left, alone or with data: nothing is pending.
    pub fn on_sent(&mut self) {
        self.pending = 0;
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn with(change: impl FnOnce(&mut AckTiming)) -> DelayedAck {
        let mut timing = AckTiming::default();
        change(&mut timing);
        DelayedAck::new(timing)
    }

    #[test]
    fn a_single_packet_is_acknowledged_after_the_delay_and_the_second_at_once() {
        let mut ack = with(|_| ());
        ack.on_packet(at(10), false);
        assert_eq!(ack.due(), Some(at(210)));
        assert!(!ack.is_due(at(209)) && ack.is_due(at(210)));
        ack.on_packet(at(20), false);
        assert_eq!(ack.due(), Some(at(20)));
        ack.on_sent();
        assert_eq!(ack.due(), None);
        ack.on_packet(at(30), false);
        assert_eq!(ack.due(), Some(at(230)), "the count begins again");
    }

    #[test]
    fn a_later_packet_does_not_postpone_the_delay() {
        let mut ack = with(|timing| timing.every = 9);
        ack.on_packet(at(10), false);
        ack.on_packet(at(150), false);
        assert_eq!(ack.due(), Some(at(210)));
    }

    #[test]
    fn haste_is_not_undone_by_a_later_delay() {
        let mut ack = with(|timing| timing.every = 9);
        ack.on_packet(at(3), true);
        ack.on_packet(at(4), false);
        assert_eq!(ack.due(), Some(at(3)));
    }

    #[test]
    fn without_a_delay_every_packet_is_acknowledged_at_once() {
        let mut ack = with(|timing| timing.delay = None);
        ack.on_packet(at(5), false);
        assert_eq!(ack.due(), Some(at(5)));
    }

    #[test]
    fn the_first_packets_are_acknowledged_one_by_one_and_no_further() {
        let mut ack = with(|timing| timing.quick = 3);
        for packet in 1..=3 {
            ack.on_packet(at(10 * packet), false);
            assert_eq!(ack.due(), Some(at(10 * packet)));
            ack.on_sent();
        }
        ack.on_packet(at(40), false);
        assert_eq!(ack.due(), Some(at(240)));
    }

    #[test]
    fn quick_acknowledgements_that_are_switched_on_later_do_not_begin_again() {
        let mut ack = with(|_| ());
        for packet in 0..300 {
            ack.on_packet(at(packet), false);
            ack.on_sent();
        }
        ack.set_timing(AckTiming { quick: u8::MAX, ..AckTiming::default() });
        ack.on_packet(at(400), false);
        assert_eq!(ack.due(), Some(at(600)));
    }

    #[test]
    fn no_delay_of_a_policy_is_longer_than_the_protocol_allows() {
        let mut policy = crate::RecoveryPolicy::sctp_rfc().acknowledgement;
        policy.delay = Some(Duration::from_secs(3));
        let longest = Duration::from_millis(500);
        assert_eq!(AckTiming::of(&policy, longest).delay, Some(longest));
    }
}
