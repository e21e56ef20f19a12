//! The bytes that all members hold together, and the members that hold most.

use std::collections::{BTreeMap, BTreeSet};

use base::Host;

use super::{LEAST, MemoryLimits, MemoryState};

/// Unit, in bytes, in which a host's memory is counted: smaller changes need no access to its
/// count.
const GRANULE: usize = 16 << 10;

/// Divisor of the limit: the share that one host may hold under pressure, and by which new members
/// may exceed the limit by default.
const PART: usize = 8;

/// Memory of a member, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// All bytes that the member holds.
    pub total: usize,
    /// Bytes that can be discarded without loss: data received out of order, which the peer
    /// retransmits.
    pub revocable: usize,
    /// Bytes still to send after the application has released the member.
    pub orphaned: usize,
    /// Bytes held in a direction in which fewer bytes than these have left the member since its
    /// beginning.
    pub stuck: usize,
}

/// The last known memory of a member; kept beside the member.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    total: usize,
    /// Load of the member when `total` was computed.
    load: usize,
    /// Magnitudes of the revocable, orphaned and stuck bytes.
    revocable: u8,
    orphan: u8,
    stuck: u8,
    /// Granules that count for its host.
    granules: u32,
    /// Whether it waits for memory to write (see [`Waiters`](super::Waiters)).
    pub waits: bool,
}

impl Account {
    /// The last known bytes of the member, adjusted by later changes of its load.
    pub fn total(&self) -> usize {
        self.total
    }
}

/// Rows of members by the magnitude of their bytes beyond [`LEAST`]. Members within a factor of two
/// are in the order of their rows, so that small changes cost nothing.
type ByMagnitude = BTreeSet<(u8, u32)>;

/// The sum of all accounts, and the order in which memory is reclaimed.
#[derive(Debug)]
pub struct Budget {
    limits: MemoryLimits,
    /// Bytes beyond the limit up to which new members are admitted.
    reserve: usize,
    held: usize,
    revocable: ByMagnitude,
    /// Members that the application closed, by what they still have to send.
    orphans: ByMagnitude,
    /// Members that have moved fewer bytes than they hold.
    stuck: ByMagnitude,
    /// Granules by host, for hosts that hold any.
    hosts: BTreeMap<Host, u32>,
}

/// Magnitude of `bytes`; 0 up to [`LEAST`].
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

impl Budget {
    /// A budget with nothing in use yet.
    pub fn new(limits: MemoryLimits) -> Budget {
        Budget {
            limits,
            reserve: limits.limit / PART,
            held: 0,
            revocable: ByMagnitude::new(),
            orphans: ByMagnitude::new(),
            stuck: ByMagnitude::new(),
            hosts: BTreeMap::new(),
        }
    }

    /// Sets the limits; new members are admitted up to `reserve` bytes beyond the limit instead of
    /// an eighth of it.
    pub fn set_limits(&mut self, limits: MemoryLimits, reserve: usize) {
        (self.limits, self.reserve) = (limits, reserve);
    }

    /// Bytes that all members hold now.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Bytes that may be held.
    pub fn limit(&self) -> usize {
        self.limits.limit
    }

    /// Bytes left up to the limit.
    pub fn left(&self) -> usize {
        self.limits.limit.saturating_sub(self.held)
    }

    /// Scarcity at this moment, by the bytes held.
    pub fn state(&self) -> MemoryState {
        if self.held >= self.limits.limit {
            MemoryState::Full
        } else if self.held >= self.limits.pressure {
            MemoryState::Pressure
        } else {
            MemoryState::Ease
        }
    }

    /// Whether the bytes held are below [`MemoryLimits::pressure`].
    #[inline]
    pub fn is_at_ease(&self) -> bool {
        self.held < self.limits.pressure
    }

    /// Whether one more member may be admitted: the bytes held exceed the limit by less than the
    /// reserve.
    pub fn has_room_for_one(&self) -> bool {
        self.held < self.limits.limit.saturating_add(self.reserve)
    }

    /// The row with the most stuck bytes, while there is no room for one more member.
    pub fn worst_stuck(&self) -> Option<u32> {
        let crowded = !self.has_room_for_one();
        self.stuck.last().filter(|_| crowded).map(|(_, row)| *row)
    }

    /// Bytes that one of `members`, with a peer at this host, may queue to send: [`usize::MAX`]
    /// while there is enough memory.
    pub fn share(&self, members: usize, peer: impl FnOnce() -> Host) -> usize {
        let limit = self.limits.limit;
        match self.state() {
            MemoryState::Ease => usize::MAX,
            MemoryState::Full => LEAST,
            MemoryState::Pressure => {
                let granules = self.hosts.get(&peer()).copied().unwrap_or(0) as usize;
                let crowds_out = granules * GRANULE >= (limit / PART).max(GRANULE);
                if crowds_out { LEAST } else { LEAST.max(limit / members.max(1)) }
            }
        }
    }

