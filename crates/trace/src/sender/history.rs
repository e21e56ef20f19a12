//! Ranges that a sender has sent, with their state, as long as they matter.

use std::collections::VecDeque;

use base::Instant;

use smallvec::SmallVec;

use super::{Kind, Piece};
use crate::ranges::Ranges;

/// A packet that carried a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CarryingPacket {
    pub(crate) packet: u64,
    pub(super) kind: Kind,
    /// The receiver reported that it got the range by this packet once more.
    pub(super) reported: bool,
    /// Other evidence shows that the range did not need this packet.
    pub(super) inferred: bool,
}

impl CarryingPacket {
    pub(crate) fn new(packet: u64, kind: Kind) -> CarryingPacket {
        CarryingPacket { packet, kind, reported: false, inferred: false }
    }

    pub(super) fn is_vain(self) -> bool {
        self.reported || self.inferred
    }
}

/// The packets in which a range rode, in the order in which they were sent.
pub(crate) type CarryingPackets = SmallVec<[CarryingPacket; 1]>;

/// Acknowledged ranges that are kept, for reports of duplicates that come after the
/// acknowledgement.
const KEPT: usize = 64;
/// Ranges without an acknowledgement that are kept; beyond them the oldest is given up.
const MOST: usize = 1 << 16;
/// Most ranges kept without any acknowledgement: the other direction was not captured.
const MOST_UNHEARD: usize = 1 << 10;

/// Bytes of a TCP stream that were first sent together, or a DATA chunk.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The first number: an offset in the stream, or a TSN.
    pub(crate) start: u64,
    /// The number after the last.
    pub(crate) end: u64,
    /// Bytes of user data in the range.
    pub(crate) bytes: u32,
    /// Time of the first transmission.
    pub(crate) first: Instant,
    /// Time of the last transmission, without copies in case of loss.
    pub(crate) last: Instant,
    /// Number of times that the range was retransmitted.
    pub(crate) again: u16,
    /// The packets that carried it.
    pub(crate) carrying: CarryingPackets,
    /// Number of the packet that brought it first, if known.
    pub(crate) brought_by: Option<u64>,
    /// Whether it was the last of its packet, which is in flight until this arrives.
    pub(crate) leads: bool,
    /// Whether it was acknowledged, cumulatively or selectively.
    pub(crate) arrived: bool,
}

/// The ranges of a direction in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    ranges: VecDeque<Sent>,
    /// Number of them, from the front, that are acknowledged cumulatively.
    acknowledged: usize,
    /// Ranges acknowledged selectively, above `una`.
    selective: Ranges,
    /// The first number that is not acknowledged.
    una: u64,
    /// The number after the highest that was sent.
    next: u64,
    /// Packets whose last new range has not arrived.
    in_flight: u32,
    heard: bool,
}

impl History {
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// The first range that has not arrived.
    pub(crate) fn first_outstanding(&self) -> Option<u64> {
        let outstanding = self.ranges.iter().skip(self.acknowledged);
        // Selectively acknowledged ranges before it are rare, and at most a window of them.
        outstanding.take(MOST_UNHEARD).find(|sent| !sent.arrived).map(|sent| sent.start)
    }

    /// The packet that carried the first range.
    pub(crate) fn oldest_packet(&self) -> Option<u64> {
        self.ranges.front()?.carrying.first().map(|carrying| carrying.packet)
    }

    /// A range above all others is sent for the first time, in packet number `packet`.
    pub(crate) fn append(&mut self, piece: Piece, at: Instant, packet: u64, leads: bool) {
        let Piece { start, end, bytes } = piece;
        if self.next == 0 {
            self.una = start;
        }
        self.next = self.next.max(end);
        self.in_flight += u32::from(leads);
        self.ranges.push_back(Sent {
            start,
            end,
            bytes,
            first: at,
            last: at,
            again: 0,
            carrying: CarryingPackets::from_elem(CarryingPacket::new(packet, Kind::New), 1),
            brought_by: None,
            leads,
            arrived: false,
        });
        let most = if self.heard { MOST } else { MOST_UNHEARD };
        if self.ranges.len() > most + self.acknowledged {
            self.drop_front();
        }
    }

    fn drop_front(&mut self) {
        if let Some(gone) = self.ranges.pop_front() {
            self.acknowledged = self.acknowledged.saturating_sub(1);
            if !gone.arrived {
                self.in_flight = self.in_flight.saturating_sub(u32::from(gone.leads));
                self.una = self.una.max(gone.end);
            }
        }
    }

    /// Lets `visit` change every range that overlaps `start..end`, which it is first cut to.
    pub(crate) fn visit(&mut self, start: u64, end: u64, mut visit: impl FnMut(&mut Sent)) {
        self.split(start);
        self.split(end);
        let from = self.ranges.partition_point(|sent| sent.end <= start);
        for sent in self.ranges.range_mut(from..) {
            if sent.start >= end {
                break;
            }
            visit(sent);
        }
    }

