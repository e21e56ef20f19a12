//! The segment (RFC 9293, section 3.1).
//!
//! ```text
//!  0                   1                   2                   3
//! +-------------------------------+-------------------------------+
//! | source port                   | destination port              |
//! +-------------------------------+-------------------------------+
//! | sequence number                                               |
//! +---------------------------------------------------------------+
//! | acknowledgment number                                         |
//! +-------+-----------------------+-------------------------------+
//! | offset| reserved, control bits| window                        |
//! +-------+-----------------------+-------------------------------+
//! | checksum                      | urgent pointer                |
//! +-------------------------------+-------------------------------+
//! | options, padded to four bytes; then data                      |
//! ```

use bytes::{Buf, Bytes};

use super::checksum::{self, Pseudo};
use super::error::ParseError;
use super::flags::Flags;
use super::options::Options;
use super::sequence::SeqNumber;

/// Bytes of a header without options.
pub const HEADER_LENGTH: usize = 20;

/// A segment, received with a valid checksum or to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Port of the host that sends the segment.
    pub source_port: u16,
    /// Port of the host that receives the segment.
    pub destination_port: u16,
    /// SEG.SEQ: the number of the SYN if there is one, else of the first byte of data.
    pub seq: SeqNumber,
    /// SEG.ACK: the next number expected; only valid with [`Flags::ACK`].
    pub ack: SeqNumber,
    /// Control bits: SYN, ACK, FIN, RST and others (RFC 9293, section 3.1).
    pub flags: Flags,
    /// SEG.WND as on the wire, not scaled yet (RFC 7323, section 2.2: never scaled in a SYN).
    pub window: u16,
    /// SEG.UP: distance from SEG.SEQ; only valid with [`Flags::URG`].
    pub urgent: u16,
    /// Options of the header (RFC 9293, section 3.1).
    pub options: Options,
    /// The data; when parsed, a slice of the datagram.
    pub payload: Bytes,
}

impl Segment {
    /// A segment with ports only.
    pub fn new(source_port: u16, destination_port: u16) -> Segment {
        Segment {
            source_port,
            destination_port,
            seq: SeqNumber(0),
            ack: SeqNumber(0),
            flags: Flags::NONE,
            window: 0,
            urgent: 0,
            options: Options::default(),
            payload: Bytes::new(),
        }
    }

    /// SEG.LEN: length in the sequence space, SYN and FIN included.
    pub fn length(&self) -> u32 {
        let payload = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        payload
            .saturating_add(u32::from(self.flags.syn()))
            .saturating_add(u32::from(self.flags.fin()))
    }

    /// Parses a datagram between these addresses as a segment.
    ///
    /// # Errors
    /// See [`ParseError`]. The checksum is checked before all other fields except the data offset.
    #[inline]
    pub fn parse(datagram: Bytes, addresses: Pseudo) -> Result<Segment, ParseError> {
        if datagram.len() >= HEADER_LENGTH {
            if !addresses.is_consistent() {
                return Err(ParseError::MixedAddresses);
            }
            if !checksum::is_right(addresses, &datagram) {
                return Err(ParseError::BadChecksum);
            }
        }
        Segment::parse_without_checksum(datagram)
    }

    /// Parses a datagram as a segment without checking the checksum, for which something else
    /// vouches, such as the network card.
    ///
    /// # Errors
    /// As [`Segment::parse`], except those of checksum and addresses.
    pub fn parse_without_checksum(mut datagram: Bytes) -> Result<Segment, ParseError> {
        let Some(header) = datagram.first_chunk::<HEADER_LENGTH>() else {
            return Err(ParseError::TooShort(datagram.len()));
        };
        let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, f0, f1, w0, w1, _, _, u0, u1] =
            *header;
        let data_offset = (f0 >> 4) * 4;
        let Some(options) = datagram.get(HEADER_LENGTH..usize::from(data_offset)) else {
            return Err(ParseError::BadDataOffset(data_offset));
        };
        let options = Options::parse(options);
        let (source_port, destination_port) =
            (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        if source_port == 0 || destination_port == 0 {
            return Err(ParseError::ZeroPort);
        }
        datagram.advance(usize::from(data_offset));
        Ok(Segment {
            source_port,
            destination_port,
            seq: SeqNumber(u32::from_be_bytes([q0, q1, q2, q3])),
            ack: SeqNumber(u32::from_be_bytes([a0, a1, a2, a3])),
            flags: Flags::from_bits(u16::from_be_bytes([f0, f1])),
            window: u16::from_be_bytes([w0, w1]),
            urgent: u16::from_be_bytes([u0, u1]),
            options,
            payload: datagram,
        })
    }

    /// Appends the segment to `buffer`, with its checksum for these addresses.
    ///
    /// Options beyond 40 bytes are omitted; see [`Options::emitted_length`].
    pub fn emit(&self, addresses: Pseudo, buffer: &mut Vec<u8>) {
        self.emit_with(addresses, core::iter::empty(), buffer);
    }

    /// Appends as [`Segment::emit`] does, with `pieces` as further payload after
    /// [`Segment::payload`]: bytes are copied once, into the buffer.
    pub fn emit_with<'a>(
        &self,
        addresses: Pseudo,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        buffer: &mut Vec<u8>,
    ) {
        let start = buffer.len();
        self.emit_head(buffer);
        for piece in pieces {
            buffer.extend_from_slice(piece);
        }
        if let Some(segment) = buffer.get_mut(start..) {
            checksum::emit(addresses, segment);
        }
    }

    /// Appends the segment with 0 as its checksum, for a receiver that trusts the sender.
    pub fn emit_head(&self, buffer: &mut Vec<u8>) {
        let options = self.options.emitted_length();
        buffer.reserve(HEADER_LENGTH + options + self.payload.len());
        buffer.extend_from_slice(&self.header(options));
        self.options.emit(buffer);
        buffer.extend_from_slice(&self.payload);
    }

    /// The header with 0 as its checksum, for `options` bytes of options.
    fn header(&self, options: usize) -> [u8; HEADER_LENGTH] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [q0, q1, q2, q3] = self.seq.0.to_be_bytes();
        let [a0, a1, a2, a3] = self.ack.0.to_be_bytes();
        let words = ((HEADER_LENGTH + options) / 4) as u16;
        let [f0, f1] = (words << 12 | self.flags.bits()).to_be_bytes();
        let [w0, w1] = self.window.to_be_bytes();
        let [u0, u1] = self.urgent.to_be_bytes();
        [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, f0, f1, w0, w1, 0, 0, u0, u1]
    }
}

/// The least part of a segment that an ICMP message quotes: its first eight bytes (RFC 792).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// The port from which the segment was sent.
    pub source_port: u16,
    /// The port to which it was sent.
    pub destination_port: u16,
    /// The quoted sequence number, which proves that the quoting host saw the segment (RFC 5927,
    /// section 4.1).
    pub seq: SeqNumber,
}

impl Quoted {
    /// Parses the beginning of a segment; `None` if less than eight bytes are quoted.
    pub fn parse(quoted: &[u8]) -> Option<Quoted> {
        let [s0, s1, d0, d1, q0, q1, q2, q3] = *quoted.first_chunk()?;
        Some(Quoted {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            seq: SeqNumber(u32::from_be_bytes([q0, q1, q2, q3])),
        })
    }
}

#[cfg(test)]
mod tests;
