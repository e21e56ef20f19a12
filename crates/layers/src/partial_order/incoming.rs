//! The receiving side: which of the messages that arrived may be delivered.
//!
//! A number is *settled* once its message was handed to the application, or, if it was abandoned,
//! once everything that it would have waited for is settled. A message is *ready* when all its
//! predecessors are settled. The *base* is the lowest number not settled: whatever lies below is
//! forgotten.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use smallvec::SmallVec;

use super::frame::Predecessors;
use super::{Delivery, Limits, PartialOrderError};

/// State of a number at or above the base.
#[derive(Debug, Default)]
struct Slot {
    state: State,
    /// Numbers that arrived and wait for this one.
    waiters: SmallVec<[u64; 1]>,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing came yet; others wait for it.
    #[default]
    Missing,
    /// The message came. `missing` predecessors are not settled.
    Held { missing: u32, size: usize, delivery: Delivery },
    /// The message is done; its frame had this size, or counts with this size.
    Settled { size: usize },
}

#[derive(Debug)]
pub(super) struct Incoming {
    limits: Limits,
    base: u64,
    slots: BTreeMap<u64, Slot>,
    /// Messages that wait for everything before them.
    barriers: BTreeSet<u64>,
    ready: VecDeque<u64>,
    held_bytes: usize,
    /// Base that the peer was last told, and bytes of frames settled below the base since.
    reported: u64,
    unreported_bytes: usize,
    /// Frames for numbers that had come already.
    pub(super) repeated: u64,
}

impl Incoming {
    pub(super) fn new(limits: Limits) -> Incoming {
        Incoming {
            limits,
            base: 0,
            slots: BTreeMap::new(),
            barriers: BTreeSet::new(),
            ready: VecDeque::new(),
            held_bytes: 0,
            reported: 0,
            unreported_bytes: 0,
            repeated: 0,
        }
    }

    /// The lowest number not settled.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Messages that arrived and were not handed over.
    pub(super) fn held(&self) -> usize {
        self.slots.values().filter(|slot| matches!(slot.state, State::Held { .. })).count()
    }

    /// A message arrived, or that it will not; `size` is that of its frame.
    pub(super) fn accept(
        &mut self,
        number: u64,
        after: Predecessors,
        size: usize,
        delivery: Delivery,
    ) -> Result<(), PartialOrderError> {
        let known =
            self.slots.get(&number).is_some_and(|slot| !matches!(slot.state, State::Missing));
        if number < self.base || known {
            // It was abandoned when it had arrived already, or arrived after all.
            self.repeated += 1;
            return Ok(());
        }
        if number - self.base >= u64::from(self.limits.messages) {
            return Err(PartialOrderError::BeyondWindow);
        }
        if self.held_bytes + size > self.limits.bytes {
            return Err(PartialOrderError::TooManyBytes);
        }
        self.held_bytes += size;
        let missing = self.wait_for(number, after);
        self.slots.entry(number).or_default().state = State::Held { missing, size, delivery };
        if missing == 0 {
            self.ready.push_back(number);
        }
        Ok(())
    }

    /// Notes what `number` waits for; how many that are.
    fn wait_for(&mut self, number: u64, after: Predecessors) -> u32 {
        let these = match after {
            Predecessors::Everything if number == self.base => return 0,
            Predecessors::Everything => {
                self.barriers.insert(number);
                return 1;
            }
            Predecessors::These(these) => these,
        };
        let mut missing = 0;
        for predecessor in these.into_iter().filter(|predecessor| *predecessor >= self.base) {
            let slot = self.slots.entry(predecessor).or_default();
            if !matches!(slot.state, State::Settled { .. }) {
                slot.waiters.push(number);
                missing += 1;
            }
        }
        missing
    }

    /// The next message in an order that keeps the partial one.
    pub(super) fn poll(&mut self) -> Option<Delivery> {
        let number = self.ready.pop_front()?;
        if self.ready.is_empty() {
            self.ready.shrink_to(1);
        }
        let slot = self.slots.get_mut(&number)?;
        let state = core::mem::take(&mut slot.state);
        let State::Held { size, delivery, .. } = state else { return None };
        self.held_bytes -= size;
        // The sender charges an abandoned message in full: it should be notified soon.
        let charged = match delivery {
            Delivery::Message { .. } => size,
            Delivery::Abandoned { .. } => self.limits.bytes / 4,
        };
        slot.state = State::Settled { size: charged };
        for waiter in core::mem::take(&mut slot.waiters) {
            self.release(waiter);
        }
        self.advance_base();
        Some(delivery)
    }

    /// One thing less for `waiter` to wait for.
    fn release(&mut self, waiter: u64) {
        let Some(Slot { state: State::Held { missing, .. }, .. }) = self.slots.get_mut(&waiter)
        else {
            return;
        };
        *missing -= 1;
        if *missing == 0 {
            self.ready.push_back(waiter);
        }
    }

    fn advance_base(&mut self) {
        while let Some(first) = self.slots.first_entry() {
            let State::Settled { size } = first.get().state else { break };
            if *first.key() != self.base {
                break;
            }
            first.remove();
            self.unreported_bytes += size;
            self.base += 1;
        }
        // Nothing passes a barrier's own number before it, so at most one has become due.
        if self.barriers.remove(&self.base) {
            self.release(self.base);
        }
    }

    /// The report that is due, if any: all messages below this number are settled. A report after
    /// each quarter of either limit keeps a sender going that has half of the limit in one
    /// message.
    pub(super) fn report(&mut self) -> Option<u64> {
        let due = self.base - self.reported >= u64::from(self.limits.messages / 4).max(1)
            || self.unreported_bytes >= self.limits.bytes / 4;
        if !due {
            return None;
        }
        self.reported = self.base;
        self.unreported_bytes = 0;
        Some(self.base)
    }
}
