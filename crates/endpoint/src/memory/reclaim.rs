//! Reclaims memory from members as it becomes scarce, and notifies waiting members of free memory.

use base::Instant;

use super::{Account, Budget, Holder, MemoryLimits, MemoryState, StallDetector, Waiters};

/// The memory that the members of an endpoint share.
#[derive(Debug)]
pub struct Pool<Id> {
    budget: Budget,
    /// Detects members that hold much without progress.
    stall_detector: StallDetector<Id>,
    /// Members whose applications could not send for lack of memory.
    writers: Waiters<Id>,
}

impl<Id: Copy + Ord> Pool<Id> {
    /// An unused pool; `part` as in [`StallDetector::new`].
    pub fn new(limits: MemoryLimits, part: Option<usize>) -> Pool<Id> {
        Pool {
            budget: Budget::new(limits),
            stall_detector: StallDetector::new(part),
            writers: Waiters::default(),
        }
    }

    /// The sum of all accounts.
    #[inline]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The sum of all accounts, to be changed.
    #[inline]
    pub fn budget_mut(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// Time at which holders of much memory are next checked, or waiting members notified.
    pub fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest(&[self.stall_detector.next_at(), self.writers.next_at()])
    }

    /// Whether no memory can be reclaimed, and no member has to be checked or notified.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.budget.is_at_ease()
            && self.stall_detector.next_at().is_none()
            && self.writers.is_empty()
    }

    /// Queues the member with this account, which could not send for lack of memory, to be notified
    /// of free memory.
    pub fn await_memory(&mut self, id: Id, account: &mut Account) {
        if !core::mem::replace(&mut account.waits, true) {
            self.writers.push(id);
        }
    }
}

/// Reason for which a member is ended for lack of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no room for one more member, and this one holds more bytes than it ever moved.
    Stuck,
    /// The application has released the member, which has much left to send.
    Orphaned,
    /// The member held much and made no progress between two checks.
    Stalled,
}

/// An endpoint that reclaims memory from its members. [`Reclaim::balance`] decides from which and
/// when; each protocol implements the other calls.
pub trait Reclaim {
    /// The name of a member.
    type Id: Copy + Ord;

    /// The memory that all members share.
    fn pool(&mut self) -> &mut Pool<Self::Id>;

    /// The memory that all members share, and what each of them holds.
    fn pool_and_holders(&mut self)
    -> (&mut Pool<Self::Id>, impl Iterator<Item = Holder<Self::Id>>);

    /// Number of members, from which the number of writers to notify at once follows.
    fn members(&self) -> usize;

    /// The member in a row.
    fn id(&self, row: u32) -> Option<Self::Id>;

    /// Notes in the budget exactly what a member holds.
    fn note_exactly(&mut self, id: Self::Id);

    /// Discards the data that a member received out of order, which the peer retransmits, and notes
    /// the member's remaining memory.
    fn prune(&mut self, now: Instant, id: Self::Id);

    /// Ends a member at once, counts it, and notes its remaining memory.
    fn end(&mut self, now: Instant, id: Self::Id, reason: Reason);

    /// Notifies a member that waited for memory, and marks it as not waiting. False if the member
    /// no longer exists.
    fn announce_memory(&mut self, now: Instant, id: Self::Id) -> bool;

    /// Reclaims excess memory from the members that hold most, and notifies waiting members.
    #[inline]
    fn balance(&mut self, now: Instant) {
        if !self.pool().is_at_rest() {
            take_back(self, now);
        }
    }
}

#[cold]
fn take_back<E: Reclaim + ?Sized>(endpoint: &mut E, now: Instant) {
    look_at_holders(endpoint, now);
    while let Some(row) = endpoint.pool().budget.worst_revocable()
        && let Some(id) = endpoint.id(row)
    {
        endpoint.prune(now, id);
    }
    while let Some(id) = worst(endpoint, Budget::worst_stuck) {
        endpoint.end(now, id, Reason::Stuck);
    }
    while let Some(id) = worst(endpoint, Budget::worst_orphan) {
        endpoint.end(now, id, Reason::Orphaned);
    }
    tell_writers(endpoint, now);
}

/// The first member in an order of the budget. Accounts may lag while there is enough memory, so
/// that the first one is updated, which may bring another to the front.
fn worst<E: Reclaim + ?Sized>(
    endpoint: &mut E,
    order: impl Fn(&Budget) -> Option<u32>,
) -> Option<E::Id> {
    loop {
        let row = order(&endpoint.pool().budget)?;
        let id = endpoint.id(row)?;
        endpoint.note_exactly(id);
        if order(&endpoint.pool().budget) == Some(row) {
            return Some(id);
        }
    }
}

/// Records under pressure once a minute the progress of members that hold much. At the limit, ends
/// those without progress since the last check, the largest first, until memory is free again.
fn look_at_holders<E: Reclaim + ?Sized>(endpoint: &mut E, now: Instant) {
    let Pool { budget, stall_detector, .. } = endpoint.pool();
    let state = budget.state();
    if !stall_detector.is_due(now, state) {
        return;
    }
    let (pool, holders) = endpoint.pool_and_holders();
    let mut stalled = pool.stall_detector.look(holders);
    if state != MemoryState::Full {
        return;
    }
    while !endpoint.pool().budget.is_eased()
        && let Some((_, id)) = stalled.pop()
    {
        endpoint.end(now, id, Reason::Stalled);
    }
}

/// Notifies some of the waiting members that they may send.
fn tell_writers<E: Reclaim + ?Sized>(endpoint: &mut E, now: Instant) {
    let members = endpoint.members();
    let Pool { budget, writers, .. } = endpoint.pool();
    let mut count = writers.due(now, budget, members);
    if count == 0 {
        return;
    }
    while count > 0
        && let Some(id) = endpoint.pool().writers.pop()
    {
        count -= usize::from(endpoint.announce_memory(now, id));
    }
    endpoint.pool().writers.pause(now);
}

