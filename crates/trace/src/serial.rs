//! Numbers that wrap on the wire, as numbers that do not.

use base::serial::unwrap_u32;

/// First number: high enough that data sent before the capture began have numbers, too.
const ORIGIN: u64 = 1 << 32;

/// Unwraps the numbers of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unwrap {
    /// Number on the wire that became [`ORIGIN`].
    base: Option<u32>,
}

impl Unwrap {
    /// Whether a number was seen.
    pub(crate) fn is_used(&self) -> bool {
        self.base.is_some()
    }

    /// The number nearest to `reference` that is `wire` on the wire. The first call sets the
    /// origin; `reference` is 0 as long as there is none.
    pub(crate) fn unwrap(&mut self, reference: u64, wire: u32) -> u64 {
        self.base.get_or_insert(wire);
        self.unwrap_near(reference, wire)
    }

    /// The number of [`Unwrap::unwrap`] where the origin is set.
    pub(crate) fn unwrap_near(&self, reference: u64, wire: u32) -> u64 {
        let base = self.base.unwrap_or(wire);
        unwrap_u32(reference.max(ORIGIN), wire.wrapping_sub(base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_before_the_first_that_was_seen_have_a_place_below_it() {
        let mut numbers = Unwrap::default();
        let first = numbers.unwrap(0, 5);
        assert_eq!(numbers.unwrap_near(first, 2), first - 3);
        assert_eq!(numbers.unwrap_near(first, u32::MAX), first - 6);
        assert_eq!(numbers.unwrap_near(first, 7), first + 2);
    }

    #[test]
    fn numbers_go_on_where_those_on_the_wire_wrap() {
        let mut numbers = Unwrap::default();
        let first = numbers.unwrap(0, u32::MAX);
        assert_eq!(numbers.unwrap_near(first, 0), first + 1);
        let later = first + (1 << 32);
        assert_eq!(numbers.unwrap_near(later, 0), later + 1);
    }
}
