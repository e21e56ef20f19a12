//! FORWARD TSN and I-FORWARD-TSN: the sender abandoned messages, for which the receiver must not
//! wait (RFC 3758, section 3.2; RFC 8260, section 2.3.1).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 192, 194 | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | new cumulative TSN                                            |
//! +-------------------------------+-------------------------------+
//! | FORWARD TSN: stream identifier| stream sequence number        |
//! |            ...                                                |
//! +-------------------------------+-----------------------------+-+
//! | I-FORWARD-TSN: stream         | reserved                    |U|
//! +-------------------------------+-----------------------------+-+
//! | message identifier                                            |
//! |            ...                                                |
//! ```

use super::super::builder::EmitChunk;
use super::super::error::ParseError;
use super::super::ids::{Mid, Ssn, StreamId, Tsn};
use super::super::registry::ChunkType;
use super::raw::{RawChunk, too_short};

/// Bytes of an entry for one stream in FORWARD TSN.
const SKIP: usize = 4;
/// Bytes of an entry for one stream in I-FORWARD-TSN.
const I_SKIP: usize = 8;
/// The bit that marks an entry of I-FORWARD-TSN as one of unordered messages.
const UNORDERED: u16 = 1;

/// The last ordered message of a stream that a FORWARD TSN skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Ordered stream in which messages are skipped.
    pub stream: StreamId,
    /// The largest stream sequence number skipped in it.
    pub ssn: Ssn,
}

/// The last message of a stream, ordered or unordered, that an I-FORWARD-TSN skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ISkip {
    /// Stream in which messages are skipped.
    pub stream: StreamId,
    /// U: the entry concerns unordered messages, whose identifiers are counted apart.
    pub unordered: bool,
    /// The largest message identifier skipped in it.
    pub mid: Mid,
}

/// A FORWARD TSN. `S` iterates over its [`Skip`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardTsn<S> {
    /// Every TSN up to this one counts as received.
    pub new_cumulative_tsn: Tsn,
    /// Streams in which ordered messages are skipped.
    pub skips: S,
}

/// An I-FORWARD-TSN. `S` iterates over its [`ISkip`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IForwardTsn<S> {
    /// Every TSN up to this one counts as received.
    pub new_cumulative_tsn: Tsn,
    /// Streams in which messages are skipped.
    pub skips: S,
}

/// The entries of a received FORWARD TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skips<'a>(&'a [[u8; SKIP]]);

/// The entries of a received I-FORWARD-TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ISkips<'a>(&'a [[u8; I_SKIP]]);

impl<'a> Skips<'a> {
    /// The entries, in the order of the chunk.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Skip> + Clone + 'a {
        self.0.iter().map(|&[i0, i1, n0, n1]| Skip {
            stream: StreamId(u16::from_be_bytes([i0, i1])),
            ssn: Ssn(u16::from_be_bytes([n0, n1])),
        })
    }
}

impl<'a> ISkips<'a> {
    /// The entries, in the order of the chunk.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ISkip> + Clone + 'a {
        self.0.iter().map(|&[i0, i1, f0, f1, m0, m1, m2, m3]| ISkip {
            stream: StreamId(u16::from_be_bytes([i0, i1])),
            unordered: u16::from_be_bytes([f0, f1]) & UNORDERED != 0,
            mid: Mid(u32::from_be_bytes([m0, m1, m2, m3])),
        })
    }
}

/// Splits the value into the new cumulative TSN and entries of `N` bytes each.
fn parse<'a, const N: usize>(raw: RawChunk<'a>) -> Result<(Tsn, &'a [[u8; N]]), ParseError> {
    let (tsn, rest) = raw.split_fields()?;
    let (entries, cut_off) = rest.as_chunks();
    if !cut_off.is_empty() {
        return Err(too_short(raw.chunk_type));
    }
    Ok((Tsn(u32::from_be_bytes(*tsn)), entries))
}

impl<'a> ForwardTsn<Skips<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        let (new_cumulative_tsn, entries) = parse(raw)?;
        Ok(ForwardTsn { new_cumulative_tsn, skips: Skips(entries) })
    }
}

