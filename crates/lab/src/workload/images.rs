//! Images that load in parallel.

use core::fmt;

use base::ByteCount;

/// Images that are fetched at the same time, all of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Images {
    /// Number of images, fetched at the same time.
    pub count: u32,
    /// Size of every image, in bytes.
    pub bytes: u64,
}

impl Images {
    /// `None` if a number cannot be read, or if nothing would be sent.
    pub(super) fn parse(count: &str, bytes: &str) -> Option<Images> {
        let images =
            Images { count: count.parse().ok()?, bytes: bytes.parse::<ByteCount>().ok()?.0 };
        (!images.is_empty()).then_some(images)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 || self.bytes == 0
    }

    /// Number of parts of `part` bytes in all images.
    pub(super) fn parts(&self, part: u64) -> u64 {
        u64::from(self.count).saturating_mul(self.bytes.div_ceil(part.max(1)))
    }

    /// Bytes of part number `index`: the first parts of all images come before the second ones, and
    /// the last part of an image has the remainder.
    pub(super) fn part(&self, index: u64, part: u64) -> usize {
        let before = index / u64::from(self.count.max(1));
        self.bytes.saturating_sub(before.saturating_mul(part)).min(part) as usize
    }
}

impl fmt::Display for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, ByteCount(self.bytes))
    }
}