    /// Adjusts an account to a member's present load (see [`Glance`](super::Glance)): its bytes
    /// have changed by the same amount, until [`Budget::note`] sets the exact value.
    #[inline]
    pub fn follow(&mut self, account: &mut Account, load: usize) {
        let before = core::mem::replace(&mut account.load, load);
        let total = account.total.saturating_add(load).saturating_sub(before);
        self.held = self.held.saturating_add(total).saturating_sub(account.total);
        account.total = total;
    }

    /// Records that the member in `row`, with a peer at this host, holds `now`.
    pub fn note(
        &mut self,
        row: u32,
        account: &mut Account,
        now: Held,
        peer: impl FnOnce() -> Host,
    ) {
        self.note_parts(row, account, now.total, || now, peer);
    }

    /// Like [`Budget::note`], for a member that holds `total` bytes; `parts` is called only if the
    /// parts matter, as for a member that holds more than [`LEAST`].
    pub fn note_parts(
        &mut self,
        row: u32,
        account: &mut Account,
        total: usize,
        parts: impl FnOnce() -> Held,
        peer: impl FnOnce() -> Host,
    ) {
        let granules = (total / GRANULE) as u32;
        let before = core::mem::replace(&mut account.granules, granules);
        if granules != before {
            self.note_host(peer(), before, granules);
        }
        self.held = self.held - account.total + total;
        account.total = total;
        let known = account.revocable | account.orphan | account.stuck;
        if total <= LEAST && known == 0 {
            return;
        }
        let now = parts();
        move_to(&mut self.revocable, row, &mut account.revocable, magnitude(now.revocable));
        move_to(&mut self.orphans, row, &mut account.orphan, magnitude(now.orphaned));
        move_to(&mut self.stuck, row, &mut account.stuck, magnitude(now.stuck));
    }

    fn note_host(&mut self, host: Host, before: u32, granules: u32) {
        let count = self.hosts.entry(host).or_default();
        *count = (*count + granules).saturating_sub(before);
        if *count == 0 {
            self.hosts.remove(&host);
        }
    }

    /// Whether no memory can be reclaimed from any member.
    #[cfg(test)]
    fn is_empty_handed(&self) -> bool {
        self.revocable.is_empty() && self.orphans.is_empty() && self.stuck.is_empty()
    }

    /// The row with the most revocable bytes, under pressure.
    pub fn worst_revocable(&self) -> Option<u32> {
        let scarce = self.held >= self.limits.pressure;
        self.revocable.last().filter(|_| scarce).map(|(_, row)| *row)
    }

    /// The orphan with the most to send, while no memory is left.
    pub fn worst_orphan(&self) -> Option<u32> {
        let full = self.held >= self.limits.limit;
        self.orphans.last().filter(|_| full).map(|(_, row)| *row)
    }

    /// Whether half of the bytes between pressure and limit are free: this hysteresis avoids waking
    /// a waiting member for each freed byte.
    pub fn is_eased(&self) -> bool {
        let MemoryLimits { pressure, limit } = self.limits;
        self.held < limit - limit.saturating_sub(pressure) / 2
    }
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use proptest::prelude::*;

    use super::*;

    fn host(last: u8) -> Host {
        Host::from(IpAddr::from(Ipv4Addr::new(192, 0, 2, last)))
    }

    fn note(budget: &mut Budget, row: u32, account: &mut Account, now: Held) {
        budget.note(row, account, now, || host(1));
    }

    fn behind(bytes: usize) -> Held {
        Held { total: bytes, revocable: bytes, ..Held::default() }
    }

    #[test]
    fn the_worst_holder_is_found_within_a_factor_of_two_and_those_with_little_never() {
        let mut budget = Budget::new(MemoryLimits::of(40_000));
        let mut accounts = [Account::default(); 3];
        for (row, bytes) in [5000, 20_000, LEAST].into_iter().enumerate() {
            note(&mut budget, row as u32, &mut accounts[row], behind(bytes));
        }
        assert_eq!((budget.held(), budget.state()), (29_096, MemoryState::Ease));
        assert_eq!(budget.worst_revocable(), None);
        note(&mut budget, 0, &mut accounts[0], behind(7000));
        assert_eq!(budget.state(), MemoryState::Pressure);
        assert_eq!(budget.worst_revocable(), Some(1));
        note(&mut budget, 1, &mut accounts[1], Held { total: 40_000, ..behind(0) });
        assert_eq!((budget.state(), budget.worst_revocable()), (MemoryState::Full, Some(0)));
        note(&mut budget, 0, &mut accounts[0], behind(0));
        assert_eq!((budget.held(), budget.worst_revocable()), (44_096, None));
    }

