//! Writes a packet at the end of a buffer, chunk by chunk, never past a given size.

use core::fmt;

use super::checksum;
use super::header::CommonHeader;
use super::registry::ChunkType;
use super::tlv;

/// A chunk that can be written.
pub trait EmitChunk {
    /// Its type and flags.
    fn head(&self) -> (ChunkType, u8);

    /// Bytes that its value takes at the least; with more room than this it may still not fit.
    fn least_len(&self) -> usize {
        0
    }

    /// Appends its value: what follows the four bytes of type, flags and length, without the padding
    /// at the end. A chunk that may be shortened keeps to `room` bytes; if another takes more, the
    /// builder takes it back.
    fn emit_value(self, buffer: &mut Vec<u8>, room: usize);
}

/// The chunk is longer than the room that is left. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotFit;

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the chunk does not fit into the packet")
    }
}

impl core::error::Error for DoesNotFit {}

/// A packet in the making. It counts only once [`PacketBuilder::finish`] wrote its checksum
/// or [`PacketBuilder::finish_without_checksum`] said that it has none.
#[must_use = "finish or discard it"]
#[derive(Debug)]
pub struct PacketBuilder<'b> {
    buffer: &'b mut Vec<u8>,
    /// Where the packet begins in the buffer.
    start: usize,
    /// Bytes that the packet may have: a multiple of four.
    max_size: usize,
}

impl<'b> PacketBuilder<'b> {
    /// Begins a packet of at most `max_size` bytes behind what `buffer` holds already.
    ///
    /// `max_size` counts from the common header on; what exceeds 65532 is of no use, and the header is
    /// written even if `max_size` leaves no room for it.
    pub fn start(buffer: &'b mut Vec<u8>, header: CommonHeader, max_size: usize) -> Self {
        let start = buffer.len();
        let max_size = max_size.min(usize::from(u16::MAX)) & !3;
        let mut bytes = [0; CommonHeader::LENGTH];
        let (source, rest) = bytes.split_at_mut(2);
        let (destination, rest) = rest.split_at_mut(2);
        let (tag, _checksum) = rest.split_at_mut(4);
        source.copy_from_slice(&header.source_port.to_be_bytes());
        destination.copy_from_slice(&header.destination_port.to_be_bytes());
        tag.copy_from_slice(&header.verification_tag.0.to_be_bytes());
        buffer.extend_from_slice(&bytes);
        PacketBuilder { buffer, start, max_size }
    }

    /// Bytes that a further chunk may take, its header and padding included: a multiple of four.
    pub fn remaining(&self) -> usize {
        self.max_size.saturating_sub(self.len())
    }

    /// Bytes written so far, the common header included.
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether no chunk was appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() <= CommonHeader::LENGTH
    }

    /// Appends a chunk and its padding.
    ///
    /// # Errors
    /// [`DoesNotFit`] if [`PacketBuilder::remaining`] is too little; the packet is then as before.
    pub fn append(&mut self, chunk: impl EmitChunk) -> Result<(), DoesNotFit> {
        let room = self.remaining().checked_sub(tlv::HEADER).ok_or(DoesNotFit)?;
        if chunk.least_len() > room {
            return Err(DoesNotFit);
        }
        let start = self.buffer.len();
        let (ChunkType(chunk_type), flags) = chunk.head();
        self.buffer.extend_from_slice(&[chunk_type, flags, 0, 0]);
        chunk.emit_value(self.buffer, room);
        if self.buffer.len() - start > tlv::HEADER + room {
            self.buffer.truncate(start);
            return Err(DoesNotFit);
        }
        tlv::patch_length(self.buffer, start);
        tlv::pad(self.buffer, start);
        Ok(())
    }

    /// Writes the checksum and returns the packet's size in bytes.
    pub fn finish(self) -> usize {
        checksum::emit(self.buffer.get_mut(self.start..).unwrap_or_default());
        self.len()
    }

    /// Leaves the checksum zero and returns the packet's size in bytes (RFC 9653).
    pub fn finish_without_checksum(self) -> usize {
        self.len()
    }

    /// Takes everything back: the buffer is as it was before the start.
    pub fn discard(self) {
        self.buffer.truncate(self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunk::{CookieAck, CookieEcho};
    use super::super::ids::VerificationTag;
    use super::*;

    const HEADER: CommonHeader =
        CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };

    #[test]
    fn room_is_a_multiple_of_four_so_that_padding_always_fits() {
        let mut buffer = Vec::new();
        let mut packet = PacketBuilder::start(&mut buffer, HEADER, 12 + 15);
        assert!(packet.is_empty());
        assert_eq!(packet.remaining(), 12);
        assert_eq!(packet.append(CookieEcho { cookie: &[7; 9] }), Err(DoesNotFit));
        assert_eq!((packet.len(), packet.remaining()), (12, 12));
        assert_eq!(packet.append(CookieEcho { cookie: &[7; 5] }), Ok(()));
        assert_eq!((packet.len(), packet.remaining()), (24, 0));
        assert_eq!(packet.append(CookieAck), Err(DoesNotFit));
        assert_eq!(packet.finish(), 24);
        assert_eq!(buffer[12..], [10, 0, 0, 9, 7, 7, 7, 7, 7, 0, 0, 0]);
    }

    #[test]
    fn a_packet_leaves_alone_what_stands_before_it() {
        let mut buffer = vec![1, 2, 3];
        PacketBuilder::start(&mut buffer, HEADER, 100).discard();
        assert_eq!(buffer, [1, 2, 3]);
        let mut packet = PacketBuilder::start(&mut buffer, HEADER, 100);
        packet.append(CookieEcho { cookie: &[7] }).unwrap();
        assert_eq!(packet.finish(), 20);
        assert_eq!(buffer[..3], [1, 2, 3]);
        assert_eq!(buffer[15..], [10, 0, 0, 5, 7, 0, 0, 0]);
    }

    #[test]
    fn a_packet_without_room_takes_no_chunk() {
        let mut buffer = Vec::new();
        let mut packet = PacketBuilder::start(&mut buffer, HEADER, 0);
        assert_eq!(packet.remaining(), 0);
        assert_eq!(packet.append(CookieAck), Err(DoesNotFit));
        assert_eq!(packet.finish(), 12);
    }
}
