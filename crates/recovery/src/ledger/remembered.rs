//! A short list of what is remembered for a while, which takes one word while it is empty.

use std::collections::VecDeque;

/// The latest items, `MOST` at most.
#[derive(Clone, Debug)]
pub(super) struct Remembered<T, const MOST: usize>(
    #[expect(clippy::box_collection, reason = "one word while there are none")]
    Option<Box<VecDeque<T>>>,
);

impl<T, const MOST: usize> Default for Remembered<T, MOST> {
    fn default() -> Self {
        Remembered(None)
    }
}

impl<T, const MOST: usize> Remembered<T, MOST> {
    /// Adds an item; the oldest makes room for it.
    pub(super) fn push(&mut self, item: T) {
        // Most associations have one at a time.
        let items = self.0.get_or_insert_with(|| Box::new(VecDeque::with_capacity(1)));
        if items.len() == MOST {
            items.pop_front();
        }
        items.push_back(item);
    }

    /// The items, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter().flat_map(|items| items.iter())
    }

    /// The items, the oldest first.
    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.0.iter_mut().flat_map(|items| items.iter_mut())
    }

    /// Forgets the items for which `keep` is false, and frees the memory that the others do not need.
    pub(super) fn retain(&mut self, keep: impl FnMut(&mut T) -> bool) {
        let Some(items) = self.0.as_deref_mut() else { return };
        items.retain_mut(keep);
        if items.is_empty() {
            self.0 = None;
        } else if items.len() * 4 <= items.capacity() {
            items.shrink_to(items.len() * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(items: u64) -> Remembered<u64, 32> {
        let mut remembered = Remembered::default();
        (0..items).for_each(|item| remembered.push(item));
        remembered
    }

    #[test]
    fn no_more_than_the_latest_are_remembered() {
        assert!(of(100).iter().copied().eq(68..100));
        assert!(of(3).iter_mut().rev().map(|item| *item).eq([2, 1, 0]));
    }

    #[test]
    fn one_item_takes_the_room_of_one_and_many_give_their_room_back() {
        let room =
            |remembered: &Remembered<u64, 32>| remembered.0.as_ref().map(|own| own.capacity());
        let mut remembered = of(1);
        assert_eq!(room(&remembered), Some(1));
        remembered.retain(|_| false);
        assert_eq!(room(&remembered), None);
        let mut remembered = of(32);
        remembered.retain(|item| *item < 2);
        assert_eq!((room(&remembered), remembered.iter().count()), (Some(4), 2));
    }
}
