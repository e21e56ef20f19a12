//! Members whose applications could not send for lack of memory, and are notified when memory is
//! free, a few at a time.

use std::collections::VecDeque;

use base::{Duration, Instant};

use super::{Budget, LEAST};

/// Time that notified members have to take memory before others are notified.
const PAUSE: Duration = Duration::from_millis(10);

/// Members that wait for memory, the longest first.
#[derive(Debug)]
pub struct Waiters<Id> {
    waiting: VecDeque<Id>,
    /// Time at which the next members are notified, if memory is free then.
    next_at: Option<Instant>,
}

impl<Id> Default for Waiters<Id> {
    fn default() -> Self {
        Waiters { waiting: VecDeque::new(), next_at: None }
    }
}

impl<Id> Waiters<Id> {
    /// Whether no member waits for memory, so that no notification is due.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Time at which the next members are notified.
    pub fn next_at(&self) -> Option<Instant> {
        self.next_at
    }

    /// Adds a waiting member; the caller ensures that it is added only once.
    pub fn push(&mut self, id: Id) {
        self.waiting.push_back(id);
    }

    /// The member that waits the longest.
    pub fn pop(&mut self) -> Option<Id> {
        self.waiting.pop_front()
    }

    /// Number of waiting members, of `members`, to notify now: as many as find room if each
    /// takes its share. All at once would exceed the memory many times over, and most would be
    /// refused again.
    pub fn due(&mut self, now: Instant, budget: &Budget, members: usize) -> usize {
        if self.next_at.is_some_and(|at| now < at) {
            return 0;
        }
        self.next_at = None;
        if self.waiting.is_empty() || !budget.is_eased() {
            return 0;
        }
        let share = LEAST.max(budget.limit() / members.max(1));
        (budget.limit().saturating_sub(budget.held()) / share).max(1)
    }

    /// Starts the pause after a notification, in which the notified members may take memory.
    pub fn pause(&mut self, now: Instant) {
        self.next_at = (!self.is_empty()).then(|| now + PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use base::Host;

    use super::*;
    use crate::memory::{Account, Held, MemoryLimits};

    #[test]
    fn as_many_are_told_as_there_are_shares_left_and_the_next_after_a_pause() {
        let (mut budget, mut account) =
            (Budget::new(MemoryLimits::of(1 << 20)), Account::default());
        let hold = |budget: &mut Budget, account: &mut Account, total| {
            let host = || Host::from(core::net::IpAddr::from([192, 0, 2, 1]));
            budget.note(0, account, Held { total, ..Held::default() }, host);
        };
        let (mut waiters, now) = (Waiters::default(), Instant::ZERO);
        assert_eq!(waiters.due(now, &budget, 16), 0, "none waits");
        (0..5).for_each(|id| waiters.push(id));
        hold(&mut budget, &mut account, 1 << 20);
        assert_eq!(waiters.due(now, &budget, 16), 0, "there is nothing");
        hold(&mut budget, &mut account, (1 << 20) - (3 << 16));
        assert_eq!(waiters.due(now, &budget, 16), 3);
        assert_eq!((waiters.pop(), waiters.pop(), waiters.pop()), (Some(0), Some(1), Some(2)));
        waiters.pause(now);
        assert_eq!(waiters.due(now, &budget, 16), 0, "they have not taken it yet");
        assert_eq!(waiters.due(now + PAUSE, &budget, 16), 3);
    }
}
