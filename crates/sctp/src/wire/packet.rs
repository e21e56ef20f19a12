//! The SCTP packet: a common header and chunks (RFC 9260, section 3.1).
//!
//! ```text
//!  0                   1                   2                   3
//! +-------------------------------+-------------------------------+
//! | source port                   | destination port              |
//! +-------------------------------+-------------------------------+
//! | verification tag                                              |
//! +---------------------------------------------------------------+
//! | checksum (CRC32c, least significant byte first)               |
//! +---------------------------------------------------------------+
//! | chunks, each padded to four bytes                             |
//! ```

use base::join_bytes;
use bytes::Bytes;

use super::checksum;
use super::chunk::{Chunk, Data, IData, RawChunk};
use super::error::{Item, ParseError};
use super::header::CommonHeader;
use super::registry::ChunkType;
use super::tlv::{self, TlvIter};

/// A packet with a valid checksum, or without need of one. The contents of its chunks are not
/// verified yet.
#[derive(Clone, Debug)]
pub struct Packet {
    header: CommonHeader,
    datagram: Bytes,
    /// User data of the last chunk, if it is not in `datagram`.
    tail: Option<Bytes>,
}

impl Packet {
    /// Parses a datagram as a packet.
    ///
    /// # Errors
    /// [`ParseError::PacketTooShort`], [`ParseError::BadChecksum`] or [`ParseError::ZeroPort`]. The
    /// checksum is checked before anything that it protects. The length of a datagram need not
    /// be a multiple of four bytes: some senders omit the padding of the last chunk.
    pub fn parse(datagram: Bytes) -> Result<Packet, ParseError> {
        Packet::parse_if(datagram, |datagram| {
            checksum::carried(datagram) == Some(checksum::compute(datagram))
        })
    }

    /// Parses a datagram with a checksum of zero as a packet: something else must vouch for it (RFC
    /// 9653).
    ///
    /// # Errors
    /// As [`Packet::parse`], and [`ParseError::BadChecksum`] if there is a checksum.
    pub fn parse_without_checksum(datagram: Bytes) -> Result<Packet, ParseError> {
        Packet::parse_if(datagram, Packet::is_without_checksum)
    }

    /// Parses a datagram as a packet without checking the checksum: for captures, which are taken
    /// before a network card writes it, never for packets from a network unless the driver
    /// vouches for them.
    ///
    /// # Errors
    /// As [`Packet::parse`], except that of the checksum.
    pub fn parse_captured(datagram: Bytes) -> Result<Packet, ParseError> {
        Packet::parse_if(datagram, |_| true)
    }

    /// Parses a datagram that a driver vouches for, in the form in which it was passed. If `tail`
    /// is not exactly the user data of the last chunk, both are copied into one piece.
    ///
    /// # Errors
    /// As [`Packet::parse_captured`].
    pub fn parse_gathered(head: Bytes, tail: Bytes) -> Result<Packet, ParseError> {
        if tail.is_empty() || !lacks_user_data(&head, tail.len()) {
            return Packet::parse_captured(join_bytes(head, tail));
        }
        Ok(Packet { tail: Some(tail), ..Packet::parse_captured(head)? })
    }

    /// All of its bytes in one piece.
    pub fn into_bytes(self) -> Bytes {
        match self.tail {
            Some(tail) => join_bytes(self.datagram, tail),
            None => self.datagram,
        }
    }

    /// Whether the checksum of a datagram is zero; it may be correct nevertheless.
    pub fn is_without_checksum(datagram: &[u8]) -> bool {
        checksum::carried(datagram) == Some(0)
    }

    fn parse_if(datagram: Bytes, is_intact: fn(&[u8]) -> bool) -> Result<Packet, ParseError> {
        let Some(header) = CommonHeader::of(&datagram) else {
            return Err(ParseError::PacketTooShort(datagram.len()));
        };
        if !is_intact(&datagram) {
            return Err(ParseError::BadChecksum);
        }
        if header.source_port == 0 || header.destination_port == 0 {
            return Err(ParseError::ZeroPort);
        }
        Ok(Packet { header, datagram, tail: None })
    }

    /// Ports and verification tag of the packet.
    pub fn header(&self) -> CommonHeader {
        self.header
    }

