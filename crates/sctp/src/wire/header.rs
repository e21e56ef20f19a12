//! The common header of a packet, without its checksum (RFC 9260, section 3.1).

use super::ids::VerificationTag;

/// The fields of the common header except the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonHeader {
    /// SCTP port of the sender, not 0.
    pub source_port: u16,
    /// SCTP port of the receiver, not 0.
    pub destination_port: u16,
    /// The receiver's tag; 0 in a packet that carries INIT.
    pub verification_tag: VerificationTag,
}

impl CommonHeader {
    /// Bytes of the header on the wire.
    pub const LENGTH: usize = 12;
}
