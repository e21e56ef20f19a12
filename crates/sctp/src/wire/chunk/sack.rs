//! SACK: selective acknowledgement (RFC 9260, section 3.3.4).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 3        | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | cumulative TSN ack                                            |
//! +---------------------------------------------------------------+
//! | advertised receiver window credit (a_rwnd), in bytes          |
//! +-------------------------------+-------------------------------+
//! | number of gap ack blocks      | number of duplicate TSNs      |
//! +-------------------------------+-------------------------------+
//! | start of a gap ack block      | its end: both are offsets     |
//! |            ...                | from the cumulative TSN ack   |
//! +-------------------------------+-------------------------------+
//! | duplicate TSNs                                                |
//! ```

use super::super::builder::EmitChunk;
use super::super::error::ParseError;
use super::super::ids::Tsn;
use super::super::registry::ChunkType;
use super::raw::{RawChunk, too_short};

/// Bytes of the fixed fields after the chunk header.
const FIELDS: usize = 12;
/// Position of the two counts among them.
const COUNTS: core::ops::Range<usize> = 8..FIELDS;
/// Bytes of a gap ack block, and of a duplicate TSN.
const ENTRY: usize = 4;

/// TSNs received beyond a gap, as offsets from the cumulative TSN ack, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapAckBlock {
    /// Offset of the first TSN.
    pub start: u16,
    /// Offset of the last TSN.
    pub end: u16,
}

/// A received SACK chunk, its lists not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack<'a> {
    /// The last TSN before the first gap.
    pub cumulative_tsn_ack: Tsn,
    /// Free receive buffer of the sender of the SACK, in bytes.
    pub a_rwnd: u32,
    gaps: &'a [[u8; ENTRY]],
    duplicates: &'a [[u8; ENTRY]],
}

impl<'a> Sack<'a> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        let (fields, entries) = raw.split_fields::<FIELDS>()?;
        let &[c0, c1, c2, c3, w0, w1, w2, w3, g0, g1, d0, d1] = fields;
        let gap_count = usize::from(u16::from_be_bytes([g0, g1]));
        let duplicate_count = usize::from(u16::from_be_bytes([d0, d1]));
        let too_short = too_short(ChunkType::SACK);
        let (entries, _) = entries.as_chunks::<ENTRY>();
        let (gaps, rest) = entries.split_at_checked(gap_count).ok_or(too_short)?;
        Ok(Sack {
            cumulative_tsn_ack: Tsn(u32::from_be_bytes([c0, c1, c2, c3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            gaps,
            duplicates: rest.get(..duplicate_count).ok_or(too_short)?,
        })
    }

    /// The gap ack blocks in the order of the chunk, unchecked; see [`Sack::has_ascending_blocks`].
    pub fn gap_ack_blocks(&self) -> impl ExactSizeIterator<Item = GapAckBlock> + Clone + 'a {
        self.gaps.iter().map(|&[s0, s1, e0, e1]| GapAckBlock {
            start: u16::from_be_bytes([s0, s1]),
            end: u16::from_be_bytes([e0, e1]),
        })
    }

    /// TSNs of duplicates, one entry for each.
    pub fn duplicate_tsns(&self) -> impl ExactSizeIterator<Item = Tsn> + Clone + 'a {
        self.duplicates.iter().map(|tsn| Tsn(u32::from_be_bytes(*tsn)))
    }

    /// Whether every block starts at 1 or later, ends no earlier than it starts, and lies wholly
    /// beyond the block before it. True without blocks.
    pub fn has_ascending_blocks(&self) -> bool {
        let mut previous_end = 0;
        self.gap_ack_blocks().all(|block| {
            let ascending = block.start > previous_end && block.end >= block.start;
            previous_end = block.end;
            ascending
        })
    }
}

