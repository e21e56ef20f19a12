//! The control bits (RFC 9293, section 3.1).

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// Control bits of a segment, reserved ones included: the twelve bits beside the data offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// No control bit is set.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x001);
    /// The sequence number is the initial one (RFC 9293, section 3.1).
    pub const SYN: Flags = Flags(0x002);
    /// The connection does not exist or is aborted (RFC 9293, section 3.5.2).
    pub const RST: Flags = Flags(0x004);
    /// The sender has no more data at present: the receiver need not wait for more.
    pub const PSH: Flags = Flags(0x008);
    /// The acknowledgment field is valid.
    pub const ACK: Flags = Flags(0x010);
    /// The urgent pointer is valid.
    pub const URG: Flags = Flags(0x020);
    /// ECN-Echo: a segment with CE arrived; in a SYN, ECN is offered (RFC 3168, section 6.1).
    pub const ECE: Flags = Flags(0x040);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x080);
    /// Accurate ECN (RFC 9768); reserved for stacks without it.
    pub const AE: Flags = Flags(0x100);

    /// The letters for the bits in traces, from the lowest bit.
    const LETTERS: [(Flags, char); 9] = [
        (Flags::FIN, 'F'),
        (Flags::SYN, 'S'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ACK, '.'),
        (Flags::URG, 'U'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::AE, 'A'),
    ];

    /// The twelve low bits of `bits`.
    pub const fn from_bits(bits: u16) -> Flags {
        Flags(bits & 0x0fff)
    }

    /// The bits as a number, reserved ones included; the upper four are 0.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all bits of `other` are set here.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set here.
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits of both, these and those of `other`; `|` for constants.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// The bits of this set except those of `other`.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// No more data from the sender.
    pub const fn fin(self) -> bool {
        self.contains(Flags::FIN)
    }

    /// Whether the sender synchronises sequence numbers.
    pub const fn syn(self) -> bool {
        self.contains(Flags::SYN)
    }

    /// Whether RST is set: the sender refuses or aborts the connection.
    pub const fn rst(self) -> bool {
        self.contains(Flags::RST)
    }

    /// Whether ACK is set: the acknowledgment number is valid.
    pub const fn ack(self) -> bool {
        self.contains(Flags::ACK)
    }

    /// Whether URG is set: the urgent pointer is valid.
    pub const fn urg(self) -> bool {
        self.contains(Flags::URG)
    }

    /// Whether ECE is set (RFC 3168).
    pub const fn ece(self) -> bool {
        self.contains(Flags::ECE)
    }

    /// The sender reduced its window.
    pub const fn cwr(self) -> bool {
        self.contains(Flags::CWR)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        self.with(other)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        *self = self.with(other);
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, letter) in Flags::LETTERS {
            if self.contains(flag) {
                write!(f, "{letter}")?;
            }
        }
        let reserved = self.0 >> 9;
        if reserved != 0 { write!(f, "+{reserved}") } else { Ok(()) }
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_as_traces_write_them() {
        assert_eq!((Flags::SYN | Flags::ACK).to_string(), "S.");
        assert_eq!(Flags::from_bits(0xffff).to_string(), "FSRP.UEWA+7");
    }

    #[test]
    fn a_set_of_flags_contains_its_parts_only() {
        let mut flags = Flags::FIN | Flags::ACK;
        assert!(flags.fin() && flags.ack() && !flags.syn());
        assert!(!flags.contains(Flags::FIN | Flags::SYN));
        assert!(flags.intersects(Flags::FIN | Flags::SYN));
        flags |= Flags::CWR;
        assert_eq!(flags.without(Flags::ACK), Flags::FIN | Flags::CWR);
    }
}
