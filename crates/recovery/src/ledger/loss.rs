//! Loss detection by miss indications or by age.

use base::Instant;

use super::{Ledger, PacketNumber, PacketState, Traits, UnitState};
use crate::path_id::PathId;
use crate::stats::Cause;

/// Result of [`Ledger::indicate_misses`], in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Misses {
    /// Packets that received a miss indication.
    pub indicated: u32,
    /// Packets of which data was lost thereby.
    pub lost: u32,
}

impl Ledger {
    /// Whether a packet in flight on `path` was sent before packet `before`.
    pub fn has_sent_before(&self, path: PathId, before: PacketNumber) -> bool {
        let oldest = self.paths.get(path).and_then(|list| list.head());
        oldest.is_some_and(|oldest| oldest < before)
    }

    /// Counts a miss indication for every packet in flight on `path` that was sent before packet
    /// `before` and carries a unit below `below`, and declares lost those that reach
    /// `threshold`. Units that were fast-retransmitted before are lost again only if `repeat`.
    /// Lost units wait for retransmission on `target`.
    #[expect(clippy::too_many_arguments, reason = "a verdict needs all of its terms")]
    pub fn indicate_misses(
        &mut self,
        path: PathId,
        target: PathId,
        before: PacketNumber,
        below: u64,
        threshold: u8,
        repeat: bool,
        cause: Cause,
    ) -> Misses {
        let mut misses = Misses::default();
        let mut cursor = self.paths.get(path).and_then(|list| list.head());
        while let Some(number) = cursor.filter(|number| *number < before) {
            let Some(packet) = self.packet_mut(number) else { break };
            cursor = Some(packet.next).filter(|next| *next != number);
            if packet.runs.first().is_none_or(|run| run.start >= below) {
                continue;
            }
            packet.misses = packet.misses.saturating_add(1);
            let reached = packet.misses >= threshold;
            misses.indicated += 1;
            if reached && self.lose_packet(number, target, repeat, cause) {
                misses.lost += 1;
            }
        }
        if misses.lost > 0 {
            self.forget_settled_packets();
        }
        misses
    }

    /// Declares lost the packets in flight on `path` that were sent at or before `sent_by`, and
    /// always the oldest packet: its units with `cause`, the others as bundled. They wait for
    /// retransmission on `target`. Returns the number of packets lost.
    pub fn lose_sent_by(
        &mut self,
        path: PathId,
        target: PathId,
        sent_by: Instant,
        cause: Cause,
        rest: Cause,
    ) -> u32 {
        let mut lost = 0;
        let mut cursor = self.paths.get(path).and_then(|list| list.head());
        while let Some(number) = cursor {
            let Some(packet) = self.packet(number) else { break };
            cursor = Some(packet.next).filter(|next| *next != number);
            if lost > 0 && packet.sent_at > sent_by {
                continue;
            }
            let why = if lost == 0 { cause } else { rest };
            lost += u32::from(self.lose_packet(number, target, true, why));
        }
        self.forget_settled_packets();
        lost
    }

    /// Declares the units of a packet lost; returns whether there was any.
    pub(super) fn lose_packet(
        &mut self,
        number: PacketNumber,
        target: PathId,
        repeat: bool,
        cause: Cause,
    ) -> bool {
        let Some(packet) = self.packet(number) else { return false };
        let runs = packet.runs.clone();
        let mut lost = 0;
        for run in &runs {
            let mut index = self.first_at_or_after(run.start);
            let end = run.start + u64::from(run.len);
            while let Some(unit) = self.units.get_mut(index).filter(|unit| unit.start < end) {
                index += 1;
                if unit.packet != number || unit.state != UnitState::Outstanding {
                    continue;
                }
                if unit.traits.has(Traits::FAST_RETRANSMITTED) && !repeat {
                    continue;
                }
                self.lose_unit(index - 1, target, cause);
                lost += 1;
            }
        }
        if let Some(packet) = self.packet_mut(number) {
            packet.live = packet.live.saturating_sub(lost);
            if packet.live == 0 {
                self.settle(number, PacketState::Lost);
            }
        }
        lost > 0
    }

    /// Declares an outstanding unit lost, which is to be retransmitted on `target`. The caller
    /// updates its packet.
    pub(super) fn lose_unit(&mut self, index: usize, target: PathId, cause: Cause) {
        let unit = &self.units[index];
        // With copies, nothing shows whether the first transmission or a copy arrived.
        if unit.transmissions == 1 && !unit.traits.has(Traits::RENEGED) {
            let (start, own) = (unit.start, unit.path);
            let copied = unit.traits.has(Traits::BUNDLED | Traits::COPIED);
            if let Some(first_at) = self.packet(unit.packet).map(|packet| packet.sent_at) {
                self.repeated.on_lost(start, own, first_at, copied, cause == Cause::Copy);
            }
        }
        let unit = &mut self.units[index];
        if cause == Cause::Copy {
            unit.traits.set(Traits::AHEAD | Traits::BUNDLED);
        }
        unit.state = UnitState::Lost(cause);
        unit.other_path = target;
        let (start, path, weight) = (unit.start, unit.path, u64::from(unit.weight));
        let (landed, copies) = (unit.land(), core::mem::take(&mut unit.copies));
        self.path_mut(target).lost.insert(start);
        let list = &mut self.paths[path];
        list.flight.bytes = list.flight.bytes.saturating_sub(landed);
        if !copies.is_empty() {
            self.forget_copies(copies, weight);
        }
    }
}
