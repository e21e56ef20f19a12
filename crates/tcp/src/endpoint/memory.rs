//! What all connections hold together, and who is to give something back when that is too much.

mod stalled;
mod writers;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use base::{Host, Instant};

use self::writers::Writers;
use super::table::Slot;
use super::{ConnectionId, Endpoint};
use crate::memory::{Buffered, LEAST, MemoryLimits, MemoryState, Progress};

/// Bytes in which what an address holds is counted: what is less costs no look at its count.
const GRANULE: usize = 16 << 10;

/// The part of the limit that one address may hold under pressure, and by which SYNs may exceed it unless
/// told otherwise.
const PART: usize = 8;

/// What a connection was last seen to hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    total: usize,
    /// Magnitudes: of what lies behind holes, and of what an orphan has to send.
    behind: u8,
    orphan: u8,
    /// Granules that count for its peer's address.
    granules: u32,
    /// Whether it waits for memory to write.
    waits: bool,
}

/// Connections by the magnitude of what they hold, as far as it is more than the least: the order of those
/// within a factor of two is that of their rows, and costs nothing as long as the magnitude stays.
type ByMagnitude = BTreeSet<(u8, u32)>;

#[derive(Debug)]
pub(super) struct Memory {
    limits: MemoryLimits,
    /// Bytes beyond the limit up to which connections may come to be.
    reserve: usize,
    held: usize,
    behind: ByMagnitude,
    /// Those that the application closed, by what they still have to send.
    orphans: ByMagnitude,
    /// Granules that addresses hold, of those that hold some.
    hosts: BTreeMap<Host, u32>,
    /// When those that hold much are looked at next, and how far each had got at the last look; none while
    /// there is enough.
    look_at: Option<Instant>,
    marks: BTreeMap<ConnectionId, Progress>,
    /// Those whose applications were refused for want of memory.
    writers: Writers,
}

/// 0 for what everybody may hold.
fn magnitude(bytes: usize) -> u8 {
    if bytes <= LEAST { 0 } else { bytes.ilog2() as u8 }
}

fn move_to(set: &mut ByMagnitude, row: u32, known: &mut u8, magnitude: u8) {
    let before = core::mem::replace(known, magnitude);
    if before == magnitude {
        return;
    }
    if before > 0 {
        set.remove(&(before, row));
    }
    if magnitude > 0 {
        set.insert((magnitude, row));
    }
}

impl Memory {
    pub(super) fn new(limits: MemoryLimits) -> Memory {
        Memory {
            limits,
            reserve: limits.limit / PART,
            held: 0,
            behind: ByMagnitude::new(),
            orphans: ByMagnitude::new(),
            hosts: BTreeMap::new(),
            look_at: None,
            marks: BTreeMap::new(),
            writers: Writers::default(),
        }
    }

    /// Limits from now on.
    pub(super) fn set_limits(&mut self, limits: MemoryLimits, reserve: usize) {
        (self.limits, self.reserve) = (limits, reserve);
    }

    /// When those that hold much are to be looked at, or some that wait for memory are told that there is some.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest(&[self.look_at, self.writers.next_at()])
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn state(&self) -> MemoryState {
        if self.held >= self.limits.limit {
            MemoryState::Full
        } else if self.held >= self.limits.pressure {
            MemoryState::Pressure
        } else {
            MemoryState::Ease
        }
    }

    /// Whether one more connection, of which little is expected, may come to be.
    pub(super) fn has_room_for_one(&self) -> bool {
        self.held < self.limits.limit.saturating_add(self.reserve)
    }

    /// Bytes that one of so many connections, with this peer, may have for what it sends.
    pub(super) fn share(&self, connections: usize, peer: IpAddr) -> usize {
        let limit = self.limits.limit;
        match self.state() {
            MemoryState::Ease => usize::MAX,
            MemoryState::Full => LEAST,
            MemoryState::Pressure => {
                let granules = self.hosts.get(&Host::from(peer)).copied().unwrap_or(0) as usize;
                let crowds_out = granules * GRANULE >= (limit / PART).max(GRANULE);
                if crowds_out { LEAST } else { LEAST.max(limit / connections.max(1)) }
            }
        }
    }

    /// Takes note of what a connection holds.
    pub(super) fn note(&mut self, id: ConnectionId, slot: &mut Slot) {
        let (now, is_orphan) = (slot.connection.buffered(), slot.connection.is_closed());
        self.note_host(slot, now.total());
        self.update(id.row(), &mut slot.account, now, is_orphan);
    }

    /// What a connection with this peer holds is `total` now.
    fn note_host(&mut self, slot: &mut Slot, total: usize) {
        let granules = (total / GRANULE) as u32;
        let before = core::mem::replace(&mut slot.account.granules, granules);
        if granules == before {
            return;
        }
        let host = Host::from(slot.connection.remote().ip());
        let count = self.hosts.entry(host).or_default();
        *count = (*count + granules).saturating_sub(before);
        if *count == 0 {
            self.hosts.remove(&host);
        }
    }