    /// Bytes from the common header to the end.
    #[expect(clippy::len_without_is_empty, reason = "a packet has a header")]
    pub fn len(&self) -> usize {
        self.datagram.len() + self.tail.as_ref().map_or(0, Bytes::len)
    }

    /// Iterates the chunks; ends after the first error.
    #[inline]
    pub fn chunks(&self) -> ChunkIter<'_> {
        ChunkIter { raw: self.raw_chunks(), datagram: &self.datagram }
    }

    /// The bytes from chunk number `index` to the end: the part that an AUTH chunk there covers.
    pub(crate) fn bytes_from_chunk(&self, index: usize) -> &[u8] {
        let mut rest = self.datagram.get(CommonHeader::LENGTH..).unwrap_or_default();
        for chunk in self.raw_chunks().take(index) {
            let length = chunk.map_or(rest.len(), |chunk| chunk.bytes.len().next_multiple_of(4));
            rest = rest.get(length..).unwrap_or_default();
        }
        rest
    }

    /// Iterates the chunks without parsing them: cheap enough to search for an ABORT first.
    #[inline]
    pub fn raw_chunks(&self) -> RawChunkIter<'_> {
        RawChunkIter::of(&self.datagram, self.tail.as_ref())
    }
}

/// Whether the last chunk of a packet's `head` is DATA or I-DATA and lacks exactly its user data of
/// `tail` bytes. The part that an AUTH chunk covers must be in one piece.
fn lacks_user_data(head: &[u8], tail: usize) -> bool {
    let mut rest = head.get(CommonHeader::LENGTH..).unwrap_or_default();
    while let &[chunk_type, _flags, high, low, ..] = rest {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let fields = match ChunkType(chunk_type) {
            ChunkType::DATA => Data::OVERHEAD,
            ChunkType::I_DATA => IData::OVERHEAD,
            ChunkType::AUTH => return false,
            _ => usize::MAX,
        };
        if rest.len() == fields && length == fields + tail {
            return true;
        }
        rest = rest.get(length.next_multiple_of(4).max(tlv::HEADER)..).unwrap_or_default();
    }
    false
}

/// Unparsed chunks of a packet, as [`Packet::raw_chunks`] yields them.
#[derive(Clone, Debug)]
pub struct RawChunkIter<'a> {
    tlvs: TlvIter<'a>,
    tail: Option<&'a Bytes>,
}

impl<'a> RawChunkIter<'a> {
    /// The chunks of a packet, whether or not it is verified, whose last bytes of user data are in
    /// `tail`.
    #[inline]
    pub(crate) fn of(packet: &'a [u8], tail: Option<&'a Bytes>) -> Self {
        let chunks = packet.get(CommonHeader::LENGTH..).unwrap_or_default();
        let tlvs = TlvIter::new(chunks, Item::Chunk).with_tail(tail.map_or(0, Bytes::len));
        RawChunkIter { tlvs, tail }
    }

    /// The chunks up to the first malformed one, without AUTH: the packet's contents (RFC 4895,
    /// section 6.3).
    #[inline]
    pub(crate) fn but_auth(self) -> impl Iterator<Item = RawChunk<'a>> {
        self.map_while(Result::ok).filter(|raw| raw.chunk_type != ChunkType::AUTH)
    }
}

impl<'a> Iterator for RawChunkIter<'a> {
    type Item = Result<RawChunk<'a>, ParseError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.tlvs.next()?.map(RawChunk::from_tlv);
        let tail = self.tail.filter(|_| self.tlvs.is_at_end());
        Some(chunk.map(|chunk| RawChunk { tail, ..chunk }))
    }
}

impl core::iter::FusedIterator for RawChunkIter<'_> {}

/// Parsed chunks of a packet, as [`Packet::chunks`] yields them.
#[derive(Clone, Debug)]
pub struct ChunkIter<'a> {
    raw: RawChunkIter<'a>,
    datagram: &'a Bytes,
}

impl<'a> Iterator for ChunkIter<'a> {
    type Item = Result<Chunk<'a>, ParseError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let raw = self.raw.next()?;
        let chunk = raw.and_then(|raw| Chunk::parse(raw, self.datagram));
        if chunk.is_err() {
            self.raw.tlvs.stop();
        }
        Some(chunk)
    }
}

impl core::iter::FusedIterator for ChunkIter<'_> {}

#[cfg(test)]
mod tests;
