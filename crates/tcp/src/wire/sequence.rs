//! Sequence numbers on the wire, and the offsets used inside.

use base::serial::unwrap_u32;
use base::serial_number;

serial_number!(
    /// A sequence number on the wire (RFC 9293, section 3.4): it wraps.
    SeqNumber, u32, i32
);

/// Converts the sequence numbers of one direction to offsets from its SYN, and back.
///
/// An offset has 64 bits and never wraps: SYN is 0, the first byte of data is 1. A number becomes
/// the offset nearest to a reference, such as RCV.NXT or SND.UNA; a number before the SYN comes out
/// about 2^32 higher, which no window reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceMap {
    initial: SeqNumber,
}

impl SequenceMap {
    /// The map of a direction whose SYN has the number `initial` (ISS or IRS).
    pub const fn new(initial: SeqNumber) -> SequenceMap {
        SequenceMap { initial }
    }

    /// The number of the SYN.
    pub const fn initial(self) -> SeqNumber {
        self.initial
    }

    /// The number of the byte at `offset`.
    pub const fn wrap(self, offset: u64) -> SeqNumber {
        self.initial.advance(offset as u32)
    }

    /// The offset nearest to `reference` with this number.
    pub const fn unwrap(self, reference: u64, number: SeqNumber) -> u64 {
        unwrap_u32(reference, number.distance_from(self.initial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_syn_is_offset_zero_and_numbers_wrap_after_it() {
        let map = SequenceMap::new(SeqNumber(u32::MAX));
        assert_eq!(map.unwrap(0, SeqNumber(u32::MAX)), 0);
        assert_eq!(map.unwrap(1, SeqNumber(0)), 1);
        assert_eq!(map.wrap(1), SeqNumber(0));
        assert_eq!(map.wrap((1 << 32) + 1), SeqNumber(0));
    }

    #[test]
    fn a_number_before_the_syn_is_far_from_every_window() {
        let map = SequenceMap::new(SeqNumber(1000));
        assert_eq!(map.unwrap(1, SeqNumber(999)), (1 << 32) - 1);
    }

    proptest! {
        #[test]
        fn an_offset_comes_back_from_any_reference_within_half_the_space(
            initial in any::<u32>(),
            reference in (1u64 << 31)..(1 << 60),
            step in -(1i64 << 31) + 1..(1i64 << 31),
        ) {
            let map = SequenceMap::new(SeqNumber(initial));
            let offset = reference.checked_add_signed(step).unwrap();
            prop_assert_eq!(map.unwrap(reference, map.wrap(offset)), offset);
        }
    }
}
