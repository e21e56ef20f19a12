//! The protocol of a datagram, by its first byte (RFC 7983, section 7).

/// Protocols that share the port of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramKind {
    /// STUN: first byte 0 to 3.
    Stun,
    /// DTLS: first byte 20 to 63.
    Dtls,
    /// Any other protocol: TURN channels, media, ZRTP, unknown bytes; or an empty datagram.
    Other,
}

impl DatagramKind {
    /// The protocol of a datagram.
    pub fn of(datagram: &[u8]) -> DatagramKind {
        match datagram.first() {
            Some(0..=3) => DatagramKind::Stun,
            Some(20..=63) => DatagramKind::Dtls,
            _ => DatagramKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_decides_as_rfc_7983_says() {
        for first in 0..=255u8 {
            let expected = match first {
                0..=3 => DatagramKind::Stun,
                20..=63 => DatagramKind::Dtls,
                _ => DatagramKind::Other,
            };
            assert_eq!(DatagramKind::of(&[first, 1, 2]), expected, "{first}");
        }
        assert_eq!(DatagramKind::of(&[]), DatagramKind::Other);
    }
}
