//! The checksum of the Internet (RFC 1071): the ones' complement of the ones' complement sum of 16-bit words.

use std::net::IpAddr;

/// A sum in the making. Adding is exact as long as every part but the last has an even length.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Begins with the pseudo header of TCP, UDP and ICMPv6 (RFC 9293, section 3.1; RFC 8200, section 8.1).
    pub(crate) fn of_pseudo_header(
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        length: usize,
    ) -> Sum {
        let sum = match (source, destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => Sum(0).add(&from.octets()).add(&to.octets()),
            (from, to) => Sum(0).add(&octets(from)).add(&octets(to)),
        };
        sum.add(&(length as u32).to_be_bytes()).add(&[0, protocol])
    }

    /// Adds bytes; an odd last one counts as the high half of a word.
    ///
    /// Words of 32 bits are added into 64: no carry is lost before 2^32 of them, and the compiler does several at
    /// a time (RFC 1071, section 2, parallel summation and deferred carries).
    pub(crate) fn add(self, bytes: &[u8]) -> Sum {
        let mut total = self.0;
        let words = bytes.chunks_exact(4);
        let rest = words.remainder();
        for word in words {
            total += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Sum(total + u64::from(u32::from_be_bytes(last)))
    }

    /// The sum in 16 bits, as a checksum field holds it that is to be completed by others.
    pub(crate) fn fold(self) -> u16 {
        let mut total = self.0;
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        total as u16
    }

    /// The checksum: zero over what already holds its right checksum.
    pub(crate) fn finish(self) -> u16 {
        !self.fold()
    }
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_example_of_rfc_1071_is_what_it_says() {
        let sum = Sum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.fold(), 0xddf2);
    }

    #[test]
    fn parts_of_even_length_give_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..255u8).map(|byte| byte.wrapping_mul(37)).collect();
        for cut in (0..=254).step_by(2) {
            let parts = Sum::default().add(&bytes[..cut]).add(&bytes[cut..]);
            assert_eq!(parts.finish(), Sum::default().add(&bytes).finish(), "cut at {cut}");
        }
    }

    #[test]
    fn a_sum_of_ones_does_not_lose_its_carries() {
        assert_eq!(Sum::default().add(&[0xff; 65_535]).finish(), 0x00ff);
        assert_eq!(Sum::default().add(&[0xff; 65_534]).finish(), 0);
    }
}
