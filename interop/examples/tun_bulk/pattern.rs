//! Contents of bulk transfers: bytes that show their position.

use bytes::Bytes;

/// A text that repeats itself after a prime number of bytes, so that nothing that is missing,
/// doubled or moved by pieces of a usual size goes unseen.
#[derive(Clone)]
pub(crate) struct Pattern(Bytes);

impl Pattern {
    /// Bytes after which the pattern repeats, just below 256 KiB.
    pub(crate) const PERIOD: usize = 262_139;

    pub(crate) fn new() -> Pattern {
        let word = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        Pattern((1u64..).flat_map(word).take(Pattern::PERIOD).collect())
    }

    /// Contents from a position on: the longest piece that ends by `end`.
    pub(crate) fn at(&self, position: u64, end: u64) -> Bytes {
        let from = (position % Pattern::PERIOD as u64) as usize;
        let most = usize::try_from(end - position).unwrap_or(usize::MAX);
        self.0.slice(from..Pattern::PERIOD.min(from.saturating_add(most)))
    }

    /// The length of `data`, if it is what stands at `position`; else nothing of it counts.
    pub(crate) fn count_intact(&self, position: u64, data: &[u8]) -> u64 {
        let end = position + data.len() as u64;
        let mut at = position;
        while at < end {
            let piece = self.at(at, end);
            let from = (at - position) as usize;
            if data[from..from + piece.len()] != piece {
                return 0;
            }
            at += piece.len() as u64;
        }
        end - position
    }
}
