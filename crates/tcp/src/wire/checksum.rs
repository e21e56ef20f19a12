//! The checksum of TCP over its pseudo header (RFC 9293, section 3.1; RFC 8200, section 8.1).

use core::net::IpAddr;

use base::checksum::Sum;

/// Position of the checksum in a segment.
const FIELD: core::ops::Range<usize> = 16..18;

/// The protocol number of TCP.
const PROTOCOL: u8 = 6;

/// The addresses of a segment, which the checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pseudo {
    /// Address of the host that sends the segment.
    pub source: IpAddr,
    /// Address of the host that receives the segment.
    pub destination: IpAddr,
}

impl Pseudo {
    /// Addresses of a segment that `source` sends to `destination`.
    pub const fn new(source: IpAddr, destination: IpAddr) -> Pseudo {
        Pseudo { source, destination }
    }

    /// Whether both addresses are of one family, as they must be.
    pub const fn is_consistent(self) -> bool {
        self.source.is_ipv4() == self.destination.is_ipv4()
    }

    /// The sum over the pseudo header of a segment of `length` bytes.
    #[inline]
    fn sum(self, length: usize) -> Sum {
        Sum::of_pseudo_header(self.source, self.destination, PROTOCOL, length)
    }
}

/// Whether the checksum of `segment` is valid for these addresses.
#[inline]
pub(super) fn is_right(pseudo: Pseudo, segment: &[u8]) -> bool {
    pseudo.sum(segment.len()).add_bytes(segment).finish() == 0
}

/// Writes the checksum into `segment`, which has at least a header.
#[inline]
pub(super) fn emit(pseudo: Pseudo, segment: &mut [u8]) {
    if let Some(field) = segment.get_mut(FIELD) {
        field.fill(0);
    }
    let checksum = pseudo.sum(segment.len()).add_bytes(segment).finish();
    if let Some(field) = segment.get_mut(FIELD) {
        field.copy_from_slice(&checksum.to_be_bytes());
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

    proptest! {
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
    fn a_segment_is_wrong_between_other_addresses() {
        let mut segment = vec![0; 20];
        emit(V4, &mut segment);
        // The words of 192.168.0.1 and 10.0.0.2 with protocol 6 and length 20 sum up to 0xcac5.
        assert_eq!(segment[FIELD], (!0xcac5u16).to_be_bytes());
        assert!(is_right(V4, &segment) && !is_right(V6, &segment));
    }
}
