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

    /// The header of a packet, unchecked; `None` if the packet is shorter.
    #[inline]
    pub(crate) fn of(packet: &[u8]) -> Option<CommonHeader> {
        let &[s0, s1, d0, d1, t0, t1, t2, t3, ..] = packet.first_chunk::<{ Self::LENGTH }>()?;
        Some(CommonHeader {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            verification_tag: VerificationTag(u32::from_be_bytes([t0, t1, t2, t3])),
        })
    }
}
