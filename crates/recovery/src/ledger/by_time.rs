//! Loss detection by transmission time, and its undo.

use base::Instant;

use super::{Draft, Ledger, PacketNumber, Traits, Unit, UnitState};
use crate::path_id::PathId;
use crate::stats::Cause;

/// Packets that [`Ledger::lose_overdue`] declared lost, and the next deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Overdue {
    /// Number of packets declared lost.
    pub packets: u32,
    /// The latest of them that carried a retransmission.
    pub resent: Option<PacketNumber>,
    /// Deadline of the next packet; `None` if no packet waits.
    pub next: Option<Instant>,
}

impl Ledger {
    /// Declares lost the packets in flight on `path` whose `deadline` has come. `deadline` is
    /// called in sending order, until a packet has none or a later one. Lost units wait for
    /// retransmission on `target`.
    pub fn lose_overdue(
        &mut self,
        now: Instant,
        path: PathId,
        target: PathId,
        cause: Cause,
        deadline: impl Fn(PacketNumber, Instant) -> Option<Instant>,
    ) -> Overdue {
        let mut overdue = Overdue::default();
        let mut cursor = self.paths.get(path).and_then(|list| list.head());
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

    /// Whether a packet in flight carries a retransmission; such packets begin with one.
    fn carries_again(&self, number: PacketNumber) -> bool {
        let run = self.packet(number).and_then(|packet| packet.runs.first());
        let index = run.and_then(|run| self.locate(run.start));
        index.is_some_and(|index| self.units[index].transmissions > 1)
    }

    /// The packet in flight that carries a retransmission of the unit at the cumulative point.
    pub fn first_resent_in(&self) -> Option<PacketNumber> {
        let again = |unit: &&Unit| unit.state == UnitState::Outstanding && unit.transmissions > 1;
        self.units.front().filter(again).map(|unit| unit.packet)
    }

    /// Declares the last packet sent on `path` lost: its units wait for retransmission on `target`.
    /// Returns whether any was lost.
    pub fn lose_last(&mut self, path: PathId, target: PathId, cause: Cause) -> bool {
        let tail = self.paths.get(path).and_then(|list| list.tail());
        let lost = tail.is_some_and(|number| self.lose_packet(number, target, true, cause));
        self.forget_settled_packets();
        lost
    }

    /// Lets the data of a packet in flight be sent once more on its path without evidence of a
    /// loss. Returns false if the packet is no longer in flight.
    pub fn copy_packet(&mut self, packet: PacketNumber) -> bool {
        let Some(path) = self.packet(packet).map(|packet| packet.path) else { return false };
        let copied = self.lose_packet(packet, path, false, Cause::Copy);
        self.forget_settled_packets();
        copied
    }

    /// Returns to flight the units of `path` that an expired timer declared lost and that still
    /// wait for retransmission, on whatever path. They count as sent now, so that later
    /// evidence or the timer decides.
    pub fn revive(&mut self, now: Instant, path: PathId) {
        for target in self.paths.ids() {
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

    /// The path on which the retransmitted unit that starts at `start` had been declared lost.
    pub fn lost_on(&self, start: u64) -> Option<PathId> {
        self.locate(start).map(|index| self.units[index].other_path)
    }
}
