//! Times at which data reached the transport layer, and at which the application could have them:
//! in the order of their stream, messages as a whole.

use std::collections::{BTreeMap, VecDeque};

use base::{Duration, Instant};

use super::samples::Sample;
use super::{Unit, difference};
use crate::sender::Piece;

/// Data not seen to arrive within this time delays no later data: the capture has missed it.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Data that the application will get.
#[derive(Clone, Debug)]
struct Awaited {
    start: u64,
    end: u64,
    bytes: u32,
    /// Part of `start..end` that has not arrived.
    missing: u64,
    sent: Instant,
    queue: u64,
    ends: bool,
    is_done: bool,
}

/// Data that wait for earlier data.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// First numbers of the ranges that wait, ascending.
    waiting: VecDeque<u64>,
    /// Parts of a message of which the last is not there yet: when sent, how many bytes.
    gathered: Vec<(Instant, u32)>,
}

/// Data under way to the application.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Pieces that the receiver awaits, ascending.
    awaited: VecDeque<Awaited>,
    queues: BTreeMap<u64, Queue>,
    /// The queue of the fragments of an unordered message that is being sent.
    unordered: u64,
}

impl Delivery {
    /// A piece is sent for the first time.
    pub(super) fn on_sent(&mut self, at: Instant, piece: Piece, unit: Unit) {
        // The fragments of an unordered message wait for each other, and for no other fragment.
        const UNORDERED: u64 = 1 << 63;
        if unit.begins {
            self.unordered = UNORDERED | piece.start;
        }
        let queue = if unit.is_ordered { u64::from(unit.stream) } else { self.unordered };
        if self.awaited.back().is_some_and(|last| last.end > piece.start) {
            return;
        }
        self.queues.entry(queue).or_default().waiting.push_back(piece.start);
        self.awaited.push_back(Awaited {
            start: piece.start,
            end: piece.end,
            bytes: piece.bytes,
            missing: piece.end - piece.start,
            sent: at,
            queue,
            ends: unit.ends,
            is_done: false,
        });
    }

    /// `from..to` arrives for the first time. Calls `told` with delays to the transport layer, and
    /// with those to the application, which are marked.
    pub(super) fn on_arrival(
        &mut self,
        at: Instant,
        from: u64,
        to: u64,
        mut told: impl FnMut(Sample, bool),
    ) {
        let mut index = self.awaited.partition_point(|awaited| awaited.end <= from);
        while let Some(awaited) = self.awaited.get_mut(index)
            && awaited.start < to
        {
            index += 1;
            let overlap = awaited.end.min(to) - awaited.start.max(from);
            let length = awaited.end - awaited.start;
            let bytes = match u64::from(awaited.bytes) {
                bytes if bytes == length => overlap as u32,
                _ => awaited.bytes,
            };
            let (sent, queue) = (awaited.sent, awaited.queue);
            told(Sample { sent, delay: difference(sent, at), bytes }, false);
            awaited.missing = awaited.missing.saturating_sub(overlap);
            if awaited.missing == 0 {
                self.deliver(at, queue, |sample| told(sample, true));
            }
        }
        self.forget();
    }

    /// Delivers complete data from the front of a queue.
    fn deliver(&mut self, at: Instant, queue: u64, mut told: impl FnMut(Sample)) {
        let Some(entry) = self.queues.get_mut(&queue) else { return };
        while let Some(start) = entry.waiting.front().copied() {
            let index = self.awaited.partition_point(|awaited| awaited.start < start);
            let Some(awaited) = self.awaited.get_mut(index).filter(|it| it.start == start) else {
                entry.waiting.pop_front();
                continue;
            };
            if awaited.missing > 0 {
                break;
            }
            awaited.is_done = true;
            entry.waiting.pop_front();
            entry.gathered.push((awaited.sent, awaited.bytes));
            if awaited.ends {
                for (sent, bytes) in entry.gathered.drain(..) {
                    told(Sample { sent, delay: difference(sent, at), bytes });
                }
            }
        }
        if entry.waiting.is_empty() && entry.gathered.is_empty() {
            self.queues.remove(&queue);
        }
    }

    fn forget(&mut self) {
        while self.awaited.front().is_some_and(|awaited| awaited.is_done) {
            self.awaited.pop_front();
        }
    }

    /// Stops waiting for data sent long before `by`; returns how many these are.
    pub(super) fn give_up(&mut self, by: Instant, mut told: impl FnMut(Sample)) -> u64 {
        let mut given_up = 0;
        while let Some(front) = self.awaited.front() {
            if front.is_done {
                self.awaited.pop_front();
            } else if front.missing > 0 && front.sent + LONGEST_WAIT < by {
                given_up += 1;
                self.drop_front(by, &mut told);
            } else {
                break;
            }
        }
        given_up
    }

