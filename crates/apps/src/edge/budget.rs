//! The memory of the process, and the part of it that is left for the data of the stacks.
//!
//! [`EdgeOptions::memory`](super::EdgeOptions) limits the whole process: code, tables, connections,
//! and data on their way. Bytes that a flow has taken from a stack and the service has not taken
//! yet count against the limit of the stacks: they move from one account to the other, and the sum
//! does not grow.

use std::sync::atomic::{AtomicUsize, Ordering};

use tcp::MemoryLimits;

/// Memory of the process without connections: code, buffers of the device, tables; measured as its
/// resident memory (`cargo test -p interop --test tun edge_memory`). A small budget gives it a
/// quarter.
const FIXED: usize = 12 << 20;
/// Buffers of each further shard.
const SHARD: usize = 2 << 20;
/// Most memory of a connection that holds little: up to 4 KiB of data each way, which nothing
/// delays, and its state in the stack, in its task and in reports. Measured as 16 kB where every
/// connection fills both directions, and as four to seven where all are idle (`make attacks`).
const CONNECTION: usize = 16 << 10;
/// The part of it that is data: 4 KiB each way, which a connection may hold whatever the limit.
const LITTLE: usize = 8 << 10;
/// Part of the memory that is reserved for connections from the beginning, so that the share of
/// data does not shrink as connections come.
const RESERVED: usize = 6;
/// Part of that share for data: four of five bytes; the fifth is for gaps of the allocator.
const DATA: (usize, usize) = (4, 5);

/// The budget of a process.
#[derive(Debug)]
pub(super) struct Budget {
    memory: usize,
    /// Bytes that each stack's connections held when it last asked for its limits.
    held: Box<[AtomicUsize]>,
    connections: AtomicUsize,
    in_flows: AtomicUsize,
}

impl Budget {
    /// A budget in bytes for the stacks of this many shards together.
    pub(super) fn new(memory: usize, shards: usize) -> Budget {
        let (connections, in_flows) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let held = (0..shards.max(1)).map(|_| AtomicUsize::new(0)).collect();
        Budget { memory, held, connections, in_flows }
    }

    fn shards(&self) -> usize {
        self.held.len()
    }

    /// Bytes of memory that the edge may use in all.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Present limits of a shard's stack, whose connections hold `held` bytes: these, and an equal
    /// part of what no stack holds. The limits of all stacks together are what there is for
    /// data, and one that is busy alone may have nearly all of it.
    pub(super) fn limits(&self, shard: usize, held: usize) -> MemoryLimits {
        let part = |bytes: usize, (some, all): (usize, usize)| bytes / all * some;
        let data = part(self.left_beside(self.memory / RESERVED), DATA);
        let data = data.saturating_sub(self.in_flows());
        if self.shards() == 1 {
            return MemoryLimits::of(data);
        }
        if let Some(own) = self.held.get(shard) {
            own.store(held, Ordering::Relaxed);
        }
        let all: usize = self.held.iter().map(|held| held.load(Ordering::Relaxed)).sum();
        MemoryLimits::of(match data.checked_sub(all) {
            Some(free) => held + free / self.shards(),
            // Each gives back in proportion to what it holds.
            None => (data as u128 * held as u128 / all.max(1) as u128) as usize,
        })
    }

    /// Bytes beyond that limit up to which each stack accepts new connections, and from which on
    /// those that hold more than they ever moved are reset. Connections that hold little may
    /// exceed the limit, so that those that hold much do not keep others out; the memory of
    /// each connection has these bytes in it.
    pub(super) fn reserve(&self) -> usize {
        self.of_connections(LITTLE) / self.shards()
    }

    /// Whether one more connection fits: state of connections must leave some memory for data.
    pub(super) fn has_room_for_one(&self) -> bool {
        let beyond_little = self.in_flows().saturating_sub(self.of_connections(LITTLE / 2));
        self.left_beside(0) > self.memory / 8 + beyond_little
    }

    /// Bytes that a flow may take from a stack at once, of `most`: little where flows hold much of
    /// the data already.
    pub(super) fn piece(&self, most: usize) -> usize {
        let much = self.left_beside(self.memory / RESERVED) / 4;
        if self.in_flows() < much { most } else { most.min(LITTLE / 2) }
    }

    /// The product of `bytes` and the number of connections.
    fn of_connections(&self, bytes: usize) -> usize {
        self.connections.load(Ordering::Relaxed).saturating_mul(bytes)
    }

    /// Bytes left for data in the stack and in flows, once connections have their least share.
    fn left_beside(&self, reserved: usize) -> usize {
        let fixed = (FIXED + (self.shards() - 1) * SHARD).min(self.memory / 4);
        let connections = self.of_connections(CONNECTION);
        self.memory.saturating_sub(fixed).saturating_sub(connections.max(reserved))
    }

    /// Bytes that flows hold between a client and a service.
    pub(super) fn in_flows(&self) -> usize {
        self.in_flows.load(Ordering::Relaxed)
    }