#[cfg(test)]
mod tests {
    use core::net::IpAddr;

    use base::{Duration, Host};

    use super::*;
    use crate::memory::{Direction, Held};

    /// An endpoint whose members hold what the test says and do nothing.
    struct Ends {
        pool: Pool<u32>,
        members: Vec<(Held, Account)>,
        /// Calls of `prune`, `end` and `announce_memory`, in order.
        log: Vec<(u32, &'static str)>,
    }

    impl Ends {
        fn new(limit: usize, members: &[Held]) -> Ends {
            let pool = Pool::new(MemoryLimits::of(limit), None);
            let members = members.iter().map(|held| (*held, Account::default())).collect();
            let mut ends = Ends { pool, members, log: Vec::new() };
            (0..ends.members.len() as u32).for_each(|id| ends.note_exactly(id));
            ends
        }

        fn hold(&mut self, id: u32, held: Held) {
            self.members[id as usize].0 = held;
            self.note_exactly(id);
        }
    }

    impl Reclaim for Ends {
        type Id = u32;

        fn pool(&mut self) -> &mut Pool<u32> {
            &mut self.pool
        }

        fn pool_and_holders(&mut self) -> (&mut Pool<u32>, impl Iterator<Item = Holder<u32>>) {
            let holders = self.members.iter().enumerate().map(|(id, (held, account))| {
                let directions = [Direction { held: held.total, gone: 0 }, Direction::default()];
                Holder { id: id as u32, total: account.total(), directions }
            });
            (&mut self.pool, holders)
        }

        fn members(&self) -> usize {
            self.members.len()
        }

        fn id(&self, row: u32) -> Option<u32> {
            Some(row)
        }

        fn note_exactly(&mut self, id: u32) {
            let (held, account) = &mut self.members[id as usize];
            self.pool.budget.note(id, account, *held, || Host::from(IpAddr::from([192, 0, 2, 1])));
        }

        fn prune(&mut self, _: Instant, id: u32) {
            self.log.push((id, "prune"));
            let held = self.members[id as usize].0;
            let total = held.total - held.revocable;
            self.hold(id, Held { total, revocable: 0, ..held });
        }

        fn end(&mut self, _: Instant, id: u32, reason: Reason) {
            let name = match reason {
                Reason::Stuck => "stuck",
                Reason::Orphaned => "orphaned",
                Reason::Stalled => "stalled",
            };
            self.log.push((id, name));
            self.hold(id, Held::default());
        }

        fn announce_memory(&mut self, _: Instant, id: u32) -> bool {
            self.log.push((id, "told"));
            let member = self.members.get_mut(id as usize);
            member.map(|(_, account)| account.waits = false).is_some()
        }
    }

    fn total(total: usize) -> Held {
        Held { total, ..Held::default() }
    }

    #[test]
    fn members_give_back_in_order_what_is_revocable_what_is_stuck_and_what_orphans_hold() {
        let held = [
            total(20_000),
            Held { revocable: 20_000, ..total(20_000) },
            Held { stuck: 90_000, ..total(90_000) },
            Held { orphaned: 90_000, ..total(90_000) },
            Held { orphaned: 30_000, ..total(30_000) },
        ];
        let mut ends = Ends::new(100_000, &held);
        ends.balance(Instant::ZERO);
        assert_eq!(ends.log, [(1, "prune"), (2, "stuck"), (3, "orphaned")]);
        assert_eq!(ends.pool.budget().held(), 50_000);
        ends.balance(Instant::ZERO);
        assert!(ends.log.len() == 3 && ends.pool.is_at_rest());
    }

    #[test]
    fn the_worst_of_outdated_accounts_is_looked_at_anew() {
        let held = [35_000, 70_000, 9000].map(|bytes| Held { orphaned: bytes, ..total(bytes) });
        let mut ends = Ends::new(100_000, &held);
        // What member 1 has left to send went unnoticed.
        ends.members[1].0 = total(70_000);
        ends.balance(Instant::ZERO);
        assert_eq!(ends.log, [(0, "orphaned")]);
    }

    #[test]
    fn members_that_stand_still_for_a_minute_end_at_the_limit_the_largest_first() {
        let mut ends = Ends::new(100_000, &[40_000, 70_000, 2000].map(total));
        ends.balance(Instant::ZERO);
        assert!(ends.log.is_empty());
        let due = ends.pool.next_timeout().unwrap();
        ends.balance(Instant::ZERO + Duration::from_secs(59));
        assert!(ends.log.is_empty());
        ends.balance(due);
        assert_eq!(ends.log, [(1, "stalled")]);
    }

    #[test]
    fn those_that_wait_are_told_once_there_is_memory_and_those_that_are_gone_take_no_turn() {
        let mut ends = Ends::new(100_000, &[100_000, 0, 0].map(total));
        ends.pool.await_memory(7, &mut Account::default());
        for id in [1, 2, 1] {
            let mut account = ends.members[id as usize].1;
            ends.pool.await_memory(id, &mut account);
            ends.members[id as usize].1 = account;
        }
        ends.balance(Instant::ZERO);
        assert!(ends.log.is_empty());
        ends.hold(0, total(50_000));
        ends.balance(Instant::ZERO);
        assert_eq!(ends.log, [(7, "told"), (1, "told")]);
        let due = ends.pool.next_timeout().unwrap();
        ends.balance(due);
        assert_eq!(ends.log[2..], [(2, "told")]);
        assert!(ends.pool.is_at_rest());
    }
}