    /// The sender gave up all data up to `number`.
    pub(super) fn skip(&mut self, at: Instant, number: u64, mut told: impl FnMut(Sample)) {
        while self.awaited.front().is_some_and(|front| front.start <= number) {
            match self.awaited.front() {
                Some(front) if front.missing > 0 => self.drop_front(at, &mut told),
                // Data that have arrived stay in their queue until those before them are gone.
                Some(front) if !front.is_done => {
                    let queue = front.queue;
                    self.deliver(at, queue, &mut told);
                    self.awaited.pop_front();
                }
                _ => {
                    self.awaited.pop_front();
                }
            }
        }
    }

    fn drop_front(&mut self, at: Instant, told: &mut impl FnMut(Sample)) {
        let Some(gone) = self.awaited.pop_front() else { return };
        if let Some(queue) = self.queues.get_mut(&gone.queue) {
            match queue.waiting.front() {
                Some(first) if *first == gone.start => drop(queue.waiting.pop_front()),
                _ => queue.waiting.retain(|start| *start != gone.start),
            }
            queue.gathered.clear();
        }
        self.deliver(at, gone.queue, told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn chunk(start: u64) -> Piece {
        Piece { start, end: start + 1, bytes: 100 }
    }

    fn unit(start: u64, stream: u16) -> Unit {
        Unit { stream, ..Unit::of_bytes(start) }
    }

    /// Deliveries when `start` arrives: bytes and delays in ms.
    fn arrive(delivery: &mut Delivery, at: u64, start: u64) -> Vec<(u32, i64)> {
        let mut delivered = Vec::new();
        delivery.on_arrival(ms(at), start, start + 1, |sample, is_delivery| {
            if is_delivery {
                delivered.push((sample.bytes, sample.delay / 1_000_000));
            }
        });
        delivered
    }

    #[test]
    fn a_stream_waits_for_what_it_misses_and_other_streams_do_not() {
        let mut delivery = Delivery::default();
        for (start, stream) in [(1, 0), (2, 0), (3, 7), (4, 0)] {
            delivery.on_sent(ms(start * 10), chunk(start), unit(start, stream));
        }
        assert_eq!(arrive(&mut delivery, 60, 2), []);
        assert_eq!(arrive(&mut delivery, 70, 3), [(100, 40)]);
        assert_eq!(arrive(&mut delivery, 80, 4), []);
        assert_eq!(arrive(&mut delivery, 90, 1), [(100, 80), (100, 70), (100, 50)]);
        assert!(delivery.awaited.is_empty() && delivery.queues.is_empty());
    }

    #[test]
    fn a_message_is_delivered_as_a_whole_and_unordered_ones_at_once() {
        let mut delivery = Delivery::default();
        let first = Unit { ends: false, ..unit(1, 0) };
        let last = Unit { begins: false, ..unit(2, 0) };
        delivery.on_sent(ms(0), chunk(1), first);
        delivery.on_sent(ms(0), chunk(2), last);
        delivery.on_sent(ms(0), chunk(3), Unit { is_ordered: false, ..unit(3, 0) });
        assert_eq!(arrive(&mut delivery, 10, 3), [(100, 10)]);
        assert_eq!(arrive(&mut delivery, 20, 1), []);
        assert_eq!(arrive(&mut delivery, 30, 2), [(100, 30), (100, 30)]);
    }

    #[test]
    fn a_part_of_a_segment_reaches_the_transport_layer_alone() {
        let mut delivery = Delivery::default();
        let piece = Piece { start: 1, end: 101, bytes: 100 };
        delivery.on_sent(ms(0), piece, Unit::of_bytes(1));
        let mut seen = Vec::new();
        let mut told = |sample: Sample, is_delivery| seen.push((sample.bytes, is_delivery));
        delivery.on_arrival(ms(10), 1, 41, &mut told);
        delivery.on_arrival(ms(20), 41, 101, &mut told);
        assert_eq!(seen, [(40, false), (60, false), (100, true)]);
    }

    #[test]
    fn what_is_skipped_or_never_seen_keeps_nobody_waiting() {
        let mut delivery = Delivery::default();
        for start in 1..=4 {
            delivery.on_sent(ms(0), chunk(start), unit(start, 0));
        }
        assert_eq!(arrive(&mut delivery, 10, 2), []);
        let mut delivered = 0;
        delivery.skip(ms(20), 1, |_| delivered += 1);
        assert_eq!(delivered, 1, "2 stood behind 1");
        assert_eq!(arrive(&mut delivery, 30, 4), []);
        assert_eq!(delivery.give_up(ms(119_000), |_| ()), 0);
        assert_eq!(delivery.give_up(ms(121_000), |_| delivered += 1), 1);
        assert_eq!(delivered, 2, "4 stood behind 3");
    }
}
