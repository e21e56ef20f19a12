//! Tasks that wait for something of an association.

use std::num::NonZeroU64;
use std::task::Waker;

/// Names a waiting task among those of a node.
pub(crate) type WaiterKey = NonZeroU64;

/// Tasks that wait for the same: usually none or one, so that a second one takes memory elsewhere.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    first: Option<(WaiterKey, Waker)>,
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    more: Option<Box<Vec<(WaiterKey, Waker)>>>,
}

impl Waiters {
    /// Lets a task wait that is named by `key`, or by `new` if it does not wait yet; returns its
    /// name.
    pub(super) fn wait(
        &mut self,
        key: Option<WaiterKey>,
        new: WaiterKey,
        waker: &Waker,
    ) -> WaiterKey {
        if let Some((known, before)) = self.all_mut().find(|(known, _)| Some(*known) == key) {
            before.clone_from(waker);
            return *known;
        }
        let entry = (new, waker.clone());
        match &mut self.first {
            first @ None => *first = Some(entry),
            Some(_) => self.more.get_or_insert_default().push(entry),
        }
        new
    }

    /// Removes the task named `key`, which does not wait any more.
    pub(super) fn remove(&mut self, key: WaiterKey) {
        self.first.take_if(|(known, _)| *known == key);
        if let Some(more) = &mut self.more {
            more.retain(|(known, _)| *known != key);
        }
    }

    /// Wakes all tasks; each has to wait anew.
    pub(super) fn wake(&mut self) {
        let (first, more) = (self.first.take(), self.more.take());
        first.into_iter().chain(more.into_iter().flat_map(|more| *more)).for_each(|(_, waker)| {
            waker.wake();
        });
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut (WaiterKey, Waker)> {
        self.first.iter_mut().chain(self.more.iter_mut().flat_map(|more| more.iter_mut()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counts(tasks: &[Arc<Count>]) -> Vec<u32> {
        tasks.iter().map(|task| task.0.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn all_that_wait_are_woken_once_and_those_that_gave_up_are_not() {
        let tasks: Vec<Arc<Count>> = (0..4).map(|_| Arc::default()).collect();
        let mut waiters = Waiters::default();
        let mut keys = Vec::new();
        for (number, task) in tasks.iter().enumerate() {
            let new = WaiterKey::MIN.saturating_add(number as u64);
            keys.push(waiters.wait(None, new, &Waker::from(Arc::clone(task))));
        }
        waiters.remove(keys[0]);
        waiters.remove(keys[2]);
        // A task that asks again keeps its place, whatever its waker is now.
        let again =
            waiters.wait(Some(keys[1]), WaiterKey::MAX, &Waker::from(Arc::clone(&tasks[3])));
        assert_eq!(again, keys[1]);
        waiters.wake();
        assert_eq!(counts(&tasks), [0, 0, 0, 2]);
        waiters.wake();
        assert_eq!(counts(&tasks), [0, 0, 0, 2]);
    }

    #[test]
    fn one_task_takes_no_memory_elsewhere() {
        let mut waiters = Waiters::default();
        waiters.wait(None, WaiterKey::MIN, Waker::noop());
        assert!(waiters.more.is_none());
        assert!(size_of::<Waiters>() <= 32, "{}", size_of::<Waiters>());
    }
}