/// A SACK to be sent. Entries for which the packet has no room are left out from the end,
/// duplicates before gap ack blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingSack<G, D> {
    /// The last TSN before the first gap.
    pub cumulative_tsn_ack: Tsn,
    /// Free receive buffer of this side, in bytes.
    pub a_rwnd: u32,
    /// Iterates over [`GapAckBlock`]s with ascending TSNs.
    pub gap_ack_blocks: G,
    /// Iterates over the [`Tsn`]s of duplicates.
    pub duplicate_tsns: D,
}

impl<G, D> EmitChunk for OutgoingSack<G, D>
where
    G: IntoIterator<Item = GapAckBlock>,
    D: IntoIterator<Item = Tsn>,
{
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::SACK, 0)
    }

    fn least_len(&self) -> usize {
        FIELDS
    }

    fn emit_value(self, buffer: &mut Vec<u8>, room: usize) {
        let start = buffer.len();
        buffer.extend_from_slice(&self.cumulative_tsn_ack.0.to_be_bytes());
        buffer.extend_from_slice(&self.a_rwnd.to_be_bytes());
        buffer.extend_from_slice(&[0; COUNTS.end - COUNTS.start]);

        // `room` is below 2^16 bytes, so that both counts fit in 16 bits.
        let mut left = room.saturating_sub(FIELDS) / ENTRY;
        let mut gaps: u16 = 0;
        for block in self.gap_ack_blocks.into_iter().take(left) {
            let ([s0, s1], [e0, e1]) = (block.start.to_be_bytes(), block.end.to_be_bytes());
            buffer.extend_from_slice(&[s0, s1, e0, e1]);
            gaps = gaps.saturating_add(1);
        }
        left = left.saturating_sub(usize::from(gaps));
        let mut duplicates: u16 = 0;
        for tsn in self.duplicate_tsns.into_iter().take(left) {
            buffer.extend_from_slice(&tsn.0.to_be_bytes());
            duplicates = duplicates.saturating_add(1);
        }

        let ([g0, g1], [d0, d1]) = (gaps.to_be_bytes(), duplicates.to_be_bytes());
        if let Some(counts) = buffer.get_mut(start + COUNTS.start..start + COUNTS.end) {
            counts.copy_from_slice(&[g0, g1, d0, d1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ascending(blocks: &[[u8; 4]]) -> bool {
        Sack { cumulative_tsn_ack: Tsn(0), a_rwnd: 0, gaps: blocks, duplicates: &[] }
            .has_ascending_blocks()
    }

    #[test]
    fn blocks_are_good_only_if_ascending_and_apart() {
        assert!(ascending(&[]));
        assert!(ascending(&[[0, 2, 0, 2], [0, 4, 1, 0]]));
        assert!(!ascending(&[[0, 0, 0, 2]]), "the cumulative TSN ack itself");
        assert!(!ascending(&[[0, 3, 0, 2]]), "ends before it starts");
        assert!(!ascending(&[[0, 2, 0, 5], [0, 5, 0, 9]]), "overlap");
        assert!(!ascending(&[[0, 6, 0, 9], [0, 2, 0, 3]]), "descending");
        assert!(!ascending(&[[0, 2, 0xff, 0xff], [0, 1, 0, 1]]), "behind the last offset");
    }

    #[test]
    fn what_does_not_fit_is_left_out_duplicates_first() {
        let sack = OutgoingSack {
            cumulative_tsn_ack: Tsn(9),
            a_rwnd: 1,
            gap_ack_blocks: [GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 5, end: 5 }],
            duplicate_tsns: [Tsn(7), Tsn(8)],
        };
        let counts = |room| {
            let mut buffer = Vec::new();
            sack.emit_value(&mut buffer, room);
            // The first block, that of the lowest TSNs, stays longest.
            assert!(buffer.len() == 12 || buffer[12..16] == [0, 2, 0, 3]);
            (buffer.len(), buffer[9], buffer[11])
        };
        assert_eq!(counts(100), (28, 2, 2));
        assert_eq!(counts(24), (24, 2, 1));
        assert_eq!(counts(20), (20, 2, 0));
        assert_eq!(counts(16), (16, 1, 0));
        assert_eq!(counts(12), (12, 0, 0));
    }
}
