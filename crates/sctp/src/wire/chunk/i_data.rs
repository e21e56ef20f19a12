//! I-DATA: user data whose fragments may alternate with those of other messages (RFC 8260, section
//! 2.1).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+-------+-+-+-+-+-------------------------------+
//! | type 64       |  0    |I|U|B|E| length                        |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! | TSN                                                           |
//! +-------------------------------+-------------------------------+
//! | stream identifier             | reserved                      |
//! +-------------------------------+-------------------------------+
//! | message identifier                                            |
//! +---------------------------------------------------------------+
//! | B set: payload protocol identifier; else: fragment sequence   |
//! | number                                                        |
//! +---------------------------------------------------------------+
//! | user data: one byte at least                                  |
//! ```

use bytes::Bytes;

use super::super::builder::EmitChunk;
use super::super::error::ParseError;
use super::super::ids::{Fsn, Mid, Ppid, StreamId, Tsn};
use super::super::registry::ChunkType;
use super::super::tlv;
use super::data::DataFlags;
use super::raw::RawChunk;

/// Bytes of the fixed fields after the chunk header.
const FIELDS: usize = 16;

/// A fragment of a message, or a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IData<P = Bytes> {
    /// Transmission sequence number of the chunk.
    pub tsn: Tsn,
    /// The stream of the message.
    pub stream: StreamId,
    /// Number of the message in its stream; ordered and unordered messages are counted apart.
    pub mid: Mid,
    /// Type of the payload, chosen by the application; 0 except in the first fragment.
    pub ppid: Ppid,
    /// Number of the fragment in its message, from 0.
    pub fsn: Fsn,
    /// Position of the fragment in the message, order of delivery, and request for an immediate
    /// SACK.
    pub flags: DataFlags,
    /// User data of the fragment, without padding.
    pub payload: P,
}

impl IData {
    /// Bytes that an I-DATA chunk takes beside its payload and padding.
    pub const OVERHEAD: usize = tlv::HEADER + FIELDS;

    #[inline]
    pub(super) fn parse(raw: RawChunk<'_>, datagram: &Bytes) -> Result<Self, ParseError> {
        let (fields, payload) = raw.split_fields::<FIELDS>()?;
        let &[t0, t1, t2, t3, i0, i1, _, _, m0, m1, m2, m3, n0, n1, n2, n3] = fields;
        let flags = DataFlags::from_bits(raw.flags);
        let number = u32::from_be_bytes([n0, n1, n2, n3]);
        let begins = flags.contains(DataFlags::BEGINNING);
        Ok(IData {
            tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: StreamId(u16::from_be_bytes([i0, i1])),
            mid: Mid(u32::from_be_bytes([m0, m1, m2, m3])),
            ppid: Ppid(if begins { number } else { 0 }),
            fsn: Fsn(if begins { 0 } else { number }),
            flags,
            payload: raw.user_data(payload, datagram),
        })
    }
}

impl<P: AsRef<[u8]>> EmitChunk for IData<P> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::I_DATA, self.flags.bits())
    }

    fn least_len(&self) -> usize {
        FIELDS + self.payload.as_ref().len()
    }

    #[inline]
    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        let begins = self.flags.contains(DataFlags::BEGINNING);
        let number = if begins { self.ppid.0 } else { self.fsn.0 };
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [i0, i1] = self.stream.0.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.0.to_be_bytes();
        let [n0, n1, n2, n3] = number.to_be_bytes();
        let fields = [t0, t1, t2, t3, i0, i1, 0, 0, m0, m1, m2, m3, n0, n1, n2, n3];
        buffer.extend_from_slice(&fields);
        buffer.extend_from_slice(self.payload.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{CommonHeader, Packet, PacketBuilder, VerificationTag};
    use super::super::Chunk;
    use super::*;

    fn round_trip(flags: DataFlags, ppid: u32, fsn: u32) -> IData {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            verification_tag: VerificationTag(9),
        };
        let chunk = IData {
            tsn: Tsn(3),
            stream: StreamId(4),
            mid: Mid(5),
            ppid: Ppid(ppid),
            fsn: Fsn(fsn),
            flags,
            payload: b"text",
        };
        let mut buffer = Vec::new();
        let mut packet = PacketBuilder::start(&mut buffer, header, 200);
        packet.append(chunk).unwrap();
        packet.finish();
        // Reserved bytes are 0 (RFC 8260, section 2.1).
        assert_eq!(buffer[16..28], [0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 5]);
        assert_eq!((buffer[12], buffer[13] & 0xf0), (64, 0));
        let packet = Packet::parse(buffer.into()).unwrap();
        let Some(Ok(Chunk::IData(read))) = packet.chunks().next() else { panic!() };
        assert_eq!((read.tsn, read.stream, read.mid), (chunk.tsn, chunk.stream, chunk.mid));
        assert_eq!((read.flags, &read.payload[..]), (flags, &b"text"[..]));
        read
    }

    #[test]
    fn the_first_fragment_tells_the_payload_protocol_and_is_number_0() {
        let read = round_trip(DataFlags::BEGINNING, 51, 9);
        assert_eq!((read.ppid, read.fsn), (Ppid(51), Fsn(0)));
    }

    #[test]
    fn a_later_fragment_tells_its_number_instead() {
        let read = round_trip(DataFlags::ENDING, 51, 9);
        assert_eq!((read.ppid, read.fsn), (Ppid(0), Fsn(9)));
    }
}
