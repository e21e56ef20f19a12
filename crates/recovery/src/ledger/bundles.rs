//! Copies of units in flight that ride along with other data on the same path (redundant data bundling,
//! Evensen et al. 2008; Opstad 2015): which loss one repaired, and which was needless.

use base::Instant;
use smallvec::SmallVec;

use super::{Ledger, PacketNumber, PathIndex, Traits, Unit, UnitState};

/// Units looked at when copies are chosen.
const LOOKED_AT: usize = 64;

/// Copies that rode along in a packet: all from unit `start` on, `bytes` in sum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Along {
    pub(super) start: u64,
    pub(super) bytes: u32,
    /// Bytes of all data of the packet, the copies included.
    pub(super) carried: u32,
}

/// A packet with copies that was newly delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveredBundle {
    pub(super) packet: PacketNumber,
    /// The lowest unit copied.
    pub(super) start: u64,
    /// The copies rode behind what the packet was sent for.
    pub(super) behind: bool,
}

/// What an acknowledgement tells of copies that rode along.
#[derive(Clone, Debug, Default)]
pub struct BundleReport {
    /// Units newly acknowledged of which copies were sent, with the packet that carried them, ascending.
    pub(super) copied: SmallVec<[(u64, PacketNumber); 2]>,
    /// Packets with copies newly delivered.
    pub(super) delivered: SmallVec<[DeliveredBundle; 2]>,
    /// Units that arrived first, as far as one can tell, in a copy that rode along: their own packet was
    /// lost.
    pub repaired: u32,
    /// Packets delivered whose copies repaired something.
    pub hits: u32,
    /// Packets delivered whose copies were not needed.
    pub misses: u32,
    /// Whether the peer said that copies were needless: that it tells such things is known from then on.
    pub vetoed: bool,
}

impl Ledger {
    /// Adds a copy of a unit in flight on `path` to the packet being put together for it; answers its
    /// weight, or nothing if it is not in flight there.
    ///
    /// A copy is in no one's flight. The unit's acknowledgement is no round-trip time any more, but that of
    /// the new data beside it is.
    pub fn draft_along(&mut self, path: PathIndex, start: u64) -> Option<u32> {
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

    /// When `packet` left, while it is known.
    pub fn sent_at(&self, packet: PacketNumber) -> Option<Instant> {
        Some(self.packet(packet)?.sent_at)
    }

    /// When the packet left that was sent next behind `packet`, whatever its path.
    pub fn next_sent_at(&self, packet: PacketNumber) -> Option<Instant> {
        Some(self.packet(packet + 1)?.sent_at)
    }

    /// The units next below `start` that may ride along before it, from the nearest on. Those that were reported are
    /// skipped (`skips`), or ride along, too, where all must touch.
    pub fn units_before(
        &self,
        path: PathIndex,
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

    /// The units from `start` on that are in flight, ascending: what may ride along behind what ends there.
    /// Those that were reported are skipped (`skips`), or end it where all must touch.
    pub fn units_from(
        &self,
        path: PathIndex,
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

    /// What one acknowledgement covers together, a unit and a later packet with its copy, tells that the
    /// unit's own packet was lost: had it arrived, it would have been acknowledged by itself. Unless the
    /// receiver delayed that acknowledgement: then the copy was a duplicate, which the peer says, if it
    /// says such things (`needless`). Copies that rode behind data sent again tell nothing where the peer does
    /// not report what arrived out of order (`reports`): what they copied may have waited for that data.
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
