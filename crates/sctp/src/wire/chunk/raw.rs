//! A chunk as on the wire: the part that is common to all types.

use bytes::Bytes;

use super::super::error::{Item, ParseError};
use super::super::registry::ChunkType;
pub(super) use super::super::registry::T_BIT;
use super::super::tlv::{HEADER, Tlv};

/// A chunk as on the wire, without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawChunk<'a> {
    /// Type of the chunk, whose two highest bits say what to do if it is unknown.
    pub chunk_type: ChunkType,
    /// Flags, whose meaning depends on the type.
    pub flags: u8,
    /// Header and value, without the user data if that is in `tail`.
    pub bytes: &'a [u8],
    /// User data of a DATA or I-DATA chunk, if it is elsewhere in memory than the bytes before it.
    pub tail: Option<&'a Bytes>,
}

impl<'a> RawChunk<'a> {
    /// Whether a packet that begins with it may carry the sender's own tag, reflected (RFC 9260,
    /// section 8.5.1).
    #[inline]
    pub(crate) fn reflects_tag(&self) -> bool {
        self.chunk_type.reflects_tag(self.flags)
    }

    #[inline]
    pub(in super::super) fn from_tlv(tlv: Tlv<'a>) -> Self {
        let [chunk_type, flags] = tlv.head.to_be_bytes();
        RawChunk { chunk_type: ChunkType(chunk_type), flags, bytes: tlv.bytes, tail: None }
    }

    /// The user data `value` as a part of `datagram`, or the tail if there is one.
    #[inline]
    pub(super) fn user_data(&self, value: &[u8], datagram: &Bytes) -> Bytes {
        self.tail.cloned().unwrap_or_else(|| datagram.slice_ref(value))
    }

    /// The bytes after the header.
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }

    /// Splits the value into its fixed fields and the rest.
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
