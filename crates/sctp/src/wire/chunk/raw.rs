//! A chunk as it stands on the wire: what every chunk has.

use bytes::Bytes;

use super::super::error::{Item, ParseError};
use super::super::registry::ChunkType;
use super::super::tlv::{HEADER, Tlv};

/// The bit that says that a packet carries the tag of its sender's peer reflected, for lack of a tag
/// of its own (ABORT and SHUTDOWN COMPLETE; RFC 9260, section 8.5.1).
pub(super) const T_BIT: u8 = 0x01;

/// A chunk as it stands on the wire, without its padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// What it is.
    pub chunk_type: ChunkType,
    /// What they mean depends on the type.
    pub flags: u8,
    /// Header and value; without the user data if this is the `tail`.
    pub bytes: &'a [u8],
    /// User data of a DATA or I-DATA chunk, if it lies elsewhere in memory than what precedes it.
    pub tail: Option<&'a Bytes>,
}

impl<'a> RawChunk<'a> {
    #[inline]
    pub(in super::super) fn from_tlv(tlv: Tlv<'a>) -> Self {
        let [chunk_type, flags] = tlv.head.to_be_bytes();
        RawChunk { chunk_type: ChunkType(chunk_type), flags, bytes: tlv.bytes, tail: None }
    }

    /// User data: `value`, which is a part of `datagram`, unless it lies elsewhere.
    #[inline]
    pub(super) fn user_data(&self, value: &[u8], datagram: &Bytes) -> Bytes {
        self.tail.cloned().unwrap_or_else(|| datagram.slice_ref(value))
    }

    /// What follows the header.
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }

    /// The fixed fields at the beginning of the value, and what follows them.
    #[inline]
    pub(super) fn split_fields<const N: usize>(
        &self,
    ) -> Result<(&'a [u8; N], &'a [u8]), ParseError> {
        self.value().split_first_chunk().ok_or(too_short(self.chunk_type))
    }
}

/// The error of a chunk that lacks bytes.
pub(super) const fn too_short(chunk_type: ChunkType) -> ParseError {
    ParseError::TooShort(Item::Chunk, chunk_type.0 as u16)
}