    /// A connection holds `now`.
    fn update(&mut self, row: u32, account: &mut Account, now: Buffered, is_orphan: bool) {
        let total = now.total();
        self.held = self.held - account.total + total;
        account.total = total;
        if total <= LEAST && account.behind == 0 && account.orphan == 0 {
            return;
        }
        let of_orphan = if is_orphan { now.to_send } else { 0 };
        move_to(&mut self.behind, row, &mut account.behind, magnitude(now.behind_holes));
        move_to(&mut self.orphans, row, &mut account.orphan, magnitude(of_orphan));
    }

    /// Nobody holds what could be taken back, and nobody waits for more.
    fn nobody_is_concerned(&self) -> bool {
        self.behind.is_empty() && self.orphans.is_empty() && self.writers.is_empty()
    }

    /// The one with the most out of order, while there is too little memory.
    fn worst_behind(&self) -> Option<u32> {
        let scarce = self.held >= self.limits.pressure;
        self.behind.last().filter(|_| scarce).map(|(_, row)| *row)
    }

    /// The orphan with the most to send, while there is no memory.
    fn worst_orphan(&self) -> Option<u32> {
        let full = self.held >= self.limits.limit;
        self.orphans.last().filter(|_| full).map(|(_, row)| *row)
    }

    /// Whether half of what lies between pressure and limit is free: so that not each byte that becomes free wakes
    /// somebody who waits for memory.
    fn is_eased(&self) -> bool {
        let MemoryLimits { pressure, limit } = self.limits;
        self.held < limit - limit.saturating_sub(pressure) / 2
    }
}

impl Endpoint {
    /// Takes note of what a connection holds now.
    pub(super) fn note_memory(&mut self, id: ConnectionId) {
        if let Some(slot) = self.table.slot_mut(id) {
            self.memory.note(id, slot);
        }
    }

    /// A connection is about to be forgotten.
    pub(super) fn forget_memory(&mut self, id: ConnectionId) {
        let Some(slot) = self.table.slot_mut(id) else { return };
        self.memory.note_host(slot, 0);
        self.memory.update(id.row(), &mut slot.account, Buffered::default(), false);
    }

    /// Takes back what is too much, from those that hold the most, and wakes those that waited for it.
    pub(super) fn balance_memory(&mut self, now: Instant) {
        self.look_at_holders(now);
        if self.memory.nobody_is_concerned() {
            return;
        }
        while let Some(id) = self.memory.worst_behind().and_then(|row| self.table.id(row)) {
            if let Some(connection) = self.table.get_mut(id) {
                self.stats.pruned_bytes += connection.give_up_behind_holes();
            }
            self.note_memory(id);
        }
        while let Some(id) = self.memory.worst_orphan().and_then(|row| self.table.id(row)) {
            self.stats.orphans_reset += 1;
            if let Some(connection) = self.table.get_mut(id) {
                connection.abort();
            }
            self.take_note(now, id);
        }
        self.wake_writers(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(bytes: usize) -> Buffered {
        Buffered { behind_holes: bytes, ..Buffered::default() }
    }

    #[test]
    fn the_worst_holder_is_found_within_a_factor_of_two_and_those_with_little_never() {
        let mut memory = Memory::new(MemoryLimits::of(40_000));
        let mut accounts = [Account::default(); 3];
        for (row, bytes) in [5000, 20_000, LEAST].into_iter().enumerate() {
            memory.update(row as u32, &mut accounts[row], behind(bytes), false);
        }
        assert_eq!((memory.held(), memory.state()), (29_096, MemoryState::Ease));
        assert_eq!(memory.worst_behind(), None);
        memory.update(0, &mut accounts[0], behind(7000), false);
        assert_eq!(memory.state(), MemoryState::Pressure);
        assert_eq!(memory.worst_behind(), Some(1));
        memory.update(1, &mut accounts[1], Buffered { unread: 40_000, ..behind(0) }, false);
        assert_eq!((memory.state(), memory.worst_behind()), (MemoryState::Full, Some(0)));
        memory.update(0, &mut accounts[0], behind(0), false);
        assert_eq!((memory.held(), memory.worst_behind()), (44_096, None));
    }

    #[test]
    fn connections_come_to_be_up_to_the_reserve() {
        let mut memory = Memory::new(MemoryLimits::of(80_000));
        memory.update(0, &mut Account::default(), behind(90_000), false);
        assert!(!memory.has_room_for_one(), "an eighth is the reserve");
        memory.set_limits(MemoryLimits::of(80_000), 10_001);
        assert!(memory.has_room_for_one());
    }

    #[test]
    fn only_orphans_count_among_those_to_be_reset() {
        let mut memory = Memory::new(MemoryLimits::of(10_000));
        let mut account = Account::default();
        let holds = Buffered { to_send: 12_000, ..Buffered::default() };
        memory.update(7, &mut account, holds, false);
        assert_eq!(memory.worst_orphan(), None);
        memory.update(7, &mut account, holds, true);
        assert_eq!(memory.worst_orphan(), Some(7));
        memory.update(7, &mut account, Buffered::default(), true);
        assert_eq!((memory.held(), memory.orphans.len()), (0, 0));
    }
}
