//! Times at which data is acknowledged (RFC 9293, section 3.8.6.3; RFC 5681, section 4.2).

use base::{Duration, Instant};
use recovery::policy::AcknowledgementPolicy;
use recovery::{AckTiming, DelayedAck};

/// Longest delay of an acknowledgement, whatever the policy says: less than half a second (RFC
/// 9293, section 3.8.6.3).
const LONGEST_DELAY: Duration = Duration::from_millis(499);

/// Delays and thresholds of the receiver; no delay exceeds [`LONGEST_DELAY`].
pub(crate) fn ack_timing(policy: &AcknowledgementPolicy) -> AckTiming {
    AckTiming::of(policy, LONGEST_DELAY)
}

/// Least size of a full-sized segment: the MSS that every host can receive (RFC 9293, section
/// 3.7.1).
const LEAST_FULL_SIZED: u32 = 536;

/// The delayed acknowledgement of one connection, with TCP's reasons for immediate ones.
#[derive(Clone, Debug)]
pub(super) struct Acknowledgement {
    delayed: DelayedAck,
    /// Largest payload so far: the size of a full-sized segment, whatever the MSS allows.
    full_sized: u32,
}

impl Acknowledgement {
    pub(super) fn new(timing: AckTiming) -> Acknowledgement {
        Acknowledgement { delayed: DelayedAck::new(timing), full_sized: LEAST_FULL_SIZED }
    }

    /// Changes the timing; a pending acknowledgement keeps its deadline.
    pub(super) fn set_timing(&mut self, timing: AckTiming) {
        self.delayed.set_timing(timing);
    }

    /// A segment of `length` bytes arrived in order, without a reason for an immediate
    /// acknowledgement. `unacknowledged`: bytes since the last acknowledgement, this segment
    /// included; `mss`: largest payload of a segment.
    pub(super) fn on_in_order(&mut self, now: Instant, length: u64, unacknowledged: u64, mss: u64) {
        let length = u32::try_from(length.min(mss)).unwrap_or(u32::MAX);
        self.full_sized = self.full_sized.max(length);
        let every = self.delayed.every();
        // One segment may have been merged from several on its way. Small segments count like large
        // ones, which RFC 5681, section 4.2, does not demand: the sender of a thin stream
        // gets its acknowledgement as soon.
        let delayable = u64::from(every.saturating_sub(1)) * u64::from(self.full_sized);
        self.delayed.on_packet(now, unacknowledged > delayable);
    }

    /// Size of a full-sized segment in bytes, as far as received segments show.
    pub(super) fn full_sized(&self) -> u32 {
        self.full_sized
    }

    /// Makes an acknowledgement due at `at`; an earlier deadline stays.
    pub(super) fn request(&mut self, at: Instant) {
        self.delayed.request(at);
    }

    /// Deadline of the pending acknowledgement.
    pub(super) fn due(&self) -> Option<Instant> {
        self.delayed.due()
    }

    /// A segment with the current acknowledgement left: nothing is pending.
    pub(super) fn on_sent(&mut self) {
        self.delayed.on_sent();
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
        let mut ack = Acknowledgement::new(AckTiming::default());
        ack.on_in_order(at(10), 100, 100, MSS);
        assert_eq!(ack.due(), Some(at(210)));
        ack.on_sent();
        assert_eq!(ack.due(), None);
    }

    #[test]
    fn the_second_segment_is_acknowledged_at_once() {
        let mut ack = Acknowledgement::new(AckTiming::default());
        ack.on_in_order(at(10), 100, 100, MSS);
        ack.on_in_order(at(20), 1, 101, MSS);
        assert_eq!(ack.due(), Some(at(20)));
    }

    #[test]
    fn a_segment_of_twice_the_mss_is_acknowledged_at_once() {
        let mut ack = Acknowledgement::new(AckTiming::default());
        ack.on_in_order(at(0), 2 * MSS, 2 * MSS, MSS);
        assert_eq!(ack.due(), Some(at(0)));
    }
}
