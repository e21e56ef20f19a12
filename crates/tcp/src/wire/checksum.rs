//! The checksum of TCP over its pseudo header (RFC 9293, section 3.1; RFC 8200, section 8.1).

use core::net::IpAddr;

/// Where the checksum stands in a segment.
const FIELD: core::ops::Range<usize> = 16..18;

/// The protocol number of TCP.
const PROTOCOL: u8 = 6;

/// The addresses between which a segment travels: the checksum covers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pseudo {
    /// Whose segment it is.
    pub source: IpAddr,
    /// Whom it is for.
    pub destination: IpAddr,
}

impl Pseudo {
    /// From `source` to `destination`.
    pub const fn new(source: IpAddr, destination: IpAddr) -> Pseudo {
        Pseudo { source, destination }
    }

    /// Whether both addresses are of one family, as they must be.
    pub const fn is_consistent(self) -> bool {
        self.source.is_ipv4() == self.destination.is_ipv4()
    }

    /// The sum over the pseudo header of a segment of `length` bytes.
    fn sum(self, length: usize) -> Sum {
        let mut sum = Sum::default();
        for address in [self.source, self.destination] {
            match address {
                IpAddr::V4(address) => sum.add(&address.octets()),
                IpAddr::V6(address) => sum.add(&address.octets()),
            }
        }
        // RFC 8200 gives the length four bytes, RFC 9293 two; the sum is the same for what IP can carry.
        let [l0, l1, l2, l3] = (length as u32).to_be_bytes();
        sum.add(&[l0, l1, l2, l3, 0, 0, 0, PROTOCOL]);
        sum
    }
}

/// Whether the checksum of `segment` is right between these addresses.
#[inline]
pub(super) fn is_right(pseudo: Pseudo, segment: &[u8]) -> bool {
    let mut sum = pseudo.sum(segment.len());
    sum.add(segment);
    sum.fold() == u16::MAX
}

/// Puts the right checksum into `segment`, which is at least a header.
#[inline]
pub(super) fn emit(pseudo: Pseudo, segment: &mut [u8]) {
    if let Some(field) = segment.get_mut(FIELD) {
        field.fill(0);
    }
    let mut sum = pseudo.sum(segment.len());
    sum.add(segment);
    if let Some(field) = segment.get_mut(FIELD) {
        field.copy_from_slice(&(!sum.fold()).to_ne_bytes());
    }
}

/// A ones' complement sum of 16-bit words in the machine's own byte order, which does not matter as long
/// as the result is stored in that order, too (RFC 1071, section 2).
#[derive(Clone, Copy, Debug, Default)]
struct Sum(u64);

impl Sum {
    /// Adds bytes that begin at an even place; an odd one at the end counts as if a zero followed.
    ///
    /// Words of 32 bits in sums of 64 bits: no carry is lost before 16 GiB, and the compiler makes vectors
    /// of it.
    #[inline]
    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
        let mut last = [0; 4];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.0 += sum + u64::from(u32::from_ne_bytes(last));
    }

    /// The sum in 16 bits, end-around carries added.
    fn fold(self) -> u16 {
        let mut sum = self.0;
        while sum > u64::from(u16::MAX) {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;

    const V4: Pseudo = Pseudo::new(
        IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
    );
    const V6: Pseudo =
        Pseudo::new(IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::UNSPECIFIED));

    /// The sum as RFC 1071 says it, word by word.
    fn naive(parts: &[&[u8]]) -> u16 {
        let mut sum = 0u32;
        for part in parts {
            for word in part.chunks(2) {
                sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
                sum = (sum & 0xffff) + (sum >> 16);
            }
        }
        sum as u16
    }

    proptest! {
        #[test]
        fn the_sum_is_that_of_the_rfc(bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
            let mut sum = Sum::default();
            sum.add(&bytes);
            prop_assert_eq!(u16::from_be_bytes(sum.fold().to_ne_bytes()), naive(&[&bytes]));
        }

        #[test]
        fn a_segment_is_right_once_its_checksum_is_emitted_and_wrong_with_a_byte_changed(
            mut segment in proptest::collection::vec(any::<u8>(), 20..70),
            place in any::<proptest::sample::Index>(),
            change in 1u8..,
        ) {
            for pseudo in [V4, V6] {
                emit(pseudo, &mut segment);
                prop_assert!(is_right(pseudo, &segment));
                let mut changed = segment.clone();
                *place.get_mut(&mut changed) ^= change;
                prop_assert!(!is_right(pseudo, &changed));
            }
        }
    }

    #[test]
    fn the_pseudo_header_counts_addresses_protocol_and_length() {
        let mut segment = vec![0; 20];
        emit(V4, &mut segment);
        let expected = !naive(&[&[192, 168, 0, 1, 10, 0, 0, 2, 0, 6, 0, 20]]);
        assert_eq!(segment[FIELD], expected.to_be_bytes());
        emit(V6, &mut segment);
        let mut one = [0; 16];
        one[15] = 1;
        assert_eq!(segment[FIELD], (!naive(&[&one, &[0, 6, 0, 20]])).to_be_bytes());
        assert!(!is_right(V4, &segment));
    }
}
