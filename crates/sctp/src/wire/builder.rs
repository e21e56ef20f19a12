//! Builds a packet at the end of a buffer, chunk by chunk, within a maximum size.

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::checksum;
use super::header::CommonHeader;
use super::ids::KeyId;
use super::registry::ChunkType;
use super::signing::Signer;
use super::tlv;

/// A chunk that can be emitted.
pub trait EmitChunk {
    /// Type and flags of the chunk, the first two bytes of its header.
    fn head(&self) -> (ChunkType, u8);

    /// Least bytes of its value; even with more room it may not fit.
    fn least_len(&self) -> usize {
        0
    }

    /// Appends its value: everything after the four bytes of type, flags and length, without final
    /// padding. A chunk that may be shortened keeps to `room` bytes; if another takes more, the
    /// builder removes it.
    fn emit_value(self, buffer: &mut Vec<u8>, room: usize);
}

/// Bytes of the largest packet: the largest IP payload minus a UDP header.
const LARGEST: usize = (u16::MAX as usize - 28) & !3;

/// The chunk is longer than the remaining room. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotFit;

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the chunk does not fit into the packet")
    }
}

impl core::error::Error for DoesNotFit {}

/// Bytes of user data below which a copy costs no more than a reference.
const GATHERED_FROM: usize = 64;

/// A packet being built. It is valid after [`PacketBuilder::finish`] wrote its checksum, or
/// [`PacketBuilder::finish_without_checksum`].
#[must_use = "finish or discard it"]
#[derive(Debug)]
pub struct PacketBuilder<'b> {
    buffer: &'b mut Vec<u8>,
    /// Beginning of the packet in the buffer.
    start: usize,
    /// Maximum size of the packet: a multiple of four.
    max_size: usize,
    signer: Option<Arc<Signer>>,
    /// Position of the AUTH chunk in the buffer, once there is one.
    auth: Option<usize>,
    /// Destination of the last chunk's user data by reference: a multiple of four bytes, so that
    /// no padding follows.
    tail: Option<&'b mut Option<Bytes>>,
}

