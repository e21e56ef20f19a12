//! A short list of what is remembered for a while, which takes one word while it is empty.

use std::collections::VecDeque;

use base::Instant;

/// The latest items, `MOST` at most.
#[derive(Clone, Debug)]
pub(super) struct Remembered<T, const MOST: usize>(Option<Box<Items<T>>>);

#[derive(Clone, Debug)]
struct Items<T> {
    list: VecDeque<T>,
    /// No item is to be forgotten before this instant. Every acknowledgement asks, and must not
    /// read the list for that.
    due: Instant,
}

/// An item that is forgotten some time.
pub(super) trait Passing {
    /// The last instant at which it is remembered; [`Instant::FAR_FUTURE`] if that is not known
    /// yet.
    fn until(&self) -> Instant;
}

impl<T, const MOST: usize> Default for Remembered<T, MOST> {
    fn default() -> Self {
        Remembered(None)
    }
}

impl<T, const MOST: usize> Remembered<T, MOST> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |items| items.list.len())
    }

    /// The items, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter().flat_map(|items| items.list.iter())
    }

    /// The items, the oldest first. [`Remembered::on_until`] follows if one is to be forgotten
    /// earlier than before.
    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.0.iter_mut().flat_map(|items| items.list.iter_mut())
    }

    /// An item is to be forgotten after `until`, which was not known.
    pub(super) fn on_until(&mut self, until: Instant) {
        if let Some(items) = &mut self.0 {
            items.due = items.due.min(until);
        }
    }

    /// Forgets the items for which `keep` is false, and frees the memory that the others do not
    /// need.
    pub(super) fn retain(&mut self, keep: impl FnMut(&mut T) -> bool) {
        let Some(items) = self.0.as_deref_mut() else { return };
        items.list.retain_mut(keep);
        if items.list.is_empty() {
            self.0 = None;
        } else if items.list.len() * 4 <= items.list.capacity() {
            items.list.shrink_to(items.list.len() * 2);
        }
    }
}

impl<T: Passing, const MOST: usize> Remembered<T, MOST> {
    /// Adds an item; the oldest makes room for it, and is returned.
    pub(super) fn push(&mut self, item: T) -> Option<T> {
        // Most associations have one at a time.
        let items = self.0.get_or_insert_with(|| {
            Box::new(Items { list: VecDeque::with_capacity(1), due: Instant::FAR_FUTURE })
        });
        items.due = items.due.min(item.until());
        let oldest = if items.list.len() == MOST { items.list.pop_front() } else { None };
        items.list.push_back(item);
        oldest
    }

    /// Forgets the items whose time is over.
    #[inline]
    pub(super) fn forget(&mut self, now: Instant) {
        if self.0.as_ref().is_some_and(|items| now > items.due) {
            self.forget_some(now);
        }
    }

    #[cold]
    fn forget_some(&mut self, now: Instant) {
        let mut due = Instant::FAR_FUTURE;
        self.retain(|item| {
            let until = item.until();
            let stays = now <= until;
            if stays {
                due = due.min(until);
            }
            stays
        });
        if let Some(items) = &mut self.0 {
            items.due = due;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Passing for u64 {
        fn until(&self) -> Instant {
            Instant::from_millis(*self)
        }
    }

    fn of(items: u64) -> Remembered<u64, 32> {
        let mut remembered = Remembered::default();
        for item in 0..items {
            assert_eq!(remembered.push(item), item.checked_sub(32), "the oldest");
        }
        remembered
    }

    #[test]
    fn each_item_is_forgotten_after_its_time() {
        let mut remembered: Remembered<u64, 32> = Remembered::default();
        for item in [7, 3, 9, 5] {
            remembered.push(item);
        }
        for now in 0..12 {
            remembered.forget(Instant::from_millis(now));
            let left = [7, 3, 9, 5].into_iter().filter(|item| *item >= now);
            assert!(remembered.iter().copied().eq(left), "at {now}: {remembered:?}");
        }
    }

    #[test]
    fn no_more_than_the_latest_are_remembered() {
        assert!(of(100).iter().copied().eq(68..100));
        assert!(of(3).iter_mut().rev().map(|item| *item).eq([2, 1, 0]));
    }

    #[test]
    fn one_item_takes_the_room_of_one_and_many_give_their_room_back() {
        let room =
            |remembered: &Remembered<u64, 32>| remembered.0.as_ref().map(|own| own.list.capacity());
        let mut remembered = of(1);
        assert_eq!(room(&remembered), Some(1));
        remembered.retain(|_| false);
        assert_eq!(room(&remembered), None);
        let mut remembered = of(32);
        remembered.retain(|item| *item < 2);
        assert_eq!((room(&remembered), remembered.iter().count()), (Some(4), 2));
    }
}
