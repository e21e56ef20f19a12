//! Measuring a flow of probes, in virtual time and in real time alike: when each message was delivered,
//! and after how many retransmissions of it.

use std::collections::VecDeque;

use results::LatencyByRetransmissions;

use crate::probe::{Probe, ProbeError};
use crate::report::{PolicyReport, PolicyResults, Retransmissions};
use base::{Duration, Instant};
use recovery::{Event, RecoveryStats};

/// How often the messages on their way were retransmitted. Memory is that of the messages not yet
/// delivered.
///
/// Message i of a flow is unit `first_unit + i` of the sender's recovery, which holds while every
/// message fits one DATA chunk.
#[derive(Clone, Debug)]
pub struct FlowTracker {
    first_unit: u64,
    /// Messages below this one are delivered.
    base: u64,
    /// Of message `base` and those after it.
    messages: VecDeque<Tracked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracked {
    OnItsWay { retransmissions: u32 },
    Delivered,
}

/// A message that reached the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// What the message says of itself.
    pub probe: Probe,
    /// From when it was due until now.
    pub latency: Duration,
    /// Retransmissions of it that were sent before.
    pub retransmissions: u32,
}

impl FlowTracker {
    /// Messages tracked at once; what lies further ahead counts as never retransmitted.
    const LIMIT: u64 = 1 << 20;

    /// A flow whose first message is unit `first_unit`.
    pub fn new(first_unit: u64) -> FlowTracker {
        FlowTracker { first_unit, base: 0, messages: VecDeque::new() }
    }

    /// Takes an event of the sender's recovery in. All events up to a delivery come before it.
    pub fn on_recovery_event(&mut self, event: &Event) {
        if let Event::Resent { unit, .. } = event
            && let Some(index) = unit.checked_sub(self.first_unit)
            && let Some(Tracked::OnItsWay { retransmissions }) = self.slot(index)
        {
            *retransmissions += 1;
        }
    }

    /// A message reached the application at `now`, in the clock of its due time.
    ///
    /// # Errors
    /// When it is no measuring message or not as it was sent.
    pub fn on_delivered(&mut self, now: Instant, payload: &[u8]) -> Result<Delivered, ProbeError> {
        let probe = Probe::decode(payload)?;
        let slot = self.slot(probe.index);
        let before = slot.map(|slot| core::mem::replace(slot, Tracked::Delivered));
        while self.messages.front() == Some(&Tracked::Delivered) {
            self.messages.pop_front();
            self.base += 1;
        }
        let retransmissions = match before {
            Some(Tracked::OnItsWay { retransmissions }) => retransmissions,
            Some(Tracked::Delivered) | None => 0,
        };
        Ok(Delivered { probe, latency: now.since(probe.due), retransmissions })
    }

    fn slot(&mut self, index: u64) -> Option<&mut Tracked> {
        let offset = index.checked_sub(self.base).filter(|offset| *offset < Self::LIMIT)? as usize;
        if offset >= self.messages.len() {
            self.messages.resize(offset + 1, Tracked::OnItsWay { retransmissions: 0 });
        }
        self.messages.get_mut(offset)
    }
}

/// What one policy achieved, flow by flow. The order in which flows are added does not matter.
#[derive(Clone, Debug, Default)]
pub struct PolicyMeter {
    /// Messages that were due.
    pub messages: u64,
    /// Messages that reached the application.
    pub delivered: u64,
    /// Messages that did not arrive as they were sent.
    pub damaged: u64,
    /// Latency by number of retransmissions.
    pub latencies: LatencyByRetransmissions,
    /// Chunks sent again, by cause and order.
    pub retransmissions: Retransmissions,
    /// Retransmissions that the peer reported to have been needless.
    pub spurious: u64,
    /// Packets sent by the sender of the messages.
    pub packets_sent: u64,
    /// Bytes of those packets, IP and UDP headers included.
    pub bytes_sent: u64,
}

impl PolicyMeter {
    /// Counts a message that reached the application.
    pub fn record(&mut self, delivered: &Delivered) {
        self.delivered += 1;
        self.latencies.record(delivered.retransmissions, delivered.latency);
    }

    /// Adds the counters of a sender that is done.
    pub fn add_recovery(&mut self, stats: &RecoveryStats) {
        self.retransmissions.add(Retransmissions::from(stats.retransmissions));
        self.spurious += stats.spurious;
    }

