//! Reasons for which bytes are not a valid segment.

use core::fmt;

/// Reason for which a datagram was rejected. Small, so that it can be counted by kind.
///
/// Options never make a segment invalid: unreadable ones are skipped (RFC 9293, section 3.1,
/// MUST-7: a TCP must be prepared for an illegal option length).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Fewer bytes than a header without options; the value is their number.
    TooShort(usize),
    /// The data offset, in bytes, is less than a header or more than the datagram.
    BadDataOffset(u8),
    /// The addresses are of different families.
    MixedAddresses,
    /// The checksum does not match: the segment was corrupted, or meant for other addresses.
    BadChecksum,
    /// Source or destination port is 0, which is reserved.
    ZeroPort,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::TooShort(length) => write!(f, "{length} bytes are too few for a segment"),
            ParseError::BadDataOffset(bytes) => {
                write!(f, "a header of {bytes} bytes does not fit the segment")
            }
            ParseError::MixedAddresses => f.write_str("an IPv4 and an IPv6 address"),
            ParseError::BadChecksum => f.write_str("the checksum does not match"),
            ParseError::ZeroPort => f.write_str("port 0 is reserved"),
        }
    }
}

impl std::error::Error for ParseError {}