impl<'b> PacketBuilder<'b> {
    /// Begins a packet of at most `max_size` bytes after the present contents of `buffer`.
    ///
    /// `max_size` includes the common header; more than 65504 has no effect, and the header is
    /// written even if `max_size` leaves no room for it.
    #[inline]
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
        PacketBuilder { buffer, start, max_size, signer: None, auth: None, tail: None }
    }

    /// Lets the packet omit its checksum, for a driver that needs none, and put its last bytes by
    /// reference into `tail`, which must be empty. No effect if a signer needs all bytes in one
    /// piece.
    #[inline]
    pub fn gathering(mut self, tail: Option<&'b mut Option<Bytes>>) -> Self {
        self.tail = tail.filter(|_| self.signer.is_none());
        self
    }

    /// Lets the signer authenticate the packet: an AUTH chunk precedes the first chunk of the types
    /// that it names, and covers all chunks after it (RFC 4895, section 6.2).
    #[inline]
    pub fn signed(mut self, signer: Option<Arc<Signer>>) -> Self {
        self.signer = signer;
        self
    }

    /// Whether a chunk that needs an AUTH chunk of this key may be appended, since a packet has one
    /// key; a chunk that needs none may.
    #[inline]
    pub(crate) fn admits(&self, key: Option<KeyId>) -> bool {
        match (&self.signer, key) {
            (Some(signer), Some(key)) => signer.key == key,
            _ => true,
        }
    }

    /// Bytes that a further chunk may take, including header and padding: a multiple of four. An
    /// AUTH chunk that may have to precede it is deducted.
    pub fn remaining(&self) -> usize {
        let auth = match (&self.signer, self.auth) {
            (Some(signer), None) => signer.auth_len(),
            _ => 0,
        };
        self.room().saturating_sub(auth)
    }

    /// Bytes that a further chunk of this type may take, as [`PacketBuilder::remaining`]; an AUTH
    /// chunk is deducted only if this type needs one.
    pub fn remaining_for(&self, chunk_type: ChunkType) -> usize {
        let auth = if self.signer.is_some() { self.auth_len_before(chunk_type) } else { 0 };
        self.room().saturating_sub(auth)
    }

    #[inline(never)]
    fn auth_len_before(&self, chunk_type: ChunkType) -> usize {
        let signer = self.signer.as_ref().filter(|_| self.auth.is_none());
        signer.map_or(0, |signer| signer.auth_len_before(chunk_type))
    }

    /// Raises the maximum size to that of an IP packet, for further chunks.
    pub fn widen(&mut self) {
        self.max_size = LARGEST;
    }

    fn room(&self) -> usize {
        self.max_size.saturating_sub(self.len())
    }

    /// Bytes written so far, the common header included.
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start + self.tail_len()
    }

    #[inline]
    fn tail_len(&self) -> usize {
        self.tail.as_deref().and_then(Option::as_ref).map_or(0, Bytes::len)
    }

    /// Whether no chunk was appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() <= CommonHeader::LENGTH
    }

    /// Appends a chunk and its padding.
    ///
    /// # Errors
    /// [`DoesNotFit`] if [`PacketBuilder::remaining`] is too little; the packet is then unchanged.
    pub fn append(&mut self, chunk: impl EmitChunk) -> Result<(), DoesNotFit> {
        self.append_parts(chunk, None)
    }

    /// Appends a chunk whose value ends with `user_data`, which `chunk` does not contain, and its
    /// padding.
    ///
    /// # Errors
    /// As [`PacketBuilder::append`].
    #[inline]
    pub fn append_with(
        &mut self,
        chunk: impl EmitChunk,
        user_data: &Bytes,
    ) -> Result<(), DoesNotFit> {
        self.append_parts(chunk, Some(user_data))
    }

    #[inline]
    fn append_parts(
        &mut self,
        chunk: impl EmitChunk,
        user_data: Option<&Bytes>,
    ) -> Result<(), DoesNotFit> {
        let (ChunkType(chunk_type), flags) = chunk.head();
        let needs_auth = |signer: &&Arc<Signer>| signer.types.contains(ChunkType(chunk_type));
        let signer = self.signer.as_ref().filter(|_| self.auth.is_none()).filter(needs_auth);
        let auth_len = signer.map_or(0, |signer| signer.auth_len());
        let others = tlv::HEADER + auth_len + user_data.map_or(0, Bytes::len);
        let room = self.room().checked_sub(others).ok_or(DoesNotFit)?;
        if chunk.least_len() > room {
            return Err(DoesNotFit);
        }
        // Only the end of a packet may be elsewhere.
        copy_tail(&mut self.tail, self.buffer);
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
        let stays = |data: &Bytes| data.len() >= GATHERED_FROM && data.len().is_multiple_of(4);
        match (&mut self.tail, user_data) {
            (Some(tail), Some(data)) if stays(data) => **tail = Some(data.clone()),
            (_, Some(data)) => self.buffer.extend_from_slice(data),
            (_, None) => {}
        }
        let behind = self.tail_len();
        tlv::patch_length(self.buffer, start, behind);
        tlv::pad(self.buffer, start);
        Ok(())
    }

    /// Signs the packet if a chunk in it requires that, writes the checksum unless the packet is
    /// gathered, and returns the number of its bytes in the buffer.
    #[inline]
    pub fn finish(mut self) -> usize {
        self.sign();
        let packet = self.buffer.get_mut(self.start..).unwrap_or_default();
        if self.tail.is_some() {
            checksum::omit(packet);
        } else {
            checksum::emit(packet);
        }
        self.buffer.len() - self.start
    }

    /// Finishes the packet, entirely in the buffer, with a checksum of zero (RFC 9653).
    pub fn finish_without_checksum(mut self) -> usize {
        copy_tail(&mut self.tail, self.buffer);
        self.sign();
        self.len()
    }

    fn sign(&mut self) {
        if let (Some(signer), Some(at)) = (&self.signer, self.auth) {
            signer.close(self.buffer.get_mut(at..).unwrap_or_default());
        }
    }

    /// Removes the packet: the buffer is as before the start.
    pub fn discard(self) {
        self.buffer.truncate(self.start);
        if let Some(tail) = self.tail {
            *tail = None;
        }
    }
}

