//! Overhead of a link layer on serialisation.

use core::fmt;
use core::str::FromStr;

use base::ParseQuantityError;

/// Octets that a link layer adds to each packet, and bit times that an octet takes. It makes
/// serialisation and queues in bytes longer; a link's MTU and its statistics are still those of the
/// packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Octets that serialisation adds to each packet.
    pub overhead: u16,
    /// A packet with fewer octets is padded.
    pub shortest: u16,
    /// Bits on the line for an octet: 8, or more where start and stop bits frame each.
    pub octet_bits: u8,
}

impl Framing {
    /// Bytes of the packet alone, eight bits each.
    pub const NONE: Framing = Framing { overhead: 0, shortest: 0, octet_bits: 8 };
    /// Ethernet: preamble, header, check sequence and the gap between frames (IEEE 802.3).
    pub const ETHERNET: Framing =
        Framing { overhead: 8 + 14 + 4 + 12, shortest: 46, octet_bits: 8 };
    /// PPP on an asynchronous line, nothing compressed: one flag, address, control, protocol and
    /// check sequence (RFC 1662, section 3.1), each octet with a start and a stop bit. Octets
    /// that must be escaped (1 of 128 in random data) are not modelled.
    pub const PPP: Framing = Framing { overhead: 1 + 1 + 1 + 2 + 2, shortest: 0, octet_bits: 10 };
    /// PPP on a synchronous line.
    pub const PPP_SYNCHRONOUS: Framing = Framing { octet_bits: 8, ..Framing::PPP };

    const NAMES: [(&'static str, Framing); 4] = [
        ("none", Framing::NONE),
        ("ethernet", Framing::ETHERNET),
        ("ppp", Framing::PPP),
        ("ppp-synchronous", Framing::PPP_SYNCHRONOUS),
    ];

    /// Number of octets of eight bits that a packet of `size` bytes takes on the line.
    pub const fn on_the_line(self, size: u64) -> u64 {
        let padded = if size < self.shortest as u64 { self.shortest as u64 } else { size };
        let octets = padded.saturating_add(self.overhead as u64);
        octets.saturating_mul(self.octet_bits as u64).div_ceil(8)
    }
}

impl Default for Framing {
    fn default() -> Framing {
        Framing::NONE
    }
}

impl FromStr for Framing {
    type Err = ParseQuantityError;

    /// Reads `none`, `ethernet`, `ppp` or `ppp-synchronous`.
    fn from_str(text: &str) -> Result<Framing, ParseQuantityError> {
        let found = Framing::NAMES.iter().find(|(name, _)| *name == text);
        let refused = || ParseQuantityError::new(text, "none, ethernet, ppp or ppp-synchronous");
        found.map(|(_, framing)| *framing).ok_or_else(refused)
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Framing::NAMES.iter().find(|(_, framing)| framing == self) {
            Some((name, _)) => f.pad(name),
            None => write!(f, "{} octets of {} bits", self.overhead, self.octet_bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_its_frame_s_octets_too() {
        assert_eq!(Framing::NONE.on_the_line(576), 576);
        assert_eq!(Framing::PPP_SYNCHRONOUS.on_the_line(576), 583);
        // 583 octets of ten bits are 5830 bits.
        assert_eq!(Framing::PPP.on_the_line(576), 729);
        assert_eq!(
            Framing::ETHERNET.on_the_line(40),
            84,
            "the shortest frame, its preamble and gap"
        );
        assert_eq!(Framing::ETHERNET.on_the_line(1500), 1538);
        assert_eq!(Framing::ETHERNET.on_the_line(u64::MAX), u64::MAX / 8 + 1);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for (name, framing) in Framing::NAMES {
            assert_eq!((name.parse(), framing.to_string()), (Ok(framing), name.to_owned()));
        }
        assert!("slip".parse::<Framing>().is_err());
    }
}
