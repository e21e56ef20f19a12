//! Mailboxes by which the drivers of machines that share a task hand inputs to each other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A mailbox for each machine. A parcel wakes the driver of its machine ([`Shared::woken_by`]),
/// whose hook collects it ([`Hook::take_input`]).
///
/// [`Hook::take_input`]: crate::Hook::take_input
/// [`Shared::woken_by`]: crate::Shared::woken_by
#[derive(Debug)]
pub struct Mailboxes<T> {
    boxes: Box<[Mailbox<T>]>,
    handed_over: AtomicU64,
    dropped: AtomicU64,
}

#[derive(Debug)]
struct Mailbox<T> {
    parcels: Mutex<VecDeque<T>>,
    /// Length of the list, to be read without the lock.
    waiting: AtomicUsize,
    wake: Arc<Notify>,
}

/// Counters of inputs that arrived at another machine than theirs ([`Mailboxes`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandOverStatistics {
    /// Inputs handed to another machine.
    pub handed_over: u64,
    /// Inputs dropped because too many waited for that machine.
    pub dropped: u64,
}

impl<T> Mailboxes<T> {
    /// Inputs that wait for a machine at most; more are dropped, as a socket drops what its buffer
    /// does not hold.
    pub const MOST: usize = 4096;

    /// Empty mailboxes of `count` machines.
    pub fn new(count: usize) -> Mailboxes<T> {
        let mailbox = |_| Mailbox {
            parcels: Mutex::default(),
            waiting: AtomicUsize::new(0),
            wake: Arc::default(),
        };
        Mailboxes {
            boxes: (0..count).map(mailbox).collect(),
            handed_over: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// Number of machines that share the mailboxes, one for each shard.
    pub fn count(&self) -> usize {
        self.boxes.len()
    }

    /// The notification by which a parcel wakes the driver of a machine; one that never comes if
    /// there is no such machine.
    pub fn wake(&self, machine: usize) -> Arc<Notify> {
        self.boxes.get(machine).map(|mailbox| Arc::clone(&mailbox.wake)).unwrap_or_default()
    }

    /// Hands something to a machine.
    pub fn post(&self, machine: usize, parcel: T) {
        self.post_below(machine, Self::MOST, parcel);
    }

    /// Hands something to a machine unless `most` parcels, at most [`Mailboxes::MOST`], already
    /// wait there.
    pub fn post_below(&self, machine: usize, most: usize, parcel: T) {
        let Some(mailbox) = self.boxes.get(machine) else { return };
        {
            let mut parcels = mailbox.lock();
            if parcels.len() >= most.min(Self::MOST) {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
            parcels.push_back(parcel);
            mailbox.waiting.store(parcels.len(), Ordering::Release);
        }
        self.handed_over.fetch_add(1, Ordering::Relaxed);
        mailbox.wake.notify_one();
    }

    /// Takes the oldest parcel that waits for a machine.
    pub fn collect(&self, machine: usize) -> Option<T> {
        let mailbox = self.boxes.get(machine)?;
        if mailbox.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut parcels = mailbox.lock();
        let parcel = parcels.pop_front();
        mailbox.waiting.store(parcels.len(), Ordering::Release);
        parcel
    }

    /// Parcels handed over and dropped since the mailboxes were made.
    pub fn statistics(&self) -> HandOverStatistics {
        HandOverStatistics {
            handed_over: self.handed_over.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }
}

impl<T> Mailbox<T> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.parcels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mailbox_keeps_the_order_and_takes_no_more_than_it_has_room_for() {
        let boxes = Mailboxes::new(2);
        assert_eq!((boxes.count(), boxes.collect(0)), (2, None));
        (0..Mailboxes::<usize>::MOST + 3).for_each(|number| boxes.post(1, number));
        assert_eq!(boxes.collect(0), None, "it is another's");
        let statistics = boxes.statistics();
        assert_eq!((statistics.handed_over, statistics.dropped), (4096, 3));
        let all: Vec<_> = std::iter::from_fn(|| boxes.collect(1)).collect();
        assert_eq!(all, (0..4096).collect::<Vec<_>>());
        boxes.post(7, 1);
        assert_eq!(boxes.statistics().handed_over, 4096, "there is no such machine");
    }

    #[tokio::test]
    async fn what_is_posted_wakes_the_driver_of_its_machine_alone() {
        let boxes = Mailboxes::new(2);
        boxes.post(0, "hello");
        boxes.wake(0).notified().await;
        let wake = boxes.wake(1);
        let other = tokio::time::timeout(std::time::Duration::from_millis(5), wake.notified());
        assert!(other.await.is_err());
    }
}