/// Copies the referenced user data to the end of the packet.
#[inline]
fn copy_tail(tail: &mut Option<&mut Option<Bytes>>, buffer: &mut Vec<u8>) {
    if let Some(tail) = tail.as_mut().and_then(|tail| tail.take()) {
        buffer.extend_from_slice(&tail);
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunk::{CookieAck, CookieEcho, Data, DataFlags};
    use super::super::ids::{Ppid, Ssn, StreamId, Tsn, VerificationTag};
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
        // A chunk that does not fit together with its AUTH chunk leaves no AUTH chunk.
        buffer.clear();
        assert_eq!(signed(12 + 4 + 40 + 8, &mut buffer), (12, Err(DoesNotFit)));
        assert_eq!(buffer.len(), 12 + 4 + 4);
        // A packet without a chunk that requires it has no AUTH chunk.
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

    /// A packet of these messages, in one piece or gathered.
    fn packet_of(messages: &[usize], gathers: bool) -> (Vec<u8>, Bytes) {
        let mut buffer = vec![9];
        let mut tail = None;
        let place = gathers.then_some(&mut tail);
        let mut packet = PacketBuilder::start(&mut buffer, HEADER, 1000).gathering(place);
        packet.append(CookieAck).unwrap();
        for (tsn, length) in (0..).zip(messages) {
            let chunk = Data {
                tsn: Tsn(tsn),
                stream: StreamId(1),
                ssn: Ssn(2),
                ppid: Ppid(3),
                flags: DataFlags::WHOLE,
                payload: [],
            };
            packet.append_with(chunk, &vec![7; *length].into()).unwrap();
        }
        let whole = packet.len();
        let size = packet.finish();
        let tail = tail.unwrap_or_default();
        assert_eq!((size + 1, whole), (buffer.len(), size + tail.len()));
        (buffer.split_off(1), tail)
    }

    #[test]
    fn the_user_data_of_the_last_chunk_stays_where_it_lies_if_nothing_pads_it() {
        let least = GATHERED_FROM;
        for (messages, gathered) in [
            (&[least][..], least),
            (&[400, 0, 400], 400),
            (&[400, least - 4], 0),
            (&[400, 401], 0),
            (&[], 0),
        ] {
            let ((whole, none), (mut head, tail)) =
                (packet_of(messages, false), packet_of(messages, true));
            assert_eq!((none.len(), tail.len()), (0, gathered), "{messages:?}");
            assert_eq!(head[8..12], [0xff; 4]);
            head.extend(tail);
            checksum::emit(&mut head);
            assert_eq!(head, whole);
        }
    }

    #[test]
    fn a_chunk_that_does_not_fit_behind_gathered_user_data_leaves_it_there() {
        let mut buffer = Vec::new();
        let mut tail = None;
        let packet = PacketBuilder::start(&mut buffer, HEADER, 12 + 4 + 80 + 8);
        let mut packet = packet.gathering(Some(&mut tail));
        let user_data = Bytes::from(vec![7; 80]);
        packet.append_with(CookieEcho { cookie: &[] }, &user_data).unwrap();
        assert_eq!(packet.append(CookieEcho { cookie: &[7; 5] }), Err(DoesNotFit));
        assert_eq!((packet.len(), packet.remaining()), (96, 8));
        assert_eq!((packet.finish(), tail), (16, Some(user_data)));
        assert_eq!(buffer[12..], [10, 0, 0, 84]);
    }
}
