//! Fate of each packet as far as its sender can tell: which one brought a range first, which
//! arrived in vain, which were lost.
//!
//! There are three kinds of evidence. A packet whose last number is not acknowledged has not
//! arrived. An echoed timestamp is at least as young as any packet that arrived at or below the
//! left edge (RFC 7323, section 4.3). And a range that the receiver reports as a duplicate (RFC
//! 2883; RFC 9260, section 3.3.4) came with the packet that the report answers, and with an earlier
//! one: so a redundant copy that is not reported was the first to arrive, and its original was
//! lost, although it was not retransmitted.

use std::collections::VecDeque;

use base::{Duration, Instant};
use smallvec::SmallVec;

use super::Kind;
use super::counts::Counts;
use super::history::{CarryingPacket, Sent};

/// Most packets that are remembered, until their fate is known.
const MOST_PACKETS: usize = 1 << 16;
/// Packets of a range that are remembered: the first and the latest.
const MOST_CARRYING: usize = 32;

/// Fate of a packet, as far as acknowledgements and retransmissions show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fate {
    /// Unknown, or not known yet.
    #[default]
    Open,
    Arrived,
    /// A retransmission brought its contents.
    Lost,
    /// A redundant copy brought its contents, and was not reported to have come in vain.
    Repaired,
    /// The packet arrived, or another with the same data did, or the acknowledgement of both was
    /// lost.
    Doubtful,
    /// A retransmission that was not needed, and was never reported as a duplicate: it was lost, or
    /// that report was.
    Silent,
}

/// A packet with user data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) at: Instant,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// TSval of TCP's timestamp option (RFC 7323), if it has one.
    pub(crate) stamp: Option<u32>,
    /// Whether the last number is acknowledged: the packet can have arrived.
    is_complete: bool,
    fate: Fate,
    /// Retransmitted bytes in it; of these what came in vain by a report, otherwise, or by either.
    again: u32,
    reported: u32,
    inferred: u32,
    vain: u32,
}

impl Packet {
    pub(crate) fn new(at: Instant, start: u64, end: u64, stamp: Option<u32>) -> Packet {
        Packet {
            at,
            start,
            end,
            stamp,
            is_complete: false,
            fate: Fate::Open,
            again: 0,
            reported: 0,
            inferred: 0,
            vain: 0,
        }
    }
}

/// Facts from an acknowledgement beside the numbers that it acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) at: Instant,
    /// TSecr of TCP's timestamp option (RFC 7323), if it has one.
    pub(crate) echo: Option<u32>,
    /// The cumulative acknowledgement before it.
    pub(crate) una: u64,
    /// The shortest round trip until then.
    pub(crate) shortest: Option<Duration>,
}

/// Whether a packet had arrived when an answer was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chance {
    /// The packet cannot have caused the answer.
    None,
    /// The packet can have caused the answer, which would have been quick.
    Slight,
    Fair,
}

impl Answer {
    /// Chance of a packet; of one that is not remembered everything can be.
    fn chance(&self, packet: Option<&Packet>) -> Chance {
        let Some(packet) = packet else { return Chance::Fair };
        let age = self.at.since(packet.at);
        let is_echo_older = match (self.echo, packet.stamp) {
            (Some(echo), Some(stamp)) => (echo.wrapping_sub(stamp) as i32) < 0,
            _ => false,
        };
        // An eighth of the shortest round trip is left for one that is shorter still.
        match self.shortest {
            _ if !packet.is_complete || is_echo_older && packet.start <= self.una => Chance::None,
            Some(shortest) if age < shortest / 2 => Chance::None,
            Some(shortest) if age < shortest - shortest / 8 => Chance::Slight,
            _ => Chance::Fair,
        }
    }

    /// Whether the answer echoes this packet's timestamp.
    fn echoes(&self, packet: Option<&Packet>) -> bool {
        packet.is_some_and(|packet| packet.stamp.is_some() && self.echo == packet.stamp)
    }
}

/// The packets of a direction that still matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fates {
    packets: VecDeque<Packet>,
    /// Number of the oldest packet that is remembered.
    first: u64,
    /// Each range is a unit that is retransmitted for a reason of its own (SCTP).
    pub(crate) in_units: bool,
}

impl Fates {
    /// A packet is sent; its number.
    pub(crate) fn push(&mut self, packet: Packet) -> u64 {
        if self.packets.len() >= MOST_PACKETS {
            self.packets.pop_front();
            self.first += 1;
        }
        self.packets.push_back(packet);
        self.first + self.packets.len() as u64 - 1
    }

    /// Packets below `number` are not needed any more.
    pub(crate) fn forget_below(&mut self, number: u64) {
        while self.first < number && self.packets.pop_front().is_some() {
            self.first += 1;
        }
    }