    /// Counts a connection that was accepted.
    pub(super) fn enter(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Uncounts a connection that has ended.
    pub(super) fn leave(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// A flow that held `before` bytes holds `now`.
    pub(super) fn move_in_flows(&self, before: usize, now: usize) {
        if before == now {
            return;
        }
        self.in_flows.fetch_add(now, Ordering::Relaxed);
        self.in_flows.fetch_sub(before, Ordering::Relaxed);
    }
}

/// Resident memory of the process, in bytes; `None` where the system does not report it.
pub(super) fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_connections_and_flows_take_is_not_given_to_the_stacks() {
        let budget = Budget::new(64 << 20, 1);
        let alone = budget.limits(0, 0).limit;
        assert!(((24 << 20)..(40 << 20)).contains(&alone), "{alone}");
        (0..600).for_each(|_| budget.enter());
        assert_eq!(budget.limits(0, 0).limit, alone, "there is a reserve for as many");
        (0..1100).for_each(|_| budget.enter());
        let with_connections = budget.limits(0, 0).limit;
        assert!(alone - with_connections >= 800 * CONNECTION, "{with_connections}");
        budget.move_in_flows(0, 8 << 20);
        let with_flows = budget.limits(0, 0).limit;
        assert!((6 << 20..9 << 20).contains(&(with_connections - with_flows)), "{with_flows}");
        budget.move_in_flows(8 << 20, 0);
        (0..1700).for_each(|_| budget.leave());
        assert_eq!(budget.limits(0, 0).limit, alone);
    }

    #[test]
    fn connections_are_refused_before_they_leave_nothing_for_data() {
        let budget = Budget::new(64 << 20, 1);
        let mut count = 0;
        while budget.has_room_for_one() {
            budget.enter();
            count += 1;
        }
        assert!((2500..3000).contains(&count), "{count}");
        assert!(budget.limits(0, 0).limit >= 2 << 20, "{:?}", budget.limits(0, 0));
    }

    #[test]
    fn all_that_stacks_accept_and_flows_hold_stays_within_the_memory() {
        for connections in [0, 100, 1000, 2500] {
            for in_flows in [0, 4 << 20, 20 << 20] {
                let budget = Budget::new(64 << 20, 1);
                (0..connections).for_each(|_| budget.enter());
                budget.move_in_flows(0, in_flows);
                let state = connections * (CONNECTION - LITTLE);
                let held = budget.limits(0, 0).limit + budget.reserve() + budget.in_flows();
                let most = (64 << 20).max(FIXED + state + in_flows + budget.reserve());
                assert!(FIXED + state + held <= most, "{connections} {in_flows}: {held}");
            }
        }
    }

    #[test]
    fn flows_that_hold_much_take_little_at_a_time() {
        let budget = Budget::new(64 << 20, 1);
        assert_eq!((budget.piece(1 << 16), budget.piece(100)), (1 << 16, 100));
        budget.move_in_flows(0, 20 << 20);
        assert_eq!((budget.piece(1 << 16), budget.piece(100)), (4096, 100));
    }

    #[test]
    fn shards_together_have_what_one_has_and_one_that_is_busy_alone_nearly_all() {
        let budget = Budget::new(128 << 20, 2);
        let limit = |shard, held| budget.limits(shard, held).limit;
        // A shard takes all that its limit allows, and says so.
        let fill = |shard, held| {
            let taken = limit(shard, held);
            limit(shard, taken);
            taken
        };
        let whole = limit(0, 0) + limit(1, 0);
        let alone = (0..20).fold(0, |held, _| fill(0, held));
        assert!(alone > whole / 100 * 95, "{alone} of {whole}");
        assert!(alone + fill(1, 0) <= whole);
        // Clients of both take a tenth of what waits for them again and again: both get a part of
        // that.
        let (mut one, mut two) = (alone, 0);
        for _ in 0..100 {
            one = fill(0, one - one / 10);
            two = fill(1, two - two / 10);
            assert!(one + two <= whole, "{one} + {two} of {whole}");
        }
        assert!(one.abs_diff(two) < whole / 10, "{one} {two}");
        // Less is left: each is asked for a part of its own.
        (0..4000).for_each(|_| budget.enter());
        let (first, second) = (limit(0, one), limit(1, two));
        assert!(first < one && second < two, "{first} of {one}, {second} of {two}");
    }

    #[test]
    fn no_sum_overflows_however_small_the_budget_is() {
        let budget = Budget::new(1 << 20, 256);
        budget.move_in_flows(0, 1 << 30);
        (0..1000).for_each(|_| budget.enter());
        assert_eq!((budget.limits(0, 0).limit, budget.has_room_for_one()), (0, false));
    }

    #[test]
    fn the_system_tells_what_this_process_has() {
        assert!(resident().unwrap() > 1 << 20);
    }
}