    #[test]
    fn members_come_to_be_up_to_the_reserve() {
        let mut budget = Budget::new(MemoryLimits::of(80_000));
        note(&mut budget, 0, &mut Account::default(), behind(90_000));
        assert!(!budget.has_room_for_one(), "an eighth is the reserve");
        budget.set_limits(MemoryLimits::of(80_000), 10_001);
        assert!(budget.has_room_for_one());
    }

    #[test]
    fn between_two_accounts_the_sum_follows_the_loads() {
        let mut budget = Budget::new(MemoryLimits::of(1 << 20));
        let mut accounts = [Account::default(); 2];
        budget.follow(&mut accounts[0], 500);
        note(&mut budget, 0, &mut accounts[0], behind(3000));
        note(&mut budget, 1, &mut accounts[1], behind(1000));
        budget.follow(&mut accounts[0], 800);
        assert_eq!((budget.held(), accounts[0].total()), (4300, 3300));
        budget.follow(&mut accounts[0], 0);
        assert_eq!(budget.held(), 3500);
        // A load that fell by more than is held: nothing is.
        budget.follow(&mut accounts[1], 5000);
        note(&mut budget, 1, &mut accounts[1], behind(4000));
        budget.follow(&mut accounts[1], 0);
        assert_eq!((budget.held(), accounts[1].total()), (2500, 0));
        note(&mut budget, 1, &mut accounts[1], behind(100));
        assert_eq!(budget.held(), 2600);
    }

    #[test]
    fn only_orphans_count_among_those_to_be_reset() {
        let mut budget = Budget::new(MemoryLimits::of(10_000));
        let mut account = Account::default();
        let holds = Held { total: 12_000, ..Held::default() };
        note(&mut budget, 7, &mut account, holds);
        assert_eq!(budget.worst_orphan(), None);
        note(&mut budget, 7, &mut account, Held { orphaned: 12_000, ..holds });
        assert_eq!(budget.worst_orphan(), Some(7));
        note(&mut budget, 7, &mut account, Held::default());
        assert_eq!((budget.held(), budget.is_empty_handed()), (0, true));
    }

    #[test]
    fn under_pressure_a_host_with_an_eighth_of_the_limit_gets_the_least_and_others_their_share() {
        let mut budget = Budget::new(MemoryLimits::of(1 << 20));
        let mut accounts = [Account::default(); 2];
        assert_eq!(budget.share(2, || host(1)), usize::MAX);
        note(&mut budget, 0, &mut accounts[0], Held { total: 800 << 10, ..Held::default() });
        assert_eq!(budget.share(2, || host(1)), LEAST);
        assert_eq!(budget.share(2, || host(2)), 1 << 19);
        assert_eq!(budget.share(100_000, || host(2)), LEAST);
        note(&mut budget, 1, &mut accounts[1], Held { total: 300 << 10, ..Held::default() });
        assert_eq!(budget.share(2, || host(2)), LEAST, "full");
    }

    proptest! {
        #[test]
        fn sums_and_orders_are_those_of_the_accounts(
            changes in prop::collection::vec((0usize..6, 0usize..200_000, 0usize..4), 0..200)
        ) {
            let mut budget = Budget::new(MemoryLimits::of(300_000));
            let (mut accounts, mut model) = ([Account::default(); 6], [Held::default(); 6]);
            for (row, total, part) in changes {
                let now = Held {
                    total,
                    revocable: if part == 1 { total / 2 } else { 0 },
                    orphaned: if part == 2 { total } else { 0 },
                    stuck: if part == 3 { total } else { 0 },
                };
                model[row] = now;
                budget.note(row as u32, &mut accounts[row], now, || host(row as u8 / 2));
                let sum: usize = model.iter().map(|held| held.total).sum();
                prop_assert_eq!(budget.held(), sum);
                let largest = |of: fn(&Held) -> usize| model.iter().map(of).map(magnitude).max();
                let of_worst = |row: Option<u32>, of: fn(&Held) -> usize| {
                    row.map(|row| magnitude(of(&model[row as usize])))
                };
                let worst = of_worst(budget.worst_revocable(), |held| held.revocable);
                let scarce = sum >= 225_000;
                prop_assert_eq!(worst, largest(|held| held.revocable).filter(|most| scarce && *most > 0));
                let worst = of_worst(budget.worst_orphan(), |held| held.orphaned);
                let full = sum >= 300_000;
                prop_assert_eq!(worst, largest(|held| held.orphaned).filter(|most| full && *most > 0));
                let worst = of_worst(budget.worst_stuck(), |held| held.stuck);
                let crowded = sum >= 337_500;
                prop_assert_eq!(worst, largest(|held| held.stuck).filter(|most| crowded && *most > 0));
            }
            for (row, account) in accounts.iter_mut().enumerate() {
                budget.note(row as u32, account, Held::default(), || host(row as u8 / 2));
            }
            prop_assert!(budget.held() == 0 && budget.is_empty_handed() && budget.hosts.is_empty());
        }
    }
}