    fn get(&self, number: u64) -> Option<&Packet> {
        self.packets.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Packet> {
        self.packets.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Adds bytes that a packet carries again.
    pub(crate) fn add_again(&mut self, number: u64, bytes: u32) {
        if let Some(packet) = self.get_mut(number) {
            packet.again = packet.again.saturating_add(bytes);
        }
    }

    /// Adds a retransmission or a copy to the packet that carries it.
    pub(crate) fn carry(&mut self, sent: &mut Sent, number: u64, kind: Kind, counts: &mut Counts) {
        let (end, arrived) = (sent.end, sent.arrived);
        if let Some(packet) = self.get_mut(number) {
            packet.is_complete |= arrived && packet.end == end;
        }
        if sent.carrying.len() >= MOST_CARRYING {
            sent.carrying.remove(1);
        }
        sent.carrying.push(CarryingPacket::new(number, kind));
        if arrived {
            self.infer(sent, sent.carrying.len() - 1, counts);
        }
    }

    /// A range is acknowledged: packets that end with it can have arrived.
    pub(crate) fn note_acknowledged(&mut self, sent: &Sent) {
        for carrying in &sent.carrying {
            if let Some(packet) = self.get_mut(carrying.packet) {
                packet.is_complete |= packet.end == sent.end;
            }
        }
    }

    /// The latest packet that is likely to have brought a range.
    pub(crate) fn latest(&self, sent: &Sent, answer: &Answer) -> Option<u64> {
        let numbers = sent.carrying.iter().rev().map(|carrying| carrying.packet);
        let mut likely = numbers.filter(|number| self.chance(*number, answer) == Chance::Fair);
        likely.next()
    }

    fn chance(&self, number: u64, answer: &Answer) -> Chance {
        answer.chance(self.get(number))
    }

    /// A range that rode in one packet only was acknowledged for the first time: that packet, and
    /// when it was sent.
    pub(crate) fn settle_only(
        &mut self,
        sent: &mut Sent,
        counts: &mut Counts,
    ) -> Option<(u64, Option<Instant>)> {
        let [CarryingPacket { packet: number, .. }] = *sent.carrying.as_slice() else {
            return None;
        };
        sent.brought_by = Some(number);
        self.set(number, Fate::Arrived, counts);
        Some((number, self.get(number).map(|packet| packet.at)))
    }

    /// Settles a range that several packets carried, by the answer to packet `trigger`, which did
    /// not report it as a duplicate. Returns the time of its transmission, if there is no doubt
    /// which packet brought it.
    pub(crate) fn settle(
        &mut self,
        sent: &mut Sent,
        trigger: Option<u64>,
        answer: &Answer,
        counts: &mut Counts,
    ) -> Option<Instant> {
        let chances = sent.carrying.iter().map(|carrying| self.chance(carrying.packet, answer));
        let chances: SmallVec<[Chance; 8]> = chances.collect();
        let place = chances.iter().rposition(|chance| *chance == Chance::Fair)?;
        let carrying = *sent.carrying.get(place)?;
        let fair = |(_, chance): &(&CarryingPacket, &Chance)| **chance == Chance::Fair;
        let others = sent.carrying.iter().take(place).zip(&chances).filter(fair);
        let others: SmallVec<[u64; 8]> = others.map(|(other, _)| other.packet).collect();
        // A report is about the packet that it answers, and says nothing of copies in other
        // packets.
        if !others.is_empty() && carrying.kind == Kind::Along && trigger != Some(carrying.packet) {
            return None;
        }
        sent.brought_by = Some(carrying.packet);
        self.set(carrying.packet, Fate::Arrived, counts);
        let fate = if carrying.kind == Kind::Along { Fate::Repaired } else { Fate::Lost };
        others.iter().for_each(|other| self.set(*other, fate, counts));
        for (later, chance) in chances.iter().enumerate().skip(place + 1) {
            if *chance == Chance::None {
                self.infer(sent, later, counts);
            }
        }
        let is_certain = others.is_empty() && sent.again == 0;
        self.get(carrying.packet).filter(|_| is_certain).map(|packet| packet.at)
    }

    /// The receiver got a range once more; whether a packet was found that brought it.
    pub(crate) fn report(&mut self, sent: &mut Sent, answer: &Answer, counts: &mut Counts) -> bool {
        let Some(place) = self.find_duplicate(sent, answer) else { return false };
        let Some(carrying) = sent.carrying.get_mut(place) else { return false };
        let was_vain = carrying.is_vain();
        carrying.reported = true;
        let CarryingPacket { packet: number, kind, .. } = *carrying;
        match kind {
            Kind::Along => counts.redundant_reported += 1,
            _ => self.count_vain(sent, number, was_vain, true, counts),
        }
        self.set(number, Fate::Arrived, counts);
        if sent.brought_by.is_none_or(|first| first >= number) {
            self.note_first(sent, place, counts);
        }
        true
    }

    /// Forgets a range that was acknowledged long ago: no later report concerns its packets.
    pub(crate) fn give_up(&mut self, sent: &Sent, counts: &mut Counts) {
        for carrying in sent.carrying.iter().filter(|carrying| carrying.kind == Kind::Again) {
            if self.get(carrying.packet).is_some_and(|packet| packet.fate == Fate::Open) {
                self.set(carrying.packet, Fate::Silent, counts);
            }
        }
    }

    /// The packet that a report of a duplicate answers: that which is echoed, or the latest that
    /// can have arrived.
    fn find_duplicate(&self, sent: &Sent, answer: &Answer) -> Option<usize> {
        let rest = || {
            let carrying = sent.carrying.iter().enumerate().skip(1).rev();
            carrying.filter(|(_, carrying)| !carrying.reported)
        };
        let is = |test: &dyn Fn(u64) -> bool| {
            rest().find(|(_, carrying)| test(carrying.packet)).map(|(place, _)| place)
        };
        is(&|number| answer.echoes(self.get(number)))
            .or_else(|| is(&|number| self.chance(number, answer) == Chance::Fair))
            .or_else(|| is(&|_| true))
    }

    /// A packet before the one at `place` brought the range. If several can have, it was one of
    /// them: of two the second would have been answered at once (RFC 5681, section 4.2), and
    /// the range be acknowledged, unless that answer was lost.
    fn note_first(&mut self, sent: &mut Sent, place: usize, counts: &mut Counts) {
        let is_open = |number: u64| {
            let fate = self.get(number).map_or(Fate::Open, |packet| packet.fate);
            !matches!(fate, Fate::Lost | Fate::Repaired)
        };
        let earlier = sent.carrying.iter().take(place).rev();
        let earlier: SmallVec<[u64; 8]> = earlier
            .filter(|carrying| !carrying.is_vain())
            .map(|carrying| carrying.packet)
            .collect();
        let open: SmallVec<[u64; 8]> =
            earlier.iter().copied().filter(|number| is_open(*number)).collect();
        sent.brought_by = open.first().or(earlier.first()).copied();
        if let Some(first) = sent.brought_by {
            self.set(first, Fate::Arrived, counts);
        }
        for other in open.iter().skip(1) {
            self.set(*other, Fate::Doubtful, counts);
        }
    }

    /// A range did not need the packet at `place`.
    fn infer(&mut self, sent: &mut Sent, place: usize, counts: &mut Counts) {
        let Some(carrying) = sent.carrying.get_mut(place) else { return };
        if carrying.kind != Kind::Again || carrying.is_vain() {
            return;
        }
        carrying.inferred = true;
        let number = carrying.packet;
        self.count_vain(sent, number, false, false, counts);
    }

    /// A retransmission is needless once all of it came in vain.
    fn count_vain(
        &mut self,
        sent: &Sent,
        number: u64,
        was_vain: bool,
        is_report: bool,
        counts: &mut Counts,
    ) {
        if self.in_units {
            counts.needless += u64::from(!was_vain);
            counts.needless_reported += u64::from(is_report);
            counts.needless_inferred += u64::from(!is_report);
            return;
        }
        let Some(packet) = self.get_mut(number) else { return };
        let again = packet.again;
        let add = |sum: &mut u32| {
            let was_all = *sum >= again;
            *sum = sum.saturating_add(sent.bytes);
            u64::from(!was_all && *sum >= again)
        };
        if !was_vain {
            counts.needless += add(&mut packet.vain);
        }
        match is_report {
            true => counts.needless_reported += add(&mut packet.reported),
            false => counts.needless_inferred += add(&mut packet.inferred),
        }
    }

    /// Sets the fate of a packet as more is learned: an arrival is never taken back, a loss only by
    /// an arrival.
    fn set(&mut self, number: u64, fate: Fate, counts: &mut Counts) {
        let Some(packet) = self.get_mut(number) else { return };
        let is_taken_back = match packet.fate {
            Fate::Open | Fate::Silent => false,
            Fate::Doubtful => fate == Fate::Silent,
            Fate::Lost | Fate::Repaired => fate != Fate::Arrived,
            Fate::Arrived => true,
        };
        if is_taken_back {
            return;
        }
        let before = core::mem::replace(&mut packet.fate, fate);
        if let Some(count) = count_of(before, counts) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = count_of(fate, counts) {
            *count += 1;
        }
    }
}

fn count_of(fate: Fate, counts: &mut Counts) -> Option<&mut u64> {
    match fate {
        Fate::Open => None,
        Fate::Arrived => Some(&mut counts.arrived_packets),
        Fate::Lost => Some(&mut counts.lost_packets),
        Fate::Repaired => Some(&mut counts.repaired_packets),
        Fate::Doubtful => Some(&mut counts.doubtful_packets),
        Fate::Silent => Some(&mut counts.silent_packets),
    }
}
