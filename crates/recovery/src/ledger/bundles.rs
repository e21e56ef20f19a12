//! Copies of units in flight that ride along with other data on the same path (redundant data
//! bundling, Evensen et al. 2008; Opstad 2015): which loss a copy repaired, and which copy was
//! needless.

use base::Instant;
use smallvec::SmallVec;

use super::{Ledger, PacketNumber, Traits, Unit, UnitState};
use crate::path_id::PathId;

/// Most units examined when copies are chosen.
const LOOKED_AT: usize = 64;

/// Copies that rode along in a packet: every unit from `start` on, `bytes` bytes in total.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Along {
    pub(super) start: u64,
    pub(super) bytes: u32,
    /// Bytes of all data of the packet, copies included.
    pub(super) carried: u32,
}

/// A newly delivered packet with copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveredBundle {
    pub(super) packet: PacketNumber,
    /// The lowest unit of which the packet carried a copy.
    pub(super) start: u64,
    /// Whether the copies rode behind the data that the packet was sent for.
    pub(super) behind: bool,
}

/// News of an acknowledgement about copies that rode along.
#[derive(Clone, Debug, Default)]
pub struct BundleReport {
    /// Newly acknowledged units that had been copied, each with the packet that first carried it,
    /// ascending.
    pub(super) copied: SmallVec<[(u64, PacketNumber); 2]>,
    /// Newly delivered packets with copies.
    pub(super) delivered: SmallVec<[DeliveredBundle; 2]>,
    /// Units that, as far as acknowledgements show, arrived first in a copy that rode along: their
    /// own packet was lost.
    pub repaired: u32,
    /// Packets delivered whose copies repaired a loss.
    pub hits: u32,
    /// Packets delivered whose copies were not needed.
    pub misses: u32,
    /// Whether the peer reported copies as needless: from then on it is known to send such
    /// reports.
    pub vetoed: bool,
}

impl Ledger {
    /// Adds a copy of a unit in flight on `path` to the packet being built for it. Returns its
    /// weight, or `None` if it is not in flight there.
    ///
    /// A copy does not count as in flight. The unit's acknowledgement is no RTT sample any more,
    /// but that of the new data beside it is.
    pub fn draft_along(&mut self, path: PathId, start: u64) -> Option<u32> {
        let index = self.locate(start)?;
        let unit = &mut self.units[index];
        if unit.path != path
            || unit.state == UnitState::Abandoned
            || unit.packet == self.next_packet
        {
            return None;
        }
        unit.traits.set(Traits::BUNDLED);
        let weight = unit.weight;
        self.repeated.on_copied(start);
        let along = &mut self.draft.along;
        along.start = if along.bytes == 0 { start } else { along.start.min(start) };
        along.bytes = along.bytes.saturating_add(weight);
        Some(weight)
    }

    /// Whether copies of earlier data ride along in `packet`, while the ledger knows it.
    pub fn carries_copies(&self, packet: PacketNumber) -> bool {
        self.packet(packet).is_some_and(|packet| packet.along.bytes > 0)
    }

    /// Instant at which `packet` left, while the ledger knows it.
    pub fn sent_at(&self, packet: PacketNumber) -> Option<Instant> {
        Some(self.packet(packet)?.sent_at)
    }

    /// Instant at which the packet after `packet` left, on whatever path.
    pub fn next_sent_at(&self, packet: PacketNumber) -> Option<Instant> {
        Some(self.packet(packet + 1)?.sent_at)
    }

    /// The units below `start` that may ride along before it, from the nearest on. Reported units
    /// are skipped (`skips`), or ride along too if all must touch.
    pub fn units_before(
        &self,
        path: PathId,
        start: u64,
        skips: bool,
    ) -> impl Iterator<Item = (u64, u32)> {
        let index = self.first_at_or_after(start);
        let mut expected = start;
        let rows = self.units.iter().take(index).rev().take(LOOKED_AT);
        let rides = rows.map_while(move |unit| {
            let bundles = matches!(unit.state, UnitState::Outstanding | UnitState::GapAcked);
            if !bundles || unit.path != path || unit.end() != expected || unit.weight == 0 {
                return None;
            }
            expected = unit.start;
            Some(unit)
        });
        let needed = move |unit: &&Unit| unit.state == UnitState::Outstanding || !skips;
        rides.filter(needed).map(|unit| (unit.start, unit.weight))
    }

    /// The units in flight from `start` on, ascending, which may ride along behind data that ends
    /// there. Reported units are skipped (`skips`), or end the list if all must touch.
    pub fn units_from(
        &self,
        path: PathId,
        start: u64,
        skips: bool,
    ) -> impl Iterator<Item = (u64, u32)> {
        let mut expected = start;
        let rows = self.units.range(self.first_at_or_after(start)..).take(LOOKED_AT);
        let rides = rows.map_while(move |unit| {
            let in_flight = unit.state == UnitState::Outstanding && unit.path == path;
            let reported = unit.state == UnitState::GapAcked && skips;
            if unit.start != expected || unit.weight == 0 || !(in_flight || reported) {
                return None;
            }
            expected = unit.end();
            Some(unit)
        });
        let needed = |unit: &&Unit| unit.state == UnitState::Outstanding;
        rides.filter(needed).map(|unit| (unit.start, unit.weight))
    }

    /// An acknowledgement that covers both a unit and a later packet with its copy shows that the
    /// unit's own packet was lost, which would otherwise have been acknowledged by itself. If
    /// the receiver delayed the acknowledgement, the copy was a duplicate instead, and a peer
    /// that reports duplicates says so (`needless`). Copies that rode behind retransmitted data
    /// prove nothing if the peer does not report gaps (`reports`): the copied units may have
    /// waited for that data.
    #[inline(never)]
    pub(super) fn judge_bundles(
        &self,
        needless: impl Fn(u64) -> bool,
        reports: bool,
        report: &mut BundleReport,
    ) {
        let mut from = 0;
        for index in 0..report.delivered.len() {
            let delivered = report.delivered[index];
            if delivered.behind && !reports {
                continue;
            }
            let (mut repaired, mut vetoed) = (0, needless(delivered.start));
            for (unit, packet) in &report.copied[from..] {
                if *packet >= delivered.packet {
                    break;
                }
                from += 1;
                if *unit < delivered.start {
                    continue;
                }
                if needless(*unit) {
                    vetoed = true;
                } else {
                    repaired += 1;
                }
            }
            report.vetoed |= vetoed;
            report.repaired += repaired;
            if repaired > 0 {
                report.hits += 1;
            } else {
                report.misses += 1;
            }
        }
    }
}
