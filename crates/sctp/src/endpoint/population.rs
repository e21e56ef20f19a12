//! The number of members of each host, and which member makes room for a new one at the limit. A
//! host's members are the associations that it opened.
//!
//! A member is *unused* until user data came to it or was acknowledged on it: a peer that opens
//! associations to fill a table rarely spends more than that on each. Unused members make room
//! first, from the host with the most members; then those with the longest idle time, again from
//! the host with the most members.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{Duration, Host, Instant};

use super::census::Census;

/// Required idle time of a used member whose host has more members than the newcomer's host would
/// have.
const IDLE_OF_LARGER: Duration = Duration::from_secs(1);

/// A host with this many times the members of the newcomer's host yields one regardless of its idle
/// time, so that no host takes all places by keeping each in use.
const CROWD: usize = 64;

/// Required idle time of a used member of any other host: longer than usual pauses of thin streams.
const IDLE: Duration = Duration::from_secs(30);

/// Most members whose last use is looked up for one newcomer.
pub(super) const LOOKS: usize = 64;

/// Last use of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    /// Whether the member was ever used. An unused member sorts before all others.
    used: bool,
    /// Time of the last use, or of the member's creation.
    at: Instant,
}

impl Use {
    /// A member that was created at `at` and has not been used since.
    pub(super) fn none_since(at: Instant) -> Use {
        Use { used: false, at }
    }

    /// A member that was last used at `at`.
    pub(super) fn at(at: Instant) -> Use {
        Use { used: true, at }
    }
}

/// The known use of a member: kept beside it, with the host for which it was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Membership {
    /// Use at the last lookup; the time may be out of date.
    last: Use,
}

impl Membership {
    /// Last known use of the member, or its creation.
    pub(super) fn last_known(&self) -> Use {
        self.last
    }
}

/// The members that count towards the limit of a host, and the order in which they make room.
#[derive(Debug)]
pub(super) struct Population {
    /// Most members of a host, including those of other endpoints in the census.
    per_host: usize,
    census: Option<Arc<dyn Census>>,
    members: BTreeSet<(Host, Use, u32)>,
    /// Number of members of each host with more than one; most hosts have one.
    several: BTreeMap<Host, u32>,
    /// Hosts, in the order in which their members make room.
    order: BTreeSet<(Rank, Host)>,
}

/// Rank of a host: the lowest makes room first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    used: bool,
    /// Magnitude of the number of members; hosts within a factor of two are equal.
    magnitude: Reverse<u32>,
    at: Instant,
}

impl Population {
    /// An empty population, in which each host may have `per_host` members.
    pub(super) fn new(per_host: usize) -> Population {
        Population {
            per_host,
            census: None,
            members: BTreeSet::new(),
            several: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }

    /// Joins a census, so that hosts are counted together with those of other endpoints. The
    /// population must be empty.
    pub(super) fn join(&mut self, census: Arc<dyn Census>) {
        self.census = Some(census);
    }

    /// Number of members of a host.
    pub(super) fn of(&self, host: Host) -> usize {
        self.count(host) as usize
    }

    fn count(&self, host: Host) -> u32 {
        match self.several.get(&host) {
            Some(count) => *count,
            None => self.first_of(host).is_some().into(),
        }
    }

    /// Whether a host has reached its limit of members.
    pub(super) fn is_full(&self, host: Host) -> bool {
        self.of(host) >= self.per_host
    }

    /// Whether a host may have one more member, or any number if `unlimited`: [`Population::enter`]
    /// follows, or [`Population::dismiss`].
    pub(super) fn admit(&self, host: Host, unlimited: bool) -> bool {
        match &self.census {
            None => unlimited || !self.is_full(host),
            Some(census) => census.admit(host, if unlimited { usize::MAX } else { self.per_host }),
        }
    }

    /// Takes back an admission whose member was not created.
    pub(super) fn dismiss(&self, host: Host) {
        if let Some(census) = &self.census {
            census.dismiss(host);
        }
    }

    /// Adds the member in `row`, of `host`, created at `now`.
    pub(super) fn enter(&mut self, row: u32, host: Host, now: Instant) -> Membership {
        let last = Use::none_since(now);
        self.change(host, |members| {
            members.insert((host, last, row));
            1
        });
        Membership { last }
    }

    /// Removes the member in `row`.
    pub(super) fn leave(&mut self, row: u32, host: Host, membership: Membership) {
        let mut gone = false;
        self.change(host, |members| {
            gone = members.remove(&(host, membership.last, row));
            -i32::from(gone)
        });
        if gone {
            self.dismiss(host);
        }
    }

    /// Notes the use of the member in `row`, of `host`. Only the first use has to be noted: later
    /// ones are looked up when they matter.
    #[inline]
    pub(super) fn on_used(
        &mut self,
        row: u32,
        host: Host,
        membership: &mut Membership,
        now: Instant,
    ) {
        if !membership.last.used {
            self.refresh(row, host, membership, Use::at(now));
        }
    }

    #[cold]
    fn refresh(&mut self, row: u32, host: Host, membership: &mut Membership, last: Use) {
        self.change(host, |members| {
            if members.remove(&(host, membership.last, row)) {
                members.insert((host, last, row));
                membership.last = last;
            }
            0
        });
    }

    /// The row of the member that makes room first, by its last known use. [`Population::knows`]
    /// verifies the use, and [`Population::yields`] decides.
    pub(super) fn first(&self) -> Option<u32> {
        let (_, host) = self.order.first()?;
        self.first_of(*host).map(|(_, row)| row)
    }

    /// Whether the known use of the member in `row` is `last`. If not, it is corrected, and another
    /// member may be the [`first`](Population::first); a newcomer justifies at most [`LOOKS`] such
    /// lookups.
    pub(super) fn knows(
        &mut self,
        row: u32,
        host: Host,
        membership: &mut Membership,
        last: Use,
    ) -> bool {
        let known = membership.last == last;
        if !known {
            self.refresh(row, host, membership, last);
        }
        known
    }

    /// Whether a member of `host` makes room for a newcomer of `newcomer`: it was never used, or
    /// its idle time suffices.
    pub(super) fn yields(
        &self,
        now: Instant,
        newcomer: Host,
        host: Host,
        membership: &Membership,
    ) -> bool {
        let needed = match self.of(host) / (self.of(newcomer) + 1) {
            CROWD.. => Duration::ZERO,
            _ if self.of(host) > self.of(newcomer) + 1 => IDLE_OF_LARGER,
            _ => IDLE,
        };
        !membership.last.used || now.since(membership.last.at) >= needed
    }

    fn first_of(&self, host: Host) -> Option<(Use, u32)> {
        let least = (host, Use::none_since(Instant::ZERO), 0);
        let (found, last, row) = self.members.range(least..).next()?;
        (*found == host).then_some((*last, *row))
    }

    /// Rank of a host; none without members.
    fn rank(&self, host: Host) -> Option<Rank> {
        let (Use { used, at }, _) = self.first_of(host)?;
        Some(Rank { used, magnitude: Reverse(self.count(host).ilog2()), at })
    }

    /// Changes members of a host; `change` answers how many more there are.
    fn change(&mut self, host: Host, change: impl FnOnce(&mut BTreeSet<(Host, Use, u32)>) -> i32) {
        let (count, before) = (self.count(host), self.rank(host));
        let count = count.saturating_add_signed(change(&mut self.members));
        match count {
            0 | 1 => self.several.remove(&host),
            several => self.several.insert(host, several),
        };
        let now = self.rank(host);
        if before == now {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, host));
        }
        if let Some(now) = now {
            self.order.insert((now, host));
        }
    }
}

