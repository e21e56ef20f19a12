//! Taking packets for lost by when they were sent, and taking that back.

use base::Instant;

use super::{Draft, Ledger, PacketNumber, PathIndex, Traits, Unit, UnitState};
use crate::stats::Cause;

/// What [`Ledger::lose_overdue`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Overdue {
    /// Packets that were lost.
    pub packets: u32,
    /// The latest of them that carried something again.
    pub resent: Option<PacketNumber>,
    /// When the next packet becomes overdue; none if no packet waits.
    pub next: Option<Instant>,
}

impl Ledger {
    /// Takes for lost the packets in flight on `path` whose `deadline` has come: of packets sent one after
    /// another it is asked in that order, until one has none or a later one. What is lost waits to be sent
    /// again on `target`.
    pub fn lose_overdue(
        &mut self,
        now: Instant,
        path: PathIndex,
        target: PathIndex,
        cause: Cause,
        deadline: impl Fn(PacketNumber, Instant) -> Option<Instant>,
    ) -> Overdue {
        let mut overdue = Overdue::default();
        let mut cursor = self.paths.get(usize::from(path)).and_then(|list| list.head());
        while let Some(number) = cursor {
            let Some(packet) = self.packet(number) else { break };
            cursor = Some(packet.next).filter(|next| *next != number);
            let Some(due) = deadline(number, packet.sent_at) else { break };
            if due > now {
                overdue.next = Some(due);
                break;
            }
            let again = self.carries_again(number);
            if self.lose_packet(number, target, true, cause) {
                overdue.packets += 1;
                overdue.resent = Some(number).filter(|_| again).or(overdue.resent);
            }
        }
        self.forget_settled_packets();
        overdue
    }

    /// Whether a packet in flight carries something that was sent before; each that does begins with it.
    fn carries_again(&self, number: PacketNumber) -> bool {
        let run = self.packet(number).and_then(|packet| packet.runs.first());
        let index = run.and_then(|run| self.locate(run.start));
        index.is_some_and(|index| self.units[index].transmissions > 1)
    }

    /// The packet in flight that carries the unit at the cumulative point, which was sent before.
    pub fn first_resent_in(&self) -> Option<PacketNumber> {
        let again = |unit: &&Unit| unit.state == UnitState::Outstanding && unit.transmissions > 1;
        self.units.front().filter(again).map(|unit| unit.packet)
    }

    /// Takes the packet for lost that was sent last on `path`: it waits to be sent again on `target`.
    pub fn lose_last(&mut self, path: PathIndex, target: PathIndex, cause: Cause) -> bool {
        let tail = self.paths.get(usize::from(path)).and_then(|list| list.tail());
        let lost = tail.is_some_and(|number| self.lose_packet(number, target, true, cause));
        self.forget_settled_packets();
        lost
    }

    /// Lets the data of a packet in flight be sent once more on its path although nothing says that it was lost. False if
    /// the packet is not in flight any more.
    pub fn copy_packet(&mut self, packet: PacketNumber) -> bool {
        let Some(path) = self.packet(packet).map(|packet| packet.path) else { return false };
        let copied = self.lose_packet(packet, path, false, Cause::Copy);
        self.forget_settled_packets();
        copied
    }

    /// Units of `path` that an expired timer took for lost, and that still wait to be sent again, on whatever path, are in
    /// flight after all. They count as sent now, so that later evidence or the timer decides.
    pub fn revive(&mut self, now: Instant, path: PathIndex) {
        for target in 0..self.paths.len() {
            for start in core::mem::take(&mut self.paths[target].lost) {
                let Some(index) = self.locate(start) else { continue };
                let next_packet = self.next_packet;
                let unit = &mut self.units[index];
                let timed_out =
                    matches!(unit.state, UnitState::Lost(Cause::Timeout | Cause::Bundled));
                if unit.path != path || !timed_out {
                    self.paths[target].lost.insert(start);
                    continue;
                }
                unit.state = UnitState::Outstanding;
                unit.packet = next_packet;
                unit.other_path = path;
                unit.traits.set(Traits::RENEGED);
                let (len, weight) = (unit.len, unit.weight);
                let mut draft = Draft::default();
                draft.push(start, len, weight, true);
                self.push_packet(now, path, draft);
            }
        }
    }

    /// The path on which the unit that starts at `start` had been taken for lost, once it was sent again.
    pub fn lost_on(&self, start: u64) -> Option<PathIndex> {
        self.locate(start).map(|index| self.units[index].other_path)
    }
}
