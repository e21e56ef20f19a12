//! When to acknowledge (RFC 9293, section 3.8.6.3; RFC 5681, section 4.2).

use base::{Duration, Instant};
use recovery::policy::AcknowledgementPolicy;

/// How long an acknowledgement may wait for more to acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// The longest that it waits (at most 500 ms by RFC 9293, MUST-40); none: never.
    pub delay: Option<Duration>,
    /// Segments that are acknowledged together; 1 is as good as no delay.
    pub every: u8,
    /// The first segments, of which each is acknowledged at once.
    pub quick: u8,
}

impl Default for AckPolicy {
    /// Every second segment, within 200 ms.
    fn default() -> AckPolicy {
        AckPolicy { delay: Some(Duration::from_millis(200)), every: 2, quick: 0 }
    }
}

impl From<&AcknowledgementPolicy> for AckPolicy {
    fn from(policy: &AcknowledgementPolicy) -> AckPolicy {
        let delay = policy.delay.map(|delay| delay.min(LONGEST_DELAY));
        AckPolicy { delay, every: policy.every_packets, quick: policy.quick }
    }
}

/// No acknowledgement is delayed by half a second, whatever the policy says (RFC 9293, section 3.8.6.3).
const LONGEST_DELAY: Duration = Duration::from_millis(499);

/// No segment smaller than this counts as full-sized: the MSS that every host can receive (RFC 9293,
/// section 3.7.1).
const LEAST_FULL_SIZED: u32 = 536;

/// The delayed acknowledgement of one connection.
#[derive(Clone, Debug)]
pub(super) struct Acknowledgement {
    policy: AckPolicy,
    /// Segments with data since the last acknowledgement.
    pending: u8,
    /// Segments with data in order since the connection began, as far as it matters.
    arrived: u8,
    /// The largest payload so far: what a full-sized segment is, whatever the MSS would allow.
    full_sized: u32,
    due: Option<Instant>,
}

impl Acknowledgement {
    pub(super) fn new(policy: AckPolicy) -> Acknowledgement {
        Acknowledgement { policy, pending: 0, arrived: 0, full_sized: LEAST_FULL_SIZED, due: None }
    }

    /// Changes the policy; what waits already keeps its time.
    pub(super) fn set_policy(&mut self, policy: AckPolicy) {
        self.policy = policy;
    }

    /// A segment of `length` bytes came in order; nothing about it calls for haste. `unacknowledged`:
    /// bytes since the last acknowledgement, this segment included; `mss`: what a segment may hold.
    pub(super) fn on_in_order(&mut self, now: Instant, length: u64, unacknowledged: u64, mss: u64) {
        let length = u32::try_from(length.min(mss)).unwrap_or(u32::MAX);
        self.full_sized = self.full_sized.max(length);
        self.pending = self.pending.saturating_add(1);
        self.arrived = self.arrived.saturating_add(1);
        let every = self.policy.every;
        // One segment may be several that were put together on their way to us. Small ones count like large
        // ones, which RFC 5681, section 4.2, does not ask for: the sender of a thin stream is told as soon.
        let delayable = u64::from(every.saturating_sub(1)) * u64::from(self.full_sized);
        let enough = self.pending >= every || unacknowledged > delayable;
        // A window that grows by each acknowledgement (RFC 5681, section 3.1) is slow to open where the first ones
        // wait: Linux delays none of them.
        let enough = enough || (self.arrived <= self.policy.quick && self.arrived < u8::MAX);
        match self.policy.delay {
            Some(delay) if !enough => self.request(now + delay),
            _ => self.request(now),
        }
    }

    /// Bytes of a full-sized segment, as far as what came tells.
    pub(super) fn full_sized(&self) -> u32 {
        self.full_sized
    }

    /// An acknowledgement is due at `at`, or earlier if it is already.
    pub(super) fn request(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |earlier| earlier.min(at)));
    }

    /// When it is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// An acknowledgement has been sent.
    pub(super) fn on_sent(&mut self) {
        self.pending = 0;
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1460;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn a_single_segment_is_acknowledged_after_the_delay() {
        let mut ack = Acknowledgement::new(AckPolicy::default());
        ack.on_in_order(at(10), 100, 100, MSS);
        assert_eq!(ack.due(), Some(at(210)));
        ack.on_sent();
        assert_eq!(ack.due(), None);
    }

    #[test]
    fn the_second_segment_is_acknowledged_at_once() {
        let mut ack = Acknowledgement::new(AckPolicy::default());
        ack.on_in_order(at(10), 100, 100, MSS);
        ack.on_in_order(at(20), 1, 101, MSS);
        assert_eq!(ack.due(), Some(at(20)));
    }

    #[test]
    fn a_segment_of_twice_the_mss_is_acknowledged_at_once() {
        let mut ack = Acknowledgement::new(AckPolicy::default());
        ack.on_in_order(at(0), 2 * MSS, 2 * MSS, MSS);
        assert_eq!(ack.due(), Some(at(0)));
    }

    #[test]
    fn without_a_delay_every_segment_is_acknowledged_at_once() {
        let mut ack = Acknowledgement::new(AckPolicy { delay: None, ..AckPolicy::default() });
        ack.on_in_order(at(5), 1, 1, MSS);
        assert_eq!(ack.due(), Some(at(5)));
    }

    #[test]
    fn the_first_segments_are_acknowledged_one_by_one_and_no_further() {
        let mut ack = Acknowledgement::new(AckPolicy { quick: 3, ..AckPolicy::default() });
        for segment in 1..=3 {
            ack.on_in_order(at(10 * segment), 100, 100, MSS);
            assert_eq!(ack.due(), Some(at(10 * segment)));
            ack.on_sent();
        }
        ack.on_in_order(at(40), 100, 100, MSS);
        assert_eq!(ack.due(), Some(at(240)));
    }

    #[test]
    fn quick_acknowledgements_that_are_switched_on_later_do_not_begin_again() {
        let mut ack = Acknowledgement::new(AckPolicy::default());
        for segment in 0..300 {
            ack.on_in_order(at(segment), 100, 100, MSS);
            ack.on_sent();
        }
        ack.set_policy(AckPolicy { quick: u8::MAX, ..AckPolicy::default() });
        ack.on_in_order(at(400), 100, 100, MSS);
        assert_eq!(ack.due(), Some(at(600)));
    }

    #[test]
    fn haste_is_not_undone_by_a_later_delay() {
        let mut ack = Acknowledgement::new(AckPolicy { every: 9, ..AckPolicy::default() });
        ack.request(at(3));
        ack.on_in_order(at(4), 10, 10, MSS);
        assert_eq!(ack.due(), Some(at(3)));
    }
}
