//! The checksum of the Internet (RFC 1071): the ones' complement of the ones' complement sum of
//! 16-bit words. IPv4, ICMP, TCP and UDP have it.

use core::net::IpAddr;

/// A ones' complement sum in the making. It is exact as long as every part that is added but the
/// last has an even length.
///
/// Words are added in the byte order of the machine, which does not matter as long as the result is
/// stored in that order, too. Sums 32-bit words (RFC 1071, section 2): the sum of the low halves is
/// the 64-bit sum less the high halves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Begins with the pseudo header of TCP, UDP and ICMPv6 (RFC 9293, section 3.1; RFC 8200,
    /// section 8.1) of a packet with `length` bytes behind the IP header.
    #[inline]
    pub fn of_pseudo_header(
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        length: usize,
    ) -> Sum {
        // RFC 8200 gives the length four bytes, RFC 9293 two; the sum is the same for what IP can
        // carry.
        let [l0, l1, l2, l3] = (length as u32).to_be_bytes();
        let rest = u64::from_ne_bytes([l0, l1, l2, l3, 0, 0, 0, protocol]);
        Sum(rest).add_address(source).add_address(destination)
    }

    #[inline]
    fn add_address(self, address: IpAddr) -> Sum {
        match address {
            IpAddr::V4(address) => self.add(u32::from_ne_bytes(address.octets()).into()),
            IpAddr::V6(address) => self.add_bytes(&address.octets()),
        }
    }

    /// Adds a word; a carry out of the highest bit goes into the lowest.
    #[inline]
    fn add(self, word: u64) -> Sum {
        let (sum, carry) = self.0.overflowing_add(word);
        Sum(sum + u64::from(carry))
    }

    /// Adds bytes that begin at an even place; an odd one at the end is the high half of a word.
    // One copy of the vector instructions for all callers.
    #[inline(never)]
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Sum {
        let (words, rest) = bytes.as_chunks();
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        let (mut sum, mut high) = (0u64, 0);
        for word in words {
            let word = u64::from_ne_bytes(*word);
            sum = sum.wrapping_add(word);
            high += word >> 32;
        }
        // Words of 32 bits: their lower halves are less than 2^64 together, so `sum` tells them.
        self.add(sum.wrapping_sub(high << 32) + high).add(u64::from_ne_bytes(last))
    }

    /// The sum in 16 bits, carries added, as a number in the order of the network: what a checksum
    /// field holds that others complete.
    #[inline]
    #[must_use]
    pub fn fold(self) -> u16 {
        let mut sum = (self.0 >> 32) + (self.0 & 0xffff_ffff);
        while sum > u64::from(u16::MAX) {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        u16::from_be(sum as u16)
    }

    /// The checksum, as a number in the order of the network; 0 over bytes that hold their right
    /// checksum.
    #[inline]
    #[must_use]
    pub fn finish(self) -> u16 {
        !self.fold()
    }
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    /// The sum as RFC 1071 says it, word by word.
    fn naive(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for word in bytes.chunks(2) {
            sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    proptest! {
        #[test]
        fn the_sum_is_that_of_the_rfc(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(Sum::default().add_bytes(&bytes).fold(), naive(&bytes));
        }
    }

    #[test]
    fn the_sum_of_the_example_of_rfc_1071_is_what_it_says() {
        let sum = Sum::default().add_bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.fold(), 0xddf2);
    }

    #[test]
    fn parts_of_even_length_give_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..255u8).map(|byte| byte.wrapping_mul(37)).collect();
        for cut in (0..=254).step_by(2) {
            let parts = Sum::default().add_bytes(&bytes[..cut]).add_bytes(&bytes[cut..]);
            assert_eq!(parts.finish(), Sum::default().add_bytes(&bytes).finish(), "cut at {cut}");
        }
    }

    #[test]
    fn a_sum_of_ones_does_not_lose_its_carries() {
        assert_eq!(Sum::default().add_bytes(&[0xff; 65_535]).finish(), 0x00ff);
        assert_eq!(Sum::default().add_bytes(&[0xff; 65_534]).finish(), 0);
        for length in (0..300).step_by(2) {
            let ones = vec![0xff; length];
            let sum = Sum::default().add_bytes(&ones).add_bytes(&ones);
            assert_eq!(sum.fold(), naive(&ones), "{length} bytes");
        }
    }

    #[test]
    fn the_pseudo_header_counts_addresses_protocol_and_length() {
        let v4 = [Ipv4Addr::new(192, 168, 0, 1), Ipv4Addr::new(10, 0, 0, 2)].map(IpAddr::V4);
        let sum = Sum::of_pseudo_header(v4[0], v4[1], 6, 20);
        assert_eq!(sum.fold(), naive(&[192, 168, 0, 1, 10, 0, 0, 2, 0, 6, 0, 20]));
        let v6 = [Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED].map(IpAddr::V6);
        let sum = Sum::of_pseudo_header(v6[0], v6[1], 58, 70_000);
        assert_eq!(sum.fold(), naive(&[0, 1, 0, 1, 0x11, 0x70, 0, 58]));
    }
}
