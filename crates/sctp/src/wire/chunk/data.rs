//! DATA: user data (RFC 9260, section 3.3.1; the I bit first came with RFC 7053).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+-------+-+-+-+-+-------------------------------+
//! | type 0        |  0    |I|U|B|E| length                        |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! | TSN                                                           |
//! +-------------------------------+-------------------------------+
//! | stream identifier             | stream sequence number        |
//! +-------------------------------+-------------------------------+
//! | payload protocol identifier                                   |
//! +---------------------------------------------------------------+
//! | user data: one byte at least                                  |
//! ```

use bytes::Bytes;

use super::super::builder::EmitChunk;
use super::super::error::ParseError;
use super::super::ids::{Ppid, Ssn, StreamId, Tsn};
use super::super::registry::ChunkType;
use super::super::tlv;
use super::raw::RawChunk;

/// Bytes of the fixed fields after the chunk header.
const FIELDS: usize = 12;

/// The flags of a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DataFlags(u8);

impl DataFlags {
    /// E: the last fragment of a message.
    pub const ENDING: DataFlags = DataFlags(0x01);
    /// B: the first fragment of a message.
    pub const BEGINNING: DataFlags = DataFlags(0x02);
    /// U: the message is delivered without regard to order, and its stream sequence number is
    /// ignored.
    pub const UNORDERED: DataFlags = DataFlags(0x04);
    /// I: the sender asks for an acknowledgement without delay.
    pub const IMMEDIATE: DataFlags = DataFlags(0x08);
    /// B and E: a message that is not fragmented.
    pub const WHOLE: DataFlags = DataFlags(0x03);

    /// The flags in a byte; reserved bits are ignored.
    pub const fn from_bits(bits: u8) -> DataFlags {
        DataFlags(bits & 0x0f)
    }

    /// The flags as a byte.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags that are set here or in `other`.
    pub const fn with(self, other: DataFlags) -> DataFlags {
        DataFlags(self.0 | other.0)
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: DataFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A fragment of a message, or a whole one.
///
/// A received chunk holds its payload as a slice of the datagram; one to be sent may borrow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<P = Bytes> {
    /// Transmission sequence number of the chunk.
    pub tsn: Tsn,
    /// The stream of the message.
    pub stream: StreamId,
    /// Number of the message in its stream; meaningless if the message is unordered.
    pub ssn: Ssn,
    /// Type of the payload, chosen by the application and passed on unread.
    pub ppid: Ppid,
    /// Position of the fragment in the message, order of delivery, and request for an immediate
    /// SACK.
    pub flags: DataFlags,
    /// User data. An empty one is an error, which the receiver answers with ABORT (section 6.2).
    pub payload: P,
}

impl Data {
    /// Bytes that a DATA chunk takes beside its payload and padding.
    pub const OVERHEAD: usize = tlv::HEADER + FIELDS;

    #[inline]
    pub(super) fn parse(raw: RawChunk<'_>, datagram: &Bytes) -> Result<Self, ParseError> {
        let (fields, payload) = raw.split_fields::<FIELDS>()?;
        let &[t0, t1, t2, t3, i0, i1, n0, n1, p0, p1, p2, p3] = fields;
        Ok(Data {
            tsn: Tsn(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: StreamId(u16::from_be_bytes([i0, i1])),
            ssn: Ssn(u16::from_be_bytes([n0, n1])),
            ppid: Ppid(u32::from_be_bytes([p0, p1, p2, p3])),
            flags: DataFlags::from_bits(raw.flags),
            payload: raw.user_data(payload, datagram),
        })
    }
}

impl<P: AsRef<[u8]>> EmitChunk for Data<P> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::DATA, self.flags.bits())
    }

    fn least_len(&self) -> usize {
        FIELDS + self.payload.as_ref().len()
    }

    #[inline]
    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [i0, i1] = self.stream.0.to_be_bytes();
        let [n0, n1] = self.ssn.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid.0.to_be_bytes();
        buffer.extend_from_slice(&[t0, t1, t2, t3, i0, i1, n0, n1, p0, p1, p2, p3]);
        buffer.extend_from_slice(self.payload.as_ref());
    }
}