#[cfg(test)]
mod tests {
    use core::net::IpAddr;

    use proptest::prelude::*;

    use super::*;

    fn host(last: u8) -> Host {
        Host::from(IpAddr::from([192, 0, 2, last]))
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1000)
    }

    /// A population with what is kept beside each member: when it was used, and its membership.
    struct World {
        population: Population,
        hosts: Vec<u8>,
        beside: Vec<Option<(Use, Membership)>>,
    }

    impl World {
        fn new(per_host: usize) -> World {
            World { population: Population::new(per_host), hosts: Vec::new(), beside: Vec::new() }
        }

        fn enter(&mut self, from: u8, now: Instant) -> u32 {
            let row = self.beside.len() as u32;
            let membership = self.population.enter(row, host(from), now);
            self.beside.push(Some((Use::none_since(now), membership)));
            self.hosts.push(from);
            row
        }

        fn used(&mut self, row: u32, now: Instant) {
            let (last, membership) = self.beside[row as usize].as_mut().unwrap();
            *last = Use::at(now);
            self.population.on_used(row, host(self.hosts[row as usize]), membership, now);
        }

        fn leave(&mut self, row: u32) {
            let (_, membership) = self.beside[row as usize].take().unwrap();
            self.population.leave(row, host(self.hosts[row as usize]), membership);
        }

        fn victim(&mut self, now: Instant, newcomer: u8) -> Option<u32> {
            for _ in 0..LOOKS {
                let row = self.population.first()?;
                let (last, membership) = self.beside[row as usize].as_mut().unwrap();
                let of = host(self.hosts[row as usize]);
                if self.population.knows(row, of, membership, *last) {
                    let yields = self.population.yields(now, host(newcomer), of, membership);
                    return yields.then_some(row);
                }
            }
            None
        }
    }

    #[test]
    fn each_host_has_its_members_counted_up_to_its_limit() {
        let mut world = World::new(2);
        let first = world.enter(1, at(0));
        assert!(!world.population.is_full(host(1)));
        world.enter(1, at(0));
        assert!(world.population.is_full(host(1)) && !world.population.is_full(host(2)));
        world.leave(first);
        assert_eq!((world.population.of(host(1)), world.population.of(host(2))), (1, 0));
    }

    #[test]
    fn the_unused_make_room_first_the_oldest_of_the_host_with_the_most() {
        let mut world = World::new(100);
        let single = world.enter(1, at(0));
        let many: Vec<u32> = (0..4).map(|second| world.enter(2, at(1 + second))).collect();
        world.used(many[0], at(6));
        assert_eq!(world.victim(at(6), 3), Some(many[1]));
        for row in &many[1..] {
            world.leave(*row);
        }
        assert_eq!(world.victim(at(6), 3), Some(single));
    }

    #[test]
    fn the_used_make_room_once_they_were_idle_and_sooner_if_their_host_has_many() {
        let mut world = World::new(100);
        let many: Vec<u32> = (0..3).map(|_| world.enter(2, at(0))).collect();
        for (row, second) in many.iter().zip([5, 3, 4]) {
            world.used(*row, at(second));
        }
        assert_eq!(world.victim(at(3), 3), None, "idle for no time at all");
        assert_eq!(world.victim(at(4), 3), Some(many[1]));
        // A later use is looked up.
        world.used(many[1], at(6));
        assert_eq!(world.victim(at(6), 3), Some(many[2]));
        // For one of the same host they stay longer.
        assert_eq!(world.victim(at(33), 2), None);
        assert_eq!(world.victim(at(34), 2), Some(many[2]));
    }

    #[test]
    fn of_a_crowd_the_one_that_was_idle_the_longest_makes_room_however_short_that_is() {
        let mut world = World::new(100);
        let rows: Vec<u32> = (0..64).map(|_| world.enter(1, at(0))).collect();
        rows.iter().for_each(|row| world.used(*row, at(1)));
        world.used(rows[0], at(2));
        assert_eq!(world.victim(at(2), 2), Some(rows[1]));
        world.enter(2, at(2));
        world.used(64, at(2));
        assert_eq!(world.victim(at(1), 2), None, "two of the newcomer's are half as few");
    }

    /// A census of hosts alone: places are never short.
    #[derive(Debug, Default)]
    struct Together(std::sync::Mutex<BTreeMap<Host, usize>>);

    impl Census for Together {
        fn take_place(&self, _: usize) -> bool {
            true
        }

        fn give_place(&self) {}

        fn admit(&self, host: Host, most: usize) -> bool {
            let mut hosts = self.0.lock().unwrap();
            let count = hosts.entry(host).or_default();
            let admitted = *count < most;
            *count += usize::from(admitted);
            admitted
        }

        fn dismiss(&self, host: Host) {
            *self.0.lock().unwrap().get_mut(&host).unwrap() -= 1;
        }
    }

    #[test]
    fn populations_of_one_census_count_a_host_together() {
        let census: Arc<Together> = Arc::default();
        let mut both = [Population::new(2), Population::new(2)];
        for population in &mut both {
            population.join(Arc::clone(&census) as Arc<dyn Census>);
        }
        let count = || census.0.lock().unwrap()[&host(1)];
        let members = both.each_mut().map(|population| {
            assert!(population.admit(host(1), false));
            population.enter(1, host(1), at(0))
        });
        assert_eq!((both[0].of(host(1)), both[1].of(host(1)), count()), (1, 1, 2));
        assert!(!both[0].admit(host(1), false), "two of both endpoints are all");
        assert!(both[0].admit(host(2), false), "another host");
        both[0].dismiss(host(2));
        // It leaves once, however often that is reported.
        for _ in 0..2 {
            both[1].leave(1, host(1), members[1]);
        }
        assert_eq!(count(), 1);
        assert!(both[0].admit(host(1), false));
        both[0].dismiss(host(1));
        assert_eq!(count(), 1);
    }

    proptest! {
        #[test]
        fn counts_and_ranks_follow_the_members(
            steps in prop::collection::vec((0u8..4, 0u8..4, 0usize..40), 0..120)
        ) {
            let mut world = World::new(1000);
            let mut hosts = Vec::new();
            for (second, (action, from, pick)) in steps.into_iter().enumerate() {
                let now = at(second as u64);
                let living: Vec<u32> = (0..world.beside.len() as u32)
                    .filter(|row| world.beside[*row as usize].is_some())
                    .collect();
                match (action, living.get(pick % living.len().max(1))) {
                    (0 | 1, _) | (_, None) => {
                        world.enter(from, now);
                        hosts.push(from);
                    }
                    (2, Some(row)) => world.used(*row, now),
                    (_, Some(row)) => world.leave(*row),
                }
                let victim = world.victim(now, 9);
                let count = |of: u8| {
                    let rows = world.beside.iter().zip(&hosts);
                    rows.filter(|(beside, from)| beside.is_some() && **from == of).count()
                };
                for of in 0..4 {
                    prop_assert_eq!(world.population.of(host(of)), count(of));
                }
                let of_unused = |(beside, from): (&Option<(Use, Membership)>, &u8)| {
                    beside.filter(|(last, _)| !last.used).map(|_| count(*from).ilog2())
                };
                let largest = world.beside.iter().zip(&hosts).filter_map(of_unused).max();
                let magnitude = victim.map(|row| count(hosts[row as usize]).ilog2());
                if largest.is_some() {
                    prop_assert_eq!(magnitude, largest);
                    let (last, _) = world.beside[victim.unwrap() as usize].unwrap();
                    prop_assert!(!last.used);
                }
            }
        }
    }
}
