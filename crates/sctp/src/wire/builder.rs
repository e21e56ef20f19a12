//! Writes a packet at the end of a buffer, chunk by chunk, never past a given size.

use core::fmt;
use std::sync::Arc;

use super::checksum;
use super::header::CommonHeader;
use super::registry::ChunkType;
use super::signing::Signer;
use super::tlv;

/// A chunk that can be written.
pub trait EmitChunk {
    /// Chunk type and flags.
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

/// Bytes of the largest packet: what an IP packet holds beside its own header, and a UDP header before it.
const LARGEST: usize = (u16::MAX as usize - 28) & !3;

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
    signer: Option<Arc<Signer>>,
    /// Where the AUTH chunk stands in the buffer, once there is one.
    auth: Option<usize>,
}

impl<'b> PacketBuilder<'b> {
    /// Begins a packet of at most `max_size` bytes behind what `buffer` holds already.
    ///
    /// `max_size` counts from the common header on; what exceeds 65504 is of no use, and the header is
    /// written even if `max_size` leaves no room for it.
    pub fn start(buffer: &'b mut Vec<u8>, header: CommonHeader, max_size: usize) -> Self {
        let start = buffer.len();
        let max_size = max_size.min(LARGEST) & !3;
        let mut bytes = [0; CommonHeader::LENGTH];
        let (source, rest) = bytes.split_at_mut(2);
        let (destination, rest) = rest.split_at_mut(2);
        let (tag, _checksum) = rest.split_at_mut(4);
        source.copy_from_slice(&header.source_port.to_be_bytes());
        destination.copy_from_slice(&header.destination_port.to_be_bytes());
        tag.copy_from_slice(&header.verification_tag.0.to_be_bytes());
        buffer.extend_from_slice(&bytes);
        PacketBuilder { buffer, start, max_size, signer: None, auth: None }
    }

    /// A packet with the chunks of the types that the signer names in the shelter of an AUTH chunk,
    /// which stands before the first of them and covers all behind it (RFC 4895, section 6.2).
    pub fn signed(self, signer: Option<Arc<Signer>>) -> Self {
        PacketBuilder { signer, ..self }
    }

    /// Bytes that a further chunk may take, its header and padding included: a multiple of four.
    /// An AUTH chunk that may have to come before it is taken off.
    pub fn remaining(&self) -> usize {
        let auth = match (&self.signer, self.auth) {
            (Some(signer), None) => signer.auth_len(),
            _ => 0,
        };
        self.room().saturating_sub(auth)
    }

    /// Bytes that a further chunk of this type may take, as [`PacketBuilder::remaining`]; an AUTH chunk is
    /// taken off only where this type needs one.
    pub fn remaining_for(&self, chunk_type: ChunkType) -> usize {
        let signer = self.signer.as_ref().filter(|_| self.auth.is_none());
        let auth = signer.map_or(0, |signer| signer.auth_len_before(chunk_type));
        self.room().saturating_sub(auth)
    }

    /// Lifts the limit of the packet's size: whatever is appended from now on is bounded by what IP carries.
    pub fn widen(&mut self) {
        self.max_size = LARGEST;
    }

    fn room(&self) -> usize {
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
        let (ChunkType(chunk_type), flags) = chunk.head();
        let needs_auth = |signer: &&Arc<Signer>| signer.types.contains(ChunkType(chunk_type));
        let signer = self.signer.as_ref().filter(|_| self.auth.is_none()).filter(needs_auth);
        let auth_len = signer.map_or(0, |signer| signer.auth_len());
        let room = self.room().checked_sub(tlv::HEADER + auth_len).ok_or(DoesNotFit)?;
        if chunk.least_len() > room {
            return Err(DoesNotFit);
        }
        let before = self.buffer.len();
        if let Some(signer) = signer {
            signer.open(self.buffer);
        }
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[chunk_type, flags, 0, 0]);
        chunk.emit_value(self.buffer, room);
        if self.buffer.len() - start > tlv::HEADER + room {
            self.buffer.truncate(before);
            return Err(DoesNotFit);
        }
        if start > before {
            self.auth = Some(before);
        }
        tlv::patch_length(self.buffer, start);
        tlv::pad(self.buffer, start);
        Ok(())
    }

    /// Signs the packet if a chunk in it asks for it, writes the checksum and returns the packet's size
    /// in bytes.
    pub fn finish(mut self) -> usize {
        self.sign();
        checksum::emit(self.buffer.get_mut(self.start..).unwrap_or_default());
        self.len()
    }

    /// Ends the packet with a checksum of zero (RFC 9653).
    pub fn finish_without_checksum(mut self) -> usize {
        self.sign();
        self.len()
    }

    fn sign(&mut self) {
        if let (Some(signer), Some(at)) = (&self.signer, self.auth) {
            signer.close(self.buffer.get_mut(at..).unwrap_or_default());
        }
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
    fn a_chunk_that_is_to_be_signed_brings_an_auth_chunk_before_it_and_all_behind_are_covered() {
        use super::super::signing::{ChunkTypes, HmacId};
        use super::super::{Chunk, KeyId, Packet};
        let types = ChunkTypes::from_iter([ChunkType::COOKIE_ECHO]);
        let signer = Signer::new(types, KeyId(5), HmacId::SHA_256, b"secret").map(Arc::new);
        let signed = |max_size, buffer: &mut Vec<u8>| {
            let mut packet = PacketBuilder::start(buffer, HEADER, max_size).signed(signer.clone());
            let room = packet.remaining();
            packet.append(CookieAck).unwrap();
            let fits = packet.append(CookieEcho { cookie: &[7; 5] });
            let _ = packet.append(CookieAck);
            packet.finish();
            (room, fits)
        };
        let mut buffer = Vec::new();
        assert_eq!(signed(12 + 4 + 40 + 12 + 4, &mut buffer), (20, Ok(())));
        assert_eq!(buffer.len(), 72);
        assert_eq!(buffer[16..24], [15, 0, 0, 40, 0, 5, 0, 3]);
        let packet = Packet::parse(buffer.clone().into()).unwrap();
        let Some(Ok(Chunk::Auth(auth))) = packet.chunks().nth(1) else { panic!() };
        assert!(signer.as_ref().unwrap().mac.verify(&buffer[16..], auth.hmac));
        // What does not fit with its AUTH leaves none behind.
        buffer.clear();
        assert_eq!(signed(12 + 4 + 40 + 8, &mut buffer), (12, Err(DoesNotFit)));
        assert_eq!(buffer.len(), 12 + 4 + 4);
        // Without a chunk that asks for it there is none.
        buffer.clear();
        let mut packet = PacketBuilder::start(&mut buffer, HEADER, 100).signed(signer.clone());
        packet.append(CookieAck).unwrap();
        assert_eq!(packet.finish(), 16);
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