    /// Adds all that `other` measured.
    pub fn merge(&mut self, other: &PolicyMeter) {
        self.messages += other.messages;
        self.delivered += other.delivered;
        self.damaged += other.damaged;
        self.latencies.merge(&other.latencies);
        self.retransmissions.add(other.retransmissions);
        self.spurious += other.spurious;
        self.packets_sent += other.packets_sent;
        self.bytes_sent += other.bytes_sent;
    }

    /// The numbers for a report.
    pub fn results(&self) -> PolicyResults {
        PolicyResults {
            messages: self.messages,
            delivered: self.delivered,
            latency_ms: self.latencies.all().summary(),
            latency_by_retransmissions_ms: self.latencies.summary(),
            retransmissions: self.retransmissions,
            spurious: self.spurious,
            packets_sent: self.packets_sent,
            bytes_sent: self.bytes_sent,
        }
    }

    /// Numbers and distribution for a report, without a ladder.
    pub fn report(&self, name: &str, description: &str) -> PolicyReport {
        PolicyReport {
            name: name.to_owned(),
            description: description.to_owned(),
            results: self.results(),
            cdf: self.latencies.all().cdf(self.messages),
            ladder: None,
        }
    }
}

impl From<recovery::RetransmissionCounts> for Retransmissions {
    fn from(counts: recovery::RetransmissionCounts) -> Retransmissions {
        let [first, second, third, more] = counts.by_order;
        Retransmissions {
            total: counts.total(),
            timeout: counts.timeout,
            fast: counts.fast,
            early: counts.early,
            bundled: counts.bundled,
            probe: counts.probe,
            first,
            second,
            third,
            more,
        }
    }
}

impl Retransmissions {
    /// Adds those of another sender.
    pub fn add(&mut self, other: Retransmissions) {
        self.total += other.total;
        self.timeout += other.timeout;
        self.fast += other.fast;
        self.early += other.early;
        self.bundled += other.bundled;
        self.probe += other.probe;
        self.first += other.first;
        self.second += other.second;
        self.third += other.third;
        self.more += other.more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recovery::Cause;

    fn message(index: u64) -> Vec<u8> {
        let mut payload = Vec::new();
        let probe = Probe { flow: 1, index, due: Instant::from_millis(1000 + index) };
        probe.encode_into(50, &mut payload).unwrap();
        payload
    }

    fn resent(unit: u64) -> Event {
        Event::Resent { unit, cause: Cause::Fast, order: 1 }
    }

    #[test]
    fn a_message_is_measured_from_its_due_time_with_the_retransmissions_before_its_delivery() {
        let mut tracker = FlowTracker::new(100);
        for unit in [101, 101, 102] {
            tracker.on_recovery_event(&resent(unit));
        }
        let mut deliver = |index, millis| {
            tracker.on_delivered(Instant::from_millis(millis), &message(index)).unwrap()
        };
        let first = deliver(0, 1050);
        assert_eq!((first.latency, first.retransmissions), (Duration::from_millis(50), 0));
        let second = deliver(1, 1801);
        assert_eq!((second.latency, second.retransmissions), (Duration::from_millis(800), 2));
        assert_eq!(deliver(2, 1801).retransmissions, 1);
    }

    #[test]
    fn messages_out_of_order_are_tracked_and_then_forgotten() {
        let mut tracker = FlowTracker::new(0);
        for index in [3, 1, 2, 0] {
            tracker.on_delivered(Instant::from_millis(2000), &message(index)).unwrap();
        }
        assert!(tracker.messages.is_empty());
        // A late, needless retransmission of what is delivered takes no memory.
        tracker.on_recovery_event(&resent(2));
        assert!(tracker.messages.is_empty());
        assert_eq!(tracker.base, 4);
    }

    #[test]
    fn a_wild_index_takes_no_memory_and_a_damaged_message_is_an_error() {
        let mut tracker = FlowTracker::new(0);
        tracker.on_delivered(Instant::from_millis(2000), &message(u64::MAX / 2)).unwrap();
        assert!(tracker.messages.is_empty());
        let mut damaged = message(0);
        damaged[40] ^= 1;
        assert!(tracker.on_delivered(Instant::from_millis(2000), &damaged).is_err());
    }
}
