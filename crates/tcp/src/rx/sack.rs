//! Order of SACK blocks (RFC 2018, section 4).

use core::ops::Range;

use crate::wire::MAX_SACK_BLOCKS;

/// Offsets in the ranges that changed last, the latest first. A range is identified by any offset
/// in it, not by its start, which changes; no two entries lie in one range.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    places: [u64; MAX_SACK_BLOCKS],
    length: u8,
}

impl Recent {
    /// `range` changed: it becomes the first, and entries inside it are removed.
    pub(super) fn touch(&mut self, range: Range<u64>) {
        let mut places = [range.start; MAX_SACK_BLOCKS];
        let others = self.iter().filter(|place| !range.contains(place));
        let mut length = 1;
        for (to, from) in places.iter_mut().skip(1).zip(others) {
            *to = from;
            length += 1;
        }
        *self = Recent { places, length };
    }

    /// The offsets, the latest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.places.iter().copied().take(usize::from(self.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(recent: Recent) -> Vec<u64> {
        recent.iter().collect()
    }

    #[test]
    fn the_last_touched_goes_first_and_the_fifth_goes_out() {
        let mut recent = Recent::default();
        for start in [10, 20, 30, 40, 50] {
            recent.touch(start..start + 5);
        }
        assert_eq!(places(recent), [50, 40, 30, 20]);
        recent.touch(30..36);
        assert_eq!(places(recent), [30, 50, 40, 20]);
    }

    #[test]
    fn ranges_that_grew_together_are_named_once() {
        let mut recent = Recent::default();
        for start in [10, 20, 30] {
            recent.touch(start..start + 5);
        }
        recent.touch(10..25);
        assert_eq!(places(recent), [10, 30]);
    }
}