impl<'a> IForwardTsn<ISkips<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        let (new_cumulative_tsn, entries) = parse(raw)?;
        Ok(IForwardTsn { new_cumulative_tsn, skips: ISkips(entries) })
    }
}

impl<S: IntoIterator<Item = Skip>> EmitChunk for ForwardTsn<S> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::FORWARD_TSN, 0)
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(&self.new_cumulative_tsn.0.to_be_bytes());
        for skip in self.skips {
            buffer.extend_from_slice(&skip.stream.0.to_be_bytes());
            buffer.extend_from_slice(&skip.ssn.0.to_be_bytes());
        }
    }
}

impl<S: IntoIterator<Item = ISkip>> EmitChunk for IForwardTsn<S> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::I_FORWARD_TSN, 0)
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(&self.new_cumulative_tsn.0.to_be_bytes());
        for skip in self.skips {
            let flags = if skip.unordered { UNORDERED } else { 0 };
            buffer.extend_from_slice(&skip.stream.0.to_be_bytes());
            buffer.extend_from_slice(&flags.to_be_bytes());
            buffer.extend_from_slice(&skip.mid.0.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{CommonHeader, Packet, PacketBuilder, VerificationTag};
    use super::super::Chunk;
    use super::*;

    fn packet(chunk: impl EmitChunk) -> Packet {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            verification_tag: VerificationTag(9),
        };
        let mut buffer = Vec::new();
        let mut packet = PacketBuilder::start(&mut buffer, header, 200);
        packet.append(chunk).unwrap();
        packet.finish();
        Packet::parse(buffer.into()).unwrap()
    }

    #[test]
    fn forward_tsn_comes_out_as_it_went_in() {
        let skips = [
            Skip { stream: StreamId(1), ssn: Ssn(2) },
            Skip { stream: StreamId(3), ssn: Ssn(0xffff) },
        ];
        let packet = packet(ForwardTsn { new_cumulative_tsn: Tsn(7), skips });
        let Some(Ok(Chunk::ForwardTsn(read))) = packet.chunks().next() else { panic!() };
        assert_eq!(read.new_cumulative_tsn, Tsn(7));
        assert_eq!(read.skips.iter().collect::<Vec<_>>(), skips);
    }

    #[test]
    fn i_forward_tsn_comes_out_as_it_went_in() {
        let skips = [
            ISkip { stream: StreamId(1), unordered: true, mid: Mid(2) },
            ISkip { stream: StreamId(1), unordered: false, mid: Mid(u32::MAX) },
        ];
        let packet = packet(IForwardTsn { new_cumulative_tsn: Tsn(7), skips });
        let Some(Ok(Chunk::IForwardTsn(read))) = packet.chunks().next() else { panic!() };
        assert_eq!(read.new_cumulative_tsn, Tsn(7));
        assert_eq!(read.skips.iter().collect::<Vec<_>>(), skips);
    }

    #[test]
    fn flags_and_reserved_bits_of_i_forward_tsn_are_sent_as_0_and_ignored() {
        let skip = ISkip { stream: StreamId(1), unordered: true, mid: Mid(2) };
        let packet = packet(IForwardTsn { new_cumulative_tsn: Tsn(7), skips: [skip] });
        let raw = packet.raw_chunks().next().unwrap().unwrap();
        assert_eq!((raw.flags, raw.value()), (0, &[0, 0, 0, 7, 0, 1, 0, 1, 0, 0, 0, 2][..]));
        let bytes = [194, 0xff, 0, 16, 0, 0, 0, 7, 0, 1, 0xff, 0xff, 0, 0, 0, 2];
        let strange = RawChunk { flags: 0xff, bytes: &bytes, ..raw };
        let read = IForwardTsn::parse(strange).unwrap();
        assert_eq!(read.skips.iter().collect::<Vec<_>>(), [skip]);
    }

    #[test]
    fn an_entry_that_is_cut_off_is_an_error() {
        let bytes = [192, 0, 0, 10, 0, 0, 0, 7, 0, 1];
        let raw =
            RawChunk { chunk_type: ChunkType::FORWARD_TSN, flags: 0, bytes: &bytes, tail: None };
        assert_eq!(ForwardTsn::parse(raw).unwrap_err(), too_short(ChunkType::FORWARD_TSN));
    }
}