    /// Makes a range end at `at`, if one has it in its midst.
    fn split(&mut self, at: u64) {
        let index = self.ranges.partition_point(|sent| sent.end <= at);
        let Some(sent) = self.ranges.get_mut(index).filter(|sent| sent.start < at) else { return };
        let mut left = sent.clone();
        left.end = at;
        left.bytes = u32::try_from(at - sent.start).unwrap_or(u32::MAX);
        left.leads = false;
        sent.start = at;
        sent.bytes = sent.bytes.saturating_sub(left.bytes);
        self.ranges.insert(index, left);
        if index < self.acknowledged {
            self.acknowledged += 1;
        }
        if self.ranges.len() > MOST + KEPT {
            self.drop_front();
        }
    }

    /// Records that all numbers below `cumulative` arrived; calls `visit` with ranges that were not
    /// acknowledged cumulatively before, and whether they had been selectively.
    pub(crate) fn acknowledge(&mut self, cumulative: u64, mut visit: impl FnMut(&mut Sent, bool)) {
        self.heard = true;
        if cumulative <= self.una {
            return;
        }
        self.split(cumulative);
        self.una = cumulative;
        // Data that the capture missed are acknowledged, too.
        self.next = self.next.max(cumulative);
        while let Some(sent) = self.ranges.get_mut(self.acknowledged)
            && sent.end <= cumulative
        {
            let is_new = !sent.arrived;
            if is_new {
                self.in_flight = self.in_flight.saturating_sub(u32::from(sent.leads));
            }
            sent.arrived = true;
            visit(sent, is_new);
            self.acknowledged += 1;
        }
        self.selective.forget_below(cumulative);
    }

    /// Forgets ranges that were acknowledged long ago, and calls `told` with each.
    pub(crate) fn forget(&mut self, mut told: impl FnMut(&Sent)) {
        while self.acknowledged > KEPT {
            self.ranges.front().into_iter().for_each(&mut told);
            self.drop_front();
        }
    }

    /// `start..end` arrived; calls `visit` with ranges that had not been acknowledged before.
    pub(crate) fn acknowledge_selectively(
        &mut self,
        start: u64,
        end: u64,
        mut visit: impl FnMut(&mut Sent),
    ) {
        self.heard = true;
        let (start, end) = (start.max(self.una), end.min(self.next));
        let mut fresh: smallvec::SmallVec<[(u64, u64); 4]> = smallvec::SmallVec::new();
        self.selective.insert(start, end, |from, to| fresh.push((from, to)));
        for (from, to) in fresh {
            let mut left = 0;
            self.visit(from, to, |sent| {
                if !sent.arrived {
                    sent.arrived = true;
                    left += u32::from(sent.leads);
                    visit(sent);
                }
            });
            self.in_flight = self.in_flight.saturating_sub(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Instant = Instant::from_millis(1);

    fn append(history: &mut History, start: u64, end: u64) {
        let piece = Piece { start, end, bytes: (end - start) as u32 };
        history.append(piece, AT, start, true);
    }

    fn three() -> History {
        let mut history = History::default();
        for start in [1, 101, 201] {
            append(&mut history, start, start + 100);
        }
        history
    }

    #[test]
    fn a_packet_is_in_flight_until_its_last_byte_is_acknowledged() {
        let mut history = three();
        assert_eq!((history.in_flight(), history.una(), history.next()), (3, 1, 301));
        let mut seen = Vec::new();
        history.acknowledge(151, |sent, is_new| seen.push((sent.start, sent.end, is_new)));
        assert_eq!(seen, [(1, 101, true), (101, 151, true)]);
        assert_eq!(history.in_flight(), 2);
        history.acknowledge_selectively(201, 301, |sent| assert_eq!(sent.start, 201));
        assert_eq!((history.in_flight(), history.first_outstanding()), (1, Some(151)));
        history.acknowledge_selectively(201, 301, |_| panic!("it is known already"));
        history.acknowledge(301, |sent, is_new| assert_eq!(is_new, sent.start == 151));
        assert_eq!((history.in_flight(), history.first_outstanding()), (0, None));
    }

    #[test]
    fn part_of_a_range_is_cut_out_of_it() {
        let mut history = three();
        history.visit(51, 151, |sent| sent.again += 1);
        let ranges: Vec<_> =
            history.ranges.iter().map(|sent| (sent.start, sent.bytes, sent.again)).collect();
        assert_eq!(ranges, [(1, 50, 0), (51, 50, 1), (101, 50, 1), (151, 50, 0), (201, 100, 0)]);
        assert_eq!(history.in_flight(), 3, "cutting changes nothing in flight");
    }

    #[test]
    fn without_anybody_who_acknowledges_only_so_much_is_kept() {
        let mut history = History::default();
        for start in 1..10_000 {
            append(&mut history, start, start + 1);
        }
        assert_eq!(history.ranges.len(), MOST_UNHEARD);
        assert_eq!(history.in_flight() as usize, MOST_UNHEARD);
        let mut history = History::default();
        for start in 1..10_000 {
            append(&mut history, start, start + 1);
            history.acknowledge(start + 1, |_, _| {});
            history.forget(|_| ());
        }
        assert_eq!((history.ranges.len(), history.in_flight()), (KEPT, 0));
    }
}
